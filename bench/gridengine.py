"""A scheduling run of a Grid Engine cell."""

from __future__ import annotations

import datetime
import gc
import time
from collections.abc import Iterator

from bench.measure import Row
from roost.base.records import replace
from roost.gridengine.builtin import COMPLEXES
from roost.gridengine.cell import Cell
from roost.gridengine.instances import resolve
from roost.gridengine.objects.complex import parse_complexes
from roost.gridengine.objects.host import GLOBAL, ExecutionHost, HostGroup
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.queue import ClusterQueue, QueueSettings
from roost.gridengine.objects.quota import Filter, QuotaRule, QuotaSet
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.objects.values import Quantity
from roost.gridengine.scheduling import Booked, CellSnapshot, Grant, HostReport, PendingJob, Request
from roost.gridengine.scheduling import run as decide

#: What is wanted, seconds of CPU time in the best of five runs: 10,000 jobs of 100 kinds on 1,000 hosts with 3 queues.
WANTED_S = 1.0
#: The same with reservations, for which every booking has a beginning and an end.
WANTED_RESERVING_S = 2.0
QUEUES = ("short.q", "all.q", "long.q")
KINDS = 100
#: each user or host by itself
EACH = Filter(include=("*",), expanded=True)
_NOW = 1_800_000_000.0


def make_cell(hosts: int) -> Cell:
    """Hosts with 4 slots in each queue and 8 over all, memory, a licence for all, quotas and load adjustments."""
    own = parse_complexes("lic lic INT <= YES YES 0 1000\nmem mem MEMORY <= YES YES 1G 0\n", "bench")
    names = tuple(f"node{number:04d}" for number in range(hosts))
    configured = {
        name: ExecutionHost(name=name, complex_values=(Pair("slots", "8"), Pair("mem", "32G"))) for name in names
    }
    configured[GLOBAL] = ExecutionHost(name=GLOBAL, complex_values=(Pair("lic", "500"),))
    queues = {
        name: ClusterQueue(
            name=name,
            hostlist=("@all",),
            defaults=QueueSettings(slots=4, seq_no=place, h_rt=Quantity(limit, int(limit))),
        )
        for place, (name, limit) in enumerate(zip(QUEUES, ("3600", "86400", "864000"), strict=True))
    }
    return Cell(
        queues=queues,
        hosts=configured,
        host_groups={"@all": HostGroup(name="@all", hostlist=names)},
        quota_sets={
            "users": QuotaSet(
                name="users", enabled=True, rules=(QuotaRule(users=EACH, limits=(Pair("slots", "700"),)),)
            ),
            "hosts": QuotaSet(
                name="hosts", enabled=True, rules=(QuotaRule(hosts=EACH, limits=(Pair("slots", "$num_proc*2"),)),)
            ),
        },
        complexes=dict(COMPLEXES) | {one.name: one for one in own},
        scheduler=SchedulerConfiguration(
            job_load_adjustments=(Pair("np_load_avg", "0.50"),), load_adjustment_decay_time=Quantity("450", 450)
        ),
    )


def make_jobs(count: int) -> Iterator[PendingJob]:
    """Jobs of 100 kinds: users, run times, memory, licences, host groups and sizes that nothing has."""
    for number in range(count):
        kind = number * 7919 % KINDS
        hard = [Pair("h_rt", str(600 * (1 + kind % 40))), Pair("mem", f"{1 + kind % 7}G")]
        if kind % 5 == 0:
            hard.append(Pair("lic", "1"))
        if kind % 25 == 1:
            hard.append(Pair("mem_total", "4T"))
        queues = ("all.q", "long.q@@all") if kind % 10 == 3 else ()
        request = Request(user=f"user{kind % 20}", hard=tuple(hard), queues=queues)
        yield PendingJob(number=number + 1, request=request, submitted=_NOW - count + number)


def make_snapshot(jobs: int, hosts: int) -> CellSnapshot:
    cell = make_cell(hosts)
    reports = {
        host: HostReport(time=_NOW, values={"np_load_avg": f"{number % 10 / 20}", "num_proc": "8", "mem_total": "64G"})
        for number, host in enumerate(cell.hosts)
    }
    return CellSnapshot(
        cell=cell,
        instances=resolve(cell),
        reports=reports,
        now=_NOW,
        local_time=datetime.datetime(2027, 1, 15, 12),
        pending=tuple(make_jobs(jobs)),
    )


def with_reservations(snapshot: CellSnapshot) -> CellSnapshot:
    """20 advance reservations, half of them active, with jobs that use them, and jobs with ``-R y`` of which 20 may."""
    hosts = len(snapshot.instances) // len(QUEUES)
    reservations = tuple(
        Booked(
            number=number + 1,
            request=Request(user="user0"),
            grants=tuple(Grant(f"all.q@node{(number * 7 + place) % hosts:04d}", 1) for place in range(10)),
            start=_NOW + number % 2 * 1800,
            end=_NOW + 7200,
        )
        for number in range(20)
    )
    pending = tuple(
        replace(
            job, reservation=job.number // 200 % 20 + 1 if job.number % 200 == 0 else 0, reserve=job.number % 50 == 1
        )
        for job in snapshot.pending
    )
    scheduler = replace(snapshot.cell.scheduler, max_reservation=20)
    cell = replace(snapshot.cell, scheduler=scheduler)
    return replace(snapshot, cell=cell, pending=pending, reservations=reservations)


def _row(name: str, snapshot: CellSnapshot, wanted_s: float, *, quick: bool) -> Row:
    gc.collect()
    times = []
    for _ in range(5):
        start = time.process_time()
        plan = decide(snapshot)
        times.append(time.process_time() - start)
    least = min(times)
    return Row(
        name=name,
        ratio=wanted_s / least,
        wanted=None if quick else 1.0,
        detail=f"{least:.2f} s of CPU time, {len(plan.dispatches):,} dispatches, "
        f"{len(plan.waiting):,} jobs wait with reasons",
    )


def run(*, quick: bool = False) -> Iterator[Row]:
    jobs, hosts = (1000, 100) if quick else (10_000, 1000)
    snapshot = make_snapshot(jobs, hosts)
    name = f"Grid Engine run: {jobs:,} jobs, {hosts:,} hosts x {len(QUEUES)}"
    yield _row(name, snapshot, WANTED_S, quick=quick)
    yield _row(f"{name}, with reservations", with_reservations(snapshot), WANTED_RESERVING_S, quick=quick)
