"""Simulations and comparisons of Grid Engine cells, and Grid Engine's accounting file as a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roost.base.records import replace
from roost.config import MemoryHost
from roost.gridengine.cell import new_cell, write_cell
from roost.gridengine.pool.active_cell import ActiveCell
from roost.lab.compare import compare
from roost.lab.inputs.accounting import read_accounting
from roost.lab.inputs.cell import checked, whole
from roost.lab.machines import LabError
from roost.lab.report.cell_figures import cell_lines
from roost.lab.report.comparison import comparison_text
from roost.lab.simulate import Request, simulate
from roost.model import cell_requests as ads
from roost.sim.world import BEGINNING

OBJECTS = {
    "pe/mpi": "slots 99\nallocation_rule $fill_up\n",
    "cqueues/short.q": "hostlist node1 node2\nslots 2\nh_rt 1:0:0\n",
    "cqueues/long.q": "hostlist node1\nslots 4\npe_list mpi\n",
}
_ZEROS = ":".join(["0"] * 17)


def record(queue: str, owner: str, number: int, at: int, run_s: int, category: str, **more: object) -> str:
    start, task, slots = at + 5 if run_s else 0, more.get("task", 0), more.get("slots", 1)
    environment = "mpi" if slots != 1 else "NONE"
    return (
        f"{queue}:node1:staff:{owner}:job{number}:{number}:sge:0:{at}:{start}:{start + run_s}:0:0:{_ZEROS}:0:"
        f"NONE:defaultdepartment:{environment}:{slots}:{task}:1:0:0:{category}:0:{more.get('slave', 'NONE')}:0:0:0"
    )


ACCOUNTING = "\n".join(
    (
        "# Version: 8.1.9",
        record("short.q", "ann", 11, 1000, 900, "-U staff -u ann -q short.q -l h_rt=1200"),
        record("long.q", "ben", 12, 1060, 1800, "-q long.q -pe mpi 2-4", slots=4),
        record("long.q", "ben", 12, 1060, 60, "-q long.q -pe mpi 2-4", slots=4, slave="1.node1"),
        record("long.q", "ben", 13, 1120, 600, "NONE", task=2),
        record("long.q", "ben", 13, 1120, 300, "NONE", task=1),
        record("short.q", "ann", 14, 1120, 0, "-q short.q"),
    )
)


def cell(folder: Path, **objects: str) -> str:
    files = dict(write_cell(new_cell()))
    for name, text in {**OBJECTS, **objects}.items():
        files[name] = whole(name, text, files.get(name))
    for name, text in write_cell(checked(files)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


def request(folder: Path, directory: str) -> Request:
    (folder / "accounting").write_text(ACCOUNTING)
    return Request(configs=(), cell=directory, days=0.1, workload=(str(folder / "accounting"),))


def test_an_accounting_file_says_what_jobs_asked_for_and_how_long_they_ran() -> None:
    found = read_accounting(ACCOUNTING, BEGINNING)
    assert found.never_ran == 1
    assert [(job.name, job.owner, job.submitted_at - BEGINNING, job.truth.run_s) for job in found.jobs] == [
        ("11.0", "ann", 0.0, 900.0),
        ("12.0", "ben", 60.0, 1800.0),
        ("13.0", "ben", 120.0, 300.0),
        ("13.1", "ben", 120.0, 600.0),
    ]
    first, parallel, task, _ = (job.ad for job in found.jobs)
    assert (first[ads.QUEUES], first[ads.RESOURCES], first[ads.NAME]) == ("short.q", "h_rt=1200", "job11")
    assert (parallel[ads.PARALLEL], parallel["RequestCpus"]) == ("mpi 2-4", 1)
    assert task[ads.TASK_NUMBER] == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("all.q:node1:staff", "accounting:1: 3 fields where accounting(5) has 42 or more"),
        (ACCOUNTING.splitlines()[1].replace(":1000:", ":soon:"), "accounting:1: a number was expected; found 'soon'"),
        (ACCOUNTING.splitlines()[1].replace("-q short.q", "-zz x"), "accounting:1: category '-U staff -u ann -zz x"),
    ],
)
def test_an_accounting_file_that_is_none_is_refused_with_the_line(line: str, problem: str) -> None:
    with pytest.raises(LabError) as refused:
        read_accounting(line, BEGINNING)
    assert str(refused.value).startswith(problem)


def test_a_cell_is_simulated_and_figures_are_by_queue_user_and_project(tmp_path: Path) -> None:
    result = simulate(request(tmp_path, cell(tmp_path / "old")), MemoryHost(), tmp_path / "out")
    assert result.outcome.problems == ()
    summary = json.loads((tmp_path / "out/summary.json").read_text())["summary"]
    assert summary["cell"]["queues"]["long.q"]["completed"] >= 1
    # 4 slots for half an hour, and two tasks of 5 and 10 minutes
    assert summary["cell"]["users"]["ben"]["slot_h"] == 2.25
    assert {name: row["completed"] for name, row in summary["cell"]["users"].items()} == {"ann": 1, "ben": 3}
    assert any(line.startswith("short.q") for line in cell_lines(summary))


def test_the_same_simulation_has_the_same_digest_whether_runs_are_left_out_or_not(tmp_path: Path) -> None:
    asked = request(tmp_path, cell(tmp_path / "old", schedconf="job_load_adjustments NONE"))
    plain = simulate(asked, MemoryHost(), tmp_path / "a").outcome
    exhaustive = simulate(replace(asked, exhaustive=True), MemoryHost(), tmp_path / "b").outcome
    assert plain.digest == exhaustive.digest


def test_two_cells_are_compared_on_one_trace(tmp_path: Path) -> None:
    old = request(tmp_path, cell(tmp_path / "old"))
    shut = {
        "calendars/shut": "year NONE\nweek mon=0-1=off\n",
        "cqueues/short.q": OBJECTS["cqueues/short.q"] + "calendar shut\n",
    }
    new = request(tmp_path, cell(tmp_path / "new", **shut))
    found = compare(old, new, [1], MemoryHost())
    (wait,) = [row for row in found.cell if row[:3] == ("queues", "short.q", "wait_min_max")]
    assert wait[3] < 1.0 < 59.0 < wait[4] < 61.0
    assert "queue short.q: longest (min)" in comparison_text(found)


def test_recorded_jobs_of_several_cores_need_a_parallel_environment(tmp_path: Path) -> None:
    (tmp_path / "x.swf").write_text("1 0 0 600 4 -1 -1 4 1200 -1 1 1 1 1 1 1 -1 -1\n")
    asked = Request(configs=(), cell=cell(tmp_path / "old"), days=0.1, workload=(str(tmp_path / "x.swf"),))
    with pytest.raises(LabError, match="requests 4 cores; name the parallel environment for such jobs with --pe"):
        simulate(asked, MemoryHost(), tmp_path / "out")


@pytest.mark.parametrize(
    ("attribute", "suspends"),
    [("slots 1", False), ("subordinate_list short.q=1", True), ("suspend_thresholds np_load_avg=2", True)],
)
def test_a_cell_says_whether_it_suspends_jobs(attribute: str, suspends: bool) -> None:
    files = dict(write_cell(new_cell()))
    for name, text in {**OBJECTS, "cqueues/over.q": f"hostlist node1\n{attribute}\n"}.items():
        files[name] = whole(name, text, files.get(name))
    assert ActiveCell.of(1, checked(files)).suspends is suspends
