"""Scenarios on real daemons: the same file that the simulation runs, on a pool whose time is driven.

`driven_loop` is the time: it stands still until nothing is left to do. `jobs` are real processes that end when the
scenario says so; `machine` is the node's daemon with sensors that read the scenario; `pool` the whole pool, with the
bus's real server, database and shepherds; `run` takes one scenario through it; `comparison` says in what the two worlds
differ.
"""
