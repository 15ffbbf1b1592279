"""The verdict of the negotiator's last cycle on a job: the slots it rejected, by clause, and the closest slot.

The cycle's record lists each slot under the cause that it found first. For a cause that is an expression, the clauses
that decided are found by tracing the expression on the same ads at the instant of the cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.base.structs import whole_data_of
from roost.classad import ClassAd, FixedWorld, ParseError
from roost.classad.allowance import EXPRESSION_STEPS, Allowance
from roost.classad.ops import truth
from roost.explain import edits
from roost.explain.refusals import ANSWER_STEPS, CLAUSES_MAX, causes, is_the_jobs, missing, refusing, shut_by
from roost.explain.slot import FIXED
from roost.model.cycle_answers import JobInCycle
from roost.policy.explain import Explanation, Origin, explain
from roost.policy.render.sentences import reasons

#: Most rejections that are traced.
TRACED_MAX: Final = 1_500
#: Cause in the record to the rejecting expression, and whether MY is the job.
TRACED: Final = {
    "job-requirements": ("Requirements", "job"),
    "slot-requirements": ("Requirements", "slot"),
    "pool-policy-resource": ("NEGOTIATOR_PE_RESOURCE_EXPR", "slot"),
    "pool-policy-job": ("NEGOTIATOR_PE_JOB_EXPR", "job"),
}
#: Most slots of a group named in its data.
_NAMED_MAX: Final = 20
#: Used instead of a clause for a partitionable slot that is partly in use.
_PARTS: Final = "its free part is too small; the whole slot would be large enough"
_JOBS: Final = ("job-requirements", "pool-policy-job")

#: Name of a slot to the places where its policy was set.
Origins = Callable[[str], Mapping[str, Origin]]


@dataclass(slots=True)
class Group:
    """Slots that were rejected for the same reason."""

    cause: str
    clause: str
    count: int = 0
    slots: list[str] = field(default_factory=list)
    #: The values that decided the clause, on the first of the slots.
    because: str = ""
    #: User to the number of these slots in use.
    holders: Mapping[str, int] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "cause": self.cause, "side": "job" if self.cause in _JOBS else "slot", "clause": self.clause,
            "count": self.count, "because": self.because, "slots": self.slots[:_NAMED_MAX],
        }  # fmt: skip


@dataclass(slots=True)
class Nearest:
    """The slot that needs the fewest changes."""

    slot: str
    #: What would have to be different.
    changes: list[str]
    #: Whether these changes are sufficient rather than only necessary.
    sure: bool

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {"slot": self.slot, "changes": self.changes, "sure": self.sure}


@dataclass(slots=True)
class Verdict:
    """The result of a cycle for a job."""

    record: JobInCycle
    #: Most slots first.
    groups: list[Group] = field(default_factory=list)
    nearest: Nearest | None = None
    #: The smallest change of the job that makes it fit a slot, verified by evaluation; None if none was found.
    edit: edits.Edit | None = None
    #: When a slot would accept the job unchanged, epoch s, and which; None if time alone changes nothing.
    later: tuple[float, str] | None = None
    #: Partitionable slots that would run it if they were entirely unused.
    when_free: list[str] = field(default_factory=list)
    #: Slots that only their owners' policies deny to the job.
    others: list[str] = field(default_factory=list)
    #: Slots that are closed to all jobs, to the reason.
    shut: dict[str, str] = field(default_factory=dict)
    #: Names that neither ad has, to the names probably meant.
    misspelt: dict[str, str] = field(default_factory=dict)

    @property
    def fits(self) -> list[str]:
        """Slots that would run it."""
        if self.record.besides:
            return []
        return [*self.record.given, *self._of("accepted")]

    @property
    def causes(self) -> set[str]:
        """The causes of all groups."""
        return {group.cause for group in self.groups}

    def _of(self, cause: str) -> list[str]:
        return next((each.slots for each in self.record.causes if each.cause == cause), [])

    def data(self) -> dict[str, Any]:
        """As JSON."""
        record, keys = self.record, ["knob", "served", "group", "submitter"]
        if record.jobs is not None:
            keys += ["besides", "limits", "jobs", "left"]
        shown = whole_data_of(record)
        return {
            "at": record.at,
            "slots": record.slots,
            "fits": self.fits,
            "taken": {each.cause: each.count for each in self.groups if each.cause not in TRACED},
            "rejected": [each.data() for each in self.groups if each.cause in TRACED],
            "nearest": None if self.nearest is None else self.nearest.data(),
            "edit": None if self.edit is None else {each.attribute: each.text for each in self.edit.changes},
            "misspelt": self.misspelt,
            "matchmaker": record.text,
            **{key: shown[key] for key in keys},
        }


def slots_to_trace(record: JobInCycle) -> list[str]:
    """The slots whose ads `verdict` needs."""
    names = [name for each in record.causes if each.cause in TRACED for name in each.slots]
    return names[:TRACED_MAX]


def verdict(job: ClassAd, record: JobInCycle, slots: Mapping[str, ClassAd], origins: Origins) -> Verdict:
    """The verdict of a cycle on a job, from its record; `slots` has the ads of `slots_to_trace` that still exist.

    An expression that takes more steps than the matchmaker allows is not analyzed, nor are slots for which no steps are
    left.
    """
    with Allowance(ANSWER_STEPS, EXPRESSION_STEPS) as allowance:
        builder = _Builder(_Tracer(job, record, origins), Verdict(record))
        left = TRACED_MAX
        for each in record.causes:
            cause, names = each.cause, each.slots
            if cause not in TRACED:
                builder.whole(cause, each.count, list(names), each.holders)
                continue
            traced = 0
            for name in names[:left]:
                if allowance.left <= 0:
                    break
                traced += 1
                if name in slots:
                    builder.slot(cause, name, slots[name])
            left -= traced
            if each.count > traced:
                builder.whole(cause, each.count - traced, list(names[traced:]), {}, "not analyzed")
        return builder.done()


class _Tracer:
    """Traces the rejecting expressions at the instant of the cycle."""

    def __init__(self, job: ClassAd, record: JobInCycle, origins: Origins) -> None:
        self.job = job
        self.world = FixedWorld(instant=record.at, offset=record.zone_offset_s)
        self.policies = {
            cause: source for cause, source in record.sources.items() if source is not None and cause in TRACED
        }
        self._origins = origins

    def refusal(self, cause: str, name: str, slot: ClassAd) -> Explanation | None:
        """Why the expression of a cause is not TRUE; None if it is TRUE by now."""
        knob, side = TRACED[cause]
        mine, other = (self.job, slot) if side == "job" else (slot, self.job)
        if knob == "Requirements":
            if "Requirements" not in mine or truth(mine.eval("Requirements", other, self.world)) is True:
                return None
            origins = self._origins(name) if side == "slot" else {}
            fixed = FIXED if side == "slot" else ()
            return explain(mine.lookup(knob), mine, other, world=self.world, name=knob, origins=origins, fixed=fixed)
        source = self.policies.get(cause)
        if source is None or not source.text:
            return None
        place = source.place
        origin = Origin(file=place) if place else None
        try:
            found = explain(source.text, mine, other, world=self.world, name=knob, origin=origin)
        except ParseError:
            return None
        return None if truth(found.value) is True else found

    def unmet(self, name: str, slot: ClassAd) -> dict[str, Explanation]:
        """All rejecting expressions by cause, not only the first one found."""
        wanted = ("job-requirements", "slot-requirements", *self.policies)
        found = {cause: self.refusal(cause, name, slot) for cause in wanted}
        return {cause: each for cause, each in found.items() if each is not None}


class _Builder:
    """Builds a verdict slot by slot."""

    def __init__(self, tracer: _Tracer, verdict: Verdict) -> None:
        self._tracer = tracer
        self._verdict = verdict
        self._groups: dict[tuple[str, str], Group] = {}
        policies = ((TRACED[cause][1] == "job", source.text) for cause, source in tracer.policies.items())
        self._test = edits.Matcher(world=tracer.world, policies=[(text, is_job) for is_job, text in policies if text])
        self._slots: dict[str, ClassAd] = {}
        self._unmet: dict[str, dict[str, Explanation]] = {}

    def whole(self, cause: str, count: int, slots: list[str], holders: Mapping[str, int], clause: str = "") -> None:
        """Add slots that need no tracing."""
        self._groups[cause, clause] = Group(cause, clause, count, slots, holders=holders)

    def slot(self, cause: str, name: str, slot: ClassAd) -> None:
        """Add a slot whose rejection is traced."""
        why, shut, whole = self._tracer.refusal(cause, name, slot), shut_by(slot), edits.whole_of(slot)
        of_slot, free = cause == "slot-requirements", False
        if whole is not None and not shut and (of_slot or cause == "job-requirements"):
            free = self._test.fits(self._tracer.job, whole)
            # Its current use by others is not what rejects the job.
            slot, why = whole, self._tracer.refusal(cause, name, whole) or why
        self._count(cause, why, name, shut if of_slot and shut else _PARTS if free else "")
        if free:
            self._verdict.when_free.append(name)
        elif why is not None:
            mine_is_job = TRACED[cause][1] == "job"
            self._verdict.misspelt |= edits.misspelt(self._tracer.job, slot, why, mine_is_job=mine_is_job)
        # A dynamic slot was created for the job that uses it, so it does not come free at this size.
        if not free and slot.get("SlotType") != "Dynamic":
            self._consider(name, slot, self._tracer.unmet(name, slot), shut)

    def done(self) -> Verdict:
        """The verdict."""
        found = self._verdict.edit = edits.best_edit(self._tracer.job, self._slots, self._unmet, self._test)
        self._verdict.later = edits.first_time(self._tracer.job, self._slots, self._unmet, self._test)
        if found is not None and found.slot in self._verdict.others:
            self._verdict.others.remove(found.slot)
        self._verdict.groups = sorted(self._groups.values(), key=lambda group: -group.count)
        return self._verdict

    def _count(self, cause: str, why: Explanation | None, name: str, shut: str) -> None:
        if shut:
            clause, why = shut, None
        elif why is None:
            clause = "it would accept the job now; something has changed since"
        else:
            clause = refusing(why)
        group = self._groups.setdefault((cause, clause), Group(cause, clause))
        group.count += 1
        if not group.slots and why is not None:
            group.because = _because(why)
        group.slots.append(name)

    def _consider(self, name: str, slot: ClassAd, whys: dict[str, Explanation], shut: str) -> None:
        """Check whether a slot is the closest so far: the one that needs the fewest changes."""
        if not whys:
            return
        verdict = self._verdict
        if shut:
            verdict.shut[name] = shut
            return
        self._slots[name], self._unmet[name] = slot, whys
        if "slot-requirements" in whys:
            tracer = self._tracer
            if truth(slot.eval("START", tracer.job, tracer.world)) is True and "job-requirements" in whys:
                # Its size rejects the job, which the job's own requirements also express.
                whys = {cause: why for cause, why in whys.items() if cause != "slot-requirements"}
            elif not is_the_jobs("slot-requirements", whys["slot-requirements"]):
                verdict.others.append(name)
        changes = [text for cause, why in whys.items() for text in missing(why, mine_is_job=TRACED[cause][1] == "job")]
        sure = all(why.changes for why in whys.values())
        best = verdict.nearest
        if best is None or (not sure, len(changes)) < (not best.sure, len(best.changes)):
            verdict.nearest = Nearest(name, changes, sure)


def _because(why: Explanation) -> str:
    """The values that decided an expression, and the place where it was set."""
    said = "; ".join(", ".join(reasons(each)) for each in causes(why)[:CLAUSES_MAX] if reasons(each))
    place = next((step.origin for each in why.clauses for step in reversed(each.path) if step.origin), why.origin)
    return f"{said} [{place}]".strip() if place else said
