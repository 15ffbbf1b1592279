"""Cluster queues: the attributes of a queue, their defaults, and the values that hosts and host groups override.

`QueueSettings` is the table of attributes, with the values of one queue instance. A `ClusterQueue` has one such set of
defaults, and for each attribute the overrides ``[host=value]`` and ``[@group=value]``. `roost.gridengine.instances`
decides which of them apply to an instance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost.base.diagnostics import Span
from roost.base.records import dataclass, field, replace
from roost.gridengine.objects.pairs import BATCH, INTERACTIVE, PAIRS, QUEUE_TYPE, SUBORDINATES, Pair, Subordination
from roost.gridengine.objects.rows import Row, attribute, rows_of
from roost.gridengine.objects.text import Entry, by_name, entries, logical_lines, show, value_of
from roost.gridengine.objects.values import (
    BOOLEAN,
    INTEGER,
    MEMORY,
    NAMES,
    QUEUE_HOSTS,
    SLOTS_MAX,
    TEXT,
    TIME,
    ULONG,
    Quantity,
    bad_name,
    slots_problem,
)
from roost.gridengine.problems import ProblemCode, Refused, problem

WIDTH: Final = 22
START_MODES: Final = ("unix_behavior", "posix_compliant", "script_from_stdin")
INITIAL_STATES: Final = ("default", "enabled", "disabled")


def _nice(value: Quantity) -> str | None:
    return None if -20 <= value.number <= 20 else "Priority not in range -20 to +20"


def _start_mode(value: str) -> str | None:
    return None if value.casefold() in START_MODES else f'Invalid value "{value}" as shell start mode'


def _initial_state(value: str) -> str | None:
    return None if value in INITIAL_STATES else f'Invalid value "{value}" as initial state'


def _shell(value: str) -> str | None:
    return None if value.startswith("/") else f'Invalid value "{value}" for shell '


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """The attributes of a queue, as one of its instances has them."""

    seq_no: int = attribute(ULONG, "0", "Place of the queue when jobs are placed by sequence number.")
    load_thresholds: tuple[Pair, ...] = attribute(
        PAIRS, "np_load_avg=1.75", "Load values from which the instance takes no new jobs (state a)."
    )
    suspend_thresholds: tuple[Pair, ...] = attribute(
        PAIRS, "NONE", "Load values from which jobs of the instance are suspended (state A)."
    )
    nsuspend: int = attribute(ULONG, "1", "Jobs that are suspended or resumed at a time by suspend_thresholds.")
    suspend_interval: Quantity = attribute(TIME, "00:05:00", "Interval between such suspensions.")
    priority: Quantity = attribute(
        INTEGER, "0", "Nice value of the jobs.", check=_nice, remedy="Write a number from -20 to 20."
    )
    min_cpu_interval: Quantity = attribute(TIME, "00:05:00", "Minimum interval between checkpoints of a job.")
    processors: str = attribute(TEXT, "UNDEFINED", "Processors of the jobs; Grid Engine does not use it.")
    qtype: tuple[str, ...] = attribute(
        QUEUE_TYPE, "BATCH INTERACTIVE", "Kinds of jobs the queue takes: batch, interactive, or only parallel ones."
    )
    ckpt_list: tuple[str, ...] = attribute(NAMES, "NONE", "Checkpointing interfaces that the queue offers.")
    pe_list: tuple[str, ...] = attribute(NAMES, "make", "Parallel environments that the queue offers.")
    rerun: bool = attribute(BOOLEAN, "FALSE", "Whether jobs without `-r` are started again after a host fails.")
    slots: int = attribute(
        ULONG, "1", "Slots of the instance.", check=slots_problem, remedy=f"Write a number from 0 to {SLOTS_MAX}."
    )
    tmpdir: str = attribute(TEXT, "/tmp", "Directory in which each job gets its own TMPDIR.")
    shell: str = attribute(TEXT, "/bin/sh", "Shell of the jobs.", check=_shell, remedy="Write an absolute path.")
    prolog: str = attribute(TEXT, "NONE", "Command before each job, as [user@]command; NONE uses the host's.")
    epilog: str = attribute(TEXT, "NONE", "Command after each job, as [user@]command; NONE uses the host's.")
    shell_start_mode: str = attribute(
        TEXT,
        "posix_compliant",
        "How a job's script is started.",
        check=_start_mode,
        remedy=f"Write {', '.join(START_MODES[:-1])} or {START_MODES[-1]}.",
    )
    starter_method: str = attribute(TEXT, "NONE", "Command that starts the job in place of the shell.")
    suspend_method: str = attribute(TEXT, "NONE", "Signal or command that suspends a job; NONE is SIGSTOP.")
    resume_method: str = attribute(TEXT, "NONE", "Signal or command that resumes a job; NONE is SIGCONT.")
    terminate_method: str = attribute(TEXT, "NONE", "Signal or command that ends a job; NONE is SIGKILL.")
    notify: Quantity = attribute(TIME, "00:00:60", "Time between the warning and the signal for jobs with -notify.")
    owner_list: tuple[str, ...] = attribute(NAMES, "NONE", "Users who may suspend and disable the queue.")
    user_lists: tuple[str, ...] = attribute(NAMES, "NONE", "User lists that may use the queue; NONE is every user.")
    xuser_lists: tuple[str, ...] = attribute(NAMES, "NONE", "User lists that may not use the queue.")
    subordinate_list: Subordination = attribute(
        SUBORDINATES, "NONE", "Queues of the same host that are suspended while this one is used."
    )
    complex_values: tuple[Pair, ...] = attribute(PAIRS, "NONE", "Resources of each instance.")
    projects: tuple[str, ...] = attribute(NAMES, "NONE", "Projects that may use the queue; NONE is every job.")
    xprojects: tuple[str, ...] = attribute(NAMES, "NONE", "Projects that may not use the queue.")
    calendar: str = attribute(TEXT, "NONE", "Calendar that disables or suspends the queue.")
    initial_state: str = attribute(
        TEXT,
        "default",
        "State of an instance when it is created or its host starts.",
        check=_initial_state,
        remedy="Write default, enabled or disabled.",
    )
    s_rt: Quantity = attribute(TIME, "INFINITY", "Run time after which a job is warned.")
    h_rt: Quantity = attribute(TIME, "INFINITY", "Run time after which a job is killed.")
    s_cpu: Quantity = attribute(TIME, "INFINITY", "CPU time after which a job is warned.")
    h_cpu: Quantity = attribute(TIME, "INFINITY", "CPU time after which a job is killed.")
    s_fsize: Quantity = attribute(MEMORY, "INFINITY", "Size of a job's files, soft limit.")
    h_fsize: Quantity = attribute(MEMORY, "INFINITY", "Size of a job's files, hard limit.")
    s_data: Quantity = attribute(MEMORY, "INFINITY", "Data segment, soft limit.")
    h_data: Quantity = attribute(MEMORY, "INFINITY", "Data segment, hard limit.")
    s_stack: Quantity = attribute(MEMORY, "INFINITY", "Stack, soft limit.")
    h_stack: Quantity = attribute(MEMORY, "INFINITY", "Stack, hard limit.")
    s_core: Quantity = attribute(MEMORY, "INFINITY", "Core file, soft limit.")
    h_core: Quantity = attribute(MEMORY, "INFINITY", "Core file, hard limit.")
    s_rss: Quantity = attribute(MEMORY, "INFINITY", "Resident memory, soft limit.")
    h_rss: Quantity = attribute(MEMORY, "INFINITY", "Resident memory, hard limit.")
    s_vmem: Quantity = attribute(MEMORY, "INFINITY", "Virtual memory, soft limit.")
    h_vmem: Quantity = attribute(MEMORY, "INFINITY", "Virtual memory, hard limit.")

    @property
    def batch(self) -> bool:
        """Whether the instance takes batch jobs."""
        return BATCH in self.qtype

    @property
    def interactive(self) -> bool:
        """Whether the instance takes interactive jobs."""
        return INTERACTIVE in self.qtype


#: attribute to host or @group to value
Overrides = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue:
    """A cluster queue."""

    name: str
    #: hosts and @groups, as written
    hostlist: tuple[str, ...] = ()
    defaults: QueueSettings = field(default_factory=QueueSettings)
    overrides: Overrides = field(default_factory=dict)


SETTINGS: Final = rows_of(QueueSettings)
#: The row of the host list, which has no overrides.
HOSTS: Final = Row(
    name="hostlist",
    type=QUEUE_HOSTS,
    default="NONE",
    doc="Hosts and groups on which the queue has instances.",
    check=None,
    remedy="",
    reported=False,
)
_NAMES: Final = ("qname", "hostlist", *(row.name for row in SETTINGS))
_OVERRIDE: Final = re.compile(r",\s*\[")


def _refused(message: str, entry: Entry, remedy: str) -> Refused:
    return Refused([problem(ProblemCode.BAD_OVERRIDE, message, entry.span, remedy, entry.name)])


def split_overrides(entry: Entry) -> tuple[str, list[tuple[str, str]]]:
    """The default of an attribute, and host or group and text of each override."""
    text, form = entry.text, f"Write {entry.name} default,[host=value],[@group=value]."
    if text.startswith("["):
        raise _refused(f'"{entry.name}" has no default value', entry, form)
    if text.endswith(","):
        raise _refused(f'There is an extra comma at the end of the list: "{text}"', entry, form)
    first = _OVERRIDE.search(text)
    if first is None:
        if re.search(r"\s\[.*=.*\]$", text):
            raise _refused(f'All list elements must be separated by commas: "{text}"', entry, form)
        return text, []
    rest = text[first.end() - 1 :]
    if not rest.endswith("]"):
        message = f'The last character of each list item must be enclosed in brackets: "{text}"'
        raise _refused(message, entry, form)
    found: list[tuple[str, str]] = []
    for item in re.split(r"\],\s*\[", rest[1:-1]):
        domain, equals, value = item.partition("=")
        if not equals:
            raise _refused("'=' has to separate host or group from value", entry, form)
        found.append((domain.strip() if domain.startswith("@") else domain.strip().lower(), value.strip()))
    return text[: first.start()].strip(), found


def _override_values(row: Row, entry: Entry) -> tuple[Any, dict[str, Any]]:
    text, written = split_overrides(entry)
    if row.check:
        # Grid Engine parses all values before it checks their ranges.
        for each in (text, *(value for _, value in written)):
            value_of(replace(row, check=None), each, entry.span)
    default = value_of(row, text, entry.span)
    values: dict[str, Any] = {}
    for domain, text in written:
        if not domain:
            raise _refused('invalid hostname ""', entry, "Write a host or a @group before the `=`.")
        if domain in values:
            raise _refused(f'Value for "{domain}" is multiply defined', entry, "Keep one of them.")
        values[domain] = value_of(row, text, entry.span)
    return default, groups_first(values)


def groups_first(values: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides in the order in which they are printed: those of groups, then those of hosts."""
    return dict(sorted(values.items(), key=lambda item: not item[0].startswith("@")))


def bad_queue_name(name: str) -> str | None:
    """Why a text cannot name a cluster queue, in Grid Engine's words; None if it can."""
    return f'cluster queue name "{name}" is not valid' if bad_name(name) else None


def _entries(text: str, file: str) -> dict[str, Entry]:
    """The entries of a text by attribute; an invalid value is reported before anything missing or wrong after it."""
    passed: dict[str, Entry] = {}

    def read() -> Iterator[Entry]:
        for entry in entries(logical_lines(text, file), _NAMES):
            passed.setdefault(entry.name, entry)
            yield entry

    try:
        return by_name(read(), _NAMES, (), Span(file))
    except Refused:
        for row in SETTINGS:
            if row.name in passed:
                _override_values(replace(row, check=None), passed[row.name])
        raise


def parse_queue(text: str, file: str) -> ClusterQueue:
    """Read a cluster queue; raise `Refused` with every problem of its values."""
    found = _entries(text, file)
    name, place = found["qname"].text, found["qname"].span
    complaint = bad_queue_name(name)
    problems = [problem(ProblemCode.BAD_NAME, complaint, place, "Choose another name.", "qname")] if complaint else []
    defaults: dict[str, Any] = {}
    overrides: dict[str, dict[str, Any]] = {}
    for row in SETTINGS:
        try:
            defaults[row.name], special = _override_values(row, found[row.name])
        except Refused as refused:
            problems.extend(refused.problems)
            continue
        if special:
            overrides[row.name] = special
    if problems:
        raise Refused(problems)
    hosts = QUEUE_HOSTS.parse(found["hostlist"].text)
    return ClusterQueue(name=name, hostlist=hosts, defaults=QueueSettings(**defaults), overrides=overrides)


def attribute_text(queue: ClusterQueue, row: Row) -> str:
    """An attribute of a cluster queue with its overrides, as text."""
    special = queue.overrides.get(row.name, {})
    shown = (f"[{domain}={row.type.show(value)}]" for domain, value in special.items())
    return ",".join((row.type.show(getattr(queue.defaults, row.name)), *shown))


def show_queue(queue: ClusterQueue) -> str:
    """A cluster queue as `qconf -sq` prints it."""
    pairs = [("qname", queue.name), ("hostlist", QUEUE_HOSTS.show(queue.hostlist))]
    return show([*pairs, *((row.name, attribute_text(queue, row)) for row in SETTINGS)], WIDTH)
