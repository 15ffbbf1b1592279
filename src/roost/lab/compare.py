"""`roost lab compare`: two policies over the same owners, jobs and seeds.

Each seed is a pair of runs, so what differs between seeds falls out of the differences: the confidence interval (95 %,
Student's t) is that of the mean of the paired differences. Where both runs of a slot part ways for the first time, a
decision changed: such partings are counted by what either policy did, and one of each kind is explained from the
evaluations of both runs.

After the first parting a slot's history is another one, so later differences of that slot are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from roost.classad import unparse_value
from roost.config import Host
from roost.lab.durations import shown
from roost.lab.simulate import Request, plan_of, with_seed
from roost.policy.render import render_text
from roost.sim.host import Machine, Slot
from roost.sim.world import World
from roost.startd.machine import Step
from roost.startd.work import Taken

#: Figures that are compared, and whether more is better; None where neither is.
FIGURES: Final[dict[str, bool | None]] = {
    "jobs_completed": True,
    "goodput_h": True,
    "badput_h": False,
    "goodput_share": True,
    "utilisation": None,
    "wait_min_mean": False,
    "wait_min_95": False,
    "slowdown_median": False,
    "slowdown_95": False,
    "evictions_per_job": False,
    "suspensions": None,
    "owner_interference_s": False,
}

#: Two-sided 95 % quantiles of Student's t, by degrees of freedom from 1.
_T: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_T_MANY: Final = 1.96


#: Partings that no expression of the slot's own policy decided.
_ELSEWHERE: Final = ("follows from decisions elsewhere: another job came, left or stayed", "the same")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One figure under both policies."""

    name: str
    old: float
    new: float
    #: Mean of the paired differences, and half the width of its confidence interval; None for one seed.
    change: float
    margin: float | None

    @property
    def verdict(self) -> str:
        """ "better", "worse", "changed" or ""; "" where chance would do as well."""
        if self.margin is None or abs(self.change) <= self.margin or self.change == 0:
            return ""
        more = FIGURES[self.name]
        return "changed" if more is None else "better" if (self.change > 0) is more else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Decisions that changed in the same way."""

    old: str
    new: str
    count: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two policies, compared."""

    old: str
    new: str
    seeds: tuple[int, ...]
    differences: tuple[Difference, ...]
    partings: tuple[Parting, ...]
    slots: int


@dataclass(slots=True)
class _Trace:
    """What one run did, by slot."""

    summary: dict[str, Any]
    taken: dict[str, list[Taken]]


def compare(
    old: Request,
    new: Request,
    seeds: Iterable[int],
    host: Host,
    width: int = 100,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Run both under each seed. Raises LabError."""
    numbers = tuple(seeds)
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    found: dict[tuple[str, str], list[str | int]] = {}
    slots = 0
    for index, seed in enumerate(numbers):
        first, second = _run(with_seed(old, seed), host), _run(with_seed(new, seed), host)
        pairs.append((first.summary, second.summary))
        slots += len(first.taken)
        _count_partings(first, second, seed, found, width)
        if progress is not None:
            progress((index + 1) / len(numbers))
    partings = [
        Parting(old=key[0], new=key[1], count=int(entry[0]), example=str(entry[1])) for key, entry in found.items()
    ]
    return Comparison(
        old=", ".join(old.configs),
        new=", ".join(new.configs),
        seeds=numbers,
        differences=tuple(_difference(name, pairs) for name in FIGURES),
        partings=tuple(sorted(partings, key=lambda each: (-each.count, each.old, each.new))),
        slots=slots,
    )


def _run(request: Request, host: Host) -> _Trace:
    plan = plan_of(request, host)
    taken: dict[str, list[Taken]] = {slot.name: [] for machine in plan.machines for slot in machine.slots}

    def note(machine: Machine, slot: Slot, step: Step, now: float) -> None:
        taken[slot.plan.name] += step.transitions

    outcome = World(plan, on_step=note).run()
    return _Trace(summary=outcome.summary, taken=taken)


def _difference(name: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> Difference:
    olds, news = [float(old[name]) for old, _ in pairs], [float(new[name]) for _, new in pairs]
    changes = [new - old for old, new in zip(olds, news, strict=True)]
    count = len(changes)
    mean = sum(changes) / count
    margin = None
    if count > 1:
        spread = math.sqrt(sum((each - mean) ** 2 for each in changes) / (count - 1))
        quantile = _T[count - 2] if count - 2 < len(_T) else _T_MANY
        margin = quantile * spread / math.sqrt(count)
    return Difference(name=name, old=sum(olds) / count, new=sum(news) / count, change=mean, margin=margin)


# -- partings ------------------------------------------------------------------------------------------------


def _count_partings(
    first: _Trace, second: _Trace, seed: int, found: dict[tuple[str, str], list[str | int]], width: int
) -> None:
    for slot, olds in first.taken.items():
        parting = _parting(olds, second.taken[slot])
        if parting is None:
            continue
        old, new = parting
        if not any(each is not None and each.decisions for each in parting):
            found.setdefault(_ELSEWHERE, [0, ""])[0] = int(found.get(_ELSEWHERE, [0])[0]) + 1
            continue
        key = (_deed(old, new), _deed(new, old))
        entry = found.setdefault(key, [0, ""])
        entry[0] = int(entry[0]) + 1
        if entry[0] == 1:
            entry[1] = _example(slot, seed, old, new, width)


def _parting(olds: list[Taken], news: list[Taken]) -> tuple[Taken | None, Taken | None] | None:
    """Where two histories of a slot part: what each did then, None for one that did nothing."""
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


def _deed(taken: Taken | None, other: Taken | None) -> str:
    if taken is None:
        assert other is not None
        return f"stays in {other.source}"
    return f"[{taken.number}] {taken.source} -> {taken.target}: {taken.reason}"


def _example(slot: str, seed: int, old: Taken | None, new: Taken | None, width: int) -> str:
    at = min(each.at for each in (old, new) if each is not None)
    from roost.sim.world import BEGINNING

    lines = [f"for instance {slot}, seed {seed}, at {shown(at - BEGINNING)}"]
    for word, taken in (("old", old), ("new", new)):
        if taken is not None and (decision := taken.decision) is not None:
            lines.append(f"{word}: {decision.name} = {unparse_value(decision.value)}")
            explanation = decision.explain()
            if explanation is not None:
                lines += [f"  {line}" for line in render_text(explanation, width - 8).rstrip().splitlines()]
    return "\n".join(lines)


# -- the result ------------------------------------------------------------------------------------------------


def comparison_text(found: Comparison) -> str:
    """The comparison for people."""
    lines = [f"old  {found.old}", f"new  {found.new}", f"{len(found.seeds)} seeds, {found.slots} slot histories", ""]
    lines.append(f"{'':<22}{'old':>12}{'new':>12}{'change':>12}   95 %")
    for each in found.differences:
        margin = "" if each.margin is None else f"± {each.margin:,.2f}"
        figures = f"{each.name:<22}{each.old:>12,.2f}{each.new:>12,.2f}{each.change:>+12,.2f}"
        lines.append(f"{figures}   {margin:<14}{each.verdict}".rstrip())
    if not found.partings:
        return "\n".join([*lines, "", "No decision changed."])
    lines += ["", "Where slots first part ways:"]
    for parting in found.partings:
        lines += ["", f"{parting.count:>5} x  old {parting.old}", f"{'':>8}new {parting.new}"]
        lines += [f"        {line}".rstrip() for line in parting.example.splitlines()]
    return "\n".join(lines)


def comparison_data(found: Comparison) -> dict[str, Any]:
    """The comparison for programs."""
    return {
        "old": found.old,
        "new": found.new,
        "seeds": list(found.seeds),
        "figures": [
            {
                "name": each.name,
                "old": each.old,
                "new": each.new,
                "change": each.change,
                "margin": each.margin,
                "verdict": each.verdict,
            }
            for each in found.differences
        ],
        "partings": [
            {"old": each.old, "new": each.new, "count": each.count, "example": each.example} for each in found.partings
        ],
    }
