"""The daemon of a job queue, and its core's effects: database, spool, users' logs, answers to commands."""
