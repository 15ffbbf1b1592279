"""Submit an interactive job, wait until it starts, and connect to it.

A separate process, the *keeper*, removes the job if this process is killed, for whatever reason.
"""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING

from roost.base.records import dataclass
from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.awaiting import wait_for_machine
from roost.cli.gridengine.description import plan_of
from roost.cli.gridengine.qsub import follow, show_plan
from roost.cli.live import keyboard
from roost.cli.live.keeper import Ended, Keeper, signals_end
from roost.cli.pool_connection import Refused
from roost.gridengine.commands.errors import Failure
from roost.model import cell_requests as cell
from roost.model.cell_requests import Interaction
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.gridengine.description import Work
    from roost.cli.pool_connection import Pool
    from roost.gridengine.commands.qsub import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The requested interactive job."""

    #: The command that was run.
    called: str
    asked: Asked
    work: Work
    interaction: Interaction
    #: Whether the job must start now or not at all.
    now: bool
    #: Whether it has a terminal, whether it reads input, whether messages are printed.
    terminal: bool
    stdin: bool
    verbose: bool


def interact(wish: Wish) -> int:
    """Carry it out; return the exit status. Raises Failure."""
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

    if "verify" in wish.asked.flags:
        return show_plan(plan)

    def work(pool: Pool) -> int:
        follow(pool, plan, wish.asked)
        if (verify := wish.asked.texts.get("w", "n")) != "n":
            from roost.cli.gridengine.verifying import verified

            if not verified(pool, plan, verify):
                return 0
        with signals_end():
            try:
                return _run(pool, wish, session, pool.ask(queue.Submit(clusters=(plan.to_data(),)))[0])
            except Refused as refused:
                raise Failure(refused.answer.text or str(refused)) from None
            except Ended as ended:
                return 128 + ended.number

    return ask(wish.called, work)


def _run(pool: Pool, wish: Wish, session: str, taken: queue.Submitted) -> int:
    number = str(taken.cluster)
    keeper = Keeper(number, "" if wish.interaction is Interaction.WINDOW else session)
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
        from roost.cli.live.connection import Lost, RunningProgram, connect

        keeper.follow(session, host)
        place = RunningProgram(number, session, host, lambda pool: wait_for_machine(pool, number))
        try:
            status = connect(pool, place, stdin=wish.stdin, terminal=wish.terminal)
        except Lost as lost:
            raise Failure(f"error: {lost}") from None
        keeper.leave()
        return status
    finally:
        keeper.end()


def _tell(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
