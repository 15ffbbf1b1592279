"""The defragmentation daemon in the simulated world: the core of `roost.defrag`, if the configuration enables one.

It sees the ads of all partitionable slots as of their last poll, and requests drains as a real one does: with messages,
which can be lost. A lost request or answer has no effect; the next round sees the actual state.

It never dies. `roost.runtime.central.defragmenter` shows what it keeps across a restart.
"""

from __future__ import annotations

from functools import partial
from typing import Any, assert_never

from roost.classad import ClassAd, evaluate
from roost.defrag.machine import begin, step
from roost.defrag.policy import DefragPolicy
from roost.defrag.state import (
    DefragEffect,
    DefragEvent,
    DefragState,
    DefragTimer,
    DefragTimerFired,
    DrainAnswered,
    PoolSeen,
    PublishDefragAd,
    QueryPool,
    RequestCancellation,
    RequestDrain,
    SetDefragTimer,
)
from roost.model.reasons import Refusal
from roost.policy.decision import truth_of
from roost.sim.bus import Bus
from roost.sim.chance import stream
from roost.sim.engine import RANK_CYCLE, Engine
from roost.sim.machine.host import Machine, SimulatedSlot
from roost.sim.machine.pool_ads import pool_ad
from roost.sim.record import Recorder
from roost.startd.draining import DrainOrder, OnCompletion


class Defragmentation:
    """The daemon of a pool."""

    def __init__(
        self,
        engine: Engine,
        bus: Bus,
        recorder: Recorder,
        machines: list[Machine],
        policy: DefragPolicy,
        seed: int | str,
    ) -> None:
        self._engine = engine
        self._bus = bus
        self._recorder = recorder
        self._machines = {machine.plan.name: machine for machine in machines}
        self._policy = policy
        self._chance = stream(seed, "defragmentation")
        #: Number of the only current setting of each timer.
        self._timers = dict.fromkeys(DefragTimer, 0)
        #: Its own ad as last published.
        self.ad = ClassAd()
        started = begin(DefragState(), engine.now, policy, policy.name)
        self.state = started.state
        self._perform(started.effects, engine.now)

    def reconfigure(self, policy: DefragPolicy, now: float) -> None:
        """Read the configuration again, and plan pending work again."""
        for timer in self._timers:
            self._timers[timer] += 1
        self._policy = policy
        started = begin(self.state, now, policy, policy.name)
        self.state = started.state
        self._perform(started.effects, now)

    def _feed(self, event: DefragEvent, now: float) -> None:
        found = step(self.state, event, now, self._policy, self._policy.name)
        self.state = found.state
        self._perform(found.effects, now)

    def _perform(self, effects: tuple[DefragEffect, ...], now: float) -> None:
        for effect in effects:
            match effect:
                case SetDefragTimer(timer=timer, at=at):
                    self._set(timer, at)
                case QueryPool():
                    event = PoolSeen(ads=self._ads(effect, now), chance=self._chance.randrange(2**31))
                    # The answer is a separate event: a step never re-enters itself.
                    self._engine.at(now, partial(self._feed, event), RANK_CYCLE)
                case RequestDrain(machine=name):
                    self._send(name, partial(self._drain, self._machines[name], effect))
                case RequestCancellation(machine=name):
                    self._send(name, partial(self._cancel, self._machines[name], effect))
                case PublishDefragAd(ad=ad):
                    self.ad = ad
                case _:
                    assert_never(effect)

    def _set(self, timer: DefragTimer, at: float) -> None:
        self._timers[timer] += 1
        number = self._timers[timer]

        def fire(now: float) -> None:
            if number == self._timers[timer]:
                self._feed(DefragTimerFired(timer=timer), now)

        # Polls at the same instant come first, so their results are visible.
        self._engine.at(max(at, self._engine.now), fire, RANK_CYCLE)

    def _ads(self, query: QueryPool, now: float) -> tuple[ClassAd, ...]:
        """The slots that the collector would return."""
        found = []
        for machine in self._machines.values():
            if not machine.alive:
                continue
            machine.sync(now)
            shared = machine.host.drains.attributes(now)
            for slot in machine.slots:
                ad = _published_ad(slot, shared, now)
                if truth_of(evaluate(query.constraint, ad)) is True:
                    found.append(ad)
        return tuple(found)

    # -- orders ------------------------------------------------------------------------------------------

    def _send(self, machine: str, due: partial[None]) -> None:
        self._bus.send(f"defragmentation>{machine}", due)

    def _drain(self, machine: Machine, order: RequestDrain, now: float) -> None:
        if not machine.alive:
            return
        self._recorder.write(now, "order", machine=machine.plan.name)
        refusal = machine.drain(
            DrainOrder(
                schedule=order.schedule,
                on_completion=OnCompletion.RESUME,
                check=order.check,
                start=order.start,
                reason=order.reason,
            ),
            now,
        )
        self._answer(machine, refusal)

    def _answer(self, machine: Machine, refusal: Refusal | None) -> None:
        name = machine.plan.name
        event = DrainAnswered(machine=name, refusal="" if refusal is None else str(refusal))
        self._bus.send(f"{name}>defragmentation", partial(self._feed, event))

    def _cancel(self, machine: Machine, order: RequestCancellation, now: float) -> None:
        if machine.alive:
            self._recorder.write(now, "order", machine=machine.plan.name)
            machine.cancel_drain(now, order.request_id)


def _published_ad(slot: SimulatedSlot, shared: dict[str, Any], now: float) -> ClassAd:
    """The ad of a slot as the collector has it."""
    ad = pool_ad(slot, now)
    for name, value in shared.items():
        ad[name] = value
    ad["LastHeardFrom"] = int(now)
    return ad
