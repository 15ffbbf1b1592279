"""What Grid Engine's commands are told, as values: the words of a command line in, what they ask for out.

`options` reads words, `qsub` what a job asks for, `errors` has the words and the exit statuses of what is refused. The
commands themselves, which read files and ask a pool, are in `roost.cli.gridengine`; the lab reads the same options.
"""
