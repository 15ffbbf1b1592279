"""The job queue: the submit language, the life of jobs, user policy, claims held, event log and history.

`queue` takes events and returns changes and effects; `work` is one such step. What a step consists of lies in folders:

* `submit` turns a submit description into plans of clusters, `admission` is what the administrator accepts of them;
* `jobs` holds the jobs, their states and the order in which they are offered, `claims` the slots for them;
* `runs` leads a job from a match to the end of its run, and says what becomes of it;
* `job_policy` decides what a job's and the pool's expressions want done with a job;
* `cell` is what a Grid Engine cell adds;
* `event_log` and `records` are the text formats in which users and other programs read what became of jobs.

The room is pure: it opens no file and reads no clock.
"""
