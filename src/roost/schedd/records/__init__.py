"""The files that other programs read of a queue: the history and the mirror of the job queue."""
