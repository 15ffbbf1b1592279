"""A visit to a submitter: its requests in its own order, each given the best slots that it may have.

A `SlotAllocator` gives away the slots of one cycle: it tracks which are taken, which limits are used up, and the
outcome of each request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr
from roost.classad.allowance import EXPRESSION_STEPS, IN_FORCE
from roost.classad.vector.kinds import Array
from roost.model.pool_policy import is_true
from roost.negotiator import pool_policy, verdicts
from roost.negotiator.ceilings import Ceiling
from roost.negotiator.fair_share import ROUNDING, permits
from roost.negotiator.limits import LimitBook, maximum, parse_limits
from roost.negotiator.memory import Key, Known, Memory
from roost.negotiator.pool_policy import SAMPLES_MAX, Act, Finding, PoolPolicy
from roost.negotiator.preemption import POLICY, PRIORITY, Preemption, SubmitterUsage
from roost.negotiator.ranks import BY_PRIORITY, BY_RANK, PREEMPTS, UNUSED, Listing, order
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.shrinking import Shrinking
from roost.negotiator.single_slots import SingleSlots
from roost.negotiator.snapshot import Match, Pledge, Rejection, Request, Snapshot, SubmitterDemand
from roost.negotiator.timing import OUT_OF_TIME, Steps, Stopwatch
from roost.negotiator.verdicts import (
    CAUSES,
    NOTED_JOB,
    NOTED_RESOURCE,
    POLICY_JOB,
    POLICY_RESOURCE,
    REFUSED,
    RequestEvaluator,
)
from roost.negotiator.view import SlotView, part_weight

#: Cause that ends a request for the current visit only.
LIMIT = "submitter-limit"
#: Cause that keeps a request out of the cycle.
JOB_CONSTRAINT = "job-constraint"
CEILING = "ceiling"
CONCURRENCY = "concurrency-limit"
#: The queue may ask for no more slots.
FULL = "queue-limit"
FULL_TEXT = "the queue asks for no more slots (MAX_JOBS_RUNNING, JOB_START_COUNT)"
#: Slots beyond those needed for which preemption is evaluated in advance.
ASKED_MIN = 16


#: Cause of a rejection: evaluating the expressions takes too long.
TOO_LONG = "evaluation-steps"


#: Never modified: each request that is served starts with its own causes.
_NO_CAUSES: Final[dict[str, int]] = {}


class PendingRequest:
    """The unserved rest of a request.

    A cycle creates one for each request and serves few of them, so class attributes hold the common values.
    """

    #: Expected cost of one of its jobs, as weight.
    weight: float = 1.0
    #: The smallest weight of a slot, or part of one, that a ceiling ruled out; infinite for none.
    too_large: float = math.inf
    #: Whether that slot would be given whole.
    whole: bool = False
    #: No more slots are available to it in this cycle.
    closed: bool = False
    rejection: Rejection | None = None
    #: Obstacles other than verdicts: slots by cause. Requests that were not served share one dict.
    causes: dict[str, int] = _NO_CAUSES

    def __init__(self, key: Key, request: Request, person: str) -> None:
        self.key = key
        self.request = request
        #: The user that the queue vouches for.
        self.person = person
        self.left = request.count

    def close(self, rejection: Rejection | None = None) -> None:
        """Close the request: it gets no more slots."""
        self.closed, self.rejection = True, rejection


@dataclass(slots=True, kw_only=True)
class QueueSubmitter:
    """A submitter at one queue, in a cycle."""

    demand: SubmitterDemand
    pending_requests: list[PendingRequest]
    #: Whether it has used up its time.
    out_of_time: bool = False

    @property
    def open(self) -> bool:
        """Whether it may still get a slot."""
        return not self.out_of_time and any(not pending.closed for pending in self.pending_requests)


@dataclass(slots=True, kw_only=True)
class SubmitterLimit:
    """The cost limit of a visit."""

    any: float
    unclaimed: float
    #: Whether slots whose RANK prefers the job are given beyond the limit.
    rank_only_beyond: bool
    used: float = 0.0

    def allows(self, cost: float, state: float) -> bool:
        """Whether a slot may be given."""
        if state == BY_RANK and (self.rank_only_beyond or self.any > 0):
            return True
        return permits(self.used, cost, self.unclaimed if state == UNUSED else self.any)

    @property
    def spent(self) -> bool:
        """Whether the limit allows nothing more, except by RANK."""
        return self.any <= 0 or self.used >= self.any - ROUNDING


@dataclass(slots=True, kw_only=True)
class SlotAllocator:
    """See the module."""

    snapshot: Snapshot
    settings: NegotiatorSettings
    view: SlotView
    evaluator: RequestEvaluator
    memory: Memory | SingleSlots
    policy: PoolPolicy
    book: LimitBook
    submitter_usage: Callable[[str], SubmitterUsage]
    #: Charges a weight to a submitter and its user.
    charge: Callable[[str, float, str, float | None], None]
    #: The ceilings of a submitter and its user.
    ceilings: Callable[[str, str], list[Ceiling]]
    watch: Stopwatch
    matches: list[Match] = field(default_factory=list)
    #: Matches for which NEGOTIATOR_PE_AUDIT_EXPR is TRUE.
    noted: list[Match] = field(default_factory=list)
    taken: Array = field(init=False)
    usable: Array = field(init=False)
    preemption: Preemption = field(init=False)
    shrinking: Shrinking = field(init=False)
    #: Whether slots in use are among those available.
    in_use: bool = field(init=False)
    #: Rows that were given away, in order: the first `_gave` of the array.
    _given: Array = field(init=False)
    _gave: int = 0
    #: What is known of the requests that were examined.
    known: dict[Key, Known] = field(default_factory=dict)
    #: Requests for which no slot is left, nor for other jobs of the same autocluster, with the rejection.
    _exhausted: dict[Key, Rejection] = field(default_factory=dict)
    #: Queue to the number of slots that it may still get, for queues with a limit.
    _room: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        view = self.view
        self._room = {each.schedd: each.room for each in self.snapshot.demands if each.room is not None}
        self.shrinking = Shrinking(self.snapshot.slots, self.evaluator, (view.shrinks & view.available).nonzero()[0])
        # Slots that shrink with each match are matched one by one.
        view.available = view.available & ~view.shrinks
        self.taken = np.zeros(len(view.names), bool)
        self._given = np.zeros(len(view.names), np.int64)
        self.usable = view.available.copy()
        self.in_use = bool((view.occupied & view.available).any())
        self.preemption = Preemption(
            self.snapshot.slots, view, self.settings, self.evaluator.world, self.submitter_usage
        )

    def anything_left(self) -> bool:
        """Whether there are slots to give away."""
        return bool(self.usable.any()) or self.shrinking.any_left()

    # -- visits ------------------------------------------------------------------------------------

    def visit(self, queue_submitter: QueueSubmitter, submitter_limit: SubmitterLimit) -> Steps[float]:
        """Give a submitter what it may have, and return the cost. One step per request."""
        schedd, submitter, watch = queue_submitter.demand.schedd, queue_submitter.demand.submitter, self.watch
        began, until = watch.elapsed, watch.until(schedd, submitter)
        exhausted = self._exhausted
        # Only serving a request changes these, and in a queue with many kinds of jobs most requests are not served.
        spent, late = self._is_spent(submitter_limit), watch.elapsed >= until
        for pending in queue_submitter.pending_requests:
            if pending.closed:
                continue
            if spent:
                break
            if late:
                queue_submitter.out_of_time = True
                watch.timed_out += 1
                break
            if (rejection := exhausted.get(pending.key)) is not None:
                # An earlier request of the same autocluster was rejected already; in a queue with many kinds of jobs,
                # most are.
                pending.closed, pending.rejection = True, rejection
                continue
            self._serve_in(queue_submitter, pending, submitter_limit)
            if not pending.left:
                pending.close()
            watch.tell((yield))
            spent, late = self._is_spent(submitter_limit), watch.elapsed >= until
        watch.charge(schedd, submitter, began)
        return submitter_limit.used

    @staticmethod
    def _is_spent(submitter_limit: SubmitterLimit) -> bool:
        return submitter_limit.spent and not submitter_limit.rank_only_beyond

    def _serve_in(
        self, queue_submitter: QueueSubmitter, pending: PendingRequest, submitter_limit: SubmitterLimit
    ) -> None:
        """Serve a request within the room of its queue."""
        schedd = queue_submitter.demand.schedd
        if schedd not in self._room:
            self._serve(queue_submitter, pending, submitter_limit)
            return
        beyond = max(0, pending.left - self._room[schedd])
        pending.left -= beyond
        before = pending.left
        self._serve(queue_submitter, pending, submitter_limit)
        self._room[schedd] -= before - pending.left
        if beyond and not pending.left:
            pending.close(Rejection(text=FULL_TEXT, causes={FULL: 1}))
        pending.left += beyond

    def _serve(self, queue_submitter: QueueSubmitter, pending: PendingRequest, submitter_limit: SubmitterLimit) -> None:
        request = pending.request
        known = self.known.get(pending.key)
        if known is None:
            known = self.memory.of(pending.key, request.ad, request.job, queue_submitter.demand.submitter)
            self.known[pending.key] = known
            allowance = IN_FORCE.get()
            known.too_long |= allowance is not None and allowance.exceeded
        pending.causes = {}
        licences = _licences(request.ad)
        barred = np.zeros(0, bool)
        while pending.left:
            if isinstance(licences, dict) and (reached := self.book.reached(licences)):
                pending.close(self._reached(reached, known))
                return
            listing = self._listing(known, pending, submitter_limit, barred)
            listing = self._preemptable(queue_submitter, pending, listing)
            missed, shrunk = self._take(queue_submitter, pending, submitter_limit, listing, licences)
            if not pending.left or shrunk or (isinstance(licences, dict) and self.book.reached(licences)):
                continue
            if submitter_limit.spent and not submitter_limit.rank_only_beyond:
                pending.causes[LIMIT] = pending.causes.get(LIMIT, 0) + 1
                return
            if listing.complete:
                if len(barred) and not {LIMIT, CEILING} & set(pending.causes):
                    self._note_costly(known, pending, barred)
                if not {LIMIT, CEILING} & set(pending.causes):
                    self._close(known, pending, licences)
                return
            if not len(barred):
                barred = np.zeros(len(self.view.names), bool)
            if not missed and not len(listing.rows):
                return
            barred[listing.rows] = True
            barred[missed] = True

    def _close(self, known: Known, pending: PendingRequest, licences: dict[str, float] | Expr) -> None:
        """No slot is left for a request. Without limits and preemption, none is left for others of its autocluster
        either."""
        rejection = self._unmatched(known, pending)
        pending.close(rejection)
        if not pending.causes and not licences and not self.in_use:
            self._exhausted[pending.key] = rejection

    def _listing(
        self, known: Known, pending: PendingRequest, submitter_limit: SubmitterLimit, barred: Array
    ) -> Listing:
        """The best slots within all limits."""
        if len(barred):
            usable = self.usable & ~barred
            if submitter_limit.used and not submitter_limit.rank_only_beyond:
                usable &= (
                    self.view.weight
                    <= max(submitter_limit.any, submitter_limit.unclaimed) - submitter_limit.used + ROUNDING
                )
            found = self.memory.listing(known, usable, pending.left, None)
        else:
            found = self.memory.listing(known, self.usable, pending.left, self._given[: self._gave])
        return self.shrinking.joined(found, known.ad)

    def _note_costly(self, known: Known, pending: PendingRequest, barred: Array) -> None:
        """Record the slots that `_listing` left out as too costly for this visit; another visit may give them."""
        costly = len(self.memory.listing(known, self.usable & ~barred, pending.left, None).rows)
        if costly:
            pending.causes[LIMIT] = costly

    def _preemptable(self, queue_submitter: QueueSubmitter, pending: PendingRequest, listing: Listing) -> Listing:
        """The listing without slots that may not be preempted, ordered by PREEMPTION_RANK among ties."""
        if not self.in_use:
            return listing
        listing = _beginning(listing, 2 * pending.left + ASKED_MIN)
        held = np.flatnonzero(_undecided(listing.keys))
        if not len(held):
            return listing
        asked = self.preemption.ask(
            pending.request.ad, queue_submitter.demand.submitter, listing.rows[held], listing.keys[3, held]
        )
        for cause, count in asked.refused.items():
            pending.causes[cause] = pending.causes.get(cause, 0) + count
        keep = np.ones(len(listing.rows), bool)
        keep[held[~asked.allowed]] = False
        rank = np.zeros(len(listing.rows))
        rank[held] = asked.rank
        rows, keys = listing.rows[keep], listing.keys[:, keep]
        by = order(rows, keys, rank[keep])
        return Listing(rows.take(by), keys.take(by, axis=1), listing.complete)

    def _take(
        self,
        queue_submitter: QueueSubmitter,
        pending: PendingRequest,
        submitter_limit: SubmitterLimit,
        listing: Listing,
        licences: dict[str, float] | Expr,
    ) -> tuple[list[int], bool]:
        """Give slots in the order of the listing; returns the rows refused for a limit, and whether a slot has shrunk.

        A slot that has shrunk has another rank, so the listing must be created again.
        """
        missed: list[int] = []
        user, weight = queue_submitter.demand.submitter, self.view.weight
        ceiling = min((each.left for each in self.ceilings(user, pending.person)), default=math.inf)
        for row, state in zip(listing.rows.tolist(), listing.keys[3].tolist(), strict=True):
            if not pending.left:
                break
            cost = weight.item(row) if not self.view.shrinks.item(row) else self.shrinking.cost(row, pending.request.ad)
            if not submitter_limit.allows(cost, state):
                pending.causes[LIMIT] = pending.causes.get(LIMIT, 0) + 1
                missed.append(row)
                continue
            # The fair share is charged for the whole partitionable slot until its machine reports the dynamic slot.
            part = None if ceiling == math.inf else self._part(row, pending.request.ad)
            charged = cost if part is None else part
            if charged > ceiling + ROUNDING:
                pending.causes[CEILING] = pending.causes.get(CEILING, 0) + 1
                if charged < pending.too_large:
                    pending.too_large, pending.whole = charged, part is None
                missed.append(row)
                continue
            mine = licences if isinstance(licences, dict) else self._licences_with(row, pending.request.ad, licences)
            if mine and self.book.reached(mine):
                if isinstance(licences, dict):
                    break
                pending.causes[CONCURRENCY] = pending.causes.get(CONCURRENCY, 0) + 1
                missed.append(row)
                continue
            self.book.take(mine)
            licences_taken = tuple(mine.items())
            pledge = Pledge(submitter=user, weight=cost, person=pending.person, part=part, licences=licences_taken)
            self._give(queue_submitter, pending, row, state, pledge)
            submitter_limit.used += cost
            ceiling -= charged
            self.charge(user, cost, pending.person, part)
            if self.view.shrinks.item(row):
                return missed, True
            if submitter_limit.spent and not submitter_limit.rank_only_beyond:
                break
        return missed, False

    def _part(self, row: int, request: ClassAd) -> float | None:
        """The weight of what a request takes of a partitionable slot; None for other slots."""
        if self.view.shrinks.item(row):
            return None
        slot_source = self.snapshot.slot_source
        slot = self.snapshot.slots.ad(self.view.names[row]) if slot_source is None else slot_source.ad(row)
        return None if slot is None else part_weight(slot, request, self.settings, self.evaluator.world)

    def _give(
        self, queue_submitter: QueueSubmitter, pending: PendingRequest, row: int, state: float, pledge: Pledge
    ) -> None:
        name = self.view.names[row]
        slot_ad = None
        if self.view.shrinks.item(row):
            slot_ad = self.shrinking.shrink(row, pending.request.ad)
        else:
            self.taken[row] = True
            self.usable[row] = False
            self._given[self._gave] = row
            self._gave += 1
        pending.left -= 1
        code = self.view.holder.item(row)
        self.matches.append(
            Match(
                schedd=queue_submitter.demand.schedd,
                submitter=queue_submitter.demand.submitter,
                autocluster=pending.request.autocluster,
                job=pending.request.job,
                among=pending.request.count,
                submission=pending.request.submission,
                slot=name,
                node=self.snapshot.nodes[name],
                claim_id=self.snapshot.claims[name],
                preempts=PREEMPTS[state],
                holder=self.view.holders[code] if code >= 0 and state != UNUSED else "",
                slot_ad=slot_ad,
                pledge=pledge,
            )
        )

    def _licences_with(self, row: int, ad: ClassAd, expression: Expr) -> dict[str, float]:
        """Concurrency limits that depend on the slot."""
        slot_source = self.snapshot.slot_source
        slot = self.snapshot.slots.ad(self.view.names[row]) if slot_source is None else slot_source.ad(row)
        value = ad.eval_expr(expression, slot, self.evaluator.world)
        return parse_limits(value) if isinstance(value, str) else {}

    # -- why not -----------------------------------------------------------------------------------

    def _reached(self, names: list[str], known: Known) -> Rejection:
        settings = self.settings.limits
        text = ", ".join(f"{name} (at most {maximum(name, settings):g})" for name in names)
        return Rejection(
            text=f"concurrency limit {text} reached",
            causes={**self._counted(known), **{f"{CONCURRENCY}:{name}": 1 for name in names}},
        )

    def _unmatched(self, known: Known, pending: PendingRequest) -> Rejection:
        """Why none of the remaining slots is given to a request: the first of HTCondor's texts that applies."""
        causes = pending.causes
        if known.too_long:
            text = f"its Requirements or Rank, or a slot's, take more than {EXPRESSION_STEPS} evaluation steps"
            causes = {**causes, TOO_LONG: 1}
        elif CONCURRENCY in causes:
            text = "concurrency limit reached"
        elif POLICY in causes:
            text = "PREEMPTION_REQUIREMENTS == False"
        elif PRIORITY in causes:
            text = "insufficient priority"
        elif LIMIT in causes or CEILING in causes:
            text = "submitter limit exceeded"
        else:
            text = "no match found"
        return Rejection(text=text, causes={**self._counted(known), **causes})

    def _counted(self, known: Known) -> dict[str, int]:
        """Slots by what keeps them from a request, for causes common to all its jobs."""
        counts = self.memory.counts(known)
        found = {CAUSES[code]: int(counts[code]) for code in CAUSES if counts[code]}
        given = int(np.count_nonzero(known.verdicts.take(self._given[: self._gave]) < REFUSED))
        if given:
            found["taken"] = given
        return {**found, **self.view.unavailable}

    def rejection(self, queue_submitter: QueueSubmitter, pending: PendingRequest) -> Rejection | None:
        """Why a request got nothing, or not all; None if it is served."""
        if pending.rejection is not None or not pending.left:
            return pending.rejection
        known = self.known.get(pending.key)
        if known is None and (queue_submitter.out_of_time or self.watch.is_over()):
            return Rejection(text=OUT_OF_TIME, causes={OUT_OF_TIME: 1, **self.view.unavailable})
        if known is None and not self.anything_left():
            given = {"taken": self._gave} if self._gave else {}
            return Rejection(text="no match found", causes={**given, **self.view.unavailable})
        if known is None:
            return Rejection(text="submitter limit exceeded", causes={LIMIT: 1, **self.view.unavailable})
        return self._unmatched(known, pending)

    def note_policy(self, queue_submitters: list[QueueSubmitter]) -> None:
        """Record the matches that the pool's policy prevented or would have prevented, and where it evaluated to
        ERROR."""
        knobs = {POLICY_RESOURCE: pool_policy.RESOURCE, POLICY_JOB: pool_policy.JOB}
        knobs |= {NOTED_RESOURCE: pool_policy.RESOURCE, NOTED_JOB: pool_policy.JOB}
        if self.settings.policy.resource is not None or self.settings.policy.job is not None:
            for queue_submitter in queue_submitters:
                for pending in queue_submitter.pending_requests:
                    known = self.known.get(pending.key)
                    if known is not None and self._may_be_vetoed(known):
                        self._note_vetoes(queue_submitter, pending, known, knobs)
        for (code, name, user), count in sorted(self.evaluator.errors.items()):
            self.policy.findings.add(
                Finding(act=Act.ERROR, knob=knobs[code], kind="job", name=name, user=user, count=count, text="is ERROR")
            )
        self._note_matches(queue_submitters)

    def _may_be_vetoed(self, known: Known) -> bool:
        """Whether a request may have verdicts of the policy; verdicts that are only noted are found by counting."""
        return self.settings.policy.log_only or known.verdicts.max(initial=0) >= POLICY_RESOURCE

    def _note_vetoes(
        self, queue_submitter: QueueSubmitter, pending: PendingRequest, known: Known, knobs: Mapping[int, str]
    ) -> None:
        for code, knob in knobs.items():
            count = int(self.memory.counts(known)[code])
            if count:
                rows = np.flatnonzero((known.verdicts == code) & self.view.available)[:SAMPLES_MAX]
                self.policy.findings.add(
                    Finding(
                        act=Act.VETO,
                        knob=knob,
                        kind="job",
                        name=pending.request.job,
                        user=queue_submitter.demand.submitter,
                        slots=tuple(self.view.names[row] for row in rows.tolist()),
                        count=count,
                        log_only=code < REFUSED,
                    )
                )

    def _note_matches(self, queue_submitters: list[QueueSubmitter]) -> None:
        audit = self.settings.policy.audit
        if audit is None:
            return
        ads = {
            pending.key: pending.request.ad
            for queue_submitter in queue_submitters
            for pending in queue_submitter.pending_requests
        }
        for match in self.matches:
            ad = ads[match.schedd, match.submitter, match.autocluster]
            slot = self.snapshot.slots.ad(match.slot)
            if is_true(slot.eval_expr(audit, ad, self.evaluator.world)):
                self.noted.append(match)
                self.policy.findings.add(
                    Finding(
                        act=Act.MATCH,
                        knob=pool_policy.AUDIT,
                        kind="job",
                        name=match.job,
                        user=match.submitter,
                        slots=(match.slot,),
                    )
                )


def _beginning(listing: Listing, most: int) -> Listing:
    """The first `most` slots of a listing, and those tied with the last of them."""
    size = len(listing.rows)
    if size <= most:
        return listing
    tied = (listing.keys[:, most:] == listing.keys[:, most - 1 : most]).all(axis=0)
    end = most + (int(np.argmin(tied)) if not tied.all() else len(tied))
    return listing if end == size else Listing(listing.rows[:end], listing.keys[:, :end], False)


def _undecided(keys: Array) -> Array:
    """Mask of the slots in use that would be preempted by priority, or that only PREEMPTION_RANK orders."""
    used: Array = keys[3] != UNUSED
    if not used.any():
        return used
    tied = np.zeros(keys.shape[1], bool)
    same = (keys[:, 1:] == keys[:, :-1]).all(axis=0)
    tied[1:] |= same
    tied[:-1] |= same
    mask: Array = used & (tied | (keys[3] == BY_PRIORITY))
    return mask


def _licences(ad: ClassAd) -> dict[str, float] | Expr:
    """The concurrency limits of a request: the amounts, or an expression that depends on the slot."""
    cell = ad.cell("concurrencylimits")
    if isinstance(cell, Expr):
        value = ad.eval("ConcurrencyLimits")
        return parse_limits(value) if isinstance(value, str) else cell
    return parse_limits(cell) if isinstance(cell, str) else {}


__all__ = ["PendingRequest", "QueueSubmitter", "SlotAllocator", "SubmitterLimit", "verdicts"]
