"""The seeded world: simulated machines, owners, jobs and messages around the real cores.

`world.World` puts it together. A run is a function of configuration, machines, traces and seed; the digest of what
happened (`record`) is the same wherever and whenever it is run. Nothing here decides anything that a core decides.
"""
