"""A task of a parallel job on the side of `qrsh -inherit`: requested at this machine's socket, read from and written
to.

The socket is that of the machine's daemon (`roost.runtime.node.tasks.door`). If the daemon stops, the task continues,
and so does this process once there is another daemon: it requests the same task again, from the first byte that it has
not received.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from roost.cli.live import keyboard
from roost.gridengine.commands.errors import Failure
from roost.wire import messages as m
from roost.wire.codec import decode, encode
from roost.wire.errors import WireError
from roost.wire.messages import Message

#: The variable with the address: its socket, the secret of the run, and the run.
DOOR: Final = "ROOST_TASKS"
#: Variables of this process that a task gets, under the same name or another one.
_TOLD: Final = ("SGE_STDIN_PATH", "SGE_STDOUT_PATH", "SGE_STDERR_PATH", "SGE_O_HOME", "SGE_O_SHELL")  # fmt: skip
#: Maximum size of input in one message, bytes.
_PIECE: Final = 64 * 1024
#: How long to wait for a daemon that is down, s.
AWAY_S: Final = 300.0
_PAUSE_S: Final = 0.1
_FULL_S: Final = 0.05
_LENGTH: Final = struct.Struct(">I")
_CREDENTIALS: Final = struct.Struct("3i")
#: Status of a task that did not end by itself.
_KILLED: Final = 128 + 9


class Task(NamedTuple):
    """The task to run."""

    words: Sequence[str]
    #: Variables of the environment for the task.
    exported: Mapping[str, str]
    #: "" for the directory of the job.
    directory: str
    #: Whether the user's shell runs it.
    shell: bool
    #: Whether the task reads the input of this process.
    stdin: bool


def inherit(host: str, task: Task, *, verbose: bool, terminal: bool = False) -> int:
    """Run a task on a host of this process's job; return its exit status. Raises Failure."""
    rows, columns = keyboard.terminal_size() if terminal else (0, 0)
    job = os.environ.get("JOB_ID", "")
    if not job:
        raise Failure('error: "qrsh" called with option "-inherit", but "JOB_ID" not set in environment')
    if "SGE_TASK_ID" not in os.environ:
        raise _failed(job, 'missing "SGE_TASK_ID" in environment')
    place = os.environ.get(DOOR, "").split(" ", 2)
    if len(place) != 3:
        raise _failed(job, refused(host), "the parallel environment of this job does not control slave tasks, or this "
                      "is not a process of the job on its first host")  # fmt: skip
    told = {name: os.environ[name] for name in _TOLD if name in os.environ}
    told["SGE_O_HOST"] = os.environ.get("HOSTNAME", "") or socket.gethostname()
    told["SGE_O_PATH"] = os.environ.get("PATH", "")
    asked = m.OpenTask(
        run=place[2],
        secret=place[1],
        job=job,
        task=uuid.uuid4().hex,
        host=host,
        words=list(task.words),
        exported={name: value for name, value in task.exported.items() if name != DOOR},
        told=told,
        directory=task.directory,
        shell=task.shell,
        stdin=task.stdin,
        rows=rows,
        columns=columns,
    )
    door = _Door(place[0], asked)
    try:
        begun = door.enter()
        if begun.error:
            raise _failed(job, refused(host), begun.error)
        if verbose:
            sys.stderr.write(f"task {begun.name} of job {job} has been started on {host}\n")
        with keyboard.raw() if terminal and task.stdin else contextlib.nullcontext():
            resized = keyboard.resizes() if terminal else None
            if task.stdin or terminal:
                threading.Thread(target=_feed, args=(place[0], asked, resized), daemon=True).start()
            return _relay(door, asked.task)
    finally:
        door.close()


def refused(host: str) -> str:
    """Grid Engine's message for a task that a host refuses."""
    return f'execution daemon on host "{host}" didn\'t accept task'


def _failed(job: str, what: str, why: str = "") -> Failure:
    text = f"error: executing task of job {job} failed: {what}"
    return Failure(f"{text}\n{why}" if why else text)


def _relay(door: _Door, task: str) -> int:
    """Write the output of the task, until it has ended; return its exit status."""
    at = [0, 0]
    while True:
        printed = door.ask(m.ReadTask(task=task, out=at[0], err=at[1]))
        if not isinstance(printed, m.TaskPrinted):
            raise Failure(f"error: the task is lost: {type(printed).__name__}")
        for number, data in enumerate((printed.out, printed.err)):
            _write(number + 1, data)
            at[number] += len(data)
        if printed.ended:
            if printed.error:
                raise Failure(f"error: the task is lost: {printed.error}")
            if printed.exit_code is not None:
                return printed.exit_code
            return _KILLED if printed.signal is None else 128 + printed.signal


def _write(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]


def _feed(name: str, asked: m.OpenTask, resized: int | None) -> None:
    """Send the task the input of this process, and the size of its terminal, on a separate connection."""
    files, offset = ([0] if asked.stdin else []) + ([] if resized is None else [resized]), 0
    feeding = msgspec.structs.replace(asked, feeds=True)
    with contextlib.suppress(Failure, OSError), contextlib.closing(_Door(name, feeding)) as door:
        if door.enter().error:
            return
        while files:
            ready, _, _ = select.select(files, [], [])
            if resized is not None and resized in ready:
                os.read(resized, _PIECE)
                rows, columns = keyboard.terminal_size()
                door.ask(m.WriteTask(task=asked.task, offset=offset, rows=rows, columns=columns))
            if 0 in ready:
                data = os.read(0, _PIECE)
                if not _given(door, asked.task, offset, data):
                    return
                offset += len(data)
                if not data:
                    files.remove(0)


def _given(door: _Door, task: str, offset: int, data: bytes) -> bool:
    """Send the task a whole piece of input, an empty one for the end; return whether it wants more."""
    end, last = offset + len(data), not data
    while True:
        took = door.ask(m.WriteTask(task=task, offset=offset, data=data, last=last))
        if not isinstance(took, m.TaskTook) or took.over:
            return False
        data, offset = data[took.offset - offset :], took.offset
        if offset >= end and (took.closed or not last):
            return True
        time.sleep(_FULL_S)


class _Door:
    """A connection to the socket."""

    def __init__(self, name: str, asked: m.OpenTask) -> None:
        self._name, self._asked = name, asked
        self._channel: socket.socket | None = None

    def enter(self) -> m.TaskBegun:
        """Request the task. Raises Failure if no daemon answers."""
        until = time.monotonic() + AWAY_S
        while True:
            try:
                self._channel = self._connected()
                self._say(self._asked)
                answer = self._hear()
                return answer if isinstance(answer, m.TaskBegun) else m.TaskBegun(error=type(answer).__name__)
            except (OSError, EOFError, WireError) as problem:
                self.close()
                if time.monotonic() >= until:
                    raise Failure(f"error: the machine's daemon does not answer: {problem}") from None
                time.sleep(_PAUSE_S)

    def ask(self, message: Message) -> Message:
        """Send a message and return the answer; if the daemon is down, that of its successor."""
        while True:
            try:
                self._say(message)
                return self._hear()
            except (OSError, EOFError, WireError):
                self.close()
                begun = self.enter()
                if begun.error:
                    raise Failure(f"error: the task is lost: {begun.error}") from None

    def close(self) -> None:
        """Close the connection."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _connected(self) -> socket.socket:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            channel.connect(f"\0{self._name}")
            found = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            if _CREDENTIALS.unpack(found)[1] not in (0, os.geteuid()):
                # Any program may take the name of an abstract socket while the daemon is down.
                raise ConnectionRefusedError("the socket is not that of the machine's daemon")
        except OSError:
            channel.close()
            raise
        return channel

    def _say(self, message: Message) -> None:
        if self._channel is None:
            raise EOFError
        data = encode(message)
        self._channel.sendall(_LENGTH.pack(len(data)) + data)

    def _hear(self) -> Message:
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return decode(self._read(length))

    def _read(self, size: int) -> bytes:
        assert self._channel is not None
        found = b""
        while len(found) < size:
            piece = self._channel.recv(size - len(found))
            if not piece:
                raise EOFError
            found += piece
        return found
