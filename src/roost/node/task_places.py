"""Where a slave task of a parallel job may be started on a machine: a slot of the job that no other task uses.

Each claim of the job covers a number of slots in each of some queue instances, and each task takes one slot. The job
itself takes one of the first claim's slots if its parallel environment says so (`job_is_first_task`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from roost.model.queue_context import QueueContext


class TaskSlot(NamedTuple):
    """A slot for a task."""

    #: The claim that it belongs to.
    claim: str
    #: The queue instance's settings for the task.
    queue: QueueContext


def free_slot(
    grants: Mapping[str, Mapping[str, int]],
    queues: Sequence[QueueContext],
    first: str,
    running: Mapping[tuple[str, str], int],
) -> TaskSlot | None:
    """The first slot that is free, in the order of claims and of their queue instances; None if none is free.

    `grants`: claim to queue instance to slots. `first`: the claim from which the job itself takes a slot, "" for none.
    `running`: claim and queue instance to the tasks that run there.
    """
    known = {queue.instance: queue for queue in queues}
    for claim, slots in grants.items():
        for number, (instance, amount) in enumerate(slots.items()):
            taken = running.get((claim, instance), 0) + (1 if claim == first and number == 0 else 0)
            if instance in known and taken < amount:
                return TaskSlot(claim, known[instance])
    return None
