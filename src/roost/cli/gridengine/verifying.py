"""``qsub -w``: whether a queue instance would accept a job, decided by the cell's own scheduling run.

``e``, ``w`` and ``v`` verify against the cell as if it were empty: nothing runs, and no instance is disabled, closed by
its calendar or overloaded. ``p`` verifies against the current cell. The policy of machines is not evaluated.
"""

from __future__ import annotations

import datetime
import sys
import time
from typing import TYPE_CHECKING, Final

from roost.base.records import replace
from roost.cli.gridengine.asking import cell_files
from roost.gridengine.commands.errors import Failure, rejected
from roost.model.cell_requests import RESERVATION
from roost.wire.requests import central, queue

if TYPE_CHECKING:
    from roost.classad import ClassAd
    from roost.cli.pool_connection import Pool
    from roost.gridengine.instances import QueueInstance
    from roost.gridengine.pool.requests import Reader
    from roost.gridengine.scheduling import Booked, RunningTask
    from roost.schedd.submit.plan import ClusterPlan

_NONE: Final = "no suitable queues"
_FOUND: Final = "verification: found suitable queue(s)\n"


def verified(pool: Pool, plan: ClusterPlan, word: str) -> bool:
    """Verify a job according to `-w`, and print the result; return whether to submit it. Raises Failure."""
    if word == "n":
        return True
    common = plan.common.copy()
    common["Owner"] = pool.user
    why = why_not(pool, common, as_it_is=word == "p")
    if word in ("v", "p"):
        if why is not None:
            lines = [*why, f"verification: {_NONE}", "Exiting."]
            raise Failure(f"Unable to run job: {chr(10).join(lines)}")
        sys.stdout.write(_FOUND)
        return False
    if why is not None:
        if word == "e":
            raise rejected(f"error: {_NONE}")
        sys.stdout.write(f"warning: {_NONE}\n")
    return True


def why_not(pool: Pool, ad: ClassAd, *, as_it_is: bool) -> tuple[str, ...] | None:
    """Why no queue instance would accept a job with this ad; None if one would. Raises Failure."""
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import resolve
    from roost.gridengine.pool.requests import Reader
    from roost.gridengine.pool.selection import reports_of
    from roost.gridengine.scheduling import CellSnapshot, PendingJob, run

    cell, now = read_cell(cell_files(pool)), time.time()
    reader = Reader(cell, _groups)
    complaint = next(reader.complaints(ad), None)
    if complaint is not None:
        raise rejected(complaint)
    instances, asked = resolve(cell), ad.get(RESERVATION)
    number = asked if isinstance(asked, int) else 0
    booked = _booked(pool, number, reader, now, as_it_is=as_it_is)
    if number and all(one.number != number for one in booked):
        # The queue reports that there is no such reservation.
        return None
    plan = run(
        CellSnapshot(
            cell=cell,
            instances=instances if as_it_is else tuple(_open(one) for one in instances),
            reports=reports_of({row.name: row.reported for row in pool.ask(central.CellHosts())}, now),
            now=now,
            local_time=datetime.datetime.fromtimestamp(now),
            states=_states(pool) if as_it_is else {},
            running=_running(pool) if as_it_is else (),
            pending=(PendingJob(number=1, request=reader.request(ad), submitted=now, reservation=number),),
            reservations=booked,
            usage={},
        )
    )
    return None if plan.dispatches else plan.scheduling_info(1)


def _booked(pool: Pool, number: int, reader: Reader, now: float, *, as_it_is: bool) -> tuple[Booked, ...]:
    """The advance reservation of a job, as if it had begun; `as_it_is`: and all others unchanged."""
    from roost.gridengine.pool.reservations import request_of
    from roost.gridengine.scheduling import Booked, Grant

    rows = pool.ask(central.CellReservations()) if number or as_it_is else []
    found = [row.reservation for row in rows if as_it_is or row.reservation.number == number]
    return tuple(
        Booked(
            number=one.number,
            request=request_of(one, reader),
            grants=tuple(Grant(*grant) for grant in one.pairs),
            start=now if one.number == number else one.start,
            end=max(one.end, now + 1.0) if one.number == number else one.end,
            environment=one.environment,
        )
        for one in found
    )


def _groups(_user: str) -> tuple[str, ...]:
    import grp
    import os

    try:
        return (grp.getgrgid(os.getgid()).gr_name,)
    except KeyError:
        return ()


def _open(instance: QueueInstance) -> QueueInstance:
    """An instance that nothing closes."""
    settings = replace(instance.settings, load_thresholds=(), suspend_thresholds=(), calendar="NONE")
    return replace(instance, settings=settings)


def _states(pool: Pool) -> dict[str, str]:
    from roost.gridengine.scheduling.snapshot import GIVEN_STATES

    rows = pool.ask(central.QueueInstances())
    return {row.name: "".join(letter for letter in row.states if letter in GIVEN_STATES) for row in rows}


def _running(pool: Pool) -> tuple[RunningTask, ...]:
    from roost.cli.gridengine.qquota import running_tasks
    from roost.explain.cell_tasks import SHOWN, tasks_of

    return running_tasks(tasks_of(pool.ask(queue.Query(projection=SHOWN))))
