"""What must never be, whatever goes wrong: looked at after every step of a slot, and over the whole pool every hour.

1. A slot is in a legal pair (the core asserts it too).
2. A job runs only on a slot whose state has a starter, under the claim that the slot has.
3. A job is in one place, and the queue's counts fit. It never completes twice, and none is lost.
4. A claim has one holder: no two entries of the queue hold the same one.
5. Claims are booked in the ledgers of their machine, and never exceed them.

Problems are sentences with time and slot; they end up in the outcome, and a run with problems has failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.sim.queue import Place
from roost.startd.states import PAIRS, WITH_STARTER

if TYPE_CHECKING:
    from roost.sim.host import Slot
    from roost.sim.world import World

#: Problems kept at most.
PROBLEMS_MAX: Final = 20
_LEGAL: Final = frozenset(PAIRS)


class Checker:
    """Looks for violated invariants."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.problems: list[str] = []

    def _report(self, text: str) -> None:
        if len(self.problems) < PROBLEMS_MAX:
            seconds = self.world.engine.now - self.world.plan.start
            self.problems.append(f"at {seconds:.3f} s: {text}")

    def check_slot(self, slot: Slot) -> None:
        """One slot, after a step."""
        state = slot.state
        pair = state.pair
        if pair not in _LEGAL:
            self._report(f"{state.name} is in {pair}")
        if state.claim.activation is not None:
            if pair not in WITH_STARTER:
                self._report(f"{state.name} has a job in {pair}")
            return
        if slot.process is not None and slot.process.here:
            self._report(f"{state.name} has no job, and {slot.process.job.name} runs")
        if slot.starter is not None and slot.starter.alive:
            self._report(f"{state.name} has forgotten the job {slot.starter.state.job_ad.eval('ClusterId')}")

    def check_all(self) -> None:
        """The pool."""
        queue = self.world.queue
        offered = sum(len(heap) for heap in queue.idle.kinds.values())
        idle = offered + sum(len(each) for each in queue.idle.paused.values())
        places = dict.fromkeys(Place, 0)
        holders: dict[str, str] = {}
        for name, entry in queue.entries.items():
            places[entry.place] += 1
            if entry.place in (Place.CLAIMING, Place.RUNNING):
                if entry.claim is None or not entry.claim.open:
                    self._report(f"job {name} is {entry.place} without a claim")
                    continue
                other = holders.setdefault(entry.claim.claim_id.text, name)
                if other != name:
                    self._report(f"jobs {other} and {name} have the same claim")
        if places[Place.IDLE] != idle or offered != queue.idle.count:
            counted = f"{offered} of these are offered, {queue.idle.count} are counted"
            self._report(f"{places[Place.IDLE]} jobs are idle, {idle} wait, {counted}")
        self._check_accounts()
        running: dict[str, str] = {}
        for machine in self.world.machines:
            for slot in machine.slots:
                if slot.process is not None and not machine.alive:
                    self._report(f"{slot.plan.name} runs a job on a dead machine")
                if slot.process is not None and slot.process.here:
                    running[slot.process.job.name] = slot.plan.name
        if not self.world.plan.faults.any:
            for name, where in running.items():
                if name in queue.entries and queue.entries[name].place is not Place.RUNNING:
                    self._report(f"job {name} runs on {where} and is {queue.entries[name].place} in the queue")

    def _check_accounts(self) -> None:
        for machine in self.world.machines:
            accounts = machine.host.accounts
            if accounts is None or not machine.alive:
                continue
            for problem in (*accounts.slots.problems(), *map(str, accounts.slots.ledgers.overdrawn())):
                self._report(f"{machine.plan.name}: {problem}")
            held = {str(slot.plan.id) for slot in machine.slots if slot.state.claim.granted_at is not None}
            booked = set(accounts.slots.ledgers.bookings)
            if held != booked:
                self._report(f"{machine.plan.name}: {sorted(held)} are claimed and {sorted(booked)} booked")
            there = [slot.plan.id for slot in machine.slots]
            if there != list(accounts.slots.ids):
                self._report(f"{machine.plan.name}: there are {there}, and by the accounts {accounts.slots.ids}")
