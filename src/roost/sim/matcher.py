"""A simple matcher: every NEGOTIATOR_INTERVAL, the oldest jobs first, each gets the best free slot that wants it.

Both requirements must be TRUE. The slot's side is asked of the slot's own core (START and the limits of its resources),
with the slot's ad as of its last poll; the job's side is its Requirements. Among those that match the highest Rank
of the job wins; where no job ranks, the first slot in a seeded order does.

What it does not do, and the real negotiator will: users' priorities and quotas, and preemption. Only slots in
state Unclaimed are offered.
"""

from __future__ import annotations

from collections.abc import Callable

from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.model import events as ev
from roost.sim.bus import Bus
from roost.sim.engine import RANK_CYCLE, Engine
from roost.sim.host import Machine, Slot
from roost.sim.queue import Queue
from roost.startd.policy_inputs import Inputs, StepWorld


class Matcher:
    """Matches jobs with slots."""

    def __init__(
        self, engine: Engine, bus: Bus, queue: Queue, machines: list[Machine], interval_s: float, order: list[int]
    ) -> None:
        self.engine = engine
        self.bus = bus
        self.queue = queue
        self.machines = machines
        self.interval_s = interval_s
        #: Machines in the order in which they are offered.
        self.order = order
        self.evaluations = 0
        engine.at(engine.now + interval_s, self._cycle, RANK_CYCLE)

    def _cycle(self, now: float) -> None:
        self.engine.at(now + self.interval_s, self._cycle, RANK_CYCLE)
        if not self.queue.alive or self.queue.idle_count == 0:
            return
        free = {
            (index, number): slot
            for index in self.order
            for number, slot in enumerate(self.machines[index].slots)
            if self.machines[index].is_free(slot)
        }
        hopeless: set[str] = set()
        while free:
            kind = next((kind for _, _, kind in self.queue.heads() if kind not in hopeless), None)
            if kind is None:
                return
            found = self._best(kind, free, now)
            if found is None:
                hopeless.add(kind)
                continue
            del free[found]
            self._match(self.machines[found[0]], found[1], kind, now)

    def _best(self, kind: str, free: dict[tuple[int, int], Slot], now: float) -> tuple[int, int] | None:
        entry = self.queue.head(kind)
        assert entry is not None
        job = entry.job.ad
        ranks = job.cell("rank") is not MISSING
        best: tuple[int, int] | None = None
        best_rank = 0.0
        for place, slot in free.items():
            slot.machine.sync(now)
            polled_at = slot.machine.polled_at
            if slot.rejected.get(kind) == polled_at:
                continue
            rank = self._match_rank(slot, job, ranks, now)
            if rank is None:
                slot.rejected[kind] = polled_at
            elif not ranks:
                return place
            elif best is None or rank > best_rank:
                best, best_rank = place, rank
        return best

    def _match_rank(self, slot: Slot, job: ClassAd, ranks: bool, now: float) -> float | None:
        """The job's rank of a slot; None if one does not want the other."""
        self.evaluations += 1
        policy = slot.plan.policy
        inputs = Inputs(slot.state, policy, now)
        if not inputs.accepts(job)[0]:
            return None
        world = StepWorld(policy, slot.state.name, now)
        if not inputs.my.matches(job, world):
            return None
        return job.rank(inputs.my, world) if ranks else 0.0

    def _match(self, machine: Machine, number: int, kind: str, now: float) -> None:
        claim_id = machine.slots[number].state.claim.id
        life = machine.lives
        event = ev.MatchReceived(claim_id=claim_id)
        deliver: Callable[[float], None] = lambda then: machine.receive(number, event, then, life)  # noqa: E731
        self.bus.send(f"matcher>{machine.plan.name}", deliver)
        self.queue.matched(machine, number, kind, now)
