"""The kinds of objects that a cell has: their names, how they are read and printed, and their files.

`KINDS` is the table. `read` and `write` are the two directions for one object; `kind_of` identifies the kind of a text
by its first line, because the output of `qconf -s…` does not name it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from roost.base.diagnostics import Diagnostic, Span
from roost.base.records import dataclass, replace
from roost.gridengine.objects import calendar, configuration, host, parallel, people, queue, quota
from roost.gridengine.objects.rows import Row, rows_of
from roost.gridengine.objects.text import Entry, by_name, entries, logical_lines, show, shown, value_of
from roost.gridengine.objects.values import bad_name
from roost.gridengine.problems import ProblemCode, Refused, problem

Named = (
    queue.ClusterQueue
    | host.HostGroup
    | host.ExecutionHost
    | parallel.ParallelEnvironment
    | parallel.Checkpoint
    | calendar.Calendar
    | quota.QuotaSet
    | people.UserList
    | people.Project
    | people.User
    | configuration.Configuration
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectKind:
    """One kind of named objects."""

    #: its name in Grid Engine's messages
    word: str
    #: the list that its messages name: ``added "x" to … list``
    list_word: str
    #: the field of `roost.gridengine.cell.Cell`
    field: str
    #: the directory of `save_sge_config.sh`
    directory: str
    #: the attribute that holds the name
    key: str
    #: the class whose rows are its attributes
    rows: tuple[Row, ...]
    parse: Callable[[str, str], Any]
    show: Callable[[Any], str]


def whole_message(message: str, row: Row, word: str, name: str, text: str) -> str:
    """Grid Engine's complete message, if the check knows neither the attribute nor the object."""
    if message.startswith("is "):
        return f'attribute "{row.name}" {message}'
    if message.startswith("unknown variable"):
        return f'parameter {row.name} of {word} "{name}": {message}'
    if message.endswith("for ckpt"):
        return f'{message} "{name}"'
    if row.type.name == "number" and text.startswith("-"):
        return f'parameter "{row.name}" must be a positive number'
    return message


def _values(rows: tuple[Row, ...], found: dict[str, Entry], word: str, name: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    problems: list[Diagnostic] = []
    for row in rows:
        if row.name not in found:
            continue
        entry = found[row.name]
        try:
            values[row.name] = value_of(row, entry.text, entry.span)
        except Refused as refused:
            (bad,) = refused.problems
            message = whole_message(bad.message, row, word, name, entry.text)
            problems.append(problem(ProblemCode.BAD_VALUE, message, bad.span, bad.remedy, row.name))
    if problems:
        raise Refused(problems)
    return values


def parse_flat(cls: type, key: str, word: str, text: str, file: str) -> Any:
    """Read an object with one line per attribute; raise `Refused`."""
    rows = rows_of(cls)
    known = (*((key,) if key else ()), *(row.name for row in rows))
    found = _entries(rows, known, word, text, file)
    if not key:
        return cls(**_values(rows, found, word, ""))
    entry = found[key]
    complaint = _name_complaint(cls, entry.text)
    if complaint:
        raise Refused([problem(ProblemCode.BAD_NAME, complaint, entry.span, "Choose another name.", key)])
    name = entry.text.lower() if cls is host.ExecutionHost else entry.text
    return cls(name=name, **_values(rows, found, word, name))


def _entries(rows: tuple[Row, ...], known: Sequence[str], word: str, text: str, file: str) -> dict[str, Entry]:
    """The entries of a text by attribute; among several problems, an invalid value is reported first.

    Grid Engine parses values with the lines, and checks ranges and missing attributes afterwards.
    """
    passed: dict[str, Entry] = {}

    def read() -> Iterator[Entry]:
        for entry in entries(logical_lines(text, file), known):
            passed.setdefault(entry.name, entry)
            yield entry

    try:
        return by_name(read(), known, [row.name for row in rows if row.reported], Span(file))
    except Refused:
        _values(tuple(replace(row, check=None) for row in rows), passed, word, "")
        raise


def _name_complaint(cls: type, name: str) -> str | None:
    if cls is host.HostGroup:
        return bad_name(name[1:]) if name.startswith("@") else f'host group name "{name}" is not valid'
    if cls is people.Project and name == "default":
        return 'denied: not allowed add a project with name "default"'
    return None if cls is host.ExecutionHost and name == host.GLOBAL else bad_name(name)


def _flat(cls: type, word: str, list_word: str, field: str, directory: str, key: str, width: int) -> ObjectKind:
    rows = rows_of(cls)
    return ObjectKind(
        word=word,
        list_word=list_word,
        field=field,
        directory=directory,
        key=key,
        rows=rows,
        parse=lambda text, file: parse_flat(cls, key, word, text, file),
        show=lambda one: show([(key, one.name), *shown(rows, one)], width),
    )


def _parse_calendar(text: str, file: str) -> calendar.Calendar:
    found: calendar.Calendar = parse_flat(calendar.Calendar, "calendar_name", "calendar", text, file)
    spans = {entry.name: entry.span for entry in entries(logical_lines(text, file))}
    problems = [
        problem(
            ProblemCode.BAD_VALUE, message, spans[name], "Write days=times=state, as in mon-fri=8-18=suspended.", name
        )
        for name, message in calendar.complaints(found)
    ]
    if problems:
        raise Refused(problems)
    return found


def _parse_quota_set(text: str, file: str) -> quota.QuotaSet:
    found = quota.parse_quota_sets(text, file)
    if len(found) != 1:
        message = f"the file holds {len(found)} resource quota sets"
        raise Refused([problem(ProblemCode.SYNTAX, message, Span(file), "Write one set in each file.")])
    return found[0]


def _parse_configuration(text: str, file: str) -> configuration.Configuration:
    return configuration.parse_configuration(text, file, file.rpartition("/")[2])


QUEUE: Final = ObjectKind(
    word="cluster queue",
    list_word="cluster queue",
    field="queues",
    directory="cqueues",
    key="qname",
    rows=queue.SETTINGS,
    parse=queue.parse_queue,
    show=queue.show_queue,
)
HOST_GROUP: Final = _flat(host.HostGroup, "host group", "host group", "host_groups", "hostgroups", "group_name", 0)
HOST: Final = _flat(host.ExecutionHost, "exechost", "exechost", "hosts", "execution", "hostname", 22)
ENVIRONMENT: Final = _flat(
    parallel.ParallelEnvironment, "pe", "parallel environment", "parallel_environments", "pe", "pe_name", 19
)
CHECKPOINT: Final = _flat(
    parallel.Checkpoint, "ckpt environment", "checkpoint interface", "checkpoints", "ckpt", "ckpt_name", 19
)
_CALENDAR = _flat(calendar.Calendar, "calendar", "calendar", "calendars", "calendars", "calendar_name", 17)
CALENDAR: Final = ObjectKind(
    word="calendar",
    list_word="calendar",
    field="calendars",
    directory="calendars",
    key="calendar_name",
    rows=_CALENDAR.rows,
    parse=_parse_calendar,
    show=_CALENDAR.show,
)
QUOTA_SET: Final = ObjectKind(
    word="resource quota set",
    list_word="resource quota set",
    field="quota_sets",
    directory="resource_quotas",
    key="name",
    rows=(),
    parse=_parse_quota_set,
    show=quota.show_quota_set,
)
USER_LIST: Final = _flat(people.UserList, "userset", "userset", "user_lists", "usersets", "name", 8)
PROJECT: Final = _flat(people.Project, "project", "project", "projects", "projects", "name", 0)
USER: Final = _flat(people.User, "user", "user", "users", "users", "name", 0)
CONFIGURATION: Final = ObjectKind(
    word="configuration",
    list_word="configuration",
    field="configurations",
    directory="configurations",
    key="",
    rows=(),
    parse=_parse_configuration,
    show=configuration.show_configuration,
)

#: all kinds, in an order in which each refers only to those before it (queues also to each other)
KINDS: Final = (
    USER_LIST,
    PROJECT,
    USER,
    HOST_GROUP,
    HOST,
    CALENDAR,
    ENVIRONMENT,
    CHECKPOINT,
    QUEUE,
    QUOTA_SET,
    CONFIGURATION,
)
_BY_CLASS: Final[dict[type, ObjectKind]] = {
    queue.ClusterQueue: QUEUE,
    host.HostGroup: HOST_GROUP,
    host.ExecutionHost: HOST,
    parallel.ParallelEnvironment: ENVIRONMENT,
    parallel.Checkpoint: CHECKPOINT,
    calendar.Calendar: CALENDAR,
    quota.QuotaSet: QUOTA_SET,
    people.UserList: USER_LIST,
    people.Project: PROJECT,
    people.User: USER,
    configuration.Configuration: CONFIGURATION,
}
_FIRST_WORDS: Final = {
    "qname": "cqueues",
    "group_name": "hostgroups",
    "hostname": "execution",
    "pe_name": "pe",
    "ckpt_name": "ckpt",
    "calendar_name": "calendars",
    "algorithm": "schedconf",
    "{": "resource_quotas",
}


def kind_of_object(one: Named) -> ObjectKind:
    """The kind of an object."""
    return _BY_CLASS[type(one)]


def directory_of(text: str) -> str | None:
    """The place of a text printed by `qconf -s…`: a kind's directory, or the file of a single object.

    None if the text does not show it, as with lists of users or hosts.
    """
    if re.match(r"#name\s+shortcut", text):
        return "centry"
    if re.match(r"#\S+:\s*\n", text):
        return CONFIGURATION.directory
    lines = [line for line, _ in logical_lines(text, "")]
    if not lines:
        return None
    first = lines[0].split()[0]
    if first.startswith("id="):
        return "sharetree"
    if first == "name":
        second = {line.split()[0] for line in lines}
        for attribute, kind in (("entries", USER_LIST), ("acl", PROJECT), ("default_project", USER)):
            if attribute in second:
                return kind.directory
        return None
    return _FIRST_WORDS.get(first)
