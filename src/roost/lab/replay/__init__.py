"""Scenarios on real daemons: the same file that the simulation runs, on a pool with simulated time.

`driven_loop` controls the time: it stands still until nothing is left to do. `jobs` are real processes that end when
the scenario says so; `machine` is the node's daemon with sensors that read the scenario; `pool` is the whole pool, with
a real bus server, database and shepherds; `run` runs one scenario on it; `comparison` says how the two worlds differ.
"""
