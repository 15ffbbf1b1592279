"""The parts of a regular expression: what `pcre_parser` makes and the two matchers read."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Final, TypeAlias

from roost.base.records import dataclass, field

#: Repeats without an upper bound.
UNBOUNDED: Final = -1


class PatternError(Exception):
    """A pattern is not valid, or uses what is not supported here."""


class Mode(Enum):
    """The number of repeats to try first, and whether others are tried."""

    GREEDY = "greedy"
    LAZY = "lazy"
    POSSESSIVE = "possessive"


class Anchor(StrEnum):
    """Conditions on a position in the subject."""

    SUBJECT_START = "\\A"
    SUBJECT_END = "\\z"
    SUBJECT_END_OR_LAST_NEWLINE = "\\Z"
    LINE_START = "^"
    LINE_END = "$"
    WORD_EDGE = "\\b"
    NO_WORD_EDGE = "\\B"
    SEARCH_START = "\\G"


@dataclass(frozen=True, slots=True)
class Empty:
    """Matches nothing, everywhere."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Matches nowhere: (*FAIL)."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """One byte out of a set."""

    among: frozenset[int]


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    items: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first of these that lets the rest match."""

    branches: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """A numbered group."""

    number: int
    body: Part


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` times `body`."""

    body: Part
    least: int
    #: UNBOUNDED for any number.
    most: int
    mode: Mode


@dataclass(frozen=True, slots=True)
class At:
    """A condition on the position."""

    place: Anchor


@dataclass(frozen=True, slots=True)
class Look:
    """Whether `body` matches here: behind (ends here) or ahead (begins here), or whether it does not."""

    body: Part
    behind: bool
    negative: bool
    #: For looking behind: the lengths of the branches of `body`.
    lengths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Atomic:
    """`body`, whose first way to match is the only one."""

    body: Part


@dataclass(frozen=True, slots=True)
class Backreference:
    """The text that one of these groups matched last."""

    numbers: tuple[int, ...]
    any_case: bool


@dataclass(frozen=True, slots=True)
class Recurse:
    """The pattern of a group again; 0 is the whole pattern."""

    number: int


@dataclass(frozen=True, slots=True)
class Condition:
    """`yes` if `test` holds, else `no`."""

    #: Group numbers (any of them has matched), a Look, or a recursion: (-1,) in any, (-1, n) in group n.
    test: tuple[int, ...] | Look
    yes: Part
    no: Part


@dataclass(frozen=True, slots=True)
class KeepOut:
    r"""What is before this place is not part of the match: \\K."""


Part: TypeAlias = (
    Empty
    | Fail
    | Bytes
    | Sequence
    | Choice
    | Capture
    | Repeat
    | At
    | Look
    | Atomic
    | Backreference
    | Recurse
    | Condition
    | KeepOut
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern."""

    body: Part
    #: How many groups it has.
    groups: int
    #: Whether a group is recursed into, referred back to or tested, or shares its number with another.
    refers: bool
    #: Groups by number; several for a number that (?| uses again.
    captures: dict[int, Capture] = field(default_factory=dict)


def fixed_length(part: Part) -> int | None:
    """How many bytes `part` always matches; None if that varies or is not known."""
    match part:
        case Empty() | Fail() | At() | Look() | KeepOut():
            return 0
        case Bytes():
            return 1
        case Capture(body=body) | Atomic(body=body):
            return fixed_length(body)
        case Sequence(items=items):
            lengths = [fixed_length(item) for item in items]
            return None if None in lengths else sum(filter(None, lengths))
        case Choice(branches=branches):
            found = {fixed_length(branch) for branch in branches}
            return found.pop() if len(found) == 1 else None
        case Repeat(body=Look(behind=False)):
            # A repeated assertion still takes no room; PCRE2 does not see that for one that looks behind.
            return 0
        case Repeat(body=body, least=least, most=most):
            length = fixed_length(body)
            return length * least if length is not None and least == most else None
    return None


def shortest_length(part: Part) -> int:
    """The fewest bytes that `part` can match."""
    match part:
        case Bytes():
            return 1
        case Capture(body=body) | Atomic(body=body):
            return shortest_length(body)
        case Sequence(items=items):
            return sum(map(shortest_length, items))
        case Choice(branches=branches):
            return min(map(shortest_length, branches))
        case Repeat(body=body, least=least):
            return shortest_length(body) * least
        case Condition(yes=yes, no=no):
            return min(shortest_length(yes), shortest_length(no))
    return 0


def compiled_size(part: Part) -> int:
    """About how many bytes PCRE2 compiles `part` to."""
    match part:
        case Bytes(among=among):
            return 2 if len(among) in (1, 255) or len(among) > 254 else 33
        case Sequence(items=items):
            return sum(map(compiled_size, items))
        case Choice(branches=branches):
            return sum(compiled_size(branch) + 3 for branch in branches) + 3
        case Capture(body=body):
            return compiled_size(body) + 8
        case Look(body=body) | Atomic(body=body):
            return compiled_size(body) + 6
        case Condition(yes=yes, no=no):
            return compiled_size(yes) + compiled_size(no) + 12
        case Repeat(body=body, least=least, most=most):
            if isinstance(body, Bytes):
                return compiled_size(body) + 6
            copies = max(1, least, most)
            return compiled_size(body) * copies + (max(0, most - least) * 7)
    return 3
