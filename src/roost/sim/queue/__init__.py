"""The queue of a simulated pool: the real core, its clock, its disk and its messages to machines."""
