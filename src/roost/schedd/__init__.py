"""The job queue: the submit language, the life of jobs, user policy, claims held, event log and history.

`queue` takes events and returns changes and effects; `work` is one such step. The parts of a step are in folders:

* `submit` turns a submit description into plans of clusters, `admission` applies the administrator's rules to them;
* `jobs` holds the jobs, their states and the order in which they are offered, `claims` the slots for them;
* `runs` takes a job from a match to the end of its run, and decides what happens next;
* `job_policy` evaluates the job's and the pool's policy expressions for a job;
* `cell` is what a Grid Engine cell adds;
* `event_log` and `records` are the text formats in which users and other programs read what happened to jobs.

The room is pure: it opens no file and reads no clock.
"""
