"""The machine's expressions in a small grid of situations.

A *situation* fixes what the machine measures (keyboard, load of the owner, clock) and which job there is. Values are
those around every number that the expressions compare an attribute with, a missing value for attributes that somebody
else defines, and a calm default for everything else. Within a situation a *moment* fixes the slot's state, activity,
and how long it has been in them; the rules ask what an expression is at such moments, and so follow the slot through
SUSPEND, CONTINUE, PREEMPT and KILL as the state machine would, under conditions that do not change.

What belongs together changes together: the load of a slot is its owner's load plus 1 while its job runs; CpuBusyTime
is 0 unless CpuBusy is true; ConsoleIdle follows KeyboardIdle. What a job uses of the machine (MemoryUsage and the
like) is missing, as it is when the job begins.

The grid is bounded (`SITUATIONS_MAX`) and made without chance: the same configuration gives the same findings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

from roost.classad import ClassAd, Expr, FixedWorld, ParseError, evaluate, parse_expression
from roost.classad.ad import Cell
from roost.classad.syntax import Binary, Call, Literal, Name, Node, Op, Select, children, strip
from roost.classad.values import ERROR, UNDEFINED, Exceptional, ListValue, Value, fold
from roost.policy.attributes import attributes_named
from roost.policy.catalogue import KNOB_POLICIES
from roost.policy.lint.abstract import T
from roost.policy.lint.pool import Expression, Pool
from roost.policy.lint.scope import row_of
from roost.policy.lint.shapes import reference, references
from roost.policy.model import Attribute, Kind, Side

SITUATIONS_MAX: Final = 600
#: Slot types with a policy of their own that are looked at.
SLOT_TYPES_MAX: Final = 10
#: Values of one attribute.
VALUES_MAX: Final = 7
#: The instant at which everything is looked at.
NOW: Final = 1_800_000_000
#: A time in a state that is longer than any timer.
LONG_S: Final = 400 * 86_400
POLLING_S: Final = 5

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
#: Attributes that depend on each other or on the moment, and are not taken from the grid one by one.
_DRIVEN: Final = frozenset(
    (
        "loadavg",
        "condorloadavg",
        "totalloadavg",
        "totalcondorloadavg",
        "cpubusytime",
        "consoleidle",
        "state",
        "activity",
        "enteredcurrentstate",
        "enteredcurrentactivity",
        "jobstart",
        "currenttime",
        "mycurrenttime",
        "cpubusy",
        "cpuisbusy",
    )
)
_LOADS: Final = frozenset(("loadavg", "totalloadavg", "condorloadavg", "totalcondorloadavg"))
_ORDER: Final = (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.IS, Op.ISNT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Conditions that do not change."""

    #: Load that the owner makes.
    owner_load: float
    #: Attributes of the slot.
    machine: Mapping[str, Value]
    #: Attributes of the job.
    job: Mapping[str, Value]
    #: Those of them that the expressions ask for.
    asked: tuple[str, ...] = ()

    def witness(self) -> tuple[tuple[str, str], ...]:
        """The conditions in words, those left at their default not mentioned."""
        calm = {name: _shown(value) for name, value in _CALM.items()}
        shown = [(n, text) for n, value in self.machine.items() if (text := _shown(value)) != calm.get(n)]
        shown += [(f"TARGET.{name}", _shown(self.job[name])) for name in self.asked]
        if self.owner_load:
            shown.append(("owner's load", f"{self.owner_load:g}"))
        return tuple(shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where the slot stands."""

    state: str
    activity: str
    #: Time in the activity, in seconds.
    activity_s: int = POLLING_S
    #: Time since the job began; None without a job.
    job_s: int | None = None
    #: Time in the state; that in the activity if None.
    state_s: int | None = None

    @property
    def running(self) -> bool:
        """Whether the job makes load."""
        return self.activity in ("Busy", "Retiring", "Vacating")


OWNER: Final = Moment(state="Owner", activity="Idle", activity_s=LONG_S)
UNCLAIMED: Final = Moment(state="Unclaimed", activity="Idle", activity_s=LONG_S)
CLAIMED: Final = Moment(state="Claimed", activity="Idle", activity_s=1)

_AWAY: Final = 7 * 86_400
_WORLD: Final = FixedWorld(instant=NOW)


def busy(job_s: int) -> Moment:
    """Claimed/Busy, this long after the job began."""
    return Moment(state="Claimed", activity="Busy", activity_s=job_s, job_s=job_s, state_s=job_s + 10)


def resumed(job_s: int) -> Moment:
    """Claimed/Busy, just continued."""
    return Moment(state="Claimed", activity="Busy", activity_s=POLLING_S, job_s=job_s, state_s=job_s + 10)


def suspended(for_s: int, job_s: int = LONG_S) -> Moment:
    """Claimed/Suspended for this long."""
    return Moment(state="Claimed", activity="Suspended", activity_s=for_s, job_s=job_s + for_s, state_s=job_s + for_s)


def vacating(for_s: int, job_s: int = LONG_S) -> Moment:
    """Preempting/Vacating for this long."""
    return Moment(state="Preempting", activity="Vacating", activity_s=for_s, job_s=job_s + for_s, state_s=for_s)


@dataclass(eq=False, slots=True)
class _Interest:
    """What the expressions compare an attribute with."""

    numbers: set[float] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    truth: bool = False
    other: bool = False


@dataclass(eq=False, kw_only=True)
class Machine:
    """The expressions in force for the slots of one type, ready to be evaluated."""

    pool: Pool
    slot_type: int | None
    #: Knob to the expression that a source sets; missing where the default holds.
    written: dict[str, Expression]
    exprs: dict[str, Expr]
    #: Size of the grid at most.
    situations_max: int
    #: Some expression can't be read: there is no telling what the machine does.
    broken: bool
    _cache: dict[tuple[str, int, Moment, bool], Value] = field(default_factory=dict)
    #: The situation and moment that the slot's ad is in.
    _at: tuple[int, Moment | None] = (0, None)
    _job: ClassAd = field(default_factory=ClassAd)
    _jobs: dict[int, ClassAd] = field(default_factory=dict)
    _kept: list[Situation] = field(default_factory=list)

    def value(self, knob: str, situation: Situation, moment: Moment, *, with_job: bool = True) -> Value:
        """What an expression is; without a job, as the machine alone sees it."""
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
        """An expression as a number; 0 if it is none."""
        value = self.value(knob, situation, moment)
        return float(value) if isinstance(value, int | float) else 0.0

    def kept(self, situation: Situation) -> Situation:
        """The same, kept for as long as this is: what is known of a situation is kept under its identity."""
        self._kept.append(situation)
        return situation

    def place_of(self, *knobs: str) -> Expression | None:
        """The first of these that a source sets."""
        return next((self.written[knob] for knob in knobs if knob in self.written), None)

    def is_literal(self, knob: str) -> bool:
        """Whether an expression is a constant."""
        return isinstance(strip(self.exprs[knob].tree), Literal)

    @cached_property
    def complete(self) -> bool:
        """Whether the grid has every combination, so that what never happens in it never happens."""
        axes = self._axes()
        size = len(axes[2])
        for values in (*axes[0].values(), *axes[1].values()):
            size *= len(values)
        return size <= self.situations_max

    def understood(self, *knobs: str) -> bool:
        """Whether the grid holds all that these expressions can tell apart."""
        followed: set[str] = set()
        work = [knob.lower() for knob in knobs]
        by_name = {knob.lower(): self.written.get(knob) for knob in (*KNOBS, "CpuBusy")}
        by_name.update({e.base: e for e in self.pool.expressions if e.attribute and e.scope.my is Side.MACHINE})
        while work:
            key = work.pop()
            expression = by_name.get(key)
            if key in followed or expression is None:
                continue
            followed.add(key)
            if _opaque(expression):
                return False
            work.extend(name for name in expression.names if name in by_name)
        return self.complete

    def is_set(self, *knobs: str) -> bool:
        """Whether a source sets one of these."""
        return any(knob in self.written for knob in knobs)

    def _place(self, situation: Situation, moment: Moment) -> None:
        """Put the slot and the job into a situation and a moment."""
        cells = self._slot.cells
        if self._at[0] != id(situation):
            for name, value in situation.machine.items():
                self._slot.put(name, value)
            if "ConsoleIdle" not in situation.machine:
                cells["consoleidle"] = situation.machine.get("KeyboardIdle", _AWAY)
            self._job = self._jobs.get(id(situation)) or ClassAd(dict(situation.job))
            self._jobs[id(situation)] = self._job
            _put_load(cells, situation.owner_load, 0.0)
            is_busy = truth(evaluate(self.exprs["CpuBusy"], self._slot, None, _WORLD)) is True
            cells["cpubusytime"] = 86_400 if is_busy else 0
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
        ad = ClassAd({**_CALM, **_constants(self.pool.given.get(Side.MACHINE))})
        for expression in self.pool.expressions:
            if expression.attribute and expression.expr is not None and expression.scope.my is Side.MACHINE:
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
        machine, job, loads = self._axes()
        names = [("load", "", loads)]
        names += [("machine", name, values) for name, values in machine.items()]
        names += [("job", name, values) for name, values in job.items()]
        job_of = {**_ORDINARY_JOB, **_constants(self.pool.given.get(Side.JOB))}
        return [
            _situation(names, point, job_of)
            for point in _points([values for _, _, values in names], self.situations_max)
        ]

    def _axes(self) -> tuple[dict[str, list[Value]], dict[str, list[Value]], list[Value]]:
        machine: dict[str, _Interest] = {}
        job: dict[str, _Interest] = {}
        loads: set[float] = set()
        spelled: dict[str, str] = {}
        expressions = [self.written[knob] for knob in KNOBS if knob in self.written]
        expressions += [e for e in self.pool.expressions if e.attribute and e.scope.my is Side.MACHINE]
        if "CpuBusy" in self.written:
            expressions.append(self.written["CpuBusy"])
        for expression in expressions:
            for node, where, name in references(expression):
                side = _side(expression, where, name)
                if side is None or self._computed(name, side):
                    continue
                spelled.setdefault(fold(name), name)
                (machine if side is Side.MACHINE else job).setdefault(fold(name), _Interest())
                del node
            if "cpubusytime" in expression.names and "CpuBusy" not in self.written:
                loads.add(0.5)
            for terms, number, text in _comparisons(expression):
                for side, name in terms:
                    if name in _LOADS:
                        if number is not None:
                            loads.add(number)
                        continue
                    table = machine if side is Side.MACHINE else job
                    if name in table:
                        if number is not None:
                            table[name].numbers.add(number)
                        elif text is not None:
                            table[name].texts.add(text)
                        else:
                            table[name].other = True
        return (
            {_spelling(n, spelled): v for n, i in machine.items() if (v := _values(n, i, Side.MACHINE))},
            {_spelling(n, spelled): v for n, i in job.items() if (v := _values(n, i, Side.JOB))},
            _load_values(loads),
        )

    def _computed(self, name: str, side: Side) -> bool:
        """Whether an attribute is not of the grid: driven by the moment, or an expression itself."""
        key = fold(name)
        if side is Side.JOB:
            return False
        policy = KNOB_POLICIES.get(key.upper())
        return key in _DRIVEN or policy is not None or key in self._attributes

    @cached_property
    def _attributes(self) -> frozenset[str]:
        return frozenset(
            e.base for e in self.pool.expressions if e.attribute and e.expr is not None and e.scope.my is Side.MACHINE
        ) | frozenset(fold(row.attribute) for row in KNOB_POLICIES.values() if row.attribute is not None)


#: A calm machine: nobody there, Wednesday at noon.
_CALM: Final[Mapping[str, Value]] = {
    "KeyboardIdle": _AWAY,
    "ClockMin": 720,
    "ClockDay": 3,
    "Cpus": 8,
    "Memory": 16384,
    "Disk": 100_000_000,
    "TotalCpus": 8,
    "TotalMemory": 16384,
    "TotalSlots": 1,
    "TotalSlotCpus": 8,
    "TotalSlotMemory": 16384,
    "SlotID": 1,
    "SlotTypeID": 0,
    "Arch": "X86_64",
    "OpSys": "LINUX",
    "Machine": "machine.example.org",
    "Name": "slot1@machine.example.org",
    "DetectedCpus": 8,
    "DetectedMemory": 16384,
    "LastBenchmark": NOW - 3600,
    "State": "Unclaimed",
    "Activity": "Idle",
    "JobStart": UNDEFINED,
    "ConsoleIdle": _AWAY,
    "LoadAvg": 0.0,
    "CondorLoadAvg": 0.0,
    "TotalLoadAvg": 0.0,
    "TotalCondorLoadAvg": 0.0,
    "CpuBusyTime": 0,
    "CpuIsBusy": False,
    "EnteredCurrentActivity": NOW,
    "EnteredCurrentState": NOW,
    "KFlops": 1_000_000,
    "Mips": 10_000,
    "VirtualMemory": 8_000_000,
    "SlotWeight": 8,
}
_ORDINARY_JOB: Final[Mapping[str, Value]] = {
    "JobUniverse": 5,
    "Owner": "user",
    "User": "user@example.org",
    "RequestCpus": 1,
    "RequestMemory": 1024,
    "RequestDisk": 1_000_000,
    "ImageSize": 100_000,
    "JobStatus": 1,
    "QDate": NOW - 7200,
    "JobPrio": 0,
    "ClusterId": 1,
    "ProcId": 0,
    "NiceUser": False,
    "NumJobStarts": 0,
}


def _constants(ad: ClassAd | None) -> dict[str, Value]:
    """The attributes of an ad that are plain values, under the spelling of the calm ones."""
    if ad is None:
        return {}
    spelled = {fold(name): name for name in (*_CALM, *_ORDINARY_JOB)}
    return {spelled.get(fold(n), n): v for n in ad if not isinstance(v := ad[n], Expr | ClassAd | ListValue)}


def _put_load(cells: dict[str, Cell], owner: float, own: float) -> None:
    """The load of the slot, and of the machine, which has only this slot."""
    cells["loadavg"] = cells["totalloadavg"] = owner + own
    cells["condorloadavg"] = cells["totalcondorloadavg"] = own


def truth(value: Value) -> bool | Exceptional:
    """A value as a condition: TRUE, FALSE, UNDEFINED, or ERROR for what is none."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value != 0
    return UNDEFINED if value is UNDEFINED else ERROR


@lru_cache(maxsize=2)
def machines(pool: Pool) -> tuple[Machine, ...]:
    """The policy of slots in general, and of each slot type that has one of its own."""
    kinds = (None, *pool.slot_types[:SLOT_TYPES_MAX])
    return tuple([_machine(pool, slot_type, max(100, SITUATIONS_MAX // len(kinds))) for slot_type in kinds])


def _machine(pool: Pool, slot_type: int | None, most: int) -> Machine:
    written: dict[str, Expression] = {}
    exprs: dict[str, Expr] = {}
    broken = False
    for knob in (*KNOBS, "CpuBusy"):
        # Jobs of today are vanilla jobs: where there is an expression for them, it is the one that acts.
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
    return Machine(pool=pool, slot_type=slot_type, written=written, exprs=exprs, broken=broken, situations_max=most)


#: Functions that the grid sees through.
_PLAIN_CALLS: Final = frozenset(("time", "isundefined", "ifthenelse", "int", "real", "floor", "ceil", "iserror"))


def _opaque(expression: Expression) -> bool:
    """Whether an expression asks for something that the grid does not vary."""
    for node, _ in expression.nodes:
        if isinstance(node, Call) and fold(node.name) not in _PLAIN_CALLS:
            return True
        if isinstance(node, Binary) and node.op in _ORDER:
            both = [[fold(name) for _, name in _inside(side)] for side in (node.left, node.right)]
            if all(both):
                return True
            if len({*both[0], *both[1]} - _DRIVEN) > 1:
                return True
    for _, where, name in references(expression):
        row = row_of(name, _side(expression, where, name) or Side.NONE)
        if (
            row is not None
            and row.varies
            and fold(name) not in _SENSORS | _DRIVEN
            and name.upper() not in KNOB_POLICIES
        ):
            return True
    return False


def _default(text: str | None) -> Expr:
    try:
        return parse_expression(text or "UNDEFINED")
    except ParseError:
        return parse_expression("UNDEFINED")


# -- which values matter ---------------------------------------------------------------------------


def _side(expression: Expression, where: str | None, name: str) -> Side | None:
    """Which ad a reference of an expression of the slot reads."""
    if where is not None:
        return expression.scope.my if where == "my" else expression.scope.target
    if row_of(name, expression.scope.my) is not None or fold(name) in expression.scope.published.get(Side.MACHINE, {}):
        return expression.scope.my
    if fold(name) in _DRIVEN:
        return expression.scope.my
    return expression.scope.target if expression.scope.target is not Side.NONE else expression.scope.my


def _comparisons(expression: Expression) -> Iterator[tuple[list[tuple[Side | None, str]], float | None, str | None]]:
    """Each comparison as the attributes in it and the constant that they are compared with."""
    for node, _ in expression.nodes:
        if not isinstance(node, Binary) or node.op not in _ORDER:
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            limit = expression.alone.of(other)
            terms = [(_side(expression, where, name), fold(name)) for where, name in _inside(side)]
            if not terms or len(terms) > 4:
                continue
            number = limit.single if limit.constant and limit.only(T.NUMBER) else None
            text = limit.texts[0] if limit.constant and limit.texts else None
            if number is not None and len(terms) == 1:
                number = _solved(expression, side, number)
            yield terms, number, text


def _inside(node: Node) -> list[tuple[str | None, str]]:
    found, work = [], [node]
    while work:
        one = work.pop()
        named = reference(one) if isinstance(one, Name | Select) else None
        if named is not None:
            found.append(named)
        elif not (isinstance(one, Binary) and one.op in (*_ORDER, Op.AND, Op.OR)):
            work.extend(children(one))
    return found


def _solved(expression: Expression, node: Node, number: float) -> float | None:
    """The value of the only attribute of a product at which it reaches a number."""
    node = strip(node)
    while isinstance(node, Binary) and node.op in (Op.MUL, Op.DIV, Op.ADD, Op.SUB):
        factor = expression.alone.of(node.right)
        inner, left = node.left, False
        if not factor.constant:
            factor, inner, left = expression.alone.of(node.left), node.right, True
        known = factor.single
        if not factor.constant or known is None or (left and node.op in (Op.DIV, Op.SUB)):
            return None
        if node.op in (Op.MUL, Op.DIV) and known == 0:
            return None
        number = _undone(node.op, number, known)
        node = strip(inner)
    return number


def _undone(op: Op, number: float, known: float) -> float:
    """The x for which ``x op known`` is `number`."""
    match op:
        case Op.MUL:
            return number / known
        case Op.DIV:
            return number * known
        case Op.ADD:
            return number - known
        case _:
            return number + known


def _values(key: str, interest: _Interest, side: Side) -> list[Value]:
    """The values of one attribute that are worth looking at."""
    row = next((r for r in attributes_named(key) if r.side is side), None)
    calm = {fold(n): v for n, v in (_CALM if side is Side.MACHINE else _ORDINARY_JOB).items()}.get(key)
    if row is not None and row.varies and side is Side.MACHINE and key not in _SENSORS:
        return []
    if row is not None and row.varies and side is Side.JOB and key != "imagesize":
        return []
    values: list[Value] = [] if calm is None else [calm]
    if calm is None and (row is None or not row.always):
        values.append(UNDEFINED)
    values += _around(interest.numbers, row)
    values += sorted(interest.texts)
    if interest.texts and (row is None or not row.choices):
        values.append("something else")
    if row is not None and row.choices:
        values += [choice for choice in row.choices if choice not in values]
    kind = row.kind if row is not None else Kind.ANY
    if kind is Kind.BOOLEAN or (kind is Kind.ANY and not interest.numbers and not interest.texts):
        values += [True, False]
    if calm is not None and row is not None and not row.always:
        values.append(UNDEFINED)
    return _unique(values)[: VALUES_MAX * 2]


_SENSORS: Final = frozenset(("keyboardidle", "consoleidle", "clockmin", "clockday"))


def _around(numbers: Iterable[float], row: Attribute | None) -> list[Value]:
    """Numbers below the lowest limit, and at and above each, within the attribute's range."""
    whole = row is None or row.kind is Kind.INTEGER
    step = 1.0 if whole else 0.05
    limits = sorted(float(number) for number in numbers)
    wanted = [limits[0] - step] if limits else []
    for limit in limits:
        wanted += [limit, limit + step]
    found: list[Value] = []
    for value in wanted:
        below = row is not None and row.low is not None and value < row.low
        above = row is not None and row.high is not None and value > row.high
        if not below and not above:
            found.append(int(value) if whole and value.is_integer() else value)
    return found


def _load_values(limits: set[float]) -> list[Value]:
    values = [0.0]
    for limit in sorted(limits):
        if 0 <= limit < 64:
            values += [limit, limit + 0.05]
    return _unique(values)


def _unique(values: Iterable[Value]) -> list[Value]:
    found: dict[tuple[type, str], Value] = {}
    for value in values:
        found.setdefault((value.__class__, str(value)), value)
    return list(found.values())


def _points(axes: list[list[Value]], most: int) -> list[tuple[Value, ...]]:
    """All combinations; of too many, those in which at most three attributes, then two, leave their first value."""
    total = 1
    for values in axes:
        total *= len(values)
    if total <= most:
        return list(itertools.product(*axes))
    base = tuple([values[0] for values in axes])
    found = {base: None}
    for count in (1, 2, 3):
        for chosen in itertools.combinations(range(len(axes)), count):
            for others in itertools.product(*[axes[index][1:] for index in chosen]):
                point: list[Value] = list(base)
                for index, value in zip(chosen, others, strict=True):
                    point[index] = value
                found[tuple(point)] = None
                if len(found) >= most:
                    return list(found)
    return list(found)


def _situation(
    names: list[tuple[str, str, list[Value]]], point: tuple[Value, ...], ordinary: Mapping[str, Value]
) -> Situation:
    machine: dict[str, Value] = {}
    job: dict[str, Value] = dict(ordinary)
    load = 0.0
    for (kind, name, _), value in zip(names, point, strict=True):
        if kind == "load":
            assert isinstance(value, float)
            load = value
        elif kind == "machine":
            machine[name] = value
        else:
            job.pop(next((n for n in job if fold(n) == fold(name)), name), None)
            job[name] = value
    asked = {fold(name) for kind, name, _ in names if kind == "job"}
    return Situation(
        owner_load=load, machine=machine, job=job, asked=tuple([name for name in job if fold(name) in asked])
    )


def _spelling(key: str, spelled: Mapping[str, str]) -> str:
    rows = attributes_named(key)
    return rows[0].name if rows else spelled.get(key, key)


def _shown(value: Value) -> str:
    if value is UNDEFINED:
        return "missing"
    return f'"{value}"' if isinstance(value, str) else str(value)
