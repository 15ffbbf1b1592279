"""The tables of `qstat`: the columns of Grid Engine 8.1.9, widths and blanks at the ends of lines included."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from roost.explain.cell_tasks import Task, slots_asked
from roost.model import cell_requests as cell
from roost.model.cell_priority import NO_PRIORITY, Priority
from roost.wire.requests.central import CellPriority, QueueInstance

#: Of the list of queue instances.
QUEUES_HEAD: Final = "queuename                      qtype resv/used/tot. load_avg arch          states"
_LINE: Final = "-" * 81
_HASHES: Final = "#" * 76
PENDING: Final = (
    f"\n{_HASHES}\n - PENDING JOBS - PENDING JOBS - PENDING JOBS - PENDING JOBS - PENDING JOBS\n{_HASHES}\n"
)
CLUSTER_HEAD: Final = "CLUSTER QUEUE                   CQLOAD   USED    RES  AVAIL  TOTAL aoACDS  cdsuE  "
#: Letters of instances that are closed for a while by themselves, and of those that a command or an error has closed.
_FOR_A_WHILE, _CLOSED = frozenset("aoACDS"), frozenset("cdsuE")


class Look(NamedTuple):
    """How jobs are listed."""

    #: "", pri or urg
    columns: str = ""
    #: -r
    requests: bool = False
    #: -f
    full: bool = False


class Listed(NamedTuple):
    """A line of a list: a task, or waiting tasks of one job."""

    task: Task
    #: Numbers of the tasks; "" for a job without tasks.
    numbers: str
    priority: Priority = NO_PRIORITY


def date(instant: float) -> str:
    """A time as the tables show it."""
    return time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(instant))


def head(look: Look) -> str:
    """The two lines above a list of jobs."""
    title = {
        "": "job-ID  prior   name       user         state submit/start at     "
        "queue                          slots ja-task-ID ",
        "pri": "job-ID  prior   nurg    npprior ntckts   ppri name       user         state submit/start at     "
        "queue                          slots ja-task-ID ",
        "urg": "job-ID  prior   nurg    urg      rrcontr  wtcontr  dlcontr  name       user         state "
        "submit/start at      deadline           queue                          slots ja-task-ID ",
    }[look.columns]
    return f"{title}\n{'-' * _RULES[look.columns]}\n"


#: Length of the line under the titles.
_RULES: Final = {"": 113, "pri": 148, "urg": 177}


def line(listed: Listed, look: Look, instance: str = "") -> str:
    """A line of a list, with its requests behind it if they are asked for.

    `instance`: the queue instance whose list it is in, and whose slots of the task count; "" for all.
    """
    task, given = listed.task, listed.priority
    first = f"{task.job:>7} {given.priority:.5f} "
    who = f"{task.name:<10.10} {task.owner:<12.12} "
    when = f"{task.state:<5.5} {date(task.started if task.runs or task.state == 'z' else task.submitted)} "
    queue = "" if look.full else f"{task.instance:<30.30} "
    match look.columns:
        case "pri":
            posix = task.ad.get("JobPrio") or 0
            parts = f"{given.urgency_share:.5f} {given.posix:.5f} {given.ticket_share:.5f} {posix:>5} {who}{when}"
        case "urg":
            sums = (given.resources + given.waiting + given.deadline, given.resources, given.waiting, given.deadline)
            figures = " ".join(f"{each:8.0f}" for each in sums)
            due = date(float(task.ad[cell.DEADLINE])) if task.ad.get(cell.DEADLINE) else ""
            parts = f"{given.urgency_share:.5f} {figures} {who}{when}{due:<20}"
        case _:
            parts = who + when
    text = f"{first}{parts}{queue}{task.grants.get(instance, task.slots):>5} {listed.numbers or ' ' * 7}\n"
    return text + "".join(_requests(task)) if look.requests else text


def _requests(task: Task) -> Iterator[str]:
    ad = task.ad
    yield f"       Full jobname:     {task.name}\n"
    if task.runs:
        yield f"       Master Queue:     {task.instance}\n"
    if ad.get(cell.PARALLEL):
        yield f"       Requested PE:     {str(ad[cell.PARALLEL]).partition(' ')[0]} {cell.ranges(slots_asked(ad))}\n"
        if task.environment:
            yield f"       Granted PE:       {task.environment} {task.slots}\n"
    yield from _listed("Hard Resources", str(ad.get(cell.RESOURCES) or ""), " (0.000000)")
    yield from _listed("Soft Resources", str(ad.get(cell.SOFT_RESOURCES) or ""), "")
    if ad.get(cell.QUEUES):
        yield f"       Hard requested queues: {', '.join(str(ad[cell.QUEUES]).split(','))}\n"
    if ad.get(cell.SOFT_QUEUES):
        yield f"       Soft requested queues: {', '.join(str(ad[cell.SOFT_QUEUES]).split(','))}\n"
    if ad.get(cell.MASTER_QUEUES):
        yield f"       Master task hard requested queues: {', '.join(str(ad[cell.MASTER_QUEUES]).split(','))}\n"
    if ad.get(cell.PREDECESSORS_ASKED):
        yield f"       Predecessor Jobs (request): {', '.join(str(ad[cell.PREDECESSORS_ASKED]).split(','))}\n"
    for title, name in (
        ("Jobs", cell.PREDECESSORS),
        ("Array Jobs (request)", cell.ARRAY_PREDECESSORS_ASKED),
        ("Array Jobs", cell.ARRAY_PREDECESSORS),
    ):
        if ad.get(name):
            yield f"       Predecessor {title}: {', '.join(str(ad[name]).split(','))}\n"
    yield "       Binding:          NONE\n"


def _listed(title: str, text: str, behind: str) -> Iterator[str]:
    words = [f"{word}{behind}" for word in text.split(",") if word] or [""]
    yield f"       {f'{title}:':<17} {words[0]}\n"
    for word in words[1:]:
        yield f"{'':<25}{word}\n"


# -- queue instances -------------------------------------------------------------------------------------------------


def instance_line(one: QueueInstance) -> str:
    """A queue instance in the list of `qstat -f`, under its rule."""
    used = f"{one.reserved}/{one.used}/{one.total}"
    load = "-NA-" if one.load is None else f"{one.load:.2f}"
    return (
        f"{_LINE}\n{one.name:<30} {one.types:<5} {used:<14} {load:<8} {one.architecture or '-NA-':<13} {one.states}\n"
    )


def cluster_lines(instances: Sequence[QueueInstance]) -> Iterator[str]:
    """The table of `qstat -g c`."""
    yield f"{CLUSTER_HEAD}\n{'-' * 80}\n"
    found: dict[str, list[QueueInstance]] = {}
    for one in instances:
        found.setdefault(one.name.partition("@")[0], []).append(one)
    for name, some in found.items():
        figures = cluster_figures(some)
        load = "-NA-" if figures.load is None else f"{figures.load:.2f}"
        yield (
            f"{name:<30.30} {load:>7} {figures.used:>6} {figures.reserved:>6} {figures.free:>6} {figures.total:>6} "
            f"{figures.for_a_while:>6} {figures.closed:>6} \n"
        )


class Figures(NamedTuple):
    """A cluster queue in figures."""

    load: float | None
    used: int
    reserved: int
    free: int
    total: int
    for_a_while: int
    closed: int


def cluster_figures(instances: Iterable[QueueInstance]) -> Figures:
    """The figures of the instances of one queue."""
    some = list(instances)
    loads = [one.load for one in some if one.load is not None]
    away = sum(one.total for one in some if _FOR_A_WHILE & set(one.states))
    closed = sum(one.total for one in some if _CLOSED & set(one.states))
    free = sum(max(0, one.total - one.used) for one in some if not (_FOR_A_WHILE | _CLOSED) & set(one.states))
    return Figures(
        load=sum(loads) / len(loads) if loads else None,
        used=sum(one.used for one in some),
        reserved=sum(one.reserved for one in some),
        free=free,
        total=sum(one.total for one in some),
        for_a_while=away,
        closed=closed,
    )


def of_priorities(rows: Iterable[CellPriority]) -> Mapping[int, Priority]:
    """Job to its priority."""
    return {row.cluster: Priority(*(row.figures.get(name, 0.0) for name in Priority._fields)) for row in rows}
