"""The ad that a hook printed, as a job of a slot: the attributes added to it, and those that are missing.

Most missing attributes are detected by the job's starter, which reports them to the hook STARTER_FAILURE. Only what
decides whether the slot accepts the job at all is checked here. A job gets the whole of a static slot, whatever it
requests; for a partitionable slot it must state its requests.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.classad import ClassAd
from roost.model.slots import SlotKind

#: JobUniverse of a job that does not set it.
VANILLA: Final = 5

#: The requests of a job that gets a whole slot; each in the unit of its attribute.
_WHOLE: Final = ("RequestCpus", "RequestMemory", "RequestDisk")


class FetchedJob(NamedTuple):
    """A job that a hook brought."""

    ad: ClassAd
    #: Lines for the log.
    remarks: tuple[str, ...]


def fetched_job(printed: ClassAd, *, keyword: str, kind: SlotKind) -> FetchedJob:
    """The job in the output of a hook with that prefix, for a slot of that kind."""
    ad, remarks = printed.copy(), []
    if "HookKeyword" not in ad:
        ad["HookKeyword"] = keyword
    if "JobUniverse" not in ad:
        remarks.append(f"the fetched job has no JobUniverse; vanilla ({VANILLA}) is assumed")
        ad["JobUniverse"] = VANILLA
    if kind is SlotKind.PARTITIONABLE:
        missing = [name for name in _WHOLE if name not in ad]
        if missing:
            remarks.append(f"the fetched job does not have {', '.join(missing)}, which a partitionable slot requires")
    else:
        for name in _WHOLE:
            if name not in ad:
                ad[name] = 1
    return FetchedJob(ad=ad, remarks=tuple(remarks))
