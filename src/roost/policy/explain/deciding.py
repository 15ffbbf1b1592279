"""The smallest set of clauses that decides a value.

Theory. Take the logic of an expression (`tree`) with the values its units have. A set of units *decides* if the
value stays the same whatever TRUE, FALSE or UNDEFINED the other units are; it is *smallest* if no part of it
decides. `Search.need` walks down with the truth values that are still allowed for each part: ``a && b`` that must
be FALSE needs one part that is FALSE, and the first one is taken, for evaluation goes from left to right;
``a && b`` that must be TRUE needs all parts TRUE; one that must be UNDEFINED needs one part UNDEFINED and the
others not FALSE. So what a part must be may be weaker than what it is, and the set below it smaller.

ERROR is contagious from the left: in ``a && b``, FALSE through `b`, an ERROR in `a` would win. An expression whose
clauses may turn to ERROR is a mistake and not a decision, so the other units are not supposed to become ERROR;
that is the one way in which a deciding set can be upset. A unit that *is* ERROR decides as one; the set is then
still deciding, but not always the smallest. The same goes for arithmetic on conditions, whose operands are all
taken as needed unless one is ERROR or UNDEFINED, though a sum may survive the loss of one.

Invariant: the truth of the part's value is among those allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, assert_never

from roost.classad import ERROR, UNDEFINED, Value
from roost.classad.ops import BINARY, UNARY, truth
from roost.classad.syntax import Literal, Op, strip
from roost.classad.values import Exceptional
from roost.policy.explain.model import Role
from roost.policy.explain.tree import Against, Chain, Choice, Counted, Fallback, Logic, Negation, Unit

Truth: TypeAlias = Exceptional | bool
Allowed: TypeAlias = frozenset[Truth]

_ALL: Final[Allowed] = frozenset((True, False, UNDEFINED, ERROR))
_FREE: Final[Allowed] = frozenset((True, False, UNDEFINED))
_DEFINITE: Final[Allowed] = frozenset((True, False))
_UNDEFINED: Final[Allowed] = frozenset((UNDEFINED,))
_ERROR: Final[Allowed] = frozenset((ERROR,))


@dataclass(frozen=True, slots=True)
class Need:
    """Units that keep a part as it must be."""

    #: In the order of the text.
    deciding: tuple[tuple[Unit, Role], ...] = ()
    #: Units that would have done in place of some of those.
    also: tuple[Unit, ...] = ()

    def aside(self) -> Need:
        """The same as conditions: they only stand aside."""
        return Need(tuple((unit, Role.CONDITION) for unit, _ in self.deciding), self.also)


_NOTHING: Final = Need()


def _size(need: Need) -> int:
    return len(need.deciding)


def _joined(needs: Iterable[Need]) -> Need:
    gathered = [need for need in needs if need is not _NOTHING]
    if len(gathered) == 1:
        return gathered[0]
    return Need(
        tuple(item for need in gathered for item in need.deciding),
        tuple(unit for need in gathered for unit in need.also),
    )


@dataclass(slots=True)
class Search:
    """Finds deciding sets in one tree; remembers what it has found."""

    _known: dict[tuple[int, Allowed], Need] = field(default_factory=dict)

    def need(self, logic: Logic, allowed: Allowed) -> Need:
        """Units that keep the truth of `logic` among `allowed`."""
        if attainable(logic) <= allowed:
            return _NOTHING
        key = id(logic), allowed
        if key not in self._known:
            self._known[key] = self._find(logic, allowed)
        return self._known[key]

    def _find(self, logic: Logic, allowed: Allowed) -> Need:
        match logic:
            case Unit():
                return Need(((logic, Role.CAUSE),))
            case Chain():
                return self._chain(logic, allowed)
            case Negation(part=part):
                return self.need(part, _before(UNARY[Op.NOT], allowed))
            case Against(op=op, part=part, constant=constant):
                return self.need(part, _before(partial(BINARY[op], constant), allowed))
            case Choice():
                return self._choice(logic, allowed)
            case Fallback():
                return self._fallback(logic, allowed)
            case Counted():
                return self._counted(logic)
            case _ as never:
                assert_never(never)

    def _choice(self, logic: Choice, allowed: Allowed) -> Need:
        test = truth(logic.test.value)
        needed = self.need(logic.test, frozenset((test,)))
        if isinstance(test, Exceptional):
            return needed
        return _joined((needed, self.need(logic.then if test else logic.otherwise, allowed)))

    def _fallback(self, logic: Fallback, allowed: Allowed) -> Need:
        if logic.left.value is not UNDEFINED:
            return self.need(logic.left, allowed - _UNDEFINED)
        # A condition on the left may also have the value itself, but it can't be a number.
        same: Allowed = allowed if isinstance(logic.right.value, bool | Exceptional) else frozenset()
        return _joined((self.need(logic.left, same | _UNDEFINED), self.need(logic.right, allowed)))

    def _counted(self, logic: Counted) -> Need:
        """Strict operators: one operand that is ERROR decides, else one that is UNDEFINED, else both."""
        for exceptional in (ERROR, UNDEFINED):
            for part in logic.parts:
                if part.value is exceptional:
                    return self.need(part, frozenset((exceptional,)))
        varying = [part for part in logic.parts if not is_constant(part)]
        return _joined(self.need(part, frozenset((truth(part.value),))) for part in varying or logic.parts)

    def _chain(self, logic: Chain, allowed: Allowed) -> Need:
        absorbing = logic.op is Op.OR
        value = truth(logic.value)
        truths = [truth(part.value) for part in logic.parts]
        if value is absorbing:
            found = self._one(logic, truths.index(absorbing), allowed, absorbing)
            if allowed >= _DEFINITE and allowed.issuperset(truths):
                # It must only not be UNDEFINED: that may be easier to say of all parts.
                return min((found, self._each(logic, allowed)), key=_size)
            return found
        if value is ERROR:
            return self._failed(logic, truths.index(ERROR), allowed, absorbing)
        if value is not UNDEFINED or (not absorbing) in allowed:
            return self._each(logic, allowed)
        if absorbing in allowed:
            undefined = [index for index, one in enumerate(truths) if one is UNDEFINED]
            options = [self._one(logic, index, allowed, absorbing) for index in undefined]
            return min(options, key=_size)
        return self._undefined(logic, truths, not absorbing)

    def _each(self, logic: Chain, allowed: Allowed) -> Need:
        """All parts are needed: none may be what the whole must not be."""
        return _joined(self.need(part, allowed) for part in logic.parts)

    def _one(self, logic: Chain, index: int, allowed: Allowed, absorbing: bool) -> Need:
        """One part decides for all; the others that could have are remembered."""
        wanted = allowed - {not absorbing} if UNDEFINED in allowed else frozenset((absorbing,))
        found = self.need(logic.parts[index], wanted)
        others = (*logic.parts[:index], *logic.parts[index + 1 :])
        also = (self.need(other, wanted) for other in others if truth(other.value) in wanted)
        return Need(found.deciding, (*found.also, *(unit for need in also for unit, _ in need.deciding)))

    def _undefined(self, logic: Chain, truths: list[Truth], neutral: bool) -> Need:
        """One part is UNDEFINED, and the others do not decide.

        Which of several UNDEFINED parts is the one matters: it needs more than just not to decide. The one that
        needs least more is taken.
        """
        weak = [self.need(part, frozenset((UNDEFINED, neutral))) for part in logic.parts]
        undefined = [index for index, value in enumerate(truths) if value is UNDEFINED]
        strong = {index: self.need(logic.parts[index], _UNDEFINED) for index in undefined}
        weak = [min(need, strong.get(index, need), key=_size) for index, need in enumerate(weak)]
        chosen = min(strong, key=lambda index: _size(strong[index]) - _size(weak[index]))
        return _joined(
            strong[index] if index == chosen else need if index in strong else need.aside()
            for index, need in enumerate(weak)
        )

    def _failed(self, logic: Chain, index: int, allowed: Allowed, absorbing: bool) -> Need:
        """The first part that is ERROR, and those before it do not decide."""
        if absorbing in allowed:
            return self.need(logic.parts[index], allowed - {not absorbing})
        failed = self.need(logic.parts[index], _ERROR)
        aside: Allowed = frozenset((UNDEFINED, ERROR, not absorbing))
        return _joined((*(self.need(part, aside).aside() for part in logic.parts[:index]), failed))


def decide(logic: Logic) -> Need:
    """The units that decide the value of `logic`."""
    return Search().need(logic, frozenset((truth(logic.value),)))


def attainable(logic: Logic) -> Allowed:
    """The truth values that `logic` can have while none of its units is fixed."""
    match logic:
        case Against(op=Op.IS | Op.ISNT):
            return _DEFINITE
        case Against(part=part) | Negation(part=part):
            return attainable(part)
        case Chain(parts=parts):
            return _DEFINITE if all(attainable(part) == _DEFINITE for part in parts) else _FREE
        case Fallback(right=right):
            return attainable(right) | _DEFINITE
    return _FREE


def is_constant(logic: Logic) -> bool:
    """Whether a part is a constant, which nothing can change."""
    return isinstance(logic, Unit) and isinstance(strip(logic.traced.node), Literal)


def _before(run: Callable[[Truth], Value], allowed: Allowed) -> Allowed:
    """The truth values that `run` takes to one of `allowed`."""
    return frozenset(value for value in _ALL if truth(run(value)) in allowed)


__all__ = ["Need", "Search", "attainable", "decide", "is_constant"]
