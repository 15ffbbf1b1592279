"""A simple matcher: every NEGOTIATOR_INTERVAL, users in the order of their priorities, their oldest jobs first.

Each user first gets no more than a share that goes with the priority, then whatever is left. Both requirements must be
TRUE. The slot's side is asked of the slot's own core (START and the limits of its resources), with the slot's ad as of
its last poll; the job's side is its Requirements.

Free slots go before claimed ones. A claimed one may be had by a job that the machine ranks higher than the one it has;
or, if PREEMPTION_REQUIREMENTS is TRUE and the machine does not rank it lower, by a job of a user with a better
priority. Among what may be had the highest Rank of the job wins, then preemption by rank goes before that by priority;
where all that is equal, the first slot in a seeded order.

It is for pools that configure nothing else of their negotiator; the others have the real one (`negotiation`). What it
does not do: groups, quotas, concurrency limits, and several matches of one partitionable slot in a cycle.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

from roost.classad import ClassAd, Expr, evaluate
from roost.classad.ad import MISSING
from roost.model import events as ev
from roost.policy.decision import StepWorld, truth_of
from roost.sim.bus import Bus
from roost.sim.engine import RANK_CYCLE, Engine
from roost.sim.host import Machine, Slot
from roost.sim.queue import Queue
from roost.startd.attributes import is_offered
from roost.startd.policy_inputs import Inputs
from roost.startd.states import BACKFILL, BACKFILL_BUSY, State

#: By how much a priority must be better.
PRIORITY_DELTA: Final = 0.5

_FREE, _BY_PRIORITY, _BY_RANK = 2, 0, 1
#: Free, the job's rank, how it would be had.
_Worth = tuple[bool, float, int]


class _Offers:
    """What may be had in a cycle, in order. It copies nothing: no slot becomes another within a cycle."""

    __slots__ = ("_order", "_slots", "_taken")

    def __init__(self, order: list[tuple[int, int]], slots: dict[tuple[int, int], Slot]) -> None:
        self._order = order
        self._slots = slots
        self._taken: set[tuple[int, int]] = set()

    def __bool__(self) -> bool:
        return len(self._order) > len(self._taken)

    def __iter__(self) -> Iterator[tuple[tuple[int, int], Slot]]:
        for key in self._order:
            if key not in self._taken and (slot := self._slots[key]).machine.alive:
                yield key, slot

    def take(self, key: tuple[int, int]) -> Slot:
        """Offer it no longer."""
        self._taken.add(key)
        return self._slots[key]


class Matcher:
    """Matches jobs with slots."""

    def __init__(
        self,
        engine: Engine,
        bus: Bus,
        queue: Queue,
        machines: list[Machine],
        interval_s: float,
        order: list[int],
        preemption: Expr | None = None,
    ) -> None:
        self.engine = engine
        self.bus = bus
        self.queue = queue
        self.machines = machines
        self.interval_s = interval_s
        #: Place of each machine in the order in which they are offered.
        self._place = {index: place for place, index in enumerate(order)}
        #: PREEMPTION_REQUIREMENTS.
        self.preemption = None if preemption is None or _never(preemption) else preemption
        self.evaluations = 0
        self._ranks = any(not _is_constant(slot.policy.expressions) for each in machines for slot in each.plan.slots)
        #: Slots of all machines; None where they come and go.
        divided = any(machine.plan.division is not None for machine in machines)
        self._slot_count = None if divided else sum(len(machine.slots) for machine in machines)
        #: What is free, in the order in which it is offered.
        self._free: list[tuple[int, int]] = []
        self._slots: dict[tuple[int, int], Slot] = {}
        engine.at(engine.now + interval_s, self._cycle, RANK_CYCLE)

    # -- what is free ------------------------------------------------------------------------------------

    def look(self, slot: Slot) -> None:
        """A slot may have become free, or not be free any more."""
        key = (self._place[slot.machine.index], slot.order)
        free = slot.machine.alive and not slot.state.deleted and is_free(slot)
        if free:
            if key not in self._slots:
                insort(self._free, key)
            self._slots[key] = slot
        elif key in self._slots:
            del self._slots[key]
            del self._free[bisect_left(self._free, key)]

    def forget(self, machine: Machine) -> None:
        """The machine is dead."""
        place = self._place[machine.index]
        for key in [key for key in self._slots if key[0] == place]:
            del self._slots[key]
        self._free = [key for key in self._free if key[0] != place]

    # -- a cycle -----------------------------------------------------------------------------------------

    def _cycle(self, now: float) -> None:
        self.engine.at(now + self.interval_s, self._cycle, RANK_CYCLE)
        preempts = self._ranks or self.preemption is not None
        if not self.queue.alive or self.queue.idle.count == 0 or not (self._free or preempts):
            return
        offers = _Offers(self._free, self._slots)
        if preempts and (claimed := self._claimed()):
            offers = _Offers([*self._free, *claimed], self._slots | claimed)
        users: dict[str, list[str]] = {}
        for kind, entry in self.queue.idle.heads():
            users.setdefault(entry.job.owner, []).append(kind)
        priorities = {user: self._priority(user, now) for user in users}
        order = sorted(users, key=lambda user: (priorities[user], user))
        hopeless: set[str] = set()
        if len(order) > 1:
            total = sum(1 / priorities[user] for user in order)
            slots = self._slot_count or sum(len(machine.slots) for machine in self.machines)
            for user in order:
                share = slots / priorities[user] / total - self.queue.running.get(user, 0)
                self._serve(users[user], int(share), offers, hopeless, now)
        for user in order:
            self._serve(users[user], None, offers, hopeless, now)

    def _claimed(self) -> dict[tuple[int, int], Slot]:
        """Claimed slots that offer themselves to better jobs."""
        found = {}
        for machine in self.machines:
            for slot in machine.slots if machine.alive else ():
                state = slot.state
                if state.state is State.CLAIMED and state.preempting is not None and state.waiting is None:
                    found[(self._place[machine.index], slot.order)] = slot
        return dict(sorted(found.items()))

    def _priority(self, user: str, now: float) -> float:
        return self.queue.priorities.of(user, self.queue.running.get(user, 0), now)

    def _serve(self, kinds: list[str], limit: int | None, offers: _Offers, hopeless: set[str], now: float) -> None:
        """Give a user who has jobs of these kinds slots, at most so many."""
        while offers and (limit is None or limit > 0):
            kind = self._next_kind(kinds, hopeless)
            if kind is None:
                return
            found = self._best(kind, offers, now)
            if found is None:
                hopeless.add(kind)
                continue
            self._match(offers.take(found), kind, now)
            limit = None if limit is None else limit - 1

    def _next_kind(self, kinds: list[str], hopeless: set[str]) -> str | None:
        """The kind of the oldest idle job for which there is hope."""
        found: str | None = None
        first: tuple[float, int] | None = None
        for kind in kinds:
            entry = None if kind in hopeless else self.queue.idle.head(kind)
            if entry is not None and (first is None or (entry.job.submitted_at, entry.number) < first):
                found, first = kind, (entry.job.submitted_at, entry.number)
        return found

    def _best(self, kind: str, offers: _Offers, now: float) -> tuple[int, int] | None:
        entry = self.queue.idle.head(kind)
        assert entry is not None
        job = entry.job.ad
        ranks = job.cell("rank") is not MISSING
        best: tuple[int, int] | None = None
        best_worth: _Worth | None = None
        for place, slot in offers:
            slot.machine.sync(now)
            polled_at = slot.machine.polling.polled_at
            if slot.rejected.get(kind) == polled_at:
                continue
            worth = self._worth(slot, job, entry.job.owner, ranks, now)
            if worth is None:
                if self.preemption is None:
                    slot.rejected[kind] = polled_at
            elif worth[0] and not ranks:
                return place
            elif best_worth is None or worth > best_worth:
                best, best_worth = place, worth
        return best

    def _worth(self, slot: Slot, job: ClassAd, owner: str, ranks: bool, now: float) -> _Worth | None:
        """What a slot is worth to a job; None if it can't have it."""
        state = slot.state
        if not is_offered(state):
            return None
        self.evaluations += 1
        policy = slot.plan.policy
        inputs = Inputs(state, policy, now)
        mode = _FREE if is_free(slot) else self._preemption(slot, inputs, job, owner, now)
        if mode is None or not inputs.accepts(job)[0]:
            return None
        world = StepWorld(policy, state.name, now)
        if not inputs.my.matches(job, world):
            return None
        return mode == _FREE, job.rank(inputs.my, world) if ranks else 0.0, mode

    def _preemption(self, slot: Slot, inputs: Inputs, job: ClassAd, owner: str, now: float) -> int | None:
        """Why a job may have a claimed slot; None if it may not."""
        rank, current = inputs.rank(job), slot.state.claim.rank
        if rank > current:
            return _BY_RANK
        holder = slot.state.claim.job_ad
        remote = None if holder is None else holder.eval("Owner")
        if self.preemption is None or rank < current or not isinstance(remote, str) or remote == owner:
            return None
        mine, theirs = self._priority(owner, now), self._priority(remote, now)
        if theirs < mine + PRIORITY_DELTA:
            return None
        my = ClassAd({"RemoteUserPrio": theirs, "SubmitterUserPrio": mine})
        my.chain_to(inputs.my)
        world = StepWorld(slot.plan.policy, slot.state.name, now)
        return _BY_PRIORITY if truth_of(evaluate(self.preemption, my, job, world)) is True else None

    def _match(self, slot: Slot, kind: str, now: float) -> None:
        machine, state = slot.machine, slot.state
        free = is_free(slot)
        claim = state.claim if free else state.preempting
        assert claim is not None
        claim_id = claim.id
        if not self.queue.matched(machine, claim_id, kind, now, preempts=not free):
            return
        event = ev.MatchReceived(claim_id=claim_id)
        self.bus.send(f"matcher>{machine.plan.name}", lambda then: machine.address(claim_id, event, then))


def is_free(slot: Slot) -> bool:
    """Whether nobody has a slot."""
    state = slot.state
    return state.state is State.UNCLAIMED or (
        state.state is State.BACKFILL
        and state.pair in (BACKFILL, BACKFILL_BUSY)
        and state.destination is None
        and state.claim.request is None
    )


def _is_constant(policy: ClassAd) -> bool:
    rank = policy.cell("rank")
    return rank is MISSING or not isinstance(rank, Expr) or rank.is_literal


def _never(expression: Expr) -> bool:
    return expression.is_literal and truth_of(evaluate(expression)) is not True
