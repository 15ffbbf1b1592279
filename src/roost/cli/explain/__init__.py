"""``roost explain``: why a job waits, why a slot is in its state, why an expression
has its value."""
