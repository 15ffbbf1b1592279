"""The pool in figures, as Prometheus reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from roost.api.calls import Call
from roost.api.problems import Problem
from roost.wire.requests import central, queue

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


def exposition(call: Call) -> bytes:
    """All figures, in the text of OpenMetrics. A daemon that does not answer is down; what it knows is left out."""
    registry = CollectorRegistry()
    registry.register(_Figures(call))
    found: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return found


class _Figures:
    """What is asked for one answer."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._up: dict[str, bool] = {}

    def collect(self) -> Iterator[Metric]:
        """The families."""
        yield from self._slots()
        yield from self._queue()
        yield from self._matchmaker()
        up = GaugeMetricFamily("roost_daemon_up", "Whether a daemon answers.", labels=["daemon"])
        for name, answers in self._up.items():
            up.add_metric([name], float(answers))
        yield up

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
