"""Programs of a daemon: their knobs, what they print, and which slot gets it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd, FixedWorld, parse_expression
from roost.config import ConfigError, MemoryHost, load_text
from roost.node.cron import AD_BYTES_MAX, Autopublish, CronJob, CronOutput, Ended, Mode, cron_plan, published_on


def _plan(text: str) -> Any:
    return cron_plan(load_text(text, host=MemoryHost()), "STARTD_CRON")


def _printed(text: str, **job: Any) -> list[Ended]:
    output = CronOutput(CronJob(name="p", executable="/p", **job))
    return [*output.fed(text.encode()), *output.closed()]


def _slot(number: int, **more: Any) -> ClassAd:
    return ClassAd({"Name": f"slot{number}@m", "SlotID": number, "SlotTypeID": 1 + number % 2, **more})


def _published(text: str, slot: ClassAd, **job: Any) -> dict[str, Any]:
    ads = [each.ad for each in _printed(text, **job)]
    found = ClassAd()
    for name, value in published_on(slot, slot.eval("SlotID"), ads, FixedWorld()):
        found[name] = value
    return {name: found.eval(name) for name in found}


def test_all_knobs_of_a_program_are_read() -> None:
    plan = _plan(
        """
        STARTD_CRON_JOBLIST = Disk, once disk
        STARTD_CRON_AUTOPUBLISH = if_changed
        STARTD_CRON_MAX_JOB_LOAD = 0.5
        STARTD_CRON_DISK_EXECUTABLE = /opt/disk
        STARTD_CRON_DISK_ARGS = -a 'b c'
        STARTD_CRON_DISK_ENV = "A=1 B='two words'"
        STARTD_CRON_DISK_PERIOD = 5m
        STARTD_CRON_DISK_PREFIX = Disk_
        STARTD_CRON_DISK_KILL = True
        STARTD_CRON_DISK_SLOTS = 1, 3
        STARTD_CRON_DISK_CONDITION = Arch == "X86_64"
        STARTD_CRON_once_EXECUTABLE = /opt/once
        STARTD_CRON_ONCE_MODE = oneshot
        STARTD_CRON_ONCE_RECONFIG_RERUN = True
        """
    )
    disk, once = plan.jobs
    assert disk == CronJob(
        name="disk",
        executable="/opt/disk",
        arguments=("-a", "'b", "c'"),
        environment={"A": "1", "B": "two words"},
        mode=Mode.PERIODIC,
        period_s=300,
        prefix="Disk_",
        kill=True,
        slots=frozenset({1, 3}),
        condition=parse_expression('Arch == "X86_64"'),
    )
    assert (once.mode, once.period_s, once.rerun) == (Mode.ONE_SHOT, 0, True)
    assert (plan.autopublish, plan.load_max) == (Autopublish.IF_CHANGED, 0.5)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("STARTD_CRON_X_PERIOD = 1", "X_EXECUTABLE: the program x has no executable"),
        ("STARTD_CRON_X_EXECUTABLE = /x", "X_PERIOD: the program x has no period"),
        ("STARTD_CRON_X_EXECUTABLE = /x\nSTARTD_CRON_X_PERIOD = 0", "'0' is not a period"),
        ("STARTD_CRON_X_EXECUTABLE = /x\nSTARTD_CRON_X_PERIOD = 5d", "'5d' is not a period"),
        ("STARTD_CRON_X_EXECUTABLE = /x\nSTARTD_CRON_X_MODE = often", "Periodic, WaitForExit, OneShot"),
        ("STARTD_CRON_X_EXECUTABLE = /x\nSTARTD_CRON_X_MODE = OnDemand", "never run"),
        ("STARTD_CRON_X_EXECUTABLE = /x\nSTARTD_CRON_X_PERIOD = 1\nSTARTD_CRON_X_PREFIX = a-b", "'a-b' cannot start"),
        (
            "STARTD_CRON_X_EXECUTABLE = /x\nSTARTD_CRON_X_PERIOD = 1\nSTARTD_CRON_X_SLOTS = one",
            "'one' is not the number",
        ),
        (
            "STARTD_CRON_X_EXECUTABLE = /x\nSTARTD_CRON_X_PERIOD = 1\nSTARTD_CRON_X_CONDITION = 1 +",
            "STARTD_CRON_X_CONDITION",
        ),
    ],
)
def test_a_bad_description_is_refused_with_the_knob(lines: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        _plan(f"STARTD_CRON_JOBLIST = x\n{lines}\n")
    assert said.lower() in str(refused.value).lower()


def test_output_is_split_at_dashes_with_tags_and_prompts() -> None:
    ended = _printed("A = 1\n-one\nA = 2\n- two update:true\nB = A + 1\nnonsense\n- update:false\nC = 3", prefix="p_")
    assert [(each.ad.tag, each.update, dict(each.ad.attributes.items())) for each in ended[:2]] == [
        ("one", None, {"p_A": 1}),
        ("two", True, {"p_A": 2}),
    ]
    assert (ended[2].ad.tag, ended[2].update, ended[2].unread) == ("", False, ("nonsense",))
    assert ended[3].ad.attributes["p_C"] == 3


@given(st.lists(st.integers(1, 40), min_size=1))
def test_output_is_the_same_however_it_arrives(sizes: list[int]) -> None:
    text = b'A = 1\nSlotId = 2\n-x update:true\n# comment\nB = "two"\n-\nC = 3'
    whole = _printed(text.decode())
    output, pieces, at = CronOutput(CronJob(name="p", executable="/p")), [], 0
    for size in [*sizes, len(text)]:
        pieces += output.fed(text[at : at + size])
        at += size
    pieces += output.closed()
    assert pieces == whole


def test_an_ad_without_end_is_refused() -> None:
    output = CronOutput(CronJob(name="p", executable="/p"))
    with pytest.raises(ValueError, match="without a line that starts with -"):
        for _ in range(AD_BYTES_MAX):
            list(output.fed(b"A = 1\n"))


def test_slots_are_chosen_by_what_the_ad_says() -> None:
    text = (
        'Value = 10\n-\nValue = 1\nSlotId = 1\n-s1\nValue = 2\nSlotName = "SLOT2"\n-s2\nKind = 1\nSlotTypeId = 2\n-t\n'
    )
    assert _published(text, _slot(1)) == {"Value": 1, "Kind": 1}
    assert _published(text, _slot(2)) == {"Value": 2}
    assert _published(text, _slot(4)) == {"Value": 10}
    assert _published(text, _slot(1), slots=frozenset({2})) == {}


def test_a_constraint_is_about_the_slot_and_comes_before_other_selectors() -> None:
    text = 'SlotMergeConstraint = StringListMember("GPU1", AssignedGPUs)\nSlotId = 1\nUsed = 5\n-g\n'
    assert _published(text, _slot(1, AssignedGPUs="GPU0")) == {}
    assert _published(text, _slot(2, AssignedGPUs="GPU0,GPU1")) == {"Used": 5}
    assert _published(text, _slot(3)) == {}
