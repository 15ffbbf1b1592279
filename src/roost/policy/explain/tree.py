"""A traced evaluation as logic over clauses.

`Builder` takes trees of `roost.classad.tracing` apart at ``&&``, ``||``, ``!``, conditionals and ``?:``, and where a
condition is compared with a constant or counted (``START =?= False``, ``(a > b) + 1``). Names that are defined by
expressions are followed into them. The leaves are `ClauseUnit`s: comparisons, calls, names, constants. A unit also
knows the ad in which its names are looked up.

`settled` computes the value of such a tree again, with other values for some units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, TypeGuard, assert_never

from roost.base.records import dataclass
from roost.classad import UNDEFINED, ClassAd, Value
from roost.classad.ops import BINARY, UNARY, truth
from roost.classad.syntax import Binary, Call, Conditional, Elvis, Literal, Name, Node, Op, Select, Unary, strip
from roost.classad.tracing import Traced
from roost.classad.values import Exceptional, fold
from roost.policy.explain.model import UsedSide

#: Operators that compare; anything they compare is a condition.
RELATIONS: Final = frozenset((Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.IS, Op.ISNT))
_AGAINST: Final = frozenset((Op.EQ, Op.NE, Op.IS, Op.ISNT))
_COUNTED: Final = RELATIONS - {Op.IS, Op.ISNT} | {Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD}


@dataclass(frozen=True, slots=True)
class Scene:
    """The ads in which the names of a text are looked up."""

    ad: ClassAd | None
    side: UsedSide
    other: ClassAd | None
    other_side: UsedSide


#: The scene of a nested ad, about whose names nothing is known.
NO_SCENE: Final = Scene(None, UsedSide.OTHER, None, UsedSide.OTHER)


@dataclass(frozen=True, slots=True)
class DefinedName:
    """A name that is defined by an expression, on the way to a unit."""

    traced: Traced
    scene: Scene


@dataclass(frozen=True, slots=True)
class TextPath:
    """A text, and the names that lead to it."""

    text: str
    scene: Scene
    links: tuple[DefinedName, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ClauseUnit:
    """A clause; two are the same only if they are one object."""

    traced: Traced
    place: TextPath

    @property
    def value(self) -> Value:
        """Its value as evaluated."""
        return self.traced.value


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Parts joined by ``&&`` or by ``||``."""

    op: Op
    parts: tuple[Logic, ...]
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Negation:
    """``!part``."""

    part: Logic
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class IfThenElse:
    """``test ? then : otherwise``, or ifThenElse."""

    test: Logic
    then: Logic
    otherwise: Logic
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Fallback:
    """``left ?: right``."""

    left: Logic
    right: Logic
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Against:
    """A condition compared with TRUE, FALSE, UNDEFINED or ERROR, the constant on either side."""

    op: Op
    part: Logic
    constant: Value
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Conditions that are added, multiplied, compared: all operands count, and one that is UNDEFINED decides."""

    op: Op
    parts: tuple[Logic, Logic]
    value: Value


Logic: TypeAlias = ClauseUnit | Chain | Negation | IfThenElse | Fallback | Against | Counted


class Builder:
    """Takes traced expressions of one evaluation apart. Recurses as deep as the expressions do."""

    def __init__(self, my: ClassAd | None, target: ClassAd | None) -> None:
        mine = Scene(my, UsedSide.MY, target, UsedSide.TARGET)
        self._scenes = {"MY": mine, "TARGET": Scene(target, UsedSide.TARGET, my, UsedSide.MY)}
        #: Whether a traced node is a condition, by identity; the trace outlives the builder.
        self._conditions: dict[int, bool] = {}
        self.here = mine

    def build(self, traced: Traced, place: TextPath) -> Logic:
        """The logic of a traced expression that stands in `place`."""
        definition = traced.definition
        if definition is not None:
            assert definition.expression.source is not None
            scene = self._scenes.get(definition.side, NO_SCENE)
            inner = TextPath(definition.expression.source, scene, (*place.links, DefinedName(traced, place.scene)))
            return self.build(definition.trace, inner)
        node = strip(traced.node)
        parts = traced.operands
        match node:
            case Binary(op=Op.AND | Op.OR as op) if len(parts) == 2:
                return self._chain(op, traced, place)
            case Unary(op=Op.NOT) if len(parts) == 1:
                return Negation(self.build(parts[0], place), traced.value)
            case Conditional() | Call() if _chooses(node, parts):
                test, then, otherwise = [self.build(part, place) for part in parts]
                return IfThenElse(test, then, otherwise, traced.value)
            case Elvis() if len(parts) == 2:
                return Fallback(self.build(parts[0], place), self.build(parts[1], place), traced.value)
            case Binary(op=op) if len(parts) == 2:
                return self._compared(op, traced, place)
        return ClauseUnit(traced, place)

    def _chain(self, op: Op, traced: Traced, place: TextPath) -> Chain:
        """Parts of a chain of the same operator, whichever side it nests on."""
        parts: list[Logic] = []
        work = [traced]
        while work:
            link = work.pop()
            node = strip(link.node)
            if isinstance(node, Binary) and node.op is op and len(link.operands) == 2:
                work += (link.operands[1], link.operands[0])
            else:
                parts.append(self.build(link, place))
        return Chain(op, tuple(parts), traced.value)

    def _compared(self, op: Op, traced: Traced, place: TextPath) -> Logic:
        left, right = traced.operands
        conditions = self._condition(left), self._condition(right)
        if op in _AGAINST and conditions[0] is not conditions[1]:
            condition, other = (left, right) if conditions[0] else (right, left)
            node = strip(other.node)
            if isinstance(node, Literal) and _logical(node.value) and _logical(condition.value):
                return Against(op, self.build(condition, place), node.value, traced.value)
        if op in _COUNTED and True in conditions:
            return Counted(op, (self.build(left, place), self.build(right, place)), traced.value)
        return ClauseUnit(traced, place)

    def _condition(self, traced: Traced) -> bool:
        """Whether a sub-expression is logic to be split, following definitions."""
        known = self._conditions.get(id(traced))
        if known is None:
            known = self._conditions[id(traced)] = self._is_condition(traced)
        return known

    def _is_condition(self, traced: Traced) -> bool:
        while traced.definition is not None:
            traced = traced.definition.trace
        node = strip(traced.node)
        match node:
            case Binary(op=Op.AND | Op.OR) | Unary(op=Op.NOT):
                return True
            case Binary(op=op) if op in RELATIONS:
                return True
            case Binary(op=op) if op in _COUNTED:
                return any(self._condition(operand) for operand in traced.operands)
            case Elvis():
                return len(traced.operands) == 2
        return _chooses(node, traced.operands)


def _chooses(node: Node, operands: tuple[Traced, ...]) -> bool:
    """Whether a node is a conditional, or ifThenElse, that was evaluated."""
    return len(operands) == 3 and (
        isinstance(node, Conditional) or (isinstance(node, Call) and fold(node.name) == "ifthenelse")
    )


def _logical(value: object) -> TypeGuard[bool | Exceptional]:
    return isinstance(value, bool | Exceptional)


def parts_of(logic: Logic) -> tuple[Logic, ...]:
    """The parts directly below."""
    match logic:
        case ClauseUnit():
            return ()
        case Chain(parts=parts) | Counted(parts=parts):
            return parts
        case Negation(part=part) | Against(part=part):
            return (part,)
        case IfThenElse(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case Fallback(left=left, right=right):
            return (left, right)
        case _ as never:
            assert_never(never)


def settled(logic: Logic, values: Mapping[ClauseUnit, Value]) -> Value:
    """The value of the tree with the units in `values` replaced, and the others unchanged."""
    match logic:
        case ClauseUnit():
            return values.get(logic, logic.value)
        case Chain(op=op, parts=parts):
            value = settled(parts[0], values)
            for part in parts[1:]:
                value = BINARY[op](value, settled(part, values))
            return truth(value)
        case Negation(part=part):
            return UNARY[Op.NOT](settled(part, values))
        case IfThenElse(test=test, then=then, otherwise=otherwise):
            chosen = truth(settled(test, values))
            if isinstance(chosen, Exceptional):
                return chosen
            return settled(then if chosen else otherwise, values)
        case Fallback(left=left, right=right):
            value = settled(left, values)
            return settled(right, values) if value is UNDEFINED else value
        case Against(op=op, part=part, constant=constant):
            return BINARY[op](settled(part, values), constant)
        case Counted(op=op, parts=(left, right)):
            return BINARY[op](settled(left, values), settled(right, values))
        case _ as never:
            assert_never(never)


def reference_name(node: Node) -> tuple[str, str] | None:
    """Scope ("", "my", "target") and name of a node that names an attribute of one of the two ads."""
    if isinstance(node, Name) and not node.absolute:
        return "", node.name
    if isinstance(node, Select):
        base = strip(node.base)
        if isinstance(base, Name) and not base.absolute and fold(base.name) in ("my", "target"):
            return fold(base.name), node.name
    return None


__all__ = [
    "RELATIONS",
    "Against",
    "Builder",
    "Chain",
    "ClauseUnit",
    "Counted",
    "DefinedName",
    "Fallback",
    "IfThenElse",
    "Logic",
    "Negation",
    "Scene",
    "TextPath",
    "parts_of",
    "reference_name",
    "settled",
]
