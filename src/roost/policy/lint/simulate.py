"""The machine's expressions in a small grid of situations.

Within a situation (`situations`, `grid`) the rules evaluate expressions at different moments, and so follow the slot
through SUSPEND, CONTINUE, PREEMPT and KILL as the state machine would, under constant conditions.

Related attributes change together: the load of a slot is its owner's load plus 1 while its job runs; CpuBusyTime
is 0 unless CpuBusy is true; ConsoleIdle follows KeyboardIdle. The resource usage of a job (MemoryUsage and the like) is
missing, as when the job starts.

The grid is bounded (`SITUATIONS_MAX`) and deterministic: the same configuration gives the same findings.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Final

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd, Expr, FixedWorld, ParseError, evaluate, parse_expression
from roost.classad.ad import Cell
from roost.classad.syntax import Literal, strip
from roost.classad.values import ERROR, UNDEFINED, Exceptional, Value, fold
from roost.policy.catalogue import KNOB_POLICIES
from roost.policy.lint.grid import COUNTS, DRIVEN, FAR, Axes, axes_of, situations_of
from roost.policy.lint.opaque import SINCE, is_opaque, limits_of_time
from roost.policy.lint.pool import Expression, Pool
from roost.policy.lint.published import followed, published, reached
from roost.policy.lint.situations import AWAY, CALM, LONG_S, NOW, ORDINARY_JOB, Moment, Situation, constants, shown
from roost.policy.model import AdKind

SITUATIONS_MAX: Final = 600
#: Most nodes of a policy's expressions evaluated over all situations of a grid.
NODES_MAX: Final = 400_000
#: Situations of the smallest grid.
SITUATIONS_MIN: Final = 40
#: Most situations generated for a selection of knobs.
SITUATIONS_ABOUT_MAX: Final = 2_000
#: Most situations and moments examined to establish that something never happens.
MOMENTS_MAX: Final = 40_000
#: Most slot types with their own policy that are checked.
SLOT_TYPES_MAX: Final = 10
KNOBS: Final = (
    "START",
    "IS_OWNER",
    "WANT_SUSPEND",
    "SUSPEND",
    "CONTINUE",
    "PREEMPT",
    "WANT_VACATE",
    "WANT_HOLD",
    "KILL",
    "MAXJOBRETIREMENTTIME",
    "MachineMaxVacateTime",
)
_WORLD: Final = FixedWorld(instant=NOW)


@dataclass(eq=False, slots=False, kw_only=True)
class Machine:
    """The expressions in force for the slots of one type, ready to be evaluated."""

    pool: Pool
    slot_type: int | None
    #: Knob to the expression that a source sets; missing if the default applies.
    written: dict[str, Expression]
    exprs: dict[str, Expr]
    #: Maximum size of the grid.
    situations_max: int
    #: Whether an expression is invalid, so that the machine's behaviour is unknown.
    broken: bool
    _cache: dict[tuple[str, int, Moment, bool], Value] = field(default_factory=dict)
    #: The situation and moment that the slot's ad is in.
    _at: tuple[int, Moment | None] = (0, None)
    _job: ClassAd = field(default_factory=ClassAd)
    _jobs: dict[int, ClassAd] = field(default_factory=dict)
    _kept: list[Situation] = field(default_factory=list)
    _later: dict[int, Situation] = field(default_factory=dict)

    def value(self, knob: str, situation: Situation, moment: Moment, *, with_job: bool = True) -> Value:
        """The value of an expression; without a job, as evaluated by the machine alone."""
        key = knob, id(situation), moment, with_job
        if key in self._cache:
            return self._cache[key]
        if self._at != (id(situation), moment):
            self._place(situation, moment)
        value = evaluate(self.exprs[knob], self._slot, self._job if with_job else None, _WORLD)
        self._cache[key] = value
        return value

    def holds(self, knob: str, situation: Situation, moment: Moment) -> bool:
        """Whether an expression is TRUE, numbers counted."""
        return truth(self.value(knob, situation, moment)) is True

    def number(self, knob: str, situation: Situation, moment: Moment) -> float:
        """An expression as a number; 0 if it is not one."""
        value = self.value(knob, situation, moment)
        return float(value) if isinstance(value, int | float) else 0.0

    def kept(self, situation: Situation) -> Situation:
        """The situation, kept alive as long as this object: results are cached under its id."""
        self._kept.append(situation)
        return situation

    def later(self, situation: Situation) -> Situation:
        """The same with a job that has started very often; unchanged if no expression uses that."""
        asked = [name for name in self._axes.job if fold(name) in COUNTS]
        if not asked:
            return situation
        if id(situation) not in self._later:
            job = {**situation.job, **dict.fromkeys(asked, FAR)}
            self._later[id(situation)] = self.kept(replace(situation, job=job))
        return self._later[id(situation)]

    def measured(self, situation: Situation) -> Iterator[Situation]:
        """Variants of the situation, each with one measured attribute of a running job."""
        for name, (values, sides) in self._axes.measured.items():
            for value in values:
                if value is not UNDEFINED:
                    yield self.kept(_measuring(situation, name, value, sides))

    def place_of(self, *knobs: str) -> Expression | None:
        """The first of these that a source sets."""
        return next((self.written[knob] for knob in knobs if knob in self.written), None)

    def is_literal(self, knob: str) -> bool:
        """Whether an expression is a constant."""
        return isinstance(strip(self.exprs[knob].tree), Literal)

    def about(self, *knobs: str) -> list[Situation]:
        """All situations that these knobs can distinguish; none if that is unknown, or there are too many."""
        asked = self._followed(*knobs)
        axes = self._axes_of(asked)
        if axes.size > SITUATIONS_ABOUT_MAX or any(is_opaque(one, self._composed) for one in asked):
            return []
        return [self.kept(situation) for situation in situations_of(axes, int(axes.size), self._ordinary)]

    def _followed(self, *knobs: str) -> list[Expression]:
        return followed(knobs, self.written, self._published)

    @property
    def texts(self) -> tuple[str, ...]:
        """The expressions by their texts: machines with equal texts are the same to the rules."""
        own = [f"{e.base}={e.mapped.text}" for e in self._published if e.slot_type is not None]
        return (*(f"{knob}={e.mapped.text}" for knob, e in self.written.items()), *own)

    def never(self, knob: str, *standings: tuple[str, str]) -> bool:
        """Whether an expression is TRUE in no situation and at no time in some states and activities; False if
        unknown."""
        asked = self._followed(knob)
        axes = self._axes_of(asked)
        moments = [moment for standing in standings for moment in self._moments(*standing)]
        if any(is_opaque(one, self._composed) for one in asked) or axes.size * len(moments) > MOMENTS_MAX:
            return False
        situations = [self.kept(situation) for situation in situations_of(axes, int(axes.size), self._ordinary)]
        return not any(self.holds(knob, s, moment) for s in situations for moment in moments)

    def _moments(self, state: str, activity: str) -> Iterator[Moment]:
        """Moments of a state and activity, for each duration that the expressions can distinguish."""
        asked = [self._durations if clock in self._clocks else (None,) for clock in SINCE]
        with_job = state in ("Claimed", "Preempting") and activity != "Idle"
        for in_activity, in_state, of_job in itertools.product(*asked):
            activity_s = 0 if in_activity is None else in_activity
            job_s = activity_s if of_job is None else of_job
            state_s = LONG_S if in_state is None else in_state
            if activity_s <= job_s <= state_s:
                job = job_s if with_job else None
                yield Moment(state=state, activity=activity, activity_s=activity_s, job_s=job, state_s=state_s)

    @cached_property
    def _clocks(self) -> frozenset[str]:
        """The instants from which the expressions measure time."""
        return frozenset(name for expression in self._asking for name in expression.names if name in SINCE)

    @cached_property
    def _durations(self) -> tuple[int, ...]:
        """Times since one of these that the expressions can distinguish, in seconds."""
        found = {0, LONG_S}
        for expression in self._asking:
            for limit in limits_of_time(expression):
                found |= {second for second in (int(limit) - 1, int(limit), int(limit) + 1) if 0 <= second < LONG_S}
        return tuple(sorted(found))

    def is_set(self, *knobs: str) -> bool:
        """Whether a source sets one of these."""
        return any(knob in self.written for knob in knobs)

    def _place(self, situation: Situation, moment: Moment) -> None:
        """Put the slot and the job into a situation and a moment."""
        cells = self._slot.cells
        if self._at[0] != id(situation):
            for name in self._axes.measured:
                cells.pop(fold(name), None)
                if name in CALM:
                    self._slot.put(name, CALM[name])
            for name, value in situation.machine.items():
                self._slot.put(name, value)
            if "ConsoleIdle" not in situation.machine:
                cells["consoleidle"] = situation.machine.get("KeyboardIdle", AWAY)
            self._job = self._jobs.get(id(situation)) or ClassAd(dict(situation.job))
            self._jobs[id(situation)] = self._job
            _put_load(cells, situation.owner_load, 0.0)
            is_busy = truth(evaluate(self.exprs["CpuBusy"], self._slot, None, _WORLD)) is True
            cells["cpubusytime"] = LONG_S if is_busy else 0
            cells["cpuisbusy"] = is_busy
        _put_load(cells, situation.owner_load, 1.0 if moment.running else 0.0)
        cells["state"] = moment.state
        cells["activity"] = moment.activity
        cells["enteredcurrentactivity"] = NOW - moment.activity_s
        cells["enteredcurrentstate"] = NOW - (moment.activity_s if moment.state_s is None else moment.state_s)
        cells["jobstart"] = UNDEFINED if moment.job_s is None else NOW - moment.job_s
        self._at = id(situation), moment

    @cached_property
    def _slot(self) -> ClassAd:
        """The slot's ad, changed in place: its policy, its published attributes, calm values for the rest."""
        ad = ClassAd({**CALM, **constants(self.pool.given.get(AdKind.MACHINE))})
        for expression in self.reached:
            if expression.expr is not None:
                ad.put(
                    expression.base if expression.knob.lower() != expression.base else expression.knob, expression.expr
                )
        for knob, expr in self.exprs.items():
            row = KNOB_POLICIES.get(knob.upper())
            ad.put(row.attribute if row is not None and row.attribute is not None else knob, expr)
        return ad

    # -- the grid --------------------------------------------------------------------------------

    @cached_property
    def situations(self) -> list[Situation]:
        """The grid."""
        nodes = sum(len(expression.nodes) for expression in self._asking)
        most = max(SITUATIONS_MIN, min(self.situations_max, NODES_MAX // max(nodes, 1)))
        return situations_of(self._axes, most, self._ordinary)

    @property
    def _ordinary(self) -> dict[str, Value]:
        """The default job of situations."""
        return {**ORDINARY_JOB, **constants(self.pool.given.get(AdKind.JOB))}

    @cached_property
    def _axes(self) -> Axes:
        return self._axes_of(self._asking)

    def _axes_of(self, expressions: list[Expression]) -> Axes:
        """The values that these expressions can distinguish."""
        return axes_of(expressions, self._computed, None if "CpuBusy" in self.written else 0.5)

    @cached_property
    def _asking(self) -> list[Expression]:
        """The expressions that determine what to vary."""
        return [*(self.written[knob] for knob in (*KNOBS, "CpuBusy") if knob in self.written), *self.reached]

    @cached_property
    def _published(self) -> list[Expression]:
        return published(self.pool, self.slot_type)

    @cached_property
    def _composed(self) -> frozenset[str]:
        """Those that are not simply a value."""
        return frozenset(e.base for e in self._published if e.tree is None or not isinstance(strip(e.tree), Literal))

    @cached_property
    def reached(self) -> list[Expression]:
        """Those that the policy uses, directly or through others."""
        return reached([self.written[knob] for knob in (*KNOBS, "CpuBusy") if knob in self.written], self._published)

    @cached_property
    def _asks_keyboard(self) -> bool:
        """Whether ConsoleIdle has a KeyboardIdle to follow."""
        return any("keyboardidle" in expression.names for expression in self._asking)

    def witness(self, situation: Situation, shows: Callable[[Situation], bool]) -> tuple[tuple[str, str], ...]:
        """The essential conditions of a situation: each attribute of the grid that, changed alone, makes `shows`
        FALSE."""
        found: list[tuple[str, str]] = []
        for name, values in self._axes.machine.items():
            if name not in situation.machine:
                # It was generated for other knobs only.
                continue
            others = [replace(situation, machine={**situation.machine, name: value}) for value in values]
            if not all(shows(self.kept(other)) for other in others):
                found.append((name, shown(name, situation.machine[name])))
        for name, values in self._axes.job.items():
            others = [replace(situation, job={**situation.job, name: value}) for value in values]
            if not all(shows(self.kept(other)) for other in others):
                found.append((f"TARGET.{name}", shown(name, situation.job.get(name, UNDEFINED))))
        loads = [replace(situation, owner_load=float(v)) for v in self._axes.loads if isinstance(v, int | float)]
        if not all(shows(self.kept(other)) for other in loads):
            found.append(("owner's load", f"{situation.owner_load:g}"))
        for name, (values, sides) in self._axes.measured.items():
            here = situation.machine.get(name, situation.job.get(name, UNDEFINED))
            others = [_measuring(situation, name, value, sides) for value in (UNDEFINED, *values)]
            if here is not UNDEFINED and not all(shows(self.kept(other)) for other in others):
                found.append((name, "very large" if here == FAR else shown(name, here)))
        return tuple(found)

    def _computed(self, name: str, side: AdKind) -> bool:
        """Whether an attribute is not of the grid: driven by the moment, or an expression itself."""
        key = fold(name)
        if side is AdKind.JOB:
            return False
        policy = KNOB_POLICIES.get(key.upper())
        if key == "consoleidle" and not self._asks_keyboard:
            return False
        return key in DRIVEN or policy is not None or key in self._attributes

    @cached_property
    def _attributes(self) -> frozenset[str]:
        return frozenset(e.base for e in self.reached if e.expr is not None) | frozenset(
            fold(row.attribute) for row in KNOB_POLICIES.values() if row.attribute is not None
        )


def _measuring(situation: Situation, name: str, value: Value, sides: frozenset[AdKind]) -> Situation:
    """A situation with a measured attribute, in the ads in which it is used."""
    machine = {**situation.machine, name: value} if AdKind.MACHINE in sides else situation.machine
    job = {**situation.job, name: value} if AdKind.JOB in sides else situation.job
    return replace(situation, machine=machine, job=job)


def _put_load(cells: dict[str, Cell], owner: float, own: float) -> None:
    """The load of the slot, and of the machine, which has only this slot."""
    cells["loadavg"] = cells["totalloadavg"] = owner + own
    cells["condorloadavg"] = cells["totalcondorloadavg"] = own


def truth(value: Value) -> bool | Exceptional:
    """A value as a condition: TRUE, FALSE, UNDEFINED, or ERROR for a value that is not one."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value != 0
    return UNDEFINED if value is UNDEFINED else ERROR


@lru_cache(maxsize=2)
def machines(pool: Pool) -> tuple[Machine, ...]:
    """The policy of slots in general, and of each slot type that has one of its own."""
    kinds = (None, *pool.slot_types[:SLOT_TYPES_MAX])
    found: dict[tuple[str, ...], Machine] = {}
    for slot_type in kinds:
        machine = _machine(pool, slot_type, max(100, SITUATIONS_MAX // len(kinds)))
        found.setdefault(machine.texts, machine)
    return tuple(found.values())


def _machine(pool: Pool, slot_type: int | None, most: int) -> Machine:
    written: dict[str, Expression] = {}
    exprs: dict[str, Expr] = {}
    broken = False
    for knob in (*KNOBS, "CpuBusy"):
        # Jobs are vanilla jobs: if there is an expression for them, it applies.
        expression = pool.expression(f"{knob}_VANILLA", slot_type) or pool.expression(knob, slot_type)
        if expression is not None and expression.expr is not None:
            written[knob] = expression
            exprs[knob] = expression.expr
            continue
        broken |= expression is not None
        row = KNOB_POLICIES[knob.upper()]
        exprs[knob] = _default(row.default)
        if knob == "CpuBusy":
            exprs[knob] = _default("(LoadAvg - CondorLoadAvg) >= 0.5")
    machine = Machine(pool=pool, slot_type=slot_type, written=written, exprs=exprs, broken=broken, situations_max=most)
    machine.broken |= any(expression.expr is None for expression in machine.reached)
    return machine


def _default(text: str | None) -> Expr:
    try:
        return parse_expression(text or "UNDEFINED")
    except ParseError:
        return parse_expression("UNDEFINED")
