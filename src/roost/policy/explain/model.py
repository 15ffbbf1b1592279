"""What an explanation of a value says, as data.

An `Explanation` holds the clauses that decide the value. Each `Clause` says where it stands (the text it is a part
of, and the names that lead there), its value, the attributes it read and where those were set, and, for a simple
comparison, what would turn it round (`Change`).
"""

from __future__ import annotations

from enum import StrEnum

from roost.base.records import dataclass
from roost.classad import Value
from roost.classad.syntax import Span


class Side(StrEnum):
    """The ad that an attribute was found in."""

    MY = "MY"
    TARGET = "TARGET"
    #: An ad nested in one of the two, or the language itself (CurrentTime).
    OTHER = ""
    #: None: there is no such attribute.
    NOWHERE = "nowhere"


class Role(StrEnum):
    """What a clause has to do with the value."""

    #: Its value is the reason.
    CAUSE = "cause"
    #: It stands aside: were it different, it would decide instead.
    CONDITION = "condition"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an attribute or an expression was set."""

    file: str
    #: First line is 1; 0 where there are no lines.
    line: int = 0
    #: How the file came to be read, for instance through ``use POLICY``; "" if directly.
    via: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place} ({self.via})" if self.via else place


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A name that led from one text to the one that defines it."""

    #: As the ad spells it.
    name: str
    side: Side
    #: The name in the text that holds it.
    span: Span
    #: The expression it stands for.
    text: str
    value: Value
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """An attribute that a clause read."""

    #: As the ad spells it; as the clause does where there is no such attribute.
    name: str
    side: Side
    value: Value
    #: The expression that defines it; None for a plain value.
    text: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One side of a comparison."""

    text: str
    value: Value
    #: A constant, or made of constants alone.
    constant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What would turn a clause round."""

    #: The operand that would have to be different, as it is written.
    subject: str
    #: The side of a plain attribute; None for an operand that is more than a name.
    side: Side | None
    #: ``>``, ``<=``, ``==``, ``is``, … between the subject and the bound.
    relation: str
    bound: Value
    now: Value
    #: A value that satisfies it; None where none is offered.
    example: Value | None
    #: What the clause would be then.
    clause: bool
    #: What the whole expression would be then, all else being as it is.
    result: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A sub-expression that is taken as one: a comparison, a call, a name, a constant."""

    #: As written.
    text: str
    #: Where it stands, in the text of the last of `path`, or of the explained expression.
    span: Span
    value: Value
    role: Role = Role.CAUSE
    #: The names that lead from the explained expression to it, outermost first.
    path: tuple[Step, ...] = ()
    #: Both sides of a comparison; empty for anything else.
    operands: tuple[Operand, ...] = ()
    #: Attributes read, through definitions too, in the order of the text.
    attributes: tuple[Used, ...] = ()
    #: What would turn it round; None where that cannot be said simply.
    change: Change | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an expression has its value."""

    #: The name it was asked for under, "" for a bare expression.
    name: str
    text: str
    value: Value
    origin: Origin | None
    #: The smallest set of clauses that decides the value, in the order of evaluation.
    clauses: tuple[Clause, ...]
    #: Other sets of clauses, each of which would have given the same value in place of some of those.
    also: tuple[tuple[Clause, ...], ...] = ()
    #: Changes that together would turn the value round; empty where none were found.
    changes: tuple[Change, ...] = ()
    #: What the value would be after `changes`; UNDEFINED where there are none.
    changed: Value | None = None
    #: The expression is too large to take apart: `clauses` is empty.
    truncated: bool = False
