"""The XML of `qstat`: elements and blanks of Grid Engine 8.1.9."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.tables import Listed, cluster_figures

if TYPE_CHECKING:
    from roost.wire.requests.central import QueueInstance

_SCHEMAS: Final = "http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat"
_HEAD: Final = "<?xml version='1.0'?>\n"
_BEGIN: Final = f'{_HEAD}<job_info  xmlns:xsd="{_SCHEMAS}/qstat.xsd">\n'


def escape(text: str) -> str:
    """A text in which XML finds no markup; the standard library's function loads a client of HTTP."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def element(name: str, value: object, depth: int) -> str:
    """An element with a text."""
    return f"{'  ' * depth}<{name}>{escape(str(value))}</{name}>\n"


def _when(instant: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(instant))


def _job(listed: Listed, depth: int, *, in_queue: bool, instance: str = "") -> Iterator[str]:
    task = listed.task
    blanks = "  " * depth
    yield f'{blanks}<job_list state="{"running" if task.runs else "zombie" if task.state == "z" else "pending"}">\n'
    yield element("JB_job_number", task.job, depth + 1)
    yield element("JAT_prio", f"{listed.priority.priority:.5f}", depth + 1)
    yield element("JB_name", task.name, depth + 1)
    yield element("JB_owner", task.owner, depth + 1)
    yield element("state", task.state, depth + 1)
    if task.runs:
        yield element("JAT_start_time", _when(task.started), depth + 1)
    else:
        yield element("JB_submission_time", _when(task.submitted), depth + 1)
    if not in_queue:
        yield element("queue_name", task.instance, depth + 1)
    yield element("slots", task.grants.get(instance, task.slots), depth + 1)
    if listed.numbers:
        yield element("tasks", listed.numbers, depth + 1)
    yield f"{blanks}</job_list>\n"


def plain(running: Iterable[Listed], others: Iterable[Listed]) -> str:
    """The list of jobs."""
    return "".join(_plain(running, others))


def _plain(running: Iterable[Listed], others: Iterable[Listed]) -> Iterator[str]:
    yield f"{_BEGIN}  <queue_info>\n"
    for each in running:
        yield from _job(each, 2, in_queue=False)
    yield "  </queue_info>\n  <job_info>\n"
    for each in others:
        yield from _job(each, 2, in_queue=False)
    yield "  </job_info>\n</job_info>\n"


def full(instances: Sequence[QueueInstance], running: Sequence[Listed], waiting: Sequence[Listed]) -> Iterator[str]:
    """Queue instances with their jobs."""
    yield f"{_BEGIN}  <queue_info>\n"
    for one in instances:
        yield "    <Queue-List>\n"
        for name, value in (
            ("name", one.name),
            ("qtype", one.types),
            ("slots_used", one.used),
            ("slots_resv", one.reserved),
            ("slots_total", one.total),
            ("load_avg", None if one.load is None else f"{one.load:.5f}"),
            ("arch", one.architecture or None),
            ("state", one.states or None),
        ):
            if value is not None:
                yield element(name, value, 3)
        for each in running:
            if one.name in each.task.grants:
                yield from _job(each, 3, in_queue=True, instance=one.name)
        yield "    </Queue-List>\n"
    yield "  </queue_info>\n  <job_info>\n"
    for each in waiting:
        yield from _job(each, 2, in_queue=True)
    yield "  </job_info>\n</job_info>\n"


def clusters(instances: Sequence[QueueInstance]) -> str:
    """The summary of cluster queues."""
    found: dict[str, list[QueueInstance]] = {}
    for one in instances:
        found.setdefault(one.name.partition("@")[0], []).append(one)
    parts = [_BEGIN]
    for name, some in found.items():
        figures = cluster_figures(some)
        parts.append("  <cluster_queue_summary>\n")
        parts += [
            element(tag, value, 2)
            for tag, value in (
                ("name", name),
                ("load", None if figures.load is None else f"{figures.load:.5f}"),
                ("used", figures.used),
                ("resv", 0),
                ("available", figures.free),
                ("total", figures.total),
                ("temp_disabled", figures.for_a_while),
                ("manual_intervention", figures.closed),
            )
            if value is not None
        ]
        parts.append("  </cluster_queue_summary>\n")
    return "".join([*parts, "</job_info>\n"])


def unknown(identifiers: Iterable[str]) -> str:
    """What `qstat -j` prints of jobs that do not exist."""
    names = "".join(f"    <ST_name>{escape(name)}</ST_name>\n" for name in identifiers)
    return f"{_HEAD}<unknown_jobs >\n{names}</unknown_jobs>\n"
