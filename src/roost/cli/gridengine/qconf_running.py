"""The options of ``qconf`` that act on running jobs, not on objects of the cell: ``-cq`` and ``-tsm``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import cell_files, trusted
from roost.cli.gridengine.choosing import Named, tasks_named
from roost.cli.gridengine.selecting import select
from roost.gridengine.commands.errors import FAILED, Failure
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool


def clean(pool: Pool, words: list[str]) -> int:
    """``-cq``: remove the jobs of queue instances at once; return the exit status."""
    status = 0
    names = [name for word in words for name in word.split(",") if name]
    (present,) = tasks_named(pool, [Named("*")])
    operates = trusted(pool, "managers", "operators")
    for name in names:
        instances = select(pool, {"q": [name]})
        if not instances:
            sys.stderr.write(f'invalid queue or job "{name}"\n')
            status = FAILED
        for instance in instances:
            if not (operates or _owns(pool, instance.name)):
                sys.stdout.write(f'{pool.user} - you have no permission to modify queue "{instance.name}"\n')
                status = FAILED
                continue
            jobs = tuple(f"{task.job}.{task.proc}" for task in present if instance.name in task.grants)
            refused = _removed(pool, jobs)
            sys.stdout.write(
                f'{pool.user} - you have no permission to remove jobs of queue "{instance.name}"\n'
                if refused
                else f'{_who(pool)} purged queue "{instance.name}"\n'
            )
            status = FAILED if refused else status
    return status


def _removed(pool: Pool, jobs: tuple[str, ...]) -> bool:
    """Remove jobs; return whether that was refused."""
    if not jobs:
        return False
    return bool(pool.ask(queue.Act(action="remove-x", jobs=jobs, reason=f"qconf -cq by user {pool.user}")).refused)


def _owns(pool: Pool, instance: str) -> bool:
    from roost.gridengine.cell import read_cell
    from roost.gridengine.instances import resolve

    found = (one for one in resolve(read_cell(cell_files(pool))) if one.name == instance)
    return any(pool.user in one.settings.owner_list for one in found)


def write_run(pool: Pool, words: list[str]) -> int:
    """``-tsm``: append the reasons of the last scheduling run to ``schedd_runlog`` of the cell; return the exit
    status.
    """
    from roost.runtime.cell_root import root_of

    if not trusted(pool, "managers"):
        raise Failure("starting scheduler monitoring requires manager privileges", 0)
    path = Path(os.environ.get("SGE_ROOT") or root_of(pool.home)) / os.environ.get("SGE_CELL", "default")
    path = path / "common/schedd_runlog"
    try:
        with path.open("a", encoding="utf-8") as log:
            log.writelines(f"{time.ctime()}|{line}\n" for line in _run_lines(pool))
    except OSError as error:
        raise Failure(f"qconf: cannot write {path}: {error.strerror}") from None
    sys.stdout.write(f"{_who(pool)} triggers scheduler monitoring\n")
    return 0


def _run_lines(pool: Pool) -> Iterator[str]:
    from roost.cli.gridengine.summary import reasons

    yield f"{'':-<13}START-SCHEDULER-RUN{'':-<13}"
    of_jobs, of_run = reasons(pool)
    yield from of_run
    for task, sentences in of_jobs:
        yield from (f"Job {task.job} {sentence}" for sentence in sentences)
    if not of_jobs:
        yield "no pending jobs to perform scheduling on"
    yield f"{'':-<14}STOP-SCHEDULER-RUN{'':-<13}"


def _who(pool: Pool) -> str:
    from roost.runtime.identity import host_name

    return f"{pool.user}@{host_name()}"


#: Option to its function.
ACTIONS: Final[dict[str, Callable[[Pool, list[str]], int]]] = {"cq": clean, "tsm": write_run}
