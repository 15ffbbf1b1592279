"""Evaluates an expression with an explanation of its value.

`trace` returns a tree that mirrors the syntax tree: the value of every sub-expression, with its span. Nothing is
skipped: the right side of a decided ``&&`` and the branch not taken are evaluated too and marked `skipped`, so that an
explanation can give their values. A name that leads to another expression carries that expression's own trace.

A separate compiler produces the traced code from the same parts; the ordinary code is unaffected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from roost.base.records import dataclass
from roost.classad.allowance import IN_FORCE
from roost.classad.compiler import CompiledPart, Compiler
from roost.classad.evaluation import deeply, evaluate
from roost.classad.expr import Expr
from roost.classad.limits import EVALUATION_FUEL, REFERENCE_DEPTH_MAX, TRACE_NODES_MAX
from roost.classad.ops import BINARY, COMPARISONS, UNARY, truth
from roost.classad.state import NO_AD, Code, EvaluationFailed, EvaluationStopped, State
from roost.classad.syntax import Binary, Call, Conditional, Node, Op, Paren, Span, strip
from roost.classad.values import ERROR, UNDEFINED, Exceptional, Value, fold
from roost.classad.world import WORLD, World

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The attribute that a name led to, where that is an expression."""

    #: As the ad spells it.
    name: str
    #: "MY" or "TARGET" for the two ads of the evaluation, "" for an ad nested in one.
    side: str
    expression: Expr
    #: The trace of the expression.
    trace: Traced


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One sub-expression and its value."""

    node: Node
    value: Value
    #: The ordinary evaluation did not need this value.
    skipped: bool = False
    #: The operands that were evaluated, left to right.
    operands: tuple[Traced, ...] = ()
    #: What a name led to; None where it is a plain value or nothing at all.
    definition: Definition | None = None

    @property
    def span(self) -> Span:
        """Where the sub-expression stands in the text of its expression."""
        return self.node.span

    def walk(self) -> Iterator[Traced]:
        """This node and all below it in the same text, in the order of the text."""
        work = [self]
        while work:
            traced = work.pop()
            yield traced
            work.extend(reversed(traced.operands))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A traced evaluation."""

    expression: Expr
    root: Traced
    #: Whether the trace exceeded `TRACE_NODES_MAX` or another limit, so that it has only the value.
    truncated: bool = False

    @property
    def value(self) -> Value:
        """The value of the expression, the same as from `evaluate`."""
        return self.root.value


def trace(expression: Expr, my: ClassAd | None = None, target: ClassAd | None = None, world: World = WORLD) -> Trace:
    """Evaluate `expression` like `evaluate`, and keep the value of every sub-expression. Raises nothing.

    Within an allowance each recorded sub-expression costs a step more, and a trace that exceeds the allowance is
    truncated.
    """
    expression = expression.located()
    allowance = IN_FORCE.get()
    granted = EVALUATION_FUEL if allowance is None else allowance.for_one()
    state = _TracingState(my, target, world)
    state.fuel = granted
    state.budget = min(state.budget, granted)
    nodes = state.budget
    state.marks = set()
    state.careful = True
    state.depth = REFERENCE_DEPTH_MAX

    def run() -> Value:
        return _TracingCompiler().compile(expression.tree)(state)

    try:
        deeply(run)
        return Trace(expression=expression, root=state.records[0])
    except EvaluationFailed:
        return Trace(
            expression=expression, root=Traced(node=expression.tree, value=ERROR, operands=tuple(state.records))
        )
    except (EvaluationStopped, RecursionError):
        value = evaluate(expression, my, target, world)
        return Trace(expression=expression, root=Traced(node=expression.tree, value=value), truncated=True)
    finally:
        if allowance is not None:
            # The evaluation that follows a truncated trace says whether the expression itself exceeds it.
            allowance.left -= granted - max(state.fuel, 0) + nodes - max(state.budget, 0)


class _TracingState(State):
    """A state that collects the records of the node being evaluated."""

    __slots__ = ("budget", "compiled", "definition", "records", "skipping")

    def __init__(self, ad: ClassAd | None, target: ClassAd | None, world: World) -> None:
        super().__init__(ad, target, world)
        #: Records of the operands evaluated so far at this level.
        self.records: list[Traced] = []
        #: What the name being evaluated led to.
        self.definition: Definition | None = None
        #: Whether what is evaluated now would be skipped.
        self.skipping = False
        self.budget = TRACE_NODES_MAX
        #: What was compiled already, by the identity of its tree: the tree, the expression, its traced code.
        self.compiled: dict[int, tuple[Node, Expr, Code]] = {}

    def code_of(self, cell: Expr, key: str) -> Code:
        holder = self.ad
        known = self.compiled.get(id(cell.tree))
        if known is None:
            located = cell.located()
            # The tree is kept alive, too, so that its id is not reused.
            known = self.compiled[id(cell.tree)] = (cell.tree, located, _TracingCompiler().compile(located.tree))
        _, cell, code = known

        def run(state: State) -> Value:
            assert isinstance(state, _TracingState)
            outer, state.records = state.records, []
            try:
                value = code(state)
            finally:
                inner, state.records = state.records, outer
            side = "MY" if holder is state.left or state.left is None else "TARGET" if holder is state.right else ""
            if holder.scope is not None and holder not in (state.left, state.right):
                side = ""
            state.definition = Definition(
                name=holder.spelling(key) if holder is not NO_AD and key in holder else key,
                side=side,
                expression=cell,
                trace=inner[-1],
            )
            return value

        return run


class _TracingCompiler(Compiler):
    """Makes code that records each node and skips none."""

    def part(self, node: Node) -> CompiledPart:
        if isinstance(node, Paren):
            return self.part(strip(node))
        code = super().part(node).code

        def run(state: State) -> Value:
            assert isinstance(state, _TracingState)
            state.budget -= 1
            if state.budget < 0:
                raise EvaluationStopped
            outer, state.records = state.records, []
            state.definition = None
            try:
                value = code(state)
            finally:
                operands, state.records = state.records, outer
            definition, state.definition = state.definition, None
            outer.append(
                Traced(
                    node=node,
                    value=value,
                    skipped=state.skipping,
                    operands=tuple(operands),
                    definition=None if operands else definition,
                )
            )
            return value

        # No constant is folded: each shows as a node of its own.
        return CompiledPart(run)

    def binary(self, node: Binary) -> CompiledPart:
        left, right = self.compile(node.left), self.compile(node.right)
        run = BINARY[node.op]
        if node.op not in (Op.AND, Op.OR):
            return CompiledPart(_strict(node.op, left, right))
        decisive = node.op is Op.OR

        def logical(state: State) -> Value:
            x = left(state)
            a = truth(x)
            if a is decisive or a is ERROR:
                _aside(state, right)
                return run(x, False)
            return run(x, right(state))

        return CompiledPart(logical)

    def unary(self, op: Op, operand: Node) -> CompiledPart:
        code, run = self.compile(operand), UNARY[op]
        return CompiledPart(lambda state: run(code(state)))

    def conditional(self, node: Conditional) -> CompiledPart:
        return CompiledPart(_choice(self.compile(node.test), self.compile(node.then), self.compile(node.otherwise)))

    def elvis(self, left: Node, right: Node) -> CompiledPart:
        first, second = self.compile(left), self.compile(right)

        def run(state: State) -> Value:
            x = first(state)
            if x is UNDEFINED:
                return second(state)
            _aside(state, second)
            return x

        return CompiledPart(run)

    def call(self, node: Call) -> CompiledPart:
        if fold(node.name) == "ifthenelse" and len(node.args) == 3:
            return CompiledPart(_choice(*[self.compile(argument) for argument in node.args]))
        return super().call(node)

    def select(self, node: object) -> CompiledPart:
        # Without the records of ``MY`` and ``TARGET`` themselves, which say nothing.
        return Compiler.select(_PLAIN, node) if _scoped(node) else Compiler.select(self, node)  # type: ignore[arg-type]


def _scoped(node: object) -> bool:
    from roost.classad.syntax import Name, Select

    base = strip(node.base) if isinstance(node, Select) else None
    return isinstance(base, Name) and fold(base.name) in ("my", "target") and not base.absolute


_PLAIN = Compiler()


def _strict(op: Op, left: Code, right: Code) -> Code:
    run, compares = BINARY[op], op in COMPARISONS

    def strict(state: State) -> Value:
        x, y = left(state), right(state)
        if compares:
            state.spend_on_comparison(x, y)
        return run(x, y)

    return strict


def _choice(test: Code, then: Code, otherwise: Code) -> Code:
    def run(state: State) -> Value:
        x = truth(test(state))
        if x is True:
            value = then(state)
            _aside(state, otherwise)
            return value
        _aside(state, then)
        if x is False:
            return otherwise(state)
        _aside(state, otherwise)
        assert isinstance(x, Exceptional)
        return x

    return run


def _aside(state: State, code: Code) -> None:
    """Evaluate what the ordinary evaluation skips, without side effects."""
    assert isinstance(state, _TracingState)
    skipping, state.skipping = state.skipping, True
    ad, depth, home = state.ad, state.depth, state.home
    # The set itself stays: references around this one hold it.
    marks = state.marks
    assert marks is not None
    before = set(marks)
    try:
        code(state)
    except EvaluationFailed:
        pass
    finally:
        state.skipping = skipping
        state.ad, state.depth, state.home, state.marks = ad, depth, home, marks
        marks.intersection_update(before)


__all__ = ["Definition", "Trace", "Traced", "trace"]
