"""A macro written as in a shell.

What: ``$NAME`` without parentheses, where NAME is a macro or a knob. Arguments and environments of programs are left
out: a program may have variables of its own.

Why: Only ``$(NAME)`` is replaced. ``$NAME`` stays in the value as it is written: a list that was to be extended by it
loses all its members.

Fix: the parentheses are added.

Example::

    NODE_USERS = ann@example.org
    ALLOW_WRITE = $NODE_USERS, bob@example.org

Instead::

    NODE_USERS = ann@example.org
    ALLOW_WRITE = $(NODE_USERS), bob@example.org
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.config.knobs import ALL, PRESETS
from roost.policy.lint.findings import Edit, Fix, SourcePlace
from roost.policy.lint.mapping import position
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

_SHELL = re.compile(r"(?<![$\\\w])\$([A-Za-z_]\w*)(?![\w(:.])")
#: Knobs that are for programs.
_FOR_PROGRAMS = re.compile(r"_(?:args|arguments|env|environment|command|options)\Z")
#: Names of at least this length are meant as names, not as the end of a pattern.
_LENGTH_MIN = 4
_KNOBS = frozenset(row.name.lower() for row in ALL if "<" not in row.name) | frozenset(PRESETS)


@pool_rule("RST534", Severity.WARNING, fixes=True)
def check(pool: Pool) -> Iterator[Hit]:
    for key, chain in pool.user_definitions():
        if _FOR_PROGRAMS.search(key):
            continue
        for definition in chain:
            if definition.origin is not Origin.FILE or "$" not in definition.text:
                continue
            for found in _SHELL.finditer(definition.text):
                name = found[1]
                if len(name) < _LENGTH_MIN or not (name.lower() in _KNOBS or name.lower() in pool.config.chains):
                    continue
                line, column = position(definition, found.start())
                yield Hit(
                    message=f"${name} stays as it is written: a macro has parentheses",
                    remedy=f"Write $({name}).",
                    place=SourcePlace(definition.span.file, line, column, len(name) + 1),
                    knob=definition.name,
                    fix=Fix(
                        title=f"write $({name})",
                        edits=(
                            Edit(
                                file=definition.span.file,
                                line=line,
                                column=column,
                                old=f"${name}",
                                new=f"$({name})",
                            ),
                        ),
                    ),
                )
