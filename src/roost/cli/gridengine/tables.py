"""The tables of `qstat`: the columns of Grid Engine 8.1.9, including widths and trailing spaces."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from roost.explain.cell_tasks import Task, slots_asked
from roost.gridengine.letters import BY_HAND, FOR_A_WHILE
from roost.model import cell_requests as cell
from roost.model.cell_priority import NO_PRIORITY, Priority
from roost.wire.requests.central import CellPriority, InstanceStatus

#: Headings of the list of queue instances.
QUEUES_HEAD: Final = "queuename                      qtype resv/used/tot. load_avg arch          states"
CLUSTER_HEAD: Final = "CLUSTER QUEUE                   CQLOAD   USED    RES  AVAIL  TOTAL aoACDS  cdsuE  "


class Look(NamedTuple):
    """The layout of lists of jobs."""

    #: -pri, -urg, -ext
    pri: bool = False
    urg: bool = False
    ext: bool = False
    #: -r
    requests: bool = False
    #: -f
    full: bool = False
    #: -g t: one line per slot, with its role in the job; -t: also with columns for tasks.
    roles: bool = False
    usage: bool = False

    @property
    def dated(self) -> bool:
        """Whether there is a column of times."""
        return not self.ext or self.pri or self.urg or self.usage


class Used(NamedTuple):
    """The columns of `-ext` besides the tickets."""

    project: str = ""
    department: str = ""
    #: s, GiB s and GiB; None if unknown, as for a waiting task.
    cpu: float | None = None
    mem: float = 0.0
    io: float = 0.0
    #: `qsub -ot`
    override: int = 0
    #: Fraction of the tickets of all running, or of all waiting, jobs.
    share: float = 0.0


class Listed(NamedTuple):
    """A line of a list: a task, or waiting tasks of one job."""

    task: Task
    #: Numbers of the tasks; "" for a job without tasks.
    numbers: str
    priority: Priority = NO_PRIORITY
    used: Used = Used()


class Behind(NamedTuple):
    """The lines before the jobs of a queue instance: letter and text of `-explain`; name, source and value of `-F`."""

    explained: tuple[tuple[str, str], ...]
    offers: tuple[tuple[str, str, str], ...]


def date(instant: float) -> str:
    """A time in the format of the tables."""
    return time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(instant))


def head(look: Look) -> str:
    """The two lines above a list of jobs."""
    parts = [
        "job-ID  prior   ",
        "nurg    " if look.pri or look.urg else "",
        "npprior " if look.pri else "",
        "ntckts  " if look.pri or look.ext else "",
        "urg      rrcontr  wtcontr  dlcontr  " if look.urg else "",
        " ppri " if look.pri else "",
        "name       user         ",
        "project          department " if look.ext else "",
        "state ",
        "submit/start at     " if look.dated else "",
        " deadline           " if look.urg else "",
        "cpu        mem     io      tckts ovrts otckt ftckt stckt share " if look.ext else "",
        "queue                          ",
        "master " if look.roles else "slots ",
        "ja-task-ID ",
        "task-ID state cpu        mem     io      stat failed " if look.usage else "",
    ]
    title = "".join(parts)
    return f"{title}\n{'-' * _rule(look)}\n"


def _rule(look: Look) -> int:
    """Length of the line under the headings; in Grid Engine it differs from the headings."""
    return 113 + 79 * look.ext + 64 * look.urg + 35 * look.pri + look.roles + 53 * look.usage


def lines(listed: Listed, look: Look, instance: str = "") -> Iterator[str]:
    """The lines of a task in a list, followed by its requests if selected.

    `instance`: the queue instance whose list it is in, and whose slots of the task count; "" for all.
    """
    task = listed.task
    if look.roles:
        places = [instance] if instance else list(task.grants) or [""]
        for place in places:
            for at, role in enumerate(roles_of(task, place) if place else [""]):
                yield _line(listed, look, place, role, again=at > 0)
    else:
        yield _line(listed, look, instance, "", again=False)
    if look.requests:
        yield from _requests(task)


def roles_of(task: Task, instance: str) -> list[str]:
    """The roles of a task in one of its instances: the slots of a parallel job are slaves, next to its master."""
    if not task.environment:
        return ["MASTER"]
    return ["MASTER"] * (instance == task.instance) + ["SLAVE"] * task.grants[instance]


def _line(listed: Listed, look: Look, instance: str, role: str, *, again: bool) -> str:
    """`again`: the job's data is in the line before."""
    task, given = listed.task, listed.priority
    parts = [f"{task.job:>7} {given.priority:.5f} "]
    if look.pri or look.urg:
        parts.append(f"{given.urgency_share:.5f} ")
    if look.pri:
        parts.append(f"{given.posix:.5f} ")
    if look.pri or look.ext:
        parts.append(f"{given.ticket_share:.5f} ")
    if look.urg:
        sums = (given.urgency, given.resources, given.waiting, given.deadline)
        parts += [f"{each:8.0f} " for each in sums]
    if look.pri:
        parts.append(f"{task.ad.get('JobPrio') or 0:>5} ")
    parts.append(f"{task.name:<10.10} {task.owner:<12.12} ")
    if look.ext:
        parts.append(f"{listed.used.project or 'NA':<16.16} {listed.used.department:<10.10} ")
    parts.append(f"{task.state:<5.5} ")
    if look.dated:
        parts.append(f"{date(task.started if task.runs or task.state == 'z' else task.submitted)} ")
    if look.urg:
        due = date(float(task.ad[cell.DEADLINE])) if task.ad.get(cell.DEADLINE) else ""
        parts.append(f"{due:<20}")
    begin = "".join(parts)
    begin = " " * len(begin) if again else begin
    # Its usage is shown with its master.
    told = _used(listed, known=role != "SLAVE" and instance in ("", task.instance)) if look.ext else ""
    place = instance if look.roles else task.instance
    queue = "" if look.full else f"{place:<30.30} "
    numbers = listed.numbers or " " * 7
    slots = f"{role:<6}" if look.roles else f"{task.grants.get(instance, task.slots):>5}"
    return f"{begin}{told}{queue}{slots} {numbers}\n"


def _used(listed: Listed, *, known: bool) -> str:
    """The columns of `-ext` after the state."""
    used, given = listed.used, listed.priority
    if not listed.task.runs:
        usage = " " * 27
    elif used.cpu is None or not known:
        usage = f"{'NA':<10} {'NA':<7} {'NA':<7} "
    else:
        cpu = int(used.cpu)
        clock = f"{cpu // 86400}:{cpu // 3600 % 24:02}:{cpu // 60 % 60:02}:{cpu % 60:02}"
        usage = f"{clock:<10} {used.mem:<7.5f} {used.io:<7.5f} "
    tickets = (tickets_of(given), used.override, given.override, given.functional, given.share)
    return f"{usage}{''.join(f'{int(each):>5} ' for each in tickets)}{used.share:<5.2f} "


def tickets_of(given: Priority) -> float:
    """All tickets of a job."""
    return given.override + given.functional + given.share


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
    yield f"       Binding:          {ad.get(cell.BINDING) or 'NONE'}\n"


def _listed(title: str, text: str, behind: str) -> Iterator[str]:
    words = [f"{word}{behind}" for word in text.split(",") if word] or [""]
    yield f"       {f'{title}:':<17} {words[0]}\n"
    for word in words[1:]:
        yield f"{'':<25}{word}\n"


# -- queue instances -------------------------------------------------------------------------------------------------


def pending(look: Look) -> str:
    """The heading of the waiting jobs, below the queue instances."""
    hashes = "#" * (186 if look.ext else 76)
    return f"\n{hashes}\n - PENDING JOBS - PENDING JOBS - PENDING JOBS - PENDING JOBS - PENDING JOBS\n{hashes}\n"


def instance_line(one: InstanceStatus, look: Look) -> str:
    """A queue instance in the list of `qstat -f`, below its rule."""
    used = f"{one.reserved}/{one.used}/{one.total}"
    load = "-NA-" if one.load is None else f"{one.load:.2f}"
    rule = "-" * (189 if look.ext else 81)
    return f"{rule}\n{one.name:<30} {one.types:<5} {used:<14} {load:<8} {one.architecture or '-NA-':<13} {one.states}\n"


#: Letters of the columns that `qstat -g c -ext` adds.
LETTERS: Final = "sASCuadDcoE"


def cluster_lines(instances: Sequence[InstanceStatus], *, extended: bool = False) -> Iterator[str]:
    """The table of `qstat -g c`."""
    more = "".join(f"     {letter}" for letter in LETTERS) if extended else ""
    yield f"{CLUSTER_HEAD}{more[1:]}\n{'-' * (146 if extended else 80)}\n"
    for name, some in by_queue(instances).items():
        figures = cluster_figures(some)
        load = "-NA-" if figures.load is None else f"{figures.load:.2f}"
        yield (
            f"{name:<30.30} {load:>7} {figures.used:>6} {figures.reserved:>6} {figures.free:>6} {figures.total:>6} "
            f"{figures.for_a_while:>6} {figures.closed:>6} "
            + ("".join(f"{slots_in(some, letter):>5} " for letter in LETTERS) if extended else "")
            + "\n"
        )


def by_queue(instances: Iterable[InstanceStatus]) -> dict[str, list[InstanceStatus]]:
    """Cluster queue to its instances."""
    found: dict[str, list[InstanceStatus]] = {}
    for one in instances:
        found.setdefault(one.name.partition("@")[0], []).append(one)
    return found


def slots_in(instances: Iterable[InstanceStatus], letter: str) -> int:
    """The slots of the instances in a state."""
    return sum(one.total for one in instances if letter in one.states)


class Figures(NamedTuple):
    """A cluster queue in figures."""

    load: float | None
    used: int
    reserved: int
    free: int
    total: int
    for_a_while: int
    closed: int


def cluster_figures(instances: Iterable[InstanceStatus]) -> Figures:
    """The figures of the instances of one queue."""
    some = list(instances)
    loads = [(one.load_per_processor, one.total) for one in some if one.load_per_processor is not None]
    weights = sum(slots for _, slots in loads)
    closed = sum(one.total for one in some if BY_HAND & set(one.states))
    away = sum(one.total for one in some if FOR_A_WHILE & set(one.states) and not BY_HAND & set(one.states))
    free = sum(max(0, one.total - one.used) for one in some if not (FOR_A_WHILE | BY_HAND) & set(one.states))
    return Figures(
        # An instance counts once per slot.
        load=sum(load * slots for load, slots in loads) / weights if weights else None,
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


def size(number: float, places: int) -> str:
    """A size in the largest unit in which it is at least 1."""
    for unit, size in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if abs(number) >= size:
            return f"{number / size:.{places}f}{unit}"
    return f"{number:.{places}f}"
