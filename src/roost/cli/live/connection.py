"""The connection of a user to a running program: its output is printed here, and input from here is sent to it.

The program is a job, or a shell alongside one. Its machine keeps its output until later output is requested, and
accepts input by position. A killed daemon therefore loses neither, and this command waits for the next one.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from roost.cli.live import keyboard
from roost.cli.pool_connection import Refused, connected
from roost.cli.terminal import CommandError
from roost.runtime.home import Home
from roost.wire.requests import machine

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.wire.requests.verb import Request

R = TypeVar("R")

#: Maximum size of input in one message, bytes.
_PIECE: Final = 64 * 1024
#: How long to wait for a daemon that is down, s.
AWAY_S: Final = 300.0
_PAUSE_S: Final = 0.1
_FULL_S: Final = 0.02
#: How long an answer may take, s: that to a request for output may wait for 2 s.
_ANSWER_S: Final = 10.0


class Lost(Exception):
    """There is nothing left to be connected to; the text says why."""


class RunningProgram(NamedTuple):
    """The location of the program to which a user is connected."""

    job: str
    session: str
    machine: str
    #: Called when the machine does not know the session; returns while it may still begin, otherwise raises.
    await_start: Callable[[Pool], object]


def connect(pool: Pool, place: RunningProgram, *, stdin: bool, terminal: bool) -> int:
    """Stay connected to a program until it ends; return its exit status, 128 plus the number of a signal. Raises
    Lost.
    """
    with keyboard.raw() if terminal and stdin else contextlib.nullcontext():
        resized = keyboard.resizes() if terminal else None
        if stdin or terminal:
            feeder = _Feeder(place, stdin=stdin, resized=resized)
            threading.Thread(target=feeder.run, daemon=True).start()
        return _relay(pool, place)


def _relay(pool: Pool, place: RunningProgram) -> int:
    at = [0, 0]
    while True:
        printed = asked(pool, place, machine.ReadStreams(session=place.session, out=at[0], err=at[1]))
        for number, text in enumerate((printed.out, printed.err)):
            data = b64decode(text)
            at[number] += len(data)
            write(number + 1, data)
        if printed.ended:
            with contextlib.suppress(CommandError):
                pool.ask(machine.LeaveStreams(session=place.session), machine=place.machine)
            if printed.exit_code is None and printed.signal is None:
                raise Lost(f"job {place.job} has ended, but how it ended is unknown")
            return printed.exit_code if printed.exit_code is not None else 128 + (printed.signal or 0)


def write(stream: int, data: bytes) -> None:
    """Write all of it. Raises OSError."""
    while data:
        try:
            data = data[os.write(stream, data) :]
        except BlockingIOError:
            # Another process that shares the terminal has made it non-blocking.
            select.select([], [stream], [], 1.0)


def asked(pool: Pool, place: RunningProgram, request: Request[R]) -> R:
    """Make a request to the job's machine; wait while its daemon is down. Raises Lost."""
    until = time.monotonic() + AWAY_S
    while True:
        try:
            return pool.ask(request, machine=place.machine, within_s=_ANSWER_S)
        except Refused as refused:
            if refused.answer.code != "not-found":
                raise Lost(f"{refused}") from None
            # It has not started yet; the queue knows about a job that never will.
            place.await_start(pool)
            why: Exception = refused
        except CommandError as error:
            why = error
        if time.monotonic() > until:
            raise Lost(f"lost the session of job {place.job}: {why}") from None
        time.sleep(_PAUSE_S)


class _Feeder:
    """Sends the job the input of this process, and the size of its terminal, in a separate thread."""

    def __init__(self, place: RunningProgram, *, stdin: bool, resized: int | None) -> None:
        self._place = place
        self._files = ([0] if stdin else []) + ([] if resized is None else [resized])
        self._resized = resized

    def run(self) -> None:
        """Run until there is no more input, or the job accepts no more."""
        with contextlib.suppress(Lost, CommandError, OSError), connected(Home.find(None)) as pool:
            self._feed(pool)

    def _feed(self, pool: Pool) -> None:
        offset, session = 0, self._place.session
        while self._files:
            ready, _, _ = select.select(self._files, [], [])
            if self._resized is not None and self._resized in ready:
                os.read(self._resized, 4096)
                rows, columns = keyboard.terminal_size()
                asked(pool, self._place, machine.WriteStreams(session=session, rows=rows, columns=columns))
            if 0 in ready:
                data = os.read(0, _PIECE)
                offset = self._give(pool, offset, data)
                if not data:
                    self._files.remove(0)

    def _give(self, pool: Pool, offset: int, data: bytes) -> int:
        end, last, session = offset + len(data), not data, self._place.session
        while True:
            text = b64encode(data).decode("ascii")
            request = machine.WriteStreams(session=session, offset=offset, data=text, last=last)
            took = asked(pool, self._place, request)
            if took.over:
                sys.exit()
            data, offset = data[took.offset - offset :], took.offset
            if offset >= end and (took.closed or not last):
                return offset
            time.sleep(_FULL_S)
