"""DAGs on real daemons and processes whose time is driven, compared with the simulation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from roost.lab.node_changes import NodeChange
from roost.lab.replay.comparison import node_differences
from roost.lab.replay.worlds import BothWorlds
from roost.lab.scenario.values import Scenario
from roost.runtime.machine import SystemHost
from tests.lab.scenario.test_pools import read

WORK = "[jobs.work]\nrun = '4m'\nexit_code = [1, 0]\n[jobs.more]\nrun = '3m'\n[jobs.bad]\nrun = '2m'\nexit_code = 1\n"
BEGIN = '{ at = "1m2s", dag = "flow" }'
END = '{ at = "20m", expect = { "1 + 1" = 2 } }'


def dag(text: str, more: str = "") -> str:
    return f"[dags.flow]\ntext = '''\n{text}'''\n{more}"


@pytest.fixture(scope="module")
def worlds() -> Iterator[BothWorlds]:
    """One stage for all scenarios."""
    with BothWorlds(SystemHost()) as found:
        yield found


def passes(worlds: BothWorlds, scenario: Scenario) -> None:
    outcome = worlds.run(scenario)
    assert outcome.unreplayed == ""
    assert outcome.verdict.failures == ()
    assert outcome.problem == ""
    assert not outcome.differences, "\n".join(line for each in outcome.differences or () for line in each.lines)


def told(changes: tuple[NodeChange, ...]) -> list[str]:
    """What happened, without the conditions of rows."""
    return [f"{each.name}: {each.what.partition(':')[0].strip()}" for each in changes]


RETRIED = dag(
    "JOB A work\nJOB B more\nPARENT A CHILD B\nRETRY A 1\nSCRIPT PRE B first.sh\nSCRIPT POST B last.sh $RETURN\n",
    "scripts = { 'first.sh' = { takes = '1m' }, 'last.sh' = { takes = '30s', status = 3 } }\n",
)


def test_nodes_are_tried_again_and_have_scripts_alike(tmp_path: Path, worlds: BothWorlds) -> None:
    ended = '{ at = "16m", expect = { dags = { flow = { status = "failed", exit = 1 } } } }'
    scenario = read(tmp_path, WORK + RETRIED, BEGIN, ended)
    passes(worlds, scenario)
    found = worlds.replay(scenario).nodes
    assert found[0].what.strip() == "1 not_ready → ready: all of its parents are done"
    assert told(found) == [
        "flow.A: 1 not_ready → ready",
        "flow.A: 4 ready → submitted",
        "flow.A: 14 submitted → ready",
        "flow.A: 4 ready → submitted",
        "flow.A: 13 submitted → done",
        "flow.B: 1 not_ready → ready",
        "flow.B: 3 ready → prerun",
        "flow.B: 8 prerun → ready",
        "flow.B: 4 ready → submitted",
        "flow.B: 12 submitted → postrun",
        "flow.B: 18 postrun → error",
        "flow: failed (1)",
    ]
    at = {each.what.partition(":")[0].strip(): each.at for each in found}
    assert 60 <= at["8 prerun → ready"] - at["3 ready → prerun"] < 61
    assert 30 <= at["18 postrun → error"] - at["12 submitted → postrun"] < 31


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        # Removed while a script runs, and while a job does.
        (dag("JOB A more\nJOB B more\nSCRIPT PRE B x.sh\n", "scripts = { 'x.sh' = { takes = '9m' } }\n"),
         ('{ at = "2m7s", remove_dag = "flow" }',
          '{ at = "3m", expect = { dags = { flow = { status = "removed", nodes = { A = "error" } } } } }')),
        # A node of several jobs, one of which is held; its script runs then, and the others are removed with it.
        ("[jobs.two]\nrun = '5m'\ndescription = '''\nexecutable = x\nqueue 2\n'''\n"
         + dag("JOB A two\nSCRIPT HOLD A held.sh\n"),
         ('{ at = "3m7s", hold = "flow.A.0" }', '{ at = "5m12s", remove = "flow.A.0" }',
          '{ at = "9m", expect = { dags = { flow = { status = "failed", nodes = { A = "error" } } } } }')),
        # The queue refuses a node again and again.
        ("settings = { MAX_JOBS_PER_SUBMISSION = 1, DAGMAN_MAX_SUBMIT_ATTEMPTS = 2 }\n"
         "[jobs.two]\ndescription = '''\nexecutable = x\nqueue 2\n'''\n" + dag("JOB A two\nFINAL F more\n"),
         ('{ at = "10m", expect = { dags = { flow = { status = "done", nodes = { A = "error", F = "done" } } } } }',)),
        # A node that ends the run, with an exit status that a run of a pool replaces.
        (dag("JOB A bad\nJOB B work\nABORT-DAG-ON A 1 RETURN 3\n"),
         ('{ at = "9m", expect = { dags = { flow = { status = "failed", exit = 1, nodes = { B = "error" } } } } }',)),
        # A script that asks to run later, one that ends its node, limits, a node that is nothing.
        ("settings = { DAGMAN_MAX_JOBS_SUBMITTED = 1 }\n"
         + dag("JOB A more\nJOB B more\nJOB C more NOOP\nSCRIPT DEFER 4 60 PRE A x.sh\nSCRIPT PRE B y.sh\n"
               "PRE_SKIP B 7\nPARENT C CHILD B\n",
               "scripts = { 'x.sh' = { status = [4, 4, 0] }, 'y.sh' = { status = 7 } }\n"),
         ('{ at = "8m", expect = { dags = { flow = { status = "done", nodes = { B = "done" } } } } }',)),
    ],
    ids=["removed", "held", "refused", "aborted", "deferred"],
)  # fmt: skip
def test_runs_end_alike(tmp_path: Path, worlds: BothWorlds, text: str, steps: tuple[str, ...]) -> None:
    passes(worlds, read(tmp_path, text if "[jobs.more]" in text else _with_work(text), BEGIN, *steps))


def _with_work(text: str) -> str:
    """Settings come before tables."""
    settings, tables = text.split("[", 1) if text.startswith("settings") else ("", text[1:])
    return f"{settings}{WORK}[{tables}"


def test_a_dag_writes_no_files_of_its_users(tmp_path: Path, worlds: BothWorlds) -> None:
    files = {name: tmp_path / name for name in ("states", "status", "dot", "saved", "debug")}
    text = dag(
        f"JOB A work\nJOBSTATE_LOG {files['states']}\nNODE_STATUS_FILE {files['status']} 1\nDOT {files['dot']}\n"
        f"SAVE_POINT_FILE A {files['saved']}\nSCRIPT DEBUG {files['debug']} ALL POST A x.sh\n"
    )
    passes(worlds, read(tmp_path, WORK + text, BEGIN, '{ at = "7m", expect = { dags = { flow = "done" } } }'))
    assert [name for name, path in files.items() if path.exists()] == []


def test_what_nodes_do_otherwise_is_shown_with_both_timelines(tmp_path: Path, worlds: BothWorlds) -> None:
    scenario = read(tmp_path, WORK + RETRIED, BEGIN, END)
    replay = worlds.replay(scenario)
    assert node_differences(scenario, replay.start, replay.nodes, replay.nodes) == []
    other = [replace(each, what="done (0)") if each.name == "flow" else each for each in replay.nodes]
    late = [replace(each, at=each.at + 600) if each.name == "flow.B" else each for each in other]
    dag_, node = node_differences(scenario, replay.start, replay.nodes, late)
    assert (dag_.slot, node.slot) == ("DAG flow", "node flow.B")
    (line,) = [each for each in dag_.lines if each.startswith(">")]
    assert "failed (1) |" in line
    assert line.endswith("done (0)")
    assert "not_ready → ready" in node.simulated
