"""Tasks that slave tasks start: their machine forwards requests at its socket to the machine of the job's master.

Only that machine knows where the job has its slots, counts its tasks and ends them, so it handles a task of a task like
one of its own (`runs.job_tasks`), and answers on behalf of the machine of the task. It accepts such requests only from
machines where the job has had tasks. A restarted machine is asked for the same task again, so nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from roost.runtime.bus.client import Carrier
from roost.runtime.node.runs.job_tasks import ANSWER_S, KINDS, TRY_S, JobTasks, PeerSilent, ask_machine
from roost.wire import messages as m
from roost.wire.messages import Message

if TYPE_CHECKING:
    from roost.runtime.node.runs.runner import Runner

_A = TypeVar("_A", bound=Message)


class TaskRelay:
    """Requests of processes of a run's slave tasks on this machine."""

    def __init__(self, bus: Carrier, node: str, master: str) -> None:
        """`node` is this machine, `master` that of the job's master."""
        self._bus, self._subject = bus, bus.subjects.tasks(master, node)

    async def open(self, asked: m.OpenTask) -> m.TaskBegun:
        """Start a task; a repeated request refers to the same task."""
        try:
            return await ask_machine(
                self._bus, self._subject, msgspec.structs.replace(asked, secret=""), m.TaskBegun, 2 * TRY_S
            )
        except PeerSilent as problem:
            return m.TaskBegun(error=str(problem))

    async def forward(self, message: m.ReadTask | m.WriteTask | m.EndTask, kind: type[_A]) -> _A:
        """Forward a message about a task, repeatedly until it is answered. Raises PeerSilent for an unknown task."""
        return await ask_machine(self._bus, self._subject, message, kind, None)


async def opened(runners: Iterable[Runner], asked: m.OpenTask, sender: str) -> m.TaskBegun:
    """Start a task that a process on another machine has requested there."""
    tasks = next((each.tasks for each in runners if each.run == asked.run), None)
    if tasks is None or not tasks.has_tasks_on(sender):
        return m.TaskBegun(error=f"received task belongs to job {asked.job} but that job is not here")
    begun = await tasks.open(asked)
    if not begun.error:
        tasks.relayed[asked.task] = sender
    return begun


def relayed(runners: Iterable[Runner], task: str, sender: str) -> JobTasks | None:
    """The tasks of the run of a task that the machine has requested."""
    for runner in runners:
        if runner.tasks is not None and runner.tasks.relayed.get(task) == sender:
            return runner.tasks
    return None


async def told(tasks: JobTasks, message: m.ReadTask | m.WriteTask | m.EndTask) -> Message | None:
    """The answer to a machine's message about a task of another one; None if that one is silent: the machine repeats
    it.
    """
    try:
        async with asyncio.timeout(ANSWER_S):
            return await tasks.forward(message, KINDS[type(message)])
    except TimeoutError:
        return None
    except PeerSilent as problem:
        return m.Answer(ok=False, code="no-task", text=str(problem))
