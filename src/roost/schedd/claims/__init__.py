"""The claims that a queue holds: the table of transitions of one claim, and the collection of all."""
