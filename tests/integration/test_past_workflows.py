"""What `roost dag status FILE` says of runs that are over: failed nodes, why, their last lines, how to go on."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

from roost.cli.__main__ import main
from tests.integration.kit import Pool, eventually

NODE = """
executable = /bin/sh
arguments = "-c 'echo from $(JOB); echo $(JOB) says why >&2; test -e good || exit $(code:0)'"
output = $(JOB).out
error = $(JOB).err
queue
"""
DAG = """
JOB A node.sub
JOB B node.sub
JOB C node.sub
JOB D node.sub
VARS B code="7"
SCRIPT PRE C pre.sh
PARENT A CHILD B C
PARENT B C CHILD D
"""


def status(pool: Pool, *words: str) -> tuple[int, list[str]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(pool.work), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        found = main(["dag", "status", "--home", str(pool.home), *words])
    return int(found), (out.getvalue() + err.getvalue()).splitlines()


def submitted(pool: Pool, name: str) -> int:
    with contextlib.chdir(pool.work), contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["dag", "submit", "--home", str(pool.home), name]) == 0
    cluster = int(out.getvalue().split("cluster ")[1].split(":")[0])
    pool.wait(cluster, status=1 if not (pool.work / "good").exists() else 0)
    return cluster


def test_a_run_that_is_over_tells_what_failed_and_how_to_go_on(start: Callable[..., Pool]) -> None:
    pool = start(cpus=2)
    work = pool.work
    (work / "node.sub").write_text(NODE)
    (work / "d.dag").write_text(DAG)
    (work / "pre.sh").write_text("#!/bin/sh\ntest -e good || exit 3\n")
    (work / "pre.sh").chmod(0o755)
    found, lines = status(pool, "d.dag")
    assert found and "d.dag has not been run: there is no d.dag.dagman.out" in lines[0]
    submitted(pool, "d.dag")
    found, lines = status(pool, "d.dag")
    text = "\n".join(lines)
    assert found == 1
    assert lines[0] == "d.dag: the run failed, with exit status 1: 1 of 4 nodes are done", text
    assert any(line.startswith("  node B failed: ") and "7" in line and "(job " in line for line in lines), text
    assert "    | B says why" in lines and f"    the last lines of {work / 'B.err'}:" in lines
    assert any(line.startswith("  node C failed: ") and "PRE" in line for line in lines), text
    assert "  1 node was not run, since it waits for nodes that failed" in lines
    assert any("d.dag.rescue001" in line and "submit d.dag again" in line for line in lines), text
    # The cause is gone, and the run goes on from the rescue file.
    (work / "good").write_text("")
    submitted(pool, "d.dag")
    found, lines = status(pool, "d.dag")
    assert (found, lines) == (0, ["d.dag: the run ended well: 4 of 4 nodes are done"])
    assert (work / "A.out").read_text() == "from A\n"
    assert status(pool, "d.dag", "12")[0] != 0


def test_a_halt_file_stops_a_run_which_goes_on_when_it_is_gone(start: Callable[..., Pool]) -> None:
    pool = start(cpus=2)
    work = pool.work
    (work / "node.sub").write_text(
        "executable = /bin/sh\narguments = \"-c 'echo $(JOB) >> ran; while ! test -e go; do sleep 0.1; done'\"\n"
        "should_transfer_files = no\nqueue\n"
    )
    (work / "h.dag").write_text("JOB A node.sub\nJOB B node.sub\nPARENT A CHILD B\n")
    with contextlib.chdir(work), contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["dag", "submit", "--home", str(pool.home), "h.dag"]) == 0
    cluster = out.getvalue().split("cluster ")[1].split(":")[0]
    eventually((work / "ran").exists, "A runs")
    (work / "h.dag.halt").write_text("")
    eventually(lambda: "halted" in (work / "h.dag.dagman.out").read_text(), "the run is halted")
    (work / "go").write_text("")
    pool.wait(cluster, status=1)
    assert (work / "ran").read_text() == "A\n"
    assert "DONE A" in (work / "h.dag.rescue001").read_text()
    assert status(pool, "h.dag")[0] == 1
    (work / "h.dag.halt").unlink(missing_ok=True)
    (work / "good").write_text("")
    submitted(pool, "h.dag")
    assert (work / "ran").read_text() == "A\nB\n"
    assert status(pool, "h.dag") == (0, ["h.dag: the run ended well: 2 of 2 nodes are done"])
