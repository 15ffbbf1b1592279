"""The columns of `qstat -ext`: project, department, usage, and the share of the tickets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from roost.cli.gridengine.asking import cell_files
from roost.cli.gridengine.tables import Listed, Used, of_priorities, tickets_of
from roost.gridengine.cell import read_cell
from roost.gridengine.objects.people import department_of
from roost.model import cell_requests as cell
from roost.model.cell_priority import NO_PRIORITY, Priority
from roost.model.cell_usage import MEMORY
from roost.wire.requests import central, queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

_USED: Final = ("ClusterId", "ProcId", "JobStatus", "RemoteUserCpu", "RemoteSysCpu", MEMORY, cell.OVERRIDE_TICKETS)
_WAITS: Final = 1


def with_usage(pool: Pool, *lists: Sequence[Listed]) -> list[list[Listed]]:
    """The lists with the usage of their tasks. Tickets are shared among all jobs of the queue."""
    rows = {(int(row["ClusterId"]), int(row["ProcId"])): row for row in pool.ask(queue.Query(projection=_USED))}
    priorities = of_priorities(pool.ask(central.CellPriorities()))
    totals = _totals(rows.values(), priorities)
    lists_of_users = read_cell(cell_files(pool)).user_lists

    def used(each: Listed) -> Used:
        task, row = each.task, rows.get((each.task.job, each.task.proc), {})
        cpu = [row[name] for name in ("RemoteUserCpu", "RemoteSysCpu") if row.get(name) is not None]
        total = totals[task.runs]
        return Used(
            project=str(task.ad.get(cell.PROJECT) or ""),
            department=department_of(lists_of_users, task.owner),
            cpu=sum(map(float, cpu)) if cpu and task.runs else None,
            mem=float(row.get(MEMORY) or 0.0),
            override=int(row.get(cell.OVERRIDE_TICKETS) or 0),
            share=tickets_of(each.priority) / total if total else 0.0,
        )

    return [[each._replace(used=used(each)) for each in some] for some in lists]


def _totals(rows: Iterable[Mapping[str, Any]], priorities: Mapping[int, Priority]) -> tuple[float, float]:
    """The tickets of the waiting jobs, and of the running ones."""
    found: tuple[set[int], set[int]] = set(), set()
    for row in rows:
        found[row.get("JobStatus") != _WAITS].add(int(row["ClusterId"]))
    waiting, running = (sum(tickets_of(priorities.get(job, NO_PRIORITY)) for job in jobs) for jobs in found)
    return waiting, running
