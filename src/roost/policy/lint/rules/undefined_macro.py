"""A macro that is not defined.

What: A value refers to ``$(NAME)``, nothing defines NAME, and no default is given.

Why: It expands to nothing. ``( $(SmallJob) || $(IsVanilla) )`` becomes ``(  || … )``, which cannot be read; in a list
or a path the gap goes unnoticed.

Example::

    CLAIM_WORKLIFE = $(ShortClaim)

Instead::

    ShortClaim = 600
    CLAIM_WORKLIFE = $(ShortClaim)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.base.records import replace
from roost.config import Code, KnobType, Origin
from roost.config.knobs import BY_NAME, ONLY_HTCONDORS
from roost.config.references import Reference, pieces
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.mapping import place_at
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

#: Directories that packages define; a pool's own files seldom do.
_PACKAGED = frozenset(
    (
        "bin",
        "sbin",
        "lib",
        "libexec",
        "share",
        "etc",
        "run",
        "lock",
        "log",
        "spool",
        "include",
        "examples",
        "release_dir",
        "local_dir",
        "config_root",
    )
)


@pool_rule("RST508", Severity.WARNING, "A5")
def check(pool: Pool) -> Iterator[Hit]:
    # The linter runs no programs, and what the configuration takes from one may define anything.
    severity = Severity.NOTE if any(one.endswith(" |") for one in pool.config.sources) else None
    yield from (hit if hit.severity else replace(hit, severity=severity) for hit in _undefined(pool))


def _undefined(pool: Pool) -> Iterator[Hit]:
    seen = set()
    for expression in pool.expressions:
        for use in expression.mapped.uses:
            known = use.name.lower() in (use.definition.name.lower(), *_PACKAGED)
            if not use.undefined or known or use.definition.origin is Origin.DEFAULT:
                continue
            if expression.problem is None and _is_knob(use.name.lower()):
                continue
            seen.add((use.definition.name.lower(), use.name.lower()))
            # If the gap makes the expression unreadable, that is what has to be known first.
            severity = Severity.ERROR if expression.problem is not None else None
            yield Hit(
                message=f"$({use.name}) is not defined",
                remedy=f"Define {use.name}, correct the name, or write $({use.name}:) if it may be empty.",
                place=place_at(use.definition, use.offset, len(use.name) + 3),
                knob=expression.knob,
                severity=severity,
            )
    for diagnostic, hit in forwarded(pool, Code.UNDEFINED_MACRO):
        definition = pool.last((diagnostic.name or "").lower())
        if definition is None or definition.origin is Origin.TEMPLATE:
            continue
        for name, offset in _plain_references(definition.written):
            missing = f"$({name})".lower() in diagnostic.message.lower() and name.lower() not in _PACKAGED
            if missing and (definition.name.lower(), name.lower()) not in seen:
                yield Hit(
                    message=f"$({name}) is not defined",
                    remedy=hit.remedy,
                    place=place_at(definition, offset, len(name) + 3),
                    knob=definition.name,
                )


def _is_knob(name: str) -> bool:
    """Whether it is a knob that may well have no value, so that an expression asks whether it has one."""
    row = BY_NAME.get(name)
    return name in ONLY_HTCONDORS or (row is not None and row.type is not KnobType.EXPRESSION)


def _plain_references(text: str) -> Iterator[tuple[str, int]]:
    """Each reference without a default, and where it stands."""
    offset = 0
    for piece in pieces(text):
        if isinstance(piece, Reference) and piece.default is None:
            yield piece.name, offset
        offset += len(piece if isinstance(piece, str) else piece.text)
