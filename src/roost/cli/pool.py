"""What all commands that talk to a pool have in common: which pool, asking it, and saying what it says.

A question is one message and its answer; the connection is made for it. So commands start at once, and need nothing
but the state directory's contact file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from roost.cli.terminal import CommandError, say
from roost.runtime.bus import Bus, BusError
from roost.runtime.home import Home, HomeError
from roost.wire.messages import Answer, Ask

T = TypeVar("T")


class Refused(CommandError):
    """The pool answered with a refusal; the text is the pool's."""

    def __init__(self, answer: Answer) -> None:
        text = answer.text or answer.code or "refused"
        super().__init__(text + (f"\n    hint: {answer.remedy}" if answer.remedy else ""))
        self.answer = answer


def add_pool_options(parser: argparse.ArgumentParser, *, as_json: bool = True) -> None:
    """The options that every command of a pool has."""
    parser.add_argument("--home", metavar="DIR", help="state directory of the pool (default: ROOST_HOME)")
    if as_json:
        parser.add_argument("--json", action="store_true", help="print JSON")


class Pool:
    """A running pool, as a command sees it."""

    def __init__(self, bus: Bus, contact: dict[str, Any]) -> None:
        self.bus = bus
        self.contact = contact

    @property
    def user(self) -> str:
        """In whose name the command asks."""
        return self.bus.settings.name

    async def schedd(self, what: str, **args: Any) -> Any:
        """Ask the queue. Raises Refused and CommandError."""
        return await self._ask(self.bus.subjects.ask_schedd(self.contact["schedd"], self.user), what, args)

    async def central(self, what: str, **args: Any) -> Any:
        """Ask the central manager. Raises Refused and CommandError."""
        return await self._ask(self.bus.subjects.ask_central(self.user), what, args)

    async def node(self, node: str, what: str, **args: Any) -> Any:
        """Ask an execute machine. Raises Refused and CommandError."""
        return await self._ask(self.bus.subjects.ask_node(node or self.contact["node"], self.user), what, args)

    async def _ask(self, subject: str, what: str, args: dict[str, Any]) -> Any:
        try:
            answer = await self.bus.ask(subject, Ask(what=what, args=args))
        except BusError as error:
            raise CommandError(str(error)) from None
        if not answer.ok:
            raise Refused(answer)
        return answer.data


@asynccontextmanager
async def connected(home: Home) -> AsyncIterator[Pool]:
    """A connection to the pool of a state directory. Raises CommandError."""
    try:
        contact = home.contact()
        bus = await Bus.connect(home.client(), patient=False)
    except (HomeError, BusError) as error:
        raise CommandError(str(error)) from None
    try:
        yield Pool(bus, contact)
    finally:
        await bus.close()


def with_pool(args: argparse.Namespace, work: Callable[[Pool], Awaitable[T]]) -> T:
    """Do something with the pool that the arguments name."""

    async def whole() -> T:
        async with connected(Home.find(args.home)) as pool:
            return await work(pool)

    return asyncio.run(whole())


def print_json(data: Any) -> None:
    """Print a value as JSON."""
    json.dump(data, sys.stdout, indent=2, sort_keys=False)
    sys.stdout.write("\n")


# -- looks -----------------------------------------------------------------------------------------------------


def table(rows: list[list[str]], titles: list[str], right: frozenset[int] = frozenset()) -> None:
    """Print rows under titles; columns in `right` are flush right."""
    widths = [
        max(len(title), *(len(row[at]) for row in rows)) if rows else len(title) for at, title in enumerate(titles)
    ]
    for row in [titles, *rows]:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


def duration(seconds: float) -> str:
    """``3+04:05:06``, days left out where there are none."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}+{clock}" if days else clock


def counted(number: int, noun: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
