"""The module `dags`: the same program writes the same files as with HTCondor's."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from roost.compat import dags, htcondor2
from roost.dag import read_dag
from tests.integration.kit import Pool


@pytest.fixture(scope="module")
def theirs() -> tuple[ModuleType, Any]:
    pytest.importorskip("htcondor2", reason="the reference library is not installed: pip install htcondor")
    import htcondor2 as reference
    from htcondor2 import dags as reference_dags

    return reference_dags, reference.Submit


def build(dags: Any, submit: Any) -> Any:
    """A DAG with everything in it."""
    echo = submit({"executable": "/bin/echo", "arguments": "$(x)"})
    dag = dags.DAG(
        dagman_config={"DAGMAN_MAX_JOBS_IDLE": 5},
        dagman_job_attributes={"foo": '"bar"'},
        max_jobs_by_category={"c": 2},
        dot_config=dags.DotConfig(Path("d.dot"), update=True, overwrite=False, include_file=Path("i.dot")),
        jobstate_log=Path("js.log"),
        node_status_file=dags.NodeStatusFile(Path("ns"), update_time=30, always_update=True),
    )
    first = dag.layer(
        name="a",
        submit_description=echo,
        vars=[{"x": "1"}, {"x": 'two "q" \\ z'}],
        retries=3,
        retry_unless_exit=2,
        pre=dags.Script("/bin/true", ["1", "2"], retry=True, retry_status=4, retry_delay=9),
        post=dags.Script("/bin/true"),
        pre_skip_exit_code=1,
        priority=7,
        category="c",
        abort=dags.DAGAbortCondition(3, 4),
        noop={0: True},
        done={1: True},
    )
    second = first.child_layer(name="b", submit_description=Path("/x/b.sub"), vars=[{}, {}], edge=dags.OneToOne())
    third = second.child_layer(name="c", submit_description=echo, vars=[{"x": str(at)} for at in range(4)])
    fourth = third.child_layer(name="e", submit_description=echo, vars=[{}, {}], edge=dags.Grouper(2, 1))
    fourth.child_subdag(name="sub", dag_file=Path("other.dag"))
    first.child_layer(name="g", submit_description=echo, edge=dags.Slicer(slice(None, 1), slice(None, 1)))
    dag.final(name="fin", submit_description=echo)
    return dag


def files(directory: Path) -> dict[str, list[str]]:
    """What was written; lines in an order that does not depend on that of sets.

    HTCondor's forgets the description of the final node, and says of a category's limit that a node of its name is in a
    category: with either the DAG cannot run.
    """
    written = [path for path in directory.iterdir() if path.name != "fin.sub"]
    return {path.name: sorted(path.read_text().replace("CATEGORY c 2", "MAXJOBS c 2").splitlines()) for path in written}


def test_the_same_program_writes_the_same_files(theirs: tuple[ModuleType, Any], tmp_path: Path) -> None:
    for module, submit, place in ((*theirs, "theirs"), (dags, htcondor2.Submit, "ours")):
        module.write_dag(build(module, submit), tmp_path / place)
        formatter = module.SimpleFormatter("-", "{:03d}", 1)
        module.write_dag(build(module, submit), tmp_path / f"{place}2", "my.dag", formatter)
    assert files(tmp_path / "ours") == files(tmp_path / "theirs")
    assert files(tmp_path / "ours2") == files(tmp_path / "theirs2")


def test_walks_and_tables_are_the_same(theirs: tuple[ModuleType, Any]) -> None:
    first, second = build(*theirs), build(dags, htcondor2.Submit)
    for look in (
        lambda dag: repr(dag.nodes),
        lambda dag: repr(dag.roots) + repr(dag.leaves) + repr(dag.glob("[a-c]")),
        lambda dag: sorted(node.name for node in dag.walk()),
        lambda dag: sorted(dag.describe().splitlines()),
        lambda dag: sorted(f"{parent} {child}" for parent, child in dag.edges),
        lambda dag: [node.name for node in next(iter(dag.glob("sub"))).walk_ancestors()],
    ):
        assert look(second) == look(first)


def test_what_is_wrong_has_the_same_errors(theirs: tuple[ModuleType, Any], tmp_path: Path) -> None:
    def wrong(dags: Any, submit: Any, which: int) -> str:
        dag = dags.DAG()
        try:
            one = dag.layer(name="p:q" if which == 0 else "p", submit_description=submit(), vars=[{}, {}, {}])
            two = one.child_layer(
                name="p" if which == 1 else "q",
                submit_description=submit(),
                vars=[{}, {}],
                edge=[None, None, dags.OneToOne(), dags.Grouper(2, 1), dags.Grouper(1, 1), None][which],
            )
            if which == 5:
                dags.SimpleFormatter().parse("a:x")
            dags.write_dag(dag, tmp_path / str(which))
            return str(two)
        except dags.exceptions.DAGsException as error:
            return f"{type(error).__name__}: {error}"

    for which in range(6):
        found = wrong(dags, htcondor2.Submit, which)
        assert found == wrong(*theirs, which) and ": " in found


def test_a_dag_is_rescued(tmp_path: Path) -> None:
    dag = build(dags, htcondor2.Submit)
    path = dags.write_dag(dag, tmp_path)
    with pytest.raises(dags.exceptions.NoRescueFileFound):
        dags.find_rescue_file(tmp_path)
    for number, text in ((1, "DONE a:0\n"), (2, "# a comment\nDONE a:0\nDONE c:3\n")):
        (tmp_path / f"{path.name}.rescue00{number}").write_text(text)
    dags.rescue(dag, dags.find_rescue_file(tmp_path))
    assert {node.name: done for node in dag.nodes if (done := getattr(node, "done", None))} == {
        "a": {0: True},
        "c": {3: True},
    }


def test_a_written_dag_runs(pool: Pool) -> None:
    dag = dags.DAG()
    submit = htcondor2.Submit({"executable": "/bin/sh", "arguments": "\"-c 'echo $(x) >> all.txt'\"", "log": "n.log"})
    first = dag.layer(name="first", submit_description=submit, vars=[{"x": "1"}, {"x": "2"}])
    first.child_layer(name="then", submit_description=submit, vars=[{"x": "3"}, {"x": "4"}])
    place = pool.work / "written"
    path = dags.write_dag(dag, place)
    assert len(read_dag((str(path),), lambda name: (place / Path(name).name).read_text()).nodes) == 5
    with contextlib.chdir(place):
        cluster = htcondor2.Schedd().submit(htcondor2.Submit.from_dag(path.name)).cluster()
        pool.wait(cluster)
    assert pool.job(cluster)["ExitCode"] == 0
    lines = (place / "all.txt").read_text().split()
    assert (sorted(lines[:2]), sorted(lines[2:])) == (["1", "2"], ["3", "4"])
