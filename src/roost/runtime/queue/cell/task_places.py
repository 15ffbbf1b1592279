"""Where tasks of a parallel job are started: answers to the machine of its master about a host of the cell.

The queue knows the claims of the job and the cell. Machines know the purpose of each of their claims, so nothing needs
to be stored here: a restarted queue gives the same answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from roost.classad import ClassAd
from roost.model.cell_requests import TASK
from roost.wire.messages import AskTaskPlace, TaskPlace

if TYPE_CHECKING:
    from roost.gridengine.cell import Cell
    from roost.schedd.claims.held_claims import HeldClaim
    from roost.schedd.queue import Queue


async def task_place(
    queue: Queue, read_cell: Callable[[], Awaitable[Cell]], asked: AskTaskPlace, sender: str
) -> TaskPlace:
    """Where tasks of a run are started on a host; only the machine of the run may ask."""
    from roost.runtime.queue.spool import job_of

    job = job_of(asked.run, queue, sender)
    task = None if job is None else job.ad.get(TASK)
    claim = None if job is None else queue.claim_table.claims.get(job.claim_id)
    if job is None or claim is None or not isinstance(task, ClassAd):
        return TaskPlace(error=f"received task belongs to job {asked.run.partition('.')[0]} but that job is not here")
    claims = [claim] if claim.gang is None else claim.gang.claims
    return place_of(await read_cell(), task, claims, claim, asked.host)


def place_of(cell: Cell, task: ClassAd, claims: list[HeldClaim], master: HeldClaim, host: str) -> TaskPlace:
    """Where tasks of a job with these claims are started on a host; `task` is the ad of its master."""
    from roost.gridengine.pool.context import is_first_task, slave_contexts
    from roost.gridengine.pool.tasks import all_grants_of
    from roost.gridengine.scheduling.loads import host_of

    job = str(task.get("Job", "")).partition(".")[0]
    hosts = dict.fromkeys(host_of(grant.instance) for grant in all_grants_of(task))
    known = next((each for each in (*(each for each in hosts if each == host), *hosts) if _same(each, host)), None)
    there = [] if known is None else [claim for claim in claims if _same(claim.node, known)]
    if known is None or not there:
        return TaskPlace(error=f"received task belongs to job {job} but that job is not here")
    queues = slave_contexts(cell, task, known)
    if not queues:
        return TaskPlace(error=f"received task belongs to job {job} but that job is not suited for starting tasks")
    first = master.id if master in there and is_first_task(cell, task) else ""
    return TaskPlace(node=there[0].node, claims=[claim.id for claim in there], queues=queues, first=first)


def _same(one: str, other: str) -> bool:
    """Whether two names refer to one host: equal, or a short one and a full one that begins with it."""
    one, other = one.casefold(), other.casefold()
    if "." in one and "." in other:
        return one == other
    return one.partition(".")[0] == other.partition(".")[0]
