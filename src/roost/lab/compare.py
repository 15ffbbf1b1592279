"""`roost lab compare`: two policies over the same owners, jobs and seeds.

Each seed is a pair of runs, so variation between seeds cancels out: the confidence interval (95 %, Student's t) is that
of the mean of the paired differences. Where the two histories of a slot first diverge, a decision changed: such
divergences are counted by what each policy did, and one of each kind is explained from the evaluations of both runs.

After the first divergence the histories are unrelated, so later differences of that slot are not counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd, Expr, evaluate, unparse_value
from roost.classad.values import Value, fold
from roost.config import Config, Host
from roost.lab.inputs.durations import shown
from roost.lab.report.cell_figures import COLUMNS, GROUPS, CellFigures
from roost.lab.report.comparison import Comparison, FigureDifference, Parting
from roost.lab.report.figures import FIGURES, Figure, is_known, number, value_of
from roost.lab.report.timelines import parent_of
from roost.lab.scenario.coverage import set_by
from roost.lab.simulate import Request, prepare, refused, with_seed
from roost.policy.explain import Origin, explain
from roost.policy.render import render_text
from roost.sim.machine.host import Machine, SimulatedSlot
from roost.sim.machine.plan import SlotPlan
from roost.sim.record import Sink
from roost.sim.world import BEGINNING, World
from roost.startd.machine import SlotStep
from roost.startd.policy_inputs import Decision
from roost.startd.work import Taken

#: Two-sided 95 % quantiles of Student's t, by degrees of freedom from 1.
_T: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
#: The same for the normal distribution.
_Z: Final = 1.959964


#: Most places kept per kind of divergence.
PLACES_MAX: Final = 20
#: Divergences that no expression of the slot's own policy decided.
_ELSEWHERE: Final = ("follows from other decisions: another job came, left or stayed", "the same")


@dataclass(slots=True)
class _Found:
    """A kind of divergence while it is counted."""

    count: int = 0
    places: list[tuple[int, str, float]] = field(default_factory=list)
    example: str = ""


@dataclass(slots=True)
class _Trace:
    """What one run did, by slot."""

    summary: dict[str, Any]
    taken: dict[str, list[Taken]]
    #: Slot to its policy, and machine to its configuration.
    policies: dict[str, SlotPlan]
    configs: Mapping[str, Config]
    #: Why requests got no slot: cause to count.
    refusals: Mapping[str, int]
    #: Parts of the input that the run did not use.
    notes: tuple[str, ...]

    def explainer(self, slot: str, width: int) -> _Explainer:
        """The explainer for the policy of a slot, or of its parent."""
        plan = self.policies.get(parent_of(slot) or slot)
        if plan is None:
            return _Explainer(ClassAd(), {}, width)
        config = self.configs[slot.partition("@")[2]]
        return _Explainer(plan.policy.expressions, set_by(config, plan.id.number), width)


def compare(
    old: Request,
    new: Request,
    seeds: Iterable[int],
    host: Host,
    width: int = 100,
    progress: Callable[[float], None] | None = None,
    observed: tuple[Callable[[], Sink], Callable[[], Sink]] | None = None,
) -> Comparison:
    """Run both under each seed; `observed` makes what takes the records of each run. Raises LabError."""
    numbers = tuple(seeds)
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    found: dict[tuple[str, str], _Found] = {}
    slots = 0
    refused: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    notes: dict[str, None] = {}
    for index, seed in enumerate(numbers):
        done = 2 * index
        observers = (None, None) if observed is None else (observed[0](), observed[1]())
        first = _run(with_seed(old, seed), host, _part(progress, done, 2 * len(numbers)), observers[0])
        second = _run(with_seed(new, seed), host, _part(progress, done + 1, 2 * len(numbers)), observers[1])
        pairs.append((first.summary, second.summary))
        notes |= dict.fromkeys((*first.notes, *second.notes))
        refused[0].update(first.refusals)
        refused[1].update(second.refusals)
        slots += len(first.taken.keys() | second.taken.keys())
        _count_partings(first, second, seed, found, width)
    partings = [
        Parting(old=old_move, new=new_move, count=each.count, places=tuple(each.places), example=each.example)
        for (old_move, new_move), each in found.items()
    ]
    differences = tuple(_difference(each, pairs) for each in FIGURES if each.compared)
    alike = len(numbers) > 1 and _are_alike(pairs)
    return Comparison(
        old=_called(old),
        new=_called(new),
        cell=tuple(_cell_figures(pairs)),
        seeds=numbers,
        differences=tuple(replace(each, margin=None) for each in differences) if alike else differences,
        partings=tuple(sorted(partings, key=lambda each: (each.old == _ELSEWHERE[0], -each.count, each.old, each.new))),
        slots=slots,
        refusals=tuple((cause, refused[0][cause], refused[1][cause]) for cause in sorted(refused[0] | refused[1])),
        notes=tuple(notes),
        alike=alike,
    )


def _called(request: Request) -> str:
    """The name of a side of a comparison."""
    return ", ".join((*request.configs, *([] if request.cell is None else [request.cell])))


def _cell_figures(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[tuple[str, str, str, float, float]]:
    """The figures of a cell that differ, by queue, user and project."""
    for group in GROUPS:
        sides = [[summary.get("cell", {}).get(group, {}) for summary in side] for side in zip(*pairs, strict=True)]
        for name in sorted({name for side in sides for of in side for name in of}):
            for figure in COLUMNS:
                old, new = (sum(of.get(name, {}).get(figure, 0.0) for of in side) / len(side) for side in sides)
                if old != new:
                    yield group, name, figure, old, new


def _are_alike(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> bool:
    """Whether the runs of each policy have the same figures under all seeds, to the digits shown."""

    def figures(summary: dict[str, Any]) -> list[str]:
        compared = [each for each in FIGURES if each.compared and is_known(each.name, summary)]
        return [f"{each.name} {number(value_of(each, summary), each)}" for each in compared]

    seen = [(figures(old), figures(new)) for old, new in pairs]
    return all(each == seen[0] for each in seen)


def _part(progress: Callable[[float], None] | None, done: int, whole: int) -> Callable[[float], None] | None:
    """The progress of one run of several."""
    return None if progress is None else lambda share: progress((done + share) / whole)


def _run(
    request: Request, host: Host, progress: Callable[[float], None] | None, observer: Sink | None = None
) -> _Trace:
    prepared = prepare(request, host)
    plan = prepared.plan
    taken: dict[str, list[Taken]] = {slot.name: [] for machine in plan.machines for slot in machine.slots}

    def note(machine: Machine, slot: SimulatedSlot, step: SlotStep, now: float) -> None:
        if step.transitions:
            taken.setdefault(slot.plan.name, []).extend(step.transitions)

    figures = CellFigures()
    sinks = (*(() if plan.cell is None else (figures.take,)), *(() if observer is None else (observer,)))
    world = World(plan, sinks=sinks, on_step=note)
    outcome = world.run(progress)
    of_cell = {} if plan.cell is None else {"cell": figures.summary()}
    policies = {slot.name: slot for machine in plan.machines for slot in machine.slots}
    return _Trace(
        summary={**outcome.summary, **of_cell},
        taken=taken,
        policies=policies,
        configs=prepared.configs,
        refusals=world.matcher.causes,
        notes=(*prepared.notes, *refused(world)),
    )


def _difference(figure: Figure, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> FigureDifference:
    olds = [value_of(figure, old) for old, _ in pairs if is_known(figure.name, old)]
    news = [value_of(figure, new) for _, new in pairs if is_known(figure.name, new)]
    changes = [
        value_of(figure, new) - value_of(figure, old)
        for old, new in pairs
        if is_known(figure.name, old) and is_known(figure.name, new)
    ]
    if not changes:
        return FigureDifference(figure=figure, old=_mean(olds), new=_mean(news), change=None, margin=None)
    count = len(changes)
    mean = sum(changes) / count
    margin = None
    if count > 1:
        spread = math.sqrt(sum((each - mean) ** 2 for each in changes) / (count - 1))
        margin = student_t(count - 1) * spread / math.sqrt(count)
    return FigureDifference(figure=figure, old=_mean(olds), new=_mean(news), change=mean, margin=margin)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def student_t(freedom: int) -> float:
    """The two-sided 95 % quantile of Student's t, approximated by the first terms of its expansion beyond the table."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    third, fifth = _Z**3, _Z**5
    return _Z + (third + _Z) / (4 * freedom) + (5 * fifth + 16 * third + 3 * _Z) / (96 * freedom**2)


# -- divergences ------------------------------------------------------------------------------------------------


def _count_partings(first: _Trace, second: _Trace, seed: int, found: dict[tuple[str, str], _Found], width: int) -> None:
    for slot in sorted(first.taken.keys() | second.taken.keys()):
        parting = _parting(first.taken.get(slot, []), second.taken.get(slot, []))
        if parting is None:
            continue
        old, new = parting
        decided = any(each is not None and each.decisions for each in parting)
        entry = found.setdefault((_move(old, new), _move(new, old)) if decided else _ELSEWHERE, _Found())
        entry.count += 1
        if len(entry.places) < PLACES_MAX:
            at = min(each.at for each in parting if each is not None)
            entry.places.append((seed, slot, round(at - BEGINNING, 3)))
        if decided and entry.count == 1:
            explainers = first.explainer(slot, width), second.explainer(slot, width)
            entry.example = _example(slot, seed, old, new, explainers)


def _parting(olds: list[Taken], news: list[Taken]) -> tuple[Taken | None, Taken | None] | None:
    """Where two histories of a slot diverge: what each did then, None for one that did nothing."""
    for index in range(max(len(olds), len(news))):
        old = olds[index] if index < len(olds) else None
        new = news[index] if index < len(news) else None
        if old is None or new is None or (old.number, old.at, old.reason) != (new.number, new.at, new.reason):
            if old is not None and (new is None or old.at < new.at):
                return old, None
            if new is not None and (old is None or new.at < old.at):
                return None, new
            return old, new
    return None


def _move(taken: Taken | None, other: Taken | None) -> str:
    if taken is None:
        assert other is not None
        return f"stays in {other.source}"
    return f"[{taken.number}] {taken.source} -> {taken.target}: {taken.reason}"


def _example(
    slot: str, seed: int, old: Taken | None, new: Taken | None, explainers: tuple[_Explainer, _Explainer]
) -> str:
    at = min(each.at for each in (old, new) if each is not None)
    lines = [f"for example {slot}, seed {seed}, at {shown(at - BEGINNING)}"]
    decided = next((each.decision for each in (old, new) if each is not None and each.decision is not None), None)
    for word, taken, explainer in (("old", old, explainers[0]), ("new", new, explainers[1])):
        decision = taken.decision if taken is not None else None
        lines += explainer.decided(word, decision) if decision is not None else explainer.asked(word, decided)
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Explainer:
    """Explains evaluations of one policy, with the places where it is set."""

    policy: ClassAd
    origins: Mapping[str, Origin]
    width: int

    def decided(self, word: str, decision: Decision) -> list[str]:
        """Why a decision was taken."""
        if decision.expression is None:
            return [f"{word}: {decision.name} = {unparse_value(decision.value)}"]
        return self._lines(word, decision, decision.expression, decision.value, decision.my)

    def asked(self, word: str, decided: Decision | None) -> list[str]:
        """How the policy that took no decision evaluates the same expression: up to there both histories are the
        same."""
        if decided is None:
            return []
        found = self.policy.cell(fold(decided.name))
        if not isinstance(found, Expr):
            return [f"{word}: {decided.name} is not set"]
        my = decided.my.copy()
        for name in self.policy:
            my[name] = self.policy[name]
        return self._lines(word, decided, found, evaluate(found, my, decided.target, decided.world.again()), my)

    def _lines(self, word: str, decision: Decision, expression: Expr, value: Value, my: ClassAd) -> list[str]:
        found = explain(
            expression,
            my,
            decision.target,
            world=decision.world.again(),
            name=decision.name,
            origin=self.origins.get(decision.name),
            origins=self.origins,
        )
        text = render_text(found, self.width - 14).rstrip()
        return [f"{word}: {decision.name} = {unparse_value(value)}", *(f"  {line}" for line in text.splitlines())]
