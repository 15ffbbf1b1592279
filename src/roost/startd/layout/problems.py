"""What is wrong with the description of slots: a code, the knob with its place, what was not met, and the remedy."""

from __future__ import annotations

from enum import StrEnum

from roost.base.records import dataclass
from roost.config import ConfigError, Span


class LayoutCode(StrEnum):
    """Kinds of problems with a layout; each has an entry in docs/concepts/slots.md."""

    BAD_DESCRIPTION = "slots-bad-description"
    BAD_VALUE = "slots-bad-value"
    UNKNOWN_RESOURCE = "slots-unknown-resource"
    ABSOLUTE_SHARE = "slots-absolute-share"
    EXCEEDED = "slots-exceeded"
    BELOW_ONE = "slots-below-one"
    TYPE_ZERO = "slots-type-zero"
    TOO_MANY = "slots-too-many"
    BAD_RESOURCE = "slots-bad-resource"
    #: Warnings.
    READ_BY_LETTER = "slots-read-by-letter"
    GIVEN_TWICE = "slots-given-twice"
    NOT_COUNTED = "slots-not-counted"
    CONSTRAINT_IGNORED = "slots-constraint-ignored"


#: Codes of problems that do not keep a layout from being made.
WARNINGS = frozenset(
    {LayoutCode.READ_BY_LETTER, LayoutCode.GIVEN_TWICE, LayoutCode.NOT_COUNTED, LayoutCode.CONSTRAINT_IGNORED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmet:
    """A slot that could not be made."""

    type_id: int
    #: Which slot of its type, from 1.
    nth: int
    #: Resources that were short, as published.
    resources: tuple[str, ...]
    #: ``Cpus: 2, Memory: auto, …``
    requesting: str
    available: str
    #: What was asked for is less than one core or megabyte of each of them: smaller shares would not help.
    below_one: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the daemon's log that tell it."""
        return (
            f"ERROR: Can't allocate {ordinal(self.nth)} slot of type {self.type_id}",
            f"\tRequesting: {self.requesting}",
            f"\tAvailable:  {self.available}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutProblem:
    """One thing wrong with the description of slots."""

    code: LayoutCode
    message: str
    #: The knob to change, and where it was set.
    knob: str
    span: Span
    remedy: str = ""
    unmet: Unmet | None = None

    @property
    def is_warning(self) -> bool:
        """Whether the layout is made nevertheless."""
        return self.code in WARNINGS

    def __str__(self) -> str:
        text = f"{self.span}: {self.knob}: {self.message}"
        return f"{text}; {self.remedy}" if self.remedy else text


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutRefused:
    """No slots can be made, for all these reasons."""

    problems: tuple[LayoutProblem, ...]

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def of_value(error: ConfigError) -> LayoutProblem:
    """A knob whose value cannot be read; the knob is named but once, and the remedy ends the sentence."""
    found = error.diagnostic
    knob = found.name or ""
    return LayoutProblem(
        code=LayoutCode.BAD_VALUE,
        message=found.message.removeprefix(f"{knob}: "),
        knob=knob,
        span=found.span,
        remedy=found.remedy[:1].lower() + found.remedy[1:].removesuffix("."),
    )


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, …"""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
