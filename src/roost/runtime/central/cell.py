"""The Grid Engine cell in the central manager: fetched from the queue that stores it, and the cycles that use it.

Queues report in their demands which revision of a cell they store. As soon as one has a cell, the pool uses it: nothing
starts until its text has arrived, and after a change nothing starts until the new text has. If several queues have a
cell, that of the first by name is used.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from roost.base import records
from roost.base.records import replace
from roost.base.structs import replaced
from roost.classad import ClassAd
from roost.collector.table import SLOT
from roost.config import Config
from roost.model.cell_requests import LOAD_SENSORS, SUSPENDERS, TASK
from roost.model.cell_reservations import AdvanceReservation, digest_names
from roost.model.cell_usage import Owner, Used
from roost.model.cycle_answers import JobInCell
from roost.model.digests import given_state, states_digest
from roost.negotiator.beside_cell import warning
from roost.negotiator.snapshot import Plan, Pledge, Snapshot
from roost.negotiator.timing import Steps, Urgency
from roost.runtime.bus.client import BusError
from roost.runtime.bus.request_answers import BadRequest
from roost.runtime.central import cell_views
from roost.runtime.identity import groups_of
from roost.wire.ads import ad_from
from roost.wire.errors import WireError
from roost.wire.messages import Answer, HostConfigured, SlotsSuspended, SlotSuspenders
from roost.wire.requests.cell import (
    CellEntry,
    CellFile,
    CellLog,
    CellTasks,
    HeldTask,
    InstanceState,
    InstanceStates,
    KeepReservation,
    KeptReservation,
    ReadCell,
    ReportLoads,
    Reservations,
    Usage,
    UsageRow,
)
from roost.wire.requests.central import CellHost, CellPriority, InstanceStatus, ReservationState, Reserve, Reserved
from roost.wire.structs import read
from roost.wire.verbs import ask_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from roost.collector.table import AdTable, Kept
    from roost.gridengine.cell import Cell
    from roost.gridengine.pool.active_cell import ActiveCell
    from roost.gridengine.pool.suspensions import Suspensions
    from roost.negotiator.timing import CycleTimer
    from roost.runtime.bus.client import Bus
    from roost.runtime.central.pending_matches import PendingMatches
    from roost.runtime.clock import Clock
    from roost.runtime.deciding import Deciding
    from roost.runtime.role import RoleContext
    from roost.wire.subjects import Subjects

_log = logging.getLogger("roost.cell")

#: Type of the ads with start times of machines' daemons.
MASTER: Final = "DaemonMaster"
#: Delay before a cell that could not be fetched is requested again, s.
AGAIN_S: Final = 2.0
#: How long a machine may take to advertise the load sensors it was sent, s.
TOLD_S: Final = 5.0
#: How long a request waits for a cell that is being fetched, s, and how often it checks.
COMES_S: Final = 5.0
_LOOK_S: Final = 0.02
#: Number of a reservation that its queue has not stored yet.
_PROVISIONAL: Final = -1
#: Minimum interval between two requests for the users' usage, s.
USAGE_GAP_S: Final = 1.0


class _Held(NamedTuple):
    """A job's resources on a machine that is not reporting."""

    #: The queue that reported it; "" if the machine had.
    queue: str
    node: str
    task: ClassAd
    #: Time of that report, epoch s.
    at: float


class CellDaemon(Protocol):
    """The interface of the central manager's daemon for the cell."""

    context: RoleContext
    clock: Clock
    bus: Bus
    subjects: Subjects
    table: AdTable
    pending_matches: PendingMatches
    deciding: Deciding
    cycle_timer: CycleTimer
    last: Plan | None
    administrators: frozenset[str]

    def ask_for_cycle(self, urgency: Urgency) -> None:
        """Request a cycle."""

    def snapshot(self) -> Snapshot:
        """The current state of the pool."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        """Start a background task."""


class PoolCell:
    """The central manager's copy of the pool's cell."""

    def __init__(self, daemon: CellDaemon) -> None:
        self._daemon = daemon
        #: Queue to the revision of its cell, and to the digest of the states that its instances were given.
        self._kept: dict[str, tuple[int, str]] = {}
        self._found: ActiveCell | None = None
        self._from = ""
        #: Queue to the instances that are in the error state, each with the reason.
        self._errors: dict[str, dict[str, str]] = {}
        #: Queue to its last reported usage number; and that of the queue whose cell is used, as of the last request.
        self._usage_serials: dict[str, int] = {}
        self._usage_here = 0
        self._usage_asked = False
        self._fetching = False
        self._reports = False
        #: Queues that have not yet reported what their jobs use of the cell.
        self._unasked: set[str] = set()
        #: Jobs' resources on machines that are not reporting.
        self._held: list[_Held] = []
        self._suspensions: Suspensions | None = None
        #: Whether its scheduling runs take place; `qconf -kt scheduler` stops them.
        self.schedules = True
        #: Reservations are made one after another.
        self._reserving = asyncio.Lock()
        #: The load sensors of each machine in the current cell, which of them machines were sent, and when.
        self._sensors_of: Cell | None = None
        self._hosts: Any = None
        self._sensors: dict[str, str] = {}
        self._sent_sensors: dict[str, tuple[str, float]] = {}
        #: Configuration that has no effect in a pool with a cell, in a sentence; "" for none.
        self._warning = ""
        self._warned = ""

    def configure(self, config: Config) -> None:
        """Use another configuration."""
        self._warning = warning(config)
        self._warn()

    def _warn(self) -> None:
        """Log what has no effect, once per time that the pool uses a cell."""
        text = self._warning if self.governs else ""
        if text != self._warned:
            self._warned = text
            self._daemon.context.home.note_shortcoming(self._daemon.context.role, text, "cell")
            if text:
                _log.warning("%s", text)

    @property
    def governs(self) -> bool:
        """Whether the pool uses a cell, which may not have arrived yet."""
        return bool(self._kept)

    async def manages(self, user: str) -> bool:
        """Whether a user is a manager of the cell, or an administrator of the pool. Raises BadRequest if the cell does
        not arrive.
        """
        if user in self._daemon.administrators:
            return True
        active = await self._latest()
        return active is not None and user in active.cell.managers

    @property
    def stopped(self) -> JobInCell | None:
        """What is known of every waiting job while the runs are stopped; None while they take place."""
        active = self.active
        if self.schedules or active is None:
            return None
        reasons = ["the scheduling runs of the cell are stopped; `qconf -at scheduler` resumes them"]
        return JobInCell(at=self._daemon.clock.now(), revision=active.revision, reasons=reasons, priority=None)

    @property
    def active(self) -> ActiveCell | None:
        """The cell in its current revision; None until it has arrived."""
        if not self._kept or self._found is None or self._unasked:
            return None
        if not self._is_current:
            return None
        errors = self._errors.get(self._from, {})
        if self._found.errors != errors:
            self._found = self._found.with_errors(errors)
        if self._found.has_initial_states and (started := self._started(self._found)) != self._found.started:
            self._found = records.replace(self._found, started=started)
        return self._found

    def _started(self, found: ActiveCell) -> dict[str, float]:
        """When the daemons of the cell's hosts started, epoch s."""
        from roost.gridengine.pool.hosts import Hosts

        hosts, started = Hosts(found.cell, found.instances), dict[str, float]()
        for name, kept in self._daemon.table.of(MASTER):
            host, at = hosts.of(name), kept.ad.get("DaemonStartTime")
            if host is not None and isinstance(at, int):
                started[host] = float(at)
        return started

    @property
    def _is_current(self) -> bool:
        if not self._kept or self._found is None:
            return False
        queue = min(self._kept)
        return (queue, self._kept[queue]) == (self._from, (self._found.revision, _digest_of(self._found)))

    @property
    def significant(self) -> tuple[str, ...]:
        """Attributes by which queues distinguish the jobs of a cell."""
        if not self.governs:
            return ()
        from roost.gridengine.pool.requests import SIGNIFICANT

        return SIGNIFICANT

    @property
    def suspensions(self) -> Suspensions:
        """The suspensions that machines were sent."""
        if self._suspensions is None:
            from roost.gridengine.pool.suspensions import Suspensions

            self._suspensions = Suspensions()
        return self._suspensions

    def heard_slot(self, ad: ClassAd) -> None:
        """Note a slot's ad."""
        if SUSPENDERS in ad:
            self.suspensions.any = True
        self._configure(ad)

    def _configure(self, ad: ClassAd) -> None:
        """Send a machine its load sensors, unless its slot shows that it knows them, or they were just sent."""
        active, machine = self.active, str(ad.get("Machine", ""))
        if active is None or not machine:
            return
        from roost.gridengine.pool.hosts import Hosts, sensors_of

        if self._sensors_of is not active.cell:
            self._sensors_of, self._sensors = active.cell, {}
            self._hosts = Hosts(active.cell, active.instances)
        wanted = self._sensors.get(machine)
        if wanted is None:
            wanted = self._sensors[machine] = sensors_of(active.cell, self._hosts, machine)
        if wanted == (ad.get(LOAD_SENSORS) or ""):
            self._sent_sensors.pop(machine, None)
            return
        now, daemon = self._daemon.clock.now(), self._daemon
        before = self._sent_sensors.get(machine)
        if before is not None and before[0] == wanted and now - before[1] < TOLD_S:
            return
        self._sent_sensors[machine] = wanted, now
        node = daemon.table.senders.get(daemon.table.spelled(SLOT, str(ad.get("Name", ""))))
        if node is not None:
            subject = daemon.subjects.matched(node, daemon.context.name)
            daemon.spawn(daemon.bus.send(subject, HostConfigured(load_sensors=wanted)))

    def suspends(self) -> bool:
        """Whether jobs may have to be suspended or resumed even if no job is waiting."""
        active = self.active
        return active is not None and (active.suspends or (self._suspensions is not None and self._suspensions.any))

    def heard(self, queue: str, revision: int, states: str, *, begins: bool) -> bool:
        """Note which revision of a cell a queue stores, and the digest of the states of instances; return whether the
        pool uses another cell now.

        `begins`: it is the first message of the queue since one of the two daemons has started.
        """
        if begins:
            self._unasked.add(queue)
        before = self._first
        if revision:
            self._kept[queue] = revision, states
        else:
            self._kept.pop(queue, None)
        after = self._first
        self._look()
        self._warn()
        if after == before:
            return False
        if len(self._kept) > 1:
            _log.error(
                "several queues have a cell: %s; using the one of %s", ", ".join(sorted(self._kept)), min(self._kept)
            )
        return True

    def heard_errors(self, queue: str, errors: dict[str, str]) -> None:
        """Note a queue's instances in the error state."""
        self._errors[queue] = errors

    def heard_usage(self, queue: str, serial: int) -> None:
        """Note a queue's current usage number."""
        self._usage_serials[queue] = serial
        found = self._found
        is_needed = queue == self._from and found is not None and found.needs_usage
        if is_needed and serial != self._usage_here and not self._usage_asked:
            self._usage_asked = True
            self._daemon.spawn(self._renew_usage())

    async def _renew_usage(self) -> None:
        """Request the users' usage until there is nothing new."""
        try:
            while (found := self._found) is not None and found.needs_usage:
                queue, serial = self._from, self._usage_serials.get(self._from, 0)
                if serial == self._usage_here:
                    return
                try:
                    usage = await self._usage_of(queue)
                except (BusError, WireError, ValueError) as error:
                    _log.warning("cannot get the users' usage from %s: %s; using its previous report", queue, error)
                else:
                    self._daemon.deciding.change(partial(self._take_usage, queue, usage))
                    self._usage_here = serial
                await asyncio.sleep(USAGE_GAP_S)
        finally:
            self._usage_asked = False

    def _take_usage(self, queue: str, usage: tuple[tuple[Owner, Used], ...]) -> None:
        if self._found is not None and queue == self._from:
            self._found = records.replace(self._found, usage=usage)

    async def _usage_of(self, queue: str) -> tuple[tuple[Owner, Used], ...]:
        rows = read(list[UsageRow], await self._asked(queue, Usage()), "cell-usage", strict=False)
        return tuple(
            (Owner(row.user, row.project, row.department), Used(at=row.at, recent=row.recent, total=row.total))
            for row in rows
        )

    @property
    def _first(self) -> tuple[str, int] | None:
        """The queue whose cell is used, and its revision."""
        queue = min(self._kept, default=None)
        return None if queue is None else (queue, self._kept[queue][0])

    def _look(self) -> None:
        """Request what is missing."""
        if self.governs and self.active is None and not self._fetching:
            self._fetching = True
            self._daemon.spawn(self._fetch())

    async def _fetch(self) -> None:
        try:
            while self.governs and self.active is None:
                if not self._is_current:
                    queue = min(self._kept)
                    try:
                        await self._fetch_from(queue)
                    except (BusError, WireError, ValueError) as error:
                        _log.warning(
                            "cannot fetch the cell of %s: %s; no job starts until it can be fetched", queue, error
                        )
                        await asyncio.sleep(AGAIN_S)
                for queue in sorted(self._unasked):
                    await self._ask_tasks(queue)
        finally:
            self._fetching = False
        for name in sorted(self._daemon.table.senders):
            self._configure(self._daemon.table.ad(name))
        self._daemon.ask_for_cycle(Urgency.URGENT)

    async def _ask_tasks(self, queue: str, *, again: bool = False) -> None:
        """Ask a queue what its jobs use: resources granted by an earlier central manager must not be granted again.

        `again`: only for machines that are away; without an answer the known state is kept.
        """
        bus, now = self._daemon.bus, self._daemon.clock.now()
        try:
            answer = await bus.ask(bus.subjects.ask_schedd(queue, self._daemon.context.name), ask_of(CellTasks()))
            rows = read(list[HeldTask], answer.data, "cell-tasks", strict=False) if answer.ok else []
            found = [(row, ad_from(row.task, "cell-tasks.task")) for row in rows]
        except (BusError, WireError, ValueError) as error:
            _log.warning(
                "cannot get from %s what its jobs use of the cell: %s; relying on the machines' reports alone",
                queue,
                error,
            )
            if again:
                return
            found = []
        self._unasked.discard(queue)
        if again:
            found = [(row, task) for row, task in found if not row.asked]
        self._daemon.deciding.change(lambda: self._take(queue, found, now))

    async def unheard(self, expired: Iterable[Kept], *, leaves: bool = False) -> None:
        """Keep the resources of jobs whose slot ads have expired, as in Grid Engine, until their queue says otherwise.

        `leaves`: a machine's daemon has stopped, and may not have reported its latest jobs. Called repeatedly, because
        jobs may end while their machine is away, by `qdel -f` or `reschedule_unknown`.
        """
        if not self.governs:
            return
        now = self._daemon.clock.now()
        for each in expired:
            task = each.ad.get(TASK)
            if isinstance(task, ClassAd):
                self._held.append(_Held("", each.sender, task, now))
        if self._held or leaves:
            known = len(self._held)
            for queue in sorted(self._kept):
                await self._ask_tasks(queue, again=True)
            if len(self._held) < known:
                self._daemon.ask_for_cycle(Urgency.CHANGED)

    def _take(self, queue: str, found: list[tuple[HeldTask, ClassAd]], now: float) -> None:
        self._held = [each for each in self._held if each.queue not in ("", queue)]
        for row, task in found:
            if row.asked:
                known = self._daemon.table.claims.get(row.slot)
                if known in (None, row.claim_id):
                    self._daemon.pending_matches.held(queue, row.slot, row.claim_id, task, now)
            else:
                self._held.append(_Held(queue, row.node, task, now))

    async def _fetch_from(self, queue: str) -> None:
        found, said = self._found, self._kept[queue]
        if found is None or (self._from, found.revision) != (queue, said[0]):
            rows = read(list[CellFile], await self._asked(queue, ReadCell()), "cell", strict=False)
            if not rows:
                raise WireError("it has none")
            found = await asyncio.to_thread(_active, rows)
        given = read(list[InstanceState], await self._asked(queue, InstanceStates()), "cell-states", strict=False)
        booked = read(
            list[AdvanceReservation], await self._asked(queue, Reservations()), "cell-reservations", strict=False
        )
        found = records.replace(
            found,
            states={row.name: row.letters for row in given},
            given_at={row.name: row.at for row in given},
            reservations=tuple(booked),
        )
        serial = self._usage_serials.get(queue, 0)
        if found.needs_usage:
            found = records.replace(found, usage=await self._usage_of(queue))

        def take() -> None:
            self._found, self._from, self._usage_here = found, queue, serial
            # What the queue has said meanwhile may be newer than what was fetched, and is then fetched too.
            if self._kept.get(queue) == said and found.revision >= said[0]:
                self._kept[queue] = found.revision, _digest_of(found)
            self._daemon.cycle_timer.interval_max_s = found.cell.scheduler.schedule_interval.number
            self._start_reports()
            _log.info("the pool now uses the cell of %s, revision %d", queue, found.revision)
            self.suspensions.any = True

        self._daemon.deciding.change(take)
        await self._daemon.deciding.over()
        self._daemon.ask_for_cycle(Urgency.URGENT)

    async def _report_loads(self, interval_s: float) -> None:
        """Let the queue record the hosts' load reports, as often as hosts of Grid Engine report, while the cell wants
        it.
        """
        from roost.gridengine.pool.host_reports import loads

        await asyncio.sleep(interval_s)
        self._reports = False
        active = self.active
        if active is not None and (found := loads(active, self._daemon.snapshot())):
            try:
                await self._asked(self._from, ReportLoads(loads=found))
            except (BusError, WireError) as error:
                _log.warning("%s does not note what hosts report: %s", self._from, error)
        self._start_reports()

    def _start_reports(self) -> None:
        """Start recording load reports if the cell wants that."""
        from roost.gridengine.objects.host import GLOBAL
        from roost.gridengine.pool.accounting_settings import reports
        from roost.gridengine.pool.context import report_s
        from roost.gridengine.pool.host_reports import reports_any

        cell = None if self._found is None else self._found.cell
        if cell is not None and self.governs and not self._reports and reports(cell) and reports_any(cell):
            interval_s = report_s(cell, GLOBAL)
            if interval_s is not None:
                self._reports = True
                self._daemon.spawn(self._report_loads(interval_s))

    async def _asked(
        self, queue: str, request: ReadCell | InstanceStates | Reservations | Usage | CellLog | ReportLoads
    ) -> Any:
        """A queue's reply. Raises WireError and BusError."""
        bus = self._daemon.bus
        answer = await bus.ask(bus.subjects.ask_schedd(queue, self._daemon.context.name), ask_of(request))
        if not answer.ok:
            raise WireError(answer.text)
        return answer.data

    async def _arrived(self) -> ActiveCell | None:
        """The cell; None in a pool without one. Raises BadRequest if it does not arrive."""
        until = time.monotonic() + COMES_S
        while self.governs and self.active is None and time.monotonic() < until:
            await asyncio.sleep(_LOOK_S)
        active = self.active
        if active is None:
            if self.governs:
                raise BadRequest(
                    "the central manager has not received the cell from its queue yet; try again in a moment"
                )
            return None
        return active

    async def hosts(self) -> list[CellHost]:
        """The hosts of the cell; none in a pool without one. Raises BadRequest if it does not arrive."""
        active = await self._arrived()
        if active is None:
            return []
        return cell_views.hosts(active, self._with_held(self._daemon.snapshot()), self.suspensions)

    async def queue_instances(self, *, details: bool = False) -> list[InstanceStatus]:
        """The queue instances of the cell; none in a pool without one. Raises BadRequest if it does not arrive."""
        active = await self._arrived()
        if active is None:
            return []
        snapshot = self._with_held(self._daemon.snapshot())
        return cell_views.queue_instances(active, snapshot, self.suspensions, details=details)

    async def reservations(self) -> list[ReservationState]:
        """The advance reservations of the cell; none in a pool without one. Raises BadRequest if it does not arrive."""
        active = await self._arrived()
        if active is None:
            return []
        return cell_views.reservations(active, self._with_held(self._daemon.snapshot()), self.suspensions)

    async def reserve(self, asked: Reserve, sender: str) -> Reserved | Answer:
        """Make an advance reservation. Raises BadRequest if the cell does not arrive."""
        async with self._reserving:
            active = await self._latest()
            if active is None:
                return Answer(ok=False, code="not-admitted", text="the pool has no Grid Engine cell")
            await self._daemon.deciding.over()
            user = sender.partition("@")[0]
            one = replaced(
                asked.reservation, number=0, owner=user, submitted=self._daemon.clock.now(), grants=(), deleted=False
            )
            refused = cell_views.may_not_reserve(active, one, sender, self._daemon.administrators)
            if refused is not None:
                return refused
            pool = self._with_held(self._daemon.snapshot())
            found = cell_views.granted(active, one, pool, self.suspensions)
            if isinstance(found, Reserved) or asked.verify:
                return found if isinstance(found, Reserved) else Reserved(number=0, slots=found.slots)
            return await self._keep_reservation(active, found)

    async def _latest(self) -> ActiveCell | None:
        """The cell in the queue's latest revision, which may not have been reported yet. Raises BadRequest."""
        until = time.monotonic() + COMES_S
        while not self.governs and time.monotonic() < until:
            await asyncio.sleep(_LOOK_S)
        active = await self._arrived()
        if active is None:
            return None
        try:
            entries = read(list[CellEntry], await self._asked(self._from, CellLog(limit=1)), "cell-log", strict=False)
        except (BusError, WireError) as error:
            raise BadRequest(f"cannot get the cell's revision from {self._from}: {error}") from None
        until = time.monotonic() + COMES_S
        while active is not None and entries and active.revision < entries[0].revision and time.monotonic() < until:
            await asyncio.sleep(_LOOK_S)
            active = self.active or active
        return active

    async def _keep_reservation(self, active: ActiveCell, found: AdvanceReservation) -> Reserved | Answer:
        """Let the queue store a reservation; until it has answered, nothing else may use its resources."""
        queue, provisional = self._from, replaced(found, number=_PROVISIONAL)
        self._booked(lambda known: (*known, provisional))
        try:
            request = KeepReservation(reservation=found, revision=active.revision)
            bus = self._daemon.bus
            answer = await bus.ask(bus.subjects.ask_schedd(queue, self._daemon.context.name), ask_of(request))
        except BusError as error:
            # It may have been stored: if so, the queue's next demand reports a new revision.
            raise BadRequest(f"{queue} did not save the reservation: {error}") from None
        finally:
            self._booked(lambda known: tuple(one for one in known if one is not provisional))
        if not answer.ok:
            return answer
        number = read(KeptReservation, answer.data, "cell-reservation-keep", strict=False).number
        kept = replaced(found, number=number)
        self._booked(lambda known: (*(one for one in known if one.number != number), kept))
        return Reserved(number=number, slots=found.slots)

    def _booked(self, change: Callable[[tuple[AdvanceReservation, ...]], tuple[AdvanceReservation, ...]]) -> None:
        def take() -> None:
            if self._found is not None:
                self._found = records.replace(self._found, reservations=change(self._found.reservations))

        self._daemon.deciding.change(take)

    def priorities(self) -> list[CellPriority]:
        """The priorities of the last run; none if there was none."""
        last = self._daemon.last
        if last is None or not self.governs:
            return []
        return cell_views.priorities(last.trail)

    def cycle(self, active: ActiveCell, snapshot: Snapshot, significant: tuple[str, ...]) -> Steps[Plan]:
        """A cycle of the cell, in steps."""
        from roost.gridengine.pool.cycle import cell_cycle

        return cell_cycle(active, self._with_held(snapshot), groups_of, significant, self.suspensions)

    async def suspend(self, plan: Plan) -> None:
        """Send machines what a cycle of the cell suspends and resumes."""
        from roost.gridengine.pool.cycle import CellRecord

        if not isinstance(plan.trail, CellRecord):
            return
        daemon = self._daemon
        by_node: dict[str, dict[str, SlotSuspenders]] = {}
        for order in plan.trail.suspensions:
            why = "; ".join(order.suspenders.values())
            _log.info("%s: the job is suspended: %s" if why else "%s: the job resumes%s", order.slot, why)
            causes = {str(cause): text for cause, text in order.suspenders.items()}
            node = daemon.table.senders[order.slot]
            by_node.setdefault(node, {})[order.slot] = SlotSuspenders(claim=order.claim, suspenders=causes)
        for node, slots in by_node.items():
            await daemon.bus.send(daemon.subjects.matched(node, daemon.context.name), SlotsSuspended(slots=slots))

    def _with_held(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot that includes what queues reported about machines that are not reporting."""
        if not self._held:
            return snapshot
        machines, oldest = set(snapshot.nodes.values()), snapshot.now - self._daemon.table.lifetime_s
        self._held = [each for each in self._held if each.node not in machines and each.at >= oldest]
        pledges = [Pledge(submitter="", weight=0.0, task=each.task) for each in self._held]
        return replace(snapshot, pledges=(*snapshot.pledges, *pledges))


def _digest_of(found: ActiveCell) -> str:
    """A digest of the known states of instances and reservations."""
    given = {name: given_state(letters, found.given_at.get(name, 0.0)) for name, letters in found.states.items()}
    return states_digest({**given, **digest_names(one for one in found.reservations if one.number > 0)})


def _active(rows: list[CellFile]) -> ActiveCell:
    from roost.gridengine.cell import read_cell
    from roost.gridengine.pool.active_cell import ActiveCell

    return ActiveCell.of(rows[0].revision, read_cell({row.name: row.text for row in rows}))
