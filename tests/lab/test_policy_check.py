"""The lab refuses what daemons refuse."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from roost.cli.lab import command as lab
from roost.config import MemoryHost, load_text
from roost.lab.machines import LabError
from roost.lab.policy_check import refuse_unreadable


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("STARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_EXECUTABLE = /x\n", "<text>:1:1: error: STARTD_CRON_A_PERIOD"),
        ("USER_CEILINGS = ann\n", "<text>:1:1: error: USER_CEILINGS"),
        ("MAX_JOBS_RUNING = 3\n", "<text>:1:1: error: nothing reads MAX_JOBS_RUNING"),
        ("START = 1 +\n", "START is not an expression"),
    ],
)
def test_what_daemons_refuse_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        refuse_unreadable(load_text(text, MemoryHost()))


LISTS = """policy = '''
START = True
DENY_WRITE = ann@*
ALLOW_READ = *
ALLOW_PSLOT_PREEMPTION = False
CGROUP_MEMORY_LIMIT_POLICY = hard
STRAT = False
MAX_CONCURRENT_UPLOADS = 2
MAX_TRANSFER_INPUT_MB = 5
NEGOTIATOR_PRE_JOB_RANK = -LastDrainStopTime
STARTD_CRON_JOBLIST = PROBE
STARTD_CRON_PROBE_EXECUTABLE = /bin/true
STARTD_CRON_PROBE_PERIOD = 60
'''
"""
SCENARIO = '[[scenario]]\nname = "a"\nsteps = [{ at = "1m", expect = { "1 + 1" = 2 } }]\n'


def test_what_the_lab_does_not_act_on_is_noted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    lab.add_parser(parser.add_subparsers())
    file = tmp_path / "lists.toml"
    file.write_text(LISTS + SCENARIO + SCENARIO.replace('"a"', '"b"'))
    assert lab.run(parser.parse_args(["lab", "test", "--no-progress", str(file)])) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")] == [
        "note: the lab ignores access lists (DENY_WRITE): every user may submit and every daemon may join",
        "note: the lab does not run the programs of STARTD_CRON_JOBLIST",
        "note: the lab does not limit memory (CGROUP_MEMORY_LIMIT_POLICY): a job that needs more than its "
        "slot has is not killed",
        "note: slots in the lab do not show LastDrainStopTime: it is UNDEFINED except for defragmentation",
        "note: the lab transfers the files of all jobs at once (MAX_CONCURRENT_UPLOADS)",
        "note: the lab transfers no files, so their size holds no job (MAX_TRANSFER_INPUT_MB)",
        f"note: {file}:7:1: warning: nothing reads STRAT [config-near-miss] Did you mean START?",
    ]
    file.write_text("policy = 'START = True'\n" + SCENARIO)
    assert lab.run(parser.parse_args(["lab", "test", "--no-progress", str(file)])) == 0
    assert "note:" not in capsys.readouterr().out
