"""Batches: which clusters belong together, what counts as done, tables that fit; and rates."""

from __future__ import annotations

from typing import Any

import pytest

from roost.cli.batches import Batch, bar, batches_of, formatted, lines_of
from roost.cli.watch import SeenBatches
from roost.wire.requests.queue import ClusterRow


def row(cluster: int, total: int, *, owner: str = "ann", **more: Any) -> ClusterRow:
    counts = {name: more.pop(name) for name in ("Idle", "Running", "Held", "Suspended") if name in more}
    return ClusterRow(
        cluster=cluster, owner=owner, submitted_at=0, total=total, left=sum(counts.values()), first=0, last=total - 1,
        counts=counts, attributes={"Cmd": "/bin/fit", **more},
    )  # fmt: skip


def test_clusters_of_one_name_and_user_are_one_batch() -> None:
    rows = [
        row(5, 3, Idle=3, JobBatchName="sweep"),
        row(3, 3, Running=1, JobBatchName="sweep"),
        row(4, 3, Held=3, JobBatchName="sweep", owner="bob"),
        row(6, 1, Idle=1),
        row(7, 1, Idle=1),
    ]
    found = batches_of(rows)
    assert [(batch.owner, batch.name, batch.clusters) for batch in found] == [
        ("ann", "sweep", [3, 5]), ("bob", "sweep", [4]), ("ann", "fit", [6]), ("ann", "fit", [7]),
    ]  # fmt: skip
    first = found[0]
    assert (first.total, first.done, first.idle, first.running, first.left) == (6, 2, 3, 1, 4)
    assert (first.ids, found[1].ids) == ("3 +1", "4")
    assert Batch(owner="", name="", clusters=[3, 4, 5]).ids == "3-5"


def test_of_a_workflow_nodes_are_counted_and_its_own_job_is_not() -> None:
    rows = [
        row(1, 1, Running=1, JobUniverse=7, JobBatchName="a.dag+1", DAG_NodesTotal=9, DAG_NodesDone=4),
        row(2, 1, Running=1, DAGManJobId=1, JobBatchName="a.dag+1"),
        row(3, 5, Idle=5, DAGManJobId=1),
    ]
    (found,) = batches_of(rows)
    assert (found.total, found.done, found.running, found.idle) == (9, 4, 1, 5)


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (0, 0, "░░░░░░░░░░   0 %"),
        (199, 200, "█████████░  99 %"),
        (200, 200, "██████████ 100 %"),
        (1, 3, "███░░░░░░░  33 %"),
    ],
)
def test_a_bar_is_full_only_at_the_end(done: int, total: int, text: str) -> None:
    assert bar(done, total) == text


@pytest.mark.parametrize("columns", [60, 80, 89, 90, 120, 200])
@pytest.mark.parametrize("suspended", [0, 3])
def test_a_table_fits_the_terminal(columns: int, suspended: int) -> None:
    batches = batches_of(
        [row(1, 2000, Idle=1000, Suspended=suspended, JobBatchName="long name " * 20), row(2, 1, Held=1)]
    )
    titles, rows = lines_of(batches, columns)
    lines = formatted(titles, rows, colours=False)
    # Narrower than this it cannot be without loss.
    assert max(map(len, lines)) <= max(columns, 74)
    if "PROGRESS" in titles or columns >= 110:
        assert "PROGRESS" in titles
        assert all(len(line) <= columns for line in lines)
    assert ("SUSP" in titles) == bool(suspended)
    assert any("\x1b[31m" in line for line in formatted(titles, rows, colours=True))


def test_rates_and_the_time_to_go() -> None:
    progress = SeenBatches()
    for second in range(0, 200, 10):
        left = 100 - second // 10
        (watched,) = progress.seen(batches_of([row(1, 100, Running=left)]), float(second))
    # One job in 10 s, over the last minute.
    assert watched.per_minute == pytest.approx(6)
    assert watched.left_s == pytest.approx(81 * 10)
    assert watched.line() == "1 fit: 19 of 100 done, 81 running"
    (gone,) = progress.seen([], 210.0)
    assert (gone.batch.done, gone.left_text, gone.rate_text) == (100, "done", "-")


def test_a_batch_that_does_not_move_has_no_rate() -> None:
    progress = SeenBatches()
    for second in range(3):
        (watched,) = progress.seen(batches_of([row(1, 2, Idle=2)]), float(second))
    assert (watched.per_minute, watched.left_s, watched.left_text, watched.rate_text) == (0, None, "-", "-")
