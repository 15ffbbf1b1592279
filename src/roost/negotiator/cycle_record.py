"""The record of a cycle for explanations: its verdicts, its limits, and the order in which it served submitters.

Nothing is computed again: the answers count and name what the cycle found, row by row, in its own terms. `roost
explain` shows them, and finds the deciding clause of a refusing expression by tracing it on the same ads at the same
instant.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import numpy as np

from roost.base.records import dataclass
from roost.base.structs import replaced
from roost.classad.vector.kinds import Array
from roost.model.cycle_answers import (
    CeilingUse,
    GivenTo,
    GroupUse,
    JobInCycle,
    KnobSource,
    LimitUse,
    RequestsOfCause,
    Served,
    SlotInCycle,
    SlotsOfCause,
)  # fmt: skip
from roost.negotiator.groups import Group
from roost.negotiator.limits import maximum, parse_limits
from roost.negotiator.pool_policy import JOB, RESOURCE
from roost.negotiator.preemption import SubmitterUsage
from roost.negotiator.serving import JOB_CONSTRAINT, PendingRequest, QueueSubmitter, SlotAllocator
from roost.negotiator.settings import ROOT, NegotiatorSettings
from roost.negotiator.snapshot import Match
from roost.negotiator.verdicts import CAUSES, JOB_REFUSES, REFUSED, SLOT_REFUSES
from roost.negotiator.view import REASONS

#: Most slots that an answer names per cause: for refusals, which are traced further, and for other causes.
REFUSALS_MAX: Final = 1_500
NAMES_MAX: Final = 20
#: Most submitters in an answer.
SUBMITTERS_MAX: Final = 50

_TAKEN: Final = "taken"
#: Given to the request itself.
_GIVEN: Final = "given"
_ACCEPTED: Final = "accepted"
_HELD: Final = ("occupied", "retirement-time", _ACCEPTED)
_APART: Final = (CAUSES[JOB_REFUSES], CAUSES[SLOT_REFUSES])


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleRecord:
    """See the module. Arrays and tables are the cycle's own, valid until the next cycle."""

    #: When the cycle ran, epoch s, and the matchmaker's offset from UTC, s east.
    at: float
    zone_offset_s: int
    settings: NegotiatorSettings
    allocator: SlotAllocator
    queue_submitters: tuple[QueueSubmitter, ...]
    #: In the order of service.
    served: tuple[Served, ...]
    groups: Mapping[str, Group]
    submitter_usage: Mapping[str, SubmitterUsage]
    #: (queue, submitter) to the knob that kept it out.
    kept_out: Mapping[tuple[str, str], str]

    # -- jobs --------------------------------------------------------------------------------------

    def about_request(self, schedd: str, submitter: str, autocluster: int) -> JobInCycle | None:
        """Why a request got nothing, or what it got; None if it was not in the cycle."""
        if (schedd, submitter) in self.kept_out:
            knob = self.kept_out[schedd, submitter]
            return self._answer(submitter, f"pool policy: {knob}", knob, [])
        queue_submitter, pending = self._find(schedd, submitter, autocluster)
        if queue_submitter is None or pending is None:
            return None
        rejection = self.allocator.rejection(queue_submitter, pending)
        text = "" if rejection is None else rejection.text
        out = text.removeprefix("pool policy: ") if text.startswith("pool policy: ") else ""
        knob = out if out.startswith("NEGOTIATOR_") else ""
        if rejection is not None and JOB_CONSTRAINT in rejection.causes:
            knob = out = "NEGOTIATOR_JOB_CONSTRAINT"
        besides = {} if rejection is None else _besides(rejection.causes)
        return replaced(
            self._answer(submitter, text, knob, [] if out else list(self._causes(pending))),
            out="" if knob else out,
            jobs=pending.request.count,
            left=pending.left,
            given=[each.slot for each in self.allocator.matches if self._is_of(each, pending)][:NAMES_MAX],
            besides=besides,
            limits=list(self._limits(besides, pending)),
            ceilings=[
                CeilingUse(name=each.name, limit=each.limit, in_use=each.in_use, set_by=each.set_by)
                for each in self.allocator.ceilings(submitter, pending.person)
            ],
            too_large=None if pending.too_large == math.inf else pending.too_large,
            whole=pending.whole,
        )

    def _answer(self, submitter: str, text: str, knob: str, causes: list[SlotsOfCause]) -> JobInCycle:
        usage = self.submitter_usage.get(submitter)
        return JobInCycle(
            at=self.at,
            zone_offset_s=self.zone_offset_s,
            text=text,
            slots=len(self.allocator.view.names),
            weight=self.allocator.view.size,
            causes=causes,
            knob=self._source(knob),
            submitter=submitter,
            served=self._served(submitter),
            group=None if usage is None or usage.group == ROOT else self._group(usage.group),
            sources=self._sources({each.cause for each in causes}),
            given=[],
            besides={},
            limits=[],
            ceilings=[],
        )

    def _find(
        self, schedd: str, submitter: str, autocluster: int
    ) -> tuple[QueueSubmitter | None, PendingRequest | None]:
        for queue_submitter in self.queue_submitters:
            if (queue_submitter.demand.schedd, queue_submitter.demand.submitter) == (schedd, submitter):
                for pending in queue_submitter.pending_requests:
                    if pending.request.autocluster == autocluster:
                        return queue_submitter, pending
        return None, None

    def _is_of(self, match: Match, pending: PendingRequest) -> bool:
        return (match.schedd, match.submitter, match.autocluster) == pending.key

    def _causes(self, pending: PendingRequest) -> Iterator[SlotsOfCause]:
        """Slots by what kept them from a request; each slot has exactly one cause."""
        view, known = self.allocator.view, self.allocator.known.get(pending.key)
        rows: dict[str, Array] = {}
        todo = np.ones(len(view.names), bool)
        for number, reason in enumerate(REASONS, 1):
            rows[reason] = np.flatnonzero(view.out == number)
        todo &= view.out == 0
        if known is not None and len(known.verdicts) == len(todo):
            verdicts = known.verdicts
            for code, cause in CAUSES.items():
                rows[cause] = np.flatnonzero(todo & (verdicts == code))
            accepted = todo & (verdicts < REFUSED)
            own = np.isin(view.names, [each.slot for each in self.allocator.matches if self._is_of(each, pending)])
            rows[_GIVEN] = np.flatnonzero(accepted & self.allocator.taken & own)
            rows[_TAKEN] = np.flatnonzero(accepted & self.allocator.taken & ~own)
            rows[_ACCEPTED] = np.flatnonzero(accepted & ~self.allocator.taken)
        else:
            rows[_TAKEN] = np.flatnonzero(todo & self.allocator.taken)
            rows["not-looked-at"] = np.flatnonzero(todo & ~self.allocator.taken)
        for cause, found in rows.items():
            if len(found):
                most = REFUSALS_MAX if cause in _APART else NAMES_MAX
                names = [view.names[row] for row in found[:most].tolist()]
                holders = self._holders(found) if cause in _HELD else {}
                yield SlotsOfCause(cause=cause, count=len(found), slots=names, holders=holders)

    def _holders(self, rows: Array) -> dict[str, int]:
        """The number of slots each user has, the largest first."""
        view = self.allocator.view
        codes = view.holder.take(rows)
        counts = np.bincount(codes[codes >= 0], minlength=len(view.holders)).tolist()
        found = sorted(
            ((count, name) for count, name in zip(counts, view.holders, strict=False) if count), reverse=True
        )
        return {name: count for count, name in found[:NAMES_MAX]}

    def _served(self, submitter: str) -> list[Served]:
        """The submitters served before a submitter, the submitter itself, and the next one."""
        place = next((at for at, each in enumerate(self.served) if each.submitter == submitter), None)
        return [] if place is None else list(self.served[max(0, place - SUBMITTERS_MAX + 2) : place + 2])

    def _group(self, name: str) -> GroupUse | None:
        group = self.groups.get(name)
        if group is None:
            return None
        used = next((each.group_in_use for each in self.submitter_usage.values() if each.group == name), 0.0)
        return GroupUse(name=name, quota=group.quota, allocated=group.allocated, used=used, accepts=group.accepts)

    def _limits(self, besides: Mapping[str, int], pending: PendingRequest) -> Iterator[LimitUse]:
        book, text = self.allocator.book, pending.request.ad.eval("ConcurrencyLimits")
        wanted = parse_limits(text) if isinstance(text, str) else {}
        for cause in besides:
            name = cause.partition(":")[2]
            if cause.startswith("concurrency-limit:") and name:
                limit = maximum(name, self.settings.limits)
                in_use = book.in_use.get(name, 0.0)
                yield LimitUse(name=name, limit=limit, in_use=in_use, wanted=wanted.get(name, 0.0))

    def _source(self, knob: str) -> KnobSource | None:
        if not knob:
            return None
        found, policy = self.settings.in_force.of(knob), self.settings.policy
        # As it was evaluated: complete, and with the scopes that were resolved.
        asked = {RESOURCE: policy.resource, JOB: policy.job}.get(knob)
        return KnobSource(name=knob, text=found.text if asked is None else str(asked), place=found.place)

    def _sources(self, causes: Collection[str]) -> dict[str, KnobSource | None]:
        """The knobs that may be behind the causes."""
        return {cause: self._source(knob) for cause, knob in _KNOBS.items() if cause in causes or cause in _ALWAYS}

    # -- slots -------------------------------------------------------------------------------------

    def about_slot(self, name: str) -> SlotInCycle | None:
        """The outcome of a slot in the cycle; None if the cycle did not see it."""
        view = self.allocator.view
        row = next((at for at, each in enumerate(view.names) if each.lower() == name.lower()), None)
        if row is None:
            return None
        code = int(view.out.item(row))
        reason = REASONS[code - 1] if code else ""
        given = [each for each in self.allocator.matches if each.slot == view.names[row]]
        counts: dict[str, int] = {}
        examples: dict[str, str] = {}
        for queue_submitter in self.queue_submitters:
            for pending in queue_submitter.pending_requests:
                known = self.allocator.known.get(pending.key)
                if known is not None and row < len(known.verdicts) and not code:
                    cause = CAUSES.get(int(known.verdicts.item(row)), _ACCEPTED)
                    counts[cause] = counts.get(cause, 0) + 1
                    examples.setdefault(cause, pending.request.job)
        return SlotInCycle(
            at=self.at,
            zone_offset_s=self.zone_offset_s,
            out=reason,
            knob=self._source(_KNOBS.get(reason, "")),
            given=[GivenTo(job=each.job, user=each.submitter, preempts=each.preempts) for each in given],
            requests=[RequestsOfCause(cause=each, count=count, job=examples[each]) for each, count in counts.items()],
            sources=self._sources(counts),
        )


_KNOBS: Final = {
    "constraint": "NEGOTIATOR_SLOT_CONSTRAINT",
    "pool-policy": "NEGOTIATOR_PE_STARTD_ONLY_EXPR",
    "pool-policy-resource": "NEGOTIATOR_PE_RESOURCE_EXPR",
    "pool-policy-job": "NEGOTIATOR_PE_JOB_EXPR",
    "preemption": "PREEMPTION_REQUIREMENTS",
}
_ALWAYS: Final = ("preemption",)


def _besides(causes: Mapping[str, int]) -> dict[str, int]:
    """Causes other than verdicts: limits and preemption."""
    known = {*CAUSES.values(), *REASONS, _TAKEN, _GIVEN}
    return {cause: count for cause, count in causes.items() if cause not in known}
