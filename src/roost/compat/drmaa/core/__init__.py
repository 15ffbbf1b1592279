"""The implementation of DRMAA on a Roost pool, for both the module `drmaa` and the C library.

`session` is the session: its jobs, waiting, control. `attributes` defines the attributes of templates, `cell_jobs` (in
a pool with a Grid Engine cell) and `plain_jobs` (in any other) turn a template into a plan for the queue, `endings`
reads how jobs ended, `record` keeps which jobs a session has reaped, and `pool` is the connection.
"""
