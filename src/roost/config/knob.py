"""What a knob is: a name the configuration language or a daemon knows, with type, default, range and meaning.

The rows themselves are in `roost.config.knobs`, one module per daemon. This module has only the data types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from roost.base.diagnostics import Severity
from roost.base.records import dataclass
from roost.config.subsystems import PLACEHOLDER, PLACEHOLDERS


class KnobType(StrEnum):
    """How the text of a value is parsed."""

    STRING = "string"
    PATH = "path"
    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    LIST = "list"
    #: ClassAd expression, kept as text and evaluated by the daemon
    EXPRESSION = "expression"
    #: text meant to be used in other values
    MACRO = "macro"


class Reload(StrEnum):
    """What makes a changed value take effect."""

    RECONFIG = "reconfig"
    RESTART = "restart"
    #: read each time a command runs, by the command itself
    COMMAND = "command"
    #: cannot be set
    PRESET = "preset"


class KnobScope(StrEnum):
    """Prefixed forms of a knob in addition to the daemon prefixes that every knob has."""

    PLAIN = "plain"
    #: SLOT_TYPE_<T>_NAME overrides the knob for slots of that type
    SLOT_TYPE = "slot type"
    #: SLOT<N>_NAME overrides the knob for that slot
    SLOT = "slot"


class Members(StrEnum):
    """What the members of a list may be; the value is the text of the table."""

    ANY = ""
    #: of attributes and macros
    NAMES = "names of letters, digits and _, not beginning with a digit"
    #: what is part of the names of other knobs
    PARTS = "names of letters, digits and _"
    #: of accounting groups
    GROUPS = "names of letters, digits, _ and -, with dots between levels"


_MEMBER: Final = {
    Members.ANY: re.compile(r".*", re.DOTALL),
    Members.NAMES: re.compile(r"[A-Za-z_]\w*", re.ASCII),
    Members.PARTS: re.compile(r"\w+", re.ASCII),
    Members.GROUPS: re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+)*", re.ASCII),
}


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a knob is accepted without effect, and how serious it is to rely on it."""

    #: a sentence that says why, and what to use instead
    why: str
    #: an error for a knob that protects or limits something: relying on it is worse than not starting
    severity: Severity = Severity.WARNING
    #: values that request what happens anyway, in lower case, in addition to the default and the empty value
    harmless: tuple[str, ...] = ()

    def matters(self, text: str, default: str | None) -> bool:
        """Whether a value requests something that does not happen."""
        given = text.strip().strip('"').lower()
        return bool(given) and given not in self.harmless and given != (default or "").strip('"').lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One row of the knob table."""

    #: the name; ``<N>`` in it stands for a number, ``<SUBSYS>`` for a daemon, ``<NAME>`` for any word
    name: str
    type: KnobType
    #: unit of a number, or of the number an expression gives; empty for none
    unit: str
    #: text used when nothing is configured; None when the knob is then undefined
    default: str | None
    low: float | None
    high: float | None
    #: allowed words, in lower case; empty when any text will do
    words: tuple[str, ...]
    #: what the members of a list may be
    members: Members
    meaning: str
    reload: Reload
    #: daemon that reads it
    subsystem: str
    scope: KnobScope
    #: module below `roost` that reads the value; empty when none does
    read_by: str
    #: why no module reads it; None when one does
    unread: Unread | None

    @property
    def is_pattern(self) -> bool:
        """Whether the name stands for a family of names."""
        return "<" in self.name

    def pattern(self) -> re.Pattern[str]:
        """Matches the names of the family, in lower case."""
        text = ""
        for part in PLACEHOLDER.split(self.name):
            text += PLACEHOLDERS.get(part, r"[a-z0-9_.]+") if part.startswith("<") else re.escape(part.lower())
        return re.compile(text + r"\Z")

    def wrong_member(self, members: Iterable[str]) -> str | None:
        """The first of some members that the list may not have; None when there is none."""
        allowed = _MEMBER[self.members]
        return next((member for member in members if allowed.fullmatch(member) is None), None)

    def range_text(self) -> str:
        """The range in words, empty when there is none."""
        if self.words or self.members:
            return " or ".join(self.words) or str(self.members)
        if self.low is None and self.high is None:
            return ""
        low = "" if self.low is None else f"{self.low:g}"
        high = "" if self.high is None else f"{self.high:g}"
        return f"{low}…{high}" if low and high else f"≥ {low}" if low else f"≤ {high}"


def knob(
    name: str,
    type: KnobType,
    default: str | None,
    meaning: str,
    *,
    subsystem: str,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    words: tuple[str, ...] = (),
    members: Members = Members.ANY,
    reload: Reload = Reload.RECONFIG,
    scope: KnobScope = KnobScope.PLAIN,
    read_by: str = "",
    unread: Unread | None = None,
) -> Knob:
    """A row of the table, with defaults filled in; a row that is `unread` has no reader."""
    return Knob(
        name=name,
        type=type,
        unit=unit,
        default=default,
        low=low,
        high=high,
        words=words,
        members=members,
        meaning=meaning,
        reload=reload,
        subsystem=subsystem,
        scope=scope,
        read_by="" if unread is not None else read_by,
        unread=unread,
    )
