"""Whether a queue takes jobs that ask its cell for something, in Grid Engine's words where it has some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.classad.values import fold
from roost.gridengine.pool.requests import Reader
from roost.model.cell_requests import ASKED, NAME
from roost.schedd.book import JobSource

#: What is wrong with a submission, told at once.
COMPLAINTS_MAX: Final = 5
#: What is said of a job with a priority that only operators may give.
RAISED: Final = "job rejected: positive submission priority requires operator privileges"
_ASKED: Final = frozenset(fold(name) for name in ASKED)
_NAME: Final = fold(NAME)
_PRIORITY: Final = fold("JobPrio")


def is_raised(cluster: JobSource) -> bool:
    """Whether a job of `qsub` has a priority that only operators may give."""
    priority = cluster.common.cells.get(_PRIORITY)
    return _NAME in cluster.common.cells and isinstance(priority, int | float) and priority > 0


def complaints(reader: Reader, clusters: Sequence[JobSource]) -> list[str]:
    """What is wrong with the requests of the jobs of clusters."""
    found: dict[str, None] = {}
    for cluster in clusters:
        apart = not _ASKED.isdisjoint(cluster.varying)
        seen: set[tuple[str, ...]] = set()
        for index in range(cluster.count if apart else 1):
            ad = cluster.common.copy()
            for name, value in cluster.differences(index).items() if apart else ():
                ad.put(name, value)
            asked = tuple(str(ad.get(name, "")) for name in ASKED)
            if asked not in seen:
                seen.add(asked)
                found.update(dict.fromkeys(reader.complaints(ad)))
            if len(found) >= COMPLAINTS_MAX:
                return list(found)
    return list(found)
