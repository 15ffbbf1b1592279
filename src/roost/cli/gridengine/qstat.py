"""``qstat``: jobs, queue instances with their jobs, or the details of a job."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from roost.base.records import replace
from roost.cli.gridengine import tables, xml
from roost.cli.gridengine.asking import ask, cell_files
from roost.cli.gridengine.choosing import with_predecessors
from roost.cli.gridengine.selecting import CHOOSING, Wanted, select, wanted_by
from roost.cli.gridengine.tables import Behind, Listed, Look
from roost.explain.cell_tasks import SHOWN, SUSPENDING, Task, grouped, limited, slots_asked, suspended, tasks_of
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import Option, taken, usage
from roost.model import cell_requests as cell
from roost.model.cell_priority import NO_PRIORITY, Priority
from roost.runtime.identity import user_name
from roost.schedd.status import JobStatus
from roost.wire.requests import central, queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.gridengine.scheduling.patterns import QueuePatterns
    from roost.wire.requests.central import InstanceStatus

OPTIONS: Final = (
    Option("f", "queue instances with their jobs"),
    Option("g", "c: a line for each cluster queue; d: for each task; t: for each slot of a parallel job", "{c|d|t}"),
    Option("j", "jobs in detail, by number, name or pattern", "job_identifier_list"),
    Option("ne", "with -f: only queue instances with jobs"),
    Option("ncb", "accepted: bindings are never shown"),
    Option("pri", "what the priority is made of"),
    Option("q", "only these queues and the jobs in them", "wc_queue_list"),
    Option("r", "what each job requests"),
    Option("s", "only jobs in these states", "{p|r|s|z|hu|ho|hs|hj|ha|h|a}"),
    Option("u", "jobs of these users, by name or pattern; * for all (default: your own)", "user_list"),
    Option("urg", "what the urgency is made of"),
    Option("xml", "print XML"),
    Option("explain", "with the queue instances, what has led to these states", "a|c|A|E"),
    Option("ext", "usage and tickets; with -g c, slots by state"),
    Option("F", "with the queue instances, what they have of (selected) resources", "[resource_attributes]"),
    Option("l", "queues with these resources", "resource_list"),
    Option("pe", "queues with these parallel environments", "pe_list"),
    Option("qs", "queues in these states", "{a|c|d|o|s|u|A|C|D|E|S}"),
    Option("t", "a line for each slot of a parallel job; the usage of slave tasks is not shown"),
    Option("U", "queues that these users may use", "user_list"),
)

_STATES: Final = re.compile(r"(?:h[uosadj]|[prszha])+\Z")
_EACH: Final = re.compile(r"h[uosadj]|[prszha]")
#: The meaning of letters of -s.
_ALL_HOLDS: Final = ("hu", "ho", "hs", "hj", "ha")
#: Maximum number of jobs that have left; finished_jobs of the cell's configuration.
_FINISHED: Final = re.compile(r"^finished_jobs\s+(\d+)", re.MULTILINE)


class QstatQuery:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.flags: set[str] = set()
        self.users: list[str] = []
        #: The options that select queue instances.
        self.wanted: Wanted = {}
        self.states: set[str] = set()
        #: Letters of -g.
        self.group = ""
        #: Letters of -explain.
        self.explain = ""
        #: The names in -F; None without it, empty for all.
        self.resources: list[str] | None = None
        #: The names in -j; None without it.
        self.jobs: list[str] | None = None
        words = [*_with_values(arguments)]
        try:
            given, rest = taken("qstat", words, OPTIONS)
        except Failure as failure:
            raise _in_words_of_qstat(str(failure)) from None
        if rest:
            raise _wrong(f'invalid option argument "{rest[0]}"')
        self.wanted = wanted_by(given)
        for each in given:
            match each.name:
                case "u":
                    self.users += [word for word in each.value.split(",") if word]
                case name if name in CHOOSING:
                    pass
                case "s":
                    self._take_states(each.value)
                case "g":
                    if wrong := each.value.strip("cdt"):
                        raise Failure(f"wrong character '{wrong[:1]}' for -g option", FAILED)
                    self.group += each.value
                case "explain":
                    if wrong := each.value.strip("acAE"):
                        words_ = f"unknown queue state: {wrong[:1]} found in string: {each.value}"
                        raise Failure(f"error: {words_}\n{words_}", FAILED)
                    self.explain += each.value
                case "F":
                    self.resources = [*(self.resources or []), *(word for word in each.value.split(",") if word)]
                case "j":
                    self.jobs = [word for word in re.split(r"[,\s]+", each.value) if word]
                case _:
                    self.flags.add(each.name)

    def _take_states(self, text: str) -> None:
        if not _STATES.match(text):
            raise _wrong("ERROR! wrong argument to -s option")
        for letters in _EACH.findall(text):
            if letters == "h":
                self.states.update(_ALL_HOLDS)
            elif letters == "a":
                self.states.update(("p", "r", "s", "z"))
            else:
                self.states.add(letters)

    @property
    def look(self) -> Look:
        """The layout of lists of jobs."""
        return Look(
            pri="pri" in self.flags,
            urg="urg" in self.flags,
            ext="ext" in self.flags,
            requests="r" in self.flags,
            full=self.full,
            roles="t" in self.group or "t" in self.flags,
            usage="t" in self.flags,
        )

    @property
    def full(self) -> bool:
        """Whether queue instances are listed."""
        return "f" in self.flags or bool(self.explain) or self.resources is not None

    def wants(self, task: Task) -> bool:
        """Whether a task is selected."""
        if not self._is_meant(task.owner):
            return False
        if not self.states:
            return task.state != "z"
        letters = {f"h{letter}" for letter in task.holds}
        if task.state == "z":
            return "z" in self.states
        if not task.runs:
            later = task.ad.get(cell.NOT_BEFORE) is not None
            return "p" in self.states or bool(letters & self.states) or ("ha" in self.states and later)
        return ("s" if task.stands_still else "r") in self.states

    def leaves(self, task: Task) -> bool:
        """Whether the selection of queues leaves a task alone: `-qs` alone only applies to running tasks."""
        return not task.runs and not self.full and set(self.wanted) == {"qs"}

    def _is_meant(self, owner: str) -> bool:
        return any(fnmatchcase(owner, user) for user in self.users or (user_name(),))


class Chosen:
    """The queue instances selected by -q, -l, -pe, -qs and -U."""

    def __init__(self, pool: Pool, wanted: Wanted) -> None:
        self._pool = pool
        self._reader: QueuePatterns | None = None
        self.instances = select(pool, wanted)
        self._names = {one.name for one in self.instances}

    def _means(self, patterns: Iterable[str], instance: str) -> bool:
        if self._reader is None:
            from roost.gridengine.cell import read_cell
            from roost.gridengine.scheduling.patterns import QueuePatterns

            self._reader = QueuePatterns(read_cell(cell_files(self._pool)))
        name, _, host = instance.partition("@")
        return any(self._reader.queue(each, name) and self._reader.host(each, host) for each in patterns)

    def has(self, task: Task) -> bool:
        """Whether a task runs in one of them, or waits and does not request others."""
        if task.runs:
            return not self._names.isdisjoint(task.grants)
        wanted = [word for word in str(task.ad.get(cell.QUEUES) or "").split(",") if word]
        return any(not wanted or self._means(wanted, one.name) for one in self.instances)


def _with_values(arguments: Sequence[str]) -> Iterator[str]:
    """The words with an empty value for -j and -F that have none."""
    for at, word in enumerate(arguments):
        yield word
        following = arguments[at + 1 : at + 2]
        if word in ("-j", "-F") and (not following or following[0].startswith("-")):
            yield ""


def _wrong(text: str) -> Failure:
    return Failure(f"{usage('qstat', OPTIONS)}{text}", FAILED)


def _in_words_of_qstat(text: str) -> Failure:
    text = text.removeprefix("qstat: ")
    return _wrong(text) if text.startswith("invalid") else Failure(text, FAILED)


def run(name: str, arguments: list[str]) -> int:
    """Run ``qstat``."""
    query = QstatQuery(arguments)
    if query.jobs is not None:
        from roost.cli.gridengine.details import show

        identifiers = query.jobs
        return ask(name, lambda pool: show(pool, identifiers, as_xml="xml" in query.flags))
    return ask(name, lambda pool: _list(pool, query))


def _list(pool: Pool, query: QstatQuery) -> int:
    write = sys.stdout.write
    chosen = Chosen(pool, query.wanted) if query.wanted else None
    if chosen is not None and set(query.wanted) == {"q"} and not chosen.instances:
        # As in Grid Engine, without a message.
        return FAILED
    if "c" in query.group:
        # -l, -qs and -U select instances; the figures are those of all instances of their queues.
        queues = {one.name.partition("@")[0] for one in _instances(pool, chosen)}
        instances = [one for one in pool.ask(central.QueueInstances()) if one.name.partition("@")[0] in queues]
        extended = "ext" in query.flags
        if "xml" in query.flags:
            write(xml.clusters(instances, extended=extended))
        else:
            sys.stdout.writelines(tables.cluster_lines(instances, extended=extended))
        return 0
    running, waiting, ended = _jobs(pool, query, chosen)
    if "ext" in query.flags:
        from roost.cli.gridengine.usage import with_usage

        running, waiting, ended = with_usage(pool, running, waiting, ended)
    look = query.look
    if query.full:
        instances = _instances(pool, chosen)
        if query.explain or query.resources is not None:
            detailed = {one.name: one for one in pool.ask(central.QueueInstances(details=True))}
            instances = [detailed.get(one.name, one) for one in instances]
        if "ne" in query.flags:
            instances = [one for one in instances if any(one.name in each.task.grants for each in running)]
        behind = _behind(pool, query)
        if "xml" in query.flags:
            text = xml.full(instances, running, waiting, look, behind)
        else:
            text = full(instances, running, waiting, look, behind)
        sys.stdout.writelines(text)
    elif "xml" in query.flags:
        write(xml.plain(running, [*waiting, *ended], look))
    elif running or waiting or ended:
        write(tables.head(look))
        if "t" in query.group and "t" not in query.flags:
            sys.stdout.writelines(by_instance(running, look))
            running = []
        for each in (*running, *waiting, *ended):
            sys.stdout.writelines(tables.lines(each, look))
    return 0


def by_instance(running: Sequence[Listed], look: Look) -> Iterator[str]:
    """The slots of tasks in the order of their queue instances, as listed by `-g t`."""
    for name in sorted({name for each in running for name in each.task.grants}):
        for each in running:
            if name in each.task.grants:
                yield from tables.lines(each, look, name)


def _behind(pool: Pool, query: QstatQuery) -> Callable[[InstanceStatus], Behind]:
    """The output of `-explain` and `-F` after each queue instance."""
    if not query.explain and query.resources is None:
        return lambda _: Behind((), ())
    from roost.cli.gridengine.offers import Offers

    offers = None if query.resources is None else Offers(cell_files(pool), query.resources)

    def behind(one: InstanceStatus) -> Behind:
        told = [line.partition(" ") for line in one.explained]
        return Behind(
            tuple((letter, words) for wanted in query.explain for letter, _, words in told if letter == wanted),
            () if offers is None else tuple(offers.shown(one)),
        )

    return behind


def _instances(pool: Pool, chosen: Chosen | None) -> list[InstanceStatus]:
    return pool.ask(central.QueueInstances()) if chosen is None else chosen.instances


def _jobs(pool: Pool, query: QstatQuery, chosen: Chosen | None) -> tuple[list[Listed], list[Listed], list[Listed]]:
    """The selected tasks: running, waiting, and finished ones, each in order."""
    # A pattern of users is applied here; names are left to the queue.
    users = query.users or [user_name()]
    owners = tuple(users) if not any(set(user) & set("*?[") for user in users) else ()
    found = tasks_of(pool.ask(queue.Query(owners=owners, projection=SHOWN)))
    found = with_predecessors(pool, found)
    wanted = (task for task in found if task.state != "z" and query.wants(task))
    tasks = with_causes(pool, [task for task in wanted if chosen is None or query.leaves(task) or chosen.has(task)])
    tasks = _counted(pool, tasks)
    rows = pool.ask(central.CellPriorities()) if tasks else []
    priorities, none = tables.of_priorities(rows), NO_PRIORITY
    left_out = {row.cluster for row in rows if row.user_limit} | {job for job, n in limited(found).items() if n < 1}

    def priority(task: Task) -> Priority:
        # Jobs that may not start are in no scheduling run.
        ranks = task.runs or not (task.holds or task.is_error or task.job in left_out)
        return priorities.get(task.job, none) if ranks else none

    def place(task: Task) -> tuple[float, int, int, int]:
        return -priority(task).priority, *task.order

    running = sorted((task for task in tasks if task.runs), key=place)
    waiting = sorted((task for task in tasks if not task.runs), key=place)
    ended = _ended(pool, query, found) if "z" in query.states else []
    return (
        [Listed(task, _number(task), priority(task)) for task in running],
        list(_waiting(waiting, query, priority)),
        [Listed(task, _number(task), none) for task in ended],
    )


def _counted(pool: Pool, tasks: list[Task]) -> list[Task]:
    """The tasks, with the slots of waiting parallel ones computed from their ranges by `urgency_slots`."""
    asked = [() if task.runs else slots_asked(task.ad) for task in tasks]
    if not any(ranges and ranges[0].low < ranges[-1].high for ranges in asked):
        return tasks
    from roost.gridengine.cell import read_cell
    from roost.gridengine.scheduling.priority import counted_slots

    known = read_cell(cell_files(pool))
    return [
        replace(task, counted=int(counted_slots(str(task.ad.get(cell.PARALLEL)).partition(" ")[0], ranges, known)))
        if ranges
        else task
        for task, ranges in zip(tasks, asked, strict=True)
    ]


def with_causes(pool: Pool, tasks: list[Task]) -> list[Task]:
    """The tasks; suspended ones get the letters of the causes."""
    slots = tuple(str(task.ad.get("RemoteHost")) for task in tasks if task.status == JobStatus.SUSPENDED)
    if not slots:
        return tasks
    rows = pool.ask(central.Ads(kind="Machine", names=slots, projection=("Name", *SUSPENDING), values=True))
    ads = {row.get("Name"): row for row in rows}
    return [suspended(task, ads.get(task.ad.get("RemoteHost"), {})) for task in tasks]


def _number(task: Task) -> str:
    return str(task.number) if task.tasks else ""


def _waiting(tasks: Sequence[Task], query: QstatQuery, of: Callable[[Task], Priority]) -> Iterator[Listed]:
    if query.group:
        yield from (Listed(task, _number(task), of(task)) for task in tasks)
        return
    for task, numbers in grouped(tasks):
        yield Listed(task, numbers, of(task))


def _ended(pool: Pool, query: QstatQuery, present: Iterable[Task]) -> list[Task]:
    kept = _FINISHED.search(cell_files(pool).get("configurations/global", ""))
    limit = int(kept[1]) if kept else 0
    if not limit:
        return []
    rows = pool.ask(queue.History(projection=SHOWN, limit=limit))
    past = [task for task in tasks_of(rows) if task.status == JobStatus.COMPLETED]
    return sorted(
        (task for task in (*past, *present) if task.state == "z" and query.wants(task)), key=lambda task: task.order
    )


def full(
    instances: Sequence[InstanceStatus],
    running: Sequence[Listed],
    waiting: Sequence[Listed],
    look: Look,
    behind: Callable[[InstanceStatus], Behind],
) -> Iterator[str]:
    if instances:
        yield f"{tables.QUEUES_HEAD}\n"
    for one in instances:
        yield tables.instance_line(one, look)
        found = behind(one)
        yield from (f"\t{words}\n" for _, words in found.explained)
        yield from (f"\t{source}:{name}={value}\n" for name, source, value in found.offers)
        for each in running:
            if one.name in each.task.grants:
                yield from tables.lines(each, look, one.name)
    if waiting:
        yield tables.pending(look)
        for each in waiting:
            yield from tables.lines(each, look)
