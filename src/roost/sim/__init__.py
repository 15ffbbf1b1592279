"""The seeded world: simulated machines, owners, jobs and messages around the real cores.

`world.World` puts it together. A run is a function of configuration, machines, traces and seed; the digest of its
records (`record`) is the same wherever and whenever it is run. Nothing here makes a decision that belongs to a core.
"""
