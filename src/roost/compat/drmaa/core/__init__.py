"""What DRMAA means on a Roost pool, for the module `drmaa` and the C library alike.

`session` is the session: its jobs, waiting, control. `attributes` knows the attributes of templates, `templates` takes
one to a plan for the queue (`cell_jobs` in a pool with a Grid Engine cell, `plain_jobs` in any other), `endings` reads
how jobs ended, `record` keeps which jobs a session has reaped, and `pool` is the connection.
"""
