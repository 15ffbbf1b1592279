"""The jobs of a queue: clusters, the few jobs that have an object of their own, and the idle jobs.

A job's ad is three chained ads: what has happened to it, its differences from its cluster, and the cluster's common ad.
A job to which nothing has happened takes one byte, its status; its ad is built when it is first read.

This module decides nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from roost.classad import ClassAd, Expr
from roost.classad.ad import ad_of_cells
from roost.classad.values import UNDEFINED, fold
from roost.model.cell_requests import ARRAY_PREDECESSORS, NAME, PREDECESSORS
from roost.model.codes import HoldCode
from roost.schedd.identifiers import JobId
from roost.schedd.job_source import JobSource
from roost.schedd.jobs.factories import EDITED, LIMIT_KEY, MAX_IDLE_KEY, Factory, FactoryPause, limit_of
from roost.schedd.jobs.idle import Autoclusters, IdleGroup
from roost.schedd.jobs.local import is_local
from roost.schedd.jobs.owned import NOT_SUBMITTED
from roost.schedd.jobs.ranges import Ranges
from roost.schedd.status import STATUSES, JobStatus

if TYPE_CHECKING:
    from roost.schedd.events import LogRefused

#: Accounting groups and users that a job counts for: policies rely on them, so they are plain strings, the same for
#: every reader.
GROUPS: Final = ("AccountingGroup", "AcctGroup", "AcctGroupUser")
#: Each with its folded name.
GROUP_KEYS: Final = tuple((name, fold(name)) for name in GROUPS)
#: Maximum length of a group name, characters.
NAME_CHARS_MAX: Final = 256
_place: Final = attrgetter("place")
#: The form of `Cluster.statuses`.
_IDLE: Final = int(JobStatus.IDLE)
#: Attributes that differ in every job of a cluster.
_OF_PROC: Final = frozenset(("procid", "globaljobid"))
#: Whether the spellings are those already registered by the first ads; then no ad needs to record its own.
_OWN_IS_USUAL: Final = ClassAd({"ProcId": 0, "GlobalJobId": ""}).own_spellings is None


_NAME: Final = fold(NAME)
_PREDECESSORS: Final = fold(PREDECESSORS)
_ARRAYS: Final = fold(ARRAY_PREDECESSORS)
#: Folded attributes that apply to all jobs of a cluster, even if they are changed in a single job's ad.
BINDING: Final = (LIMIT_KEY, MAX_IDLE_KEY, _PREDECESSORS, _ARRAYS)


class Job:
    """A job to which something has happened, or is about to."""

    __slots__ = ("ad", "claim_id", "cluster", "group", "id", "run")

    def __init__(self, job: JobId, cluster: Cluster, ad: ClassAd) -> None:
        self.id = job
        self.cluster = cluster
        #: What has happened to it, chained to its submitted ad.
        self.ad = ad
        #: The claim on which it runs, and the name of the run; "" if it has none.
        self.claim_id = ""
        self.run = ""
        #: Its position when it last became idle; None for its original one.
        self.group: IdleGroup | None = None

    @property
    def owner(self) -> str:
        """The owner of the job."""
        return self.cluster.owner

    @property
    def status(self) -> JobStatus:
        """JobStatus."""
        return self.cluster.status(self.id.proc)

    def text(self, key: str) -> str:
        """A string attribute by its folded name; "" for anything else."""
        cell = self.ad.cell(key)
        return cell if isinstance(cell, str) else ""

    def whole(self, key: str, otherwise: int = 0) -> int:
        """A number attribute by its folded name, truncated."""
        cell = self.ad.cell(key)
        kind = cell.__class__
        if kind is int or kind is float or isinstance(cell, int | float):
            return int(cell) if -(2**62) < cell < 2**62 else otherwise  # type: ignore[arg-type,operator]
        return otherwise

    def truth(self, key: str) -> bool:
        """Whether an attribute, by its folded name, is the literal true."""
        return self.ad.cell(key) is True


class Cluster:
    """Jobs submitted together."""

    __slots__ = ("ad", "after", "array_after", "at_once_max", "count", "factory", "fresh", "gone", "groups", "jobs",
                 "number", "others", "owner", "plan", "statuses", "submitted_at", "submitter", "told")  # fmt: skip

    def __init__(
        self, number: int, ad: ClassAd, plan: JobSource | None, *, count: int, owner: str, submitted_at: int
    ) -> None:
        self.number = number
        self.ad = ad
        self.plan = plan
        self.count = count
        self.owner = owner
        self.submitted_at = submitted_at
        #: max_materialize, where all jobs are in the queue from the start: most that run, are held or end at the same
        #: time; None for any number.
        self.at_once_max = limit_of(ad.cell(LIMIT_KEY))
        #: What makes its jobs, a few at a time; None where all are in the queue from the start.
        self.factory: Factory | None = None
        #: Earlier clusters that must leave before one of its jobs may start.
        self.after = tuple(each for each in _predecessors(ad.cell(_PREDECESSORS), number) if each < number)
        #: Clusters whose tasks must leave before the same tasks of this one may start.
        self.array_after = tuple(each for each in _predecessors(ad.cell(_ARRAYS), number) if each < number)
        #: The name under which its jobs compete, except those in `others`.
        self.submitter = submitter_of(ad)
        self.others: dict[int, str] = {}
        self.statuses = bytearray([JobStatus.IDLE]) * count
        self.gone = Ranges()
        #: The jobs whose submission is in the event logs; None for all.
        self.told: Ranges | None = None
        self.jobs: dict[int, Job] = {}
        #: (priority, autocluster) to idle jobs.
        self.groups: dict[tuple[int, int], IdleGroup] = {}
        #: The common group of all jobs to which nothing has happened, if they have one.
        self.fresh: IdleGroup | None = None

    def status(self, proc: int) -> JobStatus:
        """The status of a job."""
        return STATUSES[self.statuses[proc]] if 0 <= proc < self.count else JobStatus.GONE

    def bind(self, own: ClassAd) -> bool:
        """Apply the attributes in a job's own ad that concern the whole cluster; return whether there were any."""
        said = [name for name in BINDING if name in own.cells]
        for name in said:
            match name:
                case _ if name in (LIMIT_KEY, MAX_IDLE_KEY):
                    limit = limit_of(own.cells[name])
                    if self.factory is not None:
                        self.factory.bind(name, limit)
                    elif name == LIMIT_KEY:
                        self.at_once_max = limit
                case _ if name == _PREDECESSORS:
                    self.after = _predecessors(own.cells[name], self.number)
                case _:
                    self.array_after = _predecessors(own.cells[name], self.number)
        for group in self.groups.values() if said else ():
            group.unbounded = self.is_unbounded
        return bool(said)

    @property
    def is_unbounded(self) -> bool:
        """Whether the number of its jobs that may have slots is independent of other jobs."""
        return self.at_once_max is None and not self.after

    def waits_for(self, clusters: Mapping[int, Cluster]) -> tuple[int, ...]:
        """The clusters that must leave first, and have not."""
        return tuple(number for number in self.after if number in clusters)

    def is_idle(self, proc: int) -> bool:
        """Whether a job is idle, and no claim is being requested for it."""
        if self.statuses[proc] != JobStatus.IDLE:
            return False
        job = self.jobs.get(proc)
        return job is None or not job.claim_id

    def is_idle_in(self, proc: int, group: IdleGroup) -> bool:
        """Whether a job is idle in that group: it may have been in others before."""
        if self.statuses[proc] != _IDLE:
            return False
        job = self.jobs.get(proc)
        return job is None or (not job.claim_id and (job.group is None or job.group is group))

    def submitter_for(self, proc: int) -> str:
        """The name under which a job competes."""
        return self.others.get(proc, self.submitter)

    def disband(self) -> None:
        """Take its jobs out of their groups. Groups refer to their cluster: a forgotten cluster must have none."""
        for group in self.groups.values():
            # It is no longer offered.
            group.count = 0
        self.groups.clear()
        self.fresh = None

    def first_idle(self) -> int | None:
        """The first idle job; None if there is none."""
        proc = self.statuses.find(JobStatus.IDLE)
        while proc >= 0 and not self.is_idle(proc):
            proc = self.statuses.find(JobStatus.IDLE, proc + 1)
        return proc if proc >= 0 else None

    def made_by(self, factory: Factory) -> None:
        """Its jobs are those that the factory has made; the statuses of the others say that they have not been made."""
        self.factory, self.at_once_max = factory, None
        for name in (LIMIT_KEY, MAX_IDLE_KEY):
            factory.bind(name, limit_of(self.ad.cell(name)))
        self.statuses[factory.made :] = bytes(self.count - factory.made)
        factory.show(self.ad)

    @property
    def made(self) -> int:
        """How many of its jobs are in the queue, or have been: the number of the next one."""
        return self.count if self.factory is None else self.factory.made

    @property
    def present(self) -> int:
        """Jobs in the queue."""
        return self.made - len(self.gone)

    @property
    def left(self) -> int:
        """Jobs in the queue, and those that are still to be made."""
        of_factory = self.factory is not None and self.factory.pause is FactoryPause.REMOVED
        return self.present if of_factory else self.count - len(self.gone)

    @property
    def room(self) -> int:
        """How many more of its jobs may have slots: max_materialize bounds those that wait for nothing else.

        For a job of `qsub`, tasks on hold do not count: ``-tc`` limits the running ones.
        """
        if self.at_once_max is None:
            return self.count
        waiting = sum(group.count for group in self.groups.values())
        if _NAME in self.ad.cells:
            waiting += self.statuses.count(JobStatus.HELD)
        return max(0, self.at_once_max - (self.present - waiting))

    def submitted_ad(self, proc: int) -> ClassAd:
        """The ad of a job as it was submitted."""
        unique = f"{self.ad.cell('globaljobid')}#{self.number}.{proc}#{self.submitted_at}"
        differences = {} if self.plan is None else self.plan.differences(proc)
        # The cluster's ad has no parent, so this makes no cycle.
        if not differences and _OWN_IS_USUAL:
            return ad_of_cells({"procid": proc, "globaljobid": unique}, self.ad)
        own = ClassAd()
        own.put("ProcId", proc)
        edited = self._edited() if self.factory is not None else ()
        for name, cell in differences.items():
            if fold(name) not in NOT_SUBMITTED and fold(name) not in edited:
                own.put(name, cell)
        own.put("GlobalJobId", unique)
        own.chained = self.ad
        return own

    def _edited(self) -> tuple[str, ...]:
        """Folded names of attributes that were edited for all of its jobs."""
        names = self.ad.get(EDITED)
        return tuple(map(fold, names.split(","))) if isinstance(names, str) else ()

    def job(self, proc: int) -> Job:
        """The object of a job to which something is about to happen."""
        found = self.jobs.get(proc)
        if found is None:
            ad = ad_of_cells({}, self.submitted_ad(proc))
            found = self.jobs[proc] = Job(JobId(self.number, proc), self, ad)
        return found

    def ad_of(self, proc: int) -> ClassAd:
        """The ad of a job, for reading."""
        found = self.jobs.get(proc)
        if found is not None:
            return found.ad
        ad = self.submitted_ad(proc)
        ad.put("JobStatus", int(self.statuses[proc]))
        return ad

    def procs(self) -> Iterator[int]:
        """Jobs still in the queue, in order."""
        return (proc for proc in range(self.count) if self.statuses[proc])


def _predecessors(cell: object, number: int) -> tuple[int, ...]:
    """The numbers of other clusters in a list; invalid entries are left out, so that none waits for itself."""
    words = cell.split(",") if isinstance(cell, str) else ()
    found = (int(word) for word in map(str.strip, words) if word.isdecimal())
    return tuple(dict.fromkeys(each for each in found if each != number))


def _priority(ad: ClassAd) -> int:
    prio = ad.cell("jobprio")
    return prio if isinstance(prio, int) else 0


def submitter_of(ad: ClassAd) -> str:
    """The name under which jobs compete: AccountingGroup, otherwise User; both with the domain."""
    user = ad.cell("user")
    name = user if isinstance(user, str) else ""
    group = ad.cell("accountinggroup")
    if isinstance(group, str) and group:
        domain = name.partition("@")[2]
        return group if "@" in group or not domain else f"{group}@{domain}"
    if ad.cell("niceuser") is True:
        return f"nice-user.{name}"
    return name


def held_at_submit(ad: ClassAd) -> bool:
    """Whether a job is submitted on hold."""
    return ad.cell("jobstatus") == int(JobStatus.HELD)


def is_spooling(ad: ClassAd) -> bool:
    """Whether a job waits for its files to be copied to the queue."""
    return held_at_submit(ad) and ad.cell("holdreasoncode") == int(HoldCode.SPOOLING_INPUT)


class Following:
    """The search for the owner's other jobs that are removed with a removed job, by its OtherJobRemoveRequirements."""

    __slots__ = ("clusters", "proc", "request", "wanted")

    def __init__(self, wanted: Expr, clusters: list[int], request: str) -> None:
        self.wanted = wanted
        #: The id of the request that removed the job; "" for none.
        self.request = request
        #: Clusters still to be searched, the next one last, and its next job.
        self.clusters = clusters
        self.proc = 0


class Unplaced:
    """Jobs of a cluster that were not put into groups yet, except those to which something has happened since."""

    __slots__ = ("at", "plan_from", "procs")

    def __init__(self, procs: Sequence[int], plan_from: int | None) -> None:
        #: In order; those before `at` are in groups.
        self.procs = procs
        self.at = 0
        #: From this one on, the next start is determined first; None for none.
        self.plan_from = plan_from

    def __contains__(self, proc: int) -> bool:
        at = bisect_left(self.procs, proc, self.at)
        return at < len(self.procs) and self.procs[at] == proc


class Book:
    """All jobs of a queue."""

    def __init__(self) -> None:
        self.clusters: dict[int, Cluster] = {}
        #: Numbers of clusters for which others wait or have waited.
        self.awaited: set[int] = set()
        #: Number of an array to the arrays whose tasks wait, or have waited, for its tasks.
        self.array_followers: dict[int, set[int]] = {}
        self.next_cluster = 1
        self.autoclusters = Autoclusters()
        #: Submitter to the groups that have, or recently had, idle jobs, in the order in which they are offered,
        #: without the local jobs of the queue's machine.
        self._offers: dict[str, list[IdleGroup]] = {}
        self._offers_beside: dict[str, list[IdleGroup]] = {}
        #: Clusters with jobs that may complete without a run.
        self.noops: set[int] = set()
        #: Those of them with unchecked jobs, which are therefore not offered: cluster to the next job.
        self.untried: dict[int, int] = {}
        #: Their jobs that have become idle, to be checked.
        self.woken: dict[JobId, None] = {}
        #: Clusters with jobs not yet in groups, the next one first; none of their jobs is offered.
        self.unplaced: dict[int, Unplaced] = {}
        #: Clusters with jobs whose submission is not in the event logs yet, the next one first; and whether jobs are
        #: offered only after that.
        self.untold: dict[int, bool] = {}
        #: Owner and path of logs that cannot be written, to the reason, and the jobs still to be held for it.
        self.refused: dict[tuple[str, str], tuple[LogRefused, Iterator[Job]]] = {}
        #: Removed jobs that take others with them: each leaves the queue after these.
        self.following: dict[JobId, Following] = {}
        #: Clusters with crontab jobs, to the next of their jobs to plan.
        self.recurring: dict[int, int] = {}
        #: Clusters with jobs that are still to be made; and those where it has to be found out whether some are now.
        self.factories: dict[int, None] = {}
        self.making: dict[int, None] = {}
        #: Number of times that jobs became idle: while it is unchanged, idle jobs have only become fewer.
        self.arrivals = 0

    def count_of(self, owner: str) -> tuple[int, int]:
        """The number of clusters of a user, and of all users."""
        return sum(each.owner == owner for each in self.clusters.values()), len(self.clusters)

    def find(self, job: JobId) -> Job | None:
        """The object of a job in the queue to which something is about to happen."""
        cluster = self.clusters.get(job.cluster)
        if cluster is None or cluster.status(job.proc) is JobStatus.GONE:
            return None
        return cluster.job(job.proc)

    def ids(self) -> Iterator[JobId]:
        """All jobs, in order."""
        for number, cluster in self.clusters.items():
            for proc in cluster.procs():
                yield JobId(number, proc)

    def add(self, cluster: Cluster) -> None:
        """Add a cluster to the queue."""
        self.clusters[cluster.number] = cluster
        if cluster.factory is not None and not cluster.factory.is_done:
            self.factories[cluster.number] = self.making[cluster.number] = None
        self.follow(cluster)

    def make_more(self, cluster: Cluster) -> None:
        """It may be time for more of its jobs, if it has a factory."""
        if cluster.number in self.factories:
            self.making[cluster.number] = None

    def follow(self, cluster: Cluster) -> None:
        """Note which clusters a cluster waits for."""
        self.awaited.update(cluster.after)
        for number in cluster.array_after:
            self.array_followers.setdefault(number, set()).add(cluster.number)

    def forget(self, number: int) -> bool:
        """Remove a cluster; return whether others may have waited for that."""
        cluster = self.clusters.pop(number, None)
        if cluster is not None:
            cluster.disband()
        self.noops.discard(number)
        for each in (self.untried, self.unplaced, self.untold, self.recurring, self.factories, self.making):
            each.pop(number, None)
        awaited = number in self.awaited
        if awaited:
            # Those that waited for it are now offered.
            self.arrivals += 1
        self.awaited.discard(number)
        self.array_followers.pop(number, None)
        return awaited

    # -- idle jobs -----------------------------------------------------------------------------------

    def index(self, cluster: Cluster, *, plans: bool = False) -> None:
        """Start determining again which jobs of a cluster are idle, and in which autoclusters: `unplaced` has the rest.

        `plans`: also determine when each job starts next, which distinguishes it from others.
        """
        cluster.disband()
        for job in cluster.jobs.values():
            job.group = None
        before, plan_from = self.unplaced.pop(cluster.number, None), 0 if plans else None
        if before is not None and before.plan_from is not None and not plans:
            plan_from = max(before.plan_from, before.at)
        procs: Sequence[int] = range(cluster.made)
        if plan_from is None and not self._tells_apart(cluster):
            procs = sorted(cluster.jobs)
            self._put_fresh(cluster)
        if procs:
            self.unplaced[cluster.number] = Unplaced(procs, plan_from)

    def place(self, cluster: Cluster, proc: int) -> None:
        """Put a job of `unplaced` into its group."""
        job = cluster.jobs.get(proc)
        if cluster.is_idle(proc) and (job is None or job.group is None):
            self.put_idle(cluster, proc)

    def _is_unplaced(self, cluster: Cluster, proc: int) -> bool:
        """Whether an idle job is in no group yet."""
        unplaced = self.unplaced.get(cluster.number)
        if unplaced is None:
            return False
        job = cluster.jobs.get(proc)
        return (job is None or job.group is None) and proc in unplaced

    def _tells_apart(self, cluster: Cluster) -> bool:
        """Whether its jobs differ in what matching or their order depends on."""
        if cluster.count == 1:
            return False
        varying = _OF_PROC if cluster.plan is None else cluster.plan.varying | _OF_PROC
        if "jobprio" in varying or not varying.isdisjoint(self.autoclusters.significant):
            return True
        return not varying.isdisjoint(self.autoclusters.cells(cluster.submitted_ad(0)))

    def _put_fresh(self, cluster: Cluster) -> None:
        """Put the jobs to which nothing has happened into a group."""
        first = cluster.first_idle()
        if first is None:
            return
        group = cluster.fresh = self._group(cluster, cluster.submitted_ad(first))
        group.put_fresh(first, cluster.made)
        # Of its range, only idle jobs to which nothing has happened count.
        touched = sum(cluster.statuses[proc] == JobStatus.IDLE for proc in cluster.jobs)
        group.count = cluster.statuses.count(JobStatus.IDLE) - touched
        self.arrivals += 1
        self._list(group)

    def _group(self, cluster: Cluster, ad: ClassAd, autocluster: int | None = None) -> IdleGroup:
        key = _priority(ad), self.autoclusters.of(ad) if autocluster is None else autocluster
        group = cluster.groups.get(key)
        if group is None:
            # The attributes that name the submitter are significant: they are the same in a whole group.
            group = cluster.groups[key] = IdleGroup(
                cluster.number,
                *key,
                cluster.is_idle_in,
                submitter=submitter_of(ad),
                local=is_local(ad),
                submitted_at=cluster.submitted_at,
                unbounded=cluster.is_unbounded,
            )
        return group

    def _list(self, group: IdleGroup) -> None:
        """Offer a group that may have idle jobs, until it is found empty."""
        if not group.listed and group.count > 0:
            group.listed = True
            offers = self._offers_beside if group.local else self._offers
            insort(offers.setdefault(group.submitter, []), group, key=_place)

    def edited_idle(self, job: Job, names: Collection[str]) -> None:
        """Note changed attributes of an idle job, by their folded names: it may belong to another group."""
        cluster, proc = job.cluster, job.id.proc
        if self._is_unplaced(cluster, proc):
            return
        before = cluster.fresh if job.group is None else job.group
        autocluster = None
        # An attribute that becomes significant now is reached through one that has changed.
        if before is not None and self.autoclusters.cells(job.ad).keys().isdisjoint(names):
            autocluster = before.autocluster
            if _priority(job.ad) == before.prio:
                if cluster.number in self.noops:
                    self.woken[job.id] = None
                return
        self.not_idle(cluster, proc)
        self.put_idle(cluster, proc, autocluster)

    def put_idle(self, cluster: Cluster, proc: int, autocluster: int | None = None) -> None:
        """Note that a job has become idle, as its status already says; `autocluster`: its own, if known."""
        job = cluster.jobs.get(proc)
        group = self._group(cluster, cluster.submitted_ad(proc) if job is None else job.ad, autocluster)
        if job is not None:
            job.group = group
            if cluster.number in self.noops:
                self.woken[job.id] = None
        if group.submitter != cluster.submitter:
            cluster.others[proc] = group.submitter
        elif cluster.others:
            cluster.others.pop(proc, None)
        group.put(proc)
        self.arrivals += 1
        self._list(group)

    def not_idle(self, cluster: Cluster, proc: int) -> None:
        """Note that an idle job no longer is, without having been taken from its group."""
        if self._is_unplaced(cluster, proc):
            return
        job = cluster.jobs.get(proc)
        group = job.group if job is not None and job.group is not None else self._first_group(cluster, proc)
        group.left()

    def _first_group(self, cluster: Cluster, proc: int) -> IdleGroup:
        """The group of a job to which nothing has happened before."""
        return cluster.fresh or self._group(cluster, cluster.submitted_ad(proc))

    @property
    def has_waiting(self) -> bool:
        """Whether pool jobs may be idle; examining them tells for certain."""
        return bool(self._offers)

    def waiting(self, *, local: bool = False) -> dict[str, list[IdleGroup]]:
        """Submitter to groups of idle jobs, in the order of their offers; `local`: those of the queue's machine."""
        offers = self._offers_beside if local else self._offers
        return {name: groups for name in sorted(offers) if (groups := self.waiting_for(name, local=local))}

    def waiting_for(self, submitter: str, *, local: bool = False) -> list[IdleGroup]:
        """The same for one submitter."""
        offers = self._offers_beside if local else self._offers
        groups = offers.get(submitter)
        if groups is None:
            return []
        left = [group for group in groups if group.count > 0]
        if len(left) < len(groups):
            for group in groups:
                group.listed = group.count > 0
            if not left:
                del offers[submitter]
                return []
            offers[submitter] = left
        if self.untried or self.unplaced or self.untold:
            left = [each for each in left if self._is_ready(each.cluster)]
        return [each for each in left if each.unbounded or self._has_room(self.clusters[each.cluster])]

    def _is_offered(self, group: IdleGroup) -> bool:
        """Whether jobs of a group with idle jobs may have slots now."""
        if (self.untried or self.unplaced or self.untold) and not self._is_ready(group.cluster):
            return False
        return group.unbounded or self._has_room(self.clusters[group.cluster])

    def _is_ready(self, number: int) -> bool:
        """Whether everything that precedes the offer of a cluster's jobs has been done."""
        return number not in self.untried and number not in self.unplaced and not self.untold.get(number)

    def _has_room(self, cluster: Cluster) -> bool:
        """Whether more jobs of a cluster may have slots, as far as other jobs matter."""
        return cluster.room > 0 and not cluster.waits_for(self.clusters)

    def take_more(self, number: int, prio: int, autocluster: int) -> Job | None:
        """Take the next idle job out of one group of a cluster."""
        cluster = self.clusters.get(number)
        group = None if cluster is None else cluster.groups.get((prio, autocluster))
        if cluster is None or group is None or group.count == 0 or not self._is_offered(group):
            return None
        proc = group.take()
        return None if proc is None else cluster.job(proc)

    def take_idle(self, submitter: str, autocluster: int, *, local: bool = False) -> Job | None:
        """Take the next idle job of a submitter and an autocluster out of its group."""
        offers = self._offers_beside if local else self._offers
        for group in offers.get(submitter, ()):
            if group.autocluster == autocluster and group.count > 0 and self._is_offered(group):
                proc = group.take()
                if proc is not None:
                    return self.clusters[group.cluster].job(proc)
        return None


def not_plain(ad: ClassAd) -> str:
    """The first of an ad's own GROUPS that is not a string; "" for none."""
    for name, key in GROUP_KEYS:
        cell = ad.cells.get(key)
        if not (cell is None or cell is UNDEFINED or isinstance(cell, str)):
            return name
    return ""
