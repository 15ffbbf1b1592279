"""`roost config check` names what a configuration needs and this machine lacks, with knob, place and remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from roost.cli.__main__ import main

#: Checks a configuration and returns the findings.
Check = Callable[[str], list[str]]

_CRON = """\
STARTD_CRON_JOBLIST = health, disk
STARTD_CRON_health_EXECUTABLE = {program}
STARTD_CRON_health_PERIOD = 5m
STARTD_CRON_disk_EXECUTABLE = /bin/true
STARTD_CRON_disk_PERIOD = 5m
NUM_SLOTS = 1
"""


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Check a configuration; return its findings, without the summary."""

    def checked(text: str) -> list[str]:
        root = tmp_path / "root.config"
        root.write_text(f"LOCAL_DIR = {tmp_path}\nEXECUTE = {tmp_path}\n{text}")
        main(["config", "check", "--no-environment", "-c", str(root)])
        *findings, _ = capsys.readouterr().out.splitlines()
        return [one.removeprefix(f"{root}:") for one in findings]

    return checked


def test_a_program_that_cannot_run_here_is_a_warning(check: Check, tmp_path: Path) -> None:
    program = tmp_path / "health"
    missing = check(_CRON.format(program=program))
    assert missing == [
        f"4:1: warning: STARTD_CRON_health_EXECUTABLE: {program}: No such file or directory [config-bad-program] "
        "Install it and make it executable, or correct the path; ignore this if the configuration is for another "
        "machine."
    ]
    program.write_text("#!/bin/sh\n")
    (found,) = check(_CRON.format(program=program))
    assert f"{program} is not an executable file" in found
    program.chmod(0o755)
    assert check(_CRON.format(program=program)) == []
    # A queue's programs and hooks are looked at as well.
    queue = "SCHEDD_CRON_JOBLIST = q\nSCHEDD_CRON_q_PERIOD = 1h\nSCHEDD_CRON_q_EXECUTABLE = /nowhere/q\n"
    (found,) = check(queue)
    assert found.startswith("5:1: warning: SCHEDD_CRON_q_EXECUTABLE: /nowhere/q: No such file")
    (found,) = check("STARTER_JOB_HOOK_KEYWORD = MY\nMY_HOOK_PREPARE_JOB = /nowhere/prepare\n")
    assert found.startswith("4:1: warning: MY_HOOK_PREPARE_JOB: /nowhere/prepare: No such file")


def test_a_program_that_can_run_nowhere_is_an_error(check: Check) -> None:
    assert check(_CRON.format(program="bin/health")) == [
        "4:1: error: STARTD_CRON_health_EXECUTABLE: bin/health is not an absolute path [config-bad-program] "
        "Write an absolute path."
    ]


def test_slots_that_the_machine_does_not_have_are_named(check: Check) -> None:
    text = _CRON.format(program="/bin/true")
    (found,) = check(f"{text}STARTD_CRON_disk_SLOTS = 1, 2, 77\n")
    assert found.startswith("9:1: warning: STARTD_CRON_disk_SLOTS: this machine has no slot 2, 77; it has 1 ")
    assert check(f"{text}STARTD_CRON_disk_SLOTS = 1\n") == []


def test_reserves_that_leave_nothing_are_named(check: Check) -> None:
    found = check("RESERVED_DISK = 999999999\nRESERVED_SWAP = 999999999\nRESERVED_MEMORY = 999999999\nMEMORY = 100\n")
    assert [one.partition(": this")[0] for one in found] == [
        "3:1: warning: RESERVED_DISK: nothing is left for jobs",
        "4:1: warning: RESERVED_SWAP: nothing is left for jobs",
    ]


def test_updates_that_come_after_the_end_of_an_ad_are_named(check: Check) -> None:
    (found,) = check("UPDATE_INTERVAL = 900\n")
    assert "the ads of slots are dropped after CLASSAD_LIFETIME (900 s)" in found
    assert check("UPDATE_INTERVAL = 900\nCLASSAD_LIFETIME = 2000\n") == []


def test_words_of_daemon_list_that_start_nothing_are_named(check: Check) -> None:
    found = check("DAEMON_LIST = MASTER, STARTD, KBDD, FROB\n")
    assert [one.partition(":")[2].partition(" [")[0] for one in found] == [
        "1: warning: DAEMON_LIST: FROB is not started: Roost has no daemon of that name",
        "1: note: DAEMON_LIST: KBDD is not started: Roost has no daemon of that name",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("JOB_RENICE_INCREMENT = 40", "40 is outside the range 0…19"),
        ("JOB_RENICE_INCREMENT = -1", "-1 is outside the range 0…19"),
        ("SLOT_TYPE_1_MachineMaxVacateTime = -5", "-5 is outside the range ≥ 0"),
        ("MaxJobRetirementTime = -2", "-2 is outside the range ≥ -1"),
        ("GROUP_NAMES = a\nGROUP_PRIO_FACTOR_a = 0.5", "0.5 is outside the range ≥ 1"),
        ("SIGNIFICANT_ATTRIBUTES = Good, 1bad", "'1bad' cannot be a member: the list has names of letters, digits"),
        ("IMMUTABLE_JOB_ATTRS = MY.Owner", "'MY.Owner' cannot be a member"),
        ('STARTD_ATTRS = Rack="a"', "'Rack=\"a\"' cannot be a member"),
        ("SUBMIT_ATTRS = +Project", "'+Project' cannot be a member"),
        ("GROUP_NAMES = physics, .b", "'.b' cannot be a member"),
        ("JOB_TRANSFORM_NAMES = a-b", "'a-b' cannot be a member"),
    ],
)
def test_what_a_knob_cannot_be_is_an_error(check: Check, line: str, problem: str) -> None:
    name = line.splitlines()[-1].partition(" ")[0]
    (found,) = [one for one in check(f"{line}\n") if " error: " in one]
    assert f"error: {name}: {problem}" in found


def test_what_a_knob_may_be_is_none(check: Check) -> None:
    assert (
        check(
            "JOB_RENICE_INCREMENT = ifThenElse(TARGET.NiceUser is true, 40, 10)\nMaxJobRetirementTime = -1\n"
            "SIGNIFICANT_ATTRIBUTES = Owner JobUniverse\nGROUP_NAMES = physics, physics.a-b, nice-user\n"
            "JOB_TRANSFORM_NAMES =\n"
        )
        == []
    )
