"""The connection of a command to a pool: finding it, and making requests.

A request is one message and its answer, over a plain connection made for it. Commands therefore start at once, and need
only the contact file in the state directory.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from roost.cli.terminal import CommandError, complain
from roost.runtime.bus.pool_client import PoolClient, refusal_text
from roost.runtime.home import Home
from roost.wire.plain import PlainAnswer

if TYPE_CHECKING:
    import argparse

T = TypeVar("T")


class Refused(CommandError):
    """The pool answered with a refusal; the text is the pool's."""

    def __init__(self, answer: PlainAnswer) -> None:
        super().__init__(refusal_text(answer))
        self.answer = answer


def add_pool_options(parser: argparse.ArgumentParser, *, as_json: bool = True) -> None:
    """The options of every command of a pool."""
    parser.add_argument("--home", metavar="DIR", help="state directory of the pool (default: ROOST_HOME)")
    if as_json:
        parser.add_argument("--json", action="store_true", help="print JSON")


class Pool(PoolClient):
    """A running pool, for a command. Raises Refused and CommandError."""

    error_class = CommandError
    refused_class = Refused

    def warn(self, text: str) -> None:
        """Print a warning to standard error."""
        complain(f"warning: {text}")


def connected(home: Home) -> AbstractContextManager[Pool]:
    """A connection to the pool of a state directory. Raises CommandError."""
    return Pool.connected(home)


def with_pool(args: argparse.Namespace, work: Callable[[Pool], T]) -> T:
    """Run a function with the pool that the arguments name."""
    with connected(Home.find(args.home)) as pool:
        return work(pool)
