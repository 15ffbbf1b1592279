"""The clauses of an expression: units, and which of them are one clause in several places.

``B`` and ``MY.b`` are the same if both were found in the same ad; other units are the same if their text is equal,
ignoring spacing, and they are looked up in the same ads. A unit that draws a random number is equal only to itself. Of
a clause in several places, the one reached through the fewest names and operators is shown. A clause that cannot be
UNDEFINED, such as ``x =?= y``, is assumed never to become so.
"""

from __future__ import annotations

from typing import Final

from roost.base.records import dataclass, field
from roost.classad.syntax import Binary, Call, Node, Op, children, strip
from roost.classad.values import fold
from roost.policy.explain.clauses import plain_attribute, varies
from roost.policy.explain.model import UsedSide
from roost.policy.explain.reach import FALSE, FREE, TRUE, Set, ValueSets
from roost.policy.explain.tree import NO_SCENE, ClauseUnit, Logic, parts_of

_DEFINITE: Final[Set] = TRUE | FALSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Clauses:
    """The clauses of one tree. Sets of them are masks; the leftmost clause has the highest bit."""

    #: Unit to its value, as a set.
    own: dict[ClauseUnit, Set]
    #: Unit to its possible values when free, including its own.
    free: dict[ClauseUnit, Set]
    #: One unit of each clause, in the order of the text.
    shown: tuple[ClauseUnit, ...]
    #: Whether some clause has more than one place.
    repeated: bool
    _masks: dict[ClauseUnit, int]
    _constants: frozenset[ClauseUnit] = field(default=frozenset())

    def mask(self, unit: ClauseUnit) -> int:
        """The clause of a unit."""
        return self._masks[unit]

    def constant(self, unit: ClauseUnit) -> bool:
        """Whether nothing can change a unit."""
        return unit in self._constants

    def units(self, clauses: int) -> tuple[ClauseUnit, ...]:
        """The units to show for some clauses."""
        return tuple(unit for unit in self.shown if self._masks[unit] & clauses) if clauses else ()

    def varying(self) -> dict[int, list[ClauseUnit]]:
        """Each clause that is not a constant, with all its units, in the order of the text."""
        found: dict[int, list[ClauseUnit]] = {self._masks[unit]: [] for unit in self.shown if not self.constant(unit)}
        for unit, mask in self._masks.items():
            if mask in found:
                found[mask].append(unit)
        return found

    def places(self) -> dict[ClauseUnit, tuple[ClauseUnit, ...]]:
        """Each unit that is the same clause as another, with all units of that clause."""
        if not self.repeated:
            return {}
        return {unit: tuple(units) for units in self.varying().values() if len(units) > 1 for unit in units}


def same_clauses(root: Logic, sets: ValueSets) -> Clauses:
    """The clauses of a tree."""
    groups: dict[object, list[tuple[tuple[int, int, int], ClauseUnit]]] = {}
    own: dict[ClauseUnit, Set] = {}
    for order, (unit, depth) in enumerate(_units(root)):
        own[unit] = sets.single(unit.value)
        rank = (len(unit.place.links), depth, order)
        groups.setdefault((_key(unit), own[unit]), []).append((rank, unit))
    chosen = {min(group)[1]: [unit for _, unit in group] for group in groups.values()}
    shown = tuple(unit for unit in own if unit in chosen)
    masks = {unit: 1 << at for at, one in enumerate(reversed(shown)) for unit in chosen[one]}
    return Clauses(
        own=own,
        free={unit: values | (_DEFINITE if _is_definite(unit) else FREE) for unit, values in own.items()},
        shown=shown,
        repeated=len(shown) < len(own),
        _masks=masks,
        _constants=frozenset(unit for unit in own if not varies(unit.traced.node)),
    )


def _units(root: Logic) -> list[tuple[ClauseUnit, int]]:
    """Units and how deep they are, in the order of the text."""
    found: list[tuple[ClauseUnit, int]] = []
    work: list[tuple[Logic, int]] = [(root, 0)]
    while work:
        part, depth = work.pop()
        if isinstance(part, ClauseUnit):
            found.append((part, depth))
        else:
            work.extend((one, depth + 1) for one in reversed(parts_of(part)))
    return found


def _key(unit: ClauseUnit) -> object:
    scene = unit.place.scene
    if scene is NO_SCENE or _is_random(unit.traced.node):
        return unit
    attribute = plain_attribute(unit.traced, scene)
    if attribute is not None and attribute[0] is not UsedSide.NOWHERE:
        return attribute[0], fold(attribute[1])
    return scene.side, strip(unit.traced.node)


def _is_definite(unit: ClauseUnit) -> bool:
    """Whether a unit can be nothing but TRUE and FALSE."""
    node = strip(unit.traced.node)
    if isinstance(node, Binary):
        return node.op in (Op.IS, Op.ISNT)
    return isinstance(node, Call) and fold(node.name) in ("isundefined", "iserror")


def _is_random(tree: Node) -> bool:
    work = [tree]
    while work:
        node = work.pop()
        if isinstance(node, Call) and fold(node.name) == "random":
            return True
        work.extend(children(node))
    return False


__all__ = ["Clauses", "same_clauses"]
