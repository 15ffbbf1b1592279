"""What a starter writes down can be read, forever, and nothing else is taken for it; and how it goes on after that.

That every starter comes back as it was, and comes to an end after any number of deaths, is tried in `test_invariants`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from roost.model import starter_effects as ef
from roost.model import starter_events as ev
from roost.starter.persisted import UnreadableStarter, persisted, restored
from roost.starter.resumption import resume
from roost.starter.starter_state import StarterState
from tests.starter.kit import PREEMPTED, Hand, job, usage
from tests.starter.situations import full_policy

RECORD: Final = Path(__file__).parent / "records" / "starter-1.json"


def vacating() -> Hand:
    hand = Hand(job=job(SuccessCheckpointExitCode=85)).running()
    hand.feed(ev.UsageSampled(run=1, usage=usage(4096)))
    return hand.feed(ev.SoftKillOrdered(cause=PREEMPTED, retirement_s=7.5))


def test_everything_of_a_starter_comes_back() -> None:
    state = vacating().state
    assert restored(json.loads(json.dumps(persisted(state), allow_nan=False))) == state


def test_a_record_of_version_1_is_read() -> None:
    assert restored(json.loads(RECORD.read_text())) == vacating().state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run": "1"}, "starter.run: an integer is wanted here, not '1'"),
        ({"usage": {}}, "starter.usage.image_size_kib: a member is wanted"),
        ({"state": "Resting"}, "starter.state: one of 'Preparing'"),
        ({"cause": None}, "a job is leaving without a cause"),
        ({"stage": "Output"}, "Vacating/Output is not a legal pair"),
        ({"more": 1}, "starter.more: nothing is wanted here"),
    ],
)
def test_a_mistake_is_named_with_its_place(change: dict[str, object], message: str) -> None:
    record: Any = persisted(vacating().state)
    record["content"].update(change)
    with pytest.raises(UnreadableStarter) as caught:
        restored(record)
    assert message in str(caught.value)
    assert "returns to the queue" in str(caught.value)


def test_records_of_other_kinds_and_versions_are_refused() -> None:
    record: Any = persisted(vacating().state)
    for other in (None, {}, {**record, "version": 0}, {**record, "version": True}, {**record, "format": "roost slot"}):
        with pytest.raises(UnreadableStarter):
            restored(other)


def orders(state: StarterState, hand: Hand) -> list[str]:
    hand.go_on(resume(state, hand.now, hand.policy))
    return [type(effect).__name__ for effect in hand.orders]


def test_work_that_was_waited_for_is_begun_again() -> None:
    hand = Hand(policy=full_policy({}))
    assert orders(hand.state, hand) == ["MakeSandbox"]
    hand.feed(ev.SandboxMade())
    assert orders(hand.state, hand) == ["RunHook"]


def test_a_hook_that_is_not_configured_any_more_is_passed_over() -> None:
    hand = Hand(policy=full_policy({}))
    hand.feed(ev.SandboxMade())
    plain = Hand()
    plain.now = hand.now
    assert orders(hand.state, plain)[0] in ("TransferInput", "StartJob")
    assert plain.rows


def test_a_start_that_nobody_saw_is_ordered_under_the_same_number() -> None:
    hand = Hand().feed(ev.SandboxMade())
    hand.go_on(resume(hand.state, hand.now, hand.policy))
    assert [effect.run for effect in hand.orders if isinstance(effect, ef.StartJob)] == [1]
    assert hand.state.run == 1


def test_the_soft_signal_is_not_sent_twice_and_its_timer_goes_on() -> None:
    hand = vacating()
    until = hand.state.deadlines.vacate_until
    assert until is not None
    assert orders(hand.state, hand) == ["ContinueProcesses"]
    hand.wait(until - hand.now)
    assert any(isinstance(effect, ef.KillProcesses) for effect in hand.history)


def test_a_hard_kill_is_ordered_again() -> None:
    hand = vacating().feed(ev.HardKillOrdered(cause=PREEMPTED))
    assert orders(hand.state, hand) == ["KillProcesses"]
    assert hand.timers


def test_the_report_is_sent_again_with_what_follows_it() -> None:
    hand = Hand().running()
    hand.ended(0)
    while "Cleanup" not in hand.at:
        hand.feed(ev.OutputTransferred())
    assert orders(hand.state, hand) == ["KillProcesses", "ReportExit", "RemoveSandbox"]
    hand.feed(ev.SandboxRemoved())
    assert orders(hand.state, hand) == ["Quit"]
