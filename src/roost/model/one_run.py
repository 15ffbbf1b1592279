"""Attributes of a job that tell of one run and of its end.

The queue's ad of a job has those of its last run. The next run begins without them: hooks, jobs and policies would take
them for its own.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.cell_accounting import RESOURCES_USED
from roost.model.cell_usage import IO, MEMORY

OF_ONE_RUN: Final = (
    "JobState", "JobPid", "NumPids", "VacateUntil", "VacateTimeLeft", "ExitReason", "ExitBySignal", "ExitCode",
    "ExitSignal", "JobCoreDumped", "JobDuration", "HoldReason", "HoldReasonCode", "HoldReasonSubCode", "VacateReason",
    "VacateReasonCode", "VacateReasonSubCode", "CellFailed", "CellFailedReason",
    "CellErrorReason", MEMORY, IO, RESOURCES_USED,
)  # fmt: skip
_KEYS: Final = frozenset(map(fold, OF_ONE_RUN))


def drop_earlier_run(ad: ClassAd) -> None:
    """Remove from a job's own ad what was said of an earlier run."""
    for key in sorted(_KEYS & ad.cells.keys()):
        ad.drop(key)


def without_earlier_run(ad: ClassAd) -> ClassAd:
    """The ad itself if it says nothing of an earlier run, else a copy that does not."""
    if _KEYS.isdisjoint(ad.cells):
        return ad
    copy = ad.copy()
    drop_earlier_run(copy)
    return copy
