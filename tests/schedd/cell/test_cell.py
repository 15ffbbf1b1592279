"""The queue of a pool with a Grid Engine cell: it takes matches of the present revision only.

A claim is for one job, unless the run has said that others of its cluster may follow.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roost.classad import ClassAd
from roost.schedd import changes as ch
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.claims.claim_table import GRANTED_S
from roost.schedd.identifiers import JobId
from tests.schedd.kit import Driven, ad_of_slot, source


def given(queue: Driven, task: ClassAd | None) -> list[ef.Effect]:
    """The matchmaker gives a slot to the first group that waits."""
    group = next(group for groups in queue.queue.book.waiting().values() for group in groups)
    return list(
        queue.feed(
            ev.MatchGiven(
                submitter=group.submitter,
                autocluster=group.autocluster,
                slot="slot1@a",
                node="a",
                claim_id="<a>#1",
                slot_ad=ad_of_slot("slot1@a"),
                task=task,
            )
        ).effects
    )


def task(queue: Driven, *, revision: int = 3, age: float = 0.0) -> ClassAd:
    return ClassAd(Instance="all.q@a", Slots=1, Revision=revision, Granted=queue.now - age, Resources="lic=1")


def test_a_job_asks_for_its_slot_with_what_it_got_of_the_cell_and_keeps_it() -> None:
    queue = Driven()
    queue.queue.claim_table.cell = 3
    cluster = queue.submit(source(2))
    asked = next(each for each in given(queue, task(queue)) if isinstance(each, ef.AskForSlot))
    assert asked.job_ad["CellTask"]["Instance"] == "all.q@a"
    started = next(each for each in queue.answer(asked).effects if isinstance(each, ef.StartRun))
    assert started.job_ad["CellTask"]["Resources"] == "lic=1"
    assert queue.job(cluster).ad["CellTask"]["Revision"] == 3
    queue.check()
    # The next job of the cluster does not get the claim: the cell decides about it again.
    job = queue.job(cluster)
    queue.begun(job)
    ended = queue.end(job)
    assert [each.claim_id for each in ended.effects if isinstance(each, ef.GiveBack)] == ["<a>#1"]
    assert not [each for each in ended.effects if isinstance(each, ef.StartRun)]


@pytest.mark.parametrize(
    ("cell", "revision", "age"), [(3, 2, 0.0), (3, 4, 0.0), (0, 3, 0.0), (3, 3, GRANTED_S + 1), (3, None, 0.0)]
)
def test_a_match_that_is_void_is_declined_and_its_job_waits(cell: int, revision: int | None, age: float) -> None:
    queue = Driven()
    queue.queue.claim_table.cell = cell
    cluster = queue.submit(source(1))
    effects = given(queue, None if revision is None else task(queue, revision=revision, age=age))
    assert [each.claim_id for each in effects if isinstance(each, ef.Decline)] == ["<a>#1"]
    assert not [each for each in effects if isinstance(each, ef.AskForSlot)]
    assert queue.queue.book.clusters[cluster].is_idle(0)


def followed(queue: Driven, cluster: int, before: Callable[[], object] = lambda: None) -> bool:
    """Whether the next job of a cluster begins on the claim as the first one ends; `before` that, something happens."""
    queue.queue.claim_table.cell = 3
    follows = {"Job": f"{cluster}.0", "Follows": queue.queue.book.arrivals}
    found = task(queue) | follows
    asked = next(each for each in given(queue, ClassAd(found)) if isinstance(each, ef.AskForSlot))
    queue.answer(asked)
    job = queue.job(cluster)
    queue.begun(job)
    before()
    effects = queue.end(job).effects
    queue.check()
    started = [each for each in effects if isinstance(each, ef.StartRun)]
    assert len(started) + sum(isinstance(each, ef.GiveBack) for each in effects) == 1
    assert all(each.job_ad["CellTask"] == ClassAd(found) and each.claim_id == "<a>#1" for each in started)
    return bool(started)


def test_jobs_of_a_cluster_follow_on_a_claim_where_the_run_has_said_so() -> None:
    queue = Driven()
    assert followed(queue, queue.submit(source(3)))


#: What happens to a queue with a cluster of three jobs, of which one runs.
CHANGES: dict[str, Callable[[Driven, int], object]] = {
    "another job waits": lambda queue, cluster: queue.submit(source(1)),
    "a job has another priority": lambda queue, cluster: queue.act(ev.Action.EDIT, JobId(cluster, 2), JobPrio=7),
    "no job is left": lambda queue, cluster: queue.act(ev.Action.HOLD, JobId(cluster, 1), JobId(cluster, 2)),
    "another revision": lambda queue, cluster: setattr(queue.queue.claim_table, "cell", 4),
    "it is closed": lambda queue, cluster: setattr(queue.queue.claim_table, "closed", frozenset(("all.q@a",))),
    "it is in the error state": lambda queue, cluster: queue.queue.claim_table.errors.update({"all.q@a": "why"}),
    "the match is old": lambda queue, cluster: setattr(queue, "now", queue.now + GRANTED_S + 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_job_follows_once_something_has_changed_that_a_run_would_see(
    change: Callable[[Driven, int], object],
) -> None:
    queue = Driven()
    cluster = queue.submit(source(3))
    assert not followed(queue, cluster, lambda: change(queue, cluster))


def test_a_job_of_another_cluster_does_not_follow() -> None:
    queue = Driven()
    first, _ = queue.submit(source(1)), queue.submit(source(3))
    assert not followed(queue, first)


def test_a_claim_of_before_a_restart_serves_no_other_job() -> None:
    queue = Driven()
    queue.queue.claim_table.cell = 3
    cluster = queue.submit(source(2))
    asked = next(each for each in given(queue, task(queue)) if isinstance(each, ef.AskForSlot))
    queue.answer(asked)
    queue.begun(queue.job(cluster))
    queue.restart()
    queue.queue.claim_table.cell = 3
    assert queue.job(cluster).ad["CellTask"]["Instance"] == "all.q@a"
    queue.feed(ev.ClaimsHeard(node="a", known={"<a>#1": queue.job(cluster).run}, unknown=(), serial=10**15))
    ended = queue.end(queue.job(cluster))
    assert not [each for each in ended.effects if isinstance(each, ef.StartRun)]
    assert [each.claim_id for each in ended.effects if isinstance(each, ef.GiveBack)] == ["<a>#1"]


def test_a_failure_of_the_queue_instance_closes_it_until_somebody_clears_it() -> None:
    queue = Driven()
    queue.queue.claim_table.cell = 3
    cluster = queue.submit(source(3))
    asked = next(each for each in given(queue, task(queue)) if isinstance(each, ef.AskForSlot))
    queue.answer(asked)
    told = ClassAd(CellFailed=8, CellErrorReason="exit_status of prolog = 1")
    step = queue.end(queue.job(cluster), "evict", code=1003, started=False, attributes=told)
    words = f"queue all.q marked QERROR as result of job {cluster}'s failure at host a: exit_status of prolog = 1"
    assert [each.errors for each in step.changes if isinstance(each, ch.PutErrors)] == [{"all.q@a": words}]
    assert next(each.record.reason for each in step.changes if isinstance(each, ch.AddAudit)) == words
    # A run that failed by the job's fault does not.
    queue.queue.claim_table.errors.clear()
    asked = next(each for each in given(queue, task(queue)) if isinstance(each, ef.AskForSlot))
    queue.answer(asked)
    told = ClassAd(CellFailed=30, CellErrorReason="exit_status of prolog = 100")
    running = next(job for proc in range(3) if (job := queue.job(cluster, proc)).run)
    queue.end(running, "hold", code=43, started=False, attributes=told)
    assert not queue.queue.claim_table.errors

    queue.queue.claim_table.errors.update({"all.q@a": words, "b.q@a": words})
    step = queue.feed(ev.ErrorsCleared(instances=("all.q@a", "c.q@a"), actor="ann"))
    assert [each.errors for each in step.changes if isinstance(each, ch.PutErrors)] == [{"b.q@a": words}]
    assert [each.record.samples for each in step.changes if isinstance(each, ch.AddAudit)] == [("all.q@a",)]
    assert not queue.feed(ev.ErrorsCleared(instances=("all.q@a",), actor="ann")).changes


def test_a_match_for_an_instance_that_was_closed_meanwhile_is_declined() -> None:
    queue = Driven()
    queue.queue.claim_table.cell = 3
    cluster = queue.submit(source(1))
    queue.queue.claim_table.closed = frozenset(("all.q@a",))
    assert [each.claim_id for each in given(queue, task(queue)) if isinstance(each, ef.Decline)] == ["<a>#1"]
    assert queue.queue.book.clusters[cluster].is_idle(0)
    queue.queue.claim_table.closed = frozenset(("all.q@b",))
    assert [each for each in given(queue, task(queue)) if isinstance(each, ef.AskForSlot)]


def test_a_job_is_offered_when_all_that_it_waits_for_have_left() -> None:
    queue = Driven()
    first, second = queue.submit(source(1)), queue.submit(source(2))
    third = queue.submit(source(1, CellPredecessors=f"{first}, {second},99,word"))
    itself = queue.submit(source(1, CellPredecessors="4,5"))

    def offered() -> set[int]:
        groups = queue.queue.offered(queue.now).values()
        return {group.cluster for some in groups for group in some}

    assert offered() == {first, second, itself}
    queue.restart()
    queue.act(ev.Action.REMOVE, JobId(first, 0), JobId(second, 0))
    assert offered() == {second, itself}
    before = len(queue.ordered)
    queue.act(ev.Action.REMOVE, JobId(second, 1))
    assert offered() == {third, itself}
    assert any(isinstance(each, ef.OfferJobs) and not each.later for each in queue.ordered[before:])
    queue.check()
