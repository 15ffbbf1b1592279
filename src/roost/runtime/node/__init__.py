"""The daemon of an execute machine, and what it does for its core: runs, hooks, readings, messages, files of state."""
