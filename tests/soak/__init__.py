"""The soak: a pool of several machines under every fault at hand, whose runs and results are compared by content."""
