"""What belongs together in ``condor_q``: clusters, batches of one name, workflows and their nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.condor.kit import run

from roost.cli.condor.printing.columns import lines
from roost.cli.condor.queue_batches import batches, table
from roost.wire.requests.queue import ClusterRow
from roost.wire.structs import replaced


def cluster(number: int, *, owner: str = "ann", total: int = 4, left: int = 3, **more: Any) -> ClusterRow:
    """What a queue says of a cluster with three waiting jobs of four."""
    counts = {"Idle": 3, **{name: more.pop(name) for name in ("Idle", "Running", "Held") if name in more}}
    return ClusterRow(
        cluster=number, owner=owner, submitted_at=0, total=total, left=left, first=1, last=3, counts=counts,
        attributes={"JobUniverse": 5, **more},
    )  # fmt: skip


def shown(*rows: ClusterRow, whole: bool = True, width: int = 0) -> list[list[str]]:
    """The table without its heading: name, numbers, ids."""
    mask, found = table(batches(rows, whole=whole), width)
    said = [*lines(mask, found)][1:]
    return [[line.split()[1], *line[33:].split()] for line in said]


def test_a_cluster_is_a_line_that_counts_those_that_have_left() -> None:
    assert shown(cluster(5)) == [["ID:", "1", "_", "3", "4", "5.1-3"]]


def test_where_only_some_jobs_were_asked_for_nobody_knows_who_has_left() -> None:
    assert shown(cluster(5), whole=False) == [["ID:", "_", "_", "3", "4", "5.1-3"]]


def test_a_name_makes_one_line_of_clusters_of_one_user() -> None:
    rows = shown(cluster(5, JobBatchName="a"), cluster(6, JobBatchName="a"), cluster(7, JobBatchName="a", owner="bob"))
    assert [row[0] for row in rows] == ["a", "a"]
    assert rows[0][1:] == ["2", "_", "6", "8", "5.1", "...", "6.3"]


def test_a_workflow_is_one_line_with_its_nodes() -> None:
    run_of_it = cluster(8, JobUniverse=7, DAG_NodesDone=2, DAG_NodesTotal=9, Running=1, Idle=0, total=1, left=1)
    (row,) = shown(run_of_it, cluster(9, DAGManJobId=8), cluster(10, DAGManJobId=8, Held=1, Idle=2))
    assert row[-8:] == ["2", "_", "5", "1", "9", "9.1", "...", "10.3"]
    (alone,) = shown(run_of_it)
    assert alone[-5:] == ["2", "_", "_", "9", "8.1"]
    (held,) = shown(replaced(run_of_it, counts={"Held": 1}), cluster(9, DAGManJobId=8))
    assert held[-6:] == ["2", "_", "3", "1", "9", "9.1-3"]


def test_long_names_are_cut_so_that_the_line_fits() -> None:
    mask, found = table(batches([cluster(5, JobBatchName="n" * 60, owner="o" * 40)], whole=True), 80)
    head, line = list(lines(mask, found))
    assert len(line.rstrip("\n")) <= 79 and "5.1-3" in line and head.startswith("OWNER")


def test_nodes_stand_under_their_workflow(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    job = (
        'ClusterId = {0}\nProcId = 0\nOwner = "ann"\nQDate = 0\nJobStatus = 2\nJobUniverse = {1}\nCmd = "/bin/x"\n{2}\n'
    )
    node = 'DAGManJobId = {0}\nDAGNodeName = "{1}"\n'
    path.write_text(
        job.format(4, 7, "")
        + job.format(5, 5, "")
        + job.format(6, 5, node.format(4, "A"))
        + job.format(7, 7, node.format(4, "inner"))
        + job.format(8, 5, node.format(7, "B"))
    )
    rows = run("condor_q", "-job", str(path), "-dag").lines
    assert [(row.split()[0], row[9:].split("  ")[0].rstrip()) for row in rows[2:7]] == [
        ("4.0", "ann"), ("6.0", " |-A"), ("7.0", " |-inner"), ("8.0", ""), ("5.0", "ann"),
    ]  # fmt: skip
    assert "  |-B" in rows[5]
    assert rows[8].startswith("Total for query: 3 jobs;")
