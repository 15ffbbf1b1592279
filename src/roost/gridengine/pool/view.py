"""The queue instances and hosts of a pool, as `qstat -f` and `qhost` list them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from roost.base.records import dataclass, replace
from roost.gridengine.instances import QueueInstance
from roost.gridengine.objects.complex import Complex
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.pool.active_cell import ActiveCell
from roost.gridengine.pool.cycle import cell_snapshot, pool_hosts
from roost.gridengine.pool.hosts import Hosts
from roost.gridengine.pool.reservations import slots_now, state_of, troubles
from roost.gridengine.pool.suspensions import Suspensions
from roost.gridengine.scheduling import HostReport, run
from roost.gridengine.scheduling.ledger import ALWAYS, Ledger, exclusive_names, needs_of
from roost.gridengine.scheduling.loads import Loads
from roost.gridengine.scheduling.snapshot import CellSnapshot
from roost.gridengine.scheduling.states import States
from roost.model.cell_reservations import AdvanceReservation
from roost.negotiator.snapshot import Snapshot
from roost.negotiator.timing import at_once

#: Load values, in the order in which hosts report them.
_LOADS: Final = (
    "load_avg", "load_short", "load_medium", "load_long", "arch", "num_proc", "mem_free", "swap_free", "virtual_free",
    "mem_total", "swap_total", "virtual_total", "mem_used", "swap_used", "virtual_used", "cpu", "m_topology",
    "m_topology_inuse", "m_socket", "m_core", "m_thread", "np_load_avg", "np_load_short", "np_load_medium",
    "np_load_long",
)  # fmt: skip
#: What a queue instance offers in addition to its `complex_values`, in this order.
_OF_QUEUE: Final = (
    "qname", "hostname", "slots", "tmpdir", "seq_no", "rerun", "calendar",
    *(f"{hardness}_{name}" for name in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
      for hardness in "sh"),
    "min_cpu_interval",
)  # fmt: skip


class AvailableResource(NamedTuple):
    """The amount of a resource that a host or a queue instance has now, with the fields of
    `wire.requests.central.HostOffer`."""

    name: str
    source: str
    value: float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRow:
    """A queue instance."""

    name: str
    #: B for batch, I for interactive, C for checkpointing, P for parallel jobs
    types: str
    used: int
    total: int
    #: ``load_avg`` as its host reports it; None if it does not
    load: float | None
    architecture: str
    #: letters
    states: str
    #: why it accepts no jobs, a sentence each
    reasons: tuple[str, ...]
    #: slots that advance reservations have now
    reserved: int = 0
    #: ``np_load_avg``
    load_per_processor: float | None = None
    #: the amount of each resource
    offers: tuple[AvailableResource, ...] = ()
    #: the causes of the states a, A, c and E: the letter, a blank and the words of `qstat -explain`
    explained: tuple[str, ...] = ()


def instance_rows(
    active: ActiveCell, snapshot: Snapshot, suspensions: Suspensions | None = None, *, details: bool = False
) -> tuple[InstanceRow, ...]:
    """All instances, in the order of queues and their hosts; raise `NotScheduled` as a run does.

    `details`: with their resources and the causes of their states.
    """
    found = at_once(pool_hosts(snapshot, Hosts(active.cell, active.instances)))
    told = cell_snapshot(active, snapshot, found, suspensions or Suspensions())
    plan = run(told)
    reserved = slots_now(active.reservations, snapshot.now)
    used: dict[str, int] = {}
    for task in told.running:
        for instance, slots in task.grants:
            used[instance] = used.get(instance, 0) + slots
    why: dict[str, list[str]] = {name: [words] for name, words in active.errors.items()}
    for reason in plan.dropped:
        if reason.values:
            why.setdefault(str(reason.values[0]), []).append(reason.sentence())
    rows = (
        _row(one, told.reports.get(one.host), used.get(one.name, 0), plan.states.get(one.name, ""), why, reserved)
        for one in told.instances
    )
    return tuple(_detailed(active, told, tuple(rows)) if details else rows)


def _detailed(active: ActiveCell, told: CellSnapshot, rows: tuple[InstanceRow, ...]) -> Iterator[InstanceRow]:
    """Rows with offers and the causes of states."""
    ledger, loads = _booked(active, told)
    states = States(told, loads, ledger)
    for one, row in zip(told.instances, rows, strict=True):
        places = [("h", one.host), ("g", GLOBAL), ("q", one.name)]
        names = {"qname": one.name.partition("@")[0], "hostname": one.host}
        offers = (
            AvailableResource(each.name, "qf", names[each.name]) if each.name in names else _offer(ledger, places, each)
            for each in _shown(active, one.host, one)
        )
        explained = [*states.alarms(one), *(("c", f"warning: {each}") for each in one.ambiguous)]
        if one.name in active.errors:
            explained.append(("E", active.errors[one.name]))
        yield replace(
            row,
            offers=tuple(each for each in offers if each is not None),
            explained=tuple(f"{letter} {words}" for letter, words in explained),
        )


def _shown(active: ActiveCell, host: str, instance: QueueInstance | None = None) -> list[Complex]:
    """The complexes in Grid Engine's order: what the cell has, then the host, then the queue instance."""
    cell = active.cell
    configured = [cell.hosts[name].complex_values if name in cell.hosts else () for name in (GLOBAL, host)]
    names = [*(pair.name for pair in configured[0]), *_LOADS, *(pair.name for pair in configured[1])]
    if instance is not None:
        names += [*_OF_QUEUE, *(pair.name for pair in instance.settings.complex_values)]
    known = cell.complexes
    return [known[name] for name in dict.fromkeys([*names, *known]) if name in known]


def _booked(active: ActiveCell, told: CellSnapshot) -> tuple[Ledger, Loads]:
    """The accounts with running jobs booked, and the load values."""
    loads = Loads(told)
    ledger, complexes = Ledger(told, loads), active.cell.complexes
    for task in told.running:
        ledger.book(task.grants, needs_of(task.request, complexes), exclusive_names(task.request, complexes))
    return ledger, loads


def _row(
    one: QueueInstance,
    report: HostReport | None,
    used: int,
    states: str,
    why: dict[str, list[str]],
    reserved: dict[str, int],
) -> InstanceRow:
    values = report.values if report else {}
    reasons = [str(each) for each in one.ambiguous] + why.get(one.name, [])
    return InstanceRow(
        name=one.name,
        types="".join(_types(one)),
        used=used,
        total=one.settings.slots,
        load=float(values["load_avg"]) if "load_avg" in values else None,
        load_per_processor=float(values["np_load_avg"]) if "np_load_avg" in values else None,
        architecture=values.get("arch", ""),
        states=states,
        reasons=tuple(reasons),
        reserved=reserved.get(one.name, 0),
    )


def _types(one: QueueInstance) -> Iterator[str]:
    settings = one.settings
    for letter, has in (
        ("B", settings.batch),
        ("I", settings.interactive),
        ("C", bool(settings.ckpt_list)),
        ("P", bool(settings.pe_list)),
    ):
        if has:
            yield letter


class ReservationRow(NamedTuple):
    """The current state of an advance reservation."""

    reservation: AdvanceReservation
    #: its letter
    state: str
    #: what is wrong with its queue instances, a sentence each
    messages: tuple[str, ...]


def reservation_rows(
    active: ActiveCell, snapshot: Snapshot, suspensions: Suspensions | None = None
) -> tuple[ReservationRow, ...]:
    """All advance reservations, by number."""
    if not active.reservations:
        return ()
    states = {row.name: row.states for row in instance_rows(active, snapshot, suspensions)}
    found = [(one, troubles(one, states)) for one in sorted(active.reservations, key=lambda each: each.number)]
    return tuple(
        ReservationRow(one, state_of(one, snapshot.now, in_trouble=bool(messages)), messages) for one, messages in found
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """An execution host, or `global`."""

    name: str
    #: load values by complex, as reported
    reported: Mapping[str, str]
    offers: tuple[AvailableResource, ...]


def host_rows(active: ActiveCell, snapshot: Snapshot, suspensions: Suspensions | None = None) -> tuple[HostRow, ...]:
    """`global` and all hosts of the cell, by name."""
    found = at_once(pool_hosts(snapshot, Hosts(active.cell, active.instances)))
    told = cell_snapshot(active, snapshot, found, suspensions or Suspensions())
    ledger, _ = _booked(active, told)
    names = sorted({*active.cell.hosts, *(one.host for one in active.instances)} - {GLOBAL})
    rows = []
    for name in (GLOBAL, *names):
        report = told.reports.get(name)
        places = [("g", GLOBAL)] if name == GLOBAL else [("h", name), ("g", GLOBAL)]
        offers = (_offer(ledger, places, each) for each in _shown(active, name))
        rows.append(
            HostRow(
                name=name,
                reported=report.values if report else {},
                offers=tuple(one for one in offers if one is not None),
            )
        )
    return tuple(rows)


def _offer(ledger: Ledger, places: Sequence[tuple[str, str]], definition: Complex) -> AvailableResource | None:
    """The value that counts for a resource among the places that have it, after its letter: the one that leaves
    least."""
    found = [
        AvailableResource(definition.name, letter + source, value)
        for letter, place in places
        if place in ledger.configured
        for source, value in _values(ledger, place, definition)
    ]
    if not found:
        return None
    numbers = [each for each in found if isinstance(each.value, float)]
    if len(numbers) < len(found) or definition.relation in ("==", "!="):
        # A value of the cell hides the rest.
        return next((each for each in found if each.source.startswith("g")), found[0])
    least = min if definition.relation in ("<", "<=", "EXCL") else max
    return least(numbers, key=lambda each: each.value)


def _values(ledger: Ledger, place: str, definition: Complex) -> Iterator[tuple[str, float | str]]:
    name = definition.name
    if definition.is_exclusive:
        if name in ledger.configured[place]:
            yield "c", 0.0 if ledger.account(place).is_exclusive(name, ALWAYS) else 1.0
        return
    if definition.is_consumable:
        left = ledger.offered(place, name)
        if left is not None:
            yield left[1], left[0]
            return
    fixed = ledger.fixed(place, name)
    if fixed is not None:
        yield fixed[1], fixed[0]
