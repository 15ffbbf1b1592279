"""The catalogue of attributes: what Roost knows about the names in expressions.

`ATTRIBUTES` maps a folded name to what it means in each kind of ad that has it: ``Memory`` is an attribute of
slots and of the starter's ad. `attributes_named` also knows families: ``slot2_State``, ``RequestTape``.

The tables are in the modules next to this one. A site may put any other name into its ads (STARTD_ATTRS, or
``+Name`` in a submit description), so a name that is not listed is unknown rather than wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from roost.base.records import replace
from roost.classad.values import fold
from roost.policy.attributes import daemons, job, machine
from roost.policy.catalogue import KNOB_POLICIES, USER_POLICIES, VARIANTS
from roost.policy.model import AdKind, Attribute, PolicyExpression


def _of_policy(policy: PolicyExpression, name: str) -> Attribute:
    """The attribute that holds a policy expression in its ad."""
    return Attribute(
        name=name,
        side=policy.my,
        kind=policy.kind,
        unit=policy.unit,
        always=policy.default is not None,
        varies=True,
        when="" if policy.default is not None else "where it is configured",
        meaning=policy.meaning,
        source=policy.source,
    )


def _gather(rows: Iterable[Attribute]) -> dict[str, tuple[Attribute, ...]]:
    gathered: dict[str, tuple[Attribute, ...]] = {}
    for row in rows:
        key = fold(row.name)
        if all(row.side is not other.side for other in gathered.get(key, ())):
            gathered[key] = (*gathered.get(key, ()), row)
    return gathered


def _policies() -> Iterable[Attribute]:
    for policy in (*KNOB_POLICIES.values(), *USER_POLICIES.values()):
        if policy.attribute is None:
            continue
        yield _of_policy(policy, policy.attribute)
        for suffix in VARIANTS if policy.variants else ():
            variant = _of_policy(policy, policy.attribute + suffix)
            yield replace(variant, always=False, when="where it is configured")


#: Folded name to its meaning in each ad; rows of one name have different sides.
ATTRIBUTES: Final[dict[str, tuple[Attribute, ...]]] = _gather(
    (*machine.ATTRIBUTES, *job.ATTRIBUTES, *daemons.ATTRIBUTES, *_policies())
)

#: Families of attributes; the name has a part in angle brackets.
FAMILIES: Final[tuple[Attribute, ...]] = (*machine.FAMILIES, *job.FAMILIES)


def _pattern(name: str) -> re.Pattern[str]:
    parts = re.split(r"(<[A-Za-z]+>)", name)
    groups = {"<N>": r"\d+(?:_\d+)?", "<Name>": r"(?P<inner>[a-z0-9_]+)"}
    return re.compile("".join(groups.get(part, re.escape(fold(part))) for part in parts) + r"\Z")


_PATTERNS: Final = tuple((_pattern(family.name), family) for family in FAMILIES)
#: Families whose members are copies of the attribute named in them.
_COPIES: Final = ("slot<N>_<Name>", "vm<N>_<Name>")


def attributes_named(name: str) -> tuple[Attribute, ...]:
    """The meanings of a name, in any case, in the ads that may have it; empty for an unknown one."""
    key = fold(name)
    known = ATTRIBUTES.get(key)
    if known is not None:
        return known
    members = (_member(pattern, family, name) for pattern, family in _PATTERNS)
    return tuple(member for member in members if member is not None)


def attribute_of(name: str, side: AdKind) -> Attribute | None:
    """The meaning of a name, in any case, in an ad of `side`; None if it is unknown there."""
    found = [row for row in attributes_named(name) if row.side in (side, AdKind.NONE)]
    return found[0] if found else None


def _member(pattern: re.Pattern[str], family: Attribute, name: str) -> Attribute | None:
    found = pattern.match(fold(name))
    if found is None:
        return None
    inner = found["inner"]
    if family.name in _COPIES:
        copied = [row for row in ATTRIBUTES.get(inner, ()) if row.side is family.side]
        if not copied:
            return None
        replaced = None if family.replaced_by is None else f"slot{name[2:]}"
        return replace(copied[0], name=name, always=False, when=family.when, replaced_by=replaced)
    spelled = name[found.start("inner") : found.end("inner")]
    return replace(family, name=name, meaning=family.meaning.replace("<Name>", spelled))


__all__ = ["ATTRIBUTES", "FAMILIES", "attribute_of", "attributes_named"]
