"""What happened to a job or a slot, in order, with the reasons.

A job's story combines its event log, or without one its ad and the slots' records of its runs; the slot records of the
machines that it ran on; and the audit trail, which says who or what decided. A slot's story combines its machine's
records and the commands to it.

**Order.** Decisions and transitions have sub-second times. A job's log has whole seconds and its events in order, so an
event lies somewhere within its second and after the preceding event. If the decision or transition that led to the
event is known, the event is placed right after it. Each decision appears once: with its effect if that followed soon,
else on its own line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from roost.classad import ClassAd
from roost.explain.happenings import (
    Happening,
    Milestone,
    effects_of,
    is_displacement,
    of_audit,
    of_events,
    of_records,
    retried,
)
from roost.model.audit import AuditRecord
from roost.model.slot_transition import SlotTransition
from roost.schedd.event_log.log import LoggedEvent
from roost.schedd.event_log.parts import ProgramExit
from roost.schedd.status import JobStatus

#: Attributes from which the story of a job without a log is built: name, what happened, and the milestone.
_FROM_AD: Final = (
    ("QDate", "submitted", Milestone.SUBMITTED),
    ("JobStartDate", "started for the first time", Milestone.STARTED),
)
#: A decision whose effect follows within this time is merged with it, s.
_SOON_S: Final = 2.0
#: Maximum time between a machine's record and the queue's event of the same change, s.
_MESSAGE_S: Final = 3.0
#: How far an event is placed after its cause, s.
_AFTER_S: Final = 1e-6
#: The last instant of a second.
_SECOND_S: Final = 1.0 - 1e-6
#: Kinds of decisions in a slot's story, in addition to its transitions.
_OF_SLOTS: Final = ("preemption", "drain", "command", "match")
#: Outcomes of decisions that are included.
_TOLD: Final = ("done", "refused")


def job_story(
    name: str,
    ad: ClassAd,
    *,
    events: Sequence[LoggedEvent],
    records: Iterable[SlotTransition],
    decisions: Iterable[AuditRecord],
    kept_out: Iterable[AuditRecord],
) -> list[Happening]:
    """The story of a job.

    `events` come from its log, `records` are the slot transitions of its runs, `decisions` the audit records about it,
    and `kept_out` the audit records that kept its submitter's jobs out of matchmaking.
    """
    records = list(records)
    decided = sorted((each for each in decisions if _is_told(each)), key=lambda each: each.at)
    past = of_events(events, ad) if events else _past(ad, name, records, decided)
    told = [_with_request(each, ad) for each in past]
    told, rest = _with_decisions(_refined(told, records, decided), decided)
    # A slot record that repeats the job's log without giving a reason is left out.
    told += [each for each in of_records(records) if each.why or not events]
    told += [_of_job(each, name) for each in rest if not _is_recorded(each)]
    told += [of_audit(each) for each in kept_out if _is_told(each) and _was_there(ad, each)]
    return sorted(told, key=lambda each: each.at)


def _with_request(happening: Happening, ad: ClassAd) -> Happening:
    """The submission, with the request id that appears in the logs of all daemons."""
    request = ad.get("SubmitRequestId")
    if happening.milestone is not Milestone.SUBMITTED or not isinstance(request, str):
        return happening
    return happening._replace(what=f"{happening.what}, request {request}", request=request)


def slot_story(slot: str, records: Iterable[SlotTransition], decisions: Iterable[AuditRecord]) -> list[Happening]:
    """The story of a slot, or of a machine where `slot` is ""."""
    decided = [each for each in decisions if _is_told(each) and _belongs(each, slot)]
    # A command comes before its effects.
    return sorted([*map(of_audit, decided), *of_records(records, passing=True)], key=lambda each: each.at)


def submitter(ad: ClassAd) -> str:
    """The submitter of a job, as the negotiator names it."""
    group, user = ad.get("AccountingGroup"), str(ad.get("User", ""))
    if not isinstance(group, str) or not group:
        return user
    return group if "@" in group else f"{group}@{user.partition('@')[2]}"


def machines(ad: ClassAd, events: Iterable[LoggedEvent]) -> list[str]:
    """The machines that a job is known to have been on."""
    slots = [ad.get("RemoteHost"), ad.get("LastRemoteHost")]
    slots += [getattr(each.event, "slot_name", "") for each in events]
    return list(dict.fromkeys(each.rpartition("@")[2] for each in slots if isinstance(each, str) and each))


def _is_told(record: AuditRecord) -> bool:
    return record.effect in _TOLD


def _belongs(record: AuditRecord, slot: str) -> bool:
    """Whether a decision is part of the story of a slot, or of a machine. For evictions, the slot's own record has more
    detail."""
    if record.kind not in _OF_SLOTS:
        return False
    names = [record.slot, *map(str, record.samples)]
    return not slot or not any(names) or slot in names


def _was_there(ad: ClassAd, record: AuditRecord) -> bool:
    """Whether a job was in the queue while a decision was in force."""
    began, ended = float(ad.get("QDate") or 0), float(ad.get("CompletionDate") or math.inf)
    return bool(record.until >= began and record.at <= ended)


# -- order -------------------------------------------------------------------------------------------------------


def _refined(
    told: list[Happening], records: Sequence[SlotTransition], decisions: Sequence[AuditRecord]
) -> list[Happening]:
    """Events of a log, whose times are whole seconds, each moved to its best known instant."""
    recorded = ((each.at, each.milestone) for each in _milestones(records))
    sources = (_Causes(recorded), _Causes(_of_decisions(decisions)))
    found: list[Happening] = []
    before = -math.inf
    for each in told:
        first, last = each.at, each.at + (_SECOND_S if each.at == int(each.at) else 0.0)
        causes = [at for source in sources if (at := source.take(each.milestone, first - _MESSAGE_S, last)) is not None]
        at = max(first, min(last, max(causes, default=first) + _AFTER_S), before + _AFTER_S)
        found.append(each._replace(at=at))
        before = at
    return found


class _Causes:
    """Instants of causes of milestones; each is used for one event."""

    def __init__(self, found: Iterable[tuple[float, Milestone]]) -> None:
        self._left = sorted(found)

    def take(self, milestone: Milestone, first: float, last: float) -> float | None:
        """The earliest unused one in an interval; None if there is none."""
        wanted = _AS_RECORDED.get(milestone, milestone)
        for place, (at, led_to) in enumerate(self._left):
            if led_to is wanted and first <= at <= last:
                del self._left[place]
                return at
        return None


class _Step(NamedTuple):
    """One step of a job as recorded by a slot."""

    at: float
    milestone: Milestone
    slot: str
    #: How its program exited by itself; None if it did not.
    end: ProgramExit | None


def _milestones(records: Iterable[SlotTransition]) -> Iterator[_Step]:
    """The steps of a job as recorded by slots, in order. A run ends once: its claim may continue and end later."""
    left: set[str] = set()
    for record in sorted(records, key=lambda each: each.at):
        if record.starter:
            continue
        slot, milestone, end = record.slot, _leads_to(record.from_, record.to), record.exit
        if milestone is Milestone.EVICTED:
            if slot in left:
                continue
            left.add(slot)
        elif milestone is not Milestone.NONE:
            left.discard(slot)
        yield _Step(record.at, milestone, slot, None if end is None else ProgramExit(code=end.code, signal=end.signal))


def _of_decisions(decisions: Iterable[AuditRecord]) -> Iterator[tuple[float, Milestone]]:
    for decision in decisions:
        for milestone in effects_of(decision)[:1]:
            yield decision.at, milestone


#: Milestones that machines record as the end of a run.
_AS_RECORDED: Final = {
    Milestone.LEFT: Milestone.EVICTED, Milestone.REQUEUED: Milestone.EVICTED, Milestone.FINISHED: Milestone.EVICTED,
    Milestone.NOT_STARTED: Milestone.EVICTED,
}  # fmt: skip
_RUNS: Final = ("Claimed/Busy", "Claimed/Suspended", "Claimed/Retiring", "Preempting/Vacating", "Preempting/Killing")


def _leads_to(source: str, target: str) -> Milestone:
    """What a transition of a slot means for its job."""
    if target == "Claimed/Suspended":
        return Milestone.SUSPENDED
    if target == "Claimed/Busy":
        return Milestone.RESUMED if source == "Claimed/Suspended" else Milestone.STARTED
    return Milestone.EVICTED if source in _RUNS and target not in _RUNS else Milestone.NONE


# -- decisions ---------------------------------------------------------------------------------------------------


def _with_decisions(
    told: list[Happening], decisions: Iterable[AuditRecord]
) -> tuple[list[Happening], list[AuditRecord]]:
    """Events merged with the decisions that they soon followed, plus the other decisions."""
    rest: list[AuditRecord] = []
    for record in decisions:
        at, wanted = record.at, effects_of(record)
        if is_displacement(record):
            wanted = (Milestone.EVICTED,)
        place = next(
            (place for place, each in enumerate(told) if each.milestone in wanted and at <= each.at <= at + _SOON_S),
            None,
        )
        if place is None:
            rest.append(record)
            continue
        each = told[place]
        why = [line for line in of_audit(record).why if line not in each.why]
        told[place] = each._replace(why=(*each.why, *why), request=record.request)
    return told, rest


def _is_recorded(decision: AuditRecord) -> bool:
    """Whether a machine's record of a transition says all that the decision says; it does not say who gets the slot."""
    return decision.kind == "eviction" and not decision.actor and not is_displacement(decision)


def _of_job(record: AuditRecord, name: str) -> Happening:
    said = of_audit(record)
    return said._replace(who=f"job {name}") if said.kind == "job" else said


def _past(
    ad: ClassAd, name: str, records: Sequence[SlotTransition], decisions: Sequence[AuditRecord]
) -> list[Happening]:
    """The past of a job without a log: from its ad, and from the slots' records for earlier runs."""
    steps = list(_milestones(records))
    holds = [at for at, milestone in _of_decisions(decisions) if milestone is Milestone.HELD]
    found = [*_dates(ad, name), *_end(ad, name, steps), *_runs(ad, name, steps, holds)]
    return sorted(found, key=lambda each: each.at)


def _end(ad: ClassAd, name: str, steps: Sequence[_Step]) -> Iterator[Happening]:
    """How a job ended: the ad has the second, and the slot's record of the last run the exact time."""
    at = ad.get("CompletionDate")
    if not isinstance(at, int | float) or at <= 0:
        return
    last = max((each.at for each in steps if each.milestone is Milestone.EVICTED), default=0.0)
    what = "finished"
    if ad.get("ExitBySignal") is True:
        what = f"killed by signal {ad.get('ExitSignal', '?')}"
    elif isinstance(code := ad.get("ExitCode"), int):
        what = f"finished with status {code}"
    at = max(at, last) if abs(last - at) <= _MESSAGE_S else at
    yield Happening(float(at), f"job {name}", what, kind="job", milestone=Milestone.FINISHED)


def _runs(ad: ClassAd, name: str, steps: Sequence[_Step], holds: Sequence[float]) -> Iterator[Happening]:
    """Starts after the first, and ends of runs before the last: the ad has only the first start and the end of the job.

    `holds`: when the job was put on hold.
    """
    over = ad.get("JobStatus") in (JobStatus.COMPLETED, JobStatus.REMOVED, JobStatus.HELD)
    last_start = max((each.at for each in steps if each.milestone is Milestone.STARTED), default=0.0)
    first_start, is_first = float(ad.get("JobStartDate") or 0), True
    started, retries = 0.0, 0
    for at, milestone, slot, end in steps:
        if milestone is Milestone.STARTED:
            started = at
            if is_first and abs(at - first_start) <= _MESSAGE_S:
                is_first = False
                continue
            yield Happening(at, f"job {name}", f"started again on {slot}", kind="job", milestone=milestone)
        elif milestone is Milestone.EVICTED and at < last_start:
            is_held = any(started <= held <= at + _MESSAGE_S for held in holds)
            what = f"left {slot}; it {'is on hold' if is_held else 'is idle again'}"
            if end is not None and not is_held:
                retries += 1
                what = retried(end, retries, ad)
            yield Happening(at, f"job {name}", what, kind="job", milestone=milestone)
        elif milestone is Milestone.EVICTED and not over:
            yield Happening(at, f"job {name}", f"left {slot}", kind="job", milestone=milestone)


def _dates(ad: ClassAd, name: str) -> Iterator[Happening]:
    """The past of a job without a log, from its ad."""
    found = [
        Happening(float(at), f"job {name}", what, kind="job", milestone=milestone)
        for attribute, what, milestone in _FROM_AD
        if isinstance(at := ad.get(attribute), int | float) and at > 0
    ]
    entered = float(ad.get("EnteredCurrentStatus") or 0)
    if ad.get("JobStatus") == JobStatus.HELD:
        said = f"put on hold (code {ad.get('HoldReasonCode', 0)}): {ad.get('HoldReason', '')}"
        found.append(Happening(entered, f"job {name}", said, kind="job", milestone=Milestone.HELD))
    if ad.get("JobStatus") == JobStatus.REMOVED:
        said = f"removed: {ad.get('RemoveReason', '')}"
        found.append(Happening(entered, f"job {name}", said, kind="job", milestone=Milestone.REMOVED))
    yield from sorted(found, key=lambda each: each.at)
