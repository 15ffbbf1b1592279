"""What is done to a simulated pool: jobs and owners, made up or recorded."""
