"""The slots of simulated machines for a negotiator that examines them one by one (`roost.negotiator.single_slots`).

After each transition of a slot its holder, weight and ranks are read. Its sensors are read only when the negotiator
examines the slot. A request that a slot refused, or that refused the slot, is not tried again before the slot's next
poll or transition, unless the evaluation depends on the clock or on random numbers.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Final, TypeAlias

import numpy as np

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.negotiator.memory import Key
from roost.negotiator.reach import reach
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.single_slots import own_ranks
from roost.negotiator.view import SlotView, charged_for, weight_of
from roost.node.host_plan import SlotPlan
from roost.policy.decision import StepWorld
from roost.sim.machine.host import Machine, SimulatedSlot
from roost.sim.simulated_slot_terms import Terms, expressions_in, refuses_with_owner
from roost.startd.attributes import is_offered, overlay, requirements
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.states import BACKFILL, BACKFILL_BUSY, State

#: Place of the machine, and of the slot on it.
_Place: TypeAlias = tuple[int, int]
#: Sort key of a free slot in the order of offers: both ranks, negated; its place; its row.
_Offer: TypeAlias = tuple[float, float, _Place, int]

#: The user of a job: `_WHOSE` of its ad.
_Whose: TypeAlias = tuple[object, ...]

#: Attributes of a job that decide which user is charged, and its limits.
_WHOSE: Final = ("user", "owner", "accountinggroup", "niceuser", "concurrencylimits")
#: Types of cells whose value is constant.
_SAID: Final = frozenset((str, bool, MISSING.__class__))
_row_of: Final = itemgetter(3)
#: States in which a user may be charged for a slot.
_IN_USE: Final = (State.CLAIMED, State.PREEMPTING)
#: Maximum number of slots whose weight and ranks are cached.
WORTHS_MAX: Final = 100_000
#: The expressions of a free slot about a job.
_ASKS: Final = ("start", "withinresourcelimits", "isvalidcheckpointplatform")


def is_free(slot: SimulatedSlot) -> bool:
    """Whether a slot is unclaimed, and might accept some job."""
    state = slot.state
    match state.state:
        case State.UNCLAIMED:
            return True
        case State.BACKFILL:
            free = state.pair in (BACKFILL, BACKFILL_BUSY) and state.destination is None
            return free and state.claim.request is None
        case State.OWNER:
            return is_offered(state) and not refuses_with_owner(slot)
        case State.DRAINED:
            return is_offered(state)
        case _:
            return False


@dataclass(slots=True, eq=False)
class _Row:
    """A slot of the source."""

    slot: SimulatedSlot
    place: _Place
    #: The inputs of its weight and ranks.
    plan: object = None
    weight: float = -1.0
    #: Its key among the free slots; None if it is not free.
    offer: _Offer | None = None
    #: Ad of the job for which it is used.
    job: ClassAd | None = None
    #: The user attributes of the charged job, and the charged user.
    whose: _Whose | None = None
    user: str = ""


class _Claims(Mapping[str, str]):
    """Name of a slot to the text of its claim id, made on demand."""

    def __init__(self, rows: Mapping[str, _Row]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> str:
        return self._rows[name].slot.state.claim.id.text

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class SimulatedSlots:
    """See the module."""

    def __init__(self, place: Mapping[int, int], settings: NegotiatorSettings) -> None:
        self.settings = settings
        #: Place of each machine, by its index, in the order in which equal slots are offered.
        self._place = place
        #: Instant of the cycle.
        self.now = 0.0
        #: Texts of the claims that the queue has requested: their slots are no longer available.
        self.asked_for: Container[str] = ()
        self.names: list[str] = []
        self.nodes: dict[str, str] = {}
        self._rows: list[_Row | None] = []
        #: Place of a machine to the rows of its slots, by their own.
        self._at: dict[int, dict[int, int]] = {place: {} for place in place.values()}
        self._by_name: dict[str, _Row] = {}
        #: Name of a slot to the claim that it offers.
        self.claims: Mapping[str, str] = _Claims(self._by_name)
        self._unused: list[int] = []
        self._free: list[_Offer] = []
        self._available = np.zeros(0, bool)
        self._weights = np.zeros(0)
        #: Sum of all weights; None if it has to be computed again.
        self._sum: float | None = None
        #: False, and -1, for each row.
        self._nobody, self._no_holder = np.zeros(0, bool), np.zeros(0, np.int32)
        #: User to weight and number of slots.
        self._usage: dict[str, tuple[float, int]] = {}
        #: Row to the ConcurrencyLimits of its job.
        self._licences: dict[int, str] = {}
        #: Weight and ranks of a slot that is not in use, by all their possible inputs; see `_worth`.
        self._worths: dict[tuple[object, ...], tuple[SlotPlan, tuple[float, float, float]]] = {}
        #: The same for slots that are not free: weight, charged user, and the limits of the job.
        self._uses: dict[tuple[object, ...], tuple[SlotPlan, tuple[float, str, str]]] = {}
        self._terms = Terms()
        #: By identity, which is kept alive: policies of slots and ads of jobs that depend on the clock or on random
        #: numbers.
        self._unsteady: dict[int, tuple[object, bool]] = {}

    # -- the slots ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of free slots."""
        return len(self._free)

    def __getitem__(self, name: str, /) -> SimulatedSlot:
        """A slot by name."""
        return self._by_name[name].slot

    def agree(self, terms: Terms) -> None:
        """Set the inputs of ranks and weights after a change of the machines' configuration."""
        self._terms = terms
        self._worths.clear()
        self._uses.clear()

    def look(self, slot: SimulatedSlot) -> None:
        """Note a change of a slot: a transition, new sizes, its creation, or its removal."""
        machine = slot.machine
        place = self._place[machine.index], slot.order
        number = self._at[place[0]].get(place[1])
        if slot.state.deleted or not machine.alive:
            if number is not None:
                self._remove(number)
            return
        if number is None:
            number = self._add(place, slot)
        row = self._rows[number]
        assert row is not None
        row.slot = slot
        self._see(number, row)

    def forget(self, machine: Machine) -> None:
        """Forget the slots of a dead machine."""
        for number in list(self._at[self._place[machine.index]].values()):
            self._remove(number)

    def catch_up(self, machine: Machine) -> None:
        """Examine slots that were cut, created or removed without a transition."""
        mine = self._at[self._place[machine.index]]
        there = {slot.order for slot in machine.slots}
        for number in [number for order, number in mine.items() if order not in there]:
            self._remove(number)
        for slot in machine.slots:
            at = mine.get(slot.order)
            row = None if at is None else self._rows[at]
            if row is None or row.slot is not slot or row.plan is not slot.plan:
                self.look(slot)

    def _add(self, place: _Place, slot: SimulatedSlot) -> int:
        row = _Row(slot, place)
        if self._unused:
            number = self._unused.pop()
            self._rows[number] = row
        else:
            number = len(self._rows)
            self._rows.append(row)
            self.names.append("")
            if number >= len(self._weights):
                more = max(64, number)
                self._available = np.concatenate((self._available, np.zeros(more, bool)))
                self._weights = np.concatenate((self._weights, np.zeros(more)))
        self._at[place[0]][place[1]] = number
        name = self.names[number] = slot.plan.name
        self._by_name[name] = row
        self.nodes[name] = slot.machine.plan.name
        return number

    def _remove(self, number: int) -> None:
        row = self._rows[number]
        assert row is not None
        self._offer(number, row, None)
        self._charge(number, row, 0.0)
        self._rows[number] = None
        self._unused.append(number)
        del self._at[row.place[0]][row.place[1]]
        name, self.names[number] = self.names[number], ""
        if self._by_name.get(name) is row:
            del self._by_name[name]

    # -- a slot ------------------------------------------------------------------------------------------

    def _see(self, number: int, row: _Row) -> None:
        slot = row.slot
        state = slot.state
        if is_free(slot):
            row.plan, row.job = slot.plan, None
            weight, first, last = self._worth(slot)
            if row.whose is not None or weight != row.weight:
                self._charge(number, row, weight)
            self._offer(number, row, (-first, -last, row.place, number))
            return
        job = state.claim.job_ad if state.state in _IN_USE else None
        if job is row.job and row.offer is None and slot.plan is row.plan:
            return
        self._offer(number, row, None)
        whose = None if job is None else tuple(map(job.cell, _WHOSE))
        if whose != row.whose or slot.plan is not row.plan:
            self._charge(number, row, *self._use(slot, whose))
        row.plan, row.job = slot.plan, job

    def _use(self, slot: SimulatedSlot, whose: _Whose | None) -> tuple[float, str, str, _Whose | None]:
        """Weight of a slot that is not free, charged user, limits of its job, and the user of the job."""
        key = id(slot.plan), whose
        # If it is computed, for instance from expressions, it is computed each time.
        lasts = self._terms.weight_lasts and (whose is None or all(cell.__class__ in _SAID for cell in whose))
        known = self._uses.get(key) if lasts else None
        if known is None:
            state, now = slot.state, slot.machine.engine.now
            world = StepWorld(slot.plan.policy, state.name, now)
            ad = overlay(state, slot.plan.policy, now)
            limits = ad.cell("concurrencylimits")
            user = "" if whose is None else charged_for(ad, world)
            use = weight_of(ad, self.settings, world), user, limits if isinstance(limits, str) else ""
            known = slot.plan, use
            if lasts:
                if len(self._uses) >= WORTHS_MAX:
                    self._uses.clear()
                self._uses[key] = known
        return *known[1], whose

    def _worth(self, slot: SimulatedSlot) -> tuple[float, float, float]:
        """Weight and ranks of a free slot."""
        state = slot.state
        # The plan is kept with it, so that its identity stays unique.
        key = id(slot.plan), state.state, state.benchmarks.mips, state.benchmarks.kflops
        known = self._worths.get(key) if self._terms.worth_lasts else None
        if known is None:
            now = slot.machine.engine.now
            world = StepWorld(slot.plan.policy, state.name, now)
            ad = overlay(state, slot.plan.policy, now)
            worth = weight_of(ad, self.settings, world), *own_ranks(ad, None, self.settings, world)
            if len(self._worths) >= WORTHS_MAX:
                self._worths.clear()
            known = self._worths[key] = slot.plan, worth
        return known[1]

    def _offer(self, number: int, row: _Row, offer: _Offer | None) -> None:
        if offer == row.offer:
            return
        if row.offer is not None:
            del self._free[bisect_left(self._free, row.offer)]
        if offer is not None:
            insort(self._free, offer)
        row.offer = offer
        self._available[number] = offer is not None

    def _charge(
        self, number: int, row: _Row, weight: float, user: str = "", limits: str = "", whose: _Whose | None = None
    ) -> None:
        if self._weights.item(number) != weight:
            self._weights[number] = weight
            self._sum = None
        self._licences.pop(number, None)
        if user and limits:
            self._licences[number] = limits
        for name, change, count in ((row.user, -row.weight, -1), (user, weight, 1)):
            if name:
                used, slots = self._usage.get(name, (0.0, 0))
                if slots + count:
                    self._usage[name] = used + change, slots + count
                else:
                    del self._usage[name]
        row.whose, row.user, row.weight = whose, user, weight

    # -- the view of a cycle -----------------------------------------------------------------------------

    def view(self) -> SlotView:
        """See `SlotSource`."""
        size = len(self._rows)
        if len(self._nobody) != size:
            self._nobody, self._no_holder = np.zeros(size, bool), np.full(size, -1, np.int32)
        nobody, weights = self._nobody, self._weights[:size]
        if self._sum is None:
            self._sum = float(weights.sum())
        taken = size - len(self._unused) - len(self._free)
        return SlotView(
            names=self.names,
            available=self._available[:size],
            occupied=nobody,
            shrinks=nobody,
            holder=self._no_holder,
            holders=[],
            current_rank=nobody,
            weight=weights,
            size=self._sum,
            unavailable={"no-claim-offered": taken} if taken else {},
            out=np.where(self._available[:size], 0, 3),
        )

    def usage(self) -> Mapping[str, tuple[float, int]]:
        """See `SlotSource`."""
        return self._usage

    def licences(self) -> Iterable[str]:
        """See `SlotSource`."""
        return self._licences.values()

    def ad(self, row: int) -> ClassAd | None:
        """See `SlotSource`: the slot's ad as of its last poll."""
        found = self._rows[row]
        if found is None or found.slot.state.claim.id.text in self.asked_for:
            return None
        slot = found.slot
        slot.machine.sync(self.now)
        ad = overlay(slot.state, slot.plan.policy, self.now)
        ad.cells["requirements"] = requirements(slot.state, slot.plan.policy)
        return ad

    def rows(self) -> Iterator[int]:
        """See `SlotSource`."""
        return map(_row_of, self._free)

    def ranks(self, row: int) -> tuple[float, float]:
        """See `SlotSource`."""
        found = self._rows[row]
        assert found is not None and found.offer is not None
        return -found.offer[0], -found.offer[1]

    def place(self, row: int) -> tuple[int, ...]:
        """See `SlotSource`."""
        found = self._rows[row]
        assert found is not None and found.offer is not None
        return found.offer[2]

    def leaves_ranks(self, ad: ClassAd) -> bool:
        """See `SlotSource`."""
        if not self._terms.say.isdisjoint(ad.cells):
            return False
        return ad.chained is None or self.leaves_ranks(ad.chained)

    def refusal(self, row: int, key: Key) -> int | None:
        """See `SlotSource`."""
        found = self._rows[row]
        if found is None:
            return None
        known = found.slot.rejected.get(key)
        if known is None:
            return None
        found.slot.machine.sync(self.now)
        return known[1] if known[0] == found.slot.machine.polling.polled_at else None

    def refuse(self, row: int, key: Key, verdict: int) -> None:
        """See `SlotSource`."""
        found = self._rows[row]
        if found is not None and not self._is_unsteady(found.slot.plan.policy):
            found.slot.rejected[key] = found.slot.machine.polling.polled_at, verdict

    def _is_unsteady(self, policy: SlotPolicy) -> bool:
        """Whether a slot's requirements on jobs depend on the clock or on random numbers."""
        known = self._unsteady.get(id(policy))
        if known is None:
            seeds = [each for name in _ASKS for each in expressions_in((policy.expressions,), name)]
            found = reach(seeds, partial(expressions_in, (policy.expressions,)))
            known = self._unsteady[id(policy)] = policy, found.unsteady
        return known[1]
