"""The job queue in the form of HTCondor's ``job_queue.log``: one record per line for each creation, change and
deletion.

    107 SEQUENCE CreationTimestamp TIME   the first line: a number that grows with every new file
    101 KEY Job Machine                   an ad is there
    102 KEY                               it is gone
    103 KEY NAME EXPRESSION               an attribute is that from now on
    104 KEY NAME                          the attribute is gone
    105 and 106                           what stands between them happened together

The key of a job is ``7.0``, that of what its cluster's jobs have in common ``07.-1``, that of the queue itself ``0.0``.

A `Mirror` receives the changes of the queue's durable state, step by step, and produces the records. It remembers only
what they need: for a job to which nothing has happened, one byte. `whole` produces the records that build the current
state from nothing, with which a file begins. It does not open files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from roost.classad import ClassAd
from roost.classad.ad import Cell
from roost.classad.unparse import item_node, unparse
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.schedd.job_source import JobSource
from roost.schedd.jobs.book import Cluster, held_at_submit
from roost.schedd.jobs.factories import Factory
from roost.schedd.jobs.ranges import Ranges
from roost.schedd.status import JobStatus
from roost.schedd.submit import ClusterPlan
from roost.schedd.submit.batch import same

BEGIN: Final = "105 "
END: Final = "106 "
#: The ad of the queue itself.
QUEUE_KEY: Final = "0.0"
#: Stored separately from all other attributes: it is one byte.
_STATUS: Final = "jobstatus"


def first_line(sequence: int, now: float) -> str:
    """The first record of a file."""
    return f"107 {sequence} CreationTimestamp {int(now)}"


def sequence_of(line: str) -> int:
    """The number in a first line; 0 if it is not one."""
    words = line.split()
    return int(words[1]) if len(words) == 4 and words[0] == "107" and words[1].isdecimal() else 0


class Mirror:
    """The queue as described by the records so far."""

    def __init__(self, plan_of: Callable[[Any], JobSource] = ClusterPlan.from_data) -> None:
        self._plan_of = plan_of
        self._clusters: dict[int, Cluster] = {}
        #: Jobs to which something has happened: their differences from how they were submitted.
        self._deltas: dict[JobId, ClassAd] = {}
        self.next_cluster = 1

    # -- what is there already -----------------------------------------------------------------------

    def restore_cluster(self, change: ch.PutCluster, gone: str = "") -> None:
        """Add a cluster of the queue without producing records; `gone`: its jobs that have left, as ranges."""
        cluster = self._clusters[change.cluster] = self._cluster_of(change)
        for proc in Ranges.read(gone):
            if proc < cluster.count:
                cluster.statuses[proc] = JobStatus.GONE
        self.next_cluster = max(self.next_cluster, change.cluster + 1)

    def restore_job(self, change: ch.PutJob) -> None:
        """Add what has happened to a job of such a cluster, without producing records."""
        cluster = self._clusters.get(change.job.cluster)
        if cluster is not None and 0 <= change.job.proc < cluster.count:
            cluster.statuses[change.job.proc] = change.status
            # The queue keeps changing the original ad.
            own = self._deltas[change.job] = change.attributes.copy()
            own.chained = None

    def whole(self) -> Iterator[str]:
        """The records of everything in the queue."""
        yield f"101 {QUEUE_KEY} Job Machine"
        yield BEGIN
        yield f"103 {QUEUE_KEY} NextClusterNum {self.next_cluster}"
        yield END
        for cluster in self._clusters.values():
            yield BEGIN
            yield from self._new_cluster(cluster)
            for proc in cluster.procs():
                delta = self._deltas.get(JobId(cluster.number, proc))
                if delta is not None:
                    yield from _sets(f"{cluster.number}.{proc}", delta)
            yield END

    # -- what happens --------------------------------------------------------------------------------

    def records(self, step: Sequence[ch.Change]) -> list[str]:
        """The records of one step's changes; none if they do not concern jobs."""
        found = [line for change in step for line in self._records(change)]
        return [BEGIN, *found, END] if found else []

    def _records(self, change: ch.Change) -> Iterable[str]:
        match change:
            case ch.PutCluster():
                return self._put_cluster(change)
            case ch.PutFactory():
                return self._made(change)
            case ch.PutJob(job=job):
                return self._changed(job, change.attributes, change.status)
            case ch.DropJob(job=job):
                return self._changed(job, None, None)
            case ch.AddHistory():
                last = [line for job in change.jobs for line in self._last(job, change)]
                gone = [line for job in change.jobs for line in self._left(job)]
                # The end of a job is written before its deletion, for programs that follow the file.
                return [*last, *([END, BEGIN] if last and gone else []), *gone]
            case ch.DropCluster(cluster=number):
                return self._dropped(number)
        return ()

    def _put_cluster(self, change: ch.PutCluster) -> Iterator[str]:
        before = self._clusters.get(change.cluster)
        if before is None:
            cluster = self._clusters[change.cluster] = self._cluster_of(change)
            if change.cluster >= self.next_cluster:
                self.next_cluster = change.cluster + 1
                yield f"103 {QUEUE_KEY} NextClusterNum {self.next_cluster}"
            yield from self._new_cluster(cluster)
            return
        yield from _differences(_cluster_key(change.cluster), before.ad, change.ad)
        before.ad = change.ad

    def _new_cluster(self, cluster: Cluster) -> Iterator[str]:
        key = _cluster_key(cluster.number)
        yield f"101 {key} Job Machine"
        yield from _sets(key, cluster.ad)
        for proc in cluster.procs():
            yield from self._new_job(cluster, proc)

    def _new_job(self, cluster: Cluster, proc: int) -> Iterator[str]:
        key = f"{cluster.number}.{proc}"
        yield f"101 {key} Job Machine"
        own = cluster.submitted_ad(proc)
        own.chained = None
        yield from _sets(key, own)
        yield f"103 {key} JobStatus {int(cluster.statuses[proc])}"

    def _made(self, change: ch.PutFactory) -> Iterator[str]:
        """A factory has made jobs, or was paused."""
        cluster = self._clusters.get(change.cluster)
        if cluster is None:
            return
        first, before = cluster.made, cluster.ad.copy()
        factory = Factory.read(change.factory, cluster.count)
        status = JobStatus.HELD if held_at_submit(cluster.ad) else JobStatus.IDLE
        cluster.factory = factory
        factory.show(cluster.ad)
        yield from _differences(_cluster_key(change.cluster), before, cluster.ad)
        cluster.statuses[first : factory.made] = bytes([status]) * (factory.made - first)
        for proc in range(first, factory.made):
            yield from self._new_job(cluster, proc)
            delta = self._deltas.get(JobId(cluster.number, proc))
            if delta is not None:
                yield from _sets(f"{cluster.number}.{proc}", delta)

    def _changed(self, job: JobId, attributes: ClassAd | None, status: JobStatus | None) -> Iterator[str]:
        """Note a change of a job; None: it is back in its submitted state, or has left."""
        cluster = self._clusters.get(job.cluster)
        before = self._deltas.pop(job, None)
        if cluster is not None and job.proc >= cluster.made and attributes is not None:
            # It is told of when it is made.
            self._deltas[job] = attributes
        if cluster is None or not cluster.statuses[job.proc]:
            return
        key = f"{job}"
        if attributes is not None:
            self._deltas[job] = attributes
        if status is not None and cluster.statuses[job.proc] != status:
            cluster.statuses[job.proc] = status
            yield f"103 {key} JobStatus {int(status)}"
        yield from _differences(key, before or ClassAd(), attributes or ClassAd(), cluster.submitted_ad(job.proc))

    def _last(self, job: JobId, change: ch.AddHistory) -> Iterator[str]:
        """The final records of a job that leaves; for a single job, all attributes are known."""
        cluster = self._clusters.get(job.cluster)
        if cluster is None or not cluster.statuses[job.proc]:
            return
        if cluster.statuses[job.proc] != change.status:
            yield f"103 {job} JobStatus {int(change.status)}"
        known = cluster.submitted_ad(job.proc)
        delta = self._deltas.get(job) or ClassAd()
        for folded, cell in change.ad.cells.items():
            old = delta.cells.get(folded, known.cells.get(folded, cluster.ad.cells.get(folded)))
            if folded != _STATUS and (old is None or not same(old, cell)):
                yield f"103 {job} {change.ad.spelling(folded)} {_text(cell)}"

    def _left(self, job: JobId) -> Iterator[str]:
        cluster = self._clusters.get(job.cluster)
        self._deltas.pop(job, None)
        if cluster is not None and cluster.statuses[job.proc]:
            cluster.statuses[job.proc] = JobStatus.GONE
            yield f"102 {job}"

    def _dropped(self, number: int) -> Iterator[str]:
        cluster = self._clusters.pop(number, None)
        if cluster is None:
            return
        for proc in cluster.procs():
            self._deltas.pop(JobId(number, proc), None)
            yield f"102 {number}.{proc}"
        yield f"102 {_cluster_key(number)}"

    def _cluster_of(self, change: ch.PutCluster) -> Cluster:
        plan = None if change.plan is None else self._plan_of(change.plan)
        made = Cluster(
            change.cluster, change.ad, plan, count=change.count, owner=change.owner, submitted_at=change.submitted_at
        )
        if held_at_submit(change.ad):
            made.statuses = bytearray([JobStatus.HELD]) * change.count
        if change.factory:
            made.made_by(Factory.read(change.factory, change.count))
        return made


def _cluster_key(number: int) -> str:
    return f"0{number}.-1"


def _sets(key: str, ad: ClassAd) -> Iterator[str]:
    for folded, cell in ad.cells.items():
        if folded != _STATUS or key.endswith(".-1"):
            yield f"103 {key} {ad.spelling(folded)} {_text(cell)}"


def _differences(key: str, before: ClassAd, after: ClassAd, beneath: ClassAd | None = None) -> Iterator[str]:
    """The records that turn one ad into another; a removed attribute gets its value in `beneath`, or is deleted."""
    for folded, cell in after.cells.items():
        old = before.cells.get(folded)
        if folded != _STATUS and (old is None or not same(old, cell)):
            yield f"103 {key} {after.spelling(folded)} {_text(cell)}"
    for folded in before.cells:
        if folded not in after.cells and folded != _STATUS:
            under = None if beneath is None else beneath.cells.get(folded)
            name = before.spelling(folded)
            yield f"104 {key} {name}" if under is None else f"103 {key} {name} {_text(under)}"


def _text(cell: Cell) -> str:
    """An expression on one line, in the old form."""
    return unparse(item_node(cell), old=True).replace("\n", " ").replace("\r", " ")
