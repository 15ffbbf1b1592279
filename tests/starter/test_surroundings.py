"""The room from outside: configuration, documentation, purity, explanations made later."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import roost.starter
from roost.classad import ClassAd
from roost.config import MemoryHost, load_text
from roost.model import starter_events as ev
from roost.model.starter import HookPoint, StarterReason
from roost.starter.configured import configured_policy
from roost.starter.hooks import HookProgram
from roost.starter.machine import ImpossibleEvent, Outcome, step
from roost.starter.policy_inputs import StarterPolicy
from roost.starter.starter_ad import static_shares
from tests.starter.kit import Hand, policy

ROOM = Path(roost.starter.__file__).parent


def test_an_empty_configuration_is_the_default_policy() -> None:
    made, default = configured_policy(load_text("", MemoryHost())), StarterPolicy()
    assert {name: str(each) for name, each in made.expressions.items()} == {
        name: str(each) for name, each in default.expressions.items()
    }
    for name in ("polling_interval_s", "initial_update_s", "update_interval_s", "killing_timeout_s"):
        assert getattr(made, name) == getattr(default, name)


def test_hooks_and_intervals_come_from_the_configuration() -> None:
    text = """
    STARTER_POLLING_INTERVAL = 9
    STARTER_DEFAULT_JOB_HOOK_KEYWORD = db
    DB_HOOK_PREPARE_JOB = /hooks/prepare
    DB_HOOK_PREPARE_JOB_ARGS = "-v now"
    db_hook_job_exit = /hooks/exit
    DB_HOOK_JOB_EXIT_TIMEOUT = 90
    WEB_HOOK_UPDATE_JOB_INFO = /hooks/update
    WEB_HOOK_FETCH_WORK = /hooks/fetch
    BARE_HOOK_FETCH_WORK = /hooks/fetch
    """
    made = configured_policy(load_text(text, MemoryHost()))
    assert (made.polling_interval_s, made.hook_keyword_default) == (9, "db")
    assert made.hooks == {
        "DB": {
            HookPoint.PREPARE: HookProgram(path="/hooks/prepare", arguments='"-v now"'),
            HookPoint.EXIT: HookProgram(path="/hooks/exit", timeout_s=90),
        },
        "WEB": {HookPoint.UPDATE: HookProgram(path="/hooks/update")},
        # Who brings jobs and wants to hear nothing of them does not get the hooks of all others.
        "BARE": {},
    }


def test_a_name_that_is_no_expression_of_the_starter_is_refused() -> None:
    with pytest.raises(KeyError, match="STARTER_EVCIT"):
        StarterPolicy.of({"STARTER_EVCIT": "true"})


def test_a_starter_gets_what_its_slot_has_for_good() -> None:
    slot = ClassAd({"Memory": 512, "Cpus": 2, "SlotID": 3, "MachineResources": "Cpus Memory Disk Swap GPUs", "GPUs": 1})
    slot.update({"Disk": 10**6, "LoadAvg": 0.5, "VirtualMemory": 4096, "KeyboardIdle": 3})
    assert dict(static_shares(slot)) == {"Memory": 512, "Cpus": 2, "SlotID": 3, "GPUs": 1}


def test_a_result_of_nothing_that_was_ordered_raises_and_says_where() -> None:
    hand = Hand()
    with pytest.raises(ImpossibleEvent, match="OutputTransferred in Preparing/Sandbox"):
        step(hand.state, ev.OutputTransferred(), hand.now, hand.policy)


def test_late_events_of_an_earlier_timer_mean_nothing() -> None:
    hand = Hand(policy=policy({"STARTER_EVICT": "ImageSize > 5"})).running()
    early = ev.StarterTimerFired(timer=next(iter(hand.timers)))
    assert step(hand.state, early, hand.now, hand.policy).outcome is Outcome.IGNORED


def test_an_explanation_made_later_sees_what_the_decision_saw() -> None:
    hand = Hand(policy=policy({"STARTER_EVICT": "random() < 2 && JobDuration >= 7 && CurrentTime > 0"})).running()
    hand.wait(10)
    taken = next(taken for taken in hand.taken if taken.reason is StarterReason.EVICTION)
    assert taken.decision is not None
    before = taken.decision.trace()
    hand.wait(1000).sample(10**9)
    after = taken.decision.trace()
    assert [node.value for node in before.root.walk()] == [node.value for node in after.root.walk()]
    assert before.value is True


def test_the_room_knows_no_clock_and_no_room_below_or_beside_it() -> None:
    rooms = ("base", "classad", "config", "model", "policy", "starter", "tables")
    allowed = tuple(f"roost.{each}" for each in rooms)
    forbidden = {"time", "random", "asyncio", "subprocess", "socket", "os", "signal", "logging", "datetime"}
    for path in sorted(ROOM.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.split(".")[0] not in forbidden, (path.name, name)
                assert not name.startswith("roost") or name.startswith(allowed), (path.name, name)
