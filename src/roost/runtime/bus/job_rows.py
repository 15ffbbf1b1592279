"""Rows for commands that list a queue: rows of jobs, and one row per cluster if there are too many jobs to list.

Nearly all attributes of a job to which nothing has happened are those of its cluster, and are evaluated once. A list of
a hundred thousand idle jobs therefore costs little more than its size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from roost.classad import ClassAd, Expr
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.schedd.jobs.book import Cluster
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.wire.ads import value_data
from roost.wire.requests.queue import ClusterRow

_OF_WORKFLOW: Final = ("DAG_NodesDone", "DAG_NodesTotal")
#: JobUniverse of jobs that run on the queue's machine: workflows.
SCHEDULER_UNIVERSE: Final = 7
#: Folded attributes that each job has itself, whatever its cluster's ad says.
_OWN: Final = frozenset(("procid", "jobstatus", "globaljobid"))
#: Attributes of jobs in the row of a cluster, besides their number.
_OF_CLUSTER: Final = (
    "JobBatchName", "Cmd", "Arguments", "Args", "JobUniverse", "DAGManJobId", "DAGNodeName",
)  # fmt: skip


def projected(ad: ClassAd, names: Iterable[str], *, raw: bool = False, texts: Collection[str] = ()) -> dict[str, Any]:
    """The values of some attributes; missing attributes are left out.

    `raw`: expressions instead of values. `texts`: for these, the value if it is a string, otherwise the expression.
    """
    found = {}
    for name in names:
        if name not in ad:
            continue
        cell = ad[name] if raw else ad.eval(name)
        if name in texts and not isinstance(cell, str):
            cell = ad[name]
        found[name] = value_data(cell)
    return found


class Rows:
    """Builds the rows of one cluster's jobs."""

    def __init__(self, cluster: Cluster, names: list[str]) -> None:
        self.cluster = cluster
        self.names = names
        varying = frozenset() if cluster.plan is None else cluster.plan.varying
        self._fixed: dict[str, Any] = {}
        #: Attributes with a different value in every job, at their position in the row.
        self._each: list[str] = []
        for name in names:
            key = fold(name)
            cell = cluster.ad.cell(key)
            if key in _OWN or key in varying or isinstance(cell, Expr):
                self._fixed[name] = None
                self._each.append(name)
            elif cell is not MISSING:
                self._fixed[name] = value_data(cell)
        self._simple = all(fold(name) in ("procid", "jobstatus") for name in self._each)

    @property
    def is_cheap(self) -> bool:
        """Whether most rows need no evaluation."""
        return self._simple

    def row(self, proc: int) -> dict[str, Any]:
        """The row of a job."""
        cluster = self.cluster
        if proc in cluster.jobs:
            return projected(cluster.ad_of(proc), self.names)
        row = self._fixed.copy()
        if not self._simple:
            return self._evaluated(row, cluster.ad_of(proc))
        for name in self._each:
            row[name] = proc if fold(name) == "procid" else cluster.statuses[proc]
        return row

    def _evaluated(self, row: dict[str, Any], ad: ClassAd) -> dict[str, Any]:
        for name in self._each:
            if name in ad:
                row[name] = value_data(ad.eval(name))
            else:
                del row[name]
        return row


def cluster_row(cluster: Cluster, counts: Mapping[int, int]) -> ClusterRow:
    """The row of a cluster. `counts`: number of jobs by status."""
    first, last = _outermost(cluster.statuses)
    attributes = projected(cluster.ad, _OF_CLUSTER)
    if attributes.get("JobUniverse") == SCHEDULER_UNIVERSE and cluster.status(first) is not JobStatus.GONE:
        # The progress of a workflow is in the ad of its own job.
        attributes |= projected(cluster.ad_of(first), _OF_WORKFLOW)
    return ClusterRow(
        cluster=cluster.number,
        owner=cluster.owner,
        submitted_at=cluster.submitted_at,
        total=cluster.count,
        left=sum(counts.values()),
        first=first,
        last=last,
        counts={JobStatus(status).word: number for status, number in sorted(counts.items())},
        unmaterialized=cluster.count - cluster.made,
        attributes=attributes,
    )


def factory_ad(cluster: Cluster) -> ClassAd:
    """The ad of a cluster whose jobs are made one after another, with the counts that ``condor_q -factory`` shows."""
    ad, counts = cluster.ad.copy(), counts_of(cluster)
    for name in ("JobStatus", "ProcId"):
        ad.drop(name)
    on_machine = sum(counts.get(int(status), 0) for status in ON_MACHINE)
    ad.put("JobsPresent", cluster.present)
    ad.put("JobsRunning", on_machine)
    ad.put("JobsIdle", counts.get(int(JobStatus.IDLE), 0))
    ad.put("JobsHeld", counts.get(int(JobStatus.HELD), 0))
    if cluster.factory is not None and cluster.factory.reason:
        ad.put("JobMaterializePauseReason", cluster.factory.reason)
    return ad


def _outermost(statuses: bytearray) -> tuple[int, int]:
    """The first and the last job in the queue."""
    gone = bytes((JobStatus.GONE,))
    return len(statuses) - len(statuses.lstrip(gone)), len(statuses.rstrip(gone)) - 1


def counts_of(cluster: Cluster) -> dict[int, int]:
    """Number of jobs in the queue by status."""
    found = {int(status): cluster.statuses.count(int(status)) for status in JobStatus if status is not JobStatus.GONE}
    return {status: number for status, number in found.items() if number}
