"""The summary of a run: figures about jobs, machines and owners, computed from its records alone.

* *goodput*: run time of jobs that counts: of completed runs, and the saved part of others.
* *badput*: run time of jobs that was lost, by the cause of the eviction.
* *utilisation*: core time of jobs, divided by the time of all cores.
* *wait*: from submission to the first start. *Slowdown*: from submission to completion, divided by the run time of the
  job on an otherwise unused machine (at least 10 s).
* *owner interference*: run time of jobs while keys were being pressed on their machine.

Sums cover runs that ended, and those in progress at the end of the simulation, whose time is *open*.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from roost.base.records import dataclass, field
from roost.sim.record import Record

#: Shortest run time used for a slowdown, s.
SLOWDOWN_RUN_S_MIN = 10.0


@dataclass(slots=True, kw_only=True)
class Metrics:
    """Collects figures; `take` is a sink of records."""

    slots: int
    days: float
    run_s: dict[str, float]
    #: Cores of all initial slots.
    cores: int
    submitted: dict[str, float] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)
    completed: dict[str, float] = field(default_factory=dict)
    goodput_s: float = 0.0
    badput_s: Counter[str] = field(default_factory=Counter)
    open_s: float = 0.0
    busy_core_s: float = 0.0
    suspended_s: float = 0.0
    interference_s: float = 0.0
    evictions: Counter[str] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)

    def take(self, record: Record) -> None:
        """Take a record."""
        match record["what"]:
            case "transition":
                self.transitions[record["number"]] += 1
            case "submit":
                self.submitted[record["job"]] = record["t"]
            case "start":
                self.started.setdefault(record["job"], record["t"])
            case "complete":
                self.completed[record["job"]] = record["t"]
            case "end":
                self._end(record)

    def _end(self, record: Record) -> None:
        outcome = record["outcome"]
        self.outcomes[outcome] += 1
        self.busy_core_s += record["run_s"] * record["cpus"]
        self.suspended_s += record["suspended_s"]
        self.interference_s += record["interference_s"]
        if outcome == "open":
            self.open_s += record["run_s"]
            return
        self.goodput_s += record["kept_s"]
        lost_s = record["run_s"] - record["kept_s"]
        if outcome != "completed":
            cause = record["cause"] or outcome
            self.evictions[cause] += 1
            self.badput_s[cause] += lost_s

    def summary(self) -> dict[str, Any]:
        """All figures, in display order."""
        waits = sorted(self.started[job] - at for job, at in self.submitted.items() if job in self.started)
        slowdowns = sorted(
            (at - self.submitted[job]) / max(SLOWDOWN_RUN_S_MIN, self.run_s[job]) for job, at in self.completed.items()
        )
        badput_s = sum(self.badput_s.values())
        available_s = self.cores * self.days * 86_400
        return {
            "slots": self.slots,
            "days": self.days,
            "jobs_submitted": len(self.submitted),
            "jobs_started": len(self.started),
            "jobs_completed": len(self.completed),
            "goodput_h": _hours(self.goodput_s),
            "badput_h": _hours(badput_s),
            "open_h": _hours(self.open_s),
            "badput_h_by_cause": {cause: _hours(lost) for cause, lost in sorted(self.badput_s.items())},
            "suspended_h": _hours(self.suspended_s),
            "utilisation": _round(self.busy_core_s / available_s if available_s else 0.0),
            "goodput_share": _round(self.goodput_s / (self.goodput_s + badput_s) if self.goodput_s else 0.0),
            "wait_min_mean": _round(_mean(waits) / 60),
            "wait_min_median": _round(_quantile(waits, 0.5) / 60),
            "wait_min_95": _round(_quantile(waits, 0.95) / 60),
            "slowdown_mean": _round(_mean(slowdowns)),
            "slowdown_median": _round(_quantile(slowdowns, 0.5)),
            "slowdown_95": _round(_quantile(slowdowns, 0.95)),
            "evictions": sum(self.evictions.values()),
            "evictions_by_cause": dict(sorted(self.evictions.items())),
            "evictions_per_job": _round(sum(self.evictions.values()) / max(1, len(self.submitted))),
            "suspensions": self.transitions["14"] + self.transitions["20"],
            "owner_interference_s": round(self.interference_s),
            "transitions": {number: self.transitions[number] for number in sorted(self.transitions, key=_by_number)},
        }


def _by_number(number: str) -> tuple[int, str]:
    digits = "".join(each for each in number if each.isdigit())
    return int(digits or 0), number


def _hours(seconds: float) -> float:
    return round(seconds / 3600, 2)


def _round(number: float) -> float:
    return round(number, 4)


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
