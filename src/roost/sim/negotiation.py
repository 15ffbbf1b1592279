"""The negotiator of the simulated pool: the cycles of `roost.negotiator`, every NEGOTIATOR_INTERVAL.

The matchmaking cycle of a real pool decides which user gets which slot, from slot ads as of their last poll, the
queue's idle jobs by submitter, priority and autocluster, and users' accounts. If ranks and policy allow it, free slots
are examined one by one, the best first (`simulated_slots`); otherwise all slots are put into a table like the
collector's. Both give the same result.

The queue receives the attributes of jobs on which matching depends, the jobs that got nothing and why, and the pool
policy in force. An assigned slot is not assigned again before its machine offers another claim. When part of a slot has
been claimed, another cycle follows at once for the rest, as the slot's new ad starts one in a real pool.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from roost.base.records import replace
from roost.classad import ClassAd, Expr
from roost.classad.ad import MISSING
from roost.classad.vector import Table
from roost.classad.vector.kinds import Array
from roost.gridengine.pool.cycle import CellRecord
from roost.model.events import SuspendersChanged
from roost.negotiator.accountant import CHARGED_EVERY_S, Accountant
from roost.negotiator.cycle import negotiate
from roost.negotiator.memory import Memory
from roost.negotiator.pool_policy import identity, restricted
from roost.negotiator.reach import significant
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.single_slots import SingleSlots
from roost.negotiator.snapshot import Match, Part, Plan, Pledge, Request, Snapshot, SubmitterDemand
from roost.negotiator.verdicts import may_be_true
from roost.negotiator.view import usage_of
from roost.schedd import events as ev
from roost.schedd.jobs.idle import IdleGroup
from roost.sim.bus import AT_ONCE, TRIP_S_MAX, Bus
from roost.sim.cell import SimulatedCell
from roost.sim.engine import RANK_CYCLE, Engine
from roost.sim.machine.host import Machine, SimulatedSlot
from roost.sim.machine.pool_ads import pool_ad
from roost.sim.queue.clock import BESIDE_POLLS_S
from roost.sim.queue.queue import NAME, Queue
from roost.sim.simulated_slot_terms import Terms, terms_of
from roost.sim.simulated_slots import SimulatedSlots, is_free
from roost.startd.states import State

#: How long an assigned slot is reserved for its user, and how soon a cycle follows if there is more to assign, s.
PROMISE_S: Final = 120.0
AGAIN_S: Final = 0.5
#: How soon an eager cycle follows a demand: before the queue's other messages arrive, s.
SOON_S: Final = 0.001
#: When an eager negotiator learns of a slot that has become free: after it learns which job has left it, s.
SEEN_S: Final = 0.03
#: How long an eager cycle waits for messages from slots that jobs have just left: they hear of it, and become visible,
#: s.
SLOT_HEARD_S: Final = AT_ONCE * TRIP_S_MAX + SEEN_S
#: How long it waits for their ads: jobs that end at the same instant are reported, and leave, one round trip apart.
SIGHT_S: Final = 2 * AT_ONCE * TRIP_S_MAX + SEEN_S


class _Named(Protocol):
    """Slots by name."""

    def __getitem__(self, name: str, /) -> SimulatedSlot:
        """A slot of the pool."""


class _Withheld:
    """Claims that are not available: assigned, or of slots that the negotiator does not know yet."""

    def __init__(self, promised: Mapping[str, float]) -> None:
        self._promised = promised
        #: Slot to the claim that it offers, if slots are not visible at once.
        self._offered: dict[str, str] = {}
        self._unseen: set[str] = set()
        #: Those among them that are free because a job has left.
        self._left: set[str] = set()

    def __contains__(self, claim_id: object) -> bool:
        return claim_id in self._promised or claim_id in self._unseen

    @property
    def awaits(self) -> bool:
        """Whether the ad of a slot that a job has just left is still expected."""
        return bool(self._left)

    def offers(self, slot: str, claim_id: str, *, free: bool) -> bool:
        """Note that a slot offers a claim; return whether it is a new one, which the negotiator has not seen."""
        before, self._offered[slot] = self._offered.get(slot, ""), claim_id
        self.see(before)
        if before == claim_id:
            return False
        self._unseen.add(claim_id)
        if before and free:
            self._left.add(claim_id)
        return True

    def is_unseen(self, claim_id: str) -> bool:
        """Whether the slot's ad is still expected."""
        return claim_id in self._unseen

    def see(self, claim_id: str) -> None:
        """Note that the slot's ad has arrived."""
        self._unseen.discard(claim_id)
        self._left.discard(claim_id)


class Manner(NamedTuple):
    """How a pool negotiates."""

    interval_s: float
    settings: NegotiatorSettings
    #: Indices of machines, in the order in which they are offered.
    order: list[int]
    #: Machines are notified of matches.
    informs: bool = True
    #: Requests may be served one by one if that is equivalent.
    singly: bool = True
    #: A cycle follows each event, as in a real pool, and slots become visible when their ads arrive.
    eager: bool = False


class Negotiation:
    """Cycles of the matchmaker."""

    def __init__(
        self,
        engine: Engine,
        bus: Bus,
        queue: Queue,
        machines: list[Machine],
        manner: Manner,
        *,
        cell: SimulatedCell | None = None,
    ) -> None:
        settings, singly = manner.settings, manner.singly
        self.engine = engine
        #: The cell that replaces the matchmaking cycle; None if there is none.
        self.cell = cell
        self.bus = bus
        self.queue = queue
        self.machines = machines
        self.interval_s, self.informs, self.eager = manner.interval_s, manner.informs, manner.eager
        #: Since when cycles wait for slots that jobs have just left; None if they do not.
        self._unseen_since: float | None = None
        #: Pairs of a request and a slot that were examined.
        self.evaluations = 0
        #: The last run of the cell.
        self.last: Plan | None = None
        self.accounts = Accountant()
        self.memory = Memory()
        self.slots = Table()
        #: Why jobs got nothing: requests counted by the texts of their rejections.
        self.rejections: dict[str, int] = {}
        #: The same by the reason for rejecting some slot, for requests that report it.
        self.causes: dict[str, int] = {}
        #: User to weight and number of slots in use, at the last update of accounts.
        self._usage: Mapping[str, tuple[float, int]] = {}
        #: The queue's count of changes in running jobs at the last update.
        self._turns = -1
        #: Assigned claim to when, epoch s.
        self.promised: dict[str, float] = {}
        #: Assigned claim to its slot, and to its charge, until the slot reports its use.
        self._pledges: dict[str, tuple[SimulatedSlot, Pledge]] = {}
        #: (submitter, autocluster) to matches that are on their way to the queue.
        self._given: Counter[tuple[str, int]] = Counter()
        #: Attributes of jobs on which matching depends, and texts of START while draining that were examined for them.
        self._of_policy: tuple[str, ...] = ()
        #: Significant attributes, as last sent to the queue.
        self.significant: tuple[str, ...] = ()
        self._starts: set[str] = set()
        #: Autocluster to the last reason sent to the queue why it got nothing.
        self._sent_reasons: dict[int, str] = {}
        #: Delay of requested cycles, s.
        self._asked: set[float] = set()
        #: Submitter to its ad, if that has no counts of jobs.
        self._submitter_ads: dict[str, ClassAd] = {}
        #: Place of each machine in the order in which they are offered.
        place = {index: at for at, index in enumerate(manner.order)}
        self._ordered = sorted(machines, key=lambda each: place[each.index])
        #: Name of a slot to the inputs of its ad: state, whether it is on offer, claim, time of the poll, its sizes.
        self._shown: dict[str, tuple[object, ...]] = {}
        #: In a cell: slot to when its ad was published, epoch s.
        self._published_at: dict[str, float] = {}
        #: In a cell: the input of the last run that had nothing to order, and its time.
        self._idle: tuple[object, float] = (None, -math.inf)
        self._versions: Array = np.zeros(64, np.int64)
        self._changes = 0
        self._may_be_singly = singly and cell is None
        self._may_skip = singly
        self._withheld = _Withheld(self.promised)
        #: Slot to the public part of the id of its claim that the queue reported as over, and since when a cycle waits
        #: for these slots to report, epoch s.
        self._left: dict[str, str] = {}
        self._waits_since: float | None = None
        self._place = place
        queue.decline = lambda claim_id: self.promised.pop(claim_id, None)  # type: ignore[assignment]
        #: An instant at which users are charged as in a real pool, epoch s.
        self._charges = engine.now + BESIDE_POLLS_S
        if manner.eager:
            queue.leave = lambda slots: self._left.update(slots)
        #: Slots that have changed and were not examined yet, in the order of their first change.
        self._changed: dict[SimulatedSlot, None] = {}
        self._take(settings)
        engine.at(engine.now + self.interval_s, self._cycle, RANK_CYCLE)

    def _take(self, settings: NegotiatorSettings) -> None:
        self.slot_source = SimulatedSlots(self._place, settings)
        self.slot_source.asked_for = self._withheld
        self.singly = SingleSlots(self.slot_source, settings)
        self.settings = settings
        # If nothing can be preempted, no submitter is visited for the sake of slots in use.
        self._settings_singly = replace(settings, consider_preemption=False)
        self.configured()

    def reconfigure(self, settings: NegotiatorSettings, *, informs: bool, interval_s: float) -> None:
        """Read the configuration again, and match soon after."""
        self.informs, self.interval_s = informs, interval_s
        self._take(settings)
        self.more()

    def configured(self) -> None:
        """Note that the machines' configuration is known, or has changed."""
        slots = [slot for machine in self.machines for slot in machine.slots]
        ranks = any(not _is_constant(slot.plan.policy.expressions) for slot in slots)
        #: Whether slots in use may be preempted.
        self._preempts = self.settings.consider_preemption and (
            ranks or may_be_true(self.settings.preemption_requirements)
        )
        terms = None if self._preempts else terms_of(self.settings, self.machines)
        self.asks_singly = self._may_be_singly and terms is not None
        self.slot_source.agree(terms or Terms())
        # Slots appear, disappear and are cut again without a transition.
        self._divided = [machine for machine in self.machines if machine.plan.division is not None]
        for slot in slots:
            self.look(slot)
        self._review_changed()
        self._of_policy = ()
        kinds = {(id(slot.plan.policy.expressions), *slot.plan.ad.cells): slot for slot in slots}
        self._tell_significant(kinds.values())

    def _tell_significant(self, slots: Iterable[SimulatedSlot]) -> None:
        """Send the queue the significant attributes of its jobs; significant attributes stay so."""
        table = Table()
        for slot in slots:
            table.put(slot.plan.name, pool_ad(slot, self.engine.now))
        self._of_policy = tuple(sorted({*self._of_policy, *significant(table, self.settings)}))
        self.significant = (*self._of_policy, *(() if self.cell is None else self.cell.significant))
        self.tell_queue()

    def tell_queue(self) -> None:
        """Send it again: a restarted queue does not know it."""
        policy = identity(self.settings.policy)
        self.queue.feed(ev.SignificantChanged(attributes=self.significant, policy=policy))

    def look(self, slot: SimulatedSlot) -> None:
        """Note that a slot has changed."""
        draining = slot.state.draining
        if draining is not None and draining.start is not None and str(draining.start) not in self._starts:
            self._starts.add(str(draining.start))
            self._tell_significant([slot])
        if not self.eager:
            # The slots of this cycle's matches are examined once more before the next, however often they change.
            self._changed[slot] = None
            return
        self.slot_source.look(slot)
        # A user whose job has left a slot is no longer charged for it.
        self._turns = -1
        if self._withheld.offers(slot.plan.name, claim_id := slot.state.offered.text, free=is_free(slot)):
            self.engine.at(self.engine.now + SEEN_S, lambda _: self._see(claim_id), RANK_CYCLE)

    def _see(self, claim_id: str) -> None:
        self._withheld.see(claim_id)
        # Slots that became free together are examined together.
        self.more(0.0)

    def forget(self, machine: Machine) -> None:
        """Forget the slots of a dead machine."""
        self._review_changed()
        self.slot_source.forget(machine)

    def more(self, wait_s: float = AGAIN_S) -> None:
        """Note that there are more slots or requests than a moment ago."""
        if wait_s not in self._asked:
            self._asked.add(wait_s)
            self.engine.at(self.engine.now + wait_s, partial(self._once_more, wait_s), RANK_CYCLE)

    def _once_more(self, wait_s: float, now: float) -> None:
        self._asked.discard(wait_s)
        self._look_round(now)

    def _cycle(self, now: float) -> None:
        self.engine.at(now + self.interval_s, self._cycle, RANK_CYCLE)
        self._look_round(now)

    def _review_changed(self) -> None:
        """Examine the slots that have changed since the last time, in their current state."""
        for slot in self._changed:
            self.slot_source.look(slot)
        self._changed.clear()

    def _look_round(self, now: float) -> None:
        self._review_changed()
        if not self.queue.alive:
            return
        if self.eager and now < self.queue.answered_at:
            self.more(self.queue.answered_at - now)
            return
        if self._left and self._awaits_slots(now):
            return
        if self._withheld.awaits and self._awaits_sight(now):
            return
        self._unseen_since = None
        for machine in self._divided:
            if machine.alive:
                self.slot_source.catch_up(machine)
        wanted = self.queue.core.book.has_waiting and (len(self.slot_source) > 0 or self._preempts)
        if self.cell is not None:
            # A run tells jobs why they wait, and may suspend running ones.
            wanted = self.queue.core.book.has_waiting or self.cell.suspends()
        if not wanted and self.queue.turns == self._turns:
            # As long as no use begins or ends, priorities evolve by a formula that the next update catches up with.
            return
        self._turns = self.queue.turns
        for claim_id in [each for each, at in self.promised.items() if now - at > PROMISE_S]:
            del self.promised[claim_id]
        # Use was unchanged at least until the last cycle; what was charged for it then is charged.
        until = self._charges + (now - self._charges) // CHARGED_EVERY_S * CHARGED_EVERY_S
        until = until if self.eager else now - self.interval_s
        if (self.accounts.updated_at or 0.0) < until:
            self.accounts.update(self._usage, until, self.settings)
        if self.asks_singly:
            self._usage = dict(self.slot_source.usage())
        else:
            by_name = self._show(now)
            self._usage = usage_of(self.slots, self.settings, now)
        if not self.eager:
            self.accounts.update(self._usage, now, self.settings)
        if wanted and self.asks_singly:
            self._negotiate_singly(now)
        elif wanted and self.cell is not None:
            self._run_cell(self.cell, by_name, now)
        elif wanted and by_name:
            self._negotiate(by_name, now)

    def _awaits_slots(self, now: float) -> bool:
        """Whether a cycle waits for slots whose claims are over to report it, as in a real pool
        (`central.PendingMatches`).
        """
        slots = {slot.plan.name: slot for machine in self.machines if machine.alive for slot in machine.slots}
        self._left = {
            name: claim_id
            for name, claim_id in self._left.items()
            if name in slots and self._is_unheard(slots[name], claim_id)
        }
        if self._waits_since is None:
            self._waits_since = now
            self.more(SLOT_HEARD_S)
        if self._left and now < self._waits_since + SLOT_HEARD_S:
            return True
        self._left.clear()
        self._waits_since = None
        return False

    def _awaits_sight(self, now: float) -> bool:
        """Whether a cycle waits for the ads of slots that jobs have just left: their resources are free only then."""
        if self._unseen_since is None:
            self._unseen_since = now
        if now < self._unseen_since + SIGHT_S:
            # As soon as the ads arrive, another cycle follows.
            return True
        self._unseen_since = None
        return False

    def _is_unheard(self, slot: SimulatedSlot, claim_id: str) -> bool:
        state = slot.state
        if state.claim.id.public != claim_id:
            return self._withheld.is_unseen(state.offered.text)
        return state.offered.text not in self.promised or state.preempting is None

    def _negotiate(self, by_name: dict[str, SimulatedSlot], now: float) -> None:
        snapshot = self._snapshot(by_name, now)
        plan = negotiate(snapshot, settings=self.settings, accounts=self.accounts, memory=self.memory)
        self.evaluations += sum(len(each.requests) for each in snapshot.demands) * len(snapshot.claims)
        self._carry_out(plan, by_name, now)

    def _run_cell(self, cell: SimulatedCell, by_name: dict[str, SimulatedSlot], now: float) -> None:
        """Make a scheduling run of the cell in place of the matchmaking cycle.

        A run with the same input as the last one, which had nothing to order, is left out, unless time matters.
        """
        seen = self._changes, self.queue.fed, len(self.promised), cell.seen(now)
        if self._may_skip and seen == self._idle[0] and cell.is_steady(now, now - self._idle[1]):
            return
        plan = self.last = cell.cycle(self._snapshot(by_name, now), self._of_policy)
        self._carry_out(plan, by_name, now)
        orders = plan.trail.suspensions if isinstance(plan.trail, CellRecord) else ()
        if plan.matches or orders:
            self._idle = None, now
        elif seen != self._idle[0]:
            self._idle = seen, now
        if not isinstance(plan.trail, CellRecord):
            return
        for order in plan.trail.suspensions:
            slot = by_name[order.slot]
            causes = {str(cause): text for cause, text in order.suspenders.items()}
            event = SuspendersChanged(claim=order.claim, suspenders=causes)
            self.bus.send(
                f"matcher>{slot.machine.plan.name}", partial(slot.machine.queue_link.suspended, order.slot, event)
            )

    def _negotiate_singly(self, now: float) -> None:
        slot_source = self.slot_source
        slot_source.now = now
        snapshot = Snapshot(
            slots=self.slots,
            claims=slot_source.claims,
            nodes=slot_source.nodes,
            demands=self._demands(now),
            now=now,
            pledges=self._pledged(),
            slot_source=slot_source,
        )
        plan = negotiate(snapshot, settings=self._settings_singly, accounts=self.accounts, memory=self.singly)
        self.evaluations += self.singly.judged_slots
        self._carry_out(plan, slot_source, now)

    def _carry_out(self, plan: Plan, slots: _Named, now: float) -> None:
        for rejection in plan.rejected.values():
            self.rejections[rejection.text] = self.rejections.get(rejection.text, 0) + 1
            for cause in rejection.causes or (rejection.text,):
                self.causes[cause] = self.causes.get(cause, 0) + 1
        for match in plan.matches:
            self._hand_out(slots, match, now)
        told = {autocluster: rejection.text for (_, autocluster), rejection in plan.rejected.items()}
        for autocluster, text in told.items():
            if self._sent_reasons.get(autocluster) != text:
                # Reporting this has no effect: which slots were examined depends on the method.
                due = partial(self.queue.hear, ev.MatchRefused(autocluster=autocluster, text=text))
                self.engine.at(now + self.bus.steady_delay("matcher~queue", now), due)
        self._sent_reasons = told

    # -- the negotiator's input -------------------------------------------------------------------------

    def _show(self, now: float) -> dict[str, SimulatedSlot]:
        """Update the table of slots; return all slots by name, in the order in which they are offered."""
        found: dict[str, SimulatedSlot] = {}
        for machine in self._ordered:
            for slot in machine.slots if machine.alive else ():
                found[slot.plan.name] = slot
        for name in [name for name in self._shown if name not in found]:
            row = self.slots.place(name)
            self.slots.remove(name)
            del self._shown[name]
            self._touch(row)
        for name, slot in found.items() if self.cell is None else ():
            state, polled_at = slot.state, 0.0
            offered = is_free(slot) or (self._preempts and state.preempting is not None)
            if offered:
                # Of the others, only the user matters: measurements are for those that may be assigned.
                slot.machine.sync(now)
                state, polled_at = slot.state, slot.machine.polling.polled_at
            present = state.state, offered, state.claim.id, polled_at, slot.cuts
            if self._shown.get(name) != present:
                self._shown[name] = present
                self.slots.put(name, pool_ad(slot, now))
                self._touch(self.slots.place(name))
        for name, slot in found.items() if self.cell is not None else ():
            self._publish(name, slot, now)
        return found

    def _publish(self, name: str, slot: SimulatedSlot, now: float) -> None:
        """Publish slots: a run of a cell sees a slot as its machine last published it, when it changed or at
        UPDATE_INTERVAL.
        """
        state = slot.state
        # The tasks, those that are suspended, and the causes.
        present = state.pair, is_free(slot), state.claim.id, slot.cuts, state.suspenders, state.claim.job_ad is None
        at = self._published_at.get(name)
        if self._shown.get(name) != present or at is None or now - at >= slot.machine.plan.update_s:
            slot.machine.sync(now)
            self._shown[name], self._published_at[name] = present, now
            ad = pool_ad(slot, now)
            self.slots.put(name, ad)
            self._touch(self.slots.place(name))

    def _touch(self, row: int) -> None:
        self._changes += 1
        if row >= len(self._versions):
            self._versions = np.concatenate((self._versions, np.zeros(row + 1, np.int64)))
        self._versions[row] = self._changes

    def _snapshot(self, by_name: dict[str, SimulatedSlot], now: float) -> Snapshot:
        claims = {name: text for name, slot in by_name.items() if (text := self._offered(slot)) is not None}
        return Snapshot(
            slots=self.slots,
            claims=claims,
            nodes={name: slot.machine.plan.name for name, slot in by_name.items()},
            demands=self._demands(now),
            now=now,
            pledges=self._pledged(),
            versions=self._versions,
        )

    def snapshot(self, now: float) -> Snapshot:
        """The input of a run at this instant."""
        return self._snapshot(self._show(now), now)

    def _pledged(self) -> tuple[Pledge, ...]:
        """The charges for slots that are being assigned."""
        self._pledges = {
            claim_id: (slot, pledge)
            for claim_id, (slot, pledge) in self._pledges.items()
            if claim_id in self.promised and slot.machine.alive and slot.state.offered.text == claim_id
        }
        return tuple(pledge for _, pledge in self._pledges.values())

    def _offered(self, slot: SimulatedSlot) -> str | None:
        """The claim that a slot offers, unless it was already assigned."""
        state = slot.state
        if is_free(slot):
            claim = state.claim
        elif state.state is State.CLAIMED and state.preempting is not None and state.waiting is None:
            claim = state.preempting
        else:
            return None
        return None if claim.id.text in self._withheld else claim.id.text

    def _demands(self, now: float) -> tuple[SubmitterDemand, ...]:
        """The queue's demand at this instant."""
        offered = self.queue.core.offered(now)
        counts = self.queue.core.submitter_ads() if self.settings.policy.any else {}
        room = max(0, self.queue.core.claim_table.places(now) - sum(self._given.values()))
        found = []
        for submitter, groups in offered.items():
            about = self._submitter_ad(submitter, counts.get(submitter))
            requests = tuple(self._requests(submitter, groups))
            found.append(
                SubmitterDemand(
                    schedd=NAME, submitter=submitter, requests=requests, ad=about, room=room,
                    arrivals=self.queue.core.book.arrivals,
                )
            )  # fmt: skip
        return tuple(found)

    def _submitter_ad(self, submitter: str, counts: dict[str, Any] | None) -> ClassAd:
        """A submitter's ad, which no policy refers to if it has no counts of jobs."""
        said = {"Name": submitter, "ScheddName": NAME, "Machine": NAME}
        if counts is not None:
            return ClassAd({**counts, **said})
        found = self._submitter_ads.get(submitter)
        if found is None:
            found = self._submitter_ads[submitter] = ClassAd(said)
        return found

    def _requests(self, submitter: str, groups: list[IdleGroup]) -> list[Request]:
        """The requests of a submitter, less the slots it has been assigned; adjacent ones of one autocluster are
        merged.
        """
        sample = self.queue.core.book.autoclusters.sample
        places = self.queue.core.claim_table.places(self.engine.now)
        given = {autocluster: count for (name, autocluster), count in self._given.items() if name == submitter}
        found = []
        for number, count, job in self._together(groups):
            if count > places:
                count = places
            if number in given:
                count -= given[number]
            if count > 0:
                found.append(Request(autocluster=number, ad=sample(number), count=count, job=job))
        return found

    def _together(self, groups: list[IdleGroup]) -> list[tuple[int, int, str]]:
        """Consecutive autoclusters, each with the number of its jobs offered there and the first of these."""
        clusters = self.queue.core.book.clusters
        found = []
        number, count, job = -1, 0, ""
        for group in groups:
            if group.autocluster != number:
                first = group.first()
                if first is None:
                    continue
                if count:
                    found.append((number, count, job))
                number, count, job = group.autocluster, 0, f"{group.cluster}.{first}"
            count += group.count if group.unbounded else min(group.count, clusters[group.cluster].room)
        if count:
            found.append((number, count, job))
        return found

    # -- the result --------------------------------------------------------------------------------------

    def _hand_out(self, slots: _Named, match: Match, now: float) -> None:
        for each in match.slots:
            self.promised[each.claim_id] = now
            if each.pledge is not None:
                self._pledges[each.claim_id] = slots[each.slot], each.pledge
        self._tell(
            ev.MatchGiven(
                submitter=match.submitter,
                autocluster=match.autocluster,
                slot=match.slot,
                node=match.node,
                claim_id=match.claim_id,
                slot_ad=self._told_ad(slots[match.slot], match.slot_ad, now),
                task=None if match.pledge is None else match.pledge.task,
                parts=tuple(self._part(slots[part.slot], part, now) for part in match.parts),
            )
        )
        if self.informs:
            for each in match.slots:
                machine = slots[each.slot].machine
                self.bus.send(f"matcher>{machine.plan.name}", partial(machine.queue_link.matched, each.claim_id))

    def _told_ad(self, slot: SimulatedSlot, ad: ClassAd | None, now: float) -> ClassAd:
        """The ad of a slot as sent to its new user."""
        return restricted(pool_ad(slot, now) if ad is None else ad, self.settings.policy, self.settings.in_force)

    def _part(self, slot: SimulatedSlot, part: Part, now: float) -> ev.GivenPart:
        task, ad = part.pledge.task, self._told_ad(slot, None, now)
        assert task is not None, "only a cell gives a job several slots"
        return ev.GivenPart(slot=part.slot, node=part.node, claim_id=part.claim_id, slot_ad=ad, task=task)

    def _tell(self, event: ev.MatchGiven) -> None:
        # The negotiator's message takes time too, so the slot usually knows of the match before the claim request
        # arrives.
        given = event.submitter, event.autocluster
        self._given[given] += 1

        def arrive(now: float) -> None:
            self._given[given] -= 1
            if not self._given[given]:
                del self._given[given]
            self.queue.hear(event, now)

        self.bus.send("matcher>queue", arrive, reliable=True)


def _is_constant(policy: ClassAd) -> bool:
    rank = policy.cell("rank")
    return rank is MISSING or not isinstance(rank, Expr) or rank.is_literal
