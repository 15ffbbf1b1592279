"""Lines of a story: what an event, a transition of a slot or a decision on record says happened.

A line has a time, its subject, what happened, and the reasons: the expression that decided, with its clauses and their
values, or the person who ordered it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from roost.schedd.event_log import Execute, JobEvicted, JobHeld, JobReconnectFailed, JobTerminated, LoggedEvent
from roost.schedd.event_log_base import Event, WithReason

#: Events that say nothing of what became of a job.
_BESIDE: Final = frozenset((6, 28, 33, 40))
_WORDS: Final = {
    0: "submitted", 10: "suspended", 11: "resumed", 22: "its machine is not heard of", 23: "its machine is back",
    3: "checkpointed", 35: "cluster submitted", 36: "cluster gone",
}  # fmt: skip
#: Transitions that say of a job what its own events say, too, or that pass at once: numbers.
_PASSING: Final = frozenset(("12", "12a", "10", "25"))
#: What follows within this time follows at once, s.
_AT_ONCE_S: Final = 0.1
_ARROW: Final = "\N{RIGHTWARDS ARROW}"


class Happening(NamedTuple):
    """One thing that happened."""

    #: Epoch s.
    at: float
    #: A job, a slot.
    who: str
    what: str
    #: Lines that say why.
    why: tuple[str, ...] = ()
    #: "job" or "slot".
    kind: str = "slot"

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {"at": self.at, "kind": self.kind, "who": self.who, "what": self.what, "why": list(self.why)}


def of_event(logged: LoggedEvent) -> Happening | None:
    """An event of a job's log; None for what is beside the point."""
    if logged.number in _BESIDE or logged.event is None:
        return None
    return Happening(logged.time, f"job {logged.cluster}.{logged.proc}", _said(logged.event, logged.number), kind="job")


def _said(event: Event, number: int) -> str:
    match event:
        case Execute(slot_name=slot, host=host):
            return f"started on {slot or host}"
        case JobEvicted(requeued=None, reason=reason):
            return f"evicted{f': {reason}' if reason else ''}; it waits again"
        case JobEvicted():
            return "ended, and waits to run again"
        case JobReconnectFailed(reason=reason, machine=machine):
            return f"lost {machine}: {reason}; it waits again"
        case JobTerminated(exit=end):
            return f"killed by signal {end.signal}" if end.signal is not None else f"finished with status {end.code}"
        case JobHeld(reason=reason, code=code):
            return f"put on hold (code {code}): {reason}"
        case WithReason(reason=reason):
            word = {9: "removed", 13: "released"}.get(number, event.WORDS)
            return f"{word}: {reason}" if reason else word
    return _WORDS.get(number) or next(event.lines(), "").strip()


def of_record(record: dict[str, Any], *, passing: bool = False) -> Happening | None:
    """A transition of a slot; None for one that only passes, if those are not wanted."""
    if record.get("number") in _PASSING and not passing:
        return None
    what = f"{record.get('from', '?')} {_ARROW} {record.get('to', '?')}"
    reason, job = str(record.get("reason", "")), record.get("job")
    if record.get("cause"):
        reason = f"{reason}: {record['cause']}"
    said = f"{what}: {reason}" + (f" (job {job})" if job else "")
    return Happening(float(record.get("at", 0.0)), str(record.get("slot", "?")), said, tuple(_why(record)))


#: Kinds of decisions to what is said of them in a story; of others their reason says enough.
_DECIDED: Final = {"hold": "put on hold", "release": "released", "removal": "removed", "preemption": "preempted"}


def of_audit(record: dict[str, Any]) -> Happening:
    """A decision that is on record."""
    job, slot = record.get("job"), record.get("slot")
    kind = "job" if job and record["kind"] != "eviction" else "slot"
    who = f"job {job}" if kind == "job" else str(slot or record.get("machine") or record.get("user") or "the pool")
    reason = str(record.get("reason", ""))
    what = _DECIDED.get(str(record["kind"]))
    said = f"{what}: {reason}" if what and reason else what or reason
    if record["kind"] in ("discard", "veto"):
        who, said = "the pool's policy", f"{counted_reason(record)} of {record.get('user') or 'anybody'}"
    if record.get("effect") == "refused":
        said = f"refused: {said}"
    elif record.get("effect", "done") != "done":
        said = f"{record['effect']}: {said}".replace("-", " ", 1)
    return Happening(float(record["at"]), who, said, tuple(decided_by(record)), kind)


#: What decisions count, of one.
_ONE: Final = {"jobs": "job", "slots": "slot", "submitters": "submitter", "matches": "match", "pairs": "pair"}


def counted_reason(record: dict[str, Any]) -> str:
    """The reason of a decision that counts something, with the number."""
    count, reason = int(record.get("count", 1)), str(record.get("reason", ""))
    if count == 1:
        reason = reason.replace(" that were ", " that was ", 1)
    first, blank, rest = reason.partition(" ")
    return f"{count} {_ONE.get(first, first) if count == 1 else first}{blank}{rest}"


def decided_by(record: dict[str, Any]) -> Iterator[str]:
    """Who or which expression a decision on record came from."""
    if record.get("actor"):
        yield f"by {record['actor']}"
    if record["kind"] == "eviction" and record.get("user"):
        yield f"for {record['user']}, who gets the slot"
    if record.get("knob"):
        text = f" = {record['expression']}" if record.get("expression") else ""
        place = f" [{record['place']}]" if record.get("place") else ""
        yield f"by {record['knob']}{text}{place}"


def of_records(records: Iterable[dict[str, Any]], *, passing: bool = False) -> Iterator[Happening]:
    """Transitions in their order, those that only pass if they are wanted.

    A slot that was given back and is free at once has only passed its owner's state.
    """
    ended: dict[str, float] = {}
    for record in records:
        slot, at = str(record.get("slot", "")), float(record.get("at", 0.0))
        if record.get("number") == "25":
            ended[slot] = at
        if not passing and record.get("number") == "1" and at - ended.get(slot, 0.0) < _AT_ONCE_S:
            continue
        told = of_record(record, passing=passing)
        if told is not None:
            yield told


def _why(record: dict[str, Any]) -> Iterator[str]:
    value, name = record.get("value"), record.get("expression", "")
    # A transition may follow from what an expression was not.
    if value != "TRUE" and name not in ("IsOwner", "START"):
        return
    place = record.get("place")
    yield f"{name} is {value}" + (f" [{place}]" if place else "")
    for clause in record.get("why", []):
        if str(clause.get("clause", "")).lower() in ("true", "false"):
            continue
        because = ", ".join(clause.get("because", []))
        value = clause.get("value", "TRUE")
        said = f"  {clause.get('clause')}" + ("" if value == "TRUE" else f" is {value}")
        yield said + (f": {because}" if because else "")
