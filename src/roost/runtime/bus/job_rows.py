"""What commands are shown of a queue: rows of jobs, and one row a cluster where there are too many jobs to list.

Of a job that nothing has happened to, all but a few attributes are its cluster's; those are evaluated once. So a list
of a hundred thousand waiting jobs costs little more than its size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from roost.classad import ClassAd, Expr
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.schedd.jobs.book import Cluster
from roost.schedd.status import JobStatus
from roost.wire.ads import value_data

_OF_WORKFLOW: Final = ("DAG_NodesDone", "DAG_NodesTotal")
#: JobUniverse of what runs beside the queue: workflows.
SCHEDULER_UNIVERSE: Final = 7
#: What a job has of its own whatever its cluster says, folded.
_OWN: Final = frozenset(("procid", "jobstatus", "globaljobid"))
#: What the row of a cluster says of its jobs beside their number.
_OF_CLUSTER: Final = (
    "JobBatchName", "Cmd", "Arguments", "Args", "JobUniverse", "DAGManJobId", "DAGNodeName",
)  # fmt: skip


def projected(ad: ClassAd, names: Iterable[str], *, raw: bool = False, texts: Collection[str] = ()) -> dict[str, Any]:
    """The values of some attributes; what an ad does not have is left out.

    `raw`: their expressions instead. `texts`: of these the value if it is a string, else the expression.
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
    """Makes the rows of one cluster's jobs."""

    def __init__(self, cluster: Cluster, names: list[str]) -> None:
        self.cluster = cluster
        self.names = names
        varying = frozenset() if cluster.plan is None else cluster.plan.varying
        self._fixed: dict[str, Any] = {}
        #: What every job has a value of its own for, in the place that it has in the row.
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
        """Whether most rows are made without evaluating anything."""
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


def cluster_row(cluster: Cluster, counts: Mapping[int, int]) -> dict[str, Any]:
    """The row of a cluster. `counts` is status to number of jobs."""
    first, last = _outermost(cluster.statuses)
    row: dict[str, Any] = {
        "ClusterId": cluster.number,
        "Owner": cluster.owner,
        "QDate": cluster.submitted_at,
        "Total": cluster.count,
        "Left": sum(counts.values()),
        "FirstProc": first,
        "LastProc": last,
    }
    for status, number in sorted(counts.items()):
        row[JobStatus(status).name.title().replace("_", "")] = number
    row |= projected(cluster.ad, _OF_CLUSTER)
    if row.get("JobUniverse") == SCHEDULER_UNIVERSE and cluster.status(first) is not JobStatus.GONE:
        # How far a workflow is stands in the ad of its own job.
        row |= projected(cluster.ad_of(first), _OF_WORKFLOW)
    return row


def _outermost(statuses: bytearray) -> tuple[int, int]:
    """The first and the last job that is in the queue."""
    gone = bytes((JobStatus.GONE,))
    return len(statuses) - len(statuses.lstrip(gone)), len(statuses.rstrip(gone)) - 1


def counts_of(cluster: Cluster) -> dict[int, int]:
    """Status to number of the jobs that are in the queue."""
    found = {int(status): cluster.statuses.count(int(status)) for status in JobStatus if status is not JobStatus.GONE}
    return {status: number for status, number in found.items() if number}
