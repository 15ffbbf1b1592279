"""The job queue: the submit language, the life of jobs, user policy, claims held, event log and history.

`submit` turns a submit description into plans of clusters; `event_log` and `history` are the two text formats in which
users read what became of their jobs; `job_policy` decides what a job's and the pool's expressions want done with a job.
The rest is the queue itself: `book` holds the jobs, the machine takes events and returns changes and effects.

The room is pure: it opens no file and reads no clock.
"""
