"""The metrics of the pool, in the Prometheus format."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from roost.api.calls import Call
from roost.api.problems import Problem
from roost.wire.requests import central, queue

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


def exposition(call: Call) -> bytes:
    """All metrics, as OpenMetrics text. A daemon that does not answer is reported as down, and its metrics are left
    out.
    """
    registry = CollectorRegistry()
    registry.register(_Figures(call))
    found: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return found


class _Figures:
    """The collector for one answer."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._up: dict[str, bool] = {}

    def collect(self) -> Iterator[Metric]:
        """Collect the metric families."""
        yield from self._slots()
        yield from self._queue()
        yield from self._matchmaker()
        up = GaugeMetricFamily("roost_daemon_up", "Whether a daemon answers.", labels=["daemon"])
        for name, answers in self._up.items():
            up.add_metric([name], float(answers))
        yield up
        yield from _processes(self._call.server.home.run)

    def _slots(self) -> Iterator[Metric]:
        slots = self._call.server.feed.slots().values()
        family = GaugeMetricFamily("roost_slots", "Slots by state and activity.", labels=["state", "activity"])
        for (state, activity), number in sorted(Counter((each.state, each.activity) for each in slots).items()):
            family.add_metric([state, activity], number)
        yield family
        machines = GaugeMetricFamily("roost_machines", "Machines that have slots in the pool.")
        machines.add_metric([], len({each.machine for each in slots}))
        yield machines

    def _queue(self) -> Iterator[Metric]:
        try:
            totals = self._call.pool.ask(queue.Summary(), within_s=5)
        except Problem:
            self._up["queue"] = False
            return
        self._up["queue"] = True
        jobs = GaugeMetricFamily("roost_jobs", "Jobs in the queue by status.", labels=["status"])
        for status, number in sorted(totals.jobs.items()):
            jobs.add_metric([status], number)
        yield jobs
        claims = GaugeMetricFamily("roost_claims", "Slots that the queue has claimed.")
        claims.add_metric([], totals.claims)
        yield claims
        if totals.figures is not None:
            yield from _history(totals.figures)

    def _matchmaker(self) -> Iterator[Metric]:
        try:
            last = self._call.pool.ask(central.Cycle(), within_s=5)
        except Problem:
            self._up["central"] = False
            return
        self._up["central"] = True
        cycles = CounterMetricFamily("roost_cycles", "Matchmaking cycles since the central manager started.")
        cycles.add_metric([], last.cycles)
        yield cycles
        took = GaugeMetricFamily("roost_last_cycle_seconds", "How long the last matchmaking cycle took.")
        took.add_metric([], last.seconds)
        yield took
        causes: Counter[str] = Counter()
        for rejected in last.rejections.values():
            causes.update(rejected.causes)
        rejections = GaugeMetricFamily(
            "roost_last_cycle_rejections", "Slots that rejected requests in the last cycle, by cause.", labels=["cause"]
        )
        for cause, number in sorted(causes.items()):
            rejections.add_metric([cause], number)
        yield rejections


def _history(figures: queue.QueueFigures) -> Iterator[Metric]:
    """What the queue has seen since it started; a queue that is started again begins at zero, as counters may."""
    waits = HistogramMetricFamily("roost_job_wait_seconds", "Time from submission to a job's first start.")
    _add(waits, [], figures.submit_to_start)
    yield waits
    starts = HistogramMetricFamily("roost_job_start_seconds", "Time from a match to the start of the job's program.")
    _add(starts, [], figures.match_to_start)
    yield starts
    transfers = HistogramMetricFamily(
        "roost_transfer_seconds", "How long transfers of a job's files took.", labels=["direction"]
    )
    _add(transfers, ["input"], figures.input)
    _add(transfers, ["output"], figures.output)
    yield transfers
    queued = HistogramMetricFamily(
        "roost_transfer_wait_seconds",
        "How long transfers waited for their turn.",
        labels=["direction"],
    )
    _add(queued, ["input"], figures.input_wait)
    _add(queued, ["output"], figures.output_wait)
    yield queued
    moved = CounterMetricFamily(
        "roost_transfer_bytes", "Bytes of files that runs that have ended transferred.", labels=["direction"]
    )
    moved.add_metric(["input"], figures.bytes_received)
    moved.add_metric(["output"], figures.bytes_sent)
    yield moved
    ended = CounterMetricFamily("roost_runs_ended", "Runs of jobs that have ended, by how.", labels=["ending"])
    for ending in ("exit", "evict", "hold", "remove"):
        ended.add_metric([ending], figures.ended.get(ending, 0))
    yield ended


def _add(family: HistogramMetricFamily, labels: list[str], times: queue.Durations) -> None:
    """Add a histogram, each of whose counts includes those of all smaller bounds."""
    whole, buckets = 0, []
    for bound, count in zip((*map(str, queue.DURATION_BOUNDS_S), "+Inf"), times.counts, strict=True):
        whole += count
        buckets.append((bound, whole))
    family.add_metric(labels, buckets=buckets, sum_value=times.sum_s)


def _processes(run: Path) -> Iterator[Metric]:
    """What the daemons of this machine use, by /proc."""
    memory = GaugeMetricFamily("roost_daemon_resident_memory_bytes", "Memory of a daemon.", labels=["daemon"])
    spent = CounterMetricFamily("roost_daemon_cpu_seconds", "Processor time of a daemon.", labels=["daemon"])
    age = GaugeMetricFamily("roost_daemon_start_time_seconds", "Epoch of a daemon's start.", labels=["daemon"])
    page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    for path in sorted(run.glob("*.pid")):
        try:
            stat = Path(f"/proc/{int(path.read_text())}/stat").read_text()
            booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
        except (OSError, ValueError, StopIteration):
            continue
        # The name of the program before may contain blanks.
        fields = stat.rpartition(")")[2].split()
        memory.add_metric([path.stem], int(fields[21]) * page)
        spent.add_metric([path.stem], (int(fields[11]) + int(fields[12])) / tick)
        age.add_metric([path.stem], int(booted.split()[1]) + int(fields[19]) / tick)
    yield from (memory, spent, age)
