"""Simulated jobs in the form in which a queue gets them: those of one cluster and instant are submitted together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.schedd.jobs.owned import RECORDED
from roost.sim.inputs.workload import Job

#: Attributes that the queue sets itself.
_OF_QUEUE: Final = ("clusterid", "procid", "globaljobid")
_LOGS: Final = ("userlog", "dagmannodeslog")


class Source:
    """The jobs of a cluster; see `roost.schedd.job_source.JobSource`."""

    __slots__ = ("_own", "common", "count", "varying")

    def __init__(self, jobs: Sequence[Job], *, logs: bool) -> None:
        left_out = _OF_QUEUE if logs else (*_OF_QUEUE, *_LOGS)
        self.count = len(jobs)
        self.common = jobs[0].ad.copy()
        for key in left_out:
            self.common.cells.pop(key, None)
        self.common.put("JobStatus", self.common.cells.get("jobstatus", 1))
        self._own: list[dict[str, Any]] = [{} for _ in jobs]
        self.varying: frozenset[str] = frozenset()
        if len(jobs) > 1:
            self._tell_apart([job.ad for job in jobs], frozenset(left_out))

    def _tell_apart(self, ads: Sequence[ClassAd], left_out: frozenset[str]) -> None:
        names = {fold(name): name for ad in ads for name in ad if fold(name) not in left_out}
        varying = []
        for key, name in names.items():
            cells = [ad.cell(key) for ad in ads]
            if all(_same(cell, cells[0]) for cell in cells):
                continue
            varying.append(key)
            self.common.cells.pop(key, None)
            for own, cell in zip(self._own, cells, strict=True):
                if cell is not MISSING:
                    own[name] = cell
        self.varying = frozenset(varying)

    @property
    def leases(self) -> list[int]:
        """JobLeaseDuration of the jobs, s, if they are numbers above 0."""
        found = (own.get("JobLeaseDuration", self.common.cell("jobleaseduration")) for own in self._own)
        return [lease for lease in found if isinstance(lease, int) and lease > 0]

    def for_cluster(self, number: int) -> Source:
        """The same for every cluster."""
        return self

    def differences(self, index: int) -> Mapping[str, Any]:
        """Attributes in which one job differs from the cluster."""
        return self._own[index]

    def mistake(self, index: int) -> str:
        """Always "": a job in a scenario is correct."""
        return ""

    @property
    def longest(self) -> int:
        """Always 0: jobs do not differ by items."""
        return 0

    def items(self, jobs: int) -> int:
        """Each job is an item of its own."""
        return jobs

    def to_data(self) -> Any:
        """The source itself, which a simulated disk stores as it is."""
        return self


def _same(cell: Any, other: Any) -> bool:
    return cell is other or (cell.__class__ is other.__class__ and str(cell) == str(other))


def past_of(job: Job) -> ClassAd | None:
    """The past of a job from its ad, which no submission can express; None for none."""
    names = RECORDED & job.ad.cells.keys()
    if not names:
        return None
    past = ClassAd()
    for key in sorted(names):
        past.put(job.ad.spelling(key), job.ad.cells[key])
    return past


def submissions_of(jobs: Iterable[Job]) -> list[list[list[Job]]]:
    """The clusters of each submission, in the order of time: those of one owner, instant and submission."""
    found: dict[tuple[float, str, str], dict[int, list[Job]]] = {}
    for job in jobs:
        cluster = job.name.partition(".")[0]
        together = f"of {job.submission}" if job.submission else cluster
        clusters = found.setdefault((job.submitted_at, together, job.owner), {})
        clusters.setdefault(int(cluster), []).append(job)
    return [
        [sorted(each, key=lambda job: int(job.name.partition(".")[2])) for _, each in sorted(clusters.items())]
        for _, clusters in sorted(found.items(), key=lambda item: item[0][0])
    ]
