"""The common part of all commands that talk to a pool: finding it, making requests, and printing its answers.

A request is one message and its answer, over a plain connection made for it. Commands therefore start at once, and need
only the contact file in the state directory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from roost.cli.colour import by_meaning, wanted
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


def print_json(data: Any) -> None:
    """Print a value as JSON."""
    json.dump(data, sys.stdout, indent=2, sort_keys=False)
    sys.stdout.write("\n")


# -- looks -----------------------------------------------------------------------------------------------------


def table(
    rows: list[list[str]],
    titles: list[str],
    right: frozenset[int] = frozenset(),
    *,
    coloured: frozenset[int] = frozenset(),
) -> None:
    """Print rows under headings; columns in `right` are right-aligned, those in `coloured` coloured by the meaning of
    their word.
    """
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    form = "  ".join(f"{{:{'>' if at in right else '<'}{wide}}}" for at, wide in enumerate(widths)).format
    painting = bool(coloured) and wanted()
    write = sys.stdout.write
    write(form(*titles).rstrip() + "\n")
    for row in rows:
        if painting:
            # Escape codes count in a column's width, but take no space: pad before colouring.
            row = [by_meaning(f"{cell:{widths[at]}}") if at in coloured else cell for at, cell in enumerate(row)]
        write(form(*row).rstrip() + "\n")


def arguments(row: dict[str, Any]) -> str:
    """A job's arguments as typed in a shell; new-style quoting is removed where it is not needed."""
    new = row.get("Arguments")
    if not isinstance(new, str):
        return str(row.get("Args") or "")
    words, word, quoted, begun, at = [], "", False, False, 0
    while at < len(new):
        sign = new[at]
        if sign == "'":
            begun = True
            if quoted and new[at + 1 : at + 2] == "'":
                word += "'"
                at += 1
            else:
                quoted = not quoted
        elif sign.isspace() and not quoted:
            words += [word] if begun else []
            word, begun = "", False
        else:
            word, begun = word + sign, True
        at += 1
    words += [word] if begun else []
    return " ".join(each if each and not any(c.isspace() for c in each) else f"'{each}'" for each in words)


def job_name(row: Mapping[str, Any]) -> str:
    """``12.0``, the name of the job of a row."""
    return f"{row['ClusterId']}.{row['ProcId']}"


def no_such_job(name: str) -> CommandError:
    """The error for a job or cluster that is in neither the queue nor the history."""
    return CommandError(
        f"there is no job {name} in the queue or in the history; `roost queue` and `roost history` list the jobs"
    )


def duration(seconds: float) -> str:
    """``3+04:05:06``, without days if there are none."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}+{clock}" if days else clock


def counted(number: int, noun: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
