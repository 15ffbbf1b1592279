"""Jobs of `qsub -now y` leave the queue when a run cannot start them, and are like others once they have started."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.model.cell_requests import NEXT_ON_MACHINE
from roost.model.cell_requests import NOT_IMMEDIATE as REASON
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.status import JobStatus
from tests.schedd.kit import Driven, ad_of_slot, source


class Cell(Driven):
    """A queue in a pool with a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.queue.claim_table.cell = 3

    @property
    def group(self) -> tuple[str, int]:
        """Submitter and autocluster of the first jobs that wait."""
        group = next(group for groups in self.queue.book.waiting().values() for group in groups)
        return group.submitter, group.autocluster

    def refuse(self, text: str = "no slot") -> None:
        """A run starts none of these jobs."""
        self.feed(ev.MatchRefused(autocluster=self.group[1], text=text))

    def start(self, number: int) -> None:
        """A run starts the first of them."""
        submitter, autocluster = self.group
        slot = f"slot{number}@a"
        task = ClassAd(Instance="all.q@a", Slots=1, Revision=3, Granted=self.now, User="ann")
        given = ev.MatchGiven(
            submitter=submitter, autocluster=autocluster, slot=slot, node="a", claim_id=f"<a>#{number}",
            slot_ad=ad_of_slot(slot), task=task,
        )  # fmt: skip
        for asked in self.feed(given).effects:
            if isinstance(asked, ef.AskForSlot):
                self.answer(asked)


def left(queue: Cell, cluster: int) -> list[JobStatus]:
    found = queue.queue.book.clusters.get(cluster)
    return [] if found is None else [found.status(proc) for proc in found.procs()]


def test_a_job_that_cannot_start_leaves() -> None:
    queue = Cell()
    cluster = queue.submit(source(2, CellImmediate=True))
    queue.refuse(NEXT_ON_MACHINE)
    assert left(queue, cluster) == [JobStatus.IDLE, JobStatus.IDLE]
    queue.refuse()
    assert left(queue, cluster) == []


@pytest.mark.parametrize("immediate", [True, False])
def test_all_tasks_start_or_none(immediate: bool) -> None:
    queue = Cell()
    cluster = queue.submit(source(2, CellImmediate=immediate))
    queue.start(1)
    assert sorted(left(queue, cluster)) == [JobStatus.IDLE, JobStatus.RUNNING]
    queue.refuse()
    wanted = [JobStatus.REMOVED] if immediate else [JobStatus.IDLE, JobStatus.RUNNING]
    assert sorted(left(queue, cluster)) == wanted
    if immediate:
        found = queue.queue.book.clusters[cluster]
        assert [found.job(proc).text("removereason") for proc in found.procs()] == [REASON]


def test_a_job_that_has_started_may_run_again() -> None:
    queue = Cell()
    cluster = queue.submit(source(1, CellImmediate=True))
    queue.start(1)
    found = queue.queue.book.clusters[cluster].job(0)
    queue.feed(ev.ClaimLost(claim_id=found.claim_id, reason="machine lost"))
    assert left(queue, cluster) == [JobStatus.IDLE]
    queue.refuse()
    assert left(queue, cluster) == [JobStatus.IDLE]
