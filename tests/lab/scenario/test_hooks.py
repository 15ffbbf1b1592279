"""Hooks, prologs and epilogs that scenarios describe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roost.lab.machines import LabError
from tests.lab.scenario.test_pools import read, verdict

JOB = "[jobs.a]\nrun = '10m'\n"
KEYWORD = "settings = { STARTER_JOB_HOOK_KEYWORD = 'SITE', SITE_HOOK_PREPARE_JOB_TIMEOUT = 60 }\n"
SUBMIT = '{ at = "1m", submit = "a" }'


def test_what_a_hook_prints_is_in_the_jobs_ad_and_its_time_passes(tmp_path: Path) -> None:
    hook = "[hooks.SITE_HOOK_PREPARE_JOB]\ntakes = '40s'\nprints = { Color = 'blue', Twice = '=RequestMemory * 2' }\n"
    steps = (
        SUBMIT,
        '{ at = "1m30s", expect = { starter = "Preparing", "TARGET.Color =?= undefined" = true } }',
        '{ at = "2m", expect = { starter = "Running", hooks = { SITE_HOOK_PREPARE_JOB = 1 } } }',
        '{ at = "12m30s", expect = { jobs = { a = { status = "completed", starts = 1 } } } }',
    )
    assert verdict(read(tmp_path, KEYWORD + JOB + hook, *steps)).failures == ()


def test_a_hook_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    hook = "[hooks.SITE_HOOK_PREPARE_JOB]\ntakes = '1h'\n"
    held = '{ at = "3m", expect = { starter = "", jobs = { a = { status = "held", starts = 0 } } } }'
    text = KEYWORD + JOB + hook
    assert verdict(read(tmp_path, text, SUBMIT, '{ at = "1m50s", expect = { starter = "Preparing" } }', held)).passed


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (0, 'jobs = { a = "running" }, starter = "Running"'),
        (100, 'jobs = { a = { status = "held", starts = 0 } }'),
        # It is idle, and is given a slot again at once.
        (99, "jobs = { a = { starts = 0 } }, hooks = { STARTER_PROLOG = 2 }"),
    ],
)
def test_the_status_of_a_prolog_decides_about_the_job(tmp_path: Path, status: int, expected: str) -> None:
    text = JOB + f"[hooks.STARTER_PROLOG]\ntakes = '5s'\nstatus = [{status}, 99]\n"
    begun = '{ at = "1m3s", expect = { starter = "Preparing", hooks = { STARTER_PROLOG = 1 } } }'
    ended = f'{{ at = "1m6s", expect = {{ {expected} }} }}'
    assert verdict(read(tmp_path, text, SUBMIT, begun, ended)).failures == ()


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("100", "Job a is held: The prolog says that the job is at fault (status 100)"),
        ("[3, 99]", "Job a is idle again because its last run was ended: The prolog exited with status 3"),
    ],
)
def test_a_failure_tells_of_the_prolog_that_failed(tmp_path: Path, status: str, told: str) -> None:
    text = JOB + f"[hooks.STARTER_PROLOG]\ntakes = '5s'\nstatus = {status}\n"
    expected = '{ at = "1m6s", expect = { jobs = { a = { status = "running", starts = 1 } } } }'
    failures = verdict(read(tmp_path, text, SUBMIT, expected)).failures
    assert [each.explanation for each in failures] == [told, ""]


def test_an_expectation_of_a_hook_can_fail(tmp_path: Path) -> None:
    expected = '{ at = "2m", expect = { hooks = { STARTER_EPILOG = 1 } } }'
    (missed,) = verdict(read(tmp_path, JOB + "[hooks.STARTER_EPILOG]\n", SUBMIT, expected)).failures
    assert (missed.wanted, missed.found) == ("STARTER_EPILOG ran 1 times", "STARTER_EPILOG ran 0 times")


@pytest.mark.parametrize(
    ("hooks", "problem"),
    [
        ("[hooks.SITE_HOOK_FETCH_WORK]\n", "a program must be named by its knob"),
        ("[hooks.SITE_HOOK_FETCH_WORK]\n", "use fetch for work that a hook brings"),
        ("[hooks.SITE_HOOK_UPDATE_JOB_INFO]\n", "found 'SITE_HOOK_UPDATE_JOB_INFO'"),
        (
            "[hooks.STARTER_PROLOG]\nprints = { A = 1 }\n",
            "only the output of PREPARE_JOB_BEFORE_TRANSFER",
        ),
        ("[hooks.STARTER_PROLOG]\nstatus = 256\n", "status must be a number from 0 to 255"),
        ("[hooks.STARTER_PROLOG]\nstatus = []\n", "status must be a number from 0 to 255"),
        ("[hooks.STARTER_PROLOG]\ntime = 3\n", "unknown key 'time'"),
        ("[hooks.S_HOOK_PREPARE_JOB]\nprints = { A = '= 1 +' }\n", "is not an expression"),
        ("", "there is no program 'STARTER_PROLOG'; describe it in [hooks.STARTER_PROLOG]"),
    ],
)
def test_what_means_nothing_is_refused_with_its_place(tmp_path: Path, hooks: str, problem: str) -> None:
    with pytest.raises(LabError, match=rf"s\.toml:\d+: .*{re.escape(problem)}"):
        read(tmp_path, JOB + hooks, SUBMIT, '{ at = "2m", expect = { hooks = { STARTER_PROLOG = 1 } } }')


def test_a_hook_that_no_job_can_have_is_refused(tmp_path: Path) -> None:
    hook, expected = "[hooks.SITE_HOOK_PREPARE_JOB]\n", '{ at = "2m", expect = { jobs = { a = "running" } } }'
    with pytest.raises(LabError, match=r"s\.toml:\d+: .*nothing runs the hook SITE_HOOK_PREPARE_JOB: set STARTER_JOB_"):
        verdict(read(tmp_path, JOB + hook, SUBMIT, expected))
    assert verdict(read(tmp_path, f"{JOB}HookKeyword = 'site'\n{hook}", SUBMIT, expected)).passed
    later = '{ at = "30s", reconfig = { STARTER_DEFAULT_JOB_HOOK_KEYWORD = "SITE" } }'
    assert verdict(read(tmp_path, JOB + hook, later, SUBMIT, expected)).passed


def test_what_a_submit_description_has_without_effect_is_noted(tmp_path: Path) -> None:
    described = "description = '''\nexecutable = x\non_exti_hold = true\nskip_if_dataflow = true\nqueue\n'''\n"
    note, of_files = verdict(
        read(tmp_path, JOB + described, SUBMIT, '{ at = "2m", expect = { jobs = { a = "running" } } }')
    ).notes
    assert note.startswith("job a: ")
    assert "the line `on_exti_hold = true` has no effect" in note
    assert of_files == "job a: the lab has no files, so that it runs the job whatever they are (SkipIfDataflow)"


def test_a_job_that_no_machine_can_fetch_is_refused(tmp_path: Path) -> None:
    steps = '{ at = "1m", fetch = "a" }', '{ at = "5m", expect = { job = "" } }'
    with pytest.raises(LabError, match=r"s\.toml:\d+: .*no machine fetches a: set STARTD_JOB_HOOK_KEYWORD = SITE and "):
        verdict(read(tmp_path, JOB, *steps))
    hook = '{ at = "30s", reconfig = { SITE_HOOK_FETCH_WORK = "/x", STARTD_JOB_HOOK_KEYWORD = "SITE" } }'
    assert verdict(
        read(tmp_path, JOB, hook, '{ at = "1m", fetch = "a" }', '{ at = "9m", expect = { job = "a" } }')
    ).passed
