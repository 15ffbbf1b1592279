"""A misspelt knob.

What: A name that nothing reads differs by a letter or two from one that something does.

Why: Configuration may define any name, so there is no error: the setting has no effect, and the default holds.

Example::

    MAXJOBRETIRMENTTIME = 3600

Instead::

    MAXJOBRETIREMENTTIME = 3600
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code
from roost.config.knobs import ALL, BY_NAME, ONLY_HTCONDORS, SUBSYSTEMS, find
from roost.config.references import names_in
from roost.policy.lint.forwarded import forwarded
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.spelling import nearest

#: Names that a configuration uses as macros of its own are compared only with these.
_POLICY = tuple(row.name for row in BY_NAME.values() if row.type.value == "expression" and len(row.name) >= 5)
#: With the prefix of a daemon or a slot type it is sure that a knob is meant; short names count there.
_PREFIXED = tuple(row.name for row in BY_NAME.values() if "<" not in row.name)
_PREFIX = re.compile(r"slot_type_\d+_|slot\d+_")
#: What follows the keyword in the name of a hook.
_HOOK = "<KEYWORD>_HOOK_"
_HOOKS = tuple(row.name.removeprefix(_HOOK) for row in ALL if row.name.startswith(_HOOK))


def _unprefixed(key: str) -> tuple[str, bool]:
    """A name without the prefixes of a daemon and a slot, and whether there was one."""
    daemon, _, base = key.rpartition(".")
    plain = _PREFIX.sub("", base, count=1)
    return plain, daemon in SUBSYSTEMS or plain != base


def _is_read(key: str) -> bool:
    """Whether a daemon reads the name, if only one of HTCondor's."""
    knob = find(key)
    if key.rpartition(".")[2] in ONLY_HTCONDORS:
        return True
    return knob is not None and knob.name != "SLOT<N>_<ATTR>"


def _meant(base: str, prefixed: bool) -> str | None:
    """The name that was meant by one that nothing reads; None if there is none like it."""
    keyword, is_hook, hook = base.rpartition("_hook_")
    if is_hook:
        near = nearest(hook, _HOOKS)
        return None if near is None else f"{keyword.upper()}_HOOK_{near}"
    near = nearest(base, _PREFIXED if prefixed else _POLICY)
    return near if near is not None and near.lower() not in (base, base.rstrip("0123456789_")) else None


@pool_rule("RST509", Severity.WARNING, "E10")
def check(pool: Pool) -> Iterator[Hit]:
    said = set()
    for diagnostic, hit in forwarded(pool, Code.NEAR_MISS):
        said.add((diagnostic.name or "").lower())
        yield hit
    used: set[str] = set()
    for chain in pool.config.chains.values():
        for definition in chain:
            if "$" in definition.text:
                used |= names_in(definition.text)
    published = {expression.base for expression in pool.expressions if expression.attribute}
    for key, chain in pool.user_definitions():
        base, prefixed = _unprefixed(key)
        if key in said or base in SUBSYSTEMS or not used.isdisjoint((key, base)) or base in published or _is_read(key):
            continue
        near = _meant(base, prefixed)
        if near is not None:
            yield Hit(
                message=f"nothing reads {chain[-1].name}",
                remedy=f"Did you mean {near}?",
                place=pool.place(chain[-1]),
                knob=chain[-1].name,
            )
