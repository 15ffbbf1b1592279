"""Changes of a job that would make it fit a slot, each verified by evaluating the changed job against that slot.

It tries, separately and then together: requests lowered to what the slot has, names in the job's Requirements replaced
by the probably intended ones, and attributes that the slot's policy requires of the job. If these are not enough, it
removes the clauses of the job's own Requirements that reject the slot.

What it does not do: change expressions other than Requirements, or attributes that only the queue sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass, replace
from roost.classad import ClassAd, FixedWorld, ParseError, Value, parse_expression, unparse_value
from roost.classad.ops import truth
from roost.classad.values import fold
from roost.config.suggest import near_among
from roost.explain.refusals import KEPT, causes
from roost.policy.explain import Explanation, UsedSide

#: Most slots for which changes are tried.
SLOTS_MAX: Final = 50
#: Units of requests for display.
_UNITS: Final = {"requestmemory": " MB", "requestdisk": " KiB"}
_COMMANDS: Final = {
    "requestcpus": "request_cpus", "requestmemory": "request_memory", "requestdisk": "request_disk",
    "requestgpus": "request_gpus",
}  # fmt: skip
#: How an expression refers to the current time.
_CLOCKS: Final = ("time()", "currenttime")


class EditKind(StrEnum):
    """What a change does."""

    LOWERED = "lowered"
    #: A request for a resource that the slot does not have at all.
    DROPPED = "dropped"
    RENAMED = "renamed"
    SET = "set"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A new value for one attribute of the job."""

    kind: EditKind
    attribute: str
    #: The new value, as an expression.
    text: str
    #: What to do, an imperative without a full stop.
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Changes that together make a job fit a slot."""

    slot: str
    changes: tuple[Change, ...]

    @property
    def cost(self) -> tuple[bool, int]:
        """Lower is better: give up nothing that the user requested, and change little."""
        return any(each.kind is EditKind.LEFT_OUT for each in self.changes), len(self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """Whether a job and a slot accept each other, and the pool's policy permits it."""

    world: FixedWorld
    #: Expressions that must be TRUE in addition to Requirements: text, and whether MY is the job.
    policies: Sequence[tuple[str, bool]]

    def fits(self, job: ClassAd, slot: ClassAd) -> bool:
        """Whether the job would get the slot if it were free."""
        if not job.symmetric_match(slot, self.world):
            return False
        return all(self._permits(text, job, slot) if is_job else self._permits(text, slot, job)
                   for text, is_job in self.policies)  # fmt: skip

    def _permits(self, text: str, mine: ClassAd, other: ClassAd) -> bool:
        try:
            return truth(mine.eval_expr(parse_expression(text), other, self.world)) is True
        except ParseError:
            return False


def best_edit(
    job: ClassAd, slots: Mapping[str, ClassAd], unmet: Mapping[str, Mapping[str, Explanation]], test: Matcher
) -> Edit | None:
    """The smallest change of a job that makes it fit one of the slots; `unmet` has the rejecting expressions of each
    slot."""
    best: Edit | None = None
    for name in list(unmet)[:SLOTS_MAX]:
        found = _edit(job, name, slots[name], unmet[name], test)
        if found is not None and (best is None or _better(found, best)):
            best = found
    return best


def first_time(
    job: ClassAd, slots: Mapping[str, ClassAd], unmet: Mapping[str, Mapping[str, Explanation]], test: Matcher
) -> tuple[float, str] | None:
    """When a slot would accept the job unchanged, epoch s, and the first such slot; None if time alone changes nothing.

    It tries the times that rejecting clauses compare with `time()` or CurrentTime.
    """
    fitting = (
        (at, name)
        for name in list(unmet)[:SLOTS_MAX]
        for at in _times(unmet[name].values(), test.world.now())
        if replace(test, world=replace(test.world, instant=at, source=None)).fits(job, slots[name])
    )
    return min(fitting, default=None)


def _times(whys: Iterable[Explanation], now: float) -> set[float]:
    found: set[float] = set()
    for change in (each for why in whys for each in why.changes):
        if fold(change.subject.rpartition(".")[2]) in _CLOCKS and (bound := _number(change.bound)) is not None:
            found |= {float(at) for at in (bound, bound + 1) if at > now}
    return found


def _better(one: Edit, other: Edit) -> bool:
    if one.cost != other.cost:
        return one.cost < other.cost
    # Of two slots that need lowered requests, the one that has more.
    return _lowered(one) > _lowered(other)


def _lowered(edit: Edit) -> float:
    return sum(float(each.text) for each in edit.changes if each.kind is EditKind.LOWERED)


def whole_of(slot: ClassAd) -> ClassAd | None:
    """A partitionable slot as it is when entirely unused; None for a slot of another kind."""
    if slot.get("PartitionableSlot") is not True:
        return None
    whole = slot.copy()
    for name in slot:
        if name.lower().startswith("totalslot") and len(name) > len("TotalSlot"):
            resource = name[len("TotalSlot") :]
            if resource in slot and isinstance(slot.get(name), int | float):
                whole[resource] = slot.get(name)
    return whole


def _edit(job: ClassAd, name: str, slot: ClassAd, unmet: Mapping[str, Explanation], test: Matcher) -> Edit | None:
    lowered = list(_lower_requests(job, slot, test.world))
    renamed = list(_rename(job, slot, unmet))
    asked = list(_set_what_is_asked(unmet))
    for changes in (lowered, renamed, asked, [*lowered, *renamed, *asked]):
        if changes and test.fits(_changed(job, changes), slot):
            return Edit(slot=name, changes=tuple(changes))
    left_out = list(_leave_out(job, unmet, [*lowered, *asked]))
    if left_out and test.fits(_changed(job, [*lowered, *asked, *left_out]), slot):
        return Edit(slot=name, changes=(*lowered, *asked, *left_out))
    return None


def _changed(job: ClassAd, changes: Sequence[Change]) -> ClassAd:
    found = job.copy()
    for change in changes:
        found.set(change.attribute, change.text)
    return found


# -- requests ----------------------------------------------------------------------------------------------------


def _lower_requests(job: ClassAd, slot: ClassAd, world: FixedWorld) -> Iterator[Change]:
    for name in job:
        key = fold(name)
        if not key.startswith("request") or key == "request":
            continue
        wanted = _number(job.eval(name, slot, world))
        has = _number(slot.eval(name[len("Request") :], job, world)) or 0
        if wanted is None or has >= wanted:
            continue
        command = _COMMANDS.get(key, f"request_{name[len('Request') :]}")
        resource = name[len("Request") :]
        if not has:
            said = f"no slot that it could use has any {resource}; remove {command}"
        else:
            said = f"lower {command} to {_shown(has)}{_UNITS.get(key, '')} or less (it is {_shown(wanted)})"
        yield Change(kind=EditKind.LOWERED if has else EditKind.DROPPED, attribute=name, text=_shown(has), said=said)


def _number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _shown(value: Value) -> str:
    return unparse_value(value)


# -- names -------------------------------------------------------------------------------------------------------


def misspelt(job: ClassAd, slot: ClassAd, why: Explanation, *, mine_is_job: bool) -> dict[str, str]:
    """Names in an expression that neither ad has, to the names probably meant."""
    found = {}
    for clause in causes(why):
        for used in clause.attributes:
            if used.side is UsedSide.NOWHERE:
                candidates = (*slot, *job) if mine_is_job else (*job, *slot)
                name = used.name.rpartition(".")[2]
                meant = near_among(name, dict.fromkeys(candidates))
                if meant is not None:
                    found[name] = meant
    return found


def _rename(job: ClassAd, slot: ClassAd, unmet: Mapping[str, Explanation]) -> Iterator[Change]:
    why = unmet.get("job-requirements")
    if why is None:
        return
    names = misspelt(job, slot, why, mine_is_job=True)
    text = why.text
    for name, meant in names.items():
        text = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", meant, text)
    if text != why.text:
        said = "; ".join(f"there is no attribute {name}; did you mean {meant}?" for name, meant in names.items())
        yield Change(kind=EditKind.RENAMED, attribute="Requirements", text=text, said=said)


# -- what a slot requires of the job -----------------------------------------------------------------------------------


def _set_what_is_asked(unmet: Mapping[str, Explanation]) -> Iterator[Change]:
    why = unmet.get("slot-requirements")
    if why is None or not why.changes:
        return
    for change in why.changes:
        is_jobs = change.side in (UsedSide.TARGET, UsedSide.NOWHERE) and change.example is not None
        if not is_jobs or fold(change.subject.rpartition(".")[2]) in KEPT:
            return
    for change in why.changes:
        assert change.example is not None
        name, text = change.subject.rpartition(".")[2], unparse_value(change.example)
        yield Change(kind=EditKind.SET, attribute=name, text=text, said=f"set {name} to {text}, as the slot requires")


# -- clauses of the job ------------------------------------------------------------------------------------------


def _leave_out(job: ClassAd, unmet: Mapping[str, Explanation], settled: Sequence[Change]) -> Iterator[Change]:
    """Remove clauses of the job's Requirements that reject the slot and that no other change satisfies."""
    why = unmet.get("job-requirements")
    if why is None:
        return
    # A slot without a resource does not meet the clause for it, however little is requested.
    lowered = {fold(each.attribute) for each in settled if each.kind is EditKind.LOWERED}
    units = {f"require{fold(name)[len('request') :]}" for name in job if fold(name).startswith("request")}
    spans = []
    for clause in causes(why):
        # Requirements on the individual units of a resource are evaluated again when they are assigned.
        if clause.path or units & set(re.findall(r"\w+", fold(clause.text))):
            return
        if not any(fold(used.name) in lowered for used in clause.attributes):
            spans.append(clause.span)
    text = why.text
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]}true{text[end:]}"
    if spans and text != why.text:
        parts = " and ".join(" ".join(why.text[start:end].split()) for start, end in spans)
        said = f"if the job does not need it, remove {parts} from its requirements"
        yield Change(kind=EditKind.LEFT_OUT, attribute="Requirements", text=text, said=said)
