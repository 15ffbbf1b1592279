"""Signs of life of claims that are sent to nobody: what they would have done is looked up where it matters.

A queue says once in a lease that it still wants a claim, and all that the slot does then is to begin the lease anew. So
where no message can be lost, none is sent: the machine asks for the last one when a lease runs out (`arrived_at`). Each
has its delay drawn from the stream of its connection all the same, before anything that is sent on it later, so that a
run comes out as if all had been sent; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.model.events import AliveReceived
from roost.sim.bus import Bus
from roost.sim.host import Machine
from roost.sim.queue_entry import Held

#: A sign of life is due so long before a lease ends, and no more often than so, s.
AHEAD_S: Final = 120.0
INTERVAL_S_MIN: Final = 60.0


class SignsOfLife:
    """The signs of life of one queue, for all the claims it holds."""

    __slots__ = ("_bus", "_claims")

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        #: Place of a machine to the claims on it that are kept alive.
        self._claims: dict[int, list[Held]] = {}

    def begin(self, held: Held, now: float) -> None:
        """Keep a claim alive from now on."""
        held.beat_at = now + interval_s(held)
        held.arrives_at = held.arrived_at = None
        self._claims.setdefault(held.machine.index, []).append(held)

    def catch_up(self, machine: Machine, now: float) -> None:
        """Draw the delays of all signs of life to a machine that were due before now."""
        claims = self._claims.get(machine.index)
        while claims:
            held = claims[0] if len(claims) == 1 else min(claims, key=_due)
            at = held.beat_at
            assert at is not None
            if at >= now:
                return
            held.arrived_at = held.arrives_at
            held.arrives_at = self._bus.arrival(f"queue>{machine.plan.name}", at)
            held.beat_at = at + interval_s(held)

    def arrived_at(self, held: Held, now: float) -> float | None:
        """When the last sign of life of a claim came; None before the first."""
        if held.beat_at is None:
            return None
        self.catch_up(held.machine, now)
        return held.arrives_at if held.arrives_at is not None and held.arrives_at <= now else held.arrived_at

    def end(self, held: Held, now: float) -> float | None:
        """Keep it alive no longer; when the next sign of life would have been sent, None if it was not kept alive."""
        if held.beat_at is None:
            return None
        self.catch_up(held.machine, now)
        held.machine.renew(held.claim_id, now)
        # One that is on its way gets there.
        if held.arrives_at is not None and held.arrives_at > now:
            self._bus.engine.at(held.arrives_at, alive(held))
        self._claims[held.machine.index].remove(held)
        due, held.beat_at = held.beat_at, None
        return due

    def all(self) -> list[Held]:
        """All claims that are kept alive."""
        return [held for claims in self._claims.values() for held in claims]


def alive(held: Held) -> Callable[[float], None]:
    """What a sign of life does when it comes."""
    machine, claim_id = held.machine, held.claim_id
    return lambda now: machine.address(claim_id, AliveReceived(claim_id=claim_id), now)


def interval_s(held: Held) -> float:
    """Time between two signs of life, s."""
    return max(INTERVAL_S_MIN, held.lease_s - AHEAD_S)


def _due(held: Held) -> float:
    assert held.beat_at is not None
    return held.beat_at
