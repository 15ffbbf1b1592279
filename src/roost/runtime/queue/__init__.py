"""The daemon of a job queue, and what it does for its core: database, spool, users' logs, answers to commands."""
