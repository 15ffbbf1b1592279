"""DAGs in scenario files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roost.lab.machines import LabError
from tests.lab.scenario.test_pools import read, verdict

WORK = "[jobs.work]\nrun = '10m'\nexit_code = [1, 0]\n"
BEGIN = '{ at = "1m", dag = "flow" }'


def dag(text: str, more: str = "") -> str:
    return f"[dags.flow]\ntext = '''\n{text}'''\n{more}"


def test_a_description_of_a_node_gets_its_variables_and_its_number_of_tries(tmp_path: Path) -> None:
    work = WORK + "description = '''\nexecutable = x\n+Part = $(part)\n+Try = $(RETRY)\nqueue\n'''\n"
    steps = (
        BEGIN,
        '{ at = "5m", expect = { jobs = { "flow.A" = { Part = 7, Try = 0, DAGNodeName = "A" } } } }',
        '{ at = "15m", expect = { jobs = { "flow.A" = "completed", "flow.A/2" = { status = "running", Try = 1 } } } }',
        '{ at = "25m", expect = { dags = { flow = { status = "done", exit = 0, nodes = { A = "done" } } } } }',
    )
    text = work + dag('JOB A work\nVARS A part="7"\nRETRY A 2\n')
    assert verdict(read(tmp_path, text, *steps)).failures == ()


def test_files_of_a_user_and_descriptions_in_the_dag_work_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.sub").write_text("executable = x\nqueue 2\n")
    (tmp_path / "w.dag").write_text("JOB A a.sub\nJOB B {\nexecutable = y\npriority = 3\n}\nPARENT A CHILD B\n")
    text = "[jobs.'a.sub']\nsubmit = 'a.sub'\nrun = '2m'\n[jobs.B]\nrun = '1h'\n[dags.flow]\nfile = 'w.dag'\n"
    steps = (
        BEGIN,
        '{ at = "2m", expect = { jobs = { "flow.A.0" = "running", "flow.A.1" = "idle" } } }',
        '{ at = "30m", expect = { jobs = { "flow.A.1" = "completed", "flow.B" = { JobPrio = 3, JobStatus = 2 } } } }',
    )
    assert verdict(read(tmp_path, text, *steps)).failures == ()


def test_limits_of_a_run_come_from_the_configuration(tmp_path: Path) -> None:
    text = "settings = { DAGMAN_MAX_JOBS_SUBMITTED = 1 }\n" + WORK + dag("JOB A work\nJOB B work\n")
    steps = BEGIN, '{ at = "5m", expect = { dags = { flow = { nodes = { A = "submitted", B = "ready" } } } } }'
    assert verdict(read(tmp_path, text, *steps)).failures == ()


def test_orders_reach_the_jobs_of_nodes_and_a_removed_dag_removes_them(tmp_path: Path) -> None:
    steps = (
        BEGIN,
        '{ at = "5m", hold = "flow.A" }',
        '{ at = "6m", expect = { jobs = { "flow.A" = "held" } } }',
        '{ at = "7m", remove_dag = "flow" }',
        '{ at = "8m", expect = { dags = { flow = { status = "removed", nodes = { A = "error" } } } } }',
        '{ at = "8m", expect = { jobs = { "flow.A" = "removed" } } }',
    )
    assert verdict(read(tmp_path, WORK + dag("JOB A work\n"), *steps)).failures == ()


@pytest.mark.parametrize("job", ["JobUniverse = 12\n", "description = '''\nuniverse = local\nexecutable = x\n'''\n"])
def test_a_node_of_the_local_universe_runs_beside_the_queue(tmp_path: Path, job: str) -> None:
    text = f"[jobs.near]\nrun = '2m'\n{job}" + dag("JOB A near\n")
    scenario = read(tmp_path, text, BEGIN, '{ at = "4m", expect = { state = "Unclaimed", dags = { flow = "done" } } }')
    assert verdict(scenario).failures == ()
    assert "beside the queue" in scenario.unreplayed


def test_an_exit_status_that_would_start_the_run_again_is_replaced_as_in_a_pool(tmp_path: Path) -> None:
    text = WORK + dag("JOB A work\nABORT-DAG-ON A 1 RETURN 3\n")
    steps = BEGIN, '{ at = "15m", expect = { dags = { flow = { status = "failed", exit = 1 } } } }'
    assert verdict(read(tmp_path, text, *steps)).failures == ()


def test_limits_that_change_count_for_runs_that_begin_later(tmp_path: Path) -> None:
    text = WORK + dag("JOB A work\nJOB B work\n")
    change = '{ at = "30s", reconfig = { DAGMAN_MAX_JOBS_SUBMITTED = "1" } }'
    expected = '{ at = "5m", expect = { dags = { flow = { nodes = { A = "submitted", B = "ready" } } } } }'
    assert verdict(read(tmp_path, text, change, BEGIN, expected)).failures == ()


def test_a_missed_node_is_told_with_what_became_of_it(tmp_path: Path) -> None:
    text = WORK + dag("JOB A work\n", "")
    expected = '{ at = "20m", expect = { dags = { flow = { status = "done", exit = 0, nodes = { A = "done" } } } } }'
    assert [(miss.wanted, miss.found) for miss in verdict(read(tmp_path, text, BEGIN, expected)).failures] == [
        ("DAG flow done", "DAG flow failed"),
        ("DAG flow: exit status 0", "DAG flow: exit status 1"),
        ("node flow.A done", "node flow.A error: job 1.0 ended with status 1"),
    ]


@pytest.mark.parametrize(
    ("text", "step", "problem"),
    [
        (dag("JOB A other\n"), BEGIN, "node A: there is no job 'other'"),
        (dag("SUBDAG EXTERNAL A x.dag\n"), BEGIN, "the lab does not run a DAG in a DAG"),
        (dag('JOB A work\nVARS A x="1"\n'), BEGIN, "VARS are for submit descriptions"),
        (dag("JOB A work\nPARENT A CHILD B\n"), BEGIN, "the DAG cannot be used"),
        (dag("JOB A work\nCONFIG x\n"), BEGIN, "CONFIG has no effect in the lab"),
        (dag("JOB A work\n", "scripts = { 'x.sh' = {} }\n"), BEGIN, "no node has the script 'x.sh'; there are: none"),
        (dag("JOB A work\n", "file = 'x'\n"), BEGIN, "name the DAG either by file"),
        (dag("JOB A work\n"), '{ at = "1m", dag = "flaw" }', "there is no DAG 'flaw'"),
        (dag("JOB A work\n"), '{ expect = { dags = { flow = { nodes = { B = "done" } } } } }', "has no node 'B'"),
        (dag("JOB A work\n"), '{ expect = { dags = { flow = "finished" } } }', "status is one of waiting, running"),
        (dag("JOB A work\n"), '{ expect = { jobs = { "flow.A" = "idle" } } }', "no job 'flow.A' has been submitted"),
    ],
)
def test_what_means_nothing_is_refused_with_its_place(tmp_path: Path, text: str, step: str, problem: str) -> None:
    with pytest.raises(LabError, match=rf"s\.toml:\d+: .*{re.escape(problem)}"):
        read(tmp_path, WORK + text, step, '{ at = "2m", expect = "Claimed" }')
