"""The processing of one event of a queue: its changes, and the output of the step.

A `Work` lives for one step. It collects which jobs have changed, and turns them into changes to store at the end, so
that a job that changed five times is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from roost.base.structs import replaced
from roost.classad import UNDEFINED, ClassAd
from roost.classad.ad import usual_key_of
from roost.classad.world import FixedWorld, World
from roost.model.addresses import daemon_address
from roost.model.audit import NOTHING_KNOWN, AuditRecord, InForce
from roost.model.causes import submission_of
from roost.model.identifiers import public_of
from roost.schedd.changes import (
    AddAudit,
    AddEpoch,
    AddHistory,
    AppendLog,
    Change,
    DropClaim,
    DropCluster,
    DropJob,
    PutClaim,
    PutGone,
    PutJob,
    PutTold,
)
from roost.schedd.claims.held_claims import HeldClaim
from roost.schedd.decisions import Ruling, Rulings
from roost.schedd.effects import Effect, OfferJobs
from roost.schedd.event_log import log
from roost.schedd.event_log.base import Event
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Book, Cluster, Job, held_at_submit
from roost.schedd.jobs.crontab import CronError, next_start
from roost.schedd.jobs.factories import Factory
from roost.schedd.jobs.job_transitions import On, Transition, row_of, untouched_row
from roost.schedd.status import JobStatus

#: A queue without user maps.
NO_MAPS: Final[Mapping[str, Mapping[str, str]]] = {}


#: Values that an ad keeps as they are.
PLAIN: Final = frozenset((int, float, str, bool))


class Work:
    """A step in progress."""

    __slots__ = (
        "_dirty",
        "_in_force",
        "_left",
        "_logged_submissions",
        "_logs",
        "_offer",
        "_offer_later",
        "_place",
        "_rulings",
        "_world",
        "begun",
        "book",
        "changes",
        "dropped",
        "effects",
        "gone",
        "left",
        "now",
        "records_epochs",
        "request",
        "transitions",
        "unplanned",
        "user_maps",
        "zone",
    )  # fmt: skip

    def __init__(
        self,
        book: Book,
        now: float,
        in_force: InForce = NOTHING_KNOWN,
        zone: tzinfo = UTC,
        user_maps: Mapping[str, Mapping[str, str]] = NO_MAPS,
        place: str = "",
    ) -> None:
        self.book = book
        self._place = place
        self.now = now
        self.changes: list[Change] = []
        self.effects: list[Effect] = []
        #: Rows that jobs took, in order, without those of jobs that are removed together.
        self.transitions: list[tuple[JobId, Transition]] = []
        #: Jobs whose programs run now.
        self.begun: list[Job] = []
        self._dirty: dict[JobId, Job] = {}
        #: Clusters that jobs have left.
        self._left: dict[int, Cluster] = {}
        #: Jobs that have left: cluster, first and last.
        self.gone: list[tuple[Cluster, int, int]] = []
        #: Clusters whose submission was logged.
        self._logged_submissions: dict[int, Cluster] = {}
        #: (path, owner) to texts.
        self._logs: dict[tuple[str, str], list[str]] = {}
        #: Whether the negotiator needs a new demand, and whether that can wait.
        self._offer = self._offer_later = False
        #: Whether a claim is no longer held.
        self.dropped = False
        self.records_epochs = False
        #: Slots of granted claims that are over, each with the public part of its claim's id.
        self.left: tuple[tuple[str, str], ...] = ()
        self._in_force = in_force
        self._rulings: Rulings | None = None
        self._world: World | None = None
        #: The time zone of crontabs, and of expressions that use the clock.
        self.zone = zone
        #: The user maps of userMap().
        self.user_maps = user_maps
        #: Jobs with an invalid crontab, and why.
        self.unplanned: dict[JobId, tuple[Job, str]] = {}
        #: The id of the request that this step carries out; "" for none.
        self.request = ""

    @property
    def world(self) -> World:
        """The environment of expressions at the instant of the event."""
        if self._world is None:
            # Steps of queues in UTC are very frequent: those of simulations.
            offset = None if self.zone is UTC else datetime.fromtimestamp(self.now, self.zone).utcoffset()
            self._world = FixedWorld(
                instant=self.now,
                offset=0 if offset is None else int(offset.total_seconds()),
                user_maps=self.user_maps,
            )
        return self._world

    def decided(self, job: Job, ruling: Ruling) -> None:
        """Record a decision about a job."""
        if self._rulings is None:
            self._rulings = Rulings()
        cluster = job.cluster
        self._rulings.add(ruling, cluster.submitter_for(job.id.proc) or job.owner, job.id, submission_of(cluster.ad))

    def decided_of(self, cluster: Cluster, procs: Iterable[int], ruling: Ruling) -> None:
        """Record a decision about jobs of a cluster that compete under one name."""
        if self._rulings is None:
            self._rulings = Rulings()
        jobs = [JobId(cluster.number, proc) for proc in procs]
        self._rulings.add_all(ruling, cluster.submitter or cluster.owner, jobs, submission_of(cluster.ad))

    def record(self, decision: AuditRecord, ad: ClassAd | None = None) -> None:
        """Record a single decision; `ad` is that of the job it is about."""
        submission = submission_of(ad)
        request = self.request or submission
        self.changes.append(AddAudit(record=replaced(decision, submission=submission, request=request)))

    def order(self, effect: Effect) -> None:
        """Add an effect."""
        self.effects.append(effect)

    def offer(self, *, later: bool = False) -> None:
        """Note that idle jobs have changed; `later`: there are only fewer of them."""
        if later:
            self._offer_later = True
        else:
            self._offer = True

    def touch(self, job: Job) -> None:
        """Note that a job has changed."""
        self._dirty[job.id] = job

    def set(self, job: Job, **attributes: Any) -> None:
        """Change attributes of a job; None removes one."""
        ad = job.ad
        cells = ad.cells
        for name, value in attributes.items():
            kind = value.__class__
            if kind in PLAIN:
                # Most of the time in a queue's step is spent here.
                if (key := usual_key_of(name)) is not None:
                    cells[key] = value
                else:
                    ad.put(name, value)
            elif value is None:
                ad.drop(name)
            else:
                ad[name] = value
        self._dirty[job.id] = job

    def move(self, job: Job, on: On, *, taken: bool = False) -> None:
        """Take the row that a trigger leads to; `taken`: the job was idle, and has been taken from the idle jobs."""
        self.take(job, row_of(job, on), taken=taken)

    def take(self, job: Job, row: Transition, *, taken: bool = False) -> None:
        """Take a row that leads from a job's current status: the only place where the status changes."""
        cluster, proc, old, status = job.cluster, job.id.proc, row.source, row.target
        self.transitions.append((job.id, row))
        if old is status:
            return
        if old is JobStatus.IDLE and not taken and cluster.is_idle(proc):
            self.book.not_idle(cluster, proc)
            self.offer()
        cluster.statuses[proc] = status
        if cluster.factory is not None:
            self.book.make_more(cluster)
        self.set(job, LastJobStatus=int(old), JobStatus=int(status), EnteredCurrentStatus=int(self.now))
        if status is JobStatus.IDLE:
            assert not job.claim_id, "a job that waits holds no claim"
            if cluster.number in self.book.recurring:
                self.plan_start(job)
            self.book.put_idle(cluster, proc)
            self.offer()

    def plan_start(self, job: Job) -> None:
        """Set the start time of a crontab job that has become idle, or is about to."""
        try:
            at = next_start(job.ad, self.now, self.zone, self.world)
        except CronError as problem:
            # An earlier start time no longer counts.
            self.set(job, DeferralTime=UNDEFINED)
            self.unplanned[job.id] = job, f"{problem}; edit the job and release it"
            return
        if at is not None:
            self.set(job, DeferralTime=at)

    def end_epoch(self, job: Job) -> None:
        """Record the end of a run, now that the job's next status is decided."""
        if self.records_epochs:
            # The original ad keeps changing.
            self.changes.append(AddEpoch(ad=job.ad.copy()))

    def leave(self, job: Job) -> None:
        """Remove a job from the queue in its current state."""
        cluster, row = job.cluster, row_of(job, On.LEFT)
        self.transitions.append((job.id, row))
        # Nothing changes it any more: its ad need not be copied.
        self.changes.append(
            AddHistory(
                job=job.id, owner=job.owner, status=row.source, ended_at=int(self.now), ad=job.ad, cluster=cluster
            )
        )
        cluster.statuses[job.id.proc] = row.target
        cluster.gone.add(job.id.proc)
        cluster.jobs.pop(job.id.proc, None)
        self._dirty.pop(job.id, None)
        self.changes.append(DropJob(job=job.id))
        self.shrunk(cluster)
        self.gone.append((cluster, job.id.proc, job.id.proc))
        if cluster.at_once_max is not None:
            # Another job may have its slot.
            self.offer()

    def leave_all(self, cluster: Cluster, ended: AddHistory) -> None:
        """Remove jobs of a cluster from the queue together to which nothing has happened before."""
        assert ended.last is not None
        self.changes.append(ended)
        first, last = ended.job.proc, ended.last
        gone = untouched_row(ended.status, On.LEFT).target
        cluster.statuses[first : last + 1] = bytes([gone]) * (last + 1 - first)
        for proc in range(first, last + 1):
            cluster.gone.add(proc)
        self.shrunk(cluster)
        self.gone.append((cluster, first, last))
        if cluster.at_once_max is not None:
            self.offer()

    def shrunk(self, cluster: Cluster) -> None:
        """Fewer jobs of a cluster are left: it leaves the queue with the last one."""
        self._left[cluster.number] = cluster
        if cluster.factory is not None:
            self.book.make_more(cluster)

    def log(self, job: Job, event: Event | Callable[[ClassAd], Event]) -> None:
        """Log an event, or one built from the job's ad, in the user's event log if there is one."""
        self.log_ad(job.ad, job.owner, job.id.cluster, job.id.proc, event)

    def log_ad(
        self, ad: ClassAd, owner: str, cluster: int, proc: int, told: Event | Callable[[ClassAd], Event]
    ) -> None:
        """Log an event of a job of which only the ad is available; first its submission, if that was not logged yet."""
        about = self.book.clusters.get(cluster)
        if about is not None and about.told is not None:
            self.tell_submitted(about, proc)
        self._log(ad, owner, cluster, proc, told)

    def tell_submitted(self, cluster: Cluster, proc: int) -> None:
        """Log the submission of a job once."""
        if cluster.told is not None:
            if proc in cluster.told:
                return
            cluster.told.add(proc)
            self._logged_submissions[cluster.number] = cluster
        ad, held = cluster.submitted_ad(proc), held_at_submit(cluster.ad)
        ad.put("JobStatus", int(JobStatus.HELD if held else JobStatus.IDLE))
        name = cluster.ad.cell("globaljobid")
        self._log(
            ad, cluster.owner, cluster.number, proc, log.Submit.of(ad, daemon_address(self._place, str(name), "schedd"))
        )
        if held:
            self._log(ad, cluster.owner, cluster.number, proc, log.JobHeld.of(ad))

    def tell_factory(self, cluster: Cluster) -> None:
        """Tell the event log that a cluster was submitted whose jobs are made one after another."""
        host = daemon_address(self._place, str(cluster.ad.cell("globaljobid")), "schedd")
        self._log(cluster.ad, cluster.owner, cluster.number, -1, log.ClusterSubmit(host=host))

    def tell_spooled(self, job: Job) -> None:
        """Log an event of a job that was submitted with its files, whose log has its final place now."""
        name = job.ad.cell("globaljobid")
        self.log(job, log.Submit.of(job.ad, daemon_address(self._place, str(name), "schedd")))

    def told_all(self, cluster: Cluster) -> None:
        """Note that the submission of all jobs of a cluster is logged."""
        cluster.told = None
        self._logged_submissions[cluster.number] = cluster

    def _log(self, ad: ClassAd, owner: str, cluster: int, proc: int, told: Event | Callable[[ClassAd], Event]) -> None:
        paths = log_paths(ad)
        if paths:
            event = told if isinstance(told, Event) else told(ad)
            text = log.format_event(event, cluster, proc, self.now)
            wanted = ad.cell("jobadinformationattrs")
            if isinstance(wanted, str) and wanted:
                text += log.format_event(log.JobAdInformation.of(ad, wanted, event), cluster, proc, self.now)
            for path in paths:
                self._logs.setdefault((path, owner), []).append(text)

    def keep(self, claim: HeldClaim) -> None:
        """Note that a claim has got, or lost, a job."""
        self.changes.append(
            PutClaim(
                claim_id=claim.id,
                node=claim.node,
                slot=claim.slot,
                submitter=claim.submitter,
                job=claim.job,
                run=claim.run,
                still=claim.still,
            )
        )

    def drop(self, claim: HeldClaim) -> None:
        """Note that a claim is no longer held."""
        self.dropped = True
        self.changes.append(DropClaim(claim_id=claim.id))

    def leave_slot(self, claim: HeldClaim) -> None:
        """Note that a granted claim is over."""
        self.left = (*self.left, (claim.slot, public_of(claim.id)))
        self.drop(claim)

    def finish(self, *, kept: bool = True) -> None:
        """Turn what has changed into changes; if these are not `kept`, the ads in them keep changing."""
        for number, cluster in self._left.items():
            if cluster.left == 0:
                if cluster.factory is not None:
                    self._log(cluster.ad, cluster.owner, number, -1, _removed(cluster, cluster.factory))
                if self.book.forget(number):
                    self.offer()
                self.changes.append(DropCluster(cluster=number))
            else:
                self.changes.append(PutGone(cluster=number, gone=str(cluster.gone)))
        for number, cluster in self._logged_submissions.items():
            if number in self.book.clusters:
                self.changes.append(PutTold(cluster=number, told="" if cluster.told is None else str(cluster.told)))
        for job in self._dirty.values():
            self.changes.append(PutJob(job=job.id, status=job.status, attributes=_own(job.ad) if kept else job.ad))
        for (path, owner), texts in self._logs.items():
            self.changes.append(AppendLog(path=path, text="".join(texts), owner=owner))
        if self._rulings is not None:
            about = self._in_force, self.now, self.request
            self.changes.extend(AddAudit(record=each) for each in self._rulings.records(*about))
        # Slots of one job are free together: the matchmaker is not to give one away and wait for the others then.
        at_once = self._offer or len(self.left) > 1
        if at_once or self._offer_later:
            self.effects.append(OfferJobs(later=not at_once, left=self.left if at_once else ()))


def _removed(cluster: Cluster, factory: Factory) -> Event:
    """What the log is told of the end of a cluster whose jobs were made one after another."""
    complete = log.Completion.COMPLETE if factory.made == cluster.count else log.Completion.INCOMPLETE
    items = 0 if cluster.plan is None else cluster.plan.items(factory.made)
    return log.ClusterRemove(jobs=factory.made, items=items, completion=complete, notes=factory.reason)


def log_paths(ad: ClassAd) -> tuple[str, ...]:
    """The event logs of a job: its user's, and that of the workflow that it belongs to."""
    link: ClassAd | None = ad
    while link is not None and "userlog" not in link.cells and "dagmannodeslog" not in link.cells:
        link = link.chained
    if link is None:
        return ()
    found = ad.cell("userlog"), ad.cell("dagmannodeslog")
    return tuple(dict.fromkeys(path for path in found if isinstance(path, str) and path))


def _own(ad: ClassAd) -> ClassAd:
    """What has happened to a job, without its submitted attributes."""
    own = ad.copy()
    own.chain_to(None)
    return own
