"""The command lines of Grid Engine's commands: arguments in, requests as values out.

`options` parses arguments, `qsub` the requests of a job, `errors` has messages and exit statuses. The commands
themselves, which read files and contact a pool, are in `roost.cli.gridengine`; the lab reads the same options.
"""
