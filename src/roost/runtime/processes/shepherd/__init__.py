"""The small processes between the node daemon and its jobs: the fork server, and a shepherd for each job.

The node daemon is large and may be killed; a job's parent must be neither. The daemon therefore starts the *fork
server*, a Python process that imports next to nothing, and sends it orders. For each order the fork server forks a
*shepherd* and forgets it. The shepherd becomes a session leader and the reaper of every process that the job leaves
behind, forks the job, reports to the daemon that it runs, waits for its end, appends how it ended to the record of the
run, removes what the job left, and reports that to the daemon, too; if the daemon is alive and has another job, the
shepherd runs that, otherwise it exits. At any time it has one job or none. It needs no listener: fork server, daemon
and master may be killed with SIGKILL at any instant, and a restarted daemon reads the records and waits for the same
shepherds.

Modules: `serve` (the fork server's loop), `tend` (a shepherd's life), `launch` (the job's process before it becomes the
job's program), `processes` (finding, measuring and signalling processes by /proc), `system` (calls that Python does not
have, records on disk).

The rule of this package: import nothing that is not needed here; no dataclasses, no typing, no json, no logging, no
enum. Every megabyte and every millisecond here is paid for each job of the machine. It runs with ``-I -S``, without
site-packages. It requires Linux: subreapers, pidfds and /proc have no portable equivalent.
"""
