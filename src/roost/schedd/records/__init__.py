"""The queue's files for other programs: the history and the mirror of the job queue."""
