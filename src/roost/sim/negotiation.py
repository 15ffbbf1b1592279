"""The matchmaker of the simulated pool: the cycles of `roost.negotiator`, every NEGOTIATOR_INTERVAL.

Who gets which slot is decided by the very cycle of a real pool: slots' ads as of their last poll, requests in the order
of their submission and priority, users' accounts. Where ranks and policy allow it, free slots are asked one by one, the
best first (`shelf`); else all slots are brought into a table as the collector keeps one. Both give the same.

Jobs of a kind are one request, but where the pool's policy asks how often they were started: then jobs that were
started equally often are. A slot that was given away and has not answered yet is not given again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Final, Protocol, TypeAlias

import numpy as np

from roost.classad import ClassAd, Expr
from roost.classad.ad import MISSING
from roost.classad.vector import Table
from roost.classad.vector.kinds import Array
from roost.model import events as ev
from roost.negotiator.accounts import Accounts
from roost.negotiator.cycle import negotiate
from roost.negotiator.memory import Memory
from roost.negotiator.reach import significant
from roost.negotiator.settings import Settings
from roost.negotiator.singly import Singly
from roost.negotiator.snapshot import Match, Plan, Request, Snapshot, SubmitterDemand
from roost.negotiator.verdicts import may_be_true
from roost.negotiator.view import usage_of
from roost.schedd.book import submitter_of
from roost.sim.bus import Bus
from roost.sim.engine import RANK_CYCLE, Engine
from roost.sim.host import Machine, Slot
from roost.sim.pool_ads import pool_ad
from roost.sim.queue import Queue
from roost.sim.queue_entry import Entry
from roost.sim.shelf import LiveShelf, is_free
from roost.sim.shelf_terms import Terms, terms_of
from roost.startd.states import State

#: The kind of jobs that a request is for, and which of them they are; None for whichever is the oldest by then.
_Waiting: TypeAlias = tuple[str, list[Entry] | None]

_place_of: Final = itemgetter(0)
#: What the queue is called.
_QUEUE: Final = "sim"
#: Attributes of a job that tell how often it was started.
_STARTS: Final = frozenset(("numjobstarts", "numshadowstarts", "jobruncount", "numrestarts"))


class _Named(Protocol):
    """Slots by name."""

    def __getitem__(self, name: str, /) -> Slot:
        """A slot that there is."""


class Negotiation:
    """Cycles of the matchmaker."""

    def __init__(
        self,
        engine: Engine,
        bus: Bus,
        queue: Queue,
        machines: list[Machine],
        interval_s: float,
        order: list[int],
        settings: Settings,
        *,
        informs: bool = True,
        singly: bool = True,
    ) -> None:
        self.engine = engine
        self.bus = bus
        self.queue = queue
        self.machines = machines
        self.interval_s = interval_s
        #: Machines are told of matches.
        self.informs = informs
        #: Pairs of a request and a slot that were looked at.
        self.evaluations = 0
        self.accounts = Accounts()
        self.memory = Memory()
        self.slots = Table()
        #: Why jobs got nothing, requests counted by the texts of their rejections.
        self.rejections: dict[str, int] = {}
        #: The same by what stood in the way of some slot, for requests for which that is told.
        self.causes: dict[str, int] = {}
        #: User to weight and number of slots in use, at the last update of accounts.
        self._usage: Mapping[str, tuple[float, int]] = {}
        #: Owner to the number of their jobs that run, when it was looked at last.
        self._running: dict[str, int] = {}
        #: Place of each machine in the order in which they are offered.
        place = {index: at for at, index in enumerate(order)}
        self._ordered = sorted(machines, key=lambda each: place[each.index])
        #: Name of a slot to what its ad is of: state, whether it offers itself, claim, time of the poll.
        self._shown: dict[str, tuple[object, ...]] = {}
        self._versions: Array = np.zeros(64, np.int64)
        self._changes = 0
        self._numbers: dict[tuple[str, int], int] = {}
        #: The submitters' ads.
        self._submitters: dict[str, ClassAd] = {}
        self._may_be_singly = singly
        self.shelf = LiveShelf(place, settings)
        self.shelf.asked_for = queue.claims
        self.singly = Singly(self.shelf, settings)
        self.settings = settings
        # Where nothing can be preempted, nobody is visited for the sake of slots in use.
        self._settings_singly = replace(settings, consider_preemption=False)
        self.configured()
        engine.at(engine.now + interval_s, self._cycle, RANK_CYCLE)

    def configured(self) -> None:
        """The machines' configuration is there, or is another one."""
        slots = [slot for machine in self.machines for slot in machine.slots]
        ranks = any(not _is_constant(slot.plan.policy.expressions) for slot in slots)
        #: Whether slots in use may be had.
        self._preempts = self.settings.consider_preemption and (
            ranks or may_be_true(self.settings.preemption_requirements)
        )
        self._starts: bool | None = None
        terms = None if self._preempts else terms_of(self.settings, self.machines)
        self.asks_singly = self._may_be_singly and terms is not None
        self.shelf.agree(terms or Terms())
        # Slots come and go, and are cut anew, without a transition of theirs.
        self._divided = [machine for machine in self.machines if machine.plan.division is not None]
        for slot in slots:
            self.look(slot)

    def look(self, slot: Slot) -> None:
        """A slot has changed."""
        self.shelf.look(slot)

    def forget(self, machine: Machine) -> None:
        """The machine is dead."""
        self.shelf.forget(machine)

    def _cycle(self, now: float) -> None:
        self.engine.at(now + self.interval_s, self._cycle, RANK_CYCLE)
        if not self.queue.alive:
            return
        for machine in self._divided:
            if machine.alive:
                self.shelf.catch_up(machine)
        wanted = self.queue.idle.count > 0 and (len(self.shelf) > 0 or self._preempts)
        if not wanted and self.queue.running == self._running:
            # As long as nobody begins or ends, priorities move by a rule that the next update makes up for.
            return
        self._running = self.queue.running.copy()
        # Until the last cycle at least the use was what it had been; what was charged then is charged.
        if self.accounts.updated_at != now - self.interval_s:
            self.accounts.update(self._usage, now - self.interval_s, self.settings)
        if self.asks_singly:
            self._usage = dict(self.shelf.usage())
        else:
            by_name = self._show(now)
            self._usage = usage_of(self.slots, self.settings, now)
        self.accounts.update(self._usage, now, self.settings)
        if wanted and self.asks_singly:
            self._negotiate_singly(now)
        elif wanted and by_name:
            self._negotiate(by_name, now)

    def _negotiate(self, by_name: dict[str, Slot], now: float) -> None:
        waiting: dict[int, _Waiting] = {}
        snapshot = self._snapshot(by_name, waiting, now)
        plan = negotiate(snapshot, settings=self.settings, accounts=self.accounts, memory=self.memory)
        self.evaluations += len(waiting) * len(snapshot.claims)
        self._carry_out(plan, waiting, by_name, now)

    def _negotiate_singly(self, now: float) -> None:
        waiting: dict[int, _Waiting] = {}
        shelf = self.shelf
        shelf.now = now
        snapshot = Snapshot(
            slots=self.slots,
            claims=shelf.claims,
            nodes=shelf.nodes,
            demands=tuple(self._demands(waiting)),
            now=now,
            shelf=shelf,
        )
        plan = negotiate(snapshot, settings=self._settings_singly, accounts=self.accounts, memory=self.singly)
        self.evaluations += self.singly.judged_slots
        self._carry_out(plan, waiting, shelf, now)

    def _carry_out(self, plan: Plan, waiting: dict[int, _Waiting], slots: _Named, now: float) -> None:
        for rejection in plan.rejected.values():
            self.rejections[rejection.text] = self.rejections.get(rejection.text, 0) + 1
            for cause in rejection.causes or (rejection.text,):
                self.causes[cause] = self.causes.get(cause, 0) + 1
        for match in plan.matches:
            self._hand_out(slots[match.slot], waiting[match.autocluster], match, now)

    # -- what the matchmaker sees ------------------------------------------------------------------------

    def _show(self, now: float) -> dict[str, Slot]:
        """Bring the table of slots up to date; all slots by name, in the order in which they are offered."""
        found: dict[str, Slot] = {}
        for machine in self._ordered:
            for slot in machine.slots if machine.alive else ():
                found[slot.plan.name] = slot
        for name in [name for name in self._shown if name not in found]:
            row = self.slots.place(name)
            self.slots.remove(name)
            del self._shown[name]
            self._touch(row)
        for name, slot in found.items():
            state, polled_at = slot.state, 0.0
            offered = is_free(slot) or (self._preempts and state.preempting is not None)
            if offered:
                # What matters of the others is who has them: measurements are for those that may be had.
                slot.machine.sync(now)
                state, polled_at = slot.state, slot.machine.polling.polled_at
            present = state.state, offered, state.claim.id, polled_at
            if self._shown.get(name) != present:
                self._shown[name] = present
                self.slots.put(name, pool_ad(slot, now))
                self._touch(self.slots.place(name))
        return found

    def _touch(self, row: int) -> None:
        self._changes += 1
        if row >= len(self._versions):
            self._versions = np.concatenate((self._versions, np.zeros(row + 1, np.int64)))
        self._versions[row] = self._changes

    def _snapshot(self, by_name: dict[str, Slot], waiting: dict[int, _Waiting], now: float) -> Snapshot:
        claims = {name: text for name, slot in by_name.items() if (text := self._offered(slot)) is not None}
        return Snapshot(
            slots=self.slots,
            claims=claims,
            nodes={name: slot.machine.plan.name for name, slot in by_name.items()},
            demands=tuple(self._demands(waiting)),
            now=now,
            versions=self._versions,
        )

    def _offered(self, slot: Slot) -> str | None:
        """The claim that a slot offers, unless the queue has asked for it already."""
        state = slot.state
        if is_free(slot):
            claim = state.claim
        elif state.state is State.CLAIMED and state.preempting is not None and state.waiting is None:
            claim = state.preempting
        else:
            return None
        return None if claim.id.text in self.queue.claims else claim.id.text

    def _tells_starts(self) -> bool:
        """Whether how often a job was started may be asked by a slot."""
        if self._starts is None:
            policies = {id(slot.plan.policy): slot.plan.policy for each in self.machines for slot in each.slots}
            cells: list[object] = [cell for policy in policies.values() for cell in policy.expressions.cells.values()]
            imposed = self.settings.policy
            cells += [imposed.resource, imposed.job, imposed.job_only, self.settings.job_constraint]
            asked = (cell.mentioned for cell in cells if isinstance(cell, Expr))
            self._starts = any(_asks_starts(names.plain | names.target | names.my) for names in asked)
        return self._starts

    def _demands(self, waiting: dict[int, _Waiting]) -> Iterable[SubmitterDemand]:
        apart = self._tells_starts() if self.asks_singly else _asks_starts(significant(self.slots, self.settings))
        requests: dict[str, list[tuple[tuple[float, float, int], Request]]] = {}
        kinds = self.queue.idle.kinds
        for kind in sorted(kind for kind, heap in kinds.items() if heap):
            heap = kinds[kind]
            groups: dict[int, list[Entry]] = {}
            for _, _, entry in sorted(heap, key=lambda each: each[:2]) if apart else heap[:1]:
                groups.setdefault(entry.starts if apart else 0, []).append(entry)
            for starts, entries in groups.items():
                number = self._numbers.setdefault((kind, starts), len(self._numbers) + 1)
                waiting[number] = kind, entries if apart else None
                first = entries[0]
                ad = _started(first.job.ad, starts) if apart else first.job.ad
                count = len(entries) if apart else len(heap)
                request = Request(autocluster=number, ad=ad, count=count, job=first.job.name)
                priority = 0.0 if ad.cell("jobprio") is MISSING else ad.eval("JobPrio")
                place = -float(priority) if isinstance(priority, int | float) else 0.0
                by = requests.setdefault(submitter_of(ad), [])
                by.append(((place, first.job.submitted_at, first.number), request))
        for submitter, found in sorted(requests.items()):
            about = self._submitters.get(submitter)
            if about is None:
                about = self._submitters[submitter] = ClassAd(Name=submitter, ScheddName=_QUEUE, Machine="submit")
            ordered = tuple(request for _, request in sorted(found, key=_place_of))
            yield SubmitterDemand(schedd=_QUEUE, submitter=submitter, requests=ordered, ad=about)

    # -- what comes of it --------------------------------------------------------------------------------

    def _hand_out(self, slot: Slot, waiting: _Waiting, match: Match, now: float) -> None:
        kind, entries = waiting
        machine, preempts = slot.machine, match.preempts != "none"
        claim = slot.state.preempting if preempts else slot.state.claim
        if claim is None or (entries is None and self.queue.idle.head(kind) is None):
            return
        entry = None if entries is None else entries.pop(0)
        if not self.queue.matched(machine, claim.id, kind, now, preempts=preempts, entry=entry):
            return
        if not self.informs:
            return
        event, claim_id = ev.MatchReceived(claim_id=claim.id), claim.id
        self.bus.send(f"matcher>{machine.plan.name}", lambda then: machine.address(claim_id, event, then))


def _asks_starts(names: Iterable[str]) -> bool:
    return not _STARTS.isdisjoint(names)


def _started(ad: ClassAd, starts: int) -> ClassAd:
    """A job's ad after so many starts."""
    found = ad.copy()
    for name in ("NumJobStarts", "NumShadowStarts", "JobRunCount"):
        found[name] = starts
    found["NumRestarts"] = max(0, starts - 1)
    return found


def _is_constant(policy: ClassAd) -> bool:
    rank = policy.cell("rank")
    return rank is MISSING or not isinstance(rank, Expr) or rank.is_literal
