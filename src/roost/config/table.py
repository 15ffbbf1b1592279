"""The table of definitions: every assignment made to every name, oldest first, each with its place.

A name keeps its whole chain of definitions, so that an explanation can show what a value overrode. Names are
compared without regard to case and are kept as first written. The builder (`MacroTable`) is filled while
sources are executed; `freeze` gives the immutable form that `Config` looks things up in.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from roost.base.diagnostics import Span
from roost.base.records import dataclass
from roost.config.lines import Segment


class Origin(StrEnum):
    """Where a definition came from, from weakest to strongest."""

    DEFAULT = "default"
    DETECTED = "detected"
    FILE = "file"
    COMMAND = "command"
    TEMPLATE = "template"
    ENVIRONMENT = "environment"
    RUNTIME = "runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One assignment to one name."""

    name: str
    #: raw text, with references to the name itself already replaced by its earlier value
    text: str
    #: text as written, before that replacement and without the old value of ``+=``
    written: str
    span: Span
    origin: Origin
    appended: bool = False
    #: where the pieces of ``written`` stand; empty for values that come from no source text
    segments: tuple[Segment, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The definition as a JSON object."""
        return {
            "name": self.name,
            "text": self.text,
            "written": self.written,
            "origin": str(self.origin),
            "file": self.span.file,
            "line": self.span.line,
            "column": self.span.column,
            "place": self.span.chain(),
            "appended": self.appended,
        }


class MacroTable:
    """Chains of definitions while they grow."""

    def __init__(self) -> None:
        self.chains: dict[str, list[Definition]] = {}
        #: characters of all definitions together
        self.chars = 0

    def __len__(self) -> int:
        return len(self.chains)

    def add(self, definition: Definition) -> None:
        """Put a definition on top of its chain."""
        self.chars += len(definition.text)
        self.chains.setdefault(definition.name.lower(), []).append(definition)

    def last(self, key: str) -> Definition | None:
        """The definition in force for a case-folded full name."""
        chain = self.chains.get(key)
        return chain[-1] if chain else None

    def freeze(self) -> Mapping[str, tuple[Definition, ...]]:
        """The chains as an immutable mapping from case-folded name."""
        return MappingProxyType({key: tuple(chain) for key, chain in self.chains.items()})
