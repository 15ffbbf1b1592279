"""Which units of a custom resource a slot gets, if units have identifiers and properties.

The command of an inventory may print, besides ``Detected<name>``, an ad for each unit under the unit's identifier (with
``_`` for characters not allowed in names) and one for all units under ``Common``. ``SLOT_TYPE_k = gpu=1 : Memory >
8000`` then gives slots of a type only units of which that is TRUE; a job's ``Require<name>`` does the same for the
dynamic slot that is cut for it. Slots with a condition choose first, by number, then all others; units are given in the
order of the list.

A condition sees the properties of one unit and nothing else, and no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr, FixedWorld, evaluate, parse_expression
from roost.classad.values import fold
from roost.model.slots import CustomResource, MachineResources
from roost.policy.decision import truth_of
from roost.startd.layout.shares import Given

_NO_NAME = re.compile(r"[^A-Za-z0-9_]")
_COMMON = "common"
_UNKNOWN = ClassAd()


def unit_name(unit: str) -> str:
    """The identifier of a unit as part of an attribute name."""
    return _NO_NAME.sub("_", unit)


def described_units(printed: ClassAd, ids: Iterable[str]) -> dict[str, ClassAd]:
    """The properties of units in an inventory's output; units that it does not describe are left out."""
    common = printed.cells.get(_COMMON)
    shared = common.copy() if isinstance(common, ClassAd) else ClassAd()
    found = {}
    for unit in ids:
        own = printed.cells.get(fold(unit_name(unit)))
        if isinstance(own, ClassAd):
            found[unit] = shared | own
    return found


def is_description(name: str, ids: Iterable[str]) -> bool:
    """Whether an attribute that an inventory printed describes units, rather than the machine."""
    return fold(name) == _COMMON or fold(name) in {fold(unit_name(unit)) for unit in ids}


def meeting(units: Sequence[str], resource: CustomResource, condition: Expr | None) -> tuple[str, ...]:
    """The units for which a condition is TRUE; all units without a condition."""
    if condition is None:
        return tuple(units)
    world = FixedWorld()
    return tuple(
        unit for unit in units if truth_of(evaluate(condition, resource.units.get(unit, _UNKNOWN), None, world)) is True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """A slot of a layout for which there are too few units that meet the condition of its type."""

    given: Given
    resource: str
    condition: Expr
    wanted: int
    found: int


def assigned_units(
    resources: MachineResources, given: Sequence[Given]
) -> tuple[dict[int, dict[str, tuple[str, ...]]], tuple[Lacking, ...]]:
    """The units of every slot by slot number, and the slots that lack units."""
    assigned: dict[int, dict[str, tuple[str, ...]]] = {each.wanted.number: {} for each in given}
    lacking = []
    for resource in resources.custom:
        if not resource.ids:
            continue
        free = list(resource.ids)
        for each in sorted(given, key=lambda one: (_condition(one, resource) is None, one.wanted.number)):
            wanted = int(each.amounts.get(resource.name, 0))
            condition = _condition(each, resource)
            chosen = meeting(free, resource, condition)[:wanted]
            if condition is not None and len(chosen) < wanted:
                lacking.append(
                    Lacking(given=each, resource=resource.name, condition=condition, wanted=wanted, found=len(chosen))
                )
            assigned[each.wanted.number][resource.name] = chosen
            free = [unit for unit in free if unit not in chosen]
    return assigned, tuple(lacking)


def _condition(given: Given, resource: CustomResource) -> Expr | None:
    return given.wanted.type.conditions.get(resource.name) if resource.units else None


def unit_attributes(
    resources: Iterable[CustomResource], assigned: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, ClassAd | Expr]]:
    """The attributes of a slot's ad that describe its units: an ad for each, and their list as Available<name>."""
    for resource in resources:
        units = [unit for unit in assigned.get(resource.name, ()) if unit in resource.units]
        if not resource.units:
            continue
        for unit in units:
            yield f"{resource.name}_{unit_name(unit)}", resource.units[unit].copy()
        names = ", ".join(f"{resource.name}_{unit_name(unit)}" for unit in units)
        yield f"Available{resource.name}", parse_expression(f"{{{names}}}")
