"""Whether a job fits into an instance: permissions, requests and remaining consumables.

Requests are looked up on three levels, `global`, the host and the instance. For a fixed resource with relation ``==``
or ``!=`` the lowest level that has it counts; with an ordered relation every level that has it must allow the job.
Enough of a consumable must be left on every level with a capacity. A resource on no level is unknown there.

Jobs with equal requests share one `JobCategory`, which caches results: queues and hosts that refuse it as a whole,
settings that allow it, and which fixed requests a place meets. Only what dispatches change is evaluated again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from roost.base.records import dataclass, field
from roost.gridengine.instances import QueueInstance
from roost.gridengine.objects.complex import Complex, value_number
from roost.gridengine.objects.host import GLOBAL, ExecutionHost
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.parallel import ParallelEnvironment
from roost.gridengine.objects.queue import QueueSettings
from roost.gridengine.scheduling.ledger import (
    ALWAYS,
    SLOTS,
    BookedObject,
    Ledger,
    Need,
    Value,
    Window,
    exclusive_names,
    is_true,
    needs_of,
)
from roost.gridengine.scheduling.loads import Loads
from roost.gridengine.scheduling.patterns import QueuePatterns
from roost.gridengine.scheduling.quotas import Counter, Quotas, Terms
from roost.gridengine.scheduling.reasons import Reason, ReasonCode, ResourceOffer, Where
from roost.gridengine.scheduling.relation import related
from roost.gridengine.scheduling.snapshot import CellSnapshot, Request

_LOWEST_COUNTS: Final = ("==", "!=")
_GLOBALLY: Final = Where("g", GLOBAL)


class Wish(NamedTuple):
    """A request for a resource that is not booked."""

    definition: Complex
    value: Value


@dataclass(slots=True, eq=False)
class ResourceLayer:
    """`global`, a host or an instance for the matcher."""

    name: str
    account: BookedObject
    values: Mapping[str, Value]
    where: Where
    #: the name of this kind of place in reasons about forced resources
    kind: str
    forced: tuple[str, ...]
    exclusive: tuple[str, ...]
    #: whether every job that fits may use it: no access lists, and nothing forced or exclusive
    open: bool
    #: positions of its instances
    positions: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class Spot:
    """An instance with its host."""

    position: int
    instance: QueueInstance
    #: identity of its settings, which instances share
    settings: int
    own: ResourceLayer
    host: ResourceLayer


@dataclass(slots=True, eq=False)
class Meter:
    """Slots left in one account during an attempt to place a parallel job."""

    slots: float


#: by identity of the account
Meters = dict[int, Meter]


@dataclass(slots=True, eq=False)
class Stock:
    """Results shared by kinds that take the same amounts: hosts without enough left."""

    #: positions of their instances
    refused: set[int] = field(default_factory=set)
    reasons: list[Reason] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class JobCategory:
    """Jobs with equal requests, and cached results about them in this run."""

    request: Request
    #: the parallel environment of the attempt; None for a job of one slot
    environment: ParallelEnvironment | None
    #: amounts that it takes in each place; for a parallel job, without per-job amounts
    needs: tuple[Need, ...]
    #: per-job amounts of a parallel job, taken where its master is
    once: tuple[Need, ...]
    exclusive: frozenset[str]
    hard: tuple[Wish, ...]
    soft: tuple[Wish, ...]
    asked: Mapping[str, str]
    #: requested consumables, including exclusive ones
    amounts: tuple[str, ...]
    terms: Terms
    stock: Stock
    #: when a job that starts now uses its resources
    window: Window = ALWAYS
    #: whether it requests no hosts with `-q`, and no machine refuses it
    on_any_host: bool = True
    #: consumables whose rest is not just capacity minus use
    looked_up: frozenset[str] = frozenset()
    #: positions of instances that refused
    refused: set[int] = field(default_factory=set)
    #: place in the order of the first instance that accepted it
    start: tuple[float, float, int] = (-math.inf, 0.0, 0)
    #: whether the cell allows it, for conditions that do not change
    on_cell: bool = False
    #: whether no instance accepts it any longer
    exhausted: bool = False
    #: whether it was refused before any host was examined
    nowhere: bool = False
    reasons: list[Reason] = field(default_factory=list)
    #: queues, hosts and settings of instances that allow it as a whole
    queues: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    settings: set[int] = field(default_factory=set)
    #: whether the values compared with hard requests do not change, and instances with equal settings agree
    plain: bool = True
    #: whether hosts may have such values
    on_hosts: bool = True
    #: by host or settings, which hard requests have a value there, as bits; -1 if it does not meet one of them
    met: dict[str | int, int] = field(default_factory=dict)
    #: the reasons kept for its waiting jobs
    told: tuple[Reason, ...] = ()

    def refuse(self, positions: Iterable[int], reason: Reason) -> None:
        """Record that instances refuse it."""
        self.refused.update(positions)
        self.reasons.append(reason)

    def forget(self) -> None:
        """Clear the cached results."""
        for one in (self, self.stock):
            one.refused.clear()
            one.reasons.clear()
        self.told = ()
        self.exhausted = self.nowhere = False


class Matcher:
    """Determines in one run whether kinds of jobs fit."""

    def __init__(self, snapshot: CellSnapshot, loads: Loads, ledger: Ledger, quotas: Quotas) -> None:
        timed = ledger.now is not ALWAYS
        self._cell, self._loads, self._ledger, self._quotas = snapshot.cell, loads, ledger, quotas
        self._complexes = snapshot.cell.complexes
        self._implied = snapshot.forced_implied_by_queue_request
        self._patterns = QueuePatterns(snapshot.cell)
        self._stocks: dict[tuple[tuple[Need, ...], frozenset[str], Window], Stock] = {}
        #: by queue, an instance for each different set of values
        self._samples: dict[str, dict[int, str]] = {}
        for instance in snapshot.instances:
            self._samples.setdefault(instance.queue, {})[id(instance.settings)] = instance.name
        #: by identity of the values, which instances with equal settings share
        self._special: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._volatile = {"qname", "hostname", *loads.adjustments}
        names = {name for name in self._ledger.configured if "@" not in name and name != GLOBAL}
        self._on_hosts = loads.names.union(*(self._ledger.configured[name] for name in names))
        self._global = self._place(GLOBAL, _GLOBALLY, "host")
        slots = self._complexes.get(SLOTS)
        #: whether every job takes a slot, and the rest does not depend on loads
        self._slots_only_go = not timed and bool(slots and slots.default_number >= 1 and SLOTS not in loads.names)
        #: hosts without a slot left
        self._full: dict[str, Reason] = {}
        #: positions of the instances of a queue
        self._of_queue: dict[str, list[int]] = {}
        of_host: dict[str, list[int]] = {}
        for position, instance in enumerate(snapshot.instances):
            self._of_queue.setdefault(instance.queue, []).append(position)
            of_host.setdefault(instance.host, []).append(position)
        self._hosts = hosts = {name: self._place(name, Where("h", name), "host") for name in of_host}
        for place in hosts.values():
            place.positions = tuple(of_host[place.name])
        #: by position
        self.spots = tuple(
            Spot(
                position=position,
                instance=one,
                settings=id(one.settings),
                own=self._place(one.name, Where("q", one.name), "queue instance"),
                host=hosts[one.host],
            )
            for position, one in enumerate(snapshot.instances)
        )

    def _place(self, name: str, where: Where, kind: str) -> ResourceLayer:
        values, host = self._ledger.configured[name], self._cell.hosts.get(name)
        if id(values) not in self._special:
            self._special[id(values)] = self._specials(values)
        forced, exclusive = self._special[id(values)]
        listed = host and (host.user_lists or host.xuser_lists or host.projects or host.xprojects)
        return ResourceLayer(
            name=name,
            account=self._ledger.account(name),
            values=values,
            where=where,
            kind=kind,
            forced=forced,
            exclusive=exclusive,
            open=not (forced or exclusive or listed),
        )

    def _specials(self, values: Mapping[str, Value]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Which of the values are forced, and which exclusive."""
        complexes = self._complexes
        exclusive = [one for one in values if complexes[one].is_exclusive and is_true(complexes[one], values[one])]
        return tuple([one for one in values if complexes[one].is_forced]), tuple(exclusive)

    def kind(
        self, request: Request, environment: ParallelEnvironment | None = None, window: Window = ALWAYS
    ) -> JobCategory:
        """The category of a request in this cell."""
        complexes = self._complexes
        hard, needs = self._wishes(request.hard), needs_of(request, self._complexes)
        once: tuple[Need, ...] = ()
        if environment is not None:
            needs, once = tuple([one for one in needs if not one.once]), tuple([one for one in needs if one.once])
        on_any_host = not any("@" in pattern for pattern in request.queues) and not (
            request.refused_hosts or request.cleaned_host
        )
        asked = frozenset(need.name for need in needs if any(need.name == name for name, _ in request.hard))
        stock = self._stocks.setdefault((needs, asked, window), Stock()) if on_any_host else Stock()
        return JobCategory(
            request=request,
            environment=environment,
            needs=needs,
            once=once,
            exclusive=exclusive_names(request, self._complexes),
            hard=hard,
            soft=self._wishes(request.soft),
            asked=dict(request.hard),
            amounts=tuple(name for name, _ in request.hard if name in complexes and complexes[name].is_consumable),
            terms=self._quotas.terms(request, environment.name if environment else ""),
            stock=stock,
            window=window,
            on_any_host=on_any_host,
            looked_up=self._ledger.measured if window is ALWAYS else frozenset(need.name for need in needs),
            plain=not any(wish.definition.name in self._volatile for wish in hard),
            on_hosts=any(wish.definition.name in self._on_hosts for wish in hard),
        )

    def _wishes(self, pairs: tuple[Pair, ...]) -> tuple[Wish, ...]:
        found = []
        for name, text in pairs:
            definition = self._complexes.get(name)
            if definition is not None and not definition.is_consumable:
                value = value_number(definition.type, text)
                found.append(Wish(definition, text if value is None else value))
        return tuple(found)

    # ---- the cell ------------------------------------------------------------------------------------------------

    def cell_refusal(self, kind: JobCategory) -> Reason | None:
        """Why a kind cannot run anywhere now."""
        if not kind.on_cell:
            refusal = self._never(kind)
            if refusal is not None:
                return refusal
            kind.on_cell = True
        return (
            self._stock_refusal(kind, self._global)
            or self._exclusive_refusal(kind, self._global)
            or self._quota_refusal(kind, kind.terms.anywhere)
        )

    def _never(self, kind: JobCategory) -> Reason | None:
        """Why a kind cannot run anywhere in the whole run."""
        unknown = next((name for name, _ in kind.request.hard if name not in self._complexes), None)
        if unknown is not None:
            return Reason(ReasonCode.UNKNOWN_RESOURCE, ("", unknown))
        return (
            self._environment_permission(kind)
            or self._host_permission(kind, GLOBAL)
            or self._forced_refusal(kind, self._global, None)
            or self._wish_nowhere(kind)
        )

    # ---- an instance ---------------------------------------------------------------------------------------------

    def fits(self, kind: JobCategory, spot: Spot) -> bool:
        """Whether a kind fits into an instance now, assuming the cell allows it; if not, record what refuses it and
        why."""
        host = spot.host
        if not (host.open and kind.on_any_host) and host.name not in kind.hosts:
            refusal = self._host_refusal(kind, host.name)
            if refusal is not None:
                kind.refuse(host.positions, refusal)
                return False
            kind.hosts.add(host.name)
        queue = spot.instance.queue
        if queue not in kind.queues:
            refusal = self._queue_refusal(kind, queue)
            if refusal is not None:
                kind.refuse(self._of_queue[queue], refusal)
                return False
            kind.queues.add(queue)
        refusal = None if host.open else self._forced_refusal(kind, host, spot)
        if refusal is None and kind.environment and not self._in_queues(kind, spot.instance):
            refusal = Reason(ReasonCode.NOT_IN_QUEUES, (spot.instance.name,))
        if refusal is None:
            refusal = self._stock_refusal(kind, host)
            if refusal is not None:
                kind.stock.refused.update(host.positions)
                kind.stock.reasons.append(refusal)
                return False
            refusal = self._exclusive_refusal(kind, host)
            if refusal is not None:
                kind.refuse(host.positions, refusal)
                return False
            refusal = self._room_refusal(kind, spot)
        if refusal is not None:
            kind.refuse((spot.position,), refusal)
        return refusal is None

    def is_full(self, position: int) -> bool:
        """Whether the host of an instance has no slot left, so that no job fits there for the rest of the run."""
        host = self.spots[position].host
        left = host.account.left.get(SLOTS)
        if left is None or left >= 1 or not self._slots_only_go:
            return False
        offer = ResourceOffer(host.where.level, "c", self._complexes[SLOTS], left)
        self._full[host.name] = Reason(ReasonCode.OFFERS, (host.where, False, offer))
        return True

    def told(self, kind: JobCategory) -> tuple[Reason, ...]:
        """Why jobs of a kind that does not fit anywhere wait; one shared value."""
        if kind.nowhere:
            return tuple(kind.reasons)
        if not kind.told:
            full: Iterable[Reason] = self._full.values()
            if kind.request.queues:
                # A full host does not count if the job does not request its queues.
                spots = [self.spots[position] for name in self._full for position in self._hosts[name].positions]
                for spot in spots:
                    if spot.position not in kind.refused and spot.position not in kind.stock.refused:
                        self.fits(kind, spot)
                full = ()
            found = (*kind.reasons, *kind.stock.reasons, *full)
            kind.told = found if kind.environment is None else tuple([one for one in found if not _untold(one)])
        return kind.told

    def _quota_refusal(self, kind: JobCategory, counters: tuple[Counter, ...]) -> Reason | None:
        for counter in counters:
            if not counter.allows(kind.needs, kind.asked, kind.window):
                return counter.reason
        return None

    def _queue_refusal(self, kind: JobCategory, queue: str) -> Reason | None:
        request = kind.request
        if request.queues and not self._patterns.any_queue(request.queues, queue):
            return Reason(ReasonCode.NOT_IN_QUEUES, (queue,))
        configured = self._cell.queues.get(queue)
        if configured is None:
            return None
        overrides = configured.overrides
        environment = kind.environment
        if not {"user_lists", "xuser_lists"} & set(overrides) and not self._may(kind, configured.defaults):
            return Reason(ReasonCode.PERMISSION, ("cluster queue", queue))
        if environment and "pe_list" not in overrides and environment.name not in configured.defaults.pe_list:
            return Reason(ReasonCode.NOT_IN_PE_LIST, (queue, environment.name))
        if not {"projects", "xprojects"} & set(overrides):
            project = _project_refusal(request, configured.defaults, "in cluster queue", queue)
            if project:
                return project
        if any(self._nowhere(wish, queue) for wish in kind.hard):
            return Reason(ReasonCode.QUEUE_VALUES, (queue,))
        return None

    def _nowhere(self, wish: Wish, queue: str) -> bool:
        """Whether no instance of a queue has a value that meets a request."""
        offers = [self._ledger.configured[name].get(wish.definition.name) for name in self._samples[queue].values()]
        return all([offer is not None and not related(wish.definition, wish.value, offer) for offer in offers])

    def _host_refusal(self, kind: JobCategory, host: str) -> Reason | None:
        # Of a parallel job Grid Engine names each instance, after what the host itself refuses.
        queues = () if kind.environment else kind.request.queues
        if queues and not self._patterns.any_host(queues, host):
            return Reason(ReasonCode.NOT_IN_QUEUES, (host,))
        if host in kind.request.refused_hosts:
            return Reason(ReasonCode.MACHINE, (host,))
        if host == kind.request.cleaned_host:
            return Reason(ReasonCode.CLEAN_UP, (host,))
        return self._host_permission(kind, host)

    def _host_permission(self, kind: JobCategory, name: str) -> Reason | None:
        host = self._cell.hosts.get(name)
        if host is None:
            return None
        if not self._may(kind, host):
            return Reason(ReasonCode.PERMISSION, ("host", name))
        return _project_refusal(kind.request, host, "on host", name)

    def _environment_permission(self, kind: JobCategory) -> Reason | None:
        if kind.environment is None or self._may(kind, kind.environment):
            return None
        return Reason(ReasonCode.PERMISSION, ("PE", kind.environment.name))

    def _may(self, kind: JobCategory, place: QueueSettings | ExecutionHost | ParallelEnvironment) -> bool:
        if not place.user_lists and not place.xuser_lists:
            return True
        request, lists = kind.request, self._cell.user_lists
        if any(one in lists and lists[one].holds(request.user, request.groups) for one in place.xuser_lists):
            return False
        allowed = place.user_lists
        return not allowed or any(one in lists and lists[one].holds(request.user, request.groups) for one in allowed)

    def _in_queues(self, kind: JobCategory, instance: QueueInstance) -> bool:
        """Whether a kind may run in an instance by its hard queue list."""
        queues = kind.request.queues
        return not queues or self._patterns.any_instance(queues, instance)

    def _own_refusal(self, kind: JobCategory, instance: QueueInstance) -> Reason | None:
        request, settings, name = kind.request, instance.settings, instance.name
        if not self._in_queues(kind, instance):
            return Reason(ReasonCode.NOT_IN_QUEUES, (name,))
        if not self._may(kind, settings):
            return Reason(ReasonCode.PERMISSION, ("queue", name))
        project = _project_refusal(request, settings, "in queue", name)
        if project:
            return project
        if kind.environment and kind.environment.name not in settings.pe_list:
            return Reason(ReasonCode.NOT_IN_PE_LIST, (name, kind.environment.name))
        if request.interactive and not settings.interactive:
            return Reason(ReasonCode.QUEUE_TYPE, (name, "interactive"))
        if request.checkpoint:
            if request.checkpoint not in settings.ckpt_list:
                return Reason(ReasonCode.CHECKPOINT, (name, request.checkpoint))
        elif not request.interactive and not settings.batch and kind.environment is None:
            return Reason(ReasonCode.QUEUE_TYPE, (name, "batch"))
        return None

    def _room_refusal(self, kind: JobCategory, spot: Spot) -> Reason | None:
        own = spot.own
        return (
            self._quota_refusal(kind, self._quotas.at(kind.terms, own.name))
            or (None if spot.settings in kind.settings else self._settings_refusal(kind, spot))
            or self._stock_refusal(kind, own)
            or (self._exclusive_refusal(kind, own) if own.exclusive else None)
            or self._unknown_refusal(kind, spot)
        )

    def _settings_refusal(self, kind: JobCategory, spot: Spot) -> Reason | None:
        """The refusal by the values of an instance; if its host does not matter, instances with the same values refuse,
        too."""
        refusal = (
            self._own_refusal(kind, spot.instance)
            or self._forced_refusal(kind, spot.own, spot)
            or self._wish_refusal(kind, spot)
        )
        if refusal is None and kind.plain and not kind.on_hosts and not kind.request.queues:
            kind.settings.add(spot.settings)
        return refusal

    def _forced_refusal(self, kind: JobCategory, place: ResourceLayer, spot: Spot | None) -> Reason | None:
        if not place.forced:
            return None
        queues, with_host = kind.request.queues, place is not (spot and spot.own)
        if self._implied and queues and spot and self._patterns.named(queues, spot.instance, with_host):
            return None
        missing = next((name for name in place.forced if name not in kind.asked), None)
        return missing and Reason(ReasonCode.FORCED, (missing, place.kind, place.name))  # type: ignore[return-value]

    def _stock_refusal(self, kind: JobCategory, place: ResourceLayer) -> Reason | None:
        """Whether one slot's worth of each consumable is left in a place."""
        left, looked_up = place.account.left, kind.looked_up
        for name, wanted, _ in kind.needs:
            if name in left and wanted <= left[name] and name not in self._ledger.measured:
                # It is left at any time: all bookings at any time have been subtracted.
                continue
            if name in looked_up:
                found = self._stock(kind, place, name)
                if found is None or wanted <= found[0]:
                    continue
                have, source = found
            elif name not in left:
                continue
            else:
                have, source = left[name], "c"
            offer = ResourceOffer(place.where.level, source, self._complexes[name], have)
            where = Where("q", GLOBAL) if kind.environment and place is self._global else place.where
            default = name not in kind.asked and name != SLOTS
            if kind.window is ALWAYS or have >= (self._ledger.available(place.name, name) or have):
                return Reason(ReasonCode.OFFERS, (where, default, offer))
            return Reason(ReasonCode.OFFERS, (where, default, offer, True))
        return None

    def room(self, kind: JobCategory, spot: Spot, meters: Meters) -> list[Meter]:
        """How many slots are left on all levels of an instance for a parallel job."""
        counters = (*kind.terms.anywhere, *self._quotas.at(kind.terms, spot.own.name))
        found = [self._meter(kind, place.account, place, meters) for place in (self._global, spot.host, spot.own)]
        return found + [self._meter(kind, counter, None, meters) for counter in counters]

    def _meter(self, kind: JobCategory, account: BookedObject, place: ResourceLayer | None, meters: Meters) -> Meter:
        meter = meters.get(id(account))
        if meter is None:
            slots = math.inf
            for name, wanted, _ in kind.needs:
                if place is not None and name in kind.looked_up:
                    stock = self._stock(kind, place, name)
                    left = stock[0] if stock else math.inf
                else:
                    left = account.left_in(name, kind.window) if name in account.capacity else math.inf
                if wanted > 0 and left < math.inf:
                    slots = min(slots, max(left, 0.0) // wanted)
            meter = meters[id(account)] = Meter(slots)
        return meter

    def takes_master(self, kind: JobCategory, spot: Spot) -> bool:
        """Whether the per-job amounts of a parallel job are left for its master."""
        for name, wanted, _ in kind.once:
            found = [self._stock(kind, place, name) for place in (self._global, spot.host, spot.own)]
            if any(stock is not None and wanted > stock[0] for stock in found):
                return False
        counters = (*kind.terms.anywhere, *self._quotas.at(kind.terms, spot.own.name))
        return all(counter.allows(kind.once, {}, kind.window) for counter in counters)

    def _stock(self, kind: JobCategory, place: ResourceLayer, name: str) -> tuple[float, str] | None:
        """What is left of a consumable in the window of a kind, and the letter of its source."""
        left = self._ledger.offered(place.name, name, kind.window)
        if left is not None:
            return left
        load = self._loads.value(place.name, name) if name in self._ledger.measured else None
        return (load, "l") if isinstance(load, float) else None

    def _exclusive_refusal(self, kind: JobCategory, place: ResourceLayer) -> Reason | None:
        for name in place.exclusive:
            asks = name in kind.exclusive
            account = place.account
            if account.is_taken(kind.window) if asks else account.is_exclusive(name, kind.window):
                return Reason(ReasonCode.EXCLUSIVE, (place.where, not asks, name))
        return None

    def _wish_refusal(self, kind: JobCategory, spot: Spot) -> Reason | None:
        if self._plainly_met(kind, spot):
            return None
        return next((found for wish in kind.hard if (found := self._wish_failure(kind, wish, spot))), None)

    def _plainly_met(self, kind: JobCategory, spot: Spot) -> bool:
        """Whether every request is met on each level that has a value for it, and one level has."""
        if not kind.plain:
            return False
        known = self._met(kind, GLOBAL, self._global, spot)
        if known >= 0 and kind.on_hosts:
            at_host = self._met(kind, spot.host.name, spot.host, spot)
            known = -1 if at_host < 0 else known | at_host
        if known < 0:
            return False
        own = self._met(kind, spot.settings, spot.own, spot)
        return own >= 0 and known | own == (1 << len(kind.hard)) - 1

    def _met(self, kind: JobCategory, key: str | int, place: ResourceLayer, spot: Spot) -> int:
        """Which requests a place has a value for, as bits; -1 if it does not meet one of them."""
        found = kind.met.get(key)
        if found is None:
            found = 0
            for bit, (definition, wanted) in enumerate(kind.hard):
                offer = self._offer(definition.name, place, spot)
                if offer is not None:
                    found = found | 1 << bit if found >= 0 and related(definition, wanted, offer[0]) else -1
            kind.met[key] = found
        return found

    def _wish_nowhere(self, kind: JobCategory) -> Reason | None:
        """A request that the cell's values do not meet, whatever hosts and instances have."""
        for definition, wanted in kind.hard:
            offer = None if definition.relation in _LOWEST_COUNTS else self._ledger.fixed(GLOBAL, definition.name)
            if offer is not None and not related(definition, wanted, offer[0]):
                shown = ResourceOffer("g", offer[1], definition, offer[0])
                return Reason(ReasonCode.OFFERS, (_GLOBALLY, False, shown))
        return None

    def _wish_failure(self, kind: JobCategory, wish: Wish, spot: Spot) -> Reason | None:
        """Where and why a request for a fixed resource is not met."""
        definition, wanted = wish
        known = False
        for place in self._levels(definition, spot):
            found = self._offer(definition.name, place, spot)
            if found is None:
                continue
            known = True
            value, source = found
            if not related(definition, wanted, value):
                offer = ResourceOffer(place.where.level, source, definition, value)
                return Reason(ReasonCode.OFFERS, (place.where, False, offer))
            if definition.relation in _LOWEST_COUNTS:
                break
        return None if known else Reason(ReasonCode.UNKNOWN_RESOURCE, (spot.own.where, definition.name))

    def _levels(self, definition: Complex, spot: Spot) -> Iterator[ResourceLayer]:
        levels = (self._global, spot.host, spot.own)
        return reversed(levels) if definition.relation in _LOWEST_COUNTS else iter(levels)

    def _offer(self, name: str, place: ResourceLayer, spot: Spot) -> tuple[Value, str] | None:
        if place is spot.own and name in ("qname", "hostname"):
            return (spot.instance.queue if name == "qname" else spot.instance.host), "f"
        return self._ledger.fixed(place.name, name)

    def _unknown_refusal(self, kind: JobCategory, spot: Spot) -> Reason | None:
        """A requested consumable that no level has."""
        for name in kind.amounts:
            if name in spot.host.values or name in self._global.values or name in spot.own.values:
                continue
            if all(self._loads.reported(place.name, name) is None for place in (spot.host, self._global)):
                return Reason(ReasonCode.UNKNOWN_RESOURCE, (spot.own.where, name))
        return None

    # ---- soft requests -------------------------------------------------------------------------------------------

    def unmet(self, kind: JobCategory, spot: Spot) -> int:
        """How many soft requests an instance does not meet."""
        found = sum([self._wish_failure(kind, wish, spot) is not None for wish in kind.soft])
        queues = kind.request.soft_queues
        return found + (bool(queues) and not self._patterns.any_instance(queues, spot.instance))


def _untold(reason: Reason) -> bool:
    """Whether parallel jobs do not get this reason: those about slots, in place of which they get what their
    environment offers, and those about unknown resources."""
    offer = reason.values[2] if reason.code is ReasonCode.OFFERS else None
    return reason.code is ReasonCode.UNKNOWN_RESOURCE or (
        isinstance(offer, ResourceOffer) and offer.definition.name == SLOTS
    )


def _project_refusal(request: Request, place: QueueSettings | ExecutionHost, where: str, name: str) -> Reason | None:
    if request.project in place.xprojects or (place.projects and request.project not in place.projects):
        return Reason(ReasonCode.PROJECT, (request.project, where, name))
    return None
