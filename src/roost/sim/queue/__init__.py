"""The queue of a simulated pool: the real core, its clock, its disk and what it says to machines."""
