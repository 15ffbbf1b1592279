"""The entries of a cell's reporting file for one step of the queue, derived from the step's changes and transitions.

Wording and order are those of Grid Engine 8.1.9. As there, a job that was never sent to a machine leaves with fewer
lines than one that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roost.base.records import replace
from roost.classad import ClassAd
from roost.model import cell_requests as cell
from roost.model.cell_accounting import ACCOUNT
from roost.model.cell_reporting import (
    BASE_PRIORITY,
    EXECUTION_DAEMON,
    MASTER,
    SCHEDULER,
    JobReport,
    Report,
    Reporting,
    RunReport,
)
from roost.model.cell_reservations import ACTOR
from roost.schedd.cell.accounting import account_day, job_name, task_number
from roost.schedd.changes import AddAccounting, AddHistory, AddReports, PutCluster
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.claims.held_claims import HeldClaim
from roost.schedd.events import Acted, ClaimLost, Event, RunEnded
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster
from roost.schedd.jobs.job_transitions import On
from roost.schedd.status import JobStatus
from roost.schedd.work import Work

#: The event, the state before (None: that of the job), the user responsible, and the message.
_Line = tuple[str, str | None, str, str]
_EXITED: Final[_Line] = ("finished", None, EXECUTION_DAEMON, "job exited")
_REMOVED: Final[_Line] = ("deleted", None, EXECUTION_DAEMON, "job removed ")
_FAILED: Final[_Line] = ("error", None, EXECUTION_DAEMON, "job set in error state ")
_UNFIT: Final[_Line] = ("restart", None, EXECUTION_DAEMON, "job didn't get resources -> schedule it again")
_RESTART: Final[_Line] = ("restart", None, MASTER, "rescheduling job {job}.{task}")
_WAITS: Final[_Line] = ("finished", None, MASTER, "job waits for scheduler's deletion")
_GONE: Final[_Line] = ("deleted", "T", SCHEDULER, "job deleted by scheduler")
_DELETED: Final[_Line] = ("deleted", None, "", "job deleted")
_NEVER_RAN: Final[_Line] = ("finished", "", MASTER, "job exited")
#: Lines of a transition; those for leaving the queue depend on more.
_LINES: Final[dict[On, tuple[_Line, ...]]] = {
    On.STARTED: (("sent", "t", MASTER, "sent to execd"),),
    On.SUSPENDED: (("suspended", "r", EXECUTION_DAEMON, ""),),
    On.CONTINUED: (("unsuspended", "r", EXECUTION_DAEMON, ""),),
    On.COMPLETED: (_EXITED,),
    On.NOT_BEGUN: (_RESTART,),
    On.RUN_UNKNOWN: (_RESTART,),
    On.EVICTED: (_UNFIT, _RESTART),
    On.AGAIN: (_UNFIT, _RESTART),
    On.HOLD_MACHINE: (_FAILED, _RESTART),
    On.REMOVE_COMMAND: (_DELETED,),
    On.REMOVE_POLICY: (_DELETED,),
}
#: Rows that end the run of a job that is on a machine.
_ENDS: Final = (
    On.COMPLETED, On.NOT_BEGUN, On.RUN_UNKNOWN, On.EVICTED, On.AGAIN, On.HOLD_MACHINE, On.RUN_OVER,
)  # fmt: skip


def report(work: Work, reporting: Reporting, event: Event, claims: Iterable[HeldClaim]) -> None:
    """Report a step, which `event` led to; call it before the work is finished. `claims`: those held after it."""
    found = [*_submitted(work)]
    if reporting.joblog:
        found += _Log(work, reporting, event, claims).lines()
    elif reporting.consumables is not None:
        lines = _Log(work, reporting, event, claims).lines()
        found += (each for each in lines if not isinstance(each, JobReport))
    else:
        found += _runs(work)
    if found:
        work.changes.append(AddReports(reports=tuple(found)))


def report_day(work: Work, claim_table: ClaimTable) -> None:
    """Report the runs in progress at midnight: their usage until then."""
    found = []
    for claim in claim_table.claims.values() if claim_table.reporting is not None else ():
        job = work.book.find(claim.job) if claim.job is not None and claim.run else None
        record = None if job is None else account_day(work, job)
        if record is not None:
            found.append(RunReport(at=int(work.now), record=record))
    if found:
        work.changes.append(AddReports(reports=tuple(found)))


def _submitted(work: Work) -> Iterator[Report]:
    for change in work.changes:
        if isinstance(change, PutCluster):
            cluster = work.book.clusters[change.cluster]
            yield _about(work, cluster, cluster.submitted_ad(0))


def _runs(work: Work) -> Iterator[Report]:
    for change in work.changes:
        if isinstance(change, AddAccounting):
            yield RunReport(at=int(work.now), record=change.rest or change.record)


def _about(work: Work, cluster: Cluster, ad: ClassAd) -> JobReport:
    """A report about a job with this ad, without the event."""
    task = ad.get(cell.TASK)
    known = task if isinstance(task, ClassAd) else ClassAd()
    owner = cluster.owner.partition("@")[0]
    priority = ad.get("JobPrio")
    vacated = ad.get("LastVacateTime")
    return JobReport(
        at=int(work.now),
        job=cluster.number,
        priority=BASE_PRIORITY + (priority if isinstance(priority, int) else 0),
        submitted=max(cluster.submitted_at, vacated if isinstance(vacated, int) else 0),
        name=job_name(ad),
        owner=str(known.get("User", "")) or owner,
        group=str(known.get("Groups", "")).partition(",")[0],
        project=str(known.get("Project", "") or _text(ad, cell.PROJECT)),
        department=str(known.get("Department", "")),
        account=_text(ad, cell.ACCOUNT) or ACCOUNT,
    )


def _text(ad: ClassAd, name: str) -> str:
    value = ad.get(name)
    return value if isinstance(value, str) else ""


def _instance_host(ad: ClassAd) -> str:
    task = ad.get(cell.TASK)
    return str(task.get("Instance", "")).partition("@")[2] if isinstance(task, ClassAd) else ""


class _Log:
    """The `job_log` entries of a step."""

    def __init__(self, work: Work, reporting: Reporting, event: Event, claims: Iterable[HeldClaim]) -> None:
        self._work, self._reporting, self._event = work, reporting, event
        self._user = event.user.partition("@")[0] if isinstance(event, Acted) else ""
        #: Jobs that have left the queue and are no longer in the book.
        self._left = {each.job: each for each in work.changes if isinstance(each, AddHistory)}
        self._has_ended = isinstance(event, RunEnded | ClaimLost)
        #: The start of the wait of jobs whose runs have ended.
        self._waited = {
            each.record.job: each.record.submitted for each in work.changes if isinstance(each, AddAccounting)
        }
        #: Cell resources of running jobs, for reporting consumables; initially, those before the step.
        self._running: dict[JobId, ClassAd] = {}
        #: Jobs whose runs end in this step.
        self._over: set[JobId] = set()
        if reporting.consumables is not None and work.transitions:
            self._look(claims)

    def _look(self, claims: Iterable[HeldClaim]) -> None:
        """Record the state of jobs before the step."""
        started = {name for name, row in self._work.transitions if row.on[0] is On.STARTED}
        for claim in claims:
            if claim.job is not None and claim.run and claim.job not in started:
                self._add(claim.job, self._ad(claim.job))
        for name, row in self._work.transitions:
            if row.source is not JobStatus.IDLE and (
                row.on[0] in _ENDS or (self._has_ended and row.on[0] is On.HOLD_POLICY)
            ):
                self._over.add(name)
                self._add(name, self._ad(name))

    def _add(self, name: JobId, ad: ClassAd | None) -> None:
        task = None if ad is None else ad.get(cell.TASK)
        if isinstance(task, ClassAd):
            self._running[name] = task

    def _took(self, name: JobId, ad: ClassAd) -> Iterator[Report]:
        """The resources that a starting job takes."""
        task, consumables = ad.get(cell.TASK), self._reporting.consumables
        if consumables is not None and isinstance(task, ClassAd):
            yield from consumables.lines(task, self._running.values(), int(self._work.now), begins=True)
            self._running[name] = task

    def _left_behind(self, name: JobId) -> Iterator[Report]:
        """The resources that a job frees when its run is over."""
        consumables = self._reporting.consumables
        if consumables is not None and name in self._over and name in self._running:
            self._over.remove(name)
            task = self._running.pop(name)
            yield from consumables.lines(task, self._running.values(), int(self._work.now), begins=False)

    def lines(self) -> Iterator[Report]:
        """All lines, in order."""
        host, work = self._reporting.host, self._work
        for change in work.changes:
            if isinstance(change, PutCluster):
                cluster = work.book.clusters[change.cluster]
                new = _about(work, cluster, cluster.submitted_ad(0))
                yield replace(new, event="pending", user=new.owner, host=host, message="new job")
        for job in work.begun:
            yield from self._records(job.id, job.ad, "r", (("delivered", "r", MASTER, "job received by execd"),))
        yield from _runs(work)
        for name, row in work.transitions:
            ad = self._ad(name)
            if ad is None:
                continue
            for line in self._lines(row.on, row.source, name, ad):
                if line is _GONE:
                    yield from self._left_behind(name)
                yield from self._records(name, ad, self._state(row.source, ad), (line,))
            if row.on[0] is On.STARTED:
                yield from self._took(name, ad)
            elif name not in self._left:
                yield from self._left_behind(name)
        for gone in self._left.values():
            if gone.last is not None:
                yield from self._together(gone)

    def _ad(self, name: JobId) -> ClassAd | None:
        left = self._left.get(name)
        job = self._work.book.find(name) if left is None else None
        return left.ad if left is not None else None if job is None else job.ad

    def _state(self, source: JobStatus, ad: ClassAd) -> str:
        """The letter of a job's state before the step."""
        if self._has_ended:
            return "r" if not isinstance(self._event, RunEnded) or self._event.started else "t"
        if source in (JobStatus.IDLE, JobStatus.HELD, JobStatus.REMOVED):
            return ""
        return "t" if ad.get("JobCurrentStartExecutingDate") is None else "r"

    def _lines(self, on: tuple[On, ...], source: JobStatus, name: JobId, ad: ClassAd) -> tuple[_Line, ...]:
        match on[0]:
            case On.LEFT:
                return (_WAITS, _GONE) if cell.TASK in ad else (_NEVER_RAN,)
            case On.REMOVE_COMMAND if self._user == ACTOR and source not in (JobStatus.IDLE, JobStatus.HELD):
                # The end of its reservation removes it, which `ar_log` reports.
                return ()
            case On.RUN_OVER:
                return (_REMOVED,) if source is JobStatus.REMOVED else (_UNFIT, _RESTART)
            case On.HOLD_POLICY if self._has_ended:
                return (_FAILED, _RESTART)
            case On.COMPLETED | On.AGAIN if source is JobStatus.IDLE:
                # The job completes without a run.
                return ()
            case _:
                return _LINES.get(on[0], ())

    def _records(self, name: JobId, ad: ClassAd, state: str, lines: tuple[_Line, ...]) -> Iterator[JobReport]:
        cluster = self._work.book.clusters.get(name.cluster)
        if cluster is None or not lines:
            return
        about = _about(self._work, cluster, ad)
        submitted = self._waited.get(name.cluster) or about.submitted
        about = replace(about, task=task_number(ad, cluster, name.proc), submitted=submitted)
        for event, letter, user, words in lines:
            yield replace(
                about,
                event=event,
                state=state if letter is None else letter,
                user=user or self._user or SCHEDULER,
                host=_instance_host(ad) if user == EXECUTION_DAEMON else self._reporting.host,
                message=words.format(job=name.cluster, task=about.task or 1),
            )

    def _together(self, gone: AddHistory) -> Iterator[JobReport]:
        """Jobs that are removed together and have never run."""
        cluster = self._work.book.clusters.get(gone.job.cluster)
        for job in gone.jobs if cluster is not None else ():
            assert cluster is not None
            yield from self._records(job, cluster.submitted_ad(job.proc), "", (_DELETED, _NEVER_RAN))
