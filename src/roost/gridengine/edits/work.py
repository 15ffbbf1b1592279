"""Shared by all edits: the order, its user, and the result that is built while an order is carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from roost.base import records
from roost.gridengine.cell import Cell
from roost.gridengine.changes import ChangedCell
from roost.gridengine.problems import Refused
from roost.gridengine.references import KnownHost, every_host


@records.dataclass(frozen=True, slots=True, kw_only=True)
class QconfOption:
    """One option of `qconf` that changes a cell."""

    #: As written, without the dash; an option with an editor is represented by the equivalent one with a file.
    option: str
    #: Its arguments, without the file.
    words: tuple[str, ...] = ()
    #: The text of the file, or from the editor.
    text: str = ""
    #: Name of the file in messages.
    file: str = ""
    #: Whether the text comes from the editor.
    edited: bool = False


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The user who gives the order."""

    user: str
    #: The host where the order was given, for messages.
    host: str
    #: Whether the user is a manager of the cell.
    manages: bool
    #: Whether the user is an operator.
    operates: bool
    #: Managers and operators that cannot be removed.
    lasting: frozenset[str] = frozenset(("root",))
    #: The host of the queue, which stays an administrative host.
    master: str = ""
    known_host: KnownHost = every_host

    @property
    def who(self) -> str:
        """The user and host of the change, in Grid Engine's words."""
        return f"{self.user}@{self.host}"


class Line(NamedTuple):
    """A line that is printed."""

    text: str
    #: Whether it goes to standard output rather than standard error.
    out: bool = False


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The result of an order. Parts of it may have been refused while others were carried out."""

    cell: Cell
    lines: tuple[Line, ...]
    #: Exit status of `qconf`.
    status: int
    #: Whether something was refused for lack of permission.
    denied: bool = False


class Stop(Exception):
    """Ends an order, or one of its parts; the lines say why."""

    def __init__(self, *lines: str, status: int = 1, denied: bool = False) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.status = status
        self.denied = denied


class Work:
    """An order that is being carried out."""

    def __init__(self, cell: Cell, asker: Asker) -> None:
        self.cell = cell
        self.asker = asker
        self.lines: list[Line] = []
        self.status = 0
        self.denied = False

    def say(self, text: str, *, out: bool = False) -> None:
        """Print a line."""
        self.lines.append(Line(text, out))

    def done(self, verb: str, name: str, where: str, *, out: bool = False) -> None:
        """Print that an object was changed."""
        between = {"removed": "from", "added": "to"}.get(verb, "in")
        self.say(f'{self.asker.who} {verb} "{name}" {between} {where} list', out=out)

    def needs(self, *, operator: bool = False, status: int = 1) -> None:
        """Raise Stop unless the asker is a manager, or an operator if that suffices."""
        if not (self.asker.manages or (operator and self.asker.operates)):
            what = "operator" if operator else "manager"
            raise Stop(f'denied: "{self.asker.user}" must be {what} for this operation', status=status, denied=True)

    def take(self, change: Callable[[], ChangedCell], *, status: int = 1) -> ChangedCell:
        """Make a change of the cell; raise Stop with Grid Engine's message if it is refused."""
        try:
            changed = change()
        except Refused as refused:
            raise Stop(refused.problems[0].message, status=status) from None
        self.cell = changed.cell
        return changed

    def each(self, parts: Iterable[str], step: Callable[[str], None]) -> None:
        """Carry out a step for each part; a refused part does not prevent the next."""
        for part in parts:
            self.tried(partial(step, part))

    def tried(self, step: Callable[[], None]) -> None:
        """Carry out a step; if it is refused, print why."""
        try:
            step()
        except Stop as stop:
            for line in stop.lines:
                self.say(line)
            self.status = self.status or stop.status
            self.denied = self.denied or stop.denied

    def result(self) -> Edited:
        """The result of the order."""
        return Edited(cell=self.cell, lines=tuple(self.lines), status=self.status, denied=self.denied)
