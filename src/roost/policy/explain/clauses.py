"""Turns a unit of the logic into a clause of an explanation: text, operands, attributes and their origins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from roost.base.records import dataclass, field
from roost.classad import UNDEFINED
from roost.classad.ad import MISSING
from roost.classad.expr import Expr
from roost.classad.functions import lookup
from roost.classad.syntax import Binary, Call, Name, Node, Select, children, strip
from roost.classad.tracing import Traced
from roost.classad.unparse import unparse
from roost.classad.values import fold
from roost.policy.explain.model import Change, Clause, Operand, Origin, Role, Step, Used, UsedSide
from roost.policy.explain.tree import NO_SCENE, RELATIONS, ClauseUnit, DefinedName, Scene, TextPath, reference_name

#: Attributes listed for one clause; of more, only the first are listed.
ATTRIBUTES_MAX = 50

#: Names the language itself gives meaning to, in every ad that does not define them.
_LANGUAGE = frozenset(("currenttime", "my", "target", "self", "parent", "toplevel", "root"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Describer:
    """Creates clauses, with the places where attributes were set."""

    #: For each side: folded attribute name to the place where it was set.
    origins: Mapping[UsedSide, Mapping[str, Origin]]
    _empty: Mapping[str, Origin] = field(default_factory=dict)

    def clause(self, unit: ClauseUnit, role: Role, change: Change | None) -> Clause:
        """The clause of a unit."""
        start, end = unit.traced.span
        return Clause(
            text=unit.place.text[start:end],
            span=(start, end),
            value=unit.value,
            role=role,
            path=tuple(self._step(link) for link in unit.place.links),
            operands=operands_of(unit),
            attributes=self._attributes(unit),
            change=change,
        )

    def origin(self, side: UsedSide, name: str) -> Origin | None:
        """Where an attribute was set."""
        return self.origins.get(side, self._empty).get(fold(name))

    def _step(self, link: DefinedName) -> Step:
        definition = link.traced.definition
        assert definition is not None
        assert definition.expression.source is not None
        side = UsedSide(definition.side)
        return Step(
            name=definition.name,
            side=side,
            span=link.traced.span,
            text=definition.expression.source,
            value=link.traced.value,
            origin=self.origin(side, definition.name),
        )

    def _attributes(self, unit: ClauseUnit) -> tuple[Used, ...]:
        found: dict[tuple[UsedSide, str], Used] = {}
        for traced, scene in _references(unit):
            used = self._used(traced, scene)
            if used is not None:
                found.setdefault((used.side, fold(used.name)), used)
            if len(found) >= ATTRIBUTES_MAX:
                break
        return tuple(found.values())

    def _used(self, traced: Traced, scene: Scene) -> Used | None:
        definition = traced.definition
        if definition is not None:
            side = UsedSide(definition.side)
            text = definition.expression.source
            return Used(
                name=definition.name,
                side=side,
                value=traced.value,
                text=text,
                origin=self.origin(side, definition.name),
            )
        node = strip(traced.node)
        side, name, text = _found(node, scene)
        if side is UsedSide.NOWHERE and traced.value is not UNDEFINED:
            side = UsedSide.OTHER
        if side is UsedSide.NOWHERE:
            return Used(name=unparse(node), side=side, value=UNDEFINED)
        return Used(name=name, side=side, value=traced.value, text=text, origin=self.origin(side, name))


def _found(node: Node, scene: Scene) -> tuple[UsedSide, str, str | None]:
    """Where a name without an expression was found: side, spelling, and its text if it is part of a cycle."""
    assert isinstance(node, Name | Select)
    reference = reference_name(node)
    if reference is None or scene is NO_SCENE:
        return UsedSide.OTHER, unparse(node), None
    scope, name = reference
    mine, other = (scene.ad, scene.side), (scene.other, scene.other_side)
    for ad, side in {"": (mine, other), "my": (mine,), "target": (other,)}[scope]:
        cell = MISSING if ad is None else ad.cell(fold(name))
        if ad is not None and cell is not MISSING:
            text = cell.source or str(cell) if isinstance(cell, Expr) else None
            return side, ad.spelling(fold(name)), text
        if fold(name) in _LANGUAGE:
            return UsedSide.OTHER, name, None
    return UsedSide.NOWHERE, name, None


def _references(unit: ClauseUnit) -> Iterator[tuple[Traced, Scene]]:
    """The names in a unit, and those in the definitions they lead to."""
    scenes = {unit.place.scene.side: unit.place.scene}
    scene = unit.place.scene
    scenes[scene.other_side] = Scene(scene.other, scene.other_side, scene.ad, scene.side)
    work = [(unit.traced, scene)]
    while work:
        traced, scene = work.pop()
        if isinstance(strip(traced.node), Name | Select) and not traced.operands:
            yield traced, scene
        definition = traced.definition
        if definition is not None:
            work.append((definition.trace, scenes.get(UsedSide(definition.side), NO_SCENE)))
        work.extend((operand, scene) for operand in reversed(traced.operands))


def operands_of(unit: ClauseUnit) -> tuple[Operand, ...]:
    """Both sides of a comparison; nothing for any other unit."""
    node = strip(unit.traced.node)
    if not isinstance(node, Binary) or node.op not in RELATIONS or len(unit.traced.operands) != 2:
        return ()
    return tuple(_operand(operand, unit.place) for operand in unit.traced.operands)


def _operand(traced: Traced, place: TextPath) -> Operand:
    start, end = traced.span
    return Operand(text=place.text[start:end], value=traced.value, constant=not varies(traced.node))


def varies(tree: Node) -> bool:
    """Whether a tree contains a name, or a call whose result may vary."""
    work = [tree]
    while work:
        node = work.pop()
        if isinstance(node, Name | Select):
            return True
        if isinstance(node, Call):
            function = lookup(node.name)
            if function is None or not function.pure:
                return True
        work.extend(children(node))
    return False


def plain_attribute(traced: Traced, scene: Scene) -> tuple[UsedSide, str] | None:
    """Side and name of an operand that is just an attribute; None for anything else.

    A scoped name that is in no ad has the side that its scope says; one without scope is nowhere.
    """
    node = strip(traced.node)
    reference = reference_name(node)
    if traced.definition is not None or reference is None:
        return None
    side, name, text = _found(node, scene)
    if text is not None or side is UsedSide.OTHER:
        return None
    if side is UsedSide.NOWHERE and reference[0]:
        side = scene.side if reference[0] == "my" else scene.other_side
    return side, name


__all__ = ["ATTRIBUTES_MAX", "Describer", "operands_of", "plain_attribute", "varies"]
