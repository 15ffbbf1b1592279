"""A process beside a command that is connected to a program: it ends the job if the command is killed.

The *keeper* has the other end of a pipe, so it does not matter what kills the command. It also tells the machine that
the user is there, so a stopped command (Ctrl-Z) loses nothing.
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

from roost.cli.pool import Pool, Refused, connected
from roost.cli.terminal import CommandError
from roost.runtime.home import Home
from roost.wire.requests import machine, queue

#: How often the keeper says that the user is there, s.
_KEEP_S: Final = 10.0
#: Signals that end the command, and its job with it.
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: How long a removed job may take to be gone, s, until its session is left alone for the machine to give up.
_LEAVE_S: Final = 30.0
_PAUSE_S: Final = 0.2
_HOSTS: Final = ("RemoteHost", "LastRemoteHost")
_GONE: Final = "the command that works with it is gone"


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
    """A process that ends a job, or a shell beside one, when this one is gone."""

    def __init__(self, number: str, session: str = "", *, removes: bool = True) -> None:
        """`removes`: the job, when this process is gone; else only the program that it is connected to ends.

        `session` is that of a job that has one, for this process may be gone before it knows the job's machine.
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
        """The job runs on a machine: tell it now and then that its user is there."""
        self._say(f"{session} {host}\n")

    def leave(self) -> None:
        """The job is to be left as it is."""
        self._say("done\n")

    def end(self) -> None:
        """Let go; without `leave` the job is removed."""
        os.close(self._writer)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._writer, line.encode())


def _keep(number: str, session: str, reader: int, *, removes: bool) -> None:
    """The keeper's life."""
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
    """Leave the session of a job that was removed, on whichever machine it was or is about to start."""
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
