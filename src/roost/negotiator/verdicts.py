"""Whether a request and a slot accept each other, and how good the slot is: for one request on all slots at once, or
for all requests on some slots.

Both ways give the same results; which is cheaper depends on the numbers. A verdict is one byte per pair, so that causes
can be counted without evaluating anything again.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, FixedWorld
from roost.classad.ad import MISSING
from roost.classad.vector import CellKind, Table
from roost.classad.vector.kinds import Array
from roost.classad.vector.pairs import Pairs, Side
from roost.classad.vector.result import Parted, Result
from roost.model.pool_policy import SCOPES as SCOPE_NAMES
from roost.negotiator.conditions import Condition
from roost.negotiator.ranks import BY_PRIORITY, BY_RANK, KEYS, UNUSED
from roost.negotiator.reach import SlotExpressions, reach
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.view import SlotView

# The first three mean acceptance.
ACCEPTED: Final = 0
#: The pool's policy would have forbidden the match, but is only logged.
NOTED_RESOURCE: Final = 1
NOTED_JOB: Final = 2
#: The slot is in use, and its user cannot be preempted for this request.
OCCUPIED: Final = 3
#: The job's Requirements are not TRUE; the slot's are not.
JOB_REFUSES: Final = 4
SLOT_REFUSES: Final = 5
#: NEGOTIATOR_PE_RESOURCE_EXPR, NEGOTIATOR_PE_JOB_EXPR.
POLICY_RESOURCE: Final = 6
POLICY_JOB: Final = 7
VERDICTS: Final = 8
#: Lower verdicts mean that request and slot accept each other.
REFUSED: Final = 3

SCOPES: Final = frozenset(SCOPE_NAMES)
#: Most sets of slot ranks for which the kept slots are cached.
KEPT_MAX: Final = 256

CAUSES: Final = {
    OCCUPIED: "occupied",
    JOB_REFUSES: "job-requirements",
    SLOT_REFUSES: "slot-requirements",
    POLICY_RESOURCE: "pool-policy-resource",
    POLICY_JOB: "pool-policy-job",
}


@dataclass(slots=True)
class Fixed:
    """A rank that is the same for all requests without certain attributes."""

    #: Folded names of these attributes; None if it is never the same.
    asked: frozenset[str] | None
    #: The rank of each slot, once needed.
    values: Array | None = None


@dataclass(slots=True)
class RequestEvaluator:
    """Evaluates requests against slots, and ranks them."""

    table: Table
    settings: NegotiatorSettings
    view: SlotView
    world: FixedWorld
    #: Where the pool's policy was ERROR: (verdict, job or slot, submitter or "") to how often.
    errors: dict[tuple[int, str, str], int] = field(default_factory=dict)
    #: Whether any claim may be preempted by priority.
    priority_preempts: bool = field(init=False)
    #: The slots' Rank for the last request.
    _ranks: tuple[ClassAd, Parted] | None = None
    #: Slots in use that are available.
    _held: Array | None = None
    #: Which of them are safe from preemption, by the slots' ranks.
    _kept: dict[tuple[float, ...], Array] = field(default_factory=dict)
    _fixed: dict[int, Fixed] = field(default_factory=dict)
    #: The policy's conditions on slots and on jobs, None if not set, and the slots that have no Requirements.
    _resource: Condition | None = field(init=False)
    _job: Condition | None = field(init=False)
    _open: Array | None = field(init=False)

    def __post_init__(self) -> None:
        table, world, policy = self.table, self.world, self.settings.policy
        self.priority_preempts = may_be_true(self.settings.preemption_requirements)
        self._resource = self._job = self._open = None
        if (resource := policy.resource) is not None:
            self._resource = Condition.of(table, resource, lambda ad: table.evaluate(resource, ad, world))
            lacking = table.lacking("requirements")
            self._open = lacking if lacking.any() else None
        if (job := policy.job) is not None:
            self._job = Condition.of(table, job, lambda ad: table.evaluate_for(ad, job, world))

    # -- one request, all slots --------------------------------------------------------------------

    def verdicts(self, ad: ClassAd, job: str = "", submitter: str = "") -> Array:
        """The verdict on each slot; uint8, shape (rows,). Errors are noted under `job` and `submitter`."""
        table, view = self.table, self.view
        accepted, accepts = table.sides(ad, self.world)
        if self._open is not None:
            accepts = accepts | self._open
        if self._job is not None and ad.cell("requirements") is MISSING:
            accepted = np.ones(len(table), bool)
        found = _first_verdicts(accepted, accepts)
        if self._resource is not None:
            self._impose(found, self._resource.on(ad), POLICY_RESOURCE, NOTED_RESOURCE, job, submitter)
        if self._job is not None:
            self._impose(found, self._job.on(ad), POLICY_JOB, NOTED_JOB, job, submitter)
        if self._held is None:
            self._held = view.occupied & view.available
        if (self._held & (found < REFUSED)).any():
            # Accepting verdicts are below OCCUPIED; the others are above it and stay.
            np.maximum(found, self._keeping(ad, self._held), out=found)
        return found

    def _keeping(self, ad: ClassAd, held: Array) -> Array:
        """OCCUPIED where the holder of a slot keeps it, else 0; uint8, shape (rows,)."""
        rank, view = self.slot_ranks(ad), self.view
        same = rank.singles(0.0)
        found = None if same is None else self._kept.get(same)
        if found is None:
            values = rank.numbers_or(0.0)
            keeps = values < view.current_rank if self.priority_preempts else values <= view.current_rank
            found = (keeps & held).view(np.uint8) * np.uint8(OCCUPIED)
            if same is not None and len(self._kept) < KEPT_MAX:
                self._kept[same] = found
        return found

    def _impose(self, found: Array, result: Result, code: int, noted: int, name: str, user: str) -> None:
        """Apply a condition of the pool's policy to accepted slots, and note where it is ERROR."""
        wrong = self._forbid(found, result, code, noted)
        if wrong is not None and (count := int(np.count_nonzero(wrong))):
            self.note_error(code, name, user, count)

    def _forbid(self, found: Array, result: Result, code: int, noted: int) -> Array | None:
        """Change the verdicts where a condition forbids the match; returns the mask of where it is ERROR, None if it
        forbids nothing."""
        if result.is_true:
            return None
        forbidden = ~result.true.reshape(found.shape) & (found == ACCEPTED)
        if not forbidden.any():
            return None
        np.putmask(found, forbidden, noted if self.settings.policy.log_only else code)
        wrong: Array = forbidden & (result.state.reshape(found.shape) == CellKind.ERROR)
        return wrong

    def note_error(self, code: int, name: str, user: str, count: int) -> None:
        """Count how often a condition of the policy was ERROR for a user's job or a slot."""
        self.errors[code, name, user] = self.errors.get((code, name, user), 0) + count

    def slot_ranks(self, ad: ClassAd) -> Parted:
        """The slots' Rank for a request; a value that is not a number counts as 0."""
        known = self._ranks
        if known is None or known[0] is not ad:
            known = self._ranks = ad, self._apart(_RANK, ad)
        return known[1]

    def keys(self, ad: ClassAd, rows: Array) -> Array:
        """The key of some slots for a request, see `ranks`; float64, shape (KEYS, rows)."""
        settings, view = self.settings, self.view
        out = np.empty((KEYS, len(rows)))
        out[0] = self._own(settings.pre_job_rank, ad, rows)
        out[1] = self.table.rank(ad, self.world, rows)
        out[2] = self._own(settings.post_job_rank, ad, rows)
        out[3] = UNUSED
        occupied = view.occupied.take(rows)
        if occupied.any():
            held = rows[occupied]
            higher = self.slot_ranks(ad).numbers_at(held, 0.0) > view.current_rank.take(held)
            out[3, occupied] = np.where(higher, BY_RANK, BY_PRIORITY)
        return out

    def _own(self, expression: Expr | None, ad: ClassAd, rows: Array) -> Array | float:
        """One of the matchmaker's ranks for some slots."""
        if expression is None:
            return -np.inf
        fixed = self._fixed.get(id(expression))
        if fixed is None:
            fixed = self._fixed[id(expression)] = self._fixed_for(expression)
        if fixed.asked is None or any(ad.cell(name) is not MISSING for name in fixed.asked):
            return self._apart(expression, ad).numbers_at(rows, -np.inf)
        if fixed.values is None:
            fixed.values = self._apart(expression, ad).numbers_or(-np.inf)
        return fixed.values.take(rows)

    def _fixed_for(self, expression: Expr) -> Fixed:
        found = reach((expression,), SlotExpressions(self.table).of)
        if not found.keeps or found.names & SCOPES:
            return Fixed(None)
        return Fixed(found.targets | (found.names - self.table.everywhere()))

    def _apart(self, expression: Expr, ad: ClassAd) -> Parted:
        return self.table.evaluate_apart(expression, "rank", ad, self.world)

    # -- some slots, all requests ------------------------------------------------------------------

    def of_slots(self, jobs: Table, rows: Array) -> tuple[Array, Array]:
        """The verdict of each request (rows of `jobs`) on some slots (ascending rows), and the keys.

        uint8, shape (requests, rows), and float64, shape (KEYS, requests, rows): where the verdict is a refusal, the
        key is meaningless.
        """
        policy, settings = self.settings.policy, self.settings
        pairs = Pairs(jobs, self.table, rows, self.world)
        accepted, accepts = pairs.accepting(Side.LEFT), pairs.accepting(Side.RIGHT)
        if self._open is not None:
            accepts |= self._open.take(rows)
        if policy.job is not None:
            accepted |= jobs.lacking("requirements")[:, None]
        found = _first_verdicts(accepted, accepts)
        if policy.resource is not None:
            result = pairs.evaluate(policy.resource, Side.RIGHT)
            self._impose_on_pairs(found, result, POLICY_RESOURCE, NOTED_RESOURCE, rows)
        if policy.job is not None:
            self._impose_on_pairs(found, pairs.evaluate(policy.job, Side.LEFT), POLICY_JOB, NOTED_JOB, rows)
        keys = np.empty((KEYS, *pairs.shape))
        if (found < REFUSED).any():
            keys[0] = _for(pairs, settings.pre_job_rank)
            keys[1] = pairs.attribute("Rank", Side.LEFT).numbers_or(0.0).reshape(pairs.shape)
            keys[2] = _for(pairs, settings.post_job_rank)
            keys[3] = self._state_in(pairs, found, rows)
        return found, keys

    def _impose_on_pairs(self, found: Array, result: Result, code: int, noted: int, rows: Array) -> None:
        """`_impose` for pairs: errors are noted under the name of the slot."""
        wrong = self._forbid(found, result, code, noted)
        if wrong is not None:
            counts = np.count_nonzero(wrong, axis=0)
            for place in np.flatnonzero(counts).tolist():
                self.note_error(code, self.view.names[rows.item(place)], "", counts.item(place))

    def _state_in(self, pairs: Pairs, found: Array, rows: Array) -> Array | float:
        """The last row of the key; marks as OCCUPIED the slots that their holders keep."""
        view = self.view
        occupied = view.occupied.take(rows)
        if not occupied.any():
            return UNUSED
        rank, current = (
            pairs.attribute("Rank", Side.RIGHT).numbers_or(0.0).reshape(pairs.shape),
            view.current_rank.take(rows),
        )
        keeps = rank < current if self.priority_preempts else rank <= current
        np.putmask(found, keeps & occupied & (found < REFUSED), OCCUPIED)
        return np.where(occupied, np.where(rank > current, BY_RANK, BY_PRIORITY), UNUSED)


_RANK: Final = Expr.parse("MY.Rank")


def _first_verdicts(accepted: Array, accepts: Array) -> Array:
    """Verdicts from both sides' Requirements, given the pairs that the job accepts and those that the slot accepts."""
    found: Array = (accepted & ~accepts).view(np.uint8) * np.uint8(SLOT_REFUSES)
    found += (~accepted).view(np.uint8) * np.uint8(JOB_REFUSES)
    return found


def _for(pairs: Pairs, expression: Expr | None) -> Array | float:
    """One of the matchmaker's ranks for each pair."""
    if expression is None:
        return -np.inf
    found = pairs.evaluate(expression, Side.RIGHT)
    return found.number_or(-np.inf) if found.is_single else found.numbers_or(-np.inf).reshape(pairs.shape)


def may_be_true(expression: Expr | None) -> bool:
    """Whether a condition is anything but the constant false; None means no condition."""
    if expression is None:
        return True
    mentioned = expression.mentioned
    if mentioned.plain or mentioned.my or mentioned.target:
        return True
    value = ClassAd().eval_expr(expression)
    return value is True or (value.__class__ in (int, float) and value != 0)


def count_of(verdicts: Array, among: Array) -> Array:
    """Number of each verdict in a mask of slots; int64, shape (VERDICTS,)."""
    # Counting bytes value by value is several times faster than `bincount`, which widens them first.
    counted = verdicts | (~among).view(np.uint8) << 7
    return np.array([np.count_nonzero(counted == code) for code in range(VERDICTS)], np.int64)
