"""The data of explanations.

An `Explanation` holds the clauses that decide the value. Each `Clause` has its place (the text that contains it, and
the names that lead there), its value, the attributes that it read and where those were set, and, for a simple
comparison, what would reverse it (`Change`).
"""

from __future__ import annotations

from enum import StrEnum

from roost.base.records import dataclass
from roost.classad import Value
from roost.classad.syntax import Span


class UsedSide(StrEnum):
    """The ad that an attribute was found in."""

    MY = "MY"
    TARGET = "TARGET"
    #: An ad nested in one of the two, or the language itself (CurrentTime).
    OTHER = ""
    #: In neither ad.
    NOWHERE = "nowhere"


class Role(StrEnum):
    """The role of a clause for the value."""

    #: Its value is the reason.
    CAUSE = "cause"
    #: It does not decide, but would if it were different.
    CONDITION = "condition"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an attribute or an expression was set."""

    file: str
    #: First line is 1; 0 where there are no lines.
    line: int = 0
    #: Why the file was read, for instance through ``use POLICY``; "" if directly.
    via: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place} ({self.via})" if self.via else place


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A name that led from one text to the one that defines it."""

    #: As the ad spells it.
    name: str
    side: UsedSide
    #: The name in the text that holds it.
    span: Span
    #: The expression that it is defined as.
    text: str
    value: Value
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """An attribute that a clause read."""

    #: As spelled in the ad, or in the clause if there is no such attribute.
    name: str
    side: UsedSide
    value: Value
    #: The expression that defines it; None for a plain value.
    text: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One side of a comparison."""

    text: str
    value: Value
    #: Whether it is a constant or consists only of constants.
    constant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What would reverse a clause."""

    #: The operand that would have to be different, as written.
    subject: str
    #: The side of a plain attribute; None for an operand that is more than a name.
    side: UsedSide | None
    #: ``>``, ``<=``, ``==``, ``is``, … between the subject and the bound.
    relation: str
    bound: Value
    now: Value
    #: A value that satisfies it; None if none is offered.
    example: Value | None
    #: The resulting value of the clause.
    clause: bool
    #: The resulting value of the whole expression, all else being equal.
    result: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A sub-expression that is treated as a unit: a comparison, a call, a name, a constant."""

    #: As written.
    text: str
    #: Its place in the text of the last of `path`, or of the explained expression.
    span: Span
    value: Value
    role: Role = Role.CAUSE
    #: The names that lead from the explained expression to it, outermost first.
    path: tuple[Step, ...] = ()
    #: Both sides of a comparison; empty for anything else.
    operands: tuple[Operand, ...] = ()
    #: Attributes read, through definitions too, in the order of the text.
    attributes: tuple[Used, ...] = ()
    #: What would reverse it; None if there is no simple change.
    change: Change | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an expression has its value."""

    #: The name of the expression; "" for a bare expression.
    name: str
    text: str
    value: Value
    origin: Origin | None
    #: The smallest set of clauses that decides the value, in the order of evaluation.
    clauses: tuple[Clause, ...]
    #: Other sets of clauses, each of which could replace some of those.
    also: tuple[tuple[Clause, ...], ...] = ()
    #: Changes that together would reverse the value; empty if none were found.
    changes: tuple[Change, ...] = ()
    #: The value after `changes`; UNDEFINED if there are none.
    changed: Value | None = None
    #: Whether the expression is too large to analyze: `clauses` is then empty.
    truncated: bool = False
