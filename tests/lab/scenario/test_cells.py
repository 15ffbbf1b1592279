"""Scenarios of Grid Engine cells: those that come with Roost pass, and what cannot be meant is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import roost.lab
from roost.config import MemoryHost
from roost.lab.machines import LabError
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.file import read_scenarios
from roost.lab.scenario.run import Verdict, run_scenario
from roost.lab.scenario.values import Scenario

FILES: Final = sorted((Path(roost.lab.__file__).parent / "scenarios/cells").glob("*.toml"))
SCENARIOS: Final = [each for file in FILES for each in read_scenarios(file)]

CELL: Final = """
[cell.objects]
"cqueues/all.q" = '''
hostlist node1
slots 1
'''
"""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: f"{Path(one.file).stem}: {one.name}")
def test_a_cell_does_what_its_scenario_says(scenario: Scenario) -> None:
    failures = run_scenario(scenario, MemoryHost(), Coverage()).failures
    assert [(each.at_s, each.wanted, each.found) for each in failures] == []


def run(folder: Path, text: str) -> Verdict:
    file = folder / "x.toml"
    file.write_text(text, encoding="utf-8")
    (scenario,) = read_scenarios(file)
    return run_scenario(scenario, MemoryHost(), Coverage())


def scenario(*steps: str) -> str:
    return '\n[[scenario]]\nname = "x"\nsteps = [\n' + "".join(f"  {{ {step} }},\n" for step in steps) + "]\n"


def test_what_is_found_instead_is_told_in_the_words_of_qstat(tmp_path: Path) -> None:
    jobs = '[jobs.a]\nqsub = "-q all.q"\n[jobs.b]\nqsub = "-q all.q"\n'
    expected = (
        'expect = { jobs = { b = { state = "r", queue = "all.q@node1", hold = "u", failed = 1, reasons = ["x"] } } }',
        'expect = { queues = { "all.q@node1" = { state = "d", used = 2 }, "b.q@x" = "" }, qstat = [] }',
    )
    verdict = run(
        tmp_path, CELL + jobs + scenario('at = "10s", submit = ["a", "b"]', f'at = "1m", {expected[0]}', expected[1])
    )
    full = 'queue instance "all.q@node1" dropped because it is full; All queues dropped because of overload or full'
    assert [(each.wanted, each.found) for each in verdict.failures] == [
        ("job b: r", "job b: qw"),
        ("job b in all.q@node1", "job b in no queue"),
        ("job b held by u", "job b held by nothing"),
        ("job b: failed 1", "job b: failed unknown"),
        ("job b: x", f"job b: {full}"),
        (
            "all.q@node1 in state d",
            'all.q@node1 in state none (queue instance "all.q@node1" dropped because it is full)',
        ),
        ("all.q@node1: 2 slots in use", "all.q@node1: 1 slots in use"),
        ("queue instance b.q@x", "no such queue instance"),
        ("no jobs", "a r all.q@node1 1 | b qw 1"),
    ]


def test_a_queue_refuses_what_the_cell_does_not_have(tmp_path: Path) -> None:
    jobs = '[jobs.a]\nqsub = "-q none.q"\n[jobs.b]\nqsub = "-l nothing=1"\n[jobs.c]\nqsub = "-p 5"\n'
    steps = (
        'at = "10s", submit = ["a", "b", "c"]',
        'at = "1m", expect = { jobs = { a = "idle", b = "idle", c = "idle" } }',
    )
    verdict = run(tmp_path, CELL + jobs + scenario(*steps))
    assert [each.found for each in verdict.failures] == [
        'job a refused: Job was rejected because job requests unknown queue "none.q"',
        'job b refused: unknown resource "nothing"',
        "job c refused: job rejected: positive submission priority requires operator privileges",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[jobs.a]\nqsub = "-cwd"\n', "-cwd has no meaning in the lab; remove it"),
        ('[jobs.a]\nqsub = "-l"\n', "qsub: -l option must have argument"),
        ('[jobs.a]\nqsub = "-t 0"\n', "job rejected: 0 is an invalid task id"),
        ('[jobs.a]\nqsub = "script.sh"\n', "'script.sh' is not an option; describe the job's behaviour in its table"),
        ('[jobs.a]\nqsub = "-q a"\ndescription = "queue"\n', "one of submit, description and qsub"),
        (
            '[jobs.a]\nqsub = "-hold_jid b"\n' + scenario('at = "1s", submit = "a"'),
            "a waits for b, which has not been submitted before this step",
        ),
        (scenario('at = "1s", qmod = "-x all.q"'), "qmod takes one of the options -d, -e, "),
        (scenario('at = "1s", qconf = "aattr"'), "qconf must begin with an option"),
        (
            scenario('at = "1s", user = "ann", match = true'),
            "user names who gives the order; it is valid only with qmod or qconf",
        ),
        (scenario('at = "1s", expect = { queues = { "a@b" = "x" } }'), "found 'x'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    whole = text if "[[scenario]]" in text else text + scenario('at = "1s", expect = "Unclaimed"')
    with pytest.raises(LabError) as refused:
        run(tmp_path, CELL + whole)
    assert problem in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path}/x.toml:")


@pytest.mark.parametrize(
    "step", ['qmod = "-d all.q"', 'expect = { queues = { "all.q@node1" = "" } }', "expect = { qstat = [] }"]
)
def test_a_pool_without_a_cell_knows_nothing_of_one(tmp_path: Path, step: str) -> None:
    with pytest.raises(LabError, match="requires a Grid Engine cell, but the pool has none"):
        run(tmp_path, "policy = ''\n" + scenario(f'at = "1s", {step}'))


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ('qmod = "-d none.q"', 'qmod: invalid queue "none.q"'),
        ('qmod = "-d all.q", user = "ann"', 'qmod: ann - you have no permission to modify queue "all.q@node1"'),
        ('qconf = "-mattr queue slots 2 none.q"', "none.q"),
        ('qconf = "-Mq file"', "give an option such as -aattr"),
    ],
)
def test_an_order_that_is_refused_fails_the_scenario(tmp_path: Path, step: str, problem: str) -> None:
    with pytest.raises(LabError) as refused:
        run(tmp_path, CELL + scenario(f'at = "1s", {step}', 'at = "5s", expect = "Unclaimed"'))
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("[cell.objects]\n\"cqueues/all.q\" = 'slots many'\n", "cqueues/all.q"),
        (
            "[cell.objects]\n\"cqueues/all.q\" = 'pe_list none_such'\n",
            'Parallel environment "none_such" does not exist',
        ),
        ("[cell.objects]\n\"queues/all.q\" = 'slots 1'\n", "queues/all.q does not belong to a cell"),
        ('[cell]\nqconf = "-aattr queue slots 1 none.q"\n', "qconf -aattr queue slots 1 none.q: "),
        ('[cell]\ndirectory = "none"\n', "none"),
        ("[cell]\nfiles = {}\n", "unknown key 'files'"),
    ],
)
def test_a_cell_that_a_pool_would_not_take_is_refused(tmp_path: Path, cell: str, problem: str) -> None:
    with pytest.raises(LabError) as refused:
        run(tmp_path, cell + scenario('at = "5s", expect = "Unclaimed"'))
    assert problem in str(refused.value)


def test_a_program_that_no_cell_names_is_refused(tmp_path: Path) -> None:
    steps = '[[scenario]]\nname = "x"\nsteps = [{ at = "1m", expect = { "1 + 1" = 2 } }]\n'
    queue = "[cell.objects]\n\"cqueues/all.q\" = '''\nhostlist node1\n'''\n"
    for text, problem in (
        (f"policy = ''\n[programs.before]\n{steps}", "it is a cell that names programs, and the pool has none"),
        (f"policy = ''\n{queue}[programs.befor]\n{steps}", "no object of the cell names the program 'befor'"),
    ):
        file = tmp_path / "s.toml"
        file.write_text(text)
        line = text[: text.index("[programs.")].count("\n") + 1
        with pytest.raises(LabError, match=rf"s\.toml:{line}: .*{problem}"):
            read_scenarios(file)
