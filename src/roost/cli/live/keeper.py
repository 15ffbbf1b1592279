"""A process alongside a command that is connected to a program: it ends the job if the command is killed.

The *keeper* has the other end of a pipe, so it does not matter what kills the command. It also sends keepalives for the
user to the machine, so a stopped command (Ctrl-Z) loses nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final, NoReturn

from roost.cli.pool_connection import Pool, Refused, connected
from roost.cli.terminal import CommandError
from roost.runtime.home import Home
from roost.wire.requests import machine, queue

#: Interval of the keeper's keepalives, s.
_KEEP_S: Final = 10.0
#: Signals that end the command, and its job with it.
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: How long a removed job may take to end, s, before its session is left to the machine's lease.
_LEAVE_S: Final = 30.0
_PAUSE_S: Final = 0.2
_HOSTS: Final = ("RemoteHost", "LastRemoteHost")
_GONE: Final = "the command that opened it is no longer running"


class Ended(BaseException):
    """A signal ends this command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def signals_end() -> Iterator[None]:
    """Raise Ended for each signal that ends a command, where it is not ignored."""

    def end(number: int, _: FrameType | None) -> NoReturn:
        raise Ended(number)

    for each in _ENDING:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, end)
    yield


class Keeper:
    """A process that ends a job, or a shell alongside one, when this process is gone."""

    def __init__(self, number: str, session: str = "", *, removes: bool = True) -> None:
        """`removes`: the job to remove when this process is gone; otherwise only the connected program ends.

        `session` is that of a job that has one, because this process may be gone before it knows the job's machine.
        """
        reader, self._writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._writer)
                _keep(number, session, reader, removes=removes)
            finally:
                os._exit(0)
        os.close(reader)

    def follow(self, session: str, host: str) -> None:
        """Note the job's machine, and send it keepalives for the user."""
        self._say(f"{session} {host}\n")

    def leave(self) -> None:
        """Leave the job as it is."""
        self._say("done\n")

    def end(self) -> None:
        """End the keeper; without `leave` the job is removed."""
        os.close(self._writer)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._writer, line.encode())


def _keep(number: str, session: str, reader: int, *, removes: bool) -> None:
    """Run the keeper."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    place: list[str] = []
    while True:
        ready, _, _ = select.select([reader], [], [], _KEEP_S)
        if not ready:
            if place:
                with contextlib.suppress(CommandError), connected(Home.find(None)) as pool:
                    pool.ask(machine.KeepStreams(session=place[0]), machine=place[1])
            continue
        said = os.read(reader, 4096).decode().split()
        if said[-1:] == ["done"]:
            return
        if not said:
            break
        place = said[:2]
    with connected(Home.find(None)) as pool:
        if removes:
            pool.ask(queue.Act(action="remove", jobs=(number,), reason=_GONE))
        if place:
            pool.ask(machine.LeaveStreams(session=place[0]), machine=place[1])
        elif session and removes:
            _leave(pool, number, session)


def _leave(pool: Pool, number: str, session: str) -> None:
    """End the session of a removed job, on whichever machine the job started or was about to start."""
    until = time.monotonic() + _LEAVE_S
    while True:
        rows = pool.ask(queue.Query(jobs=(number,), projection=("ClusterId", "RemoteHost")))
        found = rows or pool.ask(queue.History(jobs=(number,), projection=("ClusterId", "LastRemoteHost")))
        for host in {str(row.get(name) or "").rpartition("@")[2] for row in found for name in _HOSTS}:
            with contextlib.suppress(Refused):
                if host:
                    pool.ask(machine.LeaveStreams(session=session), machine=host)
                    return
        if not rows or time.monotonic() >= until:
            return
        time.sleep(_PAUSE_S)
