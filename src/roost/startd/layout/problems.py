"""What is wrong with the description of slots: a code, the knob with its place, what was not met, and the remedy."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.config import ConfigError, Span


class LayoutCode(StrEnum):
    """Kinds of problems with a layout; `MEANINGS` says what each means."""

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

#: Code to what it means, for the page on slots and `roost help`.
MEANINGS: Final[dict[LayoutCode, str]] = {
    LayoutCode.BAD_DESCRIPTION: "an item of `SLOT_TYPE_k` is not a share, or a share for all resources is a number "
    "or above 100 %",
    LayoutCode.BAD_VALUE: "a knob cannot be read",
    LayoutCode.UNKNOWN_RESOURCE: "a number of a resource that the machine does not have",
    LayoutCode.ABSOLUTE_SHARE: "disk or swap given as a number",
    LayoutCode.EXCEEDED: "explicit shares exceed what the machine has, or are less than one core or one MB; or too few "
    "units meet a condition",
    LayoutCode.BELOW_ONE: "nothing is left for an automatic share",
    LayoutCode.TYPE_ZERO: "`SLOT_TYPE_0` or `NUM_SLOTS_TYPE_0` is set",
    LayoutCode.TOO_MANY: "more than 10000 slots",
    LayoutCode.BAD_RESOURCE: "a custom resource is neither counted nor listed",
    LayoutCode.READ_BY_LETTER: "warning: a name that is not a beginning of a full one, read by its first letter",
    LayoutCode.GIVEN_TWICE: "warning: two shares for the same resource; the last counts",
    LayoutCode.NOT_COUNTED: "warning: a share of a resource that does not exist, or a type beyond `MAX_SLOT_TYPES`",
    LayoutCode.CONSTRAINT_IGNORED: "warning: units are not chosen, because the resource has none or their properties "
    "are unknown",
}


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
