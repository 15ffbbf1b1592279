"""The jobs of a queue: the book of all jobs, idle jobs, job states, and recurring jobs."""
