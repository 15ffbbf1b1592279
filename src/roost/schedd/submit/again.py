"""Submitting jobs that have ended once more: a plan made from their ads instead of a description.

    plan_of_ads(template, ads)  # `template` is the plan of a description with a `queue` for each

Each new job has the attributes with which the old one was submitted, or to which they were edited. What happened to the
old job is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.base.records import replace
from roost.classad import ClassAd
from roost.classad.values import fold
from roost.schedd.jobs.owned import NOT_SUBMITTED, RECORDED
from roost.schedd.status import JobStatus
from roost.schedd.submit.batch import same
from roost.schedd.submit.plan import ClusterPlan

#: Attributes that machines report about a run and the queue stores, besides those that it records itself.
_MEASURED: Final = frozenset(
    map(
        fold,
        (
            "CpusProvisioned", "CpusUsage", "DiskProvisioned", "ExitReason", "JobDuration", "JobPid", "JobState",
            "MemoryProvisioned", "MemoryUsage", "NumPids", "ProportionalSetSizeKb", "ResidentSetSize",
        ),
    )
)  # fmt: skip
#: What a job did not bring along when it was submitted.
LEFT_OUT: Final = NOT_SUBMITTED | RECORDED | _MEASURED | {"jobstatus"}


def plan_of_ads(template: ClusterPlan, ads: Sequence[ClassAd]) -> ClusterPlan:
    """The plan of a cluster with a job like each of these.

    Raises ValueError if the template does not have the same number of queue statements, each with one job.
    """
    if len(template.batches) != len(ads) or template.count != len(ads):
        raise ValueError(f"the template has {template.count} jobs, and {len(ads)} are to be submitted")
    whole = [ad.unchained() for ad in ads]
    own = [{key: cell for key, cell in ad.cells.items() if key not in LEFT_OUT} for ad in whole]
    common = ClassAd()
    for key, cell in own[0].items():
        if all(key in cells and same(cells[key], cell) for cells in own[1:]):
            common.put(whole[0].spelling(key), cell)
    common.put("JobStatus", int(JobStatus.IDLE))
    batches = [
        replace(
            batch,
            sections=(),
            by_cluster=(),
            own={ad.spelling(key): cell for key, cell in cells.items() if key not in common.cells},
            steady={},
            columns={},
            overridden=frozenset(),
        )
        for batch, ad, cells in zip(template.batches, whole, own, strict=True)
    ]
    return ClusterPlan(common=common, batches=tuple(batches))
