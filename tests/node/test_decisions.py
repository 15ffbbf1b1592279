"""What a machine decides about jobs is on record where it is decided: once for going, once for being killed."""

from __future__ import annotations

from roost.base.structs import data_of
from roost.classad import ClassAd
from roost.model import events as ev
from roost.model.audit import AuditKind, AuditRecord, Effect
from roost.node.decisions import Recorder, of_slot, ordered
from roost.startd import states as at
from tests.startd.kit import Hand, in_pair, job, policy


def evictions(hand: Hand, *deeds: object) -> list[AuditRecord]:
    """The records of what a slot does while something is done to it."""
    found = []
    for deed in deeds:
        before = hand.state
        taken = hand.feed(deed) if isinstance(deed, ev.Event) else hand.poll(float(deed))  # type: ignore[arg-type]
        found += [
            of_slot(
                before,
                taken.state,
                each,
                Recorder("host", "beef"),
                place="c:4:1",
                rank=("TARGET.Worth", "c:3:1"),
            )
            for each in taken.transitions
        ]
    return [each for each in found if each is not None]


def running(**expressions: str) -> Hand:
    hand = Hand(policy=policy({"WANT_SUSPEND": "false", "WANT_VACATE": "true", **expressions}))
    hand.poll()
    return hand.run(job(User="ann@x", ClusterId=3, ProcId=1))


def test_a_job_that_the_policy_gets_rid_of_is_on_record_with_the_expression() -> None:
    hand = running(PREEMPT="KeyboardIdle < 10")
    hand.sensors["KeyboardIdle"] = 5
    (record, *others) = evictions(hand, 1.0)
    assert (record.kind, record.knob, record.expression, record.place) == (
        AuditKind.EVICTION, "PREEMPT", "KeyboardIdle < 10", "c:4:1",
    )  # fmt: skip
    assert (record.job, record.loser, record.slot, record.machine) == ("3.1", "ann@x", "slot1@host", "host")
    assert others == [], "that the retirement is over is no decision"


def test_a_job_that_does_not_go_and_is_killed_is_on_record_again() -> None:
    hand = running(PREEMPT="true", KILL="true")
    going, killed = evictions(hand, 1.0, 1.0)
    assert "Claimed/Busy to Claimed/Retiring" in going.reason
    assert (killed.knob, killed.reason.startswith("Preempting/Vacating to Preempting/Killing")) == ("KILL", True)


def test_a_job_that_comes_to_its_own_end_or_only_stands_still_is_not_evicted() -> None:
    hand = running(WANT_SUSPEND="true", SUSPEND="true", PREEMPT="false", CONTINUE="false")
    assert evictions(hand, 1.0) == []
    assert hand.pair == at.SUSPENDED
    assert evictions(in_pair(at.BUSY), ev.JobExited(), ev.StarterExited()) == []


def test_a_job_that_a_drain_gets_rid_of_is_on_record_with_the_drain() -> None:
    hand = running(MAXJOBRETIREMENTTIME="3600")
    (record,) = evictions(hand, ev.DrainRequested(request_id="1", schedule=ev.DrainSchedule.GRACEFUL))
    assert record.reason == "Claimed/Busy to Claimed/Retiring: eviction ordered (Startd was draining)"


def test_who_gets_the_slot_instead_is_named() -> None:
    hand = running(RANK="TARGET.Good")
    before = hand.state
    step = hand.preempt(job(User="bob@x", Good=5))
    found = [of_slot(before, step.state, each, Recorder("host", ""), place="") for each in step.transitions]
    (record,) = [each for each in (*found, *evictions(hand, 1.0)) if each is not None]
    assert (record.user, record.loser, record.knob) == ("bob@x", "ann@x", "")


def test_the_same_transition_is_the_same_record_and_no_claim_is_told() -> None:
    hand = running(PREEMPT="true")
    before = hand.state
    taken = hand.poll(1.0)
    made = [of_slot(before, taken.state, taken.transitions[0], Recorder("host", ""), place="") for _ in range(2)]
    assert made[0] == made[1] is not None
    assert before.claim.id.text not in str(made[0])


def test_an_order_is_on_record_whether_it_is_done_or_refused() -> None:
    done = ordered(AuditKind.DRAIN, "drain", Recorder("m", "c"), actor="ann", now=5.0)
    refused = ordered(AuditKind.DRAIN, "drain", Recorder("m", "c"), actor="ann", now=5.0, refusal="no")
    assert (done.effect, refused.effect, refused.reason) == (Effect.DONE, Effect.REFUSED, "drain: no")


FETCHED = {"Owner": "ann", "Cmd": "/bin/work", "User": None, "ClusterId": None, "ProcId": None}


def fetched(**more: object) -> ClassAd:
    ad = job(**more)
    for name, value in FETCHED.items():
        if value is not None:
            ad[name] = value
        elif name in ad:
            del ad[name]
    return ad


def test_a_fetched_job_that_is_evicted_has_a_name_and_an_owner() -> None:
    hand = Hand(policy=policy({"PREEMPT": "KeyboardIdle < 10", "WANT_SUSPEND": "false"}, fetches_work=True))
    hand.poll(1)
    hand.feed(ev.FetchedWorkOffered(job_ad=fetched()))
    hand.sensors["KeyboardIdle"] = 5
    (record, *_) = evictions(hand, 1.0)
    assert (record.job, record.loser, data_of(record.detail)) == ("", "ann", {"fetched": "/bin/work"})
    assert record.reason.startswith("fetched job /bin/work of ann: Claimed/Busy to Claimed/Retiring")


def test_a_job_that_a_fetched_one_displaces_is_told_by_which() -> None:
    hand = Hand(policy=policy({"RANK": "TARGET.Worth"}, fetches_work=True))
    hand.poll()
    hand.run(job(User="bob@x", ClusterId=3, ProcId=1, Worth=1.0))
    hand.poll(1)
    (record, *_) = evictions(hand, ev.FetchedWorkOffered(job_ad=fetched(Worth=2.0)))
    assert (record.job, record.loser, record.user) == ("3.1", "bob@x", "ann")
    assert "for the fetched job /bin/work of ann, whose rank is 2 (its own: 1)" in record.reason
    assert data_of(record.detail) == {"for": "/bin/work"}
    assert (record.knob, record.expression, record.place) == ("RANK", "TARGET.Worth", "c:3:1")


def test_a_fetched_job_is_not_a_job_of_the_queue_whatever_number_its_source_gave_it() -> None:
    policies = {"PREEMPT": "KeyboardIdle < 10", "WANT_SUSPEND": "false", "RANK": "TARGET.Worth"}
    hand = Hand(policy=policy(policies, fetches_work=True))
    hand.poll(1)
    hand.run(job(User="bob@x", ClusterId=3, ProcId=1, Worth=1.0))
    (record, *_) = evictions(hand, ev.FetchedWorkOffered(job_ad=fetched(Worth=2.0) | {"ClusterId": 7, "ProcId": 1}))
    assert (record.job, data_of(record.detail)) == ("3.1", {"for": "/bin/work (7.1)"})
    hand.feed(ev.StarterExited())
    hand.sensors["KeyboardIdle"] = 5
    (record, *_) = evictions(hand, 1.0)
    assert (record.job, record.loser, data_of(record.detail)) == ("", "ann", {"fetched": "/bin/work (7.1)"})
    assert record.reason.startswith("fetched job /bin/work (7.1) of ann: Claimed/Busy to Claimed/Retiring")
