"""Why a job waits, is held, or is in any other state."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.base.structs import Struct, whole_data_of
from roost.classad import ClassAd
from roost.classad.reading import number_in
from roost.explain import limits
from roost.explain.causes import Cause, causes_of
from roost.explain.edits import Change
from roost.explain.happenings import of_audit
from roost.explain.holds import remedies_of_hold
from roost.explain.remedies import Remedy, RemedyKind
from roost.explain.verdict import Origins, Verdict, verdict
from roost.model.audit import AuditRecord
from roost.model.cell_requests import SUSPENSION
from roost.model.cycle_answers import JobInCell, JobInCycle
from roost.model.job_standing import ClaimStanding, Full, JobStanding, LocalPolicy, Pause
from roost.model.reasons import Reason
from roost.schedd.status import ON_MACHINE, JobStatus

#: Attributes included in the data of a job that is not idle.
_REPEATED: Final = (
    "JobStatus", "HoldReason", "HoldReasonCode", "HoldReasonSubCode", "RemoteHost", "RemoveReason", "ExitCode",
    "ExitSignal", "EnteredCurrentStatus",
)  # fmt: skip
#: Causes that come from the pool's policy, to the knob.
_POLICIES: Final = {
    "pool-policy-resource": "NEGOTIATOR_PE_RESOURCE_EXPR",
    "pool-policy-job": "NEGOTIATOR_PE_JOB_EXPR",
    "pool-policy": "NEGOTIATOR_PE_STARTD_ONLY_EXPR",
    "constraint": "NEGOTIATOR_SLOT_CONSTRAINT",
}


_NOTHING_KNOWN: Final = JobStanding(autocluster=-1, rejection="", schedd="", submitter="")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFacts:
    """Facts about the pool, for a job that no cycle has considered."""

    has_slots: bool = True
    #: Cycles since the negotiator started.
    cycles: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuestion:
    """All that the daemons know about a job."""

    name: str
    ad: ClassAd
    #: The queue's data about an idle job.
    standing: JobStanding = _NOTHING_KNOWN
    #: The outcome in the last cycle, or run of a cell; None if the job was not part of it.
    record: JobInCycle | JobInCell | None = None
    #: Ads of `roost.explain.verdict.slots_to_trace`; for a suspended job, its slot's ad.
    slots: Mapping[str, ClassAd] = field(default_factory=dict)
    origins: Origins = lambda name: {}
    #: Recorded decisions that led to its state.
    decided: Sequence[AuditRecord] = ()
    pool: PoolFacts = field(default_factory=PoolFacts)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAnswer:
    """Why a job is in its state."""

    job: str
    owner: str
    status: JobStatus
    #: When it entered this status, epoch s; 0 if unknown.
    since: float
    #: For a job that is not idle, attributes that say how it got there.
    attributes: Mapping[str, Any] = field(default_factory=dict)
    #: Why it left its last machine, and why a matched machine refused it; "" if that did not happen.
    vacated: str = ""
    refused: str = ""
    claim: ClaimStanding | None = None
    #: Consecutive slots on which its cluster did not start, and until when its queue requests none.
    pause: Pause | None = None
    #: The limit of materialized jobs of its cluster, if it waits for that; else 0.
    at_once: int = 0
    #: The limit of its queue, if it waits for that.
    full: Full | None = None
    #: The verdict of the last cycle; None if the job was not part of it.
    verdict: Verdict | None = None
    #: In a pool with a Grid Engine cell, the outcome in the last run.
    cell: JobInCell | None = None
    #: Why there is no verdict, in sentences.
    unknown: tuple[str, ...] = ()
    #: The users or expressions that held or removed it, one line each.
    decided: tuple[str, ...] = ()
    #: Why an idle job does not run, the cause closest to running first.
    causes: tuple[Cause, ...] = ()
    #: Start time of a job with a deferral time, epoch s; None for any other.
    starts_at: float | None = None
    #: The result of START_LOCAL_UNIVERSE or START_SCHEDULER_UNIVERSE, for a job that needs no slot.
    local: LocalPolicy | None = None
    #: For a job with a slot, whether its program has started there.
    executes: bool = False
    #: What suspends it in a Grid Engine cell, in sentences; "" if nothing does.
    suspension: str = ""
    remedies: tuple[Remedy, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether it ran, runs, is about to run, or would if a cycle ran now."""
        if self.status is JobStatus.IDLE:
            fits = self.verdict is not None and bool(self.verdict.fits) and not self.at_once
            return bool(self.claim) or (fits and not self.full)
        return self.status is JobStatus.COMPLETED or self.status in ON_MACHINE

    def data(self) -> dict[str, Any]:
        """As JSON."""
        about: dict[str, Any]
        remedies = [each.data() for each in self.remedies]
        if self.status is not JobStatus.IDLE:
            about = {"suspension": self.suspension} if self.suspension else {}
            return {"job": self.job, **self.attributes, **about, "executes": self.executes, "remedies": remedies}
        found = {} if self.verdict is None else self.verdict.data()
        about = {"claim": _whole(self.claim), "pause": _whole(self.pause), "at_once": self.at_once or None}
        about["full"] = _whole(self.full)
        causes = {"cause": self.causes[0] if self.causes else None, "causes": list(self.causes)}
        if self.cell is not None:
            about["cell"] = _whole(self.cell)
        return {"job": self.job, "status": "idle", **causes, **about, "remedies": remedies, **found}


def _whole(struct: Struct | None) -> dict[str, object] | None:
    return None if struct is None else whole_data_of(struct)


def explain_job(question: JobQuestion) -> JobAnswer:
    """Explain why a job is in its state."""
    ad = question.ad
    status = JobStatus(int(ad.get("JobStatus", JobStatus.IDLE)))
    since = number_in(ad, "EnteredCurrentStatus") or number_in(ad, "CompletionDate") or 0.0
    common: dict[str, Any] = {
        "job": question.name, "owner": _text(ad, "Owner") or "?", "status": status, "since": since,
        "starts_at": number_in(ad, "DeferralTime"),
    }  # fmt: skip
    if status is JobStatus.IDLE:
        return _idle(question, common)
    return JobAnswer(
        **common,
        attributes={name: value for name in _REPEATED if isinstance(value := ad.get(name), bool | int | float | str)},
        decided=tuple(line for record in question.decided for line in of_audit(record).why),
        executes=status in ON_MACHINE and number_in(ad, "JobCurrentStartExecutingDate") is not None,
        suspension="; ".join(_text(slot, SUSPENSION) for slot in question.slots.values() if SUSPENSION in slot),
        remedies=remedies_of_hold(question.name, ad, question.decided) if status is JobStatus.HELD else (),
    )


def _idle(question: JobQuestion, common: dict[str, Any]) -> JobAnswer:
    ad, standing, record = question.ad, question.standing, question.record
    cell = record if isinstance(record, JobInCell) else None
    found = verdict(ad, record, question.slots, question.origins) if isinstance(record, JobInCycle) else None
    causes = tuple(dict.fromkeys(_causes(question, found)))
    return JobAnswer(
        **common,
        vacated=_text(ad, "LastVacateReason") or _text(ad, "VacateReason"),
        refused=refusal(ad),
        claim=standing.claim,
        pause=standing.pause,
        at_once=standing.at_once or 0,
        local=standing.local,
        full=standing.full,
        verdict=found,
        cell=cell,
        unknown=()
        if found is not None or cell is not None or standing.claim or standing.local or standing.full
        else tuple(_unknown(standing, question.pool)),
        causes=causes,
        remedies=tuple(_remedies(question, found, causes)),
    )


def refusal(ad: ClassAd) -> str:
    """Why a machine refused the job that it was matched with, or ended its claim at once; "" if it has run since."""
    began = number_in(ad, "JobCurrentStartExecutingDate") or number_in(ad, "JobLastStartDate") or 0.0
    since = number_in(ad, "LastRejMatchTime")
    return "" if since is not None and since < began else _text(ad, "LastRejMatchReason")


# -- causes --------------------------------------------------------------------------------------------------------


def _causes(question: JobQuestion, found: Verdict | None) -> Iterator[Cause]:
    asked = question.standing
    if asked.claim:
        yield Cause.MATCHED
    if asked.at_once:
        yield Cause.MATERIALIZE_LIMIT
    if asked.full:
        yield Cause.QUEUE_LIMIT
    if asked.pause:
        yield Cause.NOT_STARTING
    if asked.local:
        yield Cause.LOCAL_POLICY
    elif found is not None:
        deferred = _deferred(question.ad, float(found.record.at))
        if deferred is not None:
            yield deferred
        yield from (each for each in causes_of(found) if each is not Cause.READY or not asked.full)
    elif question.record is not None:
        yield Cause.CELL
    elif not asked.claim and not asked.full:
        pool = question.pool
        yield Cause.NO_SLOTS if not pool.has_slots else Cause.NEW if pool.cycles else Cause.NO_CYCLE


def _deferred(ad: ClassAd, now: float) -> Cause | None:
    """Whether the deferral time of a job keeps it from slots."""
    at = number_in(ad, "DeferralTime")
    if at is None:
        return None
    early = (number_in(ad, "DeferralPrepTime") or 0.0) + (number_in(ad, "ScheddInterval") or 0.0)
    if now < at - early:
        return Cause.DEFERRED
    return Cause.DEFERRAL_MISSED if now > at + (number_in(ad, "DeferralWindow") or 0.0) else None


def _unknown(standing: JobStanding, pool: PoolFacts) -> list[str]:
    """Why the last cycle has no record of a job."""
    if standing.waits_for:
        jobs = ", ".join(map(str, standing.waits_for))
        return [f"It does not start before these jobs have left the queue (qsub -hold_jid): {jobs}."]
    if not pool.has_slots:
        return ["The pool has no slots; `roost status --daemons` shows which daemons are running on this machine."]
    if pool.cycles:
        said = "The job was not part of the last matchmaking cycle: it is new or already matched."
    else:
        said = "No matchmaking cycle has run yet; the first one starts once there are slots and idle jobs."
    return [said, f"The last answer to its queue: {standing.rejection}."] if standing.rejection else [said]


# -- remedies ------------------------------------------------------------------------------------------------------


def _remedies(question: JobQuestion, found: Verdict | None, causes: Sequence[Cause]) -> Iterator[Remedy]:
    name = question.name
    if Cause.MATERIALIZE_LIMIT in causes:
        text = "Wait until a job of its cluster leaves the queue, or submit with a larger max_materialize."
        yield Remedy(kind=RemedyKind.WAIT, text=text)
    if (full := question.standing.full) is not None and Cause.QUEUE_LIMIT in causes:
        knob = full.knob
        text = f"Wait until another job of the queue ends, or ask the administrator to raise {knob}."
        if knob == "JOB_START_COUNT":
            text = (
                f"Wait: the queue asks for more slots after JOB_START_DELAY. Only the administrator can change {knob}."
            )
        yield Remedy(kind=RemedyKind.LIMIT, text=text)
    if Cause.NOT_STARTING in causes:
        yield _of_misses(name, refusal(question.ad))
    if (local := question.standing.local) is not None and Cause.LOCAL_POLICY in causes:
        yield Remedy(kind=RemedyKind.POLICY, text=f"Wait. Only the administrator can change {local.knob}.")
    if Cause.DEFERRED in causes:
        command = ("roost", "edit", name, "--set", "DeferralTime=time()")
        text = f"Wait until then, or let it start now: `{' '.join(command)}`."
        yield Remedy(kind=RemedyKind.WAIT, text=text)
    if Cause.DEFERRAL_MISSED in causes:
        text = (
            f"Its start time has passed; set a new one with `roost edit {name} --set DeferralTime=EPOCH`, "
            "or remove the job."
        )
        yield Remedy(kind=RemedyKind.EDIT, text=text)
    if Cause.CELL in causes:
        text = "Wait, or change its requests and submit it again. `roost cell queues` shows the cell's queue instances."
        yield Remedy(kind=RemedyKind.WAIT, text=text)
    if found is not None and not found.fits and not {Cause.DEFERRED, Cause.DEFERRAL_MISSED} & set(causes):
        yield from _of_verdict(name, found, causes)


def _of_misses(name: str, refused: str) -> Remedy:
    """Remedies for a job that failed to start on consecutive slots."""
    if refused.endswith(f": {Reason.OWNER_PRESENT}"):
        slot = refused.partition(" ")[0]
        text = (
            f"IS_OWNER is TRUE for the job although START of {slot} accepts it, so every claim ends at once. "
            "The machine's administrator can make the same exceptions in IS_OWNER as in START. "
            f"`roost story slot {slot}` shows the clauses."
        )
        return Remedy(kind=RemedyKind.POLICY, text=text)
    text = f"Find out why the machines reject it: see `roost story job {name}` and the machines' logs."
    return Remedy(kind=RemedyKind.REPAIR, text=text)


def _of_verdict(name: str, found: Verdict, causes: Sequence[Cause]) -> Iterator[Remedy]:
    record = found.record
    if knob := record.knob:
        which = knob.name
        helps = (
            "only other values of the job attributes that it refers to help"
            if "JOB" in which
            else "no change of the job helps"
        )
        text = f"Only the administrator can change {which}. Until then, {helps}."
        yield Remedy(kind=RemedyKind.POLICY, text=text)
        return
    if record.out:
        yield Remedy(kind=RemedyKind.RESUBMIT, text="Submit the job again without that attribute.")
        return
    if found.later is not None:
        at, slot = found.later
        text = f"Wait: {slot} would accept it from {_local(at, record)} on."
        yield Remedy(kind=RemedyKind.WAIT, text=text)
    if found.edit is not None:
        yield _edited(name, found)
    yield from _of_machines(found)
    rest = [*limits.remedies(record, found.causes, name), *_of_parts(found)]
    policy = list(_of_policy(found))
    # Remedies for the pool's policy come first only if that is what the job waits for.
    yield from [*policy, *rest] if causes and causes[0] is Cause.POOL_POLICY else [*rest, *policy]


def _local(at: float, record: JobInCycle) -> str:
    """A time, epoch s, formatted in the time zone of the record."""
    zone = timezone(timedelta(seconds=record.zone_offset_s))
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%d %H:%M:%S}"


def _edited(name: str, found: Verdict) -> Remedy:
    assert found.edit is not None
    settings = [f"{each.attribute}={each.text}" for each in _merged(found.edit.changes)]
    command = ("roost", "edit", name, *(word for each in settings for word in ("--set", each)))
    said = "; ".join(each.said for each in found.edit.changes)
    text = f"{said[0].upper()}{said[1:]}. Then {found.edit.slot} would accept it: `{shlex.join(command)}`."
    return Remedy(kind=RemedyKind.EDIT, text=text.replace("?.", "?"), command=command)


def _merged(changes: Sequence[Change]) -> list[Change]:
    """The last change of each attribute."""
    return list({each.attribute.lower(): each for each in changes}.values())


def _of_machines(found: Verdict) -> Iterator[Remedy]:
    if found.others:
        which = found.others[0] if len(found.others) == 1 else f"{found.others[0]} and {len(found.others) - 1} more"
        text = (
            f"Wait: its owner's policy does not give {which} to the job, and no change of the job can "
            f"alter that. `roost explain slot {found.others[0]}` shows what it is waiting for."
        )
        yield Remedy(kind=RemedyKind.OWNER, text=text)
    if found.shut:
        slot, why = next(iter(found.shut.items()))
        more = f" (and {len(found.shut) - 1} more)" if len(found.shut) > 1 else ""
        if why.startswith("its machine is draining"):
            machine = slot.partition("@")[2]
            command: tuple[str, ...] = ("roost", "drain", "--cancel", machine)
            text = f"{slot}{more} is draining: wait, or ask an administrator to cancel it with `{' '.join(command)}`."
        else:
            command = ("roost", "reopen", slot)
            text = f"{slot}{more} is closed ({why}): after fixing the cause, reopen it with `{' '.join(command)}`."
        yield Remedy(kind=RemedyKind.REPAIR, text=text, command=command)


def _of_parts(found: Verdict) -> Iterator[Remedy]:
    if found.when_free:
        text = (
            f"Wait until jobs on {found.when_free[0]} end: the whole slot would be large enough for the "
            "job, but its free part is not."
        )
        yield Remedy(kind=RemedyKind.WAIT, text=text)


def _of_policy(found: Verdict) -> Iterator[Remedy]:
    sources = found.record.sources
    knobs = [cause for cause in _POLICIES if cause in found.causes]
    names = [source.name if (source := sources.get(each)) is not None else _POLICIES[each] for each in knobs]
    if names:
        text = f"Only the administrator can change the pool's policy ({', '.join(dict.fromkeys(names))})."
        yield Remedy(kind=RemedyKind.POLICY, text=text)


def _text(ad: ClassAd, name: str) -> str:
    value = ad.get(name)
    return value if isinstance(value, str) else ""
