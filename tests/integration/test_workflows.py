"""Workflows on a real pool: in order, once each, whatever is killed, and with the files that their users look for."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roost.cli.__main__ import main
from tests.integration.kit import Pool, eventually

#: A node writes that it ran, and ends as its VARS say.
NODE = """
executable = /bin/sh
arguments = "-c 'echo $(JOB).$(RETRY) >> ran; sleep $(nap:0); exit $(code:0)'"
output = $(JOB).out
queue
"""


def dag(pool: Pool, deed: str, *words: str) -> Any:
    """Run ``roost dag``; what it printed, as JSON."""
    out = io.StringIO()
    with contextlib.chdir(pool.work), contextlib.redirect_stdout(out):
        assert main(["dag", deed, "--home", str(pool.home), "--json", *words]) == 0, out.getvalue()
    return json.loads(out.getvalue())


def submit(pool: Pool, name: str, text: str, *words: str) -> int:
    """Write and submit a DAG; the cluster of its run."""
    (pool.work / "node.sub").write_text(NODE)
    (pool.work / name).write_text(text)
    return int(dag(pool, "submit", *words, name)["cluster"])


def ran(pool: Pool) -> list[str]:
    """Nodes and their tries, in the order in which they ran."""
    path = pool.work / "ran"
    return path.read_text().split() if path.exists() else []


def script(pool: Pool, name: str, text: str) -> None:
    path = pool.work / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


DIAMOND = "JOB A node.sub\nJOB B node.sub\nJOB C node.sub\nJOB D node.sub\nPARENT A CHILD B C\nPARENT B C CHILD D\n"


def test_a_workflow_runs_in_order_with_its_scripts_and_leaves_its_files(start: Callable[..., Pool]) -> None:
    pool = start(cpus=2)
    script(pool, "pre.sh", "echo pre.$1 >> ran")
    script(pool, "post.sh", 'echo post.$1.$2 >> ran; echo said "$3"')
    more = (
        "SCRIPT PRE B pre.sh $JOB\nSCRIPT DEBUG post.log STDOUT POST A post.sh $JOB $RETURN $DAG_STATUS\n"
        'VARS A code="3"\nNODE_STATUS_FILE status 0 ALWAYS-UPDATE\nDOT picture.dot\nRETRY C 1\n'
        "JOBSTATE_LOG states.log\n"
    )
    run = submit(pool, "d.dag", DIAMOND + more)
    ad = pool.seen(f"{run}.0", JobStatus=4)
    assert (ad["ExitCode"], ad["JobUniverse"], ad["DAG_NodesDone"], ad["DAG_NodesTotal"]) == (0, 7, 4, 4)
    order = ran(pool)
    assert order[:2] == ["A.0", "post.A.3"]
    assert Counter(order[2:5]) == Counter(("pre.B", "B.0", "C.0"))
    assert order.index("pre.B") < order.index("B.0")
    assert order[5:] == ["D.0"]
    assert (pool.work / "post.log").read_text() == "said 0\n"
    assert re.findall(r"NodeStatus = (\d)", (pool.work / "status").read_text()) == ["5"] * 4
    assert '"A" -> "B"' in (pool.work / "picture.dot").read_text()
    assert json.loads((pool.work / "d.dag.metrics").read_text())["exitcode"] == 0
    assert "EXITING WITH STATUS 0" in (pool.work / "d.dag.dagman.out").read_text()
    assert not (pool.work / "d.dag.lock").exists()
    log = (pool.work / "d.dag.nodes.log").read_text()
    assert len(re.findall(r"^005 ", log, re.M)) == 4
    assert len(re.findall(r"^016 ", log, re.M)) == 1
    assert "DAG Node: A" in log
    states = [line.split(" ", 1)[1] for line in (pool.work / "states.log").read_text().splitlines()]
    assert (states[0], states[-1]) == (f"INTERNAL *** DAGMAN_STARTED {run}.0 ***", "INTERNAL *** DAGMAN_FINISHED 0 ***")
    first = f"{run + 1}.0"
    assert [line for line in states if line.startswith("A ")] == [
        f"A SUBMIT {first} - - 1",
        f"A EXECUTE {first} - - 1",
        f"A JOB_TERMINATED {first} - - 1",
        "A JOB_FAILURE 3 - - 1",
        f"A POST_SCRIPT_STARTED {first} - - 1",
        f"A POST_SCRIPT_TERMINATED {first} - - 1",
        f"A POST_SCRIPT_SUCCESS {first} - - 1",
    ]
    words = [line.split()[1] for line in states if line.startswith("B ")]
    assert words[:3] == ["PRE_SCRIPT_STARTED", "PRE_SCRIPT_SUCCESS", "SUBMIT"]
    node = pool.job(f"{run + 1}.0")
    assert (node["DAGNodeName"], node["DAGManJobId"]) == ("A", run)


def test_a_failed_workflow_goes_on_from_its_rescue_file(start: Callable[..., Pool]) -> None:
    pool = start(cpus=2)
    failing = DIAMOND + 'VARS B code="7"\nRETRY B 1\n'
    run = submit(pool, "d.dag", failing)
    assert pool.seen(f"{run}.0", JobStatus=4)["ExitCode"] == 1
    assert sorted(ran(pool)) == ["A.0", "B.0", "B.1", "C.0"]
    rescue = (pool.work / "d.dag.rescue001").read_text()
    assert re.findall(r"^DONE (\w+)$", rescue, re.M) == ["A", "C"]
    (pool.work / "ran").unlink()
    again = submit(pool, "d.dag", DIAMOND)
    assert pool.seen(f"{again}.0", JobStatus=4)["ExitCode"] == 0
    assert ran(pool) == ["B.0", "D.0"]
    # So does one that is killed then: its log does not tell of what was done before.
    (pool.work / "ran").unlink()
    (pool.work / "k.dag.rescue001").write_text("DONE A\n")
    killed = submit(pool, "k.dag", "JOB A node.sub\nJOB B {\n executable = /bin/sleep\n arguments = 3\n queue\n}\n")
    out = pool.work / "k.dag.dagman.out"
    eventually(lambda: out.exists() and "cluster" in out.read_text())
    os.kill(int((pool.work / "k.dag.lock").read_text().split()[0]), signal.SIGKILL)
    assert pool.seen(f"{killed}.0", JobStatus=4)["ExitCode"] == 0
    assert not (pool.work / "ran").exists()
    # The log says of each try's POST script which job it was for, also of one that was tried again.
    script(pool, "no.sh", "exit 9")
    tried = submit(pool, "t.dag", "JOB A node.sub\nRETRY A 1\nSCRIPT POST A no.sh\nJOBSTATE_LOG t.log\n")
    pool.seen(f"{tried}.0", JobStatus=4)
    jobs = re.findall(r"^005 \((\d+)", (pool.work / "t.dag.nodes.log").read_text(), re.M)
    assert re.findall(r"^016 \((\d+)", (pool.work / "t.dag.nodes.log").read_text(), re.M) == jobs and len(jobs) == 2
    told = [
        line.split()[2:] for line in (pool.work / "t.log").read_text().splitlines() if "POST_SCRIPT_FAILURE" in line
    ]
    assert [(words[1], words[-1]) for words in told] == [(f"{int(job)}.0", str(n)) for n, job in enumerate(jobs, 1)]
    # What is WEAK begins all the same, and a node may tolerate that jobs of it fail.
    (pool.work / "ran").unlink()
    two = "JOB A {\n executable = /bin/sh\n arguments = \"-c 'exit $(Process)'\"\n queue 2\n}\n"
    weak = submit(pool, "w.dag", f"{two}JOB B node.sub\nVARS B code=7\nJOB C node.sub\nTOLERANCE A 50%\n"
                  "PARENT A CHILD B\nWEAK PARENT B CHILD C\n")  # fmt: skip
    assert pool.seen(f"{weak}.0", JobStatus=4)["ExitCode"] == 1
    assert ran(pool) == ["B.0", "C.0"]
    assert re.findall(r"^DONE (\w+)$", (pool.work / "w.dag.rescue001").read_text(), re.M) == ["A", "B", "C"]
    # A run ends with whatever a node ends it, once: but for the status that means "start me again".
    for status, left in (("7", 7), ("3", 1)):
        aborted = submit(pool, f"e{status}.dag", f'JOB A node.sub\nVARS A code="{status}"\nABORT-DAG-ON A {status}\n')
        ad = pool.seen(f"{aborted}.0", JobStatus=4)
        assert (ad["ExitCode"], ad["NumShadowStarts"]) == (left, 1)


def test_each_node_runs_once_whatever_is_killed(start: Callable[..., Pool]) -> None:
    pool = start(cpus=4)
    script(pool, "post.sh", "sleep 0.1; echo post.$1 >> ran")
    # Some wait for a word: a run is killed while jobs are under way, and no script, for those run again.
    (pool.work / "gated.sub").write_text(NODE.replace("sleep $(nap:0)", "until test -e $(gate); do sleep 0.1; done"))
    waits = {0: "first", **dict.fromkeys(range(4, 9), "last")}
    lines = [
        f'JOB N{n} {"gated" if n in waits else "node"}.sub\nVARS N{n} nap="0.4" gate="{waits.get(n, "")}"\n'
        f"SCRIPT POST N{n} post.sh $JOB"
        for n in range(9)
    ]
    lines += [f"PARENT N{(n - 1) // 2} CHILD N{n}" for n in range(1, 9)]
    lines.append("JOBSTATE_LOG states.log")
    run = submit(pool, "d.dag", "\n".join(lines))

    def kill_run() -> None:
        pid = eventually(lambda: next((pid for pid, words in pool.processes().items() if "d.dag.lock" in words), 0))
        os.kill(pid, signal.SIGKILL)

    def over(*nodes: str) -> bool:
        text = (pool.work / "states.log").read_text()
        return all(f" {node} POST_SCRIPT_SUCCESS " in text for node in nodes)

    eventually(lambda: "N0.0" in ran(pool))
    kill_run()
    (pool.work / "first").touch()
    eventually(lambda: "N1.0" in ran(pool))
    pool.kill("schedd")
    eventually(lambda: over("N0", "N1", "N2", "N3") and len(ran(pool)) > 8)
    # The process that looks after the run, and the run with it.
    owner = int((pool.work / "d.dag.lock").read_text().split()[0])
    os.kill(int(Path(f"/proc/{owner}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
    eventually(lambda: int((pool.work / "d.dag.lock").read_text().split()[0]) != owner)
    (pool.work / "last").touch()
    assert pool.seen(f"{run}.0", JobStatus=4)["ExitCode"] == 0
    counts = Counter(ran(pool))
    assert {name: times for name, times in counts.items() if name[0] == "N"} == {f"N{n}.0": 1 for n in range(9)}
    # A script may have ended while nobody was there to note it: then it runs again, and its end is noted once.
    assert all(counts[f"post.N{n}"] in (1, 2) for n in range(9)), counts
    assert (pool.work / "d.dag.nodes.log").read_text().count("POST Script terminated.") == 9
    states = [line.split() for line in (pool.work / "states.log").read_text().splitlines()]
    beside = ("POST_SCRIPT_STARTED", "IMAGE_SIZE")
    told = Counter((node, word) for _, node, word, *_ in states if node != "INTERNAL" and word not in beside)
    words = ("SUBMIT", "EXECUTE", "JOB_TERMINATED", "JOB_SUCCESS", "POST_SCRIPT_TERMINATED", "POST_SCRIPT_SUCCESS")
    assert told == Counter((f"N{n}", word) for n in range(9) for word in words)
    assert len({number for _, node, *_, number in states if node != "INTERNAL"}) == 9


def test_removing_a_run_removes_all_that_is_its(start: Callable[..., Pool]) -> None:
    pool = start(cpus=2)
    run = submit(pool, "d.dag", 'JOB A node.sub\nJOB B node.sub\nVARS ALL_NODES nap="60"\n')
    eventually(lambda: len([job for job in pool.jobs() if job["JobStatus"] == 2]) == 3)
    pool("rm", str(run))
    eventually(lambda: not pool.jobs())
    assert pool.seen(f"{run}.0")["JobStatus"] == 3
    eventually(lambda: (pool.work / "d.dag.rescue001").exists())
    assert "EXITING WITH STATUS 2" in (pool.work / "d.dag.dagman.out").read_text()


def test_a_workflow_within_a_workflow(start: Callable[..., Pool]) -> None:
    pool = start(cpus=2)
    (pool.work / "inner.dag").write_text("JOB X node.sub\nJOB Y node.sub\nPARENT X CHILD Y\n")
    script(pool, "post.sh", 'echo "$@" > post')
    run = submit(pool, "outer.dag", "JOB A late\nSUBDAG EXTERNAL S inner.dag\nJOB B node.sub\n"
                 "PARENT A CHILD S\nPARENT S CHILD B\nVARS A n=2\n"
                 "Script post A post.sh $DAGID $JOB_COUNT $EXIT_CODES $EXIT_CODE_COUNTS $JOB_ABORT_COUNT\n"
                 "// What node A is.\nSUBMIT_DESCRIPTION late {\n executable = /bin/sh\n batch_name = its own\n"
                 """ arguments = "-c 'echo $(dag_node_name).0 >> ran; exit $(Process)'"\n"""
                 " queue $(n)\n}\n")  # fmt: skip
    ad = pool.seen(f"{run}.0", JobStatus=4)
    assert ad["ExitCode"] == 0
    assert ran(pool) == ["A.0", "A.0", "X.0", "Y.0", "B.0"]
    # Which of its two jobs ended first says whether the other was removed.
    told = (pool.work / "post").read_text().split()
    assert told in ([str(run), "2", "0,1", "0:1,1:1", "0"], [str(run), "2", "1", "1:1", "1"])
    nodes = [f"{run + 1}.0", f"{run + 2}.0", f"{run + 3}.0"]
    batches = {(each["JobBatchName"], each["JobBatchId"]) for each in (ad, *map(pool.job, nodes))}
    assert batches == {(f"outer.dag+{run}", f"{run}.0")}


def test_jobs_beside_the_queue_start_at_once_and_outlive_it(start: Callable[..., Pool]) -> None:
    pool = start("START = False", cpus=1)
    text = 'echo "$PWD"; while [ ! -e go ]; do sleep 0.05; done; exit 3'
    local = pool.submit("universe = local\noutput = out", text)
    ad = pool.seen(f"{local}.0", JobStatus=2)
    assert (ad["JobUniverse"], ad["RemoteHost"].partition("@")[2][:6]) == (12, "local.")
    vanilla = pool.submit("", "true")
    pool.kill("schedd")
    pool.seen(f"{local}.0", JobStatus=2)
    (pool.work / "go").touch()
    ad = pool.seen(f"{local}.0", JobStatus=4)
    assert (ad["ExitCode"], ad["NumJobStarts"]) == (3, 1)
    assert (pool.work / "out").read_text() == f"{pool.work}\n"
    assert pool.job(f"{vanilla}.0")["JobStatus"] == 1
    scheduler = pool.submit("universe = scheduler", "trap 'touch asked; exit 0' USR1; while :; do sleep 0.05; done")
    pool("edit", "--set", 'RemoveKillSig="SIGUSR1"', f"{scheduler}.0")
    pool.seen(f"{scheduler}.0", JobStatus=2)
    pool("rm", f"{scheduler}.0")
    eventually(lambda: not pool.jobs(scheduler))
    pool("rm", f"{vanilla}.0")


def test_mistakes_in_a_workflow_are_told_before_anything_is_submitted(start: Callable[..., Pool]) -> None:
    pool = start(cpus=1)
    (pool.work / "bad.dag").write_text("JOB A node.sub\nPARENT A CHILD B\n")
    done = pool.try_("dag", "x")
    assert done.returncode != 0
    err = io.StringIO()
    with contextlib.chdir(pool.work), contextlib.redirect_stderr(err):
        assert main(["dag", "submit", "--home", str(pool.home), "bad.dag"]) != 0
    assert "bad.dag:2:16: error: there is no node B" in err.getvalue()
    assert not pool.jobs()
    assert not Path(pool.work / "bad.dag.condor.sub").exists()
