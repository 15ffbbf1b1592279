"""A pool that runs by a cell."""
