"""Draining fragmented machines, so that large jobs find whole ones.

One daemon of the pool looks at all partitionable slots from time to time and lets some machines be emptied. It decides
nothing on the machines: whether and how a job has to go is the machine's own drain (`roost.startd.draining`).
"""
