"""A machine before it starts to work."""

from __future__ import annotations

import pytest

from roost.node.plan import NodePlan, make_plan
from tests.startd.layout_cases import reading
from tests.startd.slot_ad_cases import Daemon


def _plan(text: str) -> NodePlan:
    daemon = Daemon(text)
    plan = make_plan(daemon.config, reading(), daemon.identity, zone_offset_s=0)
    assert isinstance(plan, NodePlan), str(plan)
    return plan


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("MAX_CLAIM_ALIVES_MISSED = 2", "alives_missed_max", 2),
        ("VM_KILLING_TIMEOUT = 90", "vm_killing_timeout_s", 90.0),
    ],
)
def test_slots_of_a_real_machine_read_every_knob_of_the_state_machine(line: str, name: str, value: object) -> None:
    assert {getattr(policy, name) for policy in _plan(line).policies.values()} == {value}


_BACKFILL = "ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC\nSTART_BACKFILL = True\n"
_CLIENT = "BOINC_Executable = /opt/boinc\nBOINC_InitialDir = /var/boinc\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_BACKFILL, "BOINC_Executable and BOINC_InitialDir must be set"),
        (_BACKFILL + _CLIENT + "BACKFILL_SYSTEM = SETI", "the only supported value is BOINC"),
        (_BACKFILL + _CLIENT + "BOINC_Universe = java", "vanilla"),
        (_BACKFILL + _CLIENT + "BOINC_InitialDir = boinc", "absolute"),
    ],
)
def test_backfill_that_cannot_be_run_is_told_and_not_begun(text: str, words: str) -> None:
    plan = _plan(text)
    assert not any(policy.backfill for policy in plan.policies.values())
    assert any(words in warning for warning in plan.warnings)


def test_backfill_that_can_be_run_is_begun() -> None:
    plan = _plan(_BACKFILL + _CLIENT)
    assert all(policy.backfill for policy in plan.policies.values())
    assert not plan.warnings
    assert not _plan("").warnings
