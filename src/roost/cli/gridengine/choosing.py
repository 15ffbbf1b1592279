"""Jobs as named in commands: by number, by name, by a pattern of names; with tasks after a full stop or ``-t``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.explain.cell_tasks import SHOWN, Task, held_back, tasks_of
from roost.gridengine.commands.errors import BAD_VALUE, Failure
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

_NUMBER: Final = re.compile(r"(\d{1,9})(?:\.(\d+)(?:-(\d+)(?::(\d+))?)?)?\Z")
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?\Z")


class Named(NamedTuple):
    """One item on which a command acts."""

    #: The text as written.
    written: str
    #: Number of the job; None for a name or a pattern.
    number: int | None = None
    #: Numbers of its tasks; None for all.
    tasks: frozenset[int] | None = None


def named(words: Sequence[str], command: str) -> list[Named]:
    """Parse the words after the options: ``12``, ``12.3-5``, ``name``, each with ``-t 3-5``. Raises Failure."""
    found: list[Named] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "-t" and found and at + 1 < len(words):
            tasks = _tasks(words[at + 1], command)
            found[-1] = found[-1]._replace(tasks=tasks)
            at += 2
            continue
        found += [_named(part) for part in word.split(",") if part]
        at += 1
    return found


def _named(word: str) -> Named:
    match = _NUMBER.match(word)
    if match is None:
        return Named(word)
    job, first, last, step = match.groups()
    tasks = None if first is None else _numbers(first, last, step)
    return Named(job, int(job), tasks)


def _numbers(first: str, last: str | None, step: str | None) -> frozenset[int]:
    return frozenset(range(int(first), int(last or first) + 1, max(1, int(step or 1))))


def _tasks(text: str, command: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.match(part)
        if match is None:
            raise Failure(f'{command}: invalid option argument "-t {text}"', BAD_VALUE)
        found |= _numbers(*match.groups())
    return frozenset(found)


def tasks_named(pool: Pool, wanted: Sequence[Named], owners: Iterable[str] | None = None) -> list[list[Task]]:
    """The tasks of each name, in order; with `owners`, names and patterns select only their jobs."""
    numbers = tuple(str(each.number) for each in wanted if each.number is not None)
    by_name = len(numbers) < len(wanted)
    # Names are looked up among all jobs.
    rows = pool.ask(queue.Query(jobs=() if by_name else numbers, projection=SHOWN)) if wanted else []
    present = sorted(with_predecessors(pool, tasks_of(rows)), key=lambda task: (task.job, task.number))
    among = None if owners is None else frozenset(owners)
    return [[task for task in present if _means(each, task, among)] for each in wanted]


def _means(name: Named, task: Task, owners: frozenset[str] | None) -> bool:
    if name.tasks is not None and (task.number or 1) not in name.tasks:
        return False
    if name.number is not None:
        return task.job == name.number
    return fnmatchcase(task.name, name.written) and (owners is None or task.owner in owners)


def with_predecessors(pool: Pool, tasks: Sequence[Task]) -> list[Task]:
    """The tasks, with those waiting for other jobs marked with that hold."""
    wanted = {number for task in tasks if not task.runs for number in task.after}
    if not wanted:
        return list(tasks)
    rows = pool.ask(queue.Query(jobs=tuple(map(str, sorted(wanted))), projection=("ClusterId",)))
    present = {int(row["ClusterId"]) for row in rows}
    return [held_back(task) if not task.runs and present.intersection(task.after) else task for task in tasks]
