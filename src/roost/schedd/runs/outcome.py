"""What happens to a job after a run or a decision: it leaves, is held, is released, or is requeued. All of this is done
here only.

Each sets the attributes that HTCondor sets, and logs the same events.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.audit import AuditKind
from roost.model.cell_requests import HELD
from roost.model.codes import HoldCode, VacateCode
from roost.schedd.decisions import Ruling
from roost.schedd.effects import ForgetFiles
from roost.schedd.event_log import log
from roost.schedd.events import RunEnded
from roost.schedd.job_policy.expressions import Occasion, Outcome, SystemPolicy, Verdict, decide
from roost.schedd.jobs.book import Job
from roost.schedd.jobs.job_transitions import On, row_of
from roost.schedd.status import JobStatus
from roost.schedd.work import Work

_KINDS: Final = {
    Outcome.HOLD: AuditKind.HOLD,
    Outcome.RELEASE: AuditKind.RELEASE,
    Outcome.REMOVE: AuditKind.REMOVAL,
    Outcome.VACATE: AuditKind.EVICTION,
}

_HOLD_CODES: Final = frozenset(map(int, HoldCode))
#: Folded name of a mark on a removed job that stays in the queue: its end has been logged.
_TOLD: Final = "removaltold"
_HELD: Final = fold(HELD)


class HoldReason(NamedTuple):
    """Why a job is held: HoldReasonCode, HoldReason and HoldReasonSubCode."""

    code: int
    text: str
    subcode: int = 0


def hold(work: Work, job: Job, on: On, reason: HoldReason, *, tell: bool = True, taken: bool = False) -> None:
    """Put a job on hold. `on`: the trigger; `tell`: also log it, but not while the job has yet to leave its machine.

    `taken`: it was idle, and has been taken from the idle jobs.
    """
    code, text, subcode = reason
    work.move(job, on, taken=taken)
    work.set(
        job,
        HoldReason=text,
        HoldReasonCode=int(code),
        HoldReasonSubCode=int(subcode),
        NumHolds=job.whole("numholds") + 1,
        NumHoldsByReason=_counted(job, code),
        ReleaseReason=None,
    )
    if code != HoldCode.USER_REQUEST:
        work.set(job, NumSystemHolds=job.whole("numsystemholds") + 1)
    if tell:
        work.log(job, log.JobHeld(reason=text, code=int(code), subcode=int(subcode)))


def _counted(job: Job, code: int) -> ClassAd:
    """NumHoldsByReason with one more hold of that code."""
    before = job.ad.cell("numholdsbyreason")
    counts = ClassAd(before) if isinstance(before, ClassAd) else ClassAd()
    label = (HoldCode(code) if code in _HOLD_CODES else HoldCode.UNSPECIFIED).label
    known = counts.cell(fold(label))
    counts.put(label, 1 + (known if isinstance(known, int) else 0))
    return counts


def release(work: Work, job: Job, on: On, text: str) -> None:
    """Release a held job."""
    row = row_of(job, on)
    work.set(
        job,
        ReleaseReason=text,
        LastHoldReason=job.ad.get("HoldReason"),
        LastHoldReasonCode=job.ad.get("HoldReasonCode"),
        LastHoldReasonSubCode=job.ad.get("HoldReasonSubCode"),
        JobCurrentStartExecutingDate=None,
    )
    for name in ("HoldReason", "HoldReasonCode", "HoldReasonSubCode", HELD):
        if job.ad.cells.get(fold(name)) is not None:
            del job.ad[name]
    if job.text(_HELD):
        # Its cluster was submitted on hold.
        job.ad.put(HELD, "")
    work.take(job, row)
    work.log(job, log.JobReleased(reason=text))


def remove(work: Work, job: Job, on: On, text: str) -> None:
    """Mark a job as removed; it leaves the queue when it has left its machine.

    The end of a job that has completed was reported, and its removal is not another one.
    """
    told = {"RemovalTold": True} if job.status is JobStatus.COMPLETED else {}
    work.move(job, on)
    work.set(job, RemoveReason=text, **told)


def leave_removed(work: Work, job: Job, *, stays: bool = True) -> None:
    """Finish a removed job that has left its machine: it leaves the queue, unless it must stay.

    A job that `stays` leaves when its LeaveJobInQueue is no longer true; it is marked so that its end is reported once.
    So is a job that takes others with it, until they have been found.
    """
    if stays and job.id in work.book.following:
        work.touch(job)
        return
    if not job.truth(_TOLD):
        work.log(job, log.JobAborted(reason=job.text("removereason")))
        if stays and job.ad.eval("LeaveJobInQueue", None, work.world) is True:
            work.set(job, RemovalTold=True)
            return
    elif stays and job.ad.eval("LeaveJobInQueue", None, work.world) is True:
        return
    leave_at_last(work, job)


def leave_at_last(work: Work, job: Job) -> None:
    """Let a completed or removed job that stayed leave the queue; its end was already reported."""
    work.order(ForgetFiles(job=job.id))
    work.leave(job)


def leave_completed(work: Work, job: Job) -> None:
    """Let a completed job leave the queue, unless it must stay."""
    if job.ad.eval("LeaveJobInQueue", None, work.world) is True:
        work.touch(job)
        return
    leave_at_last(work, job)


def requeue(work: Work, job: Job, *, code: int, text: str, subcode: int = 0, lost: str = "") -> None:
    """Make a job idle again that left its slot without ending; `lost`: the slot that could no longer be reached."""
    row = row_of(job, On.EVICTED)
    work.set(
        job,
        NumVacates=job.whole("numvacates") + 1,
        LastVacateTime=int(work.now),
        VacateReason=text,
        VacateReasonCode=int(code),
        VacateReasonSubCode=int(subcode),
        JobCurrentStartExecutingDate=None,
    )
    if lost:
        work.log(job, log.JobReconnectFailed(reason=text, machine=lost))
    else:
        work.log(job, lambda ad: log.JobEvicted.of(ad, reason=text, code=int(code), subcode=int(subcode)))
    work.take(job, row)
    _stay_on_hold(work, job)


def at_exit(work: Work, policy: SystemPolicy, job: Job, event: RunEnded) -> None:
    """Handle the end of the job's program by itself, according to the job's policy."""
    work.set(
        job,
        NumJobCompletions=job.whole("numjobcompletions") + 1,
        ExitBySignal=event.exit_signal is not None,
        ExitCode=event.exit_code,
        ExitSignal=event.exit_signal,
        ExitStatus=event.exit_code if event.exit_signal is None else event.exit_signal,
        JobCoreDumped=event.core_dumped,
    )
    verdict = decide(job.ad, policy, work.world, Occasion.EXIT)
    carry_out(work, job, verdict, at_exit=True)


def carry_out(work: Work, job: Job, verdict: Verdict, *, at_exit: bool = False) -> None:
    """Carry out the policy's verdict on a job that is on no machine."""
    note_verdict(work, job, verdict)
    match verdict.outcome:
        case Outcome.STAY:
            pass
        case Outcome.HOLD:
            hold(work, job, On.HOLD_POLICY, HoldReason(verdict.code, verdict.reason, verdict.subcode))
        case Outcome.RELEASE:
            release(work, job, On.RELEASE_POLICY, verdict.reason)
        case Outcome.REMOVE:
            remove(work, job, On.REMOVE_POLICY, verdict.reason)
            leave_removed(work, job)
        case Outcome.REQUEUE | Outcome.VACATE:
            if at_exit:
                _again(work, job)
        case Outcome.LEAVE:
            _done(work, job)


def note_verdict(work: Work, job: Job, verdict: Verdict) -> None:
    """Record that policy, and not a user, decided about a job."""
    kind = _KINDS.get(verdict.outcome)
    if kind is not None:
        expression = "" if verdict.expression is None else str(verdict.expression)
        work.decided(job, Ruling(kind=kind, knob=verdict.source, expression=expression, reason=verdict.reason))


def _again(work: Work, job: Job) -> None:
    """Requeue a job whose program ended and must run again."""
    row = row_of(job, On.AGAIN)
    work.set(job, LastVacateTime=int(work.now))
    work.log(
        job,
        lambda ad: log.JobEvicted.of(
            ad,
            requeued=True,
            reason="the job's policy requires it to run again",
            code=int(VacateCode.JOB_SHOULD_REQUEUE),
        ),
    )
    work.set(job, JobCurrentStartExecutingDate=None)
    work.take(job, row)
    _stay_on_hold(work, job)


def _stay_on_hold(work: Work, job: Job) -> None:
    """Put a job on hold that has left its machine, if it was held by `qhold` while it ran."""
    if job.text(_HELD):
        hold(work, job, On.HOLD_COMMAND, HoldReason(HoldCode.USER_REQUEST, "qhold while the job was running"))


def _done(work: Work, job: Job) -> None:
    work.move(job, On.COMPLETED)
    work.set(job, CompletionDate=int(work.now))
    work.log(job, log.JobTerminated.of)
    leave_completed(work, job)
