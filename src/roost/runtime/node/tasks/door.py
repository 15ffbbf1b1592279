"""A machine's socket for processes of parallel jobs: `qrsh -inherit` requests here a task on a host of its job.

It is an abstract Unix socket, whose name stays the same when the daemon is restarted. A process proves that it belongs
to a run with a secret from the job's environment, and the kernel identifies its user: both have to be the job's.
Requests are messages, each preceded by its length (4 bytes, big-endian), and so are the answers:

1. `OpenTask`, answered with `TaskBegun`. Repeated on another connection, it refers to the same task.
2. `ReadTask`, answered with `TaskPrinted`, and `WriteTask`, answered with `TaskTook`, any number of times.

A task whose reader disconnects before the end is ended. While this daemon is down nothing is lost: the process
reconnects.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import socket
import struct
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol

from roost.runtime.node.runs.job_tasks import JobTasks, PeerSilent, door_name, secret_of
from roost.runtime.node.tasks.relays import TaskRelay
from roost.wire import messages as m
from roost.wire.codec import decode, encode
from roost.wire.errors import WireError
from roost.wire.messages import Message

if TYPE_CHECKING:
    from roost.runtime.node.starter_orders import StarterOrders
    from roost.runtime.node.tasks.slave_tasks import SlaveTasks
    from roost.runtime.role import RoleContext

_log = logging.getLogger("roost.node")

#: Maximum size of a message, bytes: a piece of input, or arguments and environment.
MESSAGE_BYTES_MAX: Final = 2 * 1024 * 1024
#: Maximum number of concurrent connections.
CONNECTIONS_MAX: Final = 4096
_LENGTH: Final = struct.Struct(">I")
_CREDENTIALS: Final = struct.Struct("3i")


class DoorDaemon(Protocol):
    """The interface of the machine's daemon for the socket."""

    name: str
    context: RoleContext
    starter_orders: StarterOrders
    slave_tasks: SlaveTasks


class TaskDoor:
    """The socket of one machine."""

    def __init__(self, daemon: DoorDaemon) -> None:
        self._daemon = daemon
        self._key = daemon.context.home.secret()
        self._server: asyncio.Server | None = None
        self._open = 0

    async def begin(self) -> None:
        """Start listening."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(f"\0{door_name(self._key, self._daemon.name)}")
            self._server = await asyncio.start_unix_server(self._visit, sock=listener)
        except OSError as problem:
            listener.close()
            _log.warning("parallel jobs cannot start slave tasks from this machine: %s", problem.strerror)

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= CONNECTIONS_MAX:
                await self._serve(reader, writer)
        except (OSError, EOFError, WireError, PeerSilent) as problem:
            _log.debug("door: %s", problem)
        except asyncio.CancelledError:
            # The daemon ends.
            pass
        finally:
            self._open -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await _read(reader)
        if not isinstance(asked, m.OpenTask):
            return
        tasks = self._tasks_of(asked, _user(writer))
        if tasks is None:
            text = f"received task belongs to job {asked.job} but that job is not here"
            await _write(writer, m.TaskBegun(error=text))
            return
        begun = await tasks.open(asked)
        if begun.error:
            await _write(writer, begun)
            return
        # From now on the task ends with its caller, even if that has not asked for output yet.
        reads = not asked.feeds
        try:
            await _write(writer, begun)
            while True:
                message = await _read(reader)
                if isinstance(message, m.ReadTask) and message.task == asked.task:
                    printed = await _unless_gone(reader, tasks.forward(message, m.TaskPrinted))
                    reads = not printed.ended
                    await _write(writer, printed)
                elif isinstance(message, m.WriteTask) and message.task == asked.task:
                    await _write(writer, await tasks.forward(message, m.TaskTook))
                else:
                    return
        except (OSError, EOFError):
            if reads:
                await tasks.forward(m.EndTask(task=asked.task), m.Answer)

    def _tasks_of(self, asked: m.OpenTask, user: int) -> JobTasks | TaskRelay | None:
        """The tasks of the run to which a process belongs; None if it has none here."""
        if not hmac.compare_digest(asked.secret.encode(), secret_of(self._key, asked.run).encode()):
            return None
        for runner in self._daemon.starter_orders.runners.values():
            if runner.run == asked.run and runner.tasks is not None:
                owner = os.geteuid() if runner.account is None else runner.account.uid
                return runner.tasks if user == owner else None
        return self._daemon.slave_tasks.relay(asked.run, user)


async def _unless_gone(reader: asyncio.StreamReader, work: Coroutine[Any, Any, m.TaskPrinted]) -> m.TaskPrinted:
    """The result of work, unless the peer process is gone first. Raises EOFError."""
    task = asyncio.ensure_future(work)
    # It sends nothing before it has its answer.
    gone = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise EOFError
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await each


async def _read(reader: asyncio.StreamReader) -> Message:
    """Raises EOFError (a subclass of which `readexactly` raises), OSError and WireError."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > MESSAGE_BYTES_MAX:
        raise WireError(f"{length} bytes exceed MESSAGE_BYTES_MAX")
    return decode(await reader.readexactly(length))


async def _write(writer: asyncio.StreamWriter, message: Message) -> None:
    data = encode(message)
    writer.write(_LENGTH.pack(len(data)) + data)
    await writer.drain()


def _user(writer: asyncio.StreamWriter) -> int:
    """The user of the peer process."""
    listener: socket.socket = writer.get_extra_info("socket")
    _, user, _ = _CREDENTIALS.unpack(listener.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return int(user)
