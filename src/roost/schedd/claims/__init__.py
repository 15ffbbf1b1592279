"""The claims that a queue holds: one by one with their table of transitions, and all of them."""
