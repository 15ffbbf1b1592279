"""The record of a machine's transitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roost.classad import ClassAd
from roost.explain.happenings import of_records
from roost.model import events as ev
from roost.model.causes import CauseIds
from roost.runtime.causes import caused_by
from roost.runtime.node.transition_log import TransitionLog
from tests.startd.kit import Hand, job, policy
from tests.startd.layout_cases import configured


def _noted(path: Path, hand: Hand, event: ev.Event) -> list[tuple[str, Any]]:
    """Number of each transition that an event leads to, and the job or the program that its record names."""
    log = TransitionLog(path, configured(""))
    before = hand.state
    for taken in hand.feed(event).transitions:
        log.note(1, before, hand.state, taken)
    log.write(explained=True)
    found = [(record.number, record.job or record.fetched) for record in log.read()]
    path.unlink()
    return found


def test_transitions_of_one_step_name_the_job_that_leaves_and_the_one_that_begins(tmp_path: Path) -> None:
    path = tmp_path / "transitions.jsonl"
    fetch = {"FetchWorkDelay": "0", "RANK": "TARGET.Worth", "MAXJOBRETIREMENTTIME": "3600"}
    hand = Hand(policy=policy(fetch, fetches_work=True))
    hand.poll(1)
    hand.run(job(ClusterId=1, ProcId=0, Worth=1.0))
    hand.feed(ev.FetchedWorkOffered(job_ad=ClassAd({"Cmd": "/bin/x", "Owner": "ann", "Worth": 2.0})))
    assert _noted(path, hand, ev.StarterExited()) == [("18", "1.0"), ("23", "1.0"), ("11", "/bin/x")]
    assert _noted(path, hand, ev.StarterExited()) == [("12", "/bin/x")]
    hand.feed(ev.FetchedWorkOffered(job_ad=ClassAd({"Cmd": "/bin/y", "Owner": "ann"})))
    gone = _noted(path, hand, ev.StarterExited()) + _noted(path, hand, ev.FetchedWorkOffered(job_ad=None))
    assert gone[0] == ("12", "/bin/y")
    assert gone[-1] == ("1", "")


def test_a_fetched_job_with_a_number_is_not_taken_for_the_queues_job_of_that_number(tmp_path: Path) -> None:
    hand = Hand(policy=policy({"FetchWorkDelay": "0"}, fetches_work=True))
    hand.poll(1)
    numbered = ClassAd({"Cmd": "/bin/x", "Owner": "ann", "ClusterId": 7, "ProcId": 1})
    names = [name for _, name in _noted(tmp_path / "log", hand, ev.FetchedWorkOffered(job_ad=numbered))]
    assert names == ["/bin/x (7.1)", "/bin/x (7.1)"]


def test_the_end_of_a_claim_is_not_about_the_job_that_has_left(tmp_path: Path) -> None:
    hand = Hand(policy=policy({"CLAIM_WORKLIFE": "0"}))
    hand.poll(1)
    hand.run(job(ClusterId=1, ProcId=0))
    hand.now += 1
    hand.feed(ev.DeactivationRequested(claim_id=hand.state.claim.id, reply_to="d"))
    named = _noted(tmp_path / "log", hand, ev.StarterExited())
    assert named == [("12", "1.0"), ("10", ""), ("22", ""), ("1", "")]


def test_a_claim_that_ends_at_once_says_why(tmp_path: Path) -> None:
    hand = Hand()
    hand.poll(1)
    hand.run(job(ClusterId=1, ProcId=0, JobLeaseDuration=20))
    log, before = TransitionLog(tmp_path / "transitions.jsonl", configured("")), hand.state
    for taken in hand.fire(ev.Timer.LEASE, 20).transitions:
        log.note(1, before, hand.state, taken)
    log.write(explained=True)
    told = [happening.what for happening in of_records(log.read())]
    assert told == [
        "Claimed/Busy → Claimed/Retiring: hard kill ordered: Claim lease expired (job 1.0)",
        "Claimed/Retiring → Preempting/Killing: hard kill ordered: Claim lease expired (job 1.0)",
    ]


def test_a_claim_without_a_job_that_ends_within_one_step_says_why(tmp_path: Path) -> None:
    """The slot was free again by the time of the record, and nothing said who had wanted the claim ended."""
    hand = Hand()
    hand.poll(1)
    hand.run(job(ClusterId=1, ProcId=0))
    hand.feed(ev.StarterExited())
    log, before = TransitionLog(tmp_path / "transitions.jsonl", configured("")), hand.state
    for taken in hand.feed(ev.ClaimReleased(claim_id=hand.state.claim.id)).transitions:
        log.note(1, before, hand.state, taken)
    log.write(explained=True)
    told = [happening.what for happening in of_records(log.read(), passing=True)]
    assert told[0] == "Claimed/Idle → Preempting/Killing: hard kill ordered: Schedd released the claim"


def test_records_name_the_request_that_led_to_them(tmp_path: Path) -> None:
    hand = Hand()
    hand.poll(1)
    log, last = TransitionLog(tmp_path / "transitions.jsonl", configured("")), hand.state

    def note(event: ev.Event, submission: str) -> list[CauseIds]:
        nonlocal last
        before, taken = last, hand.feed(event).transitions
        last = hand.state
        return [log.note(1, before, last, each, submission) for each in taken]

    hand.run(job(ClusterId=1, ProcId=0))
    last, claim_id = hand.state, hand.state.claim.id
    log.ordered(hand.state.name, "0rder")
    assert note(ev.DeactivationRequested(claim_id=claim_id, reply_to="d"), "5ub") == []
    assert note(ev.StarterExited(), "5ub") == [CauseIds("5ub", "0rder")]
    activation = ev.ActivationRequested(claim_id=claim_id, job_ad=job(ClusterId=2, ProcId=0), reply_to="a")
    assert note(activation, "an0ther") == [CauseIds("an0ther", "an0ther")]
    log.write(explained=True)
    # What is ordered while a job runs is by that order, and so is all until the job has gone.
    with caused_by("vacate"):
        assert set(note(ev.VacateRequested(fast=False), "an0ther")) == {CauseIds("an0ther", "vacate")}
    assert note(ev.StarterExited(), "an0ther")[0] == CauseIds("an0ther", "vacate")
    log.write(explained=True)
    records = log.read()
    assert [record.request for record in records][:3] == ["0rder", "an0ther", "vacate"]
    assert [record.submission for record in records][:3] == ["5ub", "an0ther", "an0ther"]
