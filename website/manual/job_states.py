"""The blocks of the page on the states of jobs and claims, made from their tables of transitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roost.schedd.claims.claim_transitions import CLAIM_START, CLAIM_TRANSITIONS
from roost.schedd.claims.held_claims import Stage
from roost.schedd.jobs.job_transitions import START, TRANSITIONS
from roost.schedd.status import JobStatus
from roost.tables import pages

_S = JobStatus
_STATES: Final = {
    _S.GONE: "It has left the queue; the history has it.",
    _S.IDLE: "It is waiting for a slot. The queue may already have requested one on its behalf.",
    _S.RUNNING: "A run of it has been ordered, or is on a machine.",
    _S.REMOVED: "It leaves the queue as soon as its run is over and `LeaveJobInQueue` is not TRUE.",
    _S.COMPLETED: "Its program has ended for good; it stays only while `LeaveJobInQueue` is TRUE.",
    _S.HELD: "It does not run until it is released. Its last run may still be ending on a machine.",
    _S.TRANSFERRING_OUTPUT: "Its program has ended, and the machine is transferring the output.",
    _S.SUSPENDED: "The machine has suspended it.",
}

_STAGES: Final = {
    Stage.ASKED: "The machine has been asked for the slot and has not answered.",
    Stage.IDLE: "It is held, and no job is on it.",
    Stage.RUNNING: "A run has been ordered on it, or is running.",
    Stage.UNSURE: "The queue has restarted and has the claim on record; the machine has not reported its state yet.",
    Stage.OVER: "It is no longer held.",
}


def blocks() -> dict[str, dict[str, Iterable[str]]]:
    """Page below docs/ to its blocks: name to lines."""
    claims = {"stages": _stages(), "claim_diagram": _claim_diagram(), "claim_table": _claim_table()}
    return {"concepts/job-states.md": {"states": _states(), "diagram": _diagram(), "table": _table(), **claims}}


def _states() -> Iterator[str]:
    rows = ((int(each), each.name, each.letter if each else "", text) for each, text in _STATES.items())
    return pages.table(("JobStatus", "Name", "Letter", "Meaning"), rows)


def _diagram() -> Iterator[str]:
    edges = ((row.source.name, row.target.name, str(row.number)) for row in TRANSITIONS)
    return pages.diagram(edges, start=(each.name for each in sorted(START)), ends=("GONE",))


def _table() -> Iterator[str]:
    rows = []
    for number in dict.fromkeys(row.number for row in TRANSITIONS):
        same = [row for row in TRANSITIONS if row.number == number]
        row = same[0]
        sources, when = ", ".join(each.source.name for each in same), " and ".join(row.when)
        rows.append((number, sources, row.target.name, ", ".join(row.on), when, row.reason))
    return pages.table(("#", "From", "To", "When", "If", "Reason"), rows)


def _stages() -> Iterator[str]:
    return pages.table(("Stage", "Meaning"), _STAGES.items())


def _claim_diagram() -> Iterator[str]:
    edges = ((row.source, row.target, str(row.number)) for row in CLAIM_TRANSITIONS)
    return pages.diagram(edges, start=sorted(CLAIM_START), ends=(Stage.OVER,))


def _claim_table() -> Iterator[str]:
    rows = []
    for number in dict.fromkeys(row.number for row in CLAIM_TRANSITIONS):
        same = [row for row in CLAIM_TRANSITIONS if row.number == number]
        row, sources = same[0], ", ".join(each.source for each in same)
        rows.append((number, sources, row.target, ", ".join(row.on), row.reason))
    return pages.table(("#", "From", "To", "When", "Reason"), rows)
