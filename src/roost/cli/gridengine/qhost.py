"""``qhost``: execution hosts, with their resources, queue instances and jobs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import ask, cell_files
from roost.cli.gridengine.qstat import with_causes
from roost.cli.gridengine.tables import date, of_priorities, roles_of, size
from roost.cli.gridengine.xml import escape
from roost.explain.cell_tasks import SHOWN, Task, tasks_of
from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import Option, usage
from roost.model.cell_priority import NO_PRIORITY, Priority
from roost.wire.requests import central, queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.wire.requests.central import CellHost, HostOffer, InstanceStatus

OPTIONS: Final = (
    Option("F", "show (selected) resources", "[resource_attribute]"),
    Option("h", "display only selected hosts", "hostlist"),
    Option("j", "display jobs hosted by host"),
    Option("l", "request the given resources", "attr=val,..."),
    Option("ncb", "suppress host topology based information"),
    Option("q", "display queues hosted by host"),
    Option("u", "show only jobs for user", "user[,user,...]"),
    Option("xml", "display the information in XML format"),
)
_SCHEMA: Final = "http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qhost/qhost.xsd"
_GLOBAL: Final = "global"
#: Columns after the name and the architecture: title, width, complex, name in XML.
_COLUMNS: Final = (
    ("NCPU", 4, "num_proc", "num_proc"),
    ("NSOC", 4, "m_socket", "m_socket"),
    ("NCOR", 4, "m_core", "m_core"),
    ("NTHR", 4, "m_thread", "m_thread"),
    ("LOAD", 5, "load_avg", "load_avg"),
    ("MEMTOT", 7, "mem_total", "mem_total"),
    ("MEMUSE", 7, "mem_used", "mem_used"),
    ("SWAPTO", 7, "swap_total", "swap_total"),
    ("SWAPUS", 7, "swap_used", "swap_used"),
)
_TOPOLOGY: Final = frozenset(("m_socket", "m_core", "m_thread"))
_COUNTS: Final = frozenset(("num_proc", *_TOPOLOGY))
_JOBS_HEAD: Final = (
    "   job-ID  prior   name       user         state submit/start at     queue      master ja-task-ID \n"
    f"   {'-' * 94}\n"
)


class QhostQuery:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.flags: set[str] = set()
        self.hosts: list[str] = []
        self.users: list[str] = []
        self.requests = ""
        #: Type of each complex in the cell; needed only for -F.
        self.types: Mapping[str, str] = {}
        #: The names in -F; None without it, empty for all.
        self.resources: list[str] | None = None
        for name, value in _given(arguments):
            match name:
                case "F":
                    self.resources = [*(self.resources or []), *_words(value)]
                case "h":
                    self.hosts += _words(value)
                case "u":
                    self.users += _words(value)
                case "l":
                    self.requests = ",".join(filter(None, (self.requests, value)))
                case _:
                    self.flags.add(name)


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _given(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Options with their arguments, which are optional for -F. Raises Failure."""
    takes = {option.name: bool(option.takes) for option in OPTIONS}
    at = 0
    while at < len(arguments):
        word = arguments[at]
        name = word[1:]
        if not word.startswith("-") or name not in takes:
            raise _wrong(f'invalid option argument "{word}"')
        value = "".join(arguments[at + 1 : at + 2]) if takes[name] else ""
        if name == "F" and value.startswith("-"):
            value = ""
        if takes[name] and not value and name != "F":
            raise _wrong(f"{word} option must have argument")
        yield name, value
        at += 1 + bool(value)


def _wrong(words: str) -> Failure:
    return Failure(f"{usage('qhost', OPTIONS)}error: {words}")


def run(name: str, arguments: list[str]) -> int:
    """Run ``qhost``."""
    query = QhostQuery(arguments)
    return ask(name, lambda pool: _list(pool, query))


def _list(pool: Pool, query: QhostQuery) -> int:
    hosts = _chosen(pool, query)
    instances: list[InstanceStatus] = []
    jobs: list[tuple[Task, Priority]] = []
    if "q" in query.flags:
        instances = pool.ask(central.QueueInstances())
    if "j" in query.flags:
        jobs = _jobs(pool, query)
    if "xml" in query.flags:
        sys.stdout.writelines(_xml(hosts, instances, jobs, query))
    elif hosts:
        sys.stdout.writelines(_table(hosts, instances, jobs, query))
    return 0


def _chosen(pool: Pool, query: QhostQuery) -> list[CellHost]:
    """The selected hosts. Raises Failure."""
    hosts = pool.ask(central.CellHosts())
    if not hosts:
        raise Failure("the pool has no Grid Engine cell; `roost cell import` gives it one")
    known = {host.name for host in hosts}
    for name in query.hosts:
        if name not in known:
            raise _wrong(f'can\'t resolve hostname "{name}"')
    if query.hosts:
        hosts = [host for host in hosts if host.name in (_GLOBAL, *query.hosts)]
    if query.requests or query.resources is not None:
        from roost.gridengine.cell import read_cell
        from roost.gridengine.objects.complex import bad_value, by_any_name

        named = by_any_name(read_cell(cell_files(pool)).complexes.values())
        query.types = {one.name: str(one.type) for one in named.values()}
        query.resources = query.resources and [named[each].name for each in query.resources if each in named]
        if query.requests:
            from roost.gridengine.pool.requests import pairs
            from roost.gridengine.pool.selection import meets

            wanted = pairs(query.requests)
            for pair in wanted:
                if pair.name not in named:
                    raise Failure(f'error: unknown resource "{pair.name}"')
                if wrong := bad_value(named[pair.name], pair.text):
                    raise Failure(f"error: {wrong}")
            hosts = [
                host
                for host in hosts
                if host.name != _GLOBAL
                and all(
                    meets(
                        named[pair.name],
                        pair.text,
                        [each.amount for each in host.offers if each.name == named[pair.name].name],
                    )
                    for pair in wanted
                )
            ]
    return hosts


def _jobs(pool: Pool, query: QhostQuery) -> list[tuple[Task, Priority]]:
    """The running tasks, in the order of `qstat`."""
    found = [task for task in tasks_of(pool.ask(queue.Query(projection=SHOWN))) if task.runs]
    meant = [task for task in found if not query.users or any(fnmatchcase(task.owner, each) for each in query.users)]
    priorities = of_priorities(pool.ask(central.CellPriorities()))
    listed = [(task, priorities.get(task.job, NO_PRIORITY)) for task in with_causes(pool, meant)]
    return sorted(listed, key=lambda each: (-each[1].priority, *each[0].order))


def _of_host(instances: Sequence[InstanceStatus], host: str) -> list[InstanceStatus]:
    return [one for one in instances if one.name.partition("@")[2] == host]


def _value(host: CellHost, complex_: str) -> str:
    text = host.reported.get(complex_, "")
    if not text:
        return "-"
    number = float(text)
    if complex_ in _COUNTS:
        return f"{number:.0f}"
    return f"{number:.2f}" if complex_ == "load_avg" else size(number, 1)


def _offer(one: HostOffer, types: Mapping[str, str]) -> str:
    if isinstance(one.value, str):
        return one.value
    if types.get(one.name) == "MEMORY":
        return "infinity" if one.value == float("inf") else size(one.value, 3)
    return f"{one.value:.6f}"


def _offers(host: CellHost, query: QhostQuery) -> list[HostOffer]:
    """The selected resources of a host."""
    if query.resources is None:
        return []
    return [one for one in host.offers if not query.resources or one.name in query.resources]


def _shown(columns: str, query: QhostQuery) -> bool:
    return not ("ncb" in query.flags and columns in _TOPOLOGY)


# -- the table ---------------------------------------------------------------------------------------------------------


def _table(
    hosts: Sequence[CellHost],
    instances: Sequence[InstanceStatus],
    jobs: Sequence[tuple[Task, Priority]],
    query: QhostQuery,
) -> Iterator[str]:
    columns = [each for each in _COLUMNS if _shown(each[2], query)]
    head = f"{'HOSTNAME':<23} {'ARCH':<12}" + "".join(f" {title:>{width}}" for title, width, _, _ in columns)
    yield f"{head}\n{'-' * len(head)}\n"
    with_queues, begun = "q" in query.flags, False
    for host in hosts:
        cells = "".join(f" {_value(host, name):>{width}}" for _, width, name, _ in columns)
        yield f"{host.name:<23} {host.reported.get('arch') or '-':<12}{cells}\n"
        for at, one in enumerate(_offers(host, query)):
            begin = "    Host Resource(s):      " if query.resources and not at else "   "
            yield f"{begin}{one.source}:{one.name}={_offer(one, query.types)}\n"
        there = [
            (task, priority, instance)
            for task, priority in jobs
            for instance in task.grants
            if instance.partition("@")[2] == host.name
        ]
        for instance in _of_host(instances, host.name):
            used = f"0/{instance.used}/{instance.total}"
            yield f"   {instance.name.partition('@')[0]:<20} {instance.types:<5} {used:<13} {instance.states}\n"
            for task, priority, place in there:
                if place == instance.name:
                    yield _job(task, priority, place, with_queue=False)
        if not with_queues:
            if there and not begun:
                begun = True
                yield _JOBS_HEAD
            for task, priority, place in there:
                yield _job(task, priority, place, with_queue=True)


def _job(task: Task, priority: Priority, instance: str, *, with_queue: bool) -> str:
    place = f"{instance:<10.10} " if with_queue else ""
    number = str(task.number) if task.tasks else " " * 7
    begin = (
        f"   {task.job:>7} {priority.priority:.5f} {task.name:<10.10} {task.owner:<12.12} {task.state:<5.5} "
        f"{date(task.started)} "
    )
    lines = [f"{place}{role:<6} {number}\n" for role in roles_of(task, instance)]
    return begin + (" " * len(begin)).join(lines)


# -- XML ---------------------------------------------------------------------------------------------------------------


def _xml(
    hosts: Sequence[CellHost],
    instances: Sequence[InstanceStatus],
    jobs: Sequence[tuple[Task, Priority]],
    query: QhostQuery,
) -> Iterator[str]:
    yield f"<?xml version='1.0'?>\n<qhost xmlns:xsd=\"{_SCHEMA}\">\n"
    for host in hosts:
        yield f" <host name='{escape(host.name)}'>\n"
        yield _hostvalue("arch_string", host.reported.get("arch") or "-")
        for _, _, name, tag in _COLUMNS:
            if _shown(name, query):
                yield _hostvalue(tag, _value(host, name))
        for one in _offers(host, query):
            attributes = f"name='{one.name}' dominance='{one.source}'"
            yield _row("resourcevalue", attributes, _offer(one, query.types))
        for instance in _of_host(instances, host.name):
            name = escape(instance.name.partition("@")[0])
            yield f" <queue name='{name}'>\n"
            for tag, figure in (
                ("qtype_string", instance.types),
                ("slots_used", instance.used),
                ("slots", instance.total),
                ("slots_resv", instance.reserved),
                ("state_string", instance.states),
            ):
                yield _row("queuevalue", f"qname='{name}' name='{tag}'", figure)
            yield " </queue>\n"
        for task, priority in jobs:
            for place in task.grants:
                if place.partition("@")[2] == host.name:
                    for role in roles_of(task, place):
                        yield from _xml_job(task, priority, place, role)
        yield " </host>\n"
    yield "</qhost>\n"


def _hostvalue(name: str, value: str) -> str:
    return _row("hostvalue", f"name='{name}'", value)


def _row(kind: str, attributes: str, value: object) -> str:
    return f"   <{kind} {attributes}>{escape(str(value))}</{kind}>\n"


def _xml_job(task: Task, priority: Priority, instance: str, role: str) -> Iterator[str]:
    yield f" <job name='{task.job}'>\n"
    values: list[tuple[str, object]] = [
        ("priority", f"'{priority.priority:.6f}'"),
        ("qinstance_name", instance),
        ("job_name", task.name),
        ("job_owner", task.owner),
        ("job_state", task.state),
        ("start_time", task.started),
        ("pe_master", role),
    ]
    if task.tasks:
        values.append(("taskid", task.number))
    for name, value in values:
        yield _row("jobvalue", f"jobid='{task.job}' name='{name}'", value)
    yield " </job>\n"
