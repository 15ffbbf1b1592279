"""When a simulated queue ticks, and the effect that its keepalives would have had.

A real queue ticks every few seconds, and sends keepalives every ALIVE_INTERVAL. If no message can be lost, most of that
changes nothing, and is left out: a tick happens when the policy of jobs is due, when a request was not answered, and
when a pause ends. Keepalives are not sent: when a lease expires, the machine asks when the last of them would have
arrived (`renewed_at`). Anything unusual (a queue that is cut off, a machine that was switched off, a lease of a few
seconds) ends that: from then on every tick happens, and every keepalive is sent (`watch_closely`).

A test runs worlds in both modes, and compares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.claims.held_claims import ALIVE_S_MIN, ALIVES_A_LEASE, HeldClaim, Stage
from roost.schedd.job_policy.expressions import PERIODIC_ATTRIBUTES
from roost.schedd.periodic import ASK_AGAIN_S, QUIET_S
from roost.schedd.queue import Step
from roost.schedd.status import JobStatus
from roost.sim.bus import TRIP_S_MIN
from roost.sim.queue.sources import Source

if TYPE_CHECKING:
    from roost.sim.queue.queue import Queue

#: When a queue's first tick after its start is due, relative to a whole tick, s: machines poll at full seconds, and
#: their messages must arrive before or after the queue's tick consistently in all worlds.
BESIDE_POLLS_S: Final = 0.5
#: Attributes of jobs with which the passing of time alone changes something in the queue.
_TIMED: Final = PERIODIC_ATTRIBUTES | {"leavejobinqueue"}
_CRON: Final = frozenset(("cronminute", "cronhour", "crondayofmonth", "cronmonth", "crondayofweek"))
_ENDING: Final = (JobStatus.HELD, JobStatus.REMOVED)
#: Stages of claims for which keepalives are sent.
_HELD: Final = (Stage.IDLE, Stage.RUNNING)


class QueueClock:
    """The ticks of one queue."""

    def __init__(self, queue: Queue, *, eager: bool) -> None:
        self._queue = queue
        #: Every tick happens.
        self._eager = False
        #: Some job has periodic policy, or the administrator has set some.
        self.judges = queue.core.claim_table.system_policy.judges_periodically
        self._start = queue.engine.now + BESIDE_POLLS_S
        #: The interval of the queue's ticks, s.
        self._every = queue.core.claim_table.settings.tick_s
        self._generation = 0
        self._planned: set[float] = set()
        #: Claims with an unanswered request: claim id to when a tick may repeat it.
        self._unsettled: dict[str, float] = {}
        #: Claim id to the machine, and when the last two keepalives would have been sent as of the last check, epoch s:
        #: the last one may still be in transit.
        self._renewed: dict[str, tuple[str, float, float]] = {}
        #: Claim id to its `alive_at` at the core's last request to its machine.
        self._alive_at: dict[str, float] = {}
        self.begin(queue.engine.now)
        if eager or queue.core.claim_table.settings.alives_missed_max < ALIVES_A_LEASE:
            self._be_eager()

    def begin(self, now: float) -> None:
        """Start the daemon."""
        self._start = now + BESIDE_POLLS_S
        self._generation += 1
        self._planned.clear()
        self._unsettled.clear()
        self._plan_policy(now)
        if self._eager:
            self._at(self._start + self._every)

    def watch_closely(self) -> None:
        """Leave nothing out from now on, because something unusual is about to happen."""
        if self._eager:
            return
        # Ticks that are due at this very instant have not happened yet.
        now = math.nextafter(self._queue.engine.now, -math.inf)
        self._make_up(now)
        self._be_eager()

    def reconfigured(self) -> None:
        """Note changed settings of the queue; plans based on the old ones may be too late."""
        self.judges = self.judges or self._queue.core.claim_table.system_policy.judges_periodically
        self._every = self._queue.core.claim_table.settings.tick_s
        self.watch_closely()

    def _be_eager(self) -> None:
        self._eager = True
        self._at(self._grid(self._queue.engine.now))

    # -- ticks -----------------------------------------------------------------------------------------

    def _grid(self, at: float, every: float | None = None) -> float:
        """The first instant of a grid from the start that is not before `at`."""
        tick_s = self._every
        step = tick_s if every is None else math.ceil(every / tick_s) * tick_s
        return self._start + math.ceil((at - self._start) / step) * step

    def _before(self, now: float, every: float) -> float:
        """The last instant of a slower grid before this tick."""
        tick_s = self._every
        step = math.ceil(every / tick_s) * tick_s
        return self._start + max(0, math.ceil((now - self._start) / step) - 1) * step

    def _at(self, at: float) -> None:
        if at in self._planned:
            return
        self._planned.add(at)
        generation = self._generation
        self._queue.engine.at(at, lambda now: self._due(now) if generation == self._generation else None)

    def _due(self, now: float) -> None:
        self._planned.discard(now)
        if self._eager:
            self._at(now + self._every)
        elif not self._is_needed(now):
            return
        else:
            self._make_up(now)
        if self._queue.running:
            self._queue.feed(ev.Ticked())
        if not self._eager:
            self._plan_policy(now)

    def _is_needed(self, now: float) -> bool:
        """Whether a tick may have an effect."""
        self._settle()
        if any(at <= now for at in self._unsettled.values()):
            self._at(self._grid(now + QUIET_S))
            return True
        core = self._queue.core
        ends = core.claim_table.pauses.over_at(now)
        if ends is not None and ends > now:
            self._at(self._grid(ends))
        timed = core.book.recurring or core.book.factories
        return (ends is not None and ends <= now) or bool(timed) or self._judged_at(now)

    def _judged_at(self, now: float) -> bool:
        return self.judges and self._grid(now, self._interval_s) == now

    @property
    def _interval_s(self) -> float:
        return self._queue.core.claim_table.settings.periodic_interval_s

    def _plan_policy(self, now: float) -> None:
        if self.judges:
            self._at(self._grid(now + 1e-6, self._interval_s))
        book = self._queue.core.book
        if book.recurring or book.factories:
            self._at(self._grid(now + 1e-6))

    def _make_up(self, now: float) -> None:
        """Bring the core's clock to the state as if every tick had happened and every machine had answered."""
        core = self._queue.core
        core.clock.ticked_at = now - self._every
        core.clock.asked_at = self._before(now, ASK_AGAIN_S)
        # If no job has a policy, an evaluation of all of them finds nothing.
        core.clock.policy_at = self._before(now, self._interval_s) if self.judges else now
        if len(self._renewed) > 2 * len(core.claim_table.claims) + 100:
            self._renewed = {name: times for name, times in self._renewed.items() if name in core.claim_table.claims}
        for claim in core.claim_table.claims.values():
            if claim.stage in _HELD and (sent_at := self._keep(claim, claim.alive_at, now)) is not None:
                claim.alive_at = sent_at
                if claim.id in self._alive_at:
                    self._alive_at[claim.id] = sent_at
            if claim.stage is Stage.RUNNING and claim.confirmed:
                claim.heard_at = now

    # -- what makes a tick matter ------------------------------------------------------------------------

    def submitted(self, source: Source) -> None:
        """Note submitted jobs: perhaps the first whose policy depends on time."""
        names = source.varying | source.common.cells.keys()
        if any(lease_s < ALIVES_A_LEASE * ALIVE_S_MIN for lease_s in source.leases):
            # Machines ask for keepalives before such a short lease expires.
            self.watch_closely()
        if not self.judges and not names.isdisjoint(_TIMED):
            self.judges = True
        # A factory may wait for jobs of other clusters to leave.
        if self.judges or self._queue.core.book.factories or not names.isdisjoint(_CRON):
            self._plan_policy(self._queue.engine.now)

    def stepped(self, step: Step) -> None:
        """Note a step of the core."""
        if self._eager:
            return
        now = self._queue.engine.now
        for effect in step.effects:
            match effect:
                case ef.AskForSlot() | ef.StartRun():
                    self._remember(effect.claim_id, now)
                    self._await(effect.claim_id, self._grid(now + QUIET_S))
                case ef.EndRun():
                    # This order is repeated whenever the queue asks again, however soon after.
                    self._await(effect.claim_id, min(self._grid(now + QUIET_S), self._grid(now + 1e-6, ASK_AGAIN_S)))
        pauses = self._queue.core.claim_table.pauses
        if pauses and (ends := pauses.over_at(now)) is not None:
            self._at(self._grid(ends))

    def _await(self, claim_id: str, at: float) -> None:
        """Check at `at` whether a request about a claim has been answered."""
        self._unsettled[claim_id] = at
        self._at(at)

    def _settle(self) -> None:
        """Forget claims without pending requests."""
        core = self._queue.core
        for claim_id in list(self._unsettled):
            claim = core.claim_table.claims.get(claim_id)
            if claim is None:
                del self._unsettled[claim_id]
            elif claim.stage is Stage.RUNNING and claim.confirmed:
                job = None if claim.job is None else core.book.find(claim.job)
                if job is None or job.status not in _ENDING:
                    del self._unsettled[claim_id]

    # -- keepalives --------------------------------------------------------------------------------------

    def _said_at(self, claim: HeldClaim, now: float) -> float | None:
        """When the last keepalive of a claim that was not sent would have been sent, up to now; None for never."""
        return self._said(claim.alive_at, claim.alive_s, now)[0]

    def _said(self, alive_at: float, alive_s: float, now: float) -> tuple[float | None, float]:
        """The same for the last two since one was sent at `alive_at`; the earlier one is minus infinity for never."""
        due, tick_s = alive_at + alive_s, self._every
        if due > now:
            return None, -math.inf
        first = self._start + math.ceil((due - self._start) / tick_s) * tick_s
        if first > now:
            return None, -math.inf
        step = math.ceil(alive_s / tick_s) * tick_s
        last = first + math.floor((now - first) / step) * step
        return last, last - step if last > first else -math.inf

    def _keep(self, claim: HeldClaim, alive_at: float, now: float) -> float | None:
        """Record the last two keepalives of a claim that were not sent since `alive_at`; return the last, None for
        none.
        """
        sent_at, before = self._said(alive_at, claim.alive_s, now)
        if sent_at is not None:
            known = self._renewed.get(claim.id)
            if before == -math.inf and known is not None:
                before = known[1] if known[1] != sent_at else known[2]
            self._renewed[claim.id] = claim.node, sent_at, before
        return sent_at

    def _remember(self, claim_id: str, now: float) -> None:
        """Record the keepalives before a request of the core, which counts as a keepalive, while it is in transit."""
        claims = self._queue.core.claim_table.claims
        claim = claims.get(claim_id)
        if claim is None:
            return
        old = self._alive_at.get(claim_id)
        if old is not None and old != claim.alive_at:
            self._keep(claim, old, now)
        if len(self._alive_at) > 2 * len(claims) + 100:
            self._alive_at = {name: at for name, at in self._alive_at.items() if name in claims}
        self._alive_at[claim_id] = claim.alive_at

    def _arrives_at(self, node: str, sent_at: float) -> float:
        return sent_at + self._queue.bus.steady_delay(f"queue~{node}", sent_at)

    def renewed_at(self, claim_id: str, now: float) -> float | None:
        """When the last keepalive of a claim that was not sent reached its slot; None if there was none."""
        claim, until = self._queue.core.claim_table.claims.get(claim_id), now
        least_s = TRIP_S_MIN * self._queue.bus.scale
        if claim is not None and claim.stage in _HELD and not self._eager:
            while (sent_at := self._said_at(claim, until)) is not None:
                if sent_at + least_s <= now and (came_at := self._arrives_at(claim.node, sent_at)) <= now:
                    return came_at
                until = math.nextafter(sent_at, -math.inf)
        node, *times = self._renewed.get(claim_id, ("", -math.inf, -math.inf))
        arrivals = (self._arrives_at(node, sent_at) for sent_at in times if sent_at > -math.inf)
        return next((came_at for came_at in arrivals if came_at <= now), None)

    def send(self, node: str, deliver: Callable[[float], None]) -> None:
        """Send a keepalive: it takes as long as one that is only computed."""
        bus, now = self._queue.bus, self._queue.engine.now
        if bus.faulty:
            bus.send(f"queue>{node}", deliver)
        else:
            self._queue.engine.at(now + bus.steady_delay(f"queue~{node}", now), deliver)
