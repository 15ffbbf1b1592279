"""The central manager's daemon: the collector's table and the negotiator, connected to the bus.

Cycles are driven by events: an idle job or a free slot starts one at once, other changes are considered periodically
(`roost.negotiator.timing`); NEGOTIATOR_INTERVAL is the maximum time between two cycles. `PendingMatches` tracks
assigned slots; `CentralAnswers` answers requests, and `CentralAudit` records decisions.

It stores nothing that other daemons would not send it again, except users' accounts: after a start it sends a hello,
and all daemons answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import traceback
from collections.abc import Callable
from typing import Final, TypeVar

from roost.classad import ClassAd
from roost.collector.table import LIFETIME_S, SLOT, AdTable
from roost.config import Config, ConfigError
from roost.config.access import access
from roost.defrag.policy import is_wanted
from roost.model.addresses import daemon_address
from roost.model.causes import CauseIds
from roost.model.digests import digest
from roost.negotiator.accountant import CHARGED_EVERY_S
from roost.negotiator.settings import intervals_from
from roost.negotiator.snapshot import Plan, Pledge, Snapshot, SubmitterDemand
from roost.negotiator.timing import CycleTimer, Urgency
from roost.runtime.background import Background
from roost.runtime.bus.budget import time_max_of
from roost.runtime.bus.client import Bus
from roost.runtime.bus.lanes import Lanes
from roost.runtime.central.answers import CentralAnswers
from roost.runtime.central.audit import CentralAudit
from roost.runtime.central.cell import PoolCell
from roost.runtime.central.defragmenter import Defragmenter
from roost.runtime.central.matchmaker import Matchmaker
from roost.runtime.central.pending_matches import PendingMatches
from roost.runtime.daemon_ads import DutyCycle, central_identity, place_of
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.deciding import Deciding, in_slices
from roost.runtime.keep_going import keep_going
from roost.runtime.role import ConfigurationRefused, RoleContext, must_go_on, superusers
from roost.wire import messages as m
from roost.wire.ads import ad_data, ad_from
from roost.wire.errors import WireError
from roost.wire.messages import Message
from roost.wire.parts import in_parts
from roost.wire.structs import AdData

_log = logging.getLogger("roost.central")
_matchmaker_log = logging.getLogger("roost.matchmaker")

_M = TypeVar("_M", bound=Message)

#: Changes within this time share one cycle, s.
GATHER_S: Final = 0.005
#: A request that arrives when there was no cycle for that long is alone, s: a user who submits one job waits for it.
QUIET_S: Final = 0.1
#: How long a cycle waits for reports of slots that jobs have just left, s.
SLOT_HEARD_S: Final = 0.25
_EXPIRE_S: Final = 60.0
#: How long a queue's jobs are left out while it has not distinguished them by the attributes that matter now, s.
SETTLED_S: Final = 5.0
#: Maximum interval between two ads of the negotiator, s.
SHOW_EVERY_S: Final = 300.0
#: How much of the error that ended a cycle is shown, characters.
_FAILURE_CHARS_MAX: Final = 300
#: MyType of ads that queues and machines send about themselves.
_ABOUT_ITSELF: Final = ("Scheduler", "DaemonMaster")


def _parts(ad: ClassAd) -> int:
    """The number of parts into which a slot is divided."""
    count = ad.get("NumDynamicSlots")
    return count if isinstance(count, int) else 0


class CentralDaemon:
    """A running collector and negotiator."""

    def __init__(self, context: RoleContext, config: Config, bus: Bus) -> None:
        self.context = context
        self.administrators, self.lists = superusers(config), access(config, "COLLECTOR")
        self.bus = bus
        self.subjects = bus.subjects
        self.clock = context.clock
        self.started_at = self.clock.now()
        self.table = AdTable(config.get_float("CLASSAD_LIFETIME", LIFETIME_S))
        try:
            self.cycle_timer = CycleTimer(intervals_from(config))
            self.matchmaker = Matchmaker(config, context.home.run / "priorities.json", context.home.log)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from error
        self.audit = CentralAudit(self, config)
        self.informs = config.get_bool("NEGOTIATOR_INFORM_STARTD", False, subsys="NEGOTIATOR")
        self.answers = CentralAnswers(self)
        self.lanes = Lanes(bus, self.answers.on_ask)
        self.request_time_max_s = time_max_of(config)
        self.pending_matches = PendingMatches()
        self.cell = PoolCell(self)
        self.cell.configure(config)
        self.deciding = Deciding()
        #: Job attributes on which matching depends; None before the first cycle.
        self._significant: list[str] | None = None
        #: Until when to wait for queues that distinguish their jobs by other attributes, on the loop's clock.
        self._settled_at = 0.0
        self._background = Background(_log)
        self.spawn = self._background.spawn
        self._wanted = asyncio.Event()
        self.last: Plan | None = None
        self.last_s = 0.0
        self.cycles = 0
        #: Why the last cycle failed; "" if it succeeded.
        self._cycle_failure = ""
        self._shown_cycles = -1
        self._shown_at = 0.0
        self._started_at = context.clock.now()
        self._duty = DutyCycle()
        record = context.home.run / "defrag.json"
        wanted = is_wanted(config)
        self.defragmenter = Defragmenter(bus, self.table, config, context.name, record, self.clock) if wanted else None

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen, send a hello, start cycles."""
        await self.bus.listen(self.subjects.slots("*"), self._on_slots)
        await self.bus.listen(self.subjects.demand("*"), self._on_demand)
        await self.bus.listen(self.subjects.ads("*"), self._on_ads)
        await self.bus.listen(self.subjects.audit("*"), self._on_audit)
        await self.bus.listen(f"{self.subjects.prefix}.central.ask.*", self.lanes.take)
        self.bus.on_reconnect = self._came_back
        # A program that makes a request as soon as the pool is up finds the collector and the negotiator.
        self._show(self.clock.now())
        await self._hello()
        must_go_on(self.spawn(self._cycles(), "matchmaking"))
        # A running collector shows why something fails, so neither failure ends it.
        for work, name in ((self._expire, "expiry of ads"), (self.show_accounts, "accounting")):
            self.spawn(keep_going(work, name, _log), name)
        self.audit.start()
        if self.defragmenter is not None:
            self.defragmenter.start()

    def _came_back(self) -> None:
        """Note that recent messages may be lost."""
        self.matchmaker.told = False
        self.deciding.change(self.pending_matches.all_lost)
        self.spawn(self._hello())
        self.spawn(self._repeat_significant())

    async def _hello(self) -> None:
        await self.bus.send(self.subjects.everybody(self.context.name), m.Hello(started_at=self.started_at))

    async def reconfigure(self, config: Config) -> None:
        """Use another configuration."""
        await self.deciding.over()
        try:
            intervals = intervals_from(config)
            self.matchmaker.configure(config)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from error
        self.administrators, self.lists = superusers(config), access(config, "COLLECTOR")
        self.audit.reconfigure(config)
        self.request_time_max_s = time_max_of(config)
        self.table.lifetime_s = config.get_float("CLASSAD_LIFETIME", LIFETIME_S)
        self.cell.configure(config)
        self.cycle_timer.intervals = intervals
        # The change may be the fix for failing cycles.
        self.cycle_timer.failed = False
        self.informs = config.get_bool("NEGOTIATOR_INFORM_STARTD", False, subsys="NEGOTIATOR")
        if self.defragmenter is not None:
            self.defragmenter.reconfigure(config)
        await self._tell_significant()
        self.ask_for_cycle(Urgency.URGENT)

    async def stop(self, ending: DaemonEnding) -> None:
        """Stop."""
        if self.defragmenter is not None:
            self.defragmenter.stop()
        self.matchmaker.charge(self.table, self.clock.now(), at_once=True)
        self.matchmaker.policy_log.close()
        self.lanes.close()
        self._background.cancel()
        self.audit.close()

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(min(_EXPIRE_S, self.table.lifetime_s / 4))
            await self.deciding.over()
            now = self.clock.now()
            expired = list(self.table.aged(now).values())
            for name in self.table.expire(now):
                _log.info("%s was not republished within its lifetime and was dropped", name)
            await self.cell.unheard(expired)
            await self._repeat_significant()

    # -- ads -----------------------------------------------------------------------------------------

    def _on_slots(self, message: Message, sender: str, reply: str) -> None:
        if isinstance(message, m.SlotAds):
            self._changes(self._slots, message, sender)

    def _on_demand(self, message: Message, sender: str, reply: str) -> None:
        if isinstance(message, m.Demand):
            self._changes(self._demand, message, sender)

    def _on_ads(self, message: Message, sender: str, reply: str) -> None:
        if isinstance(message, m.DaemonAds):
            self._changes(self._daemons, message, sender)

    def _on_audit(self, message: Message, sender: str, reply: str) -> None:
        if isinstance(message, m.Audit):
            self._heard(self.audit.keeper.take, message, sender)

    def _changes(self, take: Callable[[_M, str], None], message: _M, sender: str) -> None:
        self.deciding.change(lambda: self._heard(take, message, sender))

    def _heard(self, take: Callable[[_M, str], None], message: _M, sender: str) -> None:
        try:
            take(message, sender)
        except (WireError, ValueError) as error:
            _log.warning("from %s: %s: %s", sender, type(message).__name__, error)

    def _own(self, kind: str, name: str, sender: str) -> None:
        """Check that the sender may publish or withdraw an ad: not one that another sender keeps alive. Raises
        WireError."""
        known = self.table.get(kind, name)
        if known is not None and known.sender != sender:
            raise WireError(f"{known.sender} publishes the {kind} ad {name!r}")

    def _slots(self, message: m.SlotAds, sender: str) -> None:
        now = self.clock.now()
        names, urgency = [], Urgency.CHANGED
        for data in message.ads:
            ad = ad_from(data)
            name = ad.get("Name")
            if not isinstance(name, str):
                raise WireError("a slot's ad has no Name")
            self._own(SLOT, name, sender)
            names.append(name)
            claim_id = message.claim_ids.get(name, "")
            if self._offers_itself(name, ad, claim_id):
                urgency = Urgency.URGENT
            self.table.put(ad, sender=sender, now=now, claim_id=claim_id)
            self.pending_matches.offered(self.table.spelled(SLOT, name), claim_id)
            self.cell.heard_slot(ad)
        left = []
        for name in message.gone:
            self._own(SLOT, name, sender)
            if (known := self.table.get(SLOT, name)) is not None:
                left.append(known)
            spelled = self.table.spelled(SLOT, name)
            self.table.remove(SLOT, name)
            self.pending_matches.gone(spelled)
        if message.whole or message.present:
            self.table.only(SLOT, sender, [*names, *message.present])
        if message.leaves:
            self.spawn(self.cell.unheard(left, leaves=True))
        self.ask_for_cycle(urgency)

    def _offers_itself(self, name: str, ad: ClassAd, claim_id: str) -> bool:
        """Whether a slot may be assigned to a submitter that could not have it before.

        It has another claim or another state, or has got back the resources of a part.
        """
        known = self.table.get(SLOT, name)
        if known is None or known.claim_id != claim_id or _parts(ad) < _parts(known.ad):
            return True
        return any(known.ad.get(key) != ad.get(key) for key in ("State", "Activity"))

    def ask_for_cycle(self, urgency: Urgency) -> None:
        """Request a cycle of the negotiator."""
        self.cycle_timer.ask_for_cycle(urgency)
        self._wanted.set()

    def _daemons(self, message: m.DaemonAds, sender: str) -> None:
        now = self.clock.now()
        for data in message.ads:
            ad = ad_from(data)
            kind, name = ad.get("MyType"), ad.get("Name")
            if kind not in _ABOUT_ITSELF or name != sender:
                raise WireError(f"{sender} may not publish the {kind} ad {name!r}")
            self.table.put(ad, sender=sender, now=now)
        if sender in message.gone:
            for kind in _ABOUT_ITSELF:
                self.table.remove(kind, sender)

    def _demand(self, message: m.Demand, sender: str) -> None:
        heard = self.pending_matches.wanted(message, sender, self.clock.now())
        self.cell.heard_errors(sender, message.errors)
        self.cell.heard_usage(sender, message.usage)
        if self.cell.heard(sender, message.cell, message.cell_states, begins=heard.begins) or heard.begins:
            self.matchmaker.told = False
            self.spawn(self._repeat_significant())
        now = self.clock.now()
        for name, data in message.ads.items():
            about = {"MyType": "Submitter", "Name": f"{name}", "ScheddName": sender, "Machine": sender}
            ad = ad_from({**data, **about})
            self.table.put(ad, sender=sender, now=now)
        self.table.only("Submitter", sender, message.ads)
        if heard.urgency is not None:
            self.ask_for_cycle(heard.urgency)

    # -- cycles --------------------------------------------------------------------------------------

    async def _cycles(self) -> None:
        ended = -math.inf
        while True:
            while (left := self.cycle_timer.due() - asyncio.get_running_loop().time()) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._wanted.wait()
                self._wanted.clear()
            await self._slots_heard()
            if asyncio.get_running_loop().time() - ended < QUIET_S:
                await asyncio.sleep(GATHER_S)
            self.cycle_timer.begin(asyncio.get_running_loop().time())
            failure = await self._contained()
            ended = asyncio.get_running_loop().time()
            self.cycle_timer.end(ended, failed=bool(failure))
            if failure != self._cycle_failure:
                self._cycle_failure = failure
                self.context.home.note_shortcoming(self.context.role, failure, "matchmaking")

    async def _contained(self) -> str:
        """Run a cycle whose failure ends nothing else, such as the collector. Return why it failed; "" if it
        succeeded.
        """
        try:
            await self._cycle()
        except Exception as error:
            _matchmaker_log.exception(
                "internal error: the matchmaking cycle failed; the next one runs at the usual interval"
            )
            self.matchmaker.forget()
            # Its matches may not have been sent.
            self.pending_matches.all_lost()
            said = traceback.format_exception_only(error)[-1].strip()
            log = self.context.home.log / f"{self.context.role}.log"
            return (
                "no jobs are being matched: every matchmaking cycle ends with an internal error "
                f"({said[:_FAILURE_CHARS_MAX]}). The negotiator tries again at each interval. Undo the "
                f"most recent change, and report the traceback in {log}"
            )
        return ""

    async def _slots_heard(self) -> None:
        """Wait for slots whose claims are over: a job that had to leave a slot is then matched with that one
        included.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + SLOT_HEARD_S
        while self.pending_matches.awaits_slots(lambda name: self.table.get(SLOT, name)) and loop.time() < until:
            self._wanted.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(until - loop.time()):
                    await self._wanted.wait()
        self.pending_matches.await_no_slots()

    async def show_accounts(self) -> None:
        """Charge users even if nothing is requested, and publish the accounts and the negotiator's ad."""
        while True:
            await asyncio.sleep(CHARGED_EVERY_S)
            await self.deciding.over()
            now = self.clock.now()
            charged = self.matchmaker.charge(self.table, now)
            if charged or self.cycles != self._shown_cycles or now - self._shown_at > SHOW_EVERY_S:
                self._shown_cycles, self._shown_at = self.cycles, now
                self._show(now)

    def _show(self, now: float) -> None:
        name, duty = self.context.name, self._duty.read()
        for ad in (*self.matchmaker.ads(self.last, name, self.cycles, self.last_s), self.table.ad(name)):
            if ad["Name"] == name:
                daemon = "collector" if ad["MyType"] == "Collector" else "negotiator"
                address = daemon_address(place_of(self.context.bus.urls), name, daemon)
                about = central_identity(name, address=address, started_at=self._started_at) | duty
                for attribute, value in about.items():
                    ad[attribute] = value
            self.table.put(ad, sender=name, now=now)

    async def _tell_significant(self) -> None:
        names = self.matchmaker.news(self.table)
        if names is not None:
            names = (*names, *self.cell.significant)
            before, self._significant = self._significant, list(names)
            if before is not None and before != self._significant:
                self._settled_at = asyncio.get_running_loop().time() + SETTLED_S
            await self._repeat_significant()

    async def _repeat_significant(self) -> None:
        """Send queues the significant attributes again: some may have connected since they changed, or not have
        received them.
        """
        if self._significant is not None:
            subject = self.subjects.everybody(self.context.name)
            told = m.Significant(attributes=self._significant, policy=self.matchmaker.policy)
            await self.bus.send(subject, told)

    async def _cycle(self) -> None:
        await self._tell_significant()
        now = self.clock.now()
        self.pending_matches.tidy(now)
        for schedd, question in self.pending_matches.questions(now, surely=self.informs).items():
            await self.bus.send(self.subjects.given(schedd, self.context.name), question)
        snapshot = self.snapshot()
        active = self.cell.active
        if not snapshot.demands and not self.cell.suspends():
            return
        if self.cell.governs and (active is None or not self.cell.schedules):
            # It is being sent, and requests a cycle when it has arrived; or its runs were stopped.
            return
        async with self.deciding.decision():
            if active is None:
                steps = self.matchmaker.cycle(snapshot, self.table)
            else:
                self.matchmaker.charge(self.table, snapshot.now)
                steps = self.cell.cycle(active, snapshot, self.matchmaker.significant)
            plan, self.last_s = await in_slices(steps)
            self.last = plan
            self.cycles += 1
            await self._deliver(plan)
            if active is not None:
                await self.cell.suspend(plan)
            self.audit.record(self.matchmaker.decisions(plan, snapshot))
        if plan.matches:
            _matchmaker_log.info("cycle %d: %s in %.1f ms", self.cycles, dict(plan.record), self.last_s * 1000)

    def snapshot(self) -> Snapshot:
        """The pool at the beginning of a cycle."""
        now = self.clock.now()
        self.pending_matches.tidy(now)
        return Snapshot(
            slots=self.table.slots,
            claims=self.table.claims,
            nodes=self.table.senders,
            demands=tuple(
                SubmitterDemand(
                    schedd=schedd,
                    submitter=name,
                    requests=requests,
                    ad=self._submitter_ad(schedd, name, demand),
                    room=self.pending_matches.room(schedd),
                    arrivals=demand.arrivals,
                )
                for schedd, name, demand, requests in self.pending_matches.requests()
                if self._is_settled(demand)
            ),
            now=now,
            zone_offset_s=self.clock.zone_offset_s(),
            promised=self.pending_matches.promised,
            pledges=self.pending_matches.pledges,
            versions=self.table.versions,
        )

    def _is_settled(self, demand: m.Demand) -> bool:
        """Whether a queue distinguishes its jobs by the current attributes: one of them then stands for all that are
        alike.
        """
        if asyncio.get_running_loop().time() >= self._settled_at:
            return True
        return demand.apart == digest(*self._significant or ())

    def _submitter_ad(self, schedd: str, submitter: str, demand: m.Demand) -> ClassAd:
        """The submitter ad that the pool's policy sees: its own attributes, chained to the queue's ad."""
        data = demand.ads.get(submitter, {})
        machine = schedd.rpartition("@")[2]
        ad = ad_from({**data, "MyType": "Submitter", "Name": submitter, "ScheddName": schedd, "Machine": machine})
        queue = self.table.get("Scheduler", schedd)
        if queue is not None:
            ad.chained = queue.ad
        return ad

    async def _deliver(self, plan: Plan) -> None:
        now = self.clock.now()
        by_queue: dict[str, list[m.Match]] = {}
        if self.informs:
            await self._inform(plan)
        for match in plan.matches:
            self.pending_matches.promise(match, now)
            ids = CauseIds(match.submission, match.submission).bracketed()
            _matchmaker_log.info(
                "%s was matched with %s for job %s or an equivalent one%s", match.slot, match.submitter, match.job, ids
            )
            by_queue.setdefault(match.schedd, []).append(
                m.Match(
                    submitter=match.submitter,
                    autocluster=match.autocluster,
                    slot=match.slot,
                    node=match.node,
                    claim_id=match.claim_id,
                    slot_ad=self._slot_ad(match.slot, match.slot_ad),
                    preempts=match.preempts,
                    task=_task(match.pledge),
                    parts=[
                        m.Part(
                            slot=part.slot,
                            node=part.node,
                            claim_id=part.claim_id,
                            slot_ad=self._slot_ad(part.slot),
                            task=_task(part.pledge),
                        )
                        for part in match.parts
                    ],
                )
            )
        rejected: dict[str, dict[str, str]] = {}
        for (schedd, autocluster), rejection in plan.rejected.items():
            rejected.setdefault(schedd, {})[str(autocluster)] = rejection.text
        for schedd in sorted({*by_queue, *rejected}):
            await self._tell(schedd, by_queue.get(schedd, []), rejected.get(schedd, {}))

    def _slot_ad(self, slot: str, ad: ClassAd | None = None) -> AdData:
        """The ad of a slot, or of the rest of it, for the queue that gets it."""
        if ad is None:
            kept = self.table.get(SLOT, slot)
            assert kept is not None
            ad = kept.ad
        return ad_data(self.matchmaker.handed_out(ad))

    async def _inform(self, plan: Plan) -> None:
        """Notify slots of matches before they can be claimed."""
        by_node: dict[str, list[str]] = {}
        for match in plan.matches:
            for each in match.slots:
                by_node.setdefault(each.node, []).append(each.claim_id)
        for node, claim_ids in by_node.items():
            await self.bus.send(self.subjects.matched(node, self.context.name), m.SlotsMatched(claim_ids=claim_ids))

    async def _tell(self, schedd: str, matches: list[m.Match], rejected: dict[str, str]) -> None:
        parts = in_parts(matches)
        for number, part in enumerate(parts, 1):
            told = rejected if number == len(parts) else {}
            message = self.pending_matches.given(schedd, part, told, self.clock.now())
            if message is not None:
                await self.bus.send(self.subjects.given(schedd, self.context.name), message)


def _task(pledge: Pledge | None) -> AdData:
    """What a job is granted in a cell with a slot; empty for nothing."""
    return {} if pledge is None or pledge.task is None else ad_data(pledge.task)


def make(context: RoleContext, config: Config, bus: Bus) -> CentralDaemon:
    """The daemon of the central manager."""
    return CentralDaemon(context, config, bus)
