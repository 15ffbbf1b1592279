"""Capacities and the claims on them: a tree of ledgers.

    pool ─ host ─┬─ slot1                 a fixed share of the host
                 ├─ slot2 ─ slot2_1       a partitionable share, and a dynamic slot cut from it
                 └─ all.q@host            a queue instance: overlaps with its neighbours, limits only itself

`Ledgers` is immutable: a change returns a new value, or `Denied` with all obstacles.
"""

from roost.resources.booking import Booking, Part
from roost.resources.ledger import Ledger
from roost.resources.tree import Ledgers

__all__ = ["Booking", "Ledger", "Ledgers", "Part"]
