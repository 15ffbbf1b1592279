"""What all commands that talk to a pool have in common: which pool, asking it, and saying what it says.

A question is one message and its answer; a plain connection is made for it. So commands start at once, and need nothing
but the state directory's contact file.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from roost.cli.colour import by_meaning, wanted
from roost.cli.terminal import CommandError
from roost.runtime.bus_settings import BusError, NoAnswer, NobodyThere
from roost.runtime.home import Home, HomeError
from roost.runtime.line import ANSWER_S, Line
from roost.wire.plain import PlainAnswer

if TYPE_CHECKING:
    import argparse

T = TypeVar("T")

#: How long a daemon that does not listen is waited for, s.
_BACK_S: Final = 3.0
#: What changes nothing, and how long its answer is waited for before it is asked again, s.
_QUESTIONS: Final = frozenset(
    (
        "ads",
        "audit",
        "autocluster",
        "cycle",
        "explain-job",
        "explain-slot",
        "history",
        "overview",
        "query",
        "story",
        "summary",
    )
)
_PATIENT_S: Final = 5.0


class Refused(CommandError):
    """The pool answered with a refusal; the text is the pool's."""

    def __init__(self, answer: PlainAnswer) -> None:
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

    def __init__(self, line: Line, home: Home, contact: dict[str, Any]) -> None:
        self.line = line
        self.home = home
        self.contact = contact

    @property
    def user(self) -> str:
        """In whose name the command asks."""
        return self.line.settings.name

    def schedd(self, what: str, **args: Any) -> Any:
        """Ask the queue. Raises Refused and CommandError."""
        return self._ask_daemon("queue", self.line.subjects.ask_schedd(self.contact["schedd"], self.user), what, args)

    def central(self, what: str, **args: Any) -> Any:
        """Ask the central manager. Raises Refused and CommandError."""
        return self._ask_daemon("central manager", self.line.subjects.ask_central(self.user), what, args)

    def node(self, node: str, what: str, **args: Any) -> Any:
        """Ask an execute machine. Raises Refused and CommandError."""
        name = node or str(self.contact["node"])
        try:
            return self._ask(self.line.subjects.ask_node(name, self.user), what, args)
        except NobodyThere:
            raise CommandError(f"no machine {name!r} answers: `roost status` lists the machines") from None

    def _ask_daemon(self, who: str, subject: str, what: str, args: dict[str, Any]) -> Any:
        # A daemon that died is started again within moments, and what nobody heard may be said again.
        until = time.monotonic() + _BACK_S
        while True:
            try:
                return self._ask(subject, what, args)
            except NobodyThere:
                if time.monotonic() < until:
                    time.sleep(0.1)
                    continue
            hint = f"`roost status --daemons` shows what runs, {self.home.log} says why something does not"
            raise CommandError(f"the {who} does not answer: {hint}") from None

    def _ask(self, subject: str, what: str, args: dict[str, Any]) -> Any:
        # What a daemon was told in the instant of its death is lost; a question can be asked again.
        first_s = _PATIENT_S if what in _QUESTIONS else ANSWER_S
        try:
            try:
                answer = self.line.ask(subject, what, args, first_s)
            except NoAnswer:
                if what not in _QUESTIONS:
                    raise
                answer = self.line.ask(subject, what, args, ANSWER_S - first_s)
        except NobodyThere:
            raise
        except BusError as error:
            raise CommandError(str(error)) from None
        if not answer.ok:
            raise Refused(answer)
        return answer.data


@contextmanager
def connected(home: Home) -> Iterator[Pool]:
    """A connection to the pool of a state directory. Raises CommandError."""
    try:
        contact = home.contact()
        line = Line.connect(home.client())
    except (HomeError, BusError) as error:
        raise CommandError(str(error)) from None
    with line:
        yield Pool(line, home, contact)


def with_pool(args: argparse.Namespace, work: Callable[[Pool], T]) -> T:
    """Do something with the pool that the arguments name."""
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
    """Print rows under titles; columns in `right` are flush right, those in `coloured` by the meaning of their word."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    form = "  ".join(f"{{:{'>' if at in right else '<'}{wide}}}" for at, wide in enumerate(widths)).format
    painting = bool(coloured) and wanted()
    write = sys.stdout.write
    write(form(*titles).rstrip() + "\n")
    for row in rows:
        if painting:
            # The codes count for the width of a column, but take no room: pad before painting.
            row = [by_meaning(f"{cell:{widths[at]}}") if at in coloured else cell for at, cell in enumerate(row)]
        write(form(*row).rstrip() + "\n")


def arguments(row: dict[str, Any]) -> str:
    """A job's arguments as one would type them; of new-style ones the quoting is undone where it need not be."""
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


def duration(seconds: float) -> str:
    """``3+04:05:06``, days left out where there are none."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}+{clock}" if days else clock


def counted(number: int, noun: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
