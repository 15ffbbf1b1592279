"""What jobs of a cell use is charged once, whatever is said twice and whoever is killed meanwhile."""

from __future__ import annotations

import math
import random

import pytest

from roost.classad import ClassAd
from roost.model.cell_usage import Owner, UsageRules
from roost.schedd import changes as ch
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.jobs.book import Job
from tests.schedd.cell.test_cell import given
from tests.schedd.kit import Driven, source

ANN = Owner("ann", "p", "d")


def queue_of_a_cell() -> Driven:
    queue = Driven()
    queue.queue.claim_table.cell = 3
    return queue


def begun(queue: Driven, cluster: int, **more: str) -> Job:
    """The job has a slot of the cell and runs."""
    task = ClassAd(
        Instance="all.q@a", Slots=2, Revision=3, Granted=queue.now, User="ann", Project="p", Department="d",
        Memory=float(2**29), **more,
    )  # fmt: skip
    asked = next(each for each in given(queue, task) if isinstance(each, ef.AskForSlot))
    queue.answer(asked)
    queue.begun(queue.job(cluster))
    return queue.job(cluster)


def said(cpu: float, mem: float = 0.0) -> ClassAd:
    return ClassAd(RemoteUserCpu=cpu * 0.75, RemoteSysCpu=cpu * 0.25, CellMemoryUsed=mem)


def measured(queue: Driven, job: Job, cpu: float, mem: float = 0.0) -> None:
    queue.feed(ev.RunMeasured(claim_id=job.claim_id, run=job.run, at=queue.now, attributes=said(cpu, mem)))


def used(queue: Driven) -> dict[Owner, dict[str, float]]:
    return {owner: dict(used.total) for owner, used in queue.queue.claim_table.usage.by_owner.items()}


def test_a_job_is_charged_as_it_runs_and_at_its_end() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1)))
    measured(queue, job, 4.0, 1.0)
    assert used(queue) == {ANN: {"cpu": 4.0, "mem": 1.0, "io": 0.0}}
    measured(queue, job, 4.0, 1.0)
    # An older word that comes later takes nothing away.
    measured(queue, job, 3.0, 1.0)
    assert used(queue) == {ANN: {"cpu": 4.0, "mem": 1.0, "io": 0.0}}
    end = {"attributes": said(10.0, 2.0)}
    claim, run = job.claim_id, job.run
    queue.end(job, **end)
    assert used(queue) == {ANN: {"cpu": 10.0, "mem": 2.0, "io": 0.0}}
    # Said again it is about the past.
    again = ev.RunEnded(
        node="a", claim_id=claim, run=run, at=queue.now, ending="exit", started=True, attributes=said(12.0)
    )
    queue.feed(again)
    assert used(queue)[ANN]["cpu"] == 10.0
    assert queue.disk.usage == queue.queue.claim_table.usage.by_owner


def test_each_run_of_a_job_counts() -> None:
    queue = queue_of_a_cell()
    cluster = queue.submit(source(1))
    queue.end(begun(queue, cluster), "evict", attributes=said(5.0))
    queue.end(begun(queue, cluster), attributes=said(2.0))
    assert used(queue)[ANN]["cpu"] == 7.0


@pytest.mark.parametrize("seed", range(10))
def test_whoever_is_killed_everything_counts_once(seed: int) -> None:
    chance, queue, total = random.Random(seed), queue_of_a_cell(), 0.0
    for _ in range(5):
        job = begun(queue, cluster := queue.submit(source(1)))
        cpu = 0.0
        for _ in range(chance.randrange(6)):
            queue.now += 10
            if chance.random() < 0.3:
                queue.restart()
                queue.queue.claim_table.cell = 3
                job = queue.job(cluster)
                queue.feed(
                    ev.ClaimsHeard(node="a", known={job.claim_id: job.run}, unknown=(), serial=10**15, renew=False)
                )
            cpu += chance.choice((0.0, 1.5))
            measured(queue, job, cpu)
        queue.end(job, attributes=said(cpu + 1))
        total += cpu + 1
    assert used(queue)[ANN]["cpu"] == pytest.approx(total)
    assert queue.disk.usage == queue.queue.claim_table.usage.by_owner


def test_what_was_reserved_counts_where_the_cell_says_so() -> None:
    queue = queue_of_a_cell()
    queue.feed(ev.UsageRuled(rules=UsageRules(reserved=True)))
    job = begun(queue, queue.submit(source(1)))
    queue.now += 30
    queue.end(job, attributes=said(1.0))
    assert used(queue) == {ANN: {"cpu": 60.0, "mem": 30.0, "io": 0.0}}


def test_jobs_that_a_cell_gave_nothing_are_not_charged() -> None:
    queue = Driven()
    queue.submit(source(1))
    queue.end(queue.start())
    assert used(queue) == {}


def test_cleared_usage_is_gone_and_what_follows_counts() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1)))
    measured(queue, job, 4.0)
    step = queue.feed(ev.UsageCleared(actor="root"))
    assert used(queue) == {} == queue.disk.usage
    records = [each.record for each in step.changes if isinstance(each, ch.AddAudit)]
    assert [(each.actor, each.reason) for each in records] == [("root", "usage cleared")]
    queue.end(job, attributes=said(5.0))
    assert used(queue)[ANN]["cpu"] == 1.0


def test_another_half_life_is_kept_with_what_has_decayed_by_the_old_one() -> None:
    queue = queue_of_a_cell()
    queue.feed(ev.UsageRuled(rules=UsageRules(halflives={"cpu": 100.0})))
    queue.end(begun(queue, queue.submit(source(1))), attributes=said(8.0))
    queue.now += 200
    queue.feed(ev.UsageRuled(rules=UsageRules(halflives={"cpu": math.inf})))
    assert queue.disk.usage[ANN].recent["cpu"] == pytest.approx(2.0)
    assert queue.disk.usage[ANN].total["cpu"] == 8.0


def test_with_a_half_life_of_nothing_only_runs_count_that_go_on() -> None:
    queue = queue_of_a_cell()
    queue.feed(ev.UsageRuled(rules=UsageRules(halflives={"cpu": 0.0})))
    queue.end(begun(queue, queue.submit(source(1))), attributes=said(8.0))
    assert (queue.disk.usage[ANN].recent["cpu"], queue.disk.usage[ANN].total["cpu"]) == (0.0, 8.0)
    measured(queue, begun(queue, queue.submit(source(1))), 5.0)
    queue.now += 1000
    assert queue.disk.usage[ANN].settled(UsageRules(halflives={"cpu": 0.0}), queue.now).recent["cpu"] == 5.0


def test_what_is_used_on_a_host_is_scaled_by_it() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1)), Scaling="cpu=2.0,io=3")
    measured(queue, job, 4.0, 1.0)
    queue.end(job, attributes=said(5.0, 1.0))
    assert used(queue) == {ANN: {"cpu": 10.0, "mem": 1.0, "io": 0.0}}
