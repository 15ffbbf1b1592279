"""Submit a job that a user works with, wait until it starts, and connect to it.

A process beside this one, the *keeper*, has the job removed if this one is killed, whatever kills it: it has the other
end of a pipe. It also tells the job's machine that the user is there, so a stopped command (Ctrl-Z) loses no job.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import uuid
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

from roost.base.records import dataclass
from roost.cli.gridengine import keyboard
from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.awaiting import Place, wait_for_machine
from roost.cli.gridengine.description import plan_of
from roost.cli.gridengine.qsub import follow
from roost.cli.pool import Refused, connected
from roost.cli.terminal import CommandError
from roost.gridengine.commands.errors import Failure
from roost.model import cell_requests as cell
from roost.model.cell_requests import Interaction
from roost.runtime.home import Home
from roost.wire.requests import machine, queue

if TYPE_CHECKING:
    from roost.cli.gridengine.description import Work
    from roost.cli.pool import Pool
    from roost.gridengine.commands.qsub import Asked

#: How often the keeper says that the user is there, s.
_KEEP_S: Final = 10.0
#: Signals that end this command, and its job with it.
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Ended(BaseException):
    """A signal ends this command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a user wants to work with."""

    #: The command that was called.
    called: str
    asked: Asked
    work: Work
    interaction: Interaction
    #: A job that cannot start now does not start.
    now: bool
    #: It has a terminal, it reads something, it says what is done.
    terminal: bool
    stdin: bool
    verbose: bool


def interact(wish: Wish) -> int:
    """Do it; the exit status. Raises Failure."""
    _, plan = plan_of(wish.asked, wish.work)
    session = uuid.uuid4().hex
    plan.common[cell.INTERACTIVE] = str(wish.interaction)
    if wish.interaction is not Interaction.WINDOW:
        plan.common[cell.SESSION] = session
    if wish.terminal:
        plan.common[cell.TERMINAL] = "{}x{}".format(*keyboard.terminal_size())
    if not wish.stdin:
        plan.common[cell.NO_INPUT] = True
    if wish.asked.verifiers:
        from roost.cli.gridengine.jsv import verified as verified_by_programs

        plan = verified_by_programs(wish.asked, plan, wish.called)

    def work(pool: Pool) -> int:
        follow(pool, plan, wish.asked)
        if (verify := wish.asked.texts.get("w", "n")) != "n":
            from roost.cli.gridengine.verifying import verified

            if not verified(pool, plan, verify):
                return 0
        with _signals_end():
            try:
                return _run(pool, wish, session, pool.ask(queue.Submit(clusters=(plan.to_data(),)))[0])
            except Refused as refused:
                raise Failure(refused.answer.text or str(refused)) from None
            except Ended as ended:
                return 128 + ended.number

    return ask(wish.called, work)


@contextlib.contextmanager
def _signals_end() -> Iterator[None]:
    def end(number: int, _: FrameType | None) -> NoReturn:
        raise Ended(number)

    for each in _ENDING:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, end)
    yield


def _run(pool: Pool, wish: Wish, session: str, taken: queue.Submitted) -> int:
    number = str(taken.cluster)
    keeper = Keeper(number)
    try:
        for warning in taken.warnings:
            sys.stderr.write(f"{wish.called}: warning: {warning}\n")
        if wish.verbose:
            sys.stdout.write(f'Your job {number} ("{taken.name}") has been submitted\n')
            sys.stdout.flush()
            _tell("waiting for interactive job to be scheduled ...")
        host = wait_for_machine(pool, number)
        if not host:
            raise Failure(f'Your "{wish.called}" request could not be scheduled, try again later.')
        if wish.verbose:
            _tell(f"\nYour interactive job {number} has been successfully scheduled.\n")
        if wish.interaction is Interaction.WINDOW:
            keeper.leave()
            return 0
        if wish.verbose:
            _tell(f"Establishing builtin session to host {host} ...\n")
        from roost.cli.gridengine.connection import connect

        keeper.follow(session, host)
        status = connect(pool, Place(number, session, host), stdin=wish.stdin, terminal=wish.terminal)
        keeper.leave()
        return status
    finally:
        keeper.end()


def _tell(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class Keeper:
    """A process that ends a job when this one is gone."""

    def __init__(self, number: str) -> None:
        reader, self._writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._writer)
                _keep(number, reader)
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


def _keep(number: str, reader: int) -> None:
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
        pool.ask(queue.Act(action="remove", jobs=(number,), reason="the command that works with it is gone"))
        if place:
            pool.ask(machine.LeaveStreams(session=place[0]), machine=place[1])
