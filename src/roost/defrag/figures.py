"""The figures of the daemon's ad: what it has done, and what draining costs the pool.

A machine that was being drained by this daemon and is now whole has *arrived*. The mean time between arrivals and its
deviation are computed incrementally.

The cost of draining comes from what machines have reported since their daemons started: core seconds that were not used
(TotalMachineDrainingUnclaimedTime) and that were used for jobs which were then killed (TotalMachineDrainingBadput),
divided by the age of the daemon and by the machine's cores: a fraction of the pool's capacity. A machine counts once,
by its first slot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from roost.base.records import dataclass, replace
from roost.classad import ClassAd
from roost.classad.reading import number_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures in the ad."""

    machines_draining: int = 0
    machines_draining_peak: int = 0
    whole_machines: int = 0
    whole_machines_peak: int = 0
    drain_successes: int = 0
    drain_failures: int = 0
    #: Machines that arrived.
    drained_machines: int = 0
    last_arrival_at: float | None = None
    #: Times between arrivals: how many, their mean, s, and the sum of squared deviations from it, s².
    intervals: int = 0
    mean_interval_s: float = 0.0
    squares_s2: float = 0.0
    avg_draining_badput: float = 0.0
    avg_draining_unclaimed: float = 0.0

    def seen(self, draining: int, whole: int) -> Figures:
        """The figures after a round found that many machines."""
        return replace(
            self,
            machines_draining=draining,
            machines_draining_peak=max(self.machines_draining_peak, draining),
            whole_machines=whole,
            whole_machines_peak=max(self.whole_machines_peak, whole),
        )

    def arrived(self, count: int, now: float) -> Figures:
        """The figures after that many machines arrived. Between several that arrive at once, the time is taken to be
        0."""
        figures = self
        for _ in range(count):
            figures = figures._one_arrived(now)
        return figures

    def _one_arrived(self, now: float) -> Figures:
        after = replace(self, drained_machines=self.drained_machines + 1, last_arrival_at=now)
        if self.last_arrival_at is None:
            return after
        interval = max(0.0, now - self.last_arrival_at)
        count = self.intervals + 1
        away = interval - self.mean_interval_s
        mean = self.mean_interval_s + away / count
        squares = self.squares_s2 + away * (interval - mean)
        return replace(after, intervals=count, mean_interval_s=mean, squares_s2=squares)

    @property
    def deviation_s(self) -> float:
        """Standard deviation of the times between arrivals, s; 0 for fewer than two."""
        return math.sqrt(max(0.0, self.squares_s2) / (self.intervals - 1)) if self.intervals > 1 else 0.0


def average_costs(slots: Iterable[ClassAd]) -> tuple[float, float]:
    """AvgDrainingBadput and AvgDrainingUnclaimed of a pool, 0 to 1."""
    badput = unclaimed = cores = 0.0
    for ad in slots:
        if number_in(ad, "SlotID") != 1 or ad.eval("DynamicSlot") is True:
            continue
        heard, started, own = (number_in(ad, name) for name in ("LastHeardFrom", "DaemonStartTime", "TotalCpus"))
        if heard is None or started is None or not own:
            continue
        age_s = heard - started
        if age_s <= 0:
            continue
        badput += (number_in(ad, "TotalMachineDrainingBadput") or 0.0) / age_s
        unclaimed += (number_in(ad, "TotalMachineDrainingUnclaimedTime") or 0.0) / age_s
        cores += own
    return (badput / cores, unclaimed / cores) if cores > 0 else (0.0, 0.0)


def daemon_ad(figures: Figures, name: str, host: str, now: float) -> ClassAd:
    """The ad of the daemon."""
    return ClassAd(
        {
            "MyType": "Defrag",
            "Name": name,
            "Machine": host,
            "MyCurrentTime": int(now),
            "MachinesDraining": figures.machines_draining,
            "MachinesDrainingPeak": figures.machines_draining_peak,
            "WholeMachines": figures.whole_machines,
            "WholeMachinesPeak": figures.whole_machines_peak,
            "DrainSuccesses": figures.drain_successes,
            "DrainFailures": figures.drain_failures,
            "DrainedMachines": figures.drained_machines,
            "MeanDrainedArrival": figures.mean_interval_s,
            "MeanDrainedArrivalSD": figures.deviation_s,
            "AvgDrainingBadput": figures.avg_draining_badput,
            "AvgDrainingUnclaimed": figures.avg_draining_unclaimed,
        }
    )
