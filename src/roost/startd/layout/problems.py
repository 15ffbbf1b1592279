"""Problems in the description of slots: a code, the knob with its place, what was not met, and the remedy."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.diagnostics import CodeDoc, Severity, Span
from roost.base.records import dataclass
from roost.config import ConfigError


class LayoutCode(StrEnum):
    """Kinds of problems with a layout; `CODES` says what each means."""

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


_E, _W = Severity.ERROR, Severity.WARNING

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
#: Code to its meaning and remedy; after a warning, the layout is made anyway.
CODES: Final[dict[LayoutCode, CodeDoc]] = {
    LayoutCode.BAD_DESCRIPTION: CodeDoc(_E, "An item of `SLOT_TYPE_k` is not a share, or a share for all resources is a number or above 100 %.", "Write items such as `cpus=2`, `memory=25%`, `gpus=auto`, or one share for all, such as `1/4`."),
    LayoutCode.BAD_VALUE: CodeDoc(_E, "A knob cannot be read.", "Do what the message says."),
    LayoutCode.UNKNOWN_RESOURCE: CodeDoc(_E, "A number is given of a resource that the machine does not have.", "Define it with `MACHINE_RESOURCE_<NAME>`, or remove the item."),
    LayoutCode.ABSOLUTE_SHARE: CodeDoc(_E, "Disk or swap is given as a number.", "Write a fraction, a percentage or `auto`."),
    LayoutCode.EXCEEDED: CodeDoc(_E, "Explicit shares exceed what the machine has, or are less than one core or one MB; or too few units meet a condition.", "Ask for less, or for fewer slots."),
    LayoutCode.BELOW_ONE: CodeDoc(_E, "Nothing is left for an automatic share.", "Make the explicit shares smaller, or ask for fewer slots."),
    LayoutCode.TYPE_ZERO: CodeDoc(_E, "`SLOT_TYPE_0` or `NUM_SLOTS_TYPE_0` is set.", "Number types from 1; type 0 is that of `NUM_SLOTS`."),
    LayoutCode.TOO_MANY: CodeDoc(_E, "The machine would have more than 10000 slots.", "Ask for fewer slots."),
    LayoutCode.BAD_RESOURCE: CodeDoc(_E, "A custom resource is neither counted nor listed.", "Give a number, or the identifiers of its units."),
    LayoutCode.READ_BY_LETTER: CodeDoc(_W, "A name that is not a beginning of a full one is read by its first letter.", "Write the full name: `cpus`, `memory`, `disk` or `swap`."),
    LayoutCode.GIVEN_TWICE: CodeDoc(_W, "There are two shares for the same resource; the last counts.", "Remove one of the two."),
    LayoutCode.NOT_COUNTED: CodeDoc(_W, "A share is of a resource that does not exist, or a type is beyond `MAX_SLOT_TYPES`.", "Define the resource with `MACHINE_RESOURCE_<NAME>`, or raise `MAX_SLOT_TYPES`; otherwise remove it."),
    LayoutCode.CONSTRAINT_IGNORED: CodeDoc(_W, "Units are not chosen, because the resource has none or their properties are unknown.", "List the units with an inventory that tells their properties, or remove the condition."),
}
# fmt: on


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
    #: Less than one core or megabyte of each of them was requested, so smaller shares would not help.
    below_one: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """Its lines in the daemon's log."""
        return (
            f"ERROR: Can't allocate {ordinal(self.nth)} slot of type {self.type_id}",
            f"\tRequesting: {self.requesting}",
            f"\tAvailable:  {self.available}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutProblem:
    """One problem in the description of slots."""

    code: LayoutCode
    message: str
    #: The knob to change, and where it was set.
    knob: str
    span: Span
    remedy: str = ""
    unmet: Unmet | None = None

    @property
    def is_warning(self) -> bool:
        """Whether the layout is made anyway."""
        return CODES[self.code].severity is Severity.WARNING

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
    """A knob whose value cannot be read; the knob is named only once, and the remedy ends the sentence."""
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
