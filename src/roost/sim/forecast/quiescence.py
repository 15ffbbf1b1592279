"""Until when a slot has nothing to do: which of its rows a poll could take, and what they wait for.

A poll takes a row of the transition table whose guards all hold. As long as each row of the slot's pair has one guard
that is certain to fail, polls therefore do nothing. A guard is an expression of the policy, for which `steadiness`
knows how long its value holds; or a fact of the slot's state, which only events change; or something unknown here, and
then the slot is polled.

The table is the core's own; this module only knows which guard evaluates which expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from roost.classad import ClassAd, Expr, Value
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.policy.catalogue import VARIANTS
from roost.sim.forecast.steadiness import Reach, Reading, Scene, read_key
from roost.startd.policy_inputs import Inputs, SlotPolicy, StepWorld, truth_of, whole
from roost.startd.slot_state import SlotState
from roost.startd.states import BACKFILL, BUSY, RETIRING, Pair, State
from roost.startd.transitions import ROWS, Guard, On, Transition

#: Guard to its expression, whether variants for a job's universe apply, and the truth value that it needs.
EXPRESSIONS: Final[Mapping[Guard, tuple[str, bool, bool]]] = {
    Guard.OWNER_PRESENT: ("IsOwner", False, True),
    Guard.RUN_BENCHMARKS: ("RunBenchmarks", False, True),
    Guard.EVICT_BACKFILL: ("EVICT_BACKFILL", False, True),
    Guard.WANT_SUSPEND: ("WANT_SUSPEND", True, True),
    Guard.NOT_WANT_SUSPEND: ("WANT_SUSPEND", True, False),
    Guard.SUSPEND: ("SUSPEND", True, True),
    Guard.CONTINUE: ("CONTINUE", True, True),
    Guard.PREEMPT: ("PREEMPT", True, True),
    Guard.KILL: ("KILL", True, True),
    Guard.OWNER_ABSENT: ("IsOwner", False, False),
}

_SUFFIXES: Final[Mapping[Value, str]] = {number: suffix for suffix, number in VARIANTS.items()}

#: Guards whose expressions are evaluated without a job.
_ALONE: Final = frozenset((Guard.OWNER_ABSENT, Guard.RUN_BENCHMARKS, Guard.EVICT_BACKFILL))
#: The rows that a poll may take, by source pair.
_POLLED: Final = {pair: tuple(row for row in rows if On.POLL in row.on) for pair, rows in ROWS.items()}

#: Clocks that the slot's state machine adds to the ad.
_CLAIM_CLOCKS: Final = {
    "running": ("totaljobruntime", "totalclaimruntime"),
    "suspended": ("totaljobsuspendtime", "totalclaimsuspendtime"),
}


class Quiescence(NamedTuple):
    """How long a slot stays as it is."""

    #: Polls do not change it before this instant, epoch s; the instant of the evaluation if unknown.
    matters_at: float
    #: CpuBusy keeps its value until then; infinite if it was not evaluated.
    flips_at: float = math.inf


def quiescent_until(
    state: SlotState,
    policy: SlotPolicy,
    now: float,
    clocks: Mapping[str, float],
    steps: Mapping[str, float],
    reaches: Mapping[str, Reach],
    *,
    latch: bool = False,
) -> Quiescence:
    """Until when polls leave the slot unchanged; with `latch` also until when CpuBusy keeps its value."""
    if state.deleted:
        return Quiescence(math.inf)
    pair = state.pair
    if _is_restless(state, policy, pair):
        return Quiescence(now)
    quiet = _Look(state, policy, now, clocks, steps, reaches)
    flips_at = quiet.reading("CpuBusy", None, False).until if latch else math.inf
    until = min(quiet.checkpoint(pair), quiet.deadlines())
    for row in _POLLED[pair]:
        if until <= now:
            break
        until = min(until, quiet.row(row, until))
    return Quiescence(until, flips_at)


def _is_restless(state: SlotState, policy: SlotPolicy, pair: Pair) -> bool:
    """Whether polls do more than take rows, or depend on inputs that are not tracked here."""
    return (
        policy.fetches_work
        or state.draining is not None
        or state.shutdown is not None
        or pair in (RETIRING, BACKFILL)
        or (state.state is State.CLAIMED and state.claim.activation is not None and state.in_retirement)
    )


class _Look:
    """One evaluation of a slot."""

    __slots__ = ("_known", "_scene", "inputs", "now", "policy", "state")

    def __init__(
        self,
        state: SlotState,
        policy: SlotPolicy,
        now: float,
        clocks: Mapping[str, float],
        steps: Mapping[str, float],
        reaches: Mapping[str, Reach],
    ) -> None:
        self.state = state
        self.policy = policy
        self.now = now
        self.inputs = Inputs(state, policy, now)
        clocks, steps = self._with_claim(clocks, steps)
        self._scene = Scene(self.inputs.my, None, StepWorld(policy, state.name, now), now, clocks, steps, reaches)
        self._known: dict[tuple[str, bool], Reading] = {}

    def _with_claim(
        self, clocks: Mapping[str, float], steps: Mapping[str, float]
    ) -> tuple[Mapping[str, float], Mapping[str, float]]:
        activation = self.state.claim.activation
        if activation is None:
            return clocks, steps
        which = "running" if activation.running_since is not None else "suspended"
        my = self.inputs.my
        clocks, steps = dict(clocks), dict(steps)
        for name in _CLAIM_CLOCKS[which]:
            if my.cell(name) is MISSING:
                # It appears once it is more than 0.
                steps[name] = self.now
            else:
                clocks[name] = 1.0
        return clocks, steps

    def row(self, row: Transition, enough: float = math.inf) -> float:
        """Until when a row is certain not to be taken; anything later than `enough` is equivalent."""
        until = self.now
        for guard in row.when:
            holds, ends = self.guard(guard)
            if not holds and ends > until:
                until = ends
                if until >= enough:
                    break
        return until

    def guard(self, guard: Guard) -> tuple[bool, float]:
        """Whether a guard holds now, and until when that stays so."""
        asked = EXPRESSIONS.get(guard)
        if asked is not None:
            if guard is Guard.CONTINUE and (activation := self.state.claim.activation) and activation.held_still:
                return False, math.inf
            name, variants, wanted = asked
            target = None if guard in _ALONE else self.job
            reading = self.reading(name, target, variants)
            return (truth_of(reading.value) is True) is wanted, reading.until
        fact = _FACTS.get(guard)
        return (True, self.now) if fact is None else fact(self)

    @property
    def job(self) -> ClassAd | None:
        """The ad of the claim's job."""
        return self.state.claim.job_ad

    def reading(self, name: str, target: ClassAd | None, variants: bool) -> Reading:
        """An expression, read as the core evaluates it."""
        key = (name, target is not None)
        found = self._known.get(key)
        if found is None:
            self._scene.aim(target)
            found = self._known[key] = self._read(name, target, variants)
        return found

    def _read(self, name: str, target: ClassAd | None, variants: bool) -> Reading:
        until = math.inf
        if variants and target is not None:
            suffix = self._suffix(target)
            if suffix is not None and self.inputs.my.cell(key := _variant(name, suffix)) is not MISSING:
                variant = self._truth(read_key(key, self._scene))
                if truth_of(variant.value) is not None:
                    return variant
                until = variant.until
        reading = self._truth(read_key(_folded(name), self._scene))
        return reading if reading.until <= until else reading._replace(until=until)

    def _suffix(self, job: ClassAd) -> str | None:
        """The suffix of the variants that take precedence for a job."""
        universe = job.cell("jobuniverse")
        if isinstance(universe, Expr):
            universe = job.eval("JobUniverse")
        if universe.__class__ is int or isinstance(universe, int | float):
            return _SUFFIXES.get(universe)
        return None

    def _truth(self, reading: Reading) -> Reading:
        """A clock as a truth value is not tracked."""
        return reading if reading.slope == 0 else reading._replace(until=self.now)

    def starts_nothing(self) -> tuple[bool, float]:
        """Whether START is FALSE without a job."""
        reading = self.reading("START", None, False)
        return truth_of(reading.value) is False, reading.until

    def starts_backfill(self) -> tuple[bool, float]:
        """Whether START_BACKFILL is TRUE, where there is backfill."""
        if not self.policy.backfill:
            return False, math.inf
        reading = self.reading("START_BACKFILL", None, False)
        return truth_of(reading.value) is True, reading.until

    def worklife(self) -> tuple[bool, float]:
        """Whether the claim is older than CLAIM_WORKLIFE."""
        claim = self.state.claim
        if claim.jobs_begun == 0 or claim.granted_at is None:
            return False, math.inf
        reading = self.reading("CLAIM_WORKLIFE", None, False)
        limit = whole(reading.value, -1)
        if limit < 0:
            return False, reading.until
        ends = claim.granted_at + limit
        return ends < self.now, min(reading.until, math.floor(ends))

    def passed(self, at: float | None) -> tuple[bool, float]:
        """Whether a deadline is over."""
        return (False, math.inf) if at is None else (at <= self.now, math.floor(at))

    def deadlines(self) -> float:
        """When a poll would act on a deadline that has passed; that of the lease is extended before."""
        found, state = math.inf, self.state
        for at in (state.match_until, state.vacate_until, state.kill_again_at, state.fetching.retry_at):
            if at is not None:
                found = min(found, max(self.now, math.floor(at)))
        return found

    def checkpoint(self, pair: Pair) -> float:
        """Until when no job has to be checkpointed."""
        activation = self.state.claim.activation
        if activation is None or pair != BUSY:
            return math.inf
        if activation.universe not in (1, 13) and activation.job_ad.cell("wantcheckpointsignal") is MISSING:
            return math.inf
        reading = self.reading("PERIODIC_CHECKPOINT", self.job, True)
        return self.now if truth_of(reading.value) is True else reading.until


#: Names of expressions are few, and so are their variants.
_folded: Final = cache(fold)


@cache
def _variant(name: str, suffix: str) -> str:
    return fold(name + suffix)


#: Guards that need more than an expression or a fact of the slot's state, which only events change.
_FACTS: Final[Mapping[Guard, Callable[[_Look], tuple[bool, float]]]] = {
    Guard.START_LOCALLY_FALSE: _Look.starts_nothing,
    Guard.START_BACKFILL: _Look.starts_backfill,
    Guard.WORKLIFE_OVER: _Look.worklife,
    Guard.MATCH_EXPIRED: lambda look: look.passed(look.state.match_until),
    Guard.VACATE_EXPIRED: lambda look: look.passed(look.state.vacate_until),
    Guard.SUCCESSOR_WAITING: lambda look: (look.state.waiting is not None, math.inf),
    Guard.DRAINING: lambda look: (False, math.inf),
    Guard.DRAIN_GRACE_OVER: lambda look: (False, math.inf),
    # Polls of a slot in retirement always matter, unless it has no job.
    Guard.RETIREMENT_OVER: lambda look: (look.state.in_retirement, math.inf),
    Guard.IN_RETIREMENT: lambda look: (look.state.in_retirement, math.inf),
    Guard.NOT_PREEMPT_SEEN: lambda look: (not look.state.eviction.preempt_seen, math.inf),
    Guard.HARD: lambda look: (look.state.eviction.hard, math.inf),
}
