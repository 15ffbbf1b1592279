"""Which clauses of a policy scenarios have exercised: seen both TRUE and not TRUE.

A clause is an innermost operand of ``&&``, ``||`` or ``!``; within sums and products, a comparison. Expressions are
evaluated after each transition and at each expectation, and only where the state machine would evaluate them: SUSPEND
while a job runs, CONTINUE while it is suspended. START is evaluated for the current job, or for the waiting ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, evaluate, unparse
from roost.classad.ops import truth
from roost.classad.syntax import Binary, Conditional, Literal, Node, Op, Unary, strip
from roost.classad.values import fold
from roost.config import Config
from roost.policy.explain import Origin
from roost.policy.explain.configured import configured_expression, configured_machine
from roost.sim.forecast.quiescence import EXPRESSIONS
from roost.startd.policy_inputs import Decision, Inputs, StepWorld
from roost.startd.states import BACKFILL, BENCHMARKING, BUSY, RETIRING, SUSPENDED, UNCLAIMED, VACATING, Pair, State
from roost.startd.transitions import ROWS
from roost.starter.policy_inputs import StarterInputs
from roost.starter.states import State as StarterState

_WITH_JOB: Final = frozenset((BUSY, SUSPENDED, RETIRING, VACATING))
#: Attributes of the slot's ad that hold the policy, in the order of the report, to the pairs in which they are
#: evaluated.
POLICY: Final[Mapping[str, frozenset[Pair]]] = {
    "START": frozenset(
        pair for pair in ROWS if pair.state in (State.OWNER, State.UNCLAIMED, State.MATCHED, State.CLAIMED)
    ),
    "IsOwner": frozenset(),
    "Rank": frozenset((UNCLAIMED, BENCHMARKING, BUSY, SUSPENDED, RETIRING)),
    "WANT_SUSPEND": frozenset(),
    "SUSPEND": frozenset(),
    "CONTINUE": frozenset(),
    "PREEMPT": frozenset(),
    "WANT_VACATE": _WITH_JOB - {BUSY},
    "KILL": frozenset(),
    "RunBenchmarks": frozenset(),
    "START_BACKFILL": frozenset((UNCLAIMED, BENCHMARKING)),
    "EVICT_BACKFILL": frozenset((BACKFILL,)),
    "PERIODIC_CHECKPOINT": frozenset((BUSY, RETIRING)),
    "WANT_HOLD": _WITH_JOB,
}


#: Expressions of the starter to the states in which it evaluates them.
STARTER: Final[Mapping[str, frozenset[StarterState]]] = {
    "STARTER_EVICT": frozenset((StarterState.RUNNING, StarterState.SUSPENDED)),
    "STARTER_WANT_VACATE": frozenset(),
    "STARTER_KILL": frozenset((StarterState.VACATING,)),
}


def _asked() -> dict[str, frozenset[Pair]]:
    """The pairs of each expression, including those of the rows that evaluate it."""
    found = {name: set(pairs) for name, pairs in POLICY.items()}
    for pair, rows in ROWS.items():
        for row in rows:
            for guard in row.when:
                if guard in EXPRESSIONS and EXPRESSIONS[guard][0] in found:
                    found[EXPRESSIONS[guard][0]].add(pair)
    return {name: frozenset(pairs) for name, pairs in found.items()}


_ASKED: Final = _asked()
#: The file name for defaults.
_DEFAULT: Final = "<default>"
#: Expressions that are evaluated without a job.
_LOCAL: Final = ("IsOwner", "RunBenchmarks", "START_BACKFILL", "EVICT_BACKFILL")
#: Expressions that are evaluated for waiting jobs, too.
_OF_WAITING: Final = ("START", "Rank")
#: Expressions in guards that are not conditions.
_DURATIONS: Final = ("MaxJobRetirementTime", "CLAIM_WORKLIFE")
_UNIVERSES: Final = {5: "_VANILLA", 13: "_VM"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Untried:
    """A clause with a truth value that was never seen."""

    name: str
    clause: str
    #: "never TRUE", "always TRUE" or "never asked".
    side: str
    #: Where the expression is set; None if that is unknown.
    origin: Origin | None


def set_by(config: Config, slot: int | None = None) -> dict[str, Origin]:
    """The places where the attributes of a machine, or of one of its slots, are set; defaults are left out."""
    made = configured_machine(config, slot=slot)
    return {name: origin for name, origin in made.origins.items() if origin.file != _DEFAULT}


@dataclass(slots=True)
class Coverage:
    """Clauses seen so far."""

    #: (expression, clause) to the truth values seen: "TRUE", "FALSE", "neither".
    seen: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    #: Attribute to the place where it is set.
    origins: dict[str, Origin] = field(default_factory=dict)

    def add(self, other: Coverage) -> None:
        """Add the results of another."""
        for clause, truths in other.seen.items():
            self.seen.setdefault(clause, set()).update(truths)
        self.origins |= other.origins

    def configured(self, config: Config) -> None:
        """Add a configuration whose clauses count even if they are never evaluated. Defaults do not count."""
        made = configured_machine(config)
        self.origins |= set_by(config)
        for name in POLICY:
            for key in (name, *(name + suffix for suffix in _UNIVERSES.values())):
                found = made.ad.cell(fold(key))
                if isinstance(found, Expr) and key in self.origins:
                    for clause in clauses(found.tree):
                        self.seen.setdefault((key, _text(found, clause)), set())

        for name in STARTER:
            set_to = configured_expression(config, name, subsys="STARTER")
            if set_to is not None and set_to.origin is not None and set_to.origin.file != _DEFAULT:
                self.origins[name] = set_to.origin
                for clause in clauses(set_to.expression.tree):
                    self.seen.setdefault((name, _text(set_to.expression, clause)), set())

    def look_at_starter(self, inputs: StarterInputs) -> None:
        """Evaluate what a starter would evaluate now."""
        for name, states in STARTER.items():
            if inputs.state.state in states:
                self.decided(inputs.decide(name))

    def look(self, inputs: Inputs, waiting: Iterable[ClassAd] = (), named: Iterable[str] = ()) -> None:
        """Evaluate what a slot would evaluate now: for its own job, for `waiting` ones, and always what is `named`."""
        pair, own = inputs.state.pair, inputs.state.claim.job_ad
        jobs = list(waiting)
        wanted = {fold(name) for name in named}
        for name in POLICY:
            if pair not in _ASKED[name] and fold(name) not in wanted:
                continue
            targets: list[ClassAd | None] = [None if name in _LOCAL else own]
            if name in _OF_WAITING:
                targets += jobs
            for target in targets:
                self._look_at(name, inputs, target)

    def decided(self, decision: Decision) -> None:
        """Record an evaluation of a slot or starter. Durations have no truth values."""
        if isinstance(decision.formula, Expr) and decision.name not in _DURATIONS:
            self._note(decision.name, decision.formula, decision.my, decision.target, decision.world)

    def _look_at(self, name: str, inputs: Inputs, target: ClassAd | None) -> None:
        if target is not None:
            suffix = _UNIVERSES.get(target.eval("JobUniverse"), "")  # type: ignore[arg-type]
            if suffix and isinstance(inputs.my.cell(fold(name + suffix)), Expr):
                name += suffix
        found = inputs.my.cell(fold(name))
        if isinstance(found, Expr):
            world = StepWorld(inputs.policy, inputs.state.name, inputs.now)
            self._note(name, found, inputs.my, target, world)

    def _note(self, name: str, found: Expr, my: ClassAd, target: ClassAd | None, world: StepWorld) -> None:
        if name not in self.origins:
            return
        for clause in clauses(found.tree):
            value = truth(evaluate(Expr(clause), my, target, world.again()))
            word = "TRUE" if value is True else "FALSE" if value is False else "neither"
            self.seen.setdefault((name, _text(found, clause)), set()).add(word)

    @property
    def untried(self) -> list[Untried]:
        """Clauses with a truth value that was never seen."""
        found = []
        for (name, clause), words in self.seen.items():
            side = "never asked" if not words else "never TRUE" if "TRUE" not in words else "always TRUE"
            if words != {"TRUE"} and "TRUE" in words:
                continue
            found.append(Untried(name=name, clause=clause, side=side, origin=self.origins.get(name)))
        return found

    @property
    def share(self) -> float:
        """The share of clauses that were seen both TRUE and not TRUE."""
        return 1 - len(self.untried) / len(self.seen) if self.seen else 1.0


def _text(whole: Expr, clause: Node) -> str:
    """A clause as it was written."""
    if whole.source is None:
        return unparse(clause)
    return " ".join(whole.source[slice(*clause.span)].split())


_SUMS: Final = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD)


def clauses(node: Node) -> Iterator[Node]:
    """The clauses of an expression. A constant is not a clause: there is nothing to exercise."""
    node = strip(node)
    match node:
        case Binary(op=Op.AND | Op.OR, left=left, right=right):
            yield from clauses(left)
            yield from clauses(right)
        case Unary(op=Op.NOT, operand=operand):
            yield from clauses(operand)
        case Conditional(test=test, then=then, otherwise=otherwise):
            yield from clauses(test)
            yield from clauses(then)
            yield from clauses(otherwise)
        case Binary(op=op, left=left, right=right) if op in _SUMS:
            for side in (left, right):
                yield from (each for each in clauses(side) if _is_question(each))
        case Literal():
            return
        case _:
            yield node


def _is_question(node: Node) -> bool:
    return isinstance(node, Binary) and node.op not in _SUMS
