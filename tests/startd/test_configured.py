"""What the state machine of a slot reads of the configuration."""

from __future__ import annotations

import pytest

from roost.startd.configured import draining_start, hook_keyword, slot_policy, wants_backfill
from roost.startd.policy_inputs import SlotPolicy
from tests.startd.layout_cases import configured


def _policy(text: str, *, backfill: bool = True) -> SlotPolicy:
    config = configured(text)
    keyword = hook_keyword(config, 1)
    return slot_policy(config, {}, keyword=keyword, backfill=backfill, zone_offset_s=0, chance_seed="")


def test_an_empty_configuration_gives_the_defaults() -> None:
    found, default = _policy(""), SlotPolicy.of({})
    for name in ("match_timeout_s", "killing_timeout_s", "vm_killing_timeout_s", "alives_missed_max", "backfill",
                 "drain_activation_grace_s", "draining_start", "fetches_work", "job_attributes"):  # fmt: skip
        assert getattr(found, name) == getattr(default, name), name


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("MATCH_TIMEOUT = 30", "match_timeout_s", 30.0),
        ("KILLING_TIMEOUT = 7", "killing_timeout_s", 7.0),
        ("VM_KILLING_TIMEOUT = 90", "vm_killing_timeout_s", 90.0),
        ("MAX_CLAIM_ALIVES_MISSED = 2", "alives_missed_max", 2),
        ("MAX_DRAINING_ACTIVATION_DELAY = 5", "drain_activation_grace_s", 5.0),
        ("STARTD_JOB_ATTRS = Project", "job_attributes", ("Project",)),
        ("STARTD_JOB_HOOK_KEYWORD = W\nW_HOOK_FETCH_WORK = /bin/fetch", "fetches_work", True),
        ("ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC", "backfill", True),
        ("ENABLE_BACKFILL = True", "backfill", False),
    ],
)
def test_each_knob_has_its_effect(line: str, name: str, value: object) -> None:
    assert getattr(_policy(line), name) == value


def test_backfill_takes_somebody_who_can_run_the_client() -> None:
    text = "ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC"
    assert wants_backfill(configured(text))
    assert not _policy(text, backfill=False).backfill


@pytest.mark.parametrize(("text", "start"), [("", None), ("FALSE", None), ("TARGET.Short == 1", "TARGET.Short == 1")])
def test_start_while_draining_is_an_expression_or_no_job_at_all(text: str, start: str | None) -> None:
    found = draining_start(configured(f"DEFAULT_DRAINING_START_EXPR = {text}" if text else ""))
    assert (None if found is None else str(found)) == start
