"""The pool's policy where no negotiator is involved: for another job on a claim, and for jobs that have changed.

The slot ad that came with a match carries the imposed policy (`roost.model.pool_policy`). The rules are the
negotiator's: a condition permits only if it is TRUE, a discarding expression forbids only if it is TRUE, and an ad that
has an attribute with the name of a scope is exempt.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd, Expr, Value, evaluate
from roost.classad.ad import MISSING, has_any
from roost.classad.world import WORLD, World
from roost.model.pool_policy import HANDED, HANDED_KEYS, IMPOSED, JOB, JOB_ONLY, RESOURCE, STARTD_ONLY, is_true, scopes

_IMPOSED: Final = tuple(map(str.lower, IMPOSED))
_HANDED: Final = tuple((name, name.lower()) for name in HANDED)
_IMPOSED_KEYS: Final = frozenset(_IMPOSED)


def imposes(slot: ClassAd) -> bool:
    """Whether a slot ad carries any policy that could forbid a job."""
    return has_any(slot, _IMPOSED_KEYS)


def forbids(job: ClassAd, slot: ClassAd, world: World = WORLD, *, offered: ClassAd | None = None) -> str:
    """The part of the pool's policy in a slot ad that keeps a job from the slot: one of IMPOSED; "" if it may have it.

    `offered` is the slot as the negotiator assigned it, of which the current one may be a part: whether the policy
    applies is decided for the whole slot.
    """
    imposed = [cell for cell in map(slot.cell, _IMPOSED) if cell is not MISSING]
    if not imposed:
        return ""
    if any(ad.cell(scope) is not MISSING for scope in scopes(imposed) for ad in (job, slot)):
        return JOB_ONLY
    for name, my in ((JOB_ONLY, job), (STARTD_ONLY, offered or slot)):
        if is_true(_value(slot, name, my, None, world)):
            return name
    sides = ((RESOURCE, slot, job), (JOB, job, slot))
    for name, my, target in sides:
        if slot.cell(name.lower()) is not MISSING and not is_true(_value(slot, name, my, target, world)):
            return name
    return ""


def _value(slot: ClassAd, name: str, my: ClassAd, target: ClassAd | None, world: World) -> Value | object:
    cell = slot.cell(name.lower())
    return evaluate(cell, my, target, world) if isinstance(cell, Expr) else cell


def kept(fresh: ClassAd, before: ClassAd | None) -> ClassAd:
    """A machine's ad of its slot, with the policy that came with the match in place of the machine's own claims about
    it.
    """
    if not has_any(fresh, HANDED_KEYS) and (before is None or not has_any(before, HANDED_KEYS)):
        return fresh
    found = fresh
    for name, key in _HANDED:
        cell = MISSING if before is None else before.cell(key)
        if cell is fresh.cell(key):
            continue
        found = found.copy() if found is fresh else found
        if cell is MISSING:
            del found[name]
        else:
            found[name] = cell
    return found
