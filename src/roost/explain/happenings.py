"""Lines of a story, from events, slot transitions and recorded decisions.

A line has a time, its subject, what happened, and the reasons: the expression that decided, with its clauses and their
values, or the user who ordered it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from roost.classad import ClassAd
from roost.model.audit import AuditRecord
from roost.model.slot_transition import SlotTransition
from roost.schedd.event_log.base import Event, WithReason
from roost.schedd.event_log.log import Execute, JobEvicted, JobHeld, JobReconnectFailed, JobTerminated, LoggedEvent
from roost.schedd.event_log.parts import ProgramExit

#: Events that do not change the state of a job.
_BESIDE: Final = frozenset((6, 28, 33, 40))
_WORDS: Final = {
    0: "submitted", 10: "suspended", 11: "resumed", 22: "its machine does not answer", 23: "its machine answers again",
    3: "checkpointed", 35: "cluster submitted", 36: "cluster gone",
}  # fmt: skip
#: Numbers of transitions that repeat the job's own events or lead to a momentary state.
_PASSING: Final = frozenset(("12", "12a", "10", "25"))
#: A transition within this time counts as immediate, s.
_AT_ONCE_S: Final = 0.1
_ARROW: Final = "\N{RIGHTWARDS ARROW}"


class Milestone(StrEnum):
    """The kind of job event that a line reports."""

    NONE = ""
    SUBMITTED = "submitted"
    STARTED = "started"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    #: It has left a machine, and is idle again.
    EVICTED = "evicted"
    #: It has left a machine, and is not idle again.
    LEFT = "left"
    #: It was sent to a machine, but its program never ran there.
    NOT_STARTED = "not-started"
    #: Its program ended and will run again.
    REQUEUED = "requeued"
    HELD = "held"
    RELEASED = "released"
    REMOVED = "removed"
    FINISHED = "finished"


_BY_NUMBER: Final = {
    0: Milestone.SUBMITTED, 1: Milestone.STARTED, 5: Milestone.FINISHED, 9: Milestone.REMOVED, 10: Milestone.SUSPENDED,
    11: Milestone.RESUMED, 12: Milestone.HELD, 13: Milestone.RELEASED, 24: Milestone.EVICTED,
}  # fmt: skip


class Happening(NamedTuple):
    """One thing that happened."""

    #: Epoch s.
    at: float
    #: A job or a slot.
    who: str
    what: str
    #: Lines that give the reasons.
    why: tuple[str, ...] = ()
    #: "job" or "slot".
    kind: str = "slot"
    milestone: Milestone = Milestone.NONE
    #: The id of the request that led to it; "" if unknown.
    request: str = ""

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "at": self.at, "kind": self.kind, "event": str(self.milestone) or None, "who": self.who, "what": self.what,
            "why": list(self.why), "request": self.request or None,
        }  # fmt: skip


# -- events of a job's log -----------------------------------------------------------------------------------------


def of_events(
    events: Iterable[LoggedEvent], ad: ClassAd | None = None, *, on_machine: bool = False
) -> Iterator[Happening]:
    """The events of one job's log, in order.

    `ad` is the job's ad, used for its number of retries; `on_machine` says whether the job was running before the first
    event.
    """
    told = [each for each in events if each.number not in _BESIDE and each.event is not None]
    retries = 0
    for at, each in enumerate(told):
        event = each.event
        following = told[at + 1].event if at + 1 < len(told) else None
        if isinstance(event, JobEvicted):
            if event.requeued is not None:
                retries += 1
                milestone, what = Milestone.REQUEUED, retried(event.requeued, retries, ad)
            else:
                found = _left(event, on_machine, following)
                if found is None:
                    continue
                milestone, what = found
            on_machine = False
        else:
            milestone = _BY_NUMBER.get(each.number, Milestone.NONE)
            what = _said(event, each.number)
            on_machine = milestone is Milestone.STARTED or (on_machine and milestone is not Milestone.EVICTED)
        yield Happening(each.time, f"job {each.cluster}.{each.proc}", what, kind="job", milestone=milestone)


def of_event(logged: LoggedEvent) -> Happening | None:
    """A single event, of a job that may have run; None for an irrelevant one."""
    return next(of_events([logged], on_machine=True), None)


def _left(event: JobEvicted, on_machine: bool, following: Event | None) -> tuple[Milestone, str] | None:
    """The text for a run that ended without a result; None if the next event already says it."""
    because = f": {event.reason}" if event.reason else ""
    if isinstance(following, JobHeld) and following.reason == event.reason:
        return (Milestone.LEFT, "left its machine in order to be held") if on_machine else None
    if not on_machine and event.reason:
        return Milestone.NOT_STARTED, f"not started{because}; it is idle again"
    return Milestone.EVICTED, f"evicted{because}; it is idle again"


def retried(end: ProgramExit, retries: int, ad: ClassAd | None) -> str:
    """The text for a program that ended and will run again, as retry number `retries`."""
    most = None if ad is None else ad.get("JobMaxRetries")
    how = f"signal {end.signal}" if end.signal is not None else f"status {end.code}"
    if isinstance(most, int) and not isinstance(most, bool) and most > 0:
        return f"ended with {how}; it waits for retry {retries} of {most} (max_retries)"
    return f"ended with {how}; it waits to run again, as its policy requires"


def _said(event: Event | None, number: int) -> str:
    match event:
        case Execute(slot_name=slot, host=host):
            return f"started on {slot or host}"
        case JobReconnectFailed(reason=reason, machine=machine):
            return f"lost {machine}: {reason}; it is idle again"
        case JobTerminated(exit=end):
            return f"killed by signal {end.signal}" if end.signal is not None else f"finished with status {end.code}"
        case JobHeld(reason=reason, code=code):
            return f"put on hold (code {code}): {reason}"
        case WithReason(reason=reason):
            word = {9: "removed", 13: "released"}.get(number, event.WORDS)
            return f"{word}: {reason}" if reason else word
    return _WORDS.get(number) or next(event.lines() if event is not None else iter(()), "").strip()


# -- transitions of slots ------------------------------------------------------------------------------------------


def of_record(record: SlotTransition, *, passing: bool = False) -> Happening | None:
    """A transition of a slot; None for a momentary one, unless `passing`."""
    if record.number in _PASSING and not passing:
        return None
    what = f"{'the starter: ' if record.starter else ''}{record.from_} {_ARROW} {record.to}"
    reason = f"{record.reason}: {record.cause}" if record.cause else record.reason
    whose = f" (fetched job {record.fetched} of {record.user or '?'})" if record.fetched else ""
    if record.job:
        whose = f" (job {record.job})"
    what = f"{what}: {reason}{whose}"
    return Happening(record.at, record.slot, what, tuple(_why(record)), request=record.request)


def of_records(records: Iterable[SlotTransition], *, passing: bool = False) -> Iterator[Happening]:
    """Transitions in order; momentary ones only if `passing`.

    A slot that was released and is Unclaimed at once has passed through Owner only momentarily.
    """
    ended: dict[str, float] = {}
    for record in records:
        slot, at = record.slot, record.at
        if record.number == "25":
            ended[slot] = at
        if not passing and record.number == "1" and at - ended.get(slot, 0.0) < _AT_ONCE_S:
            continue
        told = of_record(record, passing=passing)
        if told is not None:
            yield told


def _why(record: SlotTransition) -> Iterator[str]:
    yield from record.cell
    # A transition may result from an expression that is not TRUE.
    if record.value != "TRUE" and record.expression not in ("IsOwner", "START"):
        return
    yield f"{record.expression} is {record.value}" + (f" [{record.place}]" if record.place else "")
    for each in record.why:
        if each.clause.lower() in ("true", "false"):
            continue
        because = ", ".join(each.because)
        said = f"  {each.clause}" + ("" if each.value == "TRUE" else f" is {each.value}")
        yield said + (f": {because}" if because else "")


# -- decisions on record -------------------------------------------------------------------------------------------

#: Kinds of decisions whose effect is a milestone of a job.
_EFFECTS: Final = {
    "hold": (Milestone.HELD,),
    "release": (Milestone.RELEASED,),
    "removal": (Milestone.REMOVED,),
    "eviction": (Milestone.EVICTED, Milestone.LEFT),
}
#: Commands with such an effect, by their first word.
_COMMANDS: Final = {"suspend": (Milestone.SUSPENDED,), "continue": (Milestone.RESUMED,)}
#: Kind to the text for a decision whose effect has not happened or was not reported.
_DECIDED: Final = {"hold": "hold", "release": "release", "removal": "removal", "eviction": "eviction"}
_COMMAND_NAMES: Final = frozenset(("hold", "release", "remove", "remove-x", "vacate", "vacate-fast"))
#: Singulars of what decisions count.
_ONE: Final = {"jobs": "job", "slots": "slot", "submitters": "submitter", "matches": "match", "pairs": "pair"}


def effects_of(record: AuditRecord) -> Sequence[Milestone]:
    """The milestones of a job that a decision leads to."""
    if record.effect != "done" or not record.job:
        return ()
    kind = record.kind
    if kind == "command":
        return _COMMANDS.get(record.reason.partition(":")[0], ())
    return _EFFECTS.get(kind, ())


def of_audit(record: AuditRecord) -> Happening:
    """A line for a recorded decision."""
    job, slot = record.job, record.slot
    kind = "job" if job and (record.kind != "eviction" or record.actor) else "slot"
    who = f"job {job}" if kind == "job" else str(slot or record.machine or record.user or "the pool")
    said = _decision_said(record)
    if record.kind in ("discard", "veto"):
        who, said = "the pool's policy", f"{counted_reason(record)} of {record.user or 'any user'}"
    if record.effect == "refused":
        said = f"refused: {said}"
    elif record.effect != "done":
        said = f"{record.effect}: {said}".replace("-", " ", 1)
    return Happening(record.at, who, said, tuple(decided_by(record)), kind, request=record.request)


def _decision_said(record: AuditRecord) -> str:
    reason, kind = record.reason, record.kind
    if record.effect == "refused" or kind not in _DECIDED:
        return f"preempted: {reason}" if kind == "preemption" else reason
    if not record.actor and kind == "eviction":
        return reason
    if record.actor:
        # A command's record begins with the name of the command, followed by the user's reason.
        command, _, given = reason.partition(":")
        reason = given.strip() if command in _COMMAND_NAMES else reason
    decided = f"{_DECIDED[kind]} {'ordered' if record.actor else 'decided'}"
    return f"{decided}: {reason}" if reason else decided


def counted_reason(record: AuditRecord) -> str:
    """The reason of a decision, with the number if it counts something."""
    count, reason = record.count, record.reason
    if count == 1:
        reason = reason.replace(" that were ", " that was ", 1)
    first, blank, rest = reason.partition(" ")
    return f"{count} {_ONE.get(first, first) if count == 1 else first}{blank}{rest}"


def decided_by(record: AuditRecord) -> Iterator[str]:
    """The user or the expression that made a recorded decision."""
    actor = record.actor
    if actor:
        yield f"by {'the machine ' if actor == record.machine else ''}{actor}"
    if is_displacement(record):
        fetched = record.detail.for_
        gets = f"{record.user}, who gets the slot"
        yield f"for the fetched job {fetched} of {gets}" if fetched else f"for {gets}"
    if record.knob:
        text = f" = {record.expression}" if record.expression else ""
        place = f" [{record.place}]" if record.place else ""
        yield f"by {record.knob}{text}{place}"


def is_displacement(record: AuditRecord) -> bool:
    """Whether a machine evicted a job in favour of another. A queue's record of a command has an actor."""
    return record.kind == "eviction" and bool(record.user) and not record.actor
