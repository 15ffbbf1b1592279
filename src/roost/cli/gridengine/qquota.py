"""``qquota``: usage of the cell's resource quotas."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from roost.base.records import replace
from roost.cli.gridengine.asking import ask, cell_files
from roost.cli.gridengine.option_tables import options
from roost.explain.cell_tasks import SHOWN, Task, tasks_of
from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import taken, usage
from roost.model import cell_requests
from roost.wire.requests import central, queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.gridengine.pool.quota_use import Use
    from roost.gridengine.scheduling import RunningTask

OPTIONS: Final = options(
    """
h wc_host_list | display only selected hosts
l resource_attributes | display only limits of these resources
P wc_project_list | display only selected projects
pe wc_pe_list | display only selected parallel environments
q wc_cqueue_list | display only selected queues
u user_list | display only selected users, * for all (default: yourself)
xml | display the information in XML format
"""
)
#: Option to the corresponding filter of rules.
_FILTERS: Final = {"u": "users", "P": "projects", "pe": "pes", "q": "queues", "h": "hosts"}
_HEAD: Final = f"resource quota rule limit                filter\n{'-' * 80}\n"
_SCHEMA: Final = "http://arc.liv.ac.uk/repos/darcs/sge/source/source/dist/util/resources/schemas/qquota/qquota.xsd"


def run(name: str, arguments: list[str]) -> int:
    """Run ``qquota``."""
    try:
        given, rest = taken(name, arguments, OPTIONS)
    except Failure as failure:
        raise Failure(f"{usage(name, OPTIONS)}{str(failure).removeprefix('qquota: ')}") from None
    if rest:
        raise Failure(f'{usage(name, OPTIONS)}invalid option argument "{rest[0]}"')
    wanted: dict[str, list[str]] = {}
    for each in given:
        if each.values:
            wanted.setdefault(each.name, []).extend(part for part in each.value.split(",") if part)
    as_xml = any(each.name == "xml" for each in given)
    return ask(name, lambda pool: _print(pool, wanted, as_xml=as_xml))


def _print(pool: Pool, wanted: dict[str, list[str]], *, as_xml: bool) -> int:
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import resolve
    from roost.gridengine.objects.complex import by_any_name
    from roost.gridengine.pool.quota_use import QuotaUse
    from roost.gridengine.pool.selection import reports_of
    from roost.gridengine.scheduling import CellSnapshot

    cell, now = read_cell(cell_files(pool)), time.time()
    tasks = tasks_of(pool.ask(queue.Query(projection=SHOWN)))
    snapshot = CellSnapshot(
        cell=cell,
        instances=tuple(resolve(cell)),
        reports=reports_of({row.name: row.reported for row in pool.ask(central.CellHosts())}, now),
        now=now,
        local_time=datetime.datetime.fromtimestamp(now),
        # Quotas do not apply to advance reservations, nor to their jobs.
        running=tuple(task for task in running_tasks(tasks) if not task.reservation),
    )
    known = by_any_name(cell.complexes.values())
    resources = frozenset(known[name].name if name in known else name for name in wanted.pop("l", ()))
    patterns = {_FILTERS[option]: names for option, names in {"u": [pool.user], **wanted}.items()}
    rows = list(QuotaUse(snapshot).rows(patterns, resources))
    sys.stdout.write(xml(rows) if as_xml else table(rows))
    return 0


def running_tasks(tasks: Sequence[Task]) -> tuple[RunningTask, ...]:
    """The tasks that run in the cell, as input of a scheduling run."""
    return tuple(_running(task) for task in tasks if task.runs and cell_requests.TASK in task.ad)


def _running(task: Task) -> RunningTask:
    """A task as input of a scheduling run."""
    from roost.classad import ClassAd
    from roost.gridengine.pool.tasks import all_grants_of, running_task

    told = task.ad[cell_requests.TASK]
    ad = ClassAd(told["expr"] if isinstance(told, dict) else str(told))
    return replace(running_task([ad], task.job, float(task.started), task.proc), grants=all_grants_of(ad))


def table(rows: Sequence[Use]) -> str:
    """The rows as a table; empty if there are none."""
    lines = []
    for row in rows:
        limit = f"{row.resource}={row.used}/{row.limit}" if row.used else f"{row.resource}={row.limit}"
        filters = " ".join(f"{kind} {found}" for kind, found in row.filters.items())
        lines.append(f"{row.label:<18} {limit:<20.20} {filters or '-'}\n")
    return _HEAD + "".join(lines) if lines else ""


def xml(rows: Sequence[Use]) -> str:
    """The rows as XML."""
    from roost.cli.gridengine.xml import escape

    def quoted(text: str) -> str:
        return "'" + escape(text).replace("'", "&apos;") + "'"

    lines = ["<?xml version='1.0'?>", f'<qquota_result xmlns="{_SCHEMA}">']
    for row in rows:
        lines.append(f" <qquota_rule name={quoted(row.label)}>")
        for kind, found in row.filters.items():
            lines += [f"   <{kind}>{escape(name)}</{kind}>" for name in found.include]
            lines += [f"   <x{kind}>{escape(name)}</x{kind}>" for name in found.exclude]
        used = f" value={quoted(row.used)}" if row.used else ""
        lines.append(f"   <limit resource={quoted(row.resource)} limit={quoted(row.limit)}{used}/>")
        lines.append(" </qquota_rule>")
    return "\n".join([*lines, "</qquota_result>", ""])
