"""The ad that a hook printed, as a job of a slot: what is added to it, and what its hook left out.

What a job needs and does not say is for its starter to find missing, who tells the hook STARTER_FAILURE; only what
decides whether the slot takes the job at all is settled here. A static slot is had whole, whatever is asked of it; what
a partitionable one is to give has to be said.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.classad import ClassAd
from roost.model.slots import SlotKind

#: JobUniverse of a job that does not say.
VANILLA: Final = 5

#: What a job asks of a slot that is had whole; each in the unit of its attribute.
_WHOLE: Final = ("RequestCpus", "RequestMemory", "RequestDisk")


class FetchedJob(NamedTuple):
    """A job that a hook brought."""

    ad: ClassAd
    #: Lines for the log.
    remarks: tuple[str, ...]


def fetched_job(printed: ClassAd, *, keyword: str, kind: SlotKind) -> FetchedJob:
    """The job of what a hook with that prefix printed for a slot of that kind."""
    ad, remarks = printed.copy(), []
    if "HookKeyword" not in ad:
        ad["HookKeyword"] = keyword
    if "JobUniverse" not in ad:
        remarks.append(f"the job that was fetched says no JobUniverse; it is taken to be vanilla ({VANILLA})")
        ad["JobUniverse"] = VANILLA
    if kind is SlotKind.PARTITIONABLE:
        missing = [name for name in _WHOLE if name not in ad]
        if missing:
            remarks.append(
                f"the job that was fetched does not say {', '.join(missing)}, which a partitionable slot needs"
            )
    else:
        for name in _WHOLE:
            if name not in ad:
                ad[name] = 1
    return FetchedJob(ad=ad, remarks=tuple(remarks))
