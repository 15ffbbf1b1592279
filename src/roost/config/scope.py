"""Which definition a name means to one daemon: the order of prefixes, preset values and compiled-in defaults.

For daemon SUB with local name LOC, ``X`` means the first one defined of ``SUB.LOC.X``, ``LOC.X``, ``SUB.X``, ``X``, the
value detected at start, the compiled-in default. Preset names such as HOSTNAME come before all of these. A definition
with an empty value counts as defined, and hides those after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from roost.base.diagnostics import Span
from roost.base.records import dataclass, field
from roost.config.expand import Found
from roost.config.knobs import DEFAULTS, PRESETS
from roost.config.table import Definition

DEFAULT_SPAN = Span("<default>")
DETECTED_SPAN = Span("<detected>")
_NAMED_FOR_READER = frozenset({"subsystem", "subsys", "localname"})


@dataclass(slots=True, kw_only=True)
class NameScope:
    """Finds names as one daemon would; keys are case-folded."""

    last: Callable[[str], Definition | None]
    #: case-folded name to value found at start
    detected: Mapping[str, str]
    subsystem: str
    localname: str | None
    #: case-folded name to what it means when nothing defines it
    defaults: Mapping[str, str] = field(default_factory=lambda: DEFAULTS)
    _prefixes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        subsystem = self.subsystem.lower()
        local = self.localname.lower() if self.localname else None
        self._prefixes = (f"{subsystem}.{local}.", f"{local}.", f"{subsystem}.") if local else (f"{subsystem}.",)

    def find(self, name: str) -> Found | None:
        """The definition in force, or None when the name is not defined at all."""
        if name in PRESETS:
            return self._preset(name)
        definition = self.definition(name)
        if definition is not None:
            return Found(definition.name, definition.text, definition.span)
        return self.fallback(name)

    def definition(self, name: str) -> Definition | None:
        """The definition in force that a source made."""
        for prefix in self._prefixes:
            definition = self.last(prefix + name)
            if definition is not None:
                return definition
        return self.last(name)

    def fallback(self, name: str) -> Found | None:
        """What the name means when no source defines it."""
        if name in PRESETS:
            return self._preset(name)
        value = self.detected.get(name)
        if value is not None:
            return Found(name.upper(), value, DETECTED_SPAN)
        default = self.defaults.get(name)
        return None if default is None else Found(name.upper(), default, DEFAULT_SPAN)

    def _preset(self, name: str) -> Found | None:
        if name in _NAMED_FOR_READER:
            value: str | None = self.subsystem
            if name == "localname" and self.localname:
                value = self.localname
        elif name == "dollar":
            value = "$"
        else:
            value = self.detected.get(name)
        return None if value is None else Found(name.upper(), value, DETECTED_SPAN)
