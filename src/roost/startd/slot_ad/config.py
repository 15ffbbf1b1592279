"""What the configuration adds to the ads of slots: published macros, policy expressions, names of attributes to copy.

The list of macros to publish for a slot is the union, in this order, of STARTD_ATTRS, STARTD_EXPRS,
SLOT_TYPE_<T>_STARTD_ATTRS, SLOT<N>_STARTD_ATTRS and SLOT<N>_STARTD_EXPRS. The value of a macro is the first that is set
of SLOT<N>_name, SLOT_TYPE_<T>_name and name; it is an expression, so a string needs quotes. A macro that is not set, or
is not an expression, is left out and reported as a problem. A dynamic slot has the attributes of its parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.classad import Expr, ParseError, Syntax, parse_expression
from roost.config import Config, Span
from roost.config.scope import DEFAULT_SPAN
from roost.policy.catalogue import VARIANTS
from roost.policy.catalogue.machine import STARTD
from roost.startd.layout.resources import span_of

_SEPARATOR = re.compile(r"[,\s]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: The value in an ad of an expression that cannot be read.
_UNREADABLE: Final = parse_expression("error")
#: Knobs that are read if another one is not set.
_INSTEAD: Final = {"CpuBusy": "CPU_BUSY", "SLOT_WEIGHT": "SlotWeight"}


class AttributeFault(StrEnum):
    """Why a macro is not published."""

    UNSET = "it is not set"
    NO_EXPRESSION = "its value is not an expression; a string needs quotes"
    NO_NAME = "it is not a valid attribute name"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeProblem:
    """A macro that was listed for publication but is not published."""

    name: str
    fault: AttributeFault
    #: Where its value is set, or where it is listed if it has no value.
    span: Span
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.span}: {self.name} is not published: {self.fault}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredAttributes:
    """Published macros of one slot, in order, and those that could not be published."""

    attributes: tuple[tuple[str, Expr], ...]
    problems: tuple[AttributeProblem, ...]


def configured_attributes(config: Config, *, number: int, type_id: int) -> ConfiguredAttributes:
    """The macros to publish in the ad of slot `number`."""
    attributes, problems = [], []
    for name, listed_at in _listed(config, number, type_id).values():
        found = config.find(name, slot=number, slot_type=type_id)
        text = config.get(name, slot=number, slot_type=type_id) if _NAME.match(name) else None
        if not _NAME.match(name):
            problems.append(AttributeProblem(name=name, fault=AttributeFault.NO_NAME, span=listed_at))
        elif text is None or found is None:
            problems.append(AttributeProblem(name=name, fault=AttributeFault.UNSET, span=listed_at))
        else:
            try:
                attributes.append((name, parse_expression(text, Syntax.OLD)))
            except ParseError as error:
                fault = AttributeFault.NO_EXPRESSION
                problems.append(AttributeProblem(name=name, fault=fault, span=found.span, detail=error.message))
    return ConfiguredAttributes(attributes=tuple(attributes), problems=tuple(problems))


def _listed(config: Config, number: int, type_id: int) -> Mapping[str, tuple[str, Span]]:
    found: dict[str, tuple[str, Span]] = {}
    for knob in (
        "STARTD_ATTRS",
        "STARTD_EXPRS",
        f"SLOT_TYPE_{type_id}_STARTD_ATTRS",
        f"SLOT{number}_STARTD_ATTRS",
        f"SLOT{number}_STARTD_EXPRS",
    ):
        for name in names_in(config, knob):
            found.setdefault(name.lower(), (name, span_of(config, knob)))
    return found


def names_in(config: Config, knob: str) -> tuple[str, ...]:
    """The names that a knob lists, for instance STARTD_SLOT_ATTRS, STARTD_JOB_ATTRS or STARTD_LATCH_EXPRS."""
    text = config.get(knob)
    return () if text is None else tuple(name for name in _SEPARATOR.split(text) if name)


def policy_expressions(config: Config, *, type_id: int) -> dict[str, Expr]:
    """Attribute to policy expression, for slots of a type.

    A policy that is not set and has no default is left out; one that cannot be read is ERROR.
    """
    return dict(_policies(config, type_id))


def _policies(config: Config, type_id: int) -> Iterator[tuple[str, Expr]]:
    for row in STARTD:
        if row.attribute is None:
            continue
        for suffix in ("", *(VARIANTS if row.variants else ())):
            text = config.get(row.name + suffix, slot_type=type_id)
            other = _INSTEAD.get(row.name)
            if other is not None and not _is_set(config, row.name, type_id):
                text = config.get(other, slot_type=type_id) or text
            if text is not None:
                yield row.attribute + suffix, _readable(text)


def _is_set(config: Config, knob: str, type_id: int) -> bool:
    found = config.find(knob, slot_type=type_id)
    return found is not None and found.span != DEFAULT_SPAN


def _readable(text: str) -> Expr:
    try:
        return parse_expression(text, Syntax.OLD)
    except ParseError:
        return _UNREADABLE
