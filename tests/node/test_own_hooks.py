"""Whose hooks a slot has, and what a failed prolog does to the slots that have it in common."""

from __future__ import annotations

from types import SimpleNamespace

from roost.classad import ClassAd
from roost.model import starter_effects as sef
from roost.model.slots import SlotId
from roost.model.starter import Ending, ExitReport, ScriptFailure, ScriptPoint
from roost.node.host_slots import Starter
from roost.node.machine import NodeSlot
from roost.node.plan import NodePlan, make_plan
from tests.node.kit import NOW, machine
from tests.startd.layout_cases import reading
from tests.startd.slot_ad_cases import Daemon

HOOKS = """
STARTD_JOB_HOOK_KEYWORD = ALL
SLOT2_JOB_HOOK_KEYWORD = TWO
SLOT1_2_JOB_HOOK_KEYWORD = OWN
ALL_HOOK_REPLY_FETCH = /all/reply
TWO_HOOK_FETCH_WORK = /two/fetch
OWN_HOOK_FETCH_JOB = /own/fetch
"""


def plan(text: str, earlier: NodePlan | None = None) -> NodePlan:
    daemon = Daemon(text)
    made = make_plan(daemon.config, reading(), daemon.identity, zone_offset_s=0, earlier=earlier)
    assert isinstance(made, NodePlan), str(made)
    return made


def test_a_slot_has_its_own_hooks_or_those_of_all() -> None:
    made = plan("NUM_SLOTS = 3\n" + HOOKS)
    assert [made.keyword_of(SlotId(n)) for n in (1, 2, 3)] == ["ALL", "TWO", "ALL"]
    assert (made.keyword_of(SlotId(1, 1)), made.keyword_of(SlotId(1, 2))) == ("ALL", "OWN")
    # Without FETCH_WORK the other hooks have nothing to do.
    assert [made.policies[n].fetches_work for n in (1, 2, 3)] == [False, True, False]
    division = made.division()
    assert not division.policy_of(SlotId(1, 1), made.policies[1]).fetches_work
    assert division.policy_of(SlotId(1, 2), made.policies[1]).fetches_work


def test_keywords_stay_what_they_were_when_the_daemon_began() -> None:
    before = plan("NUM_SLOTS = 2\n" + HOOKS)
    after = plan("NUM_SLOTS = 2\nSTARTD_JOB_HOOK_KEYWORD = NEW\nNEW_HOOK_FETCH_WORK = /new\n", before)
    assert (after.keyword_of(SlotId(1)), after.keyword_of(SlotId(1, 2))) == ("ALL", "OWN")
    assert not after.policies[1].fetches_work
    assert not after.division().policy_of(SlotId(1, 2), after.policies[1]).fetches_work, "its program is gone"


def test_a_script_that_blames_the_machine_closes_its_slot_and_no_other() -> None:
    made = machine("NUM_SLOTS = 2\n")
    slot, other = made.slots[:2]
    for status, closed in ((99, False), (100, False), (7, True)):
        _ended(made, slot, status)
        assert (slot.state.broken is not None) is closed, status
    assert slot.state.broken == "The epilog exited with status 7"
    assert other.state.broken is None


def _ended(made: object, slot: NodeSlot, status: int) -> None:
    failure = ScriptFailure(point=ScriptPoint.EPILOG, status=status)
    report = ExitReport(ending=Ending.EVICT, cause=None, started=True, script_failures=(failure,), attributes=ClassAd())
    host = made.host  # type: ignore[attr-defined]
    starter = Starter.__new__(Starter)
    # It runs what its machine configures, not what a queue instance does.
    starter.state = SimpleNamespace(launch=SimpleNamespace(context=None))  # type: ignore[assignment]
    host._order_of_starter(slot, starter, _Taken((sef.ReportExit(report=report),)), NOW)
    host._settled(NOW)


class _Taken:
    def __init__(self, effects: tuple[object, ...]) -> None:
        self.effects = effects


def test_two_daemons_of_one_second_name_no_two_runs_alike() -> None:
    made = machine()
    slot, other = made.slots
    made.name_fetched(slot)
    after = machine()
    after.was_named(slot.run_name)
    after.was_named("1.0#1@q")
    after.name_fetched(other)
    assert (slot.run_name, other.run_name) == ("fetched.1.1", "fetched.1.2")
