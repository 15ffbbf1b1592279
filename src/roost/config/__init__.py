"""The configuration language: text in, values out.

`load` reads sources in their order with the help of a `Host` and gives a `Config`, in which names are looked
up as one daemon sees them. Every value remembers where it was defined and what it overrode
(`Config.definitions`, `explain`), and everything that is wrong is reported with its place (`check`).

The stages, each a module: `lines` and `parse` (text to statements), `load` and `sources` (statements to
definitions), `expand` and `functions` (macro references), `lookup` and `values` (names to typed values),
`check` and `explain`. `knobs` is the table of known names, `templates` the catalogue for ``use``. The room
opens no file and runs no command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.base.diagnostics import Diagnostic, Severity, Span
from roost.base.late import late
from roost.config.sources import LoadOptions, Setting, load, load_text

if TYPE_CHECKING:
    from roost.config.checking import check
    from roost.config.diagnostics import Code, ConfigError
    from roost.config.explaining import Explanation, explain
    from roost.config.host import CommandResult, ExpressionProblem, Host, MemoryHost
    from roost.config.knob import Knob, KnobType, Reload
    from roost.config.limits import Limits
    from roost.config.lookup import Config
    from roost.config.sources import LoadOptions, load_text
    from roost.config.table import Definition, Origin

__getattr__ = late(
    __name__,
    {
        "checking": ("check",),
        "diagnostics": ("Code", "ConfigError"),
        "explaining": ("Explanation", "explain"),
        "host": ("CommandResult", "ExpressionProblem", "Host", "MemoryHost"),
        "knob": ("Knob", "KnobType", "Reload"),
        "limits": ("Limits",),
        "lookup": ("Config",),
        "sources": ("LoadOptions", "load_text"),
        "table": ("Definition", "Origin"),
    },
)


__all__ = [
    "Code",
    "CommandResult",
    "Config",
    "ConfigError",
    "Definition",
    "Diagnostic",
    "Explanation",
    "ExpressionProblem",
    "Host",
    "Knob",
    "KnobType",
    "Limits",
    "LoadOptions",
    "MemoryHost",
    "Origin",
    "Reload",
    "Setting",
    "Severity",
    "Span",
    "check",
    "explain",
    "load",
    "load_text",
]
