"""A slave task gets a slot that its job has on the machine and that no other task has."""

from __future__ import annotations

from collections import Counter

from roost.model.queue_context import QueueContext
from roost.node.task_places import free_slot


def queue(name: str) -> QueueContext:
    return QueueContext(queue=name, host="node1")


QUEUES = (queue("a.q"), queue("b.q"))


def filled(grants: dict[str, dict[str, int]], first: str = "") -> list[tuple[str, str]]:
    """Claim and queue of task after task, until there is no slot."""
    running: Counter[tuple[str, str]] = Counter()
    found = []
    while (slot := free_slot(grants, QUEUES, first, running)) is not None:
        running[slot.claim, slot.queue.instance] += 1
        found.append((slot.claim, slot.queue.queue))
    return found


def test_slots_are_taken_in_the_order_of_claims_and_queues() -> None:
    grants = {"1": {"a.q@node1": 2, "b.q@node1": 1}, "2": {"b.q@node1": 1}}
    assert filled(grants) == [("1", "a.q"), ("1", "a.q"), ("1", "b.q"), ("2", "b.q")]


def test_the_job_takes_a_slot_of_its_own_queue_where_it_is_the_first_task() -> None:
    assert filled({"1": {"a.q@node1": 2, "b.q@node1": 1}}, first="1") == [("1", "a.q"), ("1", "b.q")]
    assert filled({"1": {"a.q@node1": 1}}, first="1") == []
    assert filled({"1": {"a.q@node1": 1}, "2": {"a.q@node1": 1}}, first="1") == [("2", "a.q")]


def test_a_queue_that_the_cell_no_longer_has_takes_no_task() -> None:
    assert filled({"1": {"gone.q@node1": 3, "b.q@node1": 1}}) == [("1", "b.q")]
