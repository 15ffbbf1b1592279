"""Reading SLOT_TYPE_<N>: the text that gives the share of each resource for slots of that type.

    value := item { separator item }      newline if there is one in the text, else comma, else blank
    item  := share | name = share [: constraint]
    share := auto | minimum | 25% | 1/4 | 2 | 512M

A share without a name applies to all resources that are not named. Names of custom resources are matched first and in
full, the four others by their first letter. A name that is not a prefix of a full name (``corn = 2``) is also read by
its first letter, for compatibility, with a warning.

Everything is exact: ``33.3%`` is 333/1000. `layout_shares` decides whether the shares of all slots fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias

from roost.base.records import dataclass, field
from roost.classad import Expr, ParseError, Syntax, parse_expression
from roost.config import Span
from roost.model.resources import CPUS, DISK, MEMORY, SWAP
from roost.startd.layout.problems import LayoutCode, LayoutProblem

#: Maximum number of items of a type.
ITEMS_MAX: Final = 1000

_LETTERS: Final = {"c": CPUS, "r": MEMORY, "m": MEMORY, "d": DISK, "s": SWAP, "v": SWAP}
_FULL_NAMES: Final = ("cpus", "ram", "memory", "disk", "swap", "virtualmemory")
#: Resources of which a slot has a fraction of the current amount.
LIVE: Final = frozenset({DISK, SWAP})

_PERCENT = re.compile(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*%\Z")
_RATIO = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*/\s*(\d{1,9}(?:\.\d{1,9})?)\Z")
_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})\s*([KMGTP])?B?\Z", re.IGNORECASE)
_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


class Special(Enum):
    """Shares given as words."""

    AUTO = "auto"
    MINIMUM = "minimum"


@dataclass(frozen=True, slots=True)
class Portion:
    """A fraction of the machine's amount."""

    of: Fraction

    def __str__(self) -> str:
        return f"{float(self.of * 100):.2f}%"


@dataclass(frozen=True, slots=True)
class Absolute:
    """A number, in the unit of the resource unless it has a suffix."""

    number: Fraction
    #: K, M, G, T, P in capitals; "" for none.
    suffix: str = ""

    def __str__(self) -> str:
        return f"{float(self.number):g}{self.suffix}"

    def in_mb(self) -> Fraction:
        """As an amount of memory: a bare number is in MB."""
        return self.number if not self.suffix else self.number * Fraction(1024) ** (_POWERS[self.suffix] - 2)


Share: TypeAlias = Special | Portion | Absolute


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotType:
    """A slot type as described in the configuration."""

    number: int
    #: Resource, as published, to its share.
    shares: Mapping[str, Share] = field(default_factory=dict)
    #: Share of every resource that is not named.
    others: Share = Special.AUTO
    #: Custom resource, as published, to the condition on its units.
    conditions: Mapping[str, Expr] = field(default_factory=dict)
    #: The knob that describes the type, and where it was set.
    knob: str
    span: Span

    def share(self, resource: str) -> Share:
        """The share of a resource."""
        return self.shares.get(resource, self.others)


@dataclass(slots=True)
class _Reader:
    number: int
    span: Span
    #: Folded name of a custom resource to its published name.
    custom: Mapping[str, str]
    shares: dict[str, Share] = field(default_factory=dict)
    others: Share | None = None
    conditions: dict[str, Expr] = field(default_factory=dict)
    problems: list[LayoutProblem] = field(default_factory=list)

    def report(self, code: LayoutCode, message: str, remedy: str = "") -> None:
        knob = f"SLOT_TYPE_{self.number}"
        self.problems.append(LayoutProblem(code=code, message=message, knob=knob, span=self.span, remedy=remedy))

    def item(self, text: str) -> None:
        name, equals, rest = text.partition("=")
        if not equals:
            self.blanket(text)
            return
        name = name.strip()
        share_text, colon, constraint = rest.partition(":")
        share = read_share(share_text)
        if share is None:
            self.report(
                LayoutCode.BAD_DESCRIPTION,
                f'Bad description of slot type {self.number}: "{share_text.strip()}" is not a share of {name}',
                "use a number, a percentage, a fraction, auto or minimum",
            )
            return
        resource = self.resource(name, share)
        if resource is not None and self.fits_kind(resource, share, share_text):
            self.put(resource, share)
            if colon:
                self.condition(resource, constraint.strip())

    def condition(self, resource: str, text: str) -> None:
        if resource not in self.custom.values():
            self.report(LayoutCode.CONSTRAINT_IGNORED, f'{resource} has no units to select by "{text}"')
            return
        try:
            self.conditions[resource] = parse_expression(text, Syntax.OLD)
        except ParseError as error:
            self.report(
                LayoutCode.BAD_DESCRIPTION,
                f'Bad description of slot type {self.number}: "{text}" is not a condition: {error.message}',
                "write name=share : expression over the properties of a unit",
            )

    def blanket(self, text: str) -> None:
        share = read_share(text)
        if share is None or isinstance(share, Absolute) or (isinstance(share, Portion) and share.of > 1):
            self.report(
                LayoutCode.BAD_DESCRIPTION,
                f'Bad description of slot type {self.number}: "{text}" is invalid',
                "use a percentage up to 100%, a fraction up to 1, or list resources as name=share",
            )
            return
        if self.others is not None:
            self.report(LayoutCode.GIVEN_TWICE, f"a share for all resources is given twice; {text} takes effect")
        self.others = share

    def resource(self, name: str, share: Share) -> str | None:
        """The resource with a name; None, after a report, if there is none."""
        key = name.lower()
        if key in self.custom:
            return self.custom[key]
        found = _LETTERS.get(key[:1])
        if found is None:
            wanted = isinstance(share, Absolute) and share.number > 0
            known = ", ".join(("cpus", "memory", "disk", "swap", *self.custom.values()))
            self.report(
                LayoutCode.UNKNOWN_RESOURCE if wanted else LayoutCode.NOT_COUNTED,
                f"the machine has no resource {name!r}" + ("" if wanted else ", so it cannot be shared"),
                f"it has {known}; define others with MACHINE_RESOURCE_<NAME>",
            )
        elif not any(full.startswith(key) for full in _FULL_NAMES):
            self.report(LayoutCode.READ_BY_LETTER, f"{name!r} is taken as {found}, because of its first letter")
        return found

    def fits_kind(self, resource: str, share: Share, text: str) -> bool:
        """Whether a resource can have such a share; reports a problem if not."""
        if not isinstance(share, Absolute):
            return True
        if resource in LIVE:
            self.report(
                LayoutCode.ABSOLUTE_SHARE,
                f"{resource}={text.strip()}: its amount varies, so it cannot be given as a number",
                "You must specify a percent or fraction",
            )
            return False
        if share.suffix and resource != MEMORY:
            self.report(
                LayoutCode.BAD_DESCRIPTION,
                f'Bad description of slot type {self.number}: "{text.strip()}": {resource} has no unit {share.suffix}',
                "use a number without suffix",
            )
            return False
        return True

    def put(self, resource: str, share: Share) -> None:
        if resource in self.shares:
            self.report(LayoutCode.GIVEN_TWICE, f"{resource} is given twice; the last takes effect")
        self.shares[resource] = share


def read_share(text: str) -> Share | None:
    """The share in a text; None if it is not a share."""
    text = text.strip()
    word = text.lower()
    if word in ("auto", "automatic"):
        return Special.AUTO
    if word in ("min", "minimal", "minimum"):
        return Special.MINIMUM
    if found := _PERCENT.match(text):
        return Portion(Fraction(found[1]) / 100)
    if found := _RATIO.match(text):
        below = Fraction(found[2])
        return Portion(Fraction(found[1]) / below) if below else None
    if found := _NUMBER.match(text):
        return Absolute(Fraction(found[1]), (found[2] or "").upper())
    return None


def _items(text: str) -> Iterator[str]:
    # Blanks around = and / belong to the item even if blanks separate items.
    text = re.sub(r"[ \t]*([=/:])[ \t]*", r"\1", text.strip())
    text = re.sub(r"[ \t]+%", "%", text)
    separator = "\n" if "\n" in text else "," if "," in text else None
    for item in text.split(separator):
        if stripped := item.strip().rstrip(",").strip():
            yield stripped


def read_slot_type(
    number: int, text: str, span: Span, custom: Sequence[str]
) -> tuple[SlotType, tuple[LayoutProblem, ...]]:
    """The type in a text, as far as it can be read, and its problems.

    `custom` are the published names of custom resources.
    """
    reader = _Reader(number, span, {name.lower(): name for name in custom})
    for count, item in enumerate(_items(text)):
        if count == ITEMS_MAX:
            reader.report(LayoutCode.BAD_DESCRIPTION, f"more than {ITEMS_MAX} items", "name each resource once")
            break
        reader.item(item)
    described = SlotType(
        number=number,
        shares=reader.shares,
        conditions=reader.conditions,
        others=Special.AUTO if reader.others is None else reader.others,
        knob=f"SLOT_TYPE_{number}",
        span=span,
    )
    return described, tuple(reader.problems)
