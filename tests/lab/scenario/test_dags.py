"""DAGs in scenario files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roost.dag.statements import DEFINING, SHAPING
from roost.lab.machines import LabError
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.run import observe_scenario
from roost.runtime.machine import SystemHost
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
    assert "on the queue's machine" in scenario.unreplayed


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
        (dag("SUBDAG EXTERNAL A x.dag\n"), BEGIN, "the lab does not run a DAG within a DAG"),
        (dag('JOB A work\nVARS A x="1"\n'), BEGIN, "VARS are for submit descriptions"),
        (dag("JOB A work\nPARENT A CHILD B\n"), BEGIN, "the DAG cannot be used"),
        (dag("JOB A work\nCONFIG x\n"), BEGIN, "CONFIG has no effect in the lab"),
        (
            dag("JOB A work\n", "scripts = { 'x.sh' = {} }\n"),
            BEGIN,
            "no node has the script 'x.sh'; the scripts are: none",
        ),
        (dag("JOB A work\n", "file = 'x'\n"), BEGIN, "name the DAG either by file"),
        (dag("JOB A work\n"), '{ at = "1m", dag = "flaw" }', "there is no DAG 'flaw'"),
        (dag("JOB A work\n"), '{ expect = { dags = { flow = { nodes = { B = "done" } } } } }', "has no node 'B'"),
        (
            dag("JOB A work\n"),
            '{ expect = { dags = { flow = "finished" } } }',
            "status must be one of waiting, running",
        ),
        (dag("JOB A work\n"), '{ expect = { jobs = { "flow.A" = "idle" } } }', "no job 'flow.A' has been submitted"),
    ],
)
def test_what_means_nothing_is_refused_with_its_place(tmp_path: Path, text: str, step: str, problem: str) -> None:
    with pytest.raises(LabError, match=rf"s\.toml:\d+: .*{re.escape(problem)}"):
        read(tmp_path, WORK + text, step, '{ at = "2m", expect = "Claimed" }')


#: Of each command of a DAG file: the lines with it, and of it.
_USES = {
    "JOB": "JOB A work",
    "NODE": "NODE A work",
    "SUBDAG": "SUBDAG EXTERNAL A other.dag",
    "SPLICE": "SPLICE S other.dag",
    "INCLUDE": "INCLUDE other.dag",
    "FINAL": "FINAL F work",
    "PROVISIONER": "PROVISIONER P work",
    "SERVICE": "SERVICE S work",
    "SUBMIT_DESCRIPTION": "SUBMIT-DESCRIPTION d {\nexecutable = x\n}\nJOB A d",
    "REJECT": "REJECT",
    "PARENT": "PARENT B CHILD C",
    "WEAK": "WEAK PARENT B CHILD C",
    "TOLERANCE": "TOLERANCE B 1",
    "SCRIPT": "SCRIPT PRE B x.sh",
    "PRE_SKIP": "SCRIPT PRE B no.sh\nPRE_SKIP B 3",
    "RETRY": "RETRY B 1",
    "ABORT_DAG_ON": "ABORT-DAG-ON B 1",
    "VARS": "VARS D JobPrio=7",
    "PRIORITY": "PRIORITY C 5",
    "CATEGORY": "MAXJOBS few 1\nCATEGORY ALL_NODES few",
    "MAXJOBS": "CATEGORY ALL_NODES few\nMAXJOBS few 1",
    "CONFIG": "CONFIG other.config",
    "SET_JOB_ATTR": "SET_JOB_ATTR A = 1",
    "ENV": "ENV SET A=1",
    "DOT": "DOT run.dot",
    "NODE_STATUS_FILE": "NODE_STATUS_FILE run.status",
    "JOBSTATE_LOG": "JOBSTATE_LOG run.log",
    "SAVE_POINT_FILE": "SAVE_POINT_FILE B",
    "DONE": "DONE C",
    "CONNECT": "SPLICE S pins.dag\nSPLICE T pins.dag\nCONNECT S T",
    "PIN_IN": "SPLICE S pins.dag\nSPLICE T pins.dag\nCONNECT S T",
    "PIN_OUT": "SPLICE S pins.dag\nSPLICE T pins.dag\nCONNECT S T",
    "SCRIPT DEBUG": "SCRIPT DEBUG x.log ALL PRE B x.sh",
    "JOB DIR": "JOB A work DIR there",
}


def outcome(folder: Path, lines: str) -> tuple[object, ...] | None:
    """What comes of a DAG with these lines; None if it is refused."""
    jobs = "[jobs.work]\nrun = '3m'\nexit_code = [1, 0]\n[jobs.good]\nrun = '2m'\n"
    jobs += "[jobs.described]\nrun = '2m'\ndescription = '''\nexecutable = x\npriority = $(JobPrio:-1)\nqueue\n'''\n"
    text = f"JOB B work\nJOB C good\nJOB D described\n{lines}\n"
    scripts = "scripts = { 'no.sh' = { status = 3 } }\n" if "no.sh" in lines else ""
    end = '{ at = "20m", expect = { "1 + 1" = 2 } }'
    try:
        found = observe_scenario(read(folder, jobs + dag(text, scripts), BEGIN, end), SystemHost(), Coverage())
    except LabError:
        return None
    return found.verdict.notes, found.nodes, found.jobs


def test_every_command_of_a_dag_acts_is_refused_or_is_noted(tmp_path: Path) -> None:
    assert {name.partition(" ")[0] for name in _USES} == {*DEFINING, *SHAPING, "SPLICE", "INCLUDE"}
    (tmp_path / "other.dag").write_text("JOB O work\n")
    (tmp_path / "pins.dag").write_text("JOB O work\nPIN_IN O 1\nPIN_OUT O 1\n")
    plain = outcome(tmp_path, "")
    assert plain is not None and plain[0] == ()
    assert [name for name, lines in _USES.items() if outcome(tmp_path, lines) == plain] == []


def test_what_of_a_dag_has_no_effect_is_noted(tmp_path: Path) -> None:
    text = "JOB A work DIR there\nDOT a.dot\nNODE_STATUS_FILE a.status\nSCRIPT DEBUG x ALL PRE A y\n"
    end = '{ at = "2m", expect = { dags = { flow = "running" } } }'
    (note,) = verdict(read(tmp_path, WORK + dag(text), BEGIN, end)).notes
    assert note == (
        "DAG flow: the lab writes no files of a run and has no job for it, so these have no effect: "
        "DIR, DOT, NODE_STATUS_FILE, SCRIPT DEBUG"
    )
