"""How long an expression keeps its value if nothing changes except the time.

A machine evaluates its policy every few seconds, nearly always with the same result as before. This module says until
when that is certain: the evaluations in between can be left out, and the run is the same (a test compares the two).

How it works
------------
Within a stretch in which nothing happens, every attribute is either constant or a clock: it grows by one each second
(KeyboardIdle while the owner is away, time()). So arithmetic on them is a line, and a comparison of lines flips at one
known instant. An expression is compiled once to closures; each gives a `Reading`: the value now, its slope, and until
when this holds. ``&&``, ``||`` and ``?:`` need only hold for the operand that decides.

If it does not know, it answers "until now". That costs an evaluation and is never wrong: impure functions, lists, ads,
a product of two clocks, a clock inside any function. The value of such a node comes from the evaluator.

The instant of a reading must be a whole second, and so must the evaluations: then truncated clocks are exact lines.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from roost.classad import ClassAd, Expr, Value, World, evaluate
from roost.classad.ad import MISSING
from roost.classad.functions.registry import FUNCTIONS
from roost.classad.ops import BINARY, UNARY, truth
from roost.classad.syntax import Binary, Call, Conditional, Literal, Name, Node, Op, Paren, Select, Unary, strip
from roost.classad.values import UNDEFINED, fold

#: Maximum number of attributes followed from one expression to the next.
DEPTH_MAX: Final = 24


#: An attribute's limit to the first whole second at which it may exceed that limit, epoch s.
Reach = Callable[[float], float]


class Reading(NamedTuple):
    """A value that is known for some time."""

    value: Value
    #: Growth of a number, per second.
    slope: float
    #: It holds before this instant, epoch s; infinite if only events can change it.
    until: float
    #: It remains a truth value or UNDEFINED as long as only time passes, whichever it is.
    sure: bool = False
    #: For a clock that is reset to 0 now and then: a limit to the earliest time when it may exceed that, epoch s.
    reach: Reach | None = None


#: Makes a reading from all its five fields, twice as fast as its class.
_new: Final = tuple.__new__


class Scene:
    """The context of a reading: two ads at one instant, and which attributes are clocks."""

    __slots__ = ("clocks", "depth", "known", "my", "now", "reaches", "steps", "target", "world")

    def __init__(
        self,
        my: ClassAd,
        target: ClassAd | None,
        world: World,
        now: float,
        clocks: Mapping[str, float],
        steps: Mapping[str, float],
        reaches: Mapping[str, Reach],
    ) -> None:
        self.my = my
        self.target = target
        self.world = world
        self.now = now
        #: Folded name of an attribute of the slot's ad to its slope.
        self.clocks = clocks
        #: Folded name of an attribute of the slot's ad to when it changes next, which may be now.
        self.steps = steps
        #: Folded name of an attribute that is reset to 0 now and then to its `Reading.reach`.
        self.reaches = reaches
        self.depth = 0
        #: Readings of attributes with expressions, by folded name and whether it is the target's.
        self.known: dict[tuple[str, bool], Reading] = {}

    def aim(self, target: ClassAd | None) -> None:
        """Use another target from now on."""
        if target is not self.target:
            self.target = target
            self.known.clear()


#: An operand that decides for longer than this is not compared with the other one, s.
SOON_S: Final = 600.0

Code = Callable[[Scene, bool], Reading]

_FOREVER: Final = math.inf
#: Comparisons with the same result at 0 as below it, and as above it.
_ZERO_IS_LESS: Final = frozenset((Op.LE, Op.GT))
_ZERO_IS_MORE: Final = frozenset((Op.GE, Op.LT))
_NUMBERS: Final = frozenset((int, float))
#: The result of a comparison of two numbers of one type.
_COMPARED: Final[Mapping[Op, Callable[[Any, Any], bool]]] = {
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
}
_PLAIN: Final = frozenset((int, float, bool, str))
#: Below this, float arithmetic on integers is exact.
_WHOLE_MAX: Final = 2.0**52
_CODES: Final[dict[int, tuple[Expr, Code]]] = {}
#: Maximum number of compiled expressions kept.
_CODES_MAX: Final = 50_000


def read(expression: Expr, scene: Scene, swapped: bool = False) -> Reading:
    """Value, slope and end of an expression. `swapped`: it is in the target's ad."""
    return _code(expression)(scene, swapped)


def read_key(key: str, scene: Scene) -> Reading:
    """The same for its folded name."""
    return _attribute(key, scene, False, both=True)


def _code(expression: Expr) -> Code:
    known = _CODES.get(id(expression))
    if known is None:
        if len(_CODES) >= _CODES_MAX:
            _CODES.clear()
        known = _CODES[id(expression)] = (expression, _compiled(expression.tree))
    return known[1]


def _fixed(node: Node) -> Reading | None:
    """The value of a literal or of arithmetic on literal numbers."""
    match node:
        case Literal(value=value):
            return Reading(value, 0.0, _FOREVER, value.__class__ is bool)
        case Paren(inner=inner):
            return _fixed(inner)
        case Binary(op=Op.ADD | Op.SUB | Op.MUL | Op.DIV as op, left=left, right=right):
            x, y = _fixed(left), _fixed(right)
            if x is not None and y is not None and x.value.__class__ in _NUMBERS and y.value.__class__ in _NUMBERS:
                return Reading(BINARY[op](x.value, y.value), 0.0, _FOREVER)
    return None


def _compiled(node: Node) -> Code:
    fixed = _fixed(node)
    if fixed is not None:
        return lambda scene, swapped: fixed
    match node:
        case Paren(inner=inner):
            return _compiled(inner)
        case Name(name=name, absolute=False):
            return _named(fold(name))
        case Select(base=base, name=name) if isinstance(scope := strip(base), Name) and not scope.absolute:
            return _selected(node, fold(scope.name), name)
        case Unary(op=op, operand=operand):
            return _unary(node, op, _compiled(operand))
        case Binary(op=Op.AND | Op.OR as op, left=left, right=right):
            return _logical(op, _compiled(left), _compiled(right))
        case Binary(op=op, left=left, right=right):
            return _binary(node, op, _compiled(left), _compiled(right))
        case Conditional(test=test, then=then, otherwise=otherwise):
            return _choice(_compiled(test), _compiled(then), _compiled(otherwise))
        case Call(name=name, args=args):
            return _call(node, fold(name), args)
    return _unknown(node)


def _named(key: str) -> Code:
    def run(scene: Scene, swapped: bool) -> Reading:
        if not swapped:
            found = scene.my.cells.get(key)
            if found.__class__ in _PLAIN:
                # The most frequent case: a number in the slot's own ad.
                until, slope = scene.steps.get(key, _FOREVER), scene.clocks.get(key, 0.0)
                return _new(Reading, (found, slope, until, found.__class__ is bool, scene.reaches.get(key)))
        return _attribute(key, scene, swapped, both=True)

    return run


def _unknown(node: Node) -> Code:
    """The evaluator's value, without any promise."""
    expression = Expr(node)

    def run(scene: Scene, swapped: bool) -> Reading:
        my, target = (scene.target, scene.my) if swapped else (scene.my, scene.target)
        return _new(Reading, (evaluate(expression, my, target, scene.world), 0.0, scene.now, False, None))

    return run


def _attribute(key: str, scene: Scene, swapped: bool, *, both: bool) -> Reading:
    """An attribute of the ad in which the name occurs, or else of the other one."""
    first: ClassAd | None = scene.target if swapped else scene.my
    found = MISSING if first is None else first.cells.get(key) or first.cell(key)
    until = _FOREVER if swapped else scene.steps.get(key, _FOREVER)
    if found is MISSING and both:
        if key == "currenttime":
            return _new(Reading, (int(scene.world.now()), 1.0, _FOREVER, False, None))
        swapped = not swapped
        other = scene.target if swapped else scene.my
        if other is not None:
            found = other.cell(key)
        if swapped:
            # An attribute that may appear in the slot's own ad takes precedence over the other ad's.
            theirs = _attribute(key, scene, swapped, both=False)
            return theirs if theirs.until <= until else theirs._replace(until=until)
        until = scene.steps.get(key, _FOREVER)
    if found is MISSING:
        return _new(Reading, (UNDEFINED, 0.0, until, False, None))
    if found.__class__ is not Expr:
        sure = found.__class__ is bool
        if swapped:
            return _new(Reading, (found, 0.0, until, sure, None))
        return _new(Reading, (found, scene.clocks.get(key, 0.0), until, sure, scene.reaches.get(key)))
    reading = scene.known.get((key, swapped))
    if reading is not None:
        return reading
    if scene.depth >= DEPTH_MAX:
        return _new(Reading, (UNDEFINED, 0.0, scene.now, False, None))
    scene.depth += 1
    reading = scene.known[key, swapped] = _code(found)(scene, swapped)
    scene.depth -= 1
    return reading


def _selected(node: Node, scope: str, name: str) -> Code:
    key = fold(name)
    if scope in ("my", "self"):
        return lambda scene, swapped: _attribute(key, scene, swapped, both=False)
    if scope == "target":
        return lambda scene, swapped: _attribute(key, scene, not swapped, both=False)
    return _unknown(node)


def _unary(node: Node, op: Op, operand: Code) -> Code:
    apply = UNARY[op]
    guess = _unknown(node)

    def run(scene: Scene, swapped: bool) -> Reading:
        x = operand(scene, swapped)
        if x.slope == 0:
            return _new(Reading, (apply(x.value), 0.0, x.until, op is Op.NOT and x.sure, None))
        if op is Op.SUB:
            return _new(Reading, (apply(x.value), -x.slope, x.until, False, None))
        return guess(scene, swapped)

    return run


def _logical(op: Op, left: Code, right: Code) -> Code:
    apply = BINARY[op]
    decides = op is Op.OR

    def run(scene: Scene, swapped: bool) -> Reading:
        x = left(scene, swapped)
        if x[0].__class__ is not bool:
            x = _condition(x, scene)
        first, _, until, sure, _ = x
        if first is decides:
            return _outlasted(x, right, scene, swapped) if sure and until < scene.now + SOON_S else x
        y = right(scene, swapped)
        if y[0].__class__ is not bool:
            y = _condition(y, scene)
        second, _, ends, surely, _ = y
        # A deciding right operand keeps deciding, unless the left becomes an error.
        if (second is decides and sure) or ends < until:
            until = ends
        value = second if first.__class__ is bool else apply(first, second)
        return _new(Reading, (value, 0.0, until, sure and surely, None))

    return run


def _outlasted(x: Reading, right: Code, scene: Scene, swapped: bool) -> Reading:
    """The deciding operand, which may soon stop deciding; if the right operand also decides, the result holds until
    that stops.
    """
    y = _condition(right(scene, swapped), scene)
    if y.value is x.value and y.until > x.until:
        return _new(Reading, (x.value, 0.0, y.until, y.sure, None))
    return x


def _condition(x: Reading, scene: Scene) -> Reading:
    """A reading as a truth value: a number on a slope is true until it reaches 0."""
    if x.value.__class__ is bool:
        return x
    if x.slope == 0:
        return _new(Reading, (truth(x.value), 0.0, x.until, x.sure, None))
    until = min(x.until, _crossing(x.value, x.slope, scene.now, Op.NE))
    return _new(Reading, (truth(x.value), 0.0, until, False, None))


def _choice(test: Code, then: Code, otherwise: Code) -> Code:
    def run(scene: Scene, swapped: bool) -> Reading:
        x = _condition(test(scene, swapped), scene)
        if x.value is True or x.value is False:
            y = (then if x.value else otherwise)(scene, swapped)
            return _new(Reading, (y.value, y.slope, min(x.until, y.until), False, None))
        return _new(Reading, (x.value, 0.0, x.until, False, None))

    return run


def _limited(op: Op, left: Code, limit: Reading, otherwise: Code) -> Code:
    """A comparison with a literal number, the usual case; `otherwise` for a value that is not a number."""
    compare = _COMPARED[op]
    most = limit.value
    kind = most.__class__

    def run(scene: Scene, swapped: bool) -> Reading:
        found, slope, until, _, reach = left(scene, swapped)
        if found.__class__ is kind:
            value = compare(found, most)
        elif found.__class__ in _NUMBERS:
            value = compare(float(found), float(most))  # type: ignore[arg-type]
        else:
            return otherwise(scene, swapped)
        if slope != 0:
            until = min(until, _crossing(found - most, slope, scene.now, op))  # type: ignore[operator]
        if reach is not None:
            until = max(until, _unreached(op, value, reach, limit))
        return _new(Reading, (value, 0.0, until, True, None))

    return run


def _binary(node: Binary, op: Op, left: Code, right: Code) -> Code:
    general = _binary_of_any(node, op, left, right)
    if op in _COMPARED:
        written = _fixed(node.right)
        if written is not None and written.value.__class__ in _NUMBERS:
            return _limited(op, left, written, general)
    return general


def _binary_of_any(node: Node, op: Op, left: Code, right: Code) -> Code:
    apply = BINARY[op]
    guess = _unknown(node)

    compares = op in _COMPARED

    def run(scene: Scene, swapped: bool) -> Reading:
        x = left(scene, swapped)
        y = right(scene, swapped)
        first, slope, until, _, reach = x
        second, other_slope, ends, _, _ = y
        if ends < until:
            until = ends
        value = apply(first, second)
        numbers = first.__class__ in _NUMBERS and second.__class__ in _NUMBERS
        if compares and numbers:
            if slope != other_slope:
                until = min(until, _crossing(first - second, slope - other_slope, scene.now, op))  # type: ignore[operator]
            if reach is not None and other_slope == 0:
                until = max(until, _unreached(op, value, reach, y))
            return _new(Reading, (value, 0.0, until, True, None))
        if slope == 0 and other_slope == 0:
            return _new(Reading, (value, 0.0, until, compares and _is_truth(x) and _is_truth(y), None))
        if not numbers:
            # A clock compared with a value that is not a number: the types decide, and they do not change.
            return _new(Reading, (value, 0.0, until, False, None))
        match op:
            case Op.ADD:
                return _new(Reading, (value, slope + other_slope, until, False, None))
            case Op.SUB:
                return _new(Reading, (value, slope - other_slope, until, False, None))
            case Op.MUL if other_slope == 0:
                return _new(Reading, (value, slope * second, until, False, None))  # type: ignore[operator]
            case Op.MUL if slope == 0:
                return _new(Reading, (value, first * other_slope, until, False, None))  # type: ignore[operator]
        return guess(scene, swapped)

    return run


def _is_truth(x: Reading) -> bool:
    return x.sure and x.value.__class__ is bool


def _unreached(op: Op, value: Value, reach: Reach, limit: Reading) -> float:
    """Until when an integer that is reset to 0 now and then stays below a limit."""
    most = limit.value
    if not -_WHOLE_MAX < most < _WHOLE_MAX:  # type: ignore[operator]
        return -_FOREVER
    if (op is Op.GT and value is False) or (op is Op.LE and value is True):
        return min(limit.until, reach(most))  # type: ignore[arg-type]
    if (op is Op.GE and value is False) or (op is Op.LT and value is True):
        return min(limit.until, reach(math.ceil(most) - 1))  # type: ignore[arg-type]
    return -_FOREVER


def _crossing(difference: Value, slope: float, now: float, op: Op) -> float:
    """When a comparison of a difference with 0 may change its result, in whole seconds from now; infinite if never."""
    if slope == 1 and difference.__class__ is int and -_WHOLE_MAX < difference <= 0:
        # A clock that rises to a whole number. At 0 the result is unchanged if 0 is on this side.
        return now + max(1, (op in _ZERO_IS_LESS) - difference)
    if slope == 0:
        return _FOREVER
    seconds = -difference / slope  # type: ignore[operator]
    if not seconds > 0:
        return _FOREVER if seconds < 0 else now + (seconds == 0)
    if difference.__class__ is int and slope.is_integer() and seconds < _WHOLE_MAX:
        # At 0 the result is unchanged if 0 is on this side.
        stays = op in (_ZERO_IS_LESS if difference < 0 else _ZERO_IS_MORE)
        return now + (math.floor(seconds) + 1 if stays else math.ceil(seconds))
    return now + math.ceil(seconds - 1e-6)


def _call(node: Call, name: str, args: tuple[Node, ...]) -> Code:
    guess = _unknown(node)
    if name == "time" and not args:
        return lambda scene, swapped: _new(Reading, (int(scene.world.now()), 1.0, _FOREVER, False, None))
    if name == "ifthenelse" and len(args) == 3:
        return _choice_call(guess, *(_compiled(arg) for arg in args))
    builtin = FUNCTIONS.get(name)
    if builtin is None or not builtin.pure:
        return guess
    codes = [_compiled(arg) for arg in args]

    def run(scene: Scene, swapped: bool) -> Reading:
        until = _FOREVER
        for code in codes:
            x = code(scene, swapped)
            if x.slope != 0:
                return guess(scene, swapped)
            until = min(until, x.until)
        return _new(Reading, (guess(scene, swapped).value, 0.0, until, False, None))

    return run


def _choice_call(guess: Code, test: Code, then: Code, otherwise: Code) -> Code:
    choice = _choice(test, then, otherwise)

    def run(scene: Scene, swapped: bool) -> Reading:
        x = truth(test(scene, swapped).value)
        return choice(scene, swapped) if x is True or x is False else guess(scene, swapped)

    return run
