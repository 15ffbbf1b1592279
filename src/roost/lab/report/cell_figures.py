"""Results of a simulation of a cell by queue, user and project, computed from its records alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.sim.record import Record

#: Groupings of figures, as in the summary.
GROUPS: Final = ("queues", "users", "projects")
#: Figures of each group, as in the summary, with their labels.
COLUMNS: Final[Mapping[str, str]] = {
    "started": "jobs started",
    "completed": "completed",
    "slot_h": "slot hours",
    "wait_min_mean": "wait, mean (min)",
    "wait_min_max": "longest (min)",
}
#: The project of jobs that have none.
_NONE: Final = "NONE"


@dataclass(slots=True)
class _Sums:
    waits: list[float] = field(default_factory=list)
    completed: int = 0
    slot_s: float = 0.0

    def summary(self) -> dict[str, float]:
        waits = self.waits
        return {
            "started": len(waits),
            "completed": self.completed,
            "slot_h": round(self.slot_s / 3600, 2),
            "wait_min_mean": round(sum(waits) / len(waits) / 60, 2) if waits else 0.0,
            "wait_min_max": round(max(waits, default=0.0) / 60, 2),
        }


class CellFigures:
    """Gathers them; `take` is a sink of records."""

    def __init__(self) -> None:
        self._submitted: dict[str, tuple[float, str]] = {}
        #: Job to the names of its queue, user and project at its last start.
        self._keys: dict[str, tuple[str, str, str]] = {}
        self._sums: dict[str, dict[str, _Sums]] = {group: {} for group in GROUPS}

    def take(self, record: Record) -> None:
        """Add a record."""
        match record["what"]:
            case "submit":
                self._submitted[record["job"]] = record["t"], record["owner"]
            case "start" if "instance" in record:
                self._start(record)
            case "end" if record["job"] in self._keys:
                for sums in self._of(record["job"]):
                    sums.slot_s += record["run_s"] * record["cpus"]
                    sums.completed += record["outcome"] == "completed"

    def _start(self, record: Record) -> None:
        job = record["job"]
        at, user = self._submitted.get(job, (record["t"], _NONE))
        is_first = job not in self._keys
        self._keys[job] = str(record["instance"]).partition("@")[0], user, record["project"] or _NONE
        for sums in self._of(job) if is_first else ():
            sums.waits.append(record["t"] - at)

    def _of(self, job: str) -> Iterator[_Sums]:
        for group, name in zip(GROUPS, self._keys[job], strict=True):
            yield self._sums[group].setdefault(name, _Sums())

    def summary(self) -> dict[str, dict[str, dict[str, float]]]:
        """Queue, user or project to its figures."""
        return {group: {name: sums.summary() for name, sums in sorted(of.items())} for group, of in self._sums.items()}


def cell_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """The figures of a cell as text; none without a cell."""
    for group, rows in summary.get("cell", {}).items():
        if rows and (group != "projects" or set(rows) != {_NONE}):
            width = max(len(group), *map(len, rows))
            yield ""
            yield f"{group:<{width}}" + "".join(f"  {called:>17}" for called in COLUMNS.values())
            for name, row in rows.items():
                yield f"{name:<{width}}" + "".join(f"  {row[key]:>17,}" for key in COLUMNS)
