"""The daemon of an execute machine, and its core's effects: runs, hooks, sensor readings, messages, state files."""
