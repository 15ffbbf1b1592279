"""``qstat -j`` without a job: why queue instances accept no jobs, and why waiting jobs wait.

Messages about one job and one place are merged by what they have in common, as in Grid Engine 8.1.9.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine import xml
from roost.cli.pool_connection import Refused
from roost.explain.cell_tasks import SHOWN, Task, tasks_of
from roost.model.cycle_answers import JobInCell
from roost.wire.requests import central, queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

_INFO: Final = "scheduling info:"
_HELD, _ERROR = "Jobs dropped because of hold state", "Jobs dropped because of error state"
#: Patterns of messages about one job, and the merged message.
_OF_JOBS: Final = tuple(
    (re.compile(pattern), f"Jobs can not run because {words}")
    for pattern, words in (
        ("execution time not reached", "execution time not reached"),
        (r"not contained in its hard queue list", "queue instance is not contained in its hard queue list"),
        (r"not of type interactive", "queue instance is not interactive"),
        (r"not of type batch", "queue instance is not of type batch or transfer"),
        (r"not a parallel queue|not of type parallel", "queue instance is not a parallel queue"),
        (r"is not in pe list|not in queue list of PE", "queue instance is not in queue list of PE"),
        (r"cannot run in PE .* only offers", "available slots combined under PE are not in range of job"),
        (r"cannot run (in|at|globally).*", "the resource requirements can not be satisfied"),
    )
)
#: Messages about queue instances that concern no job.
_OF_RUN: Final = re.compile(r"queue instance .* dropped because|is in suspend alarm|^All queues dropped")
#: The numbers of messages as observed; Roost uses 0 for others.
_NUMBERS: Final = (
    ("the resource requirements can not be satisfied", 17), ("is in suspend alarm", 26), ("is overloaded", 27),
    ("All queues dropped", 28), ("execution time not reached", 31), (_HELD, 33), ("because it is full", 37),
    ("because it is disabled", 39), ("because it is temporarily not available", 40),
    ("because of job dependencies", 35), ("max_aj_instances", 45),
)  # fmt: skip


def show_all(pool: Pool, *, as_xml: bool) -> int:
    """Print it; the exit status."""
    by_message: dict[str, list[int]] = {}
    of_jobs, of_run = reasons(pool)
    for task, sentences in of_jobs:
        for words in sentences:
            jobs = by_message.setdefault(_message(words), [])
            jobs += [task.job] * (task.job not in jobs)
    if as_xml:
        numbered = {(number_of(words), words): jobs for words, jobs in by_message.items()}
        sys.stdout.writelines(xml.messages(numbered, [(number_of(words), words) for words in of_run]))
    else:
        sys.stdout.writelines(_text(by_message, of_run))
    return 0


def reasons(pool: Pool) -> tuple[list[tuple[Task, list[str]]], list[str]]:
    """Why each waiting task waits, in the order of submission, and messages about queue instances."""
    tasks = [task for task in tasks_of(pool.ask(queue.Query(projection=(*SHOWN, "AutoClusterId")))) if not task.runs]
    of_jobs: list[tuple[Task, list[str]]] = []
    of_run: dict[str, None] = {}
    known: dict[object, list[str]] = {}
    for task in sorted(tasks, key=lambda task: task.order):
        words = list(dict.fromkeys(_words(pool, task, known)))
        of_run |= dict.fromkeys(filter(_OF_RUN.search, words))
        of_jobs.append((task, [each for each in words if not _OF_RUN.search(each)]))
    for one in pool.ask(central.QueueInstances()):
        of_run |= dict.fromkeys(filter(_OF_RUN.search, one.reasons))
    return of_jobs, list(of_run)


def _text(by_message: dict[str, list[int]], of_run: list[str]) -> Iterator[str]:
    for at, words in enumerate(of_run or [""] * bool(by_message)):
        yield f"{'' if at else _INFO:<28}{words}\n"
    for words, jobs in by_message.items():
        yield f"\n{words}\n"
        for at in range(0, len(jobs), _IN_LINE):
            yield "\t" + ",\t".join(map(str, jobs[at : at + _IN_LINE])) + ",\n" * (at + _IN_LINE < len(jobs))
        yield "\n"


#: Maximum number of jobs in a line.
_IN_LINE: Final = 8


def _words(pool: Pool, task: Task, known: dict[object, list[str]]) -> list[str]:
    """Why a task waits; tasks that the run does not distinguish have the same reasons."""
    if task.is_error:
        return [_ERROR]
    if task.holds.rstrip("j"):
        return [_HELD]
    group = task.ad.get("AutoClusterId")
    if group is None or group not in known:
        known[group] = list(_asked(pool, f"{task.job}.{task.proc}"))
    return known[group]


def _asked(pool: Pool, job: str) -> Iterator[str]:
    try:
        asked = pool.ask(queue.Autocluster(job=job))
    except Refused:
        # It has left meanwhile.
        return
    record = pool.ask(central.ExplainJob(schedd=asked.schedd, submitter=asked.submitter, autocluster=asked.autocluster))
    if isinstance(record, JobInCell):
        yield from record.reasons


def _message(words: str) -> str:
    return next((said for pattern, said in _OF_JOBS if pattern.search(words)), words)


def number_of(words: str) -> int:
    """The number of a message."""
    return next((number for part, number in _NUMBERS if part in words), 0)
