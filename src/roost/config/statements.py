"""The statements of the configuration language, as frozen data with their places.

A source is a flat list of these; `if`, `elif`, `else` and `endif` are statements of their own, paired when
the list is executed. Nothing here is expanded: names, paths and conditions keep their macro references.
"""

from __future__ import annotations

from enum import StrEnum

from roost.base.diagnostics import Span
from roost.base.records import dataclass
from roost.config.lines import Segment


class Operator(StrEnum):
    """How an assignment combines with the earlier value of the name."""

    ASSIGN = "="
    APPEND = "+="
    BLOCK = "@="


@dataclass(frozen=True, slots=True)
class Value:
    """Text on the right of an operator, and the places of its pieces in the source."""

    text: str
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign:
    """``NAME = value``, ``NAME += value`` or an ``@=`` block."""

    span: Span
    name: str
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """``include [ifexist] [command [into FILE]] : what``."""

    span: Span
    what: str
    #: a missing file or a failing command is not an error
    optional: bool = False
    command: bool = False
    #: file that keeps the output of the command; None when it is not kept
    cache: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """``use CATEGORY : option(arguments), option …``."""

    span: Span
    category: str
    options: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """``error : text`` or ``warning : text``."""

    span: Span
    fatal: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class If:
    """``if condition``."""

    span: Span
    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Elif:
    """``elif condition``."""

    span: Span
    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Else:
    """``else``."""

    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Endif:
    """``endif``."""

    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A line that is not a statement; reported only if it is not in a skipped branch."""

    span: Span
    reason: str
    #: what to write instead; None for the usual
    remedy: str | None = None


Statement = Assign | Include | Use | Message | If | Elif | Else | Endif | Broken
