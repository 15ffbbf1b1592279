"""Late materialization: a cluster whose jobs enter the queue a few at a time (max_materialize, max_idle).

A factory is what such a cluster keeps besides its description: how many of its jobs it has made, whether it is paused,
and its two limits. Jobs are made in the order of their numbers, so one number says which there are. A job that is not
made yet is not in the queue: its status is that of a job that has left, and only the factory tells the two apart.

All jobs of these are in the queue from the start, whatever limit they have:

* jobs of `qsub`: its array tasks exist at once, and ``-tc`` limits how many of them run;
* nodes of workflows: a workflow learns from its log how many jobs a node has before any of them ends;
* jobs whose files are copied to the queue: each has its files there before it may start.

When jobs are made is decided in `roost.schedd.materialization`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Self

from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.model.cell_requests import NAME

#: Folded names of the two limits.
LIMIT_KEY: Final = "jobmaterializelimit"
MAX_IDLE_KEY: Final = "jobmaterializemaxidle"
#: Folded names of the attributes that a factory itself writes to the ad of its cluster.
OWN_KEYS: Final = frozenset(("jobmaterializenextprocid", "jobmaterializepaused"))
#: Attribute of a cluster's ad: which of its attributes were edited since it was submitted, a list of names.
EDITED: Final = "EditedClusterAttrs"
_NAME: Final = fold(NAME)
_NODES_LOG: Final = "dagmannodeslog"


class FactoryPause(IntEnum):
    """JobMaterializePaused: whether jobs are being made."""

    #: Yes, as far as the limits permit.
    NONE = 0
    #: No, for a user holds the cluster.
    HELD = 1
    #: No, for all have been made.
    COMPLETE = 2
    #: No, for a user has removed the cluster.
    REMOVED = 3


class Factory:
    """What makes the jobs of a cluster."""

    __slots__ = ("first", "idle_max", "made", "pause", "present_max", "reason")

    def __init__(self, made: int = 0, pause: FactoryPause = FactoryPause.NONE, reason: str = "") -> None:
        #: Jobs that were made: the number of the next one.
        self.made = made
        #: No job with a smaller number is in the queue.
        self.first = 0
        self.pause = pause
        #: Why it is paused; "" where it is not.
        self.reason = reason
        #: max_materialize: most jobs in the queue; None for any number.
        self.present_max: int | None = None
        #: max_idle: most jobs that are idle or held; None for any number.
        self.idle_max: int | None = None

    @classmethod
    def read(cls, text: str, count: int) -> Self:
        """The factory of a cluster of `count` jobs that `text` of an earlier `str` stands for. Raises ValueError."""
        made, pause, reason = text.split(" ", 2)
        found = cls(int(made), FactoryPause(int(pause)), reason)
        if not 0 <= found.made <= count:
            raise ValueError(f"{found.made} jobs were made of a cluster of {count}")
        return found

    def __str__(self) -> str:
        return f"{self.made} {int(self.pause)} {self.reason}"

    @property
    def is_done(self) -> bool:
        """Whether it makes no more jobs, whatever happens."""
        return self.pause in (FactoryPause.COMPLETE, FactoryPause.REMOVED)

    def bind(self, key: str, limit: int | None) -> None:
        """Take a limit, by its folded name."""
        if key == LIMIT_KEY:
            self.present_max = limit
        else:
            self.idle_max = limit

    def show(self, ad: ClassAd) -> None:
        """Say in the ad of the cluster how far it has come."""
        ad.put("JobMaterializeNextProcId", self.made)
        ad.put("JobMaterializePaused", int(self.pause))


def limit_of(cell: object) -> int | None:
    """A limit that an ad has; None for none."""
    return cell if isinstance(cell, int) and not isinstance(cell, bool) and cell > 0 else None


def has_factory(ad: ClassAd, *, spooling: bool) -> bool:
    """Whether the jobs of a cluster with this ad are made a few at a time. `spooling`: their files are on the way."""
    if spooling or _NAME in ad.cells or ad.cell(_NODES_LOG) is not MISSING:
        return False
    return any(limit_of(ad.cell(key)) is not None for key in (LIMIT_KEY, MAX_IDLE_KEY))
