"""The queue as its log tells it is the queue, whatever happens; and what the records look like."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis.stateful import invariant

from roost.classad.unparse import item_node, unparse
from roost.classad.values import fold
from roost.schedd import changes as ch
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue
from roost.schedd.records import job_queue_log as jq
from roost.sim.queue.disk import Disk
from tests.schedd.kit import Driven, source
from tests.schedd.records.log_reading import LogReader
from tests.schedd.test_queue_properties import QueueMachine


class Told:
    """A log next to a queue's disk."""

    def __init__(self, disk: Disk) -> None:
        self.mirror = jq.Mirror(lambda plan: plan)
        self.lines: list[str] = []
        self.reader = LogReader()
        keep = disk.keep

        def kept(changes: tuple[ch.Change, ...]) -> None:
            keep(changes)
            records = self.mirror.records(changes)
            self.lines += records
            self.reader.feed("\n".join(records))

        disk.keep = kept  # type: ignore[method-assign]
        self.reader.feed(f"101 {jq.QUEUE_KEY} Job Machine")


def jobs_of(queue: Queue) -> dict[str, dict[str, str]]:
    """What the reader should know of jobs."""
    found: dict[str, dict[str, str]] = {}
    for number, cluster in queue.book.clusters.items():
        for proc in cluster.procs():
            ad = cluster.ad_of(proc)
            cells: dict[str, Any] = {fold(name): ad.cell(fold(name)) for name in ad}
            texts = {name: unparse(item_node(cell), old=True) for name, cell in cells.items()}
            found[f"{number}.{proc}"] = texts | {"jobstatus": str(int(cluster.statuses[proc]))}
    return found


class MirroredQueue(QueueMachine):
    """A queue at work, and its log."""

    def begun(self) -> None:
        self.told = Told(self.disk)

    @invariant()
    def the_log_tells_the_queue(self) -> None:
        if not hasattr(self, "told") or not self.world.queue.running:
            return
        assert self.told.reader.jobs() == jobs_of(self.queue)
        anew = LogReader()
        anew.feed("\n".join([jq.first_line(2, 1.0), *self.told.mirror.whole()]))
        assert anew.jobs() == self.told.reader.jobs()


TestMirroredQueue = MirroredQueue.TestCase
TestMirroredQueue.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)


def test_a_submission_is_one_transaction_with_the_cluster_before_its_jobs() -> None:
    driven = Driven()
    told = Told(driven.disk)
    driven.submit(source(2, own={"Args": ("a", "b\nc")}))
    assert [told.lines[0], told.lines[-1]] == ["105 ", "106 "]
    assert told.lines[1] == "103 0.0 NextClusterNum 2"
    assert [line for line in told.lines if line.startswith("101")] == [
        "101 01.-1 Job Machine",
        "101 1.0 Job Machine",
        "101 1.1 Job Machine",
    ]
    assert "103 1.0 JobStatus 1" in told.lines
    assert '103 1.1 Args "b c"' in told.lines


def test_jobs_that_enter_the_queue_later_are_told_of_when_they_do() -> None:
    driven = Driven()
    told = Told(driven.disk)
    number = driven.submit(source(3, own={"Args": ("a", "b", "c")}, JobMaterializeLimit=1))
    assert [line for line in told.lines if line.startswith("101")] == ["101 01.-1 Job Machine", "101 1.0 Job Machine"]
    assert "103 01.-1 JobMaterializeNextProcId 1" in told.lines
    told.lines.clear()
    driven.act_on_cluster(ev.Action.EDIT, number, RequestMemory=7)
    driven.act(ev.Action.REMOVE, JobId(number, 0))
    assert "101 1.1 Job Machine" in told.lines and '103 1.1 Args "b"' in told.lines
    assert "103 01.-1 RequestMemory 7" in told.lines
    assert told.reader.jobs() == jobs_of(driven.queue)
    anew = LogReader()
    anew.feed("\n".join([jq.first_line(2, 1.0), *told.mirror.whole()]))
    assert anew.jobs() == told.reader.jobs()


def test_a_job_that_leaves_goes_and_its_cluster_with_the_last() -> None:
    driven = Driven()
    told = Told(driven.disk)
    driven.submit(source(2))
    for proc in (0, 1):
        told.lines.clear()
        driven.act(ev.Action.REMOVE, JobId(1, proc))
        assert [line for line in told.lines if line.startswith("102")] == [
            f"102 1.{proc}",
            *(["102 01.-1"] if proc else []),
        ]
    assert told.reader.jobs() == {}


def test_how_a_job_ended_is_told_in_a_transaction_of_its_own_before_it_goes() -> None:
    driven = Driven()
    told = Told(driven.disk)
    driven.submit(source(2))
    told.lines.clear()
    driven.act(ev.Action.REMOVE, JobId(1, 0))
    gone = told.lines.index("102 1.0")
    last = [line for line in told.lines[:gone] if line.startswith("103 1.0 ")]
    assert "103 1.0 JobStatus 3" in last
    assert '103 1.0 RemoveReason "via roost rm (by user ann)"' in last
    assert told.lines[gone - 2 : gone] == ["106 ", "105 "]
    job = driven.start()
    driven.begun(job)
    told.lines.clear()
    driven.end(job)
    gone = told.lines.index(f"102 {job.id}")
    last = [line for line in told.lines[:gone] if line.startswith(f"103 {job.id} ")]
    assert {f"103 {job.id} JobStatus 4", f"103 {job.id} ExitCode 0"} <= {*last}
    assert any(line.startswith(f"103 {job.id} CompletionDate ") for line in last)


def test_what_is_no_news_of_jobs_has_no_records() -> None:
    assert jq.Mirror().records((ch.AppendLog(path="/l", text="x", owner="ann"), ch.DropClaim(claim_id="c"))) == []


def test_first_lines_are_read_back() -> None:
    assert jq.sequence_of(jq.first_line(7, 12.9)) == 7
    assert jq.first_line(7, 12.9) == "107 7 CreationTimestamp 12"
    assert [jq.sequence_of(line) for line in ("", "101 0.0 Job Machine", "107 x CreationTimestamp 1")] == [0, 0, 0]
