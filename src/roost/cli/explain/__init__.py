"""``roost explain``: why a job waits, explain why a slot is in its state, explain why an expression has its value."""
