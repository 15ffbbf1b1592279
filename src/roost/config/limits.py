"""Named limits of the configuration language: everything that can grow has one.

Exceeding a limit gives an error diagnostic with the limit's name; values are never truncated silently.
"""

from __future__ import annotations

from roost.base.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on one configuration; the defaults suit a pool of any size."""

    #: nesting of ``include`` and ``use``, in levels
    include_depth_max: int = 20
    #: size of one source, in characters
    file_chars_max: int = 4_000_000
    #: length of one logical line or ``@=`` block, in characters
    line_chars_max: int = 262_144
    #: length of one stored value after self-references are replaced, in characters
    value_chars_max: int = 262_144
    #: length of one fully expanded value, in characters
    expansion_chars_max: int = 1_048_576
    #: macro references followed while expanding one value
    expansion_count_max: int = 100_000
    #: nesting of macro references, in levels
    expansion_depth_max: int = 60
    #: nesting of parentheses inside one macro reference, in levels
    reference_depth_max: int = 40
    #: nesting of ``if``, in levels
    if_depth_max: int = 64
    #: number of different macro names in one configuration
    macros_max: int = 100_000
    #: text kept for all definitions of one configuration, including overridden ones, in characters
    table_chars_max: int = 64_000_000
    #: number of statements executed for one configuration, including those in includes and templates
    statements_max: int = 1_000_000
    #: number of files and commands read for one configuration
    sources_max: int = 10_000
    #: diagnostics kept; later ones are counted, not kept
    diagnostics_max: int = 1_000


DEFAULT_LIMITS = Limits()
