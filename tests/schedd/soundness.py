"""What has to be true of a queue at any time, and of each of its steps."""

from __future__ import annotations

from collections import Counter
from typing import Any

from roost.classad import ClassAd
from roost.schedd import changes as ch
from roost.schedd.claims.held_claims import Stage
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue, Step
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.sim.queue.disk import Disk
from roost.wire.ads import ad_data


class Past:
    """The jobs that a queue has taken in, and the ends that it told the history and users' logs."""

    def __init__(self) -> None:
        self.submitted: set[JobId] = set()
        self.history: list[tuple[JobId, JobStatus]] = []
        #: Events in users' logs that say that a job has terminated or was removed.
        self.ends: Counter[JobId] = Counter()
        #: All that the logs were told.
        self.texts: list[str] = []

    @property
    def log(self) -> str:
        return "".join(self.texts)

    def took(self, step: Step) -> None:
        """Note what a step changed."""
        for change in step.changes:
            match change:
                case ch.PutCluster():
                    made = int(change.factory.split()[0]) if change.factory else change.count
                    self.submitted |= {JobId(change.cluster, proc) for proc in range(made)}
                case ch.PutFactory():
                    self.submitted |= {JobId(change.cluster, n) for n in range(int(change.factory.split()[0]))}
                case ch.AddHistory():
                    self.history += [(job, change.status) for job in change.jobs]
                case ch.AppendLog():
                    self.texts.append(change.text)
                    for line in change.text.splitlines():
                        if line.startswith(("005 (", "009 (")):
                            cluster, proc, _ = line[5:].partition(")")[0].split(".")
                            self.ends[JobId(int(cluster), int(proc))] += 1


def statuses_of(queue: Queue) -> dict[JobId, JobStatus]:
    clusters = queue.book.clusters.values()
    return {JobId(each.number, proc): each.status(proc) for each in clusters for proc in range(each.made)}


def check_rows(before: dict[JobId, JobStatus], step: Step, queue: Queue) -> None:
    """No job has another status but by rows of the table, each from where the one before led to."""
    statuses = dict(before)
    for change in step.changes:
        if isinstance(change, ch.PutFactory):
            # Its status when it was made: that is when it enters the queue.
            ad = queue.book.clusters[change.cluster].ad if change.cluster in queue.book.clusters else None
            held = ad is not None and ad.cell("jobstatus") == JobStatus.HELD
            for proc in range(int(change.factory.split()[0])):
                statuses.setdefault(JobId(change.cluster, proc), JobStatus.HELD if held else JobStatus.IDLE)
        elif isinstance(change, ch.PutCluster) and not change.factory:
            first = JobStatus.HELD if change.ad.cell("jobstatus") == JobStatus.HELD else JobStatus.IDLE
            statuses |= {JobId(change.cluster, proc): first for proc in range(change.count)}
        elif isinstance(change, ch.AddHistory) and change.last is not None:
            statuses |= dict.fromkeys(change.jobs, JobStatus.GONE)
    for job, row in step.transitions:
        assert statuses[job] is row.source, (job, statuses[job], row)
        statuses[job] = row.target
    after = statuses_of(queue)
    assert {job: after.get(job, JobStatus.GONE) for job in statuses} == statuses


def check(queue: Queue, disk: Disk, past: Past) -> None:
    """No job is lost, each has one end, and all accounts agree."""
    _check_jobs(queue, past)
    _check_claims(queue, disk)
    _check_groups(queue)


def _check_jobs(queue: Queue, past: Past) -> None:
    present = set(queue.book.ids())
    ended = Counter(job for job, _ in past.history)
    assert not [job for job, times in ended.items() if times > 1], "a job has one end"
    assert set(ended) | present == past.submitted, "no job is lost"
    assert not set(ended) & present, "what has ended is in the queue no more"
    assert all(status in (JobStatus.COMPLETED, JobStatus.REMOVED) for _, status in past.history)
    for job in ended:
        assert past.ends[job] == 1, "the user's log tells one end of each job"
    for cluster in queue.book.clusters.values():
        for proc in cluster.procs():
            ad = cluster.ad_of(proc)
            assert ad.eval("JobStatus") == int(cluster.status(proc))
            assert ad.eval("Owner") == cluster.owner
    counts = Counter(cluster.status(p) for cluster in queue.book.clusters.values() for p in cluster.procs())
    assert queue.counts() == {s.name.lower(): counts[s] for s in JobStatus if s}


def _check_claims(queue: Queue, disk: Disk) -> None:
    claims = queue.claim_table.claims
    for cluster in queue.book.clusters.values():
        for job in cluster.jobs.values():
            assert bool(job.run) <= bool(job.claim_id)
            if job.claim_id:
                assert claims[job.claim_id].job == job.id
                assert claims[job.claim_id].run == job.run
            assert (job.status in ON_MACHINE) <= bool(job.run), "a job that runs has a run"
            assert not (job.status is JobStatus.COMPLETED and job.claim_id)
    for claim_id, claim in claims.items():
        assert claim.id == claim_id
        if claim.stage is Stage.ASKED:
            assert not claim.run
        gang = claim.gang
        if gang is not None:
            assert claim in gang.claims and gang.master in gang.claims
            assert all(claims.get(each.id) is each and each.gang is gang for each in gang.claims)
            assert claim is gang.master or not claim.run
            assert (claim.stage in (Stage.ASKED, Stage.IDLE)) <= (not gang.master.run), "a gang begins as a whole"
        kept = disk.claims.get(claim_id)
        assert claim.unwanted or (kept.run if kept is not None else "") == claim.run
    assert set(disk.claims) <= set(claims), "what is kept is held"


def _check_groups(queue: Queue) -> None:
    book = queue.book
    for cluster in book.clusters.values():
        idle = {p for p in cluster.procs() if cluster.is_idle(p)}
        seen: Counter[int] = Counter()
        for (prio, autocluster), group in cluster.groups.items():
            members = {p for p in idle if cluster.is_idle_in(p, group) and _belongs(queue, cluster, p, group)}
            assert group.count == len(members), (cluster.number, group.count, members)
            assert group.first() == min(members, default=None)
            for proc in members:
                ad = cluster.ad_of(proc)
                assert (ad.eval("JobPrio"), book.autoclusters.of(ad)) == (prio, autocluster)
            seen.update(members)
        assert set(seen) == idle
        assert all(times == 1 for times in seen.values()), "a job waits in one place"


def _belongs(queue: Queue, cluster: Any, proc: int, group: Any) -> bool:
    """Jobs that nothing has happened to are told apart by their ads only."""
    job = cluster.jobs.get(proc)
    if job is not None and job.group is not None:
        return job.group is group
    ad = cluster.submitted_ad(proc)
    return (ad.eval("JobPrio"), queue.book.autoclusters.of(ad)) == (group.prio, group.autocluster)


def check_restart(queue: Queue, disk: Disk, now: float) -> None:
    """A queue that starts with what was kept has the same jobs."""
    again = disk.load(queue.claim_table.settings, now, queue.book.next_cluster)
    assert _shown(again) == _shown(queue)


def _shown(queue: Queue) -> dict[str, Any]:
    return {
        str(job): sorted((name.lower(), str(value)) for name, value in ad_data(_ad(queue, job)).items())
        for job in queue.book.ids()
    }


def _ad(queue: Queue, job: JobId) -> ClassAd:
    return queue.book.clusters[job.cluster].ad_of(job.proc)
