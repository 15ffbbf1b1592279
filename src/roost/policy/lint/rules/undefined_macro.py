"""A macro that is not defined.

What: A value refers to ``$(NAME)``, nothing defines NAME, and no default is given.

Why: It expands to nothing. ``( $(SmallJob) || $(IsVanilla) )`` becomes ``(  || … )``, which can't be read; in a list
or a path the gap goes unnoticed.

Example::

    CLAIM_WORKLIFE = $(ShortClaim)

Instead::

    ShortClaim = 600
    CLAIM_WORKLIFE = $(ShortClaim)
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.config import Code, Origin
from roost.policy.lint.findings import Place, Severity
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.mapping import position
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
    seen = set()
    for expression in pool.expressions:
        for use in expression.mapped.uses:
            known = use.name.lower() in (use.definition.name.lower(), *_PACKAGED)
            if not use.undefined or known:
                continue
            seen.add((use.definition.name.lower(), use.name.lower()))
            line, column = position(use.definition, use.offset)
            # If the gap makes the expression unreadable, that is what has to be known first.
            severity = Severity.ERROR if expression.problem is not None else None
            file = use.definition.span.file
            via = "" if use.definition.span.via is None else use.definition.span.via.chain()
            yield Hit(
                message=f"$({use.name}) is not defined",
                remedy=f"Define {use.name}, correct the name, or write $({use.name}:) if nothing is meant.",
                place=Place(file, line, column, len(use.name) + 3, via),
                knob=expression.knob,
                severity=severity,
            )
    for diagnostic, hit in forwarded(pool, Code.UNDEFINED_MACRO):
        name = (diagnostic.name or "").lower()
        definition = pool.last(name)
        packaged = any(f"$({macro.upper()})" in diagnostic.message for macro in _PACKAGED)
        here = not packaged and definition is not None and definition.origin is not Origin.TEMPLATE
        if here and not any(f"$({macro.upper()})" in diagnostic.message and owner == name for owner, macro in seen):
            yield hit
