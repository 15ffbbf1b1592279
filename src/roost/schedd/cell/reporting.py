"""What the reporting file of a cell is told of a step of the queue: made of the changes and transitions of the step.

The words and the order are those of Grid Engine 8.1.9. A job that was never sent to a machine leaves with fewer lines
than one that was, as there.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from roost.schedd.cell.accounting import job_name, task_number
from roost.schedd.changes import AddAccounting, AddHistory, AddReports, PutCluster
from roost.schedd.events import Acted, ClaimLost, Event, RunEnded
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster
from roost.schedd.jobs.job_transitions import On
from roost.schedd.status import JobStatus
from roost.schedd.work import Work

#: What happened, the state before (None: that of the job), in whose name, and the words.
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
#: Lines of a transition; those of leaving the queue depend on more.
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


def report(work: Work, reporting: Reporting, event: Event) -> None:
    """Have a step told, which `event` led to; before the work is finished."""
    found = [*_submitted(work)]
    if reporting.joblog:
        found += _Log(work, reporting, event).lines()
    else:
        found += _runs(work)
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
            yield RunReport(at=int(work.now), record=change.record)


def _about(work: Work, cluster: Cluster, ad: ClassAd) -> JobReport:
    """A report of a job of which this is the ad, without what has happened."""
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
    """What `job_log` tells of a step."""

    def __init__(self, work: Work, reporting: Reporting, event: Event) -> None:
        self._work, self._reporting, self._event = work, reporting, event
        self._user = event.user.partition("@")[0] if isinstance(event, Acted) else ""
        #: Of jobs that have left, which the book no longer has.
        self._left = {each.job: each for each in work.changes if isinstance(each, AddHistory)}
        self._has_ended = isinstance(event, RunEnded | ClaimLost)
        #: Since when the jobs waited whose runs have ended.
        self._waited = {
            each.record.job: each.record.submitted for each in work.changes if isinstance(each, AddAccounting)
        }

    def lines(self) -> Iterator[Report]:
        """All of it, in order."""
        host, work = self._reporting.host, self._work
        for change in work.changes:
            if isinstance(change, PutCluster):
                cluster = work.book.clusters[change.cluster]
                new = _about(work, cluster, cluster.submitted_ad(0))
                yield replace(new, event="pending", user=new.owner, host=host, message="new job")
        for job in work.begun:
            yield from self._told(job.id, job.ad, "r", (("delivered", "r", MASTER, "job received by execd"),))
        yield from _runs(work)
        for name, row in work.transitions:
            ad = self._ad(name)
            if ad is not None:
                yield from self._told(name, ad, self._state(row.source, ad), self._lines(row.on, row.source, name, ad))
        for gone in self._left.values():
            if gone.last is not None:
                yield from self._together(gone)

    def _ad(self, name: JobId) -> ClassAd | None:
        left = self._left.get(name)
        job = self._work.book.find(name) if left is None else None
        return left.ad if left is not None else None if job is None else job.ad

    def _state(self, source: JobStatus, ad: ClassAd) -> str:
        """The letter of a job as it was."""
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
                # The end of its reservation removes it, of which `ar_log` tells.
                return ()
            case On.RUN_OVER:
                return (_REMOVED,) if source is JobStatus.REMOVED else (_UNFIT, _RESTART)
            case On.HOLD_POLICY if self._has_ended:
                return (_FAILED, _RESTART)
            case On.COMPLETED | On.AGAIN if source is JobStatus.IDLE:
                # It is done without being run.
                return ()
            case _:
                return _LINES.get(on[0], ())

    def _told(self, name: JobId, ad: ClassAd, state: str, lines: tuple[_Line, ...]) -> Iterator[JobReport]:
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
        """Jobs that are removed together, none of which has ever run."""
        cluster = self._work.book.clusters.get(gone.job.cluster)
        for job in gone.jobs if cluster is not None else ():
            assert cluster is not None
            yield from self._told(job, cluster.submitted_ad(job.proc), "", (_DELETED, _NEVER_RAN))
