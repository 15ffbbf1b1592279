"""A simulated execute machine: the real cores, its sensors, and the runs of jobs on it."""
