"""Load values for the run: as reported, scaled, and adjusted for jobs that have just started.

A job that starts does not show in the load yet, so for a while (`load_adjustment_decay_time`) it adds
`job_load_adjustments`, with decreasing weight. The weight of a host is the sum over its recent tasks of slots times the
remaining fraction of the decay time, in hundredths; that of `global` counts instances instead of slots. Values that
grow with use (relation ``>`` or ``>=``) rise by adjustment times weight, others fall; those named ``np_…`` by the
amount per processor.
"""

from __future__ import annotations

from typing import Final

from roost.gridengine.objects.complex import Complex, value_number
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.values import number, seconds
from roost.gridengine.scheduling.snapshot import CellSnapshot, Grant, HostReport, RunningTask

#: load of a host that lacks a value of its load formula
NO_LOAD: Final = 10_000_000_000.0
#: the derivation of a value used as reported
UNADJUSTED: Final = "no load adjustment"
_FULL_WEIGHT: Final = 100
_MAX_UNHEARD_S: Final = 300.0


def host_of(instance: str) -> str:
    """The host of ``queue@host``."""
    return instance.rpartition("@")[2]


class Loads:
    """Load values of all hosts, and the adjustments of this run."""

    def __init__(self, snapshot: CellSnapshot) -> None:
        cell = snapshot.cell
        self.complexes = cell.complexes
        self.adjustments = {one.name: number(one.text) or 0.0 for one in cell.scheduler.job_load_adjustments}
        self._texts = {one.name: one.text for one in cell.scheduler.job_load_adjustments}
        self._decay = cell.scheduler.load_adjustment_decay_time.number
        self._values = {host: self._scaled(snapshot, host, report) for host, report in snapshot.reports.items()}
        #: values that at least one host reports
        self.names = frozenset(name for values in self._values.values() for name in values)
        self._weights: dict[str, int] = {}
        #: by host and complex, until the weight changes
        self._adjusted: dict[str, dict[str, float | str | None]] = {}
        configuration = cell.configurations.get(GLOBAL)
        unheard = seconds(configuration.get("max_unheard") or "") if configuration else None
        self._heard_since = snapshot.now - (_MAX_UNHEARD_S if unheard is None else unheard)
        self._reports = snapshot.reports
        for task in snapshot.running:
            self._add_running(task, snapshot.now)

    def _scaled(self, snapshot: CellSnapshot, host: str, report: HostReport) -> dict[str, float | str]:
        configured = snapshot.cell.hosts.get(host)
        factors = dict(configured.load_scaling) if configured else {}
        found: dict[str, float | str] = {}
        for name, text in report.values.items():
            definition = self.complexes.get(name)
            if definition is None or definition.type.is_text:
                found[name] = text
            elif (value := value_number(definition.type, text)) is not None:
                found[name] = value * factors.get(name, 1.0)
        return found

    def _add_running(self, task: RunningTask, now: float) -> None:
        age = max(now - task.started, 0.0)
        if age < self._decay:
            self.add(task.grants, int(_FULL_WEIGHT * (1 - age / self._decay)))

    def add(self, grants: tuple[Grant, ...], weight: int = _FULL_WEIGHT) -> None:
        """Count a task with a weight in hundredths; a task dispatched now has the full weight."""
        if not self.adjustments:
            return
        for instance, slots in grants:
            host = host_of(instance)
            self._weights[host] = self._weights.get(host, 0) + weight * slots
            self._weights[GLOBAL] = self._weights.get(GLOBAL, 0) + weight
            self._adjusted.pop(host, None)
        self._adjusted.pop(GLOBAL, None)

    def unknown(self, host: str) -> bool:
        """Whether a host has not reported for too long (state u)."""
        report = self._reports.get(host)
        return report is None or report.time < self._heard_since

    def reported(self, host: str, name: str) -> float | str | None:
        """A value without adjustment; None if the host does not report it."""
        return self._values.get(host, {}).get(name)

    def value(self, host: str, name: str) -> float | str | None:
        """A value with its adjustment."""
        if name not in self.adjustments or host not in self._weights:
            return self.reported(host, name)
        known = self._adjusted.setdefault(host, {})
        if name not in known:
            known[name] = self._adjust(host, name)
        return known[name]

    def _adjust(self, host: str, name: str) -> float | str | None:
        found = self.reported(host, name)
        if not isinstance(found, float):
            return found
        shift = self.adjustments[name] * self.weight(host) / self._processors(host, name)
        return found + shift if rises(self.complexes[name]) else found - shift

    def weight(self, host: str) -> float:
        """Tasks that count for an adjustment."""
        return self._weights.get(host, 0) / _FULL_WEIGHT

    def _processors(self, host: str, name: str) -> float:
        found = self.reported(host, "num_proc") if name.startswith("np_") else None
        return found if isinstance(found, float) and found > 1 else 1.0

    def derivation(self, host: str, name: str) -> str:
        """The derivation of an adjusted value, for reasons."""
        base = self.reported(host, name)
        if name not in self.adjustments or not isinstance(base, float) or not self._weights.get(host):
            return UNADJUSTED
        sign = "+" if rises(self.complexes[name]) else "-"
        text = f"= {base:.6f} {sign} {self._texts[name]} * {self.weight(host):.6f}"
        processors = self._processors(host, name)
        return f"{text} with nproc={processors:.0f}" if name.startswith("np_") and processors > 1 else text


def rises(definition: Complex) -> bool:
    """Whether use makes a load value larger."""
    return definition.relation in (">", ">=")
