"""The attributes that the configuration gives to the slots of one type, and which of them a policy uses.

A list such as STARTD_ATTRS publishes names; some have one text for all slots, some one for a slot type, some one for
a single slot. If there is one for all, that of a single slot is left out: the rules check slots in general.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from roost.policy.lint.pool import Expression, Pool
from roost.policy.model import AdKind


def published(pool: Pool, slot_type: int | None) -> list[Expression]:
    """What the slots of a type publish, each attribute once."""
    found: dict[str, Expression] = {}
    for own in (False, True):
        for e in pool.expressions:
            if e.attribute and e.scope.my is AdKind.MACHINE and (e.slot_type is not None) is own:
                if e.slot is not None:
                    found.setdefault(e.base, e)
                elif e.slot_type in (None, slot_type):
                    found[e.base] = e
    return list(found.values())


def reached(asking: Iterable[Expression], attributes: list[Expression]) -> list[Expression]:
    """The attributes that expressions use, directly or through others, in the order of publication."""
    by_name = {e.base: e for e in attributes}
    work = list(asking)
    found: dict[str, Expression] = {}
    while work:
        expression = work.pop()
        if any(expression.calls("eval")):
            return attributes
        for name in expression.names:
            if name in by_name and name not in found:
                found[name] = by_name[name]
                work.append(by_name[name])
    return [e for e in attributes if e.base in found]


def followed(names: Iterable[str], written: Mapping[str, Expression], attributes: list[Expression]) -> list[Expression]:
    """The expressions of these knobs and those that they use, if a source sets them."""
    found: dict[str, Expression] = {}
    by_name = {e.base: e for e in attributes}
    by_name.update({knob.lower(): e for knob, e in written.items()})
    work = [name.lower() for name in names]
    while work:
        key = work.pop()
        if key not in found and key in by_name:
            found[key] = by_name[key]
            work.extend(by_name[key].names)
            if not by_name[key].names.isdisjoint(("cpubusytime", "cpuisbusy")):
                work.append("cpubusy")
    return list(found.values())
