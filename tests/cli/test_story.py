"""What a story takes from the audit trail."""

from __future__ import annotations

from typing import Any

from roost.cli.story import _kept_out


class Trail:
    """An audit trail with one decision."""

    def __init__(self, at: float, until: float) -> None:
        self.record = {"kind": "discard", "at": at, "until": until, "reason": "submitters kept out of matchmaking"}
        self.asked: dict[str, Any] = {}

    def central(self, what: str, **wanted: Any) -> dict[str, Any]:
        self.asked = wanted
        return {"records": [self.record]}


def test_a_job_hears_of_a_decision_that_kept_its_submitter_out_while_it_was_there() -> None:
    trail = Trail(at=5.0, until=20.0)
    job = {"QDate": 10, "User": "ann@x", "AccountingGroup": "chem.ann"}
    assert _kept_out(trail, job) == [trail.record]  # type: ignore[arg-type]
    assert (trail.asked["user"], trail.asked["knob"]) == ("chem.ann@x", "NEGOTIATOR_PE_SCHEDD_ONLY_EXPR")
    assert _kept_out(trail, {**job, "QDate": 30}) == []  # type: ignore[arg-type]
    assert _kept_out(trail, {**job, "QDate": 1, "CompletionDate": 4}) == []  # type: ignore[arg-type]
    _kept_out(trail, {"QDate": 1, "User": "bob@x"})  # type: ignore[arg-type]
    assert trail.asked["user"] == "bob@x"
