"""The grid of situations: the relevant values of attributes, and their combinations.

For each attribute that the expressions compare with a number, a value below the lowest number and at and above each;
for strings and booleans each value that occurs, and another; for an attribute that is defined elsewhere, also that it
is missing. A job's resource usage is left out: it is missing when the job starts. Its values are kept as *measured*
ones, for rules about running jobs. Counts of runs do not change during one run.

Too many combinations are reduced deterministically: first those with one attribute different from its usual value, then
two, then three.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf, prod
from typing import Final

from roost.base.records import dataclass, field
from roost.classad.syntax import Binary, Name, Node, Op, Select, children, strip
from roost.classad.values import UNDEFINED, Value, fold
from roost.policy.attributes import attributes_named
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.scope import row_of
from roost.policy.lint.shapes import reference, references
from roost.policy.lint.situations import CALM, ORDINARY_JOB, Situation
from roost.policy.model import AdKind, Attribute, ValueKind

#: Most attributes of one ad that are varied; beyond that, those used last keep their usual value.
ATTRIBUTES_MAX: Final = 40
#: Most values of one attribute.
VALUES_MAX: Final = 14
#: Attributes that depend on each other or on the moment, and are not varied individually.
DRIVEN: Final = frozenset(
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
#: No machine has a load like this; numbers from here on are mistakes of unit.
LOAD_MAX: Final = 1024
#: Beyond this, neighbours of a number are no longer integers of the language.
NUMBER_MAX: Final = 2.0**62
#: Larger than any number to which a measured attribute is compared.
FAR: Final = 10**12
#: Counters of a job: constant during a run, higher after it.
COUNTS: Final = (
    "numjobstarts",
    "jobruncount",
    "numshadowstarts",
    "numrestarts",
    "numjobreconnects",
    "remotewallclocktime",
)
LOADS: Final = frozenset(("loadavg", "totalloadavg", "condorloadavg", "totalcondorloadavg"))
ORDER: Final = (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.IS, Op.ISNT)


@dataclass(eq=False, slots=True)
class _Interest:
    """The constants to which the expressions compare an attribute."""

    numbers: set[float] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    truth: bool = False
    other: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The values to be combined."""

    #: Loads that the owner makes.
    loads: list[Value]
    #: Attribute of the slot to its values.
    machine: dict[str, list[Value]]
    #: Attribute of the job to its values.
    job: dict[str, list[Value]]
    #: Attribute that is measured while a job runs, to its values and the ads in which it is used.
    measured: dict[str, tuple[list[Value], frozenset[AdKind]]] = field(default_factory=dict)
    #: Whether attributes are left out, so that these are not all combinations.
    cut: bool = False

    @property
    def size(self) -> float:
        """The number of combinations; infinite if attributes are left out."""
        return (
            inf
            if self.cut
            else prod(len(values) for values in (self.loads, *self.machine.values(), *self.job.values()))
        )


def axes_of(
    expressions: Iterable[Expression], computed: Callable[[str, AdKind], bool], busy_load: float | None
) -> Axes:
    """The values that expressions can distinguish.

    `computed` says whether an attribute is an expression itself, and so not varied; `busy_load` is the load at
    which CpuBusy begins where it is not configured.
    """
    machine: dict[str, _Interest] = {}
    job: dict[str, _Interest] = {}
    loads: set[float] = set()
    spelled: dict[str, str] = {}
    for expression in expressions:
        for _, where, name in references(expression):
            side = side_of(expression, where, name)
            if side is None or computed(name, side):
                continue
            spelled.setdefault(fold(name), name)
            (machine if side is AdKind.MACHINE else job).setdefault(fold(name), _Interest())
        if busy_load is not None and not expression.names.isdisjoint(("cpubusytime", "cpuisbusy")):
            loads.add(float(busy_load))
        for terms, number, text in _comparisons(expression):
            for side, name in terms:
                if name == "consoleidle" and name not in machine:
                    name = "keyboardidle"
                if name in LOADS:
                    if number is not None:
                        loads.add(number)
                    continue
                table = machine if side is AdKind.MACHINE else job
                if name in table:
                    if number is not None:
                        table[name].numbers.add(number)
                    elif text is not None:
                        table[name].texts.add(text)
                    else:
                        table[name].other = True
    of_machine, of_job = _lasting(machine, AdKind.MACHINE, spelled), _lasting(job, AdKind.JOB, spelled)
    return Axes(
        loads=_load_values(loads),
        machine=dict(itertools.islice(of_machine.items(), ATTRIBUTES_MAX)),
        job=dict(itertools.islice(of_job.items(), ATTRIBUTES_MAX)),
        measured=_measured(machine, job),
        cut=max(len(of_machine), len(of_job)) > ATTRIBUTES_MAX,
    )


def _lasting(table: Mapping[str, _Interest], side: AdKind, spelled: Mapping[str, str]) -> dict[str, list[Value]]:
    """The attributes of one ad that do not change, each with its values."""
    return {
        _spelling(name, spelled): values
        for name, interest in table.items()
        if not is_measured(name, side) and (values := _values(name, interest, side))
    }


def _measured(
    machine: Mapping[str, _Interest], job: Mapping[str, _Interest]
) -> dict[str, tuple[list[Value], frozenset[AdKind]]]:
    """What is measured while a job runs: its values, and the ads that are asked for it."""
    found: dict[str, tuple[list[Value], frozenset[AdKind]]] = {}
    for side, table in ((AdKind.MACHINE, machine), (AdKind.JOB, job)):
        for name, interest in table.items():
            if is_measured(name, side):
                values, sides = found.get(name, ([], frozenset[AdKind]()))
                far: list[Value] = [FAR] if interest.other else []
                found[name] = _unique([*values, *_values(name, interest, side), *far]), sides | {side}
    return {attributes_named(name)[0].name: value for name, value in found.items()}


def is_measured(key: str, side: AdKind) -> bool:
    """Whether an attribute changes while a job runs, so that it is not part of conditions that do not change."""
    row = row_of(key, side)
    if side is AdKind.MACHINE and key.startswith("preempting"):
        # Defined while a better claim waits.
        return row is not None
    if row is None or not row.varies:
        return False
    return key not in (SENSORS if side is AdKind.MACHINE else ("imagesize", *COUNTS))


def situations_of(axes: Axes, most: int, ordinary: Mapping[str, Value]) -> list[Situation]:
    """The combinations, `most` of them at most; `ordinary` is the job for combinations without one."""
    names = [("load", "")]
    names += [("machine", name) for name in axes.machine]
    names += [("job", name) for name in axes.job]
    points = _points([axes.loads, *axes.machine.values(), *axes.job.values()], most)
    return [_situation(names, point, ordinary) for point in points]


def side_of(expression: Expression, where: str | None, name: str) -> AdKind | None:
    """Which ad a reference of an expression of the slot reads."""
    if where is not None:
        return expression.scope.my if where == "my" else expression.scope.target
    if row_of(name, expression.scope.my) is not None or fold(name) in expression.scope.published.get(
        AdKind.MACHINE, {}
    ):
        return expression.scope.my
    if fold(name) in DRIVEN:
        return expression.scope.my
    return expression.scope.target if expression.scope.target is not AdKind.NONE else expression.scope.my


def _comparisons(expression: Expression) -> Iterator[tuple[list[tuple[AdKind | None, str]], float | None, str | None]]:
    """Each comparison as the attributes in it and the constant that they are compared with."""
    for node, _ in expression.nodes:
        if not isinstance(node, Binary) or node.op not in ORDER:
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            limit = expression.alone.of(other)
            terms = [(side_of(expression, where, name), fold(name)) for where, name in names_inside(side)]
            if not terms or len(terms) > 4:
                continue
            number = limit.single if limit.constant and limit.only(Types.NUMBER) else None
            text = limit.texts[0] if limit.constant and limit.texts else None
            if number is not None and len(terms) == 1:
                number = _solved(expression, side, number)
            yield terms, number, text


def names_inside(node: Node) -> list[tuple[str | None, str]]:
    found, work = [], [node]
    while work:
        one = work.pop()
        named = reference(one) if isinstance(one, Name | Select) else None
        if named is not None:
            found.append(named)
        elif not (isinstance(one, Binary) and one.op in (*ORDER, Op.AND, Op.OR)):
            work.extend(children(one))
    return found


def is_axis(expression: Expression, node: Node) -> bool:
    """Whether a side of a comparison is an attribute, or one with constants added or multiplied."""
    node = strip(node)
    while isinstance(node, Binary) and node.op in (Op.MUL, Op.DIV, Op.ADD, Op.SUB):
        if expression.alone.of(node.right).constant:
            node = strip(node.left)
        elif expression.alone.of(node.left).constant:
            node = strip(node.right)
        else:
            return False
    return reference(node) is not None


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


def _values(key: str, interest: _Interest, side: AdKind) -> list[Value]:
    """The relevant values of one attribute."""
    row = next((r for r in attributes_named(key) if r.side is side), None)
    calm = {fold(n): v for n, v in (CALM if side is AdKind.MACHINE else ORDINARY_JOB).items()}.get(key)
    values: list[Value] = [] if calm is None else [calm]
    if calm is None and (row is None or not row.always):
        values.append(UNDEFINED)
    values += _around(interest.numbers, row)
    values += sorted(interest.texts)
    if interest.texts and (row is None or not row.choices):
        values.append("something else")
    if row is not None and row.choices:
        values += [choice for choice in row.choices if choice not in values]
    kind = row.kind if row is not None else ValueKind.ANY
    if kind is ValueKind.BOOLEAN or (kind is ValueKind.ANY and not interest.numbers and not interest.texts):
        values += [True, False]
    if calm is not None and row is not None and not row.always:
        values.append(UNDEFINED)
    return _unique(values)[:VALUES_MAX]


SENSORS: Final = frozenset(("keyboardidle", "consoleidle", "clockmin", "clockday"))


def _around(numbers: Iterable[float], row: Attribute | None) -> list[Value]:
    """Numbers below the lowest limit, and at and above each, within the attribute's range."""
    whole = row is None or row.kind in (ValueKind.INTEGER, ValueKind.NUMBER)
    step = 0.05 if row is not None and row.kind in (ValueKind.REAL, ValueKind.NUMBER) else 1.0
    limits = sorted(value for number in numbers if abs(value := float(number)) < NUMBER_MAX)
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
        if 0 <= limit < LOAD_MAX:
            values += [float(limit), limit + 0.05]
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


def _spelling(key: str, spelled: Mapping[str, str]) -> str:
    rows = attributes_named(key)
    return rows[0].name if rows else spelled.get(key, key)


def _situation(names: list[tuple[str, str]], point: tuple[Value, ...], ordinary: Mapping[str, Value]) -> Situation:
    machine: dict[str, Value] = {}
    load = 0.0
    varied = {fold(name) for kind, name in names if kind == "job"}
    job: dict[str, Value] = {name: value for name, value in ordinary.items() if fold(name) not in varied}
    for (kind, name), value in zip(names, point, strict=True):
        if kind == "load":
            assert isinstance(value, int | float)
            load = float(value)
        elif kind == "machine":
            machine[name] = value
        else:
            job[name] = value
    return Situation(
        owner_load=load, machine=machine, job=job, asked=tuple([name for name in job if fold(name) in varied])
    )
