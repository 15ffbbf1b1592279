"""The inputs of a simulated pool: jobs and owners, generated or recorded."""
