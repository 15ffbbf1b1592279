"""The draining of a host: state shared by its slots while it is emptied (`startd.draining` decides)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from roost.model.events import MachineFacts
from roost.startd import draining
from roost.startd.draining import DrainOrder, MachineDraining
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_state import SlotState

if TYPE_CHECKING:
    from roost.model.reasons import Refusal
    from roost.node.host import Host

_FACTS: Final = {running: MachineFacts(backfill_running=running) for running in (False, True)}


class Drains:
    """The drains of one host."""

    __slots__ = ("draining", "host")

    def __init__(self, host: Host[Any]) -> None:
        self.host = host
        self.draining = MachineDraining()

    @property
    def active(self) -> bool:
        """Whether the host is being drained."""
        return self.draining.order is not None and self.draining.emptied_at is None

    def request(self, order: DrainOrder, now: float) -> Refusal | None:
        """Begin a drain."""
        return self._led_to(draining.request(self.draining, order, self._states, self._policies, now))

    def cancel(self, request_id: str, now: float) -> Refusal | None:
        """Cancel a drain, "" for the current one."""
        self._count_empty(now)
        return self._led_to(draining.cancel(self.draining, request_id, now))

    def facts(self, now: float) -> MachineFacts:
        """The facts about the drain that a poll passes to all slots."""
        backfill = self.host.backfill_running
        if self.draining.order is None:
            return _FACTS[backfill]
        self._count_empty(now)
        return draining.facts(self.draining, self._states, self._policies, now, backfill_running=backfill)

    def progress(self, now: float) -> None:
        """Update the drain after a pass over the slots."""
        if self.draining.order is not None:
            self._led_to(draining.progress(self.draining, self._states, now))

    def look_for_originals(self, now: float) -> None:
        """Check after each event: once the jobs that ran when the drain began are gone, no slot accepts another."""
        order = self.draining.order
        if order is not None and order.start is not None and not self.draining.originals_gone:
            self.progress(now)

    def attributes(self, now: float) -> dict[str, Any]:
        """The attributes of all slots about drains and the cost of one."""
        return draining.attributes(self.draining, self._states, self._policies, now)

    def count(self, run_s: float, cpus: int) -> None:
        """Count a job that the drain evicted."""
        self.draining = draining.count_badput(self.draining, run_s, cpus)

    def _count_empty(self, now: float) -> None:
        """Add the core time left idle by the drain since the last count."""
        cores = {}
        for slot in self.host.slots:
            found = slot.state.ad.eval("Cpus")
            cores[slot.state.name] = float(found) if isinstance(found, int | float) else 0.0
        self.draining = draining.count_unclaimed(self.draining, self._states, cores, now)

    @property
    def _states(self) -> list[SlotState]:
        return [slot.state for slot in self.host.slots]

    @property
    def _policies(self) -> dict[str, SlotPolicy]:
        return {slot.state.name: slot.plan.policy for slot in self.host.slots}

    def _led_to(self, found: draining.Drain) -> Refusal | None:
        self.draining = found.draining
        for event in found.events:
            self.host.tell_all(event)
        if found.daemon is not None:
            self.host.ended = found.daemon
        return found.refusal
