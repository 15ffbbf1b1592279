"""When a factory makes jobs: as many as its limits and those of the queue permit, a bounded number in one step.

* max_materialize limits the jobs of the cluster that are in the queue, in whatever status.
* max_idle limits those of them that are idle or held, as in HTCondor.
* MAX_JOBS_PER_OWNER and MAX_JOBS_SUBMITTED limit what is in the queue: a factory waits where it would exceed them.

A factory is looked at when one of its jobs has changed its status or has left, when a user has changed it, and at every
tick, since the queue's limits depend on other clusters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from roost.classad.values import fold
from roost.model.codes import HoldCode
from roost.schedd.changes import PutCluster, PutFactory, PutGone
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.event_log import log
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster, held_at_submit
from roost.schedd.jobs.factories import EDITED, LIMIT_KEY, MAX_IDLE_KEY, OWN_KEYS, Factory, FactoryPause, limit_of
from roost.schedd.status import JobStatus
from roost.schedd.work import Work

#: Jobs made in one step of the queue, some 20 ms.
JOBS_A_STEP: Final = 200


def make_some(work: Work, claim_table: ClaimTable) -> None:
    """Make some more jobs; clusters take turns."""
    book, left = work.book, JOBS_A_STEP
    for number in list(book.making):
        cluster = book.clusters.get(number)
        wanted = 0 if cluster is None else _wanted(work, claim_table, cluster)
        count = min(left, wanted)
        if cluster is not None and count:
            _make(work, cluster, count)
            claim_table.present.made(cluster.owner, count)
            left -= count
        del book.making[number]
        if wanted > count:
            # Behind the others.
            book.making[number] = None
        if not left:
            break


def _wanted(work: Work, claim_table: ClaimTable, cluster: Cluster) -> int:
    """How many jobs may be made now."""
    factory = cluster.factory
    if factory is None or factory.pause is not FactoryPause.NONE:
        return 0
    count = cluster.count - factory.made
    if factory.present_max is not None:
        count = min(count, factory.present_max - cluster.present)
    if factory.idle_max is not None:
        count = min(count, factory.idle_max - waiting(cluster))
    if count > 0:
        limits = claim_table.settings.limits
        count = min(count, limits.room(claim_table.present, work.book.clusters.values(), cluster.owner))
    return max(0, count)


def waiting(cluster: Cluster) -> int:
    """Jobs of a cluster that max_idle counts."""
    factory, statuses = cluster.factory, cluster.statuses
    assert factory is not None
    # A job that has left does not come back, so each is passed over once in the life of a cluster.
    while factory.first < factory.made and statuses[factory.first] == JobStatus.GONE:
        factory.first += 1
    return sum(statuses.count(status, factory.first, factory.made) for status in (JobStatus.IDLE, JobStatus.HELD))


def _make(work: Work, cluster: Cluster, count: int) -> None:
    factory, book = cluster.factory, work.book
    assert factory is not None
    first, end = factory.made, factory.made + count
    held = held_at_submit(cluster.ad)
    cluster.statuses[first:end] = bytes([JobStatus.HELD if held else JobStatus.IDLE]) * count
    factory.made = end
    if end == cluster.count:
        factory.pause = FactoryPause.COMPLETE
        book.factories.pop(cluster.number, None)
    keep(work, cluster, factory)
    for proc in range(first, end):
        if proc in cluster.jobs:
            # The administrator's rules have changed it when it was submitted.
            work.touch(cluster.jobs[proc])
        work.tell_submitted(cluster, proc)
        if held:
            continue
        if cluster.number in book.recurring:
            work.plan_start(cluster.job(proc))
        book.put_idle(cluster, proc)
        if cluster.number in book.noops:
            book.woken[JobId(cluster.number, proc)] = None
    work.offer()


def keep(work: Work, cluster: Cluster, factory: Factory) -> None:
    """A factory has changed."""
    factory.show(cluster.ad)
    work.changes.append(PutFactory(cluster=cluster.number, factory=str(factory)))


def pause(work: Work, cluster: Cluster, reason: str) -> bool:
    """Make no more jobs until `resume`; False if it is paused, or all have been made."""
    factory = cluster.factory
    if factory is None or factory.pause is not FactoryPause.NONE:
        return False
    factory.pause, factory.reason = FactoryPause.HELD, reason
    keep(work, cluster, factory)
    by_user = int(HoldCode.USER_REQUEST)
    _tell(work, cluster, log.FactoryPaused(reason=reason, pause_code=int(FactoryPause.HELD), hold_code=by_user))
    return True


def resume(work: Work, cluster: Cluster, reason: str) -> bool:
    """Make jobs again; False if it is not paused."""
    factory = cluster.factory
    if factory is None or factory.pause is not FactoryPause.HELD:
        return False
    factory.pause, factory.reason = FactoryPause.NONE, ""
    keep(work, cluster, factory)
    _tell(work, cluster, log.FactoryResumed(reason=reason))
    work.book.make_more(cluster)
    return True


def stop(work: Work, cluster: Cluster, reason: str) -> bool:
    """Make no more jobs at all: the cluster leaves the queue with its last job. False if it makes none anyway."""
    factory = cluster.factory
    if factory is None or factory.is_done:
        return False
    factory.pause, factory.reason = FactoryPause.REMOVED, reason
    work.book.factories.pop(cluster.number, None)
    keep(work, cluster, factory)
    work.shrunk(cluster)
    return True


def edit(work: Work, cluster: Cluster, cells: Iterable[tuple[str, Any]]) -> bool:
    """Change attributes of the jobs that are still to be made; False if there are none.

    Jobs that are in the queue are changed one by one. An attribute that differs from job to job, as the description
    says it, is the new one in all further jobs.
    """
    factory = cluster.factory
    if factory is None or factory.is_done:
        return False
    edited = dict(cells)
    for name, cell in edited.items():
        key = fold(name)
        if key in OWN_KEYS:
            continue
        cluster.ad.put(name, cell)
        if key in (LIMIT_KEY, MAX_IDLE_KEY):
            factory.bind(key, limit_of(cell))
    before = cluster.ad.get(EDITED)
    names = [*(before.split(",") if isinstance(before, str) and before else ()), *edited]
    cluster.ad.put(EDITED, ",".join(dict.fromkeys(names)))
    work.changes.append(
        PutCluster(
            cluster=cluster.number,
            owner=cluster.owner,
            submitted_at=cluster.submitted_at,
            count=cluster.count,
            ad=cluster.ad.copy(),
            plan=None if cluster.plan is None else cluster.plan.to_data(),
            factory=str(factory),
        )
    )
    work.changes.append(PutGone(cluster=cluster.number, gone=str(cluster.gone)))
    work.book.make_more(cluster)
    return True


def _tell(work: Work, cluster: Cluster, event: log.Event) -> None:
    work.log_ad(cluster.ad, cluster.owner, cluster.number, -1, event)
