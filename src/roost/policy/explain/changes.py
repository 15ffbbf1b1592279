"""The changes that would give an expression another value.

For a clause that compares something with something, the change is a relation to the other side's value:
``KeyboardIdle > 900``. If the clause depends on a plain attribute, the new value of the whole expression is found by
evaluating it with an example value in the ad, so that other clauses that read the attribute are correct, too; otherwise
only the clause is assumed to be reversed.

The search for changes that together reverse a value uses the fewest clauses, the leftmost among equals. It does not
search for one attribute value that satisfies several clauses; if evaluation does not confirm the result, there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from roost.base.records import dataclass, field, replace
from roost.classad import UNDEFINED, ClassAd, Expr, Value, evaluate
from roost.classad.ops import BINARY, truth
from roost.classad.syntax import Binary, Name, Op, Select, strip
from roost.classad.tracing import Traced
from roost.classad.values import Exceptional, fold
from roost.classad.world import World
from roost.policy.explain.clauses import operands_of, plain_attribute
from roost.policy.explain.model import Change, UsedSide
from roost.policy.explain.tree import (
    Against,
    Chain,
    ClauseUnit,
    Counted,
    Fallback,
    IfThenElse,
    Logic,
    Negation,
    settled,
)

#: Units to reverse, with the wanted outcome of each.
Turns: TypeAlias = "list[tuple[ClauseUnit, bool]]"

_OPPOSITE: Final = {
    Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT,
    Op.EQ: Op.NE, Op.NE: Op.EQ, Op.IS: Op.ISNT, Op.ISNT: Op.IS,
}  # fmt: skip
_MIRRORED: Final = {Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE}
_ORDER: Final = frozenset((Op.LT, Op.LE, Op.GT, Op.GE))

#: How far beyond a bound an example is.
_STEP: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternatives:
    """Finds changes in one evaluation."""

    expression: Expr
    root: Logic
    my: ClassAd | None
    target: ClassAd | None
    world: World
    #: Each unit that is the same clause as another, with all units of that clause.
    places: Mapping[ClauseUnit, tuple[ClauseUnit, ...]] = field(default_factory=dict)
    #: Folded names of attributes of `my` that must not be changed.
    fixed: frozenset[str] = frozenset()
    _memo: dict[tuple[int, bool], Turns | None] = field(default_factory=dict)

    def change(self, unit: ClauseUnit, wanted: bool) -> Change | None:
        """The change that gives `unit` the outcome `wanted`; None if there is no simple one."""
        change = self._possible(unit, wanted)
        if change is None:
            return None
        return replace(change, result=self.result([(unit, change)]))

    def _possible(self, unit: ClauseUnit, wanted: bool) -> Change | None:
        change = _compared(unit, wanted) if operands_of(unit) else _named(unit, wanted)
        is_fixed = change is not None and change.side is UsedSide.MY and fold(change.subject) in self.fixed
        return None if is_fixed else change

    def together(self, wanted: bool) -> tuple[tuple[Change, ...], Value | None]:
        """The fewest changes that give the expression the truth value `wanted`, and its resulting value."""
        turns = self._turns(self.root, wanted)
        if not turns:
            return (), None
        once = {self.places.get(unit, (unit,))[0]: (unit, value) for unit, value in reversed(turns)}
        turns = list(reversed(once.values()))
        changes = [(unit, change) for unit, value in turns if (change := self.change(unit, value)) is not None]
        result = self.result(changes)
        return (tuple(change for _, change in changes), result) if truth(result) is wanted else ((), None)

    def result(self, changes: list[tuple[ClauseUnit, Change]]) -> Value:
        """The value of the expression after the changes."""
        ads = {UsedSide.MY: self.my, UsedSide.TARGET: self.target}
        if all(change.side in ads and change.example is not None for _, change in changes):
            for _, change in changes:
                assert change.side is not None
                ads[change.side] = _with(ads[change.side], change)
            return evaluate(self.expression, ads[UsedSide.MY], ads[UsedSide.TARGET], self.world)
        turned = {place: change.clause for unit, change in changes for place in self.places.get(unit, (unit,))}
        return settled(self.root, turned)

    # -- the search ----------------------------------------------------------------------------

    def _turns(self, logic: Logic, wanted: bool) -> Turns | None:
        key = id(logic), wanted
        if key not in self._memo:
            self._memo[key] = self._find(logic, wanted)
        return self._memo[key]

    def _find(self, logic: Logic, wanted: bool) -> Turns | None:
        match logic:
            case ClauseUnit():
                if truth(logic.value) is wanted:
                    return []
                return None if self._possible(logic, wanted) is None else [(logic, wanted)]
            case Chain(op=op, parts=parts):
                options = [self._turns(part, wanted) for part in parts]
                return _fewest(options) if wanted is (op is Op.OR) else _all(options)
            case Negation(part=part):
                return self._turns(part, not wanted)
            case Against(op=op, part=part, constant=constant):
                fitting = [value for value in (True, False) if BINARY[op](value, constant) is wanted]
                return _fewest([self._turns(part, value) for value in fitting])
            case IfThenElse(test=test, then=then, otherwise=otherwise):
                ways = ((True, then), (False, otherwise))
                return _fewest([_all([self._turns(test, value), self._turns(way, wanted)]) for value, way in ways])
            case Fallback(left=left, right=right):
                return self._turns(right if left.value is UNDEFINED else left, wanted)
            case Counted(value=value):
                return [] if truth(value) is wanted else None


def _fewest(options: list[Turns | None]) -> Turns | None:
    possible = [option for option in options if option is not None]
    return min(possible, key=len, default=None)


def _all(options: list[Turns | None]) -> Turns | None:
    gathered: Turns = []
    for option in options:
        if option is None:
            return None
        gathered += option
    return gathered


# -- one clause ----------------------------------------------------------------------------------


def _compared(unit: ClauseUnit, wanted: bool) -> Change | None:
    """The change for a comparison: a relation of one side to the other's value."""
    node = strip(unit.traced.node)
    assert isinstance(node, Binary)
    operands = operands_of(unit)
    varying = [index for index in (0, 1) if not operands[index].constant]
    if not varying:
        return None
    plain = [index for index in varying if plain_attribute(unit.traced.operands[index], unit.place.scene)]
    index = (plain or varying)[0]
    relation = node.op if wanted else _OPPOSITE[node.op]
    relation = relation if index == 0 else _MIRRORED.get(relation, relation)
    bound = operands[1 - index].value
    if not _sayable(relation, bound):
        return None
    return _change(unit, unit.traced.operands[index], relation, bound, wanted)


def _sayable(relation: Op, bound: Value) -> bool:
    if isinstance(bound, Exceptional):
        return relation in (Op.IS, Op.ISNT)
    return isinstance(bound, int | float if relation in _ORDER else bool | int | float | str)


def _named(unit: ClauseUnit, wanted: bool) -> Change | None:
    """The change for a name that is a condition by itself."""
    if not isinstance(strip(unit.traced.node), Name | Select):
        return None
    if plain_attribute(unit.traced, unit.place.scene) is None:
        return None
    return _change(unit, unit.traced, Op.EQ, wanted, wanted)


def _change(unit: ClauseUnit, subject: Traced, relation: Op, bound: Value, wanted: bool) -> Change:
    start, end = subject.span
    attribute = plain_attribute(subject, unit.place.scene)
    return Change(
        subject=unit.place.text[start:end] if attribute is None else attribute[1],
        side=None if attribute is None else attribute[0],
        relation=relation.value,
        bound=bound,
        now=subject.value,
        example=None if attribute is None else _example(relation, bound),
        clause=wanted,
        result=UNDEFINED,
    )


def _example(relation: Op, bound: Value) -> Value | None:
    """A value in `relation` to `bound`."""
    if relation in (Op.EQ, Op.LE, Op.GE, Op.IS):
        return bound
    if isinstance(bound, bool):
        return not bound if relation in (Op.NE, Op.ISNT) else None
    if isinstance(bound, int | float):
        step = 1 if isinstance(bound, int) else _STEP
        return bound - step if relation is Op.LT else bound + step
    if isinstance(bound, str):
        return "" if bound else "other"
    return None


def _with(ad: ClassAd | None, change: Change) -> ClassAd:
    """A copy of an ad with the example of a change in it."""
    changed = ClassAd() if ad is None else ad.copy()
    changed[change.subject] = change.example
    return changed


__all__ = ["Alternatives"]
