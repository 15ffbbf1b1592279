"""The queue instances of a pool, as `qstat -f` lists them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from roost.gridengine.instances import QueueInstance
from roost.gridengine.pool.cycle import ActiveCell, cell_snapshot, floor
from roost.gridengine.pool.hosts import Hosts
from roost.gridengine.scheduling import HostReport, run
from roost.negotiator.snapshot import Snapshot
from roost.negotiator.timing import at_once


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
    #: why it takes no jobs, a sentence each
    reasons: tuple[str, ...]


def instance_rows(active: ActiveCell, snapshot: Snapshot) -> tuple[InstanceRow, ...]:
    """All instances, in the order of queues and their hosts; raise `NotScheduled` as a run does."""
    found = at_once(floor(snapshot, Hosts(active.cell, active.instances)))
    told = cell_snapshot(active, snapshot, found)
    plan = run(told)
    used: dict[str, int] = {}
    for task in told.running:
        for instance, slots in task.grants:
            used[instance] = used.get(instance, 0) + slots
    why: dict[str, list[str]] = {}
    for reason in plan.dropped:
        if reason.values:
            why.setdefault(str(reason.values[0]), []).append(reason.sentence())
    return tuple(
        _row(one, told.reports.get(one.host), used.get(one.name, 0), plan.states.get(one.name, ""), why)
        for one in told.instances
    )


def _row(
    one: QueueInstance, report: HostReport | None, used: int, states: str, why: dict[str, list[str]]
) -> InstanceRow:
    values = report.values if report else {}
    reasons = [str(each) for each in one.ambiguous] + why.get(one.name, [])
    return InstanceRow(
        name=one.name,
        types="".join(_types(one)),
        used=used,
        total=one.settings.slots,
        load=float(values["load_avg"]) if "load_avg" in values else None,
        architecture=values.get("arch", ""),
        states=states,
        reasons=tuple(reasons),
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
