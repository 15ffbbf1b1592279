"""A comparison of two policies, as values, as text and as data."""

from __future__ import annotations

from typing import Any, Final

from roost.base.records import dataclass, replace
from roost.lab.report.cell_figures import COLUMNS
from roost.lab.report.figures import Figure, number

#: Why a request got nothing, by the matchmaker's cause, in words.
_CAUSES: Final = {
    "job-requirements": "the slots are rejected by the job",
    "slot-requirements": "the job is rejected by the slots",
    "pool-policy-resource": "NEGOTIATOR_PE_RESOURCE_EXPR forbids it",
    "pool-policy-job": "NEGOTIATOR_PE_JOB_EXPR forbids it",
    "pool-policy-discarded": "the pool's policy discards the job",
    "pool-policy": "the pool's policy discards the slots",
    "constraint": "the slots take no part in matching (NEGOTIATOR_SLOT_CONSTRAINT)",
    "job-constraint": "the job takes no part in matching (NEGOTIATOR_JOB_CONSTRAINT)",
    "no-claim-offered": "the slots are not offered: just assigned, or closed",
    "claimed": "the slots are in use, and nothing is preempted",
    "taken": "the slots went to other requests of the same cycle",
    "retirement-time": "the slots are in use, with retirement time left",
    "occupied": "the slots are in use and keep their jobs",
    "preemption-requirements": "PREEMPTION_REQUIREMENTS forbids it",
    "priority": "the slots are in use by users whose priority is at least as good",
    "submitter-limit": "the user has reached its share",
    "queue-limit": "the queue does not ask for more slots (MAX_JOBS_RUNNING, JOB_START_COUNT)",
    "ceiling": "the user has reached its ceiling",
    "concurrency-limit": "a concurrency limit is reached",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureDifference:
    """One figure under both policies, in its unit."""

    figure: Figure
    #: Means over the seeds whose runs have the figure; None if none has.
    old: float | None
    new: float | None
    #: Mean of the paired differences; None if no seed has both.
    change: float | None
    #: Half the width of its confidence interval; None for one seed, or several with equal results.
    margin: float | None

    @property
    def verdict(self) -> str:
        """ "better", "worse", "changed" or ""; "" if the change is within random variation."""
        if self.change is None or self.margin is None or abs(self.change) <= self.margin or self.change == 0:
            return ""
        more = self.figure.more
        return "changed" if more is None else "better" if (self.change > 0) is more else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Decisions that changed in the same way."""

    old: str
    new: str
    count: int
    #: Seed, slot and time (s since the beginning) of some of them.
    places: tuple[tuple[int, str, float], ...]
    #: Why, for the first of these.
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two policies, compared."""

    old: str
    new: str
    seeds: tuple[int, ...]
    differences: tuple[FigureDifference, ...]
    partings: tuple[Parting, ...]
    slots: int
    #: Cause for which requests got no slot or no further slot, and how often under the old and the new policy, over all
    #: seeds.
    refusals: tuple[tuple[str, int, int], ...] = ()
    #: Of cells: queue, user or project, its name, and a figure under the old and the new cell, averaged over all seeds.
    cell: tuple[tuple[str, str, str, float, float], ...] = ()
    #: Parts of the input that the runs did not use, in sentences.
    notes: tuple[str, ...] = ()
    #: Whether all seeds gave the same figures to the digits shown, so that they show no random variation.
    alike: bool = False


def comparison_text(found: Comparison, examples: int = 10) -> str:
    """The comparison as text, with `examples` kinds of changed decisions explained."""
    seeds = f"seed {found.seeds[0]}" if len(found.seeds) == 1 else f"seeds {found.seeds[0]} to {found.seeds[-1]}"
    lines = [f"old  {found.old}", f"new  {found.new}", f"{seeds}, {found.slots:,} slot histories"]
    lines += [*(f"note: {note}" for note in found.notes), ""]
    lines.append(f"{'':<26}{'old':>12}{'new':>12}{'change':>12}   95 % of means")
    lines += [_difference_line(each) for each in found.differences]
    if found.cell:
        lines += ["", "By queue, user and project, averaged over all seeds:", ""]
        lines += [
            f"{f'{group[:-1]} {name}: {COLUMNS[figure]}':<38}{old:>12,.1f}{new:>12,.1f}{new - old:>+12,.1f}"
            for group, name, figure, old, new in found.cell
        ]
    if len(found.seeds) == 1:
        lines += ["", "One seed does not show random variation; use --seeds 2 or more to get intervals."]
    elif found.alike:
        lines += [
            "",
            "All seeds give the same figures: almost nothing in these runs depends on chance. There are no intervals.",
        ]
    changed = [each for each in found.refusals if each[1] != each[2]]
    if changed:
        lines += [
            "",
            "Why requests got no slot or no further slot, over all cycles; a request may have several causes:",
            "",
        ]
        lines += [f"{old:>12,}{new:>12,}   {cause_in_words(cause)}" for cause, old, new in changed]
    if not found.partings:
        return "\n".join([*lines, "", "No decision changed."])
    lines += ["", "Changed decisions, at the first point where a slot's two histories diverge:"]
    for parting in found.partings[:examples]:
        lines += ["", f"{parting.count:>6} x  old {parting.old}", f"{'':>9}new {parting.new}"]
        lines += [f"{'':>9}{line}".rstrip() for line in parting.example.splitlines()]
    if len(found.partings) > examples:
        rest = sum(each.count for each in found.partings[examples:])
        kinds = len(found.partings) - examples
        lines += ["", f"{rest:>6} x  of {kinds} more kinds; --examples {len(found.partings)} shows all, --json as data"]
    return "\n".join(lines)


def cause_in_words(cause: str) -> str:
    """A cause for which a request got nothing."""
    kind, _, name = cause.partition(":")
    return _CAUSES.get(kind, kind) + (f" ({name})" if name else "")


def _difference_line(each: FigureDifference) -> str:
    name = each.figure.meaning + (f" ({each.figure.unit})" if each.figure.unit else "")
    # Means of counts are not whole numbers.
    figure = replace(each.figure, digits=max(1, each.figure.digits))
    margin = "" if each.margin is None else f"± {number(each.margin, figure)}"
    told = ((each.old, ""), (each.new, ""), (each.change, "+"))
    values = ["–" if value is None else number(value, figure, sign) for value, sign in told]
    figures = "".join(f"{value:>12}" for value in values)
    short = name.partition(":")[0] + (f" ({each.figure.unit})" if ":" in name and each.figure.unit else "")
    return f"{short:<26}{figures}   {margin:<14}{each.verdict}".rstrip()


def comparison_data(found: Comparison) -> dict[str, Any]:
    """The comparison as data."""
    return {
        "version": 1,
        "old": found.old,
        "new": found.new,
        "seeds": list(found.seeds),
        "notes": list(found.notes),
        "seeds_alike": found.alike,
        "figures": [
            {
                "name": each.figure.name,
                "unit": each.figure.unit,
                "old": _rounded(each.old),
                "new": _rounded(each.new),
                "change": _rounded(each.change),
                "margin": _rounded(each.margin),
                "verdict": each.verdict,
            }
            for each in found.differences
        ],
        "cell": [
            {"group": group, "name": name, "figure": figure, "old": _rounded(old), "new": _rounded(new)}
            for group, name, figure, old, new in found.cell
        ],
        "refusals": [{"cause": cause, "old": old, "new": new} for cause, old, new in found.refusals],
        "partings": [
            {
                "old": each.old,
                "new": each.new,
                "count": each.count,
                "places": [{"seed": seed, "slot": slot, "at_s": at_s} for seed, slot, at_s in each.places],
                "example": each.example,
            }
            for each in found.partings
        ],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
