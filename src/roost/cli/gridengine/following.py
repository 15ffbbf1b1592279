"""The jobs that a job waits for: ``-hold_jid`` and ``-hold_jid_ad`` of `qsub` and `qalter`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.choosing import named, tasks_named
from roost.gridengine.commands.errors import BAD_VALUE, Failure, rejected
from roost.model import cell_requests as cell

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.explain.cell_tasks import Task

#: Option to the attributes with the numbers of the jobs, and with the words that named them.
FOLLOWED: Final = {
    "hold_jid": (cell.PREDECESSORS, cell.PREDECESSORS_ASKED),
    "hold_jid_ad": (cell.ARRAY_PREDECESSORS, cell.ARRAY_PREDECESSORS_ASKED),
}
#: The message for a job that is not an array.
ONLY_ARRAYS: Final = 'Can only specify "-hold_jid_ad" option with an array job (using "-t" option)'


def jobs_named(pool: Pool, text: str, option: str, command: str, *, owner: str | None = None) -> tuple[int, ...]:
    """The numbers of the jobs in the queue that a list names; names mean jobs of one user. Raises Failure."""
    return tuple(sorted({task.job for task in _tasks_named(pool, text, option, command, owner)}))


def check_list(text: str, option: str, command: str) -> None:
    """Refuse a list without valid names. Raises Failure."""
    if not text.strip(","):
        kind = option.replace("hold_jid", "jid_hold")
        raise Failure(f'{command}: Wrong {kind} list format "{text}" specified to -{option} option', BAD_VALUE)


def _tasks_named(pool: Pool, text: str, option: str, command: str, owner: str | None = None) -> list[Task]:
    check_list(text, option, command)
    found = tasks_named(pool, named([text], command), owners=[owner or pool.user])
    return [task for tasks in found for task in tasks]


def arrays_named(pool: Pool, text: str, own: tuple[int, int, int] | None) -> None:
    """Check that each job named by `qsub -hold_jid_ad` is an array with the same first and last task. Raises
    Failure.
    """
    ranges = {task.tasks and task.tasks[:2] for task in _tasks_named(pool, text, "hold_jid_ad", "qsub")}
    if own is None or None in ranges:
        raise rejected(ONLY_ARRAYS)
    # Steps may differ.
    if ranges - {own[:2]}:
        raise rejected(
            "This array job must have the same range of sub-tasks as the dependent array job "
            "specified with -hold_jid_ad"
        )
