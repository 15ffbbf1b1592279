"""The slave tasks of a parallel job on the machine of its master: their locations, and their end with the job.

Processes of the job request tasks through this machine's socket (`door`); the queue says where the job has its slots,
and the machine there starts the task. The machines involved are stored next to the record of the run. When the job's
program has ended, they end the remaining tasks and report the usage of all tasks, which goes to the queue with the end
of the run. When the job is suspended, so are its tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from roost.model.cell_accounting import TaskUse
from roost.runtime.bus.client import BusError, Carrier
from roost.runtime.files.whole_files import write_whole
from roost.wire import messages as m
from roost.wire.messages import Message

_log = logging.getLogger("roost.node")

#: Suffix of the files that say where a run has tasks.
SLAVES: Final = ".slaves"
#: The variable of a job's environment with the socket's address for its processes: socket, secret and run.
DOOR: Final = "ROOST_TASKS"
#: How long to wait for an answer before the request is repeated, and how long a machine is asked in total, s.
ANSWER_S: Final = 10.0
TRY_S: Final = 30.0
#: How long machines may take to end the tasks of a finished job, s: shorter than a killed job may take to disappear
#: before its starter is given up. What they end later is not accounted for.
END_S: Final = 10.0
_PAUSE_S: Final = 0.2
#: Types of answers to messages about a task.
KINDS: Final[dict[type[Message], type[Message]]] = {
    m.ReadTask: m.TaskPrinted, m.WriteTask: m.TaskTook, m.EndTask: m.Answer,
}  # fmt: skip
_A = TypeVar("_A", bound=Message)


class _Kept(msgspec.Struct, kw_only=True):
    """The stored data."""

    #: Machine to the claims of the job there.
    places: dict[str, list[str]] = {}
    #: The usage of all tasks, once the job is over.
    used: list[TaskUse] | None = None


class PeerSilent(Exception):
    """A machine, or the queue, does not answer."""


def door_name(key: bytes, node: str) -> str:
    """The name of a machine's socket (`door`), without the leading NUL byte; `key` is its secret."""
    return f"roost-{hmac.new(key, f'door {node}'.encode(), hashlib.sha256).hexdigest()[:32]}"


def door_words(key: bytes, node: str, run: str) -> str:
    """The value of `DOOR` in the environment, with which a process of a run finds the socket of its machine."""
    return f"{door_name(key, node)} {secret_of(key, run)} {run}"


def secret_of(key: bytes, run: str) -> str:
    """A secret that only processes of a run have; `key` is the secret of the machine."""
    return hmac.new(key, f"tasks {run}".encode(), hashlib.sha256).hexdigest()[:32]


async def ask_machine(bus: Carrier, subject: str, message: Message, kind: type[_A], for_s: float | None) -> _A:
    """Repeat a request until there is an answer of a type, or for some time. Raises PeerSilent."""
    loop = asyncio.get_running_loop()
    until = None if for_s is None else loop.time() + for_s
    while True:
        left_s = ANSWER_S if until is None else max(_PAUSE_S, min(ANSWER_S, until - loop.time()))
        try:
            answer = await bus.request(subject, message, left_s)
        except BusError as error:
            if until is not None and loop.time() >= until:
                raise PeerSilent(f"{type(message).__name__} was not answered: {error}") from None
            await asyncio.sleep(_PAUSE_S)
            continue
        if isinstance(answer, kind):
            return answer
        text = answer.text if isinstance(answer, m.Answer) else type(answer).__name__
        raise PeerSilent(f"{type(message).__name__} was answered with: {text}")


class JobTasks:
    """The tasks of one run."""

    def __init__(
        self, bus: Carrier, node: str, schedd: str, run: str, record: Path, ends_job: Callable[[], None]
    ) -> None:
        """`record` is the record of the run; `ends_job` ends the job at once."""
        self._bus, self._node, self._schedd, self._run = bus, node, schedd, run
        self._path = record.with_suffix(SLAVES)
        self._ends_job = ends_job
        self._kept = self._read()
        #: Task to its machine.
        self._machines: dict[str, str] = {}
        #: Task to the machine on which another task requested it.
        self.relayed: dict[str, str] = {}
        self._holds: dict[str, asyncio.Task[None]] = {}
        self._still = False

    def _read(self) -> _Kept:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return _Kept()
        except (OSError, msgspec.DecodeError) as error:
            _log.error("%s cannot be read: %s", self._path, error)
            return _Kept()

    # -- messages ----------------------------------------------------------------------------------------

    async def open(self, asked: m.OpenTask) -> m.TaskBegun:
        """Start a task; a repeated request refers to the same task."""
        number = self._run.partition(".")[0]
        if asked.job != number:
            return m.TaskBegun(error=f"received task belongs to job {asked.job} but that job is not here")
        if self._kept.used is not None:
            return m.TaskBegun(error=f"received task belongs to job {number} but that job is over")
        try:
            question = m.AskTaskPlace(run=self._run, host=asked.host)
            place = await ask_machine(
                self._bus, self._bus.subjects.schedd(self._schedd, self._node), question, m.TaskPlace, TRY_S
            )
            if place.error:
                return m.TaskBegun(error=place.error)
            self._keep_place(place)
            self._machines[asked.task] = place.node
            begin = m.BeginTask(
                run=self._run,
                task=asked.task,
                claims=place.claims,
                queues=place.queues,
                first=place.first,
                words=asked.words,
                exported=asked.exported,
                told=asked.told,
                directory=asked.directory,
                shell=asked.shell,
                stdin=asked.stdin,
                rows=asked.rows,
                columns=asked.columns,
            )
            return await ask_machine(self._bus, self._subject(place.node), begin, m.TaskBegun, TRY_S)
        except PeerSilent as problem:
            return m.TaskBegun(error=str(problem))
        except OSError as problem:
            return m.TaskBegun(error=f"cannot write {self._path}: {problem.strerror}")

    def has_tasks_on(self, node: str) -> bool:
        """Whether the job has, or had, tasks on a machine, whose processes may request further ones."""
        return node in self._kept.places

    def _keep_place(self, place: m.TaskPlace) -> None:
        if self._kept.places.get(place.node) != place.claims:
            self._kept.places[place.node] = place.claims
            self._keep()

    def _keep(self) -> None:
        write_whole(self._path, msgspec.json.encode(self._kept))

    def _subject(self, node: str) -> str:
        return self._bus.subjects.tasks(node, self._node)

    async def forward(self, message: m.ReadTask | m.WriteTask | m.EndTask, kind: type[_A]) -> _A:
        """Forward a message to the machine of a task, repeatedly until it answers. Raises PeerSilent for an unknown
        task.
        """
        node = self._machines.get(message.task)
        if node is None:
            raise PeerSilent("the task is not known")
        answer = await ask_machine(self._bus, self._subject(node), message, kind, None)
        if isinstance(answer, m.TaskPrinted) and answer.signal is not None and self._kept.used is None:
            # As in Grid Engine: the job cannot work correctly without it.
            _log.warning("tightly integrated parallel task of run %s on %s failed - killing job", self._run, node)
            self._ends_job()
        return answer

    # -- with the job ------------------------------------------------------------------------------------

    def hold(self, *, still: bool) -> None:
        """Suspend or resume the tasks together with the job."""
        self._still = still
        for node, claims in self._kept.places.items():
            before = self._holds.pop(node, None)
            if before is not None:
                before.cancel()
            message = m.HoldTasks(run=self._run, claims=claims, still=still)
            self._holds[node] = asyncio.create_task(self._hold(node, message), name=f"tasks of {self._run} on {node}")

    async def _hold(self, node: str, message: m.HoldTasks) -> None:
        with contextlib.suppress(PeerSilent):
            await ask_machine(self._bus, self._subject(node), message, m.Answer, None)

    async def end(self) -> None:
        """End the tasks after the job's program has ended, and record their usage."""
        if self._kept.used is not None or not self._kept.places:
            return
        found = await asyncio.gather(*(self._end(node, claims) for node, claims in self._kept.places.items()))
        self._kept.used = [use for uses in found for use in uses]
        try:
            self._keep()
        except OSError as problem:
            _log.error("cannot write %s: %s", self._path, problem.strerror)

    async def _end(self, node: str, claims: list[str]) -> list[TaskUse]:
        try:
            message = m.EndTasks(run=self._run, claims=claims)
            return (await ask_machine(self._bus, self._subject(node), message, m.TasksEnded, END_S)).tasks
        except PeerSilent as problem:
            # They end with the claims there at the latest.
            _log.warning("%s: tasks on %s: %s; their usage is not accounted for", self._run, node, problem)
            return []

    @property
    def used(self) -> list[TaskUse]:
        """The usage of the tasks of a finished job."""
        return self._kept.used or []

    def forget(self) -> None:
        """Stop all work for the run."""
        for task in self._holds.values():
            task.cancel()

    def done(self) -> None:
        """Clean up after the run."""
        self.forget()
        # A file that stays is removed at the daemon's next start.
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
