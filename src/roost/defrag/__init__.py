"""Draining fragmented machines, so that large jobs find whole ones.

One daemon of the pool periodically examines all partitionable slots and drains some machines. It makes no decisions on
the machines: whether and how a job must leave is up to the machine's own drain (`roost.startd.draining`).
"""
