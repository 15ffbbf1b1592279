"""``condor_watch_q``: the jobs of the queue as they change, one line per batch.

On a terminal the table is redrawn in place; elsewhere it is printed whenever it has changed. It ends with Ctrl-C, when
the initial jobs have left, or when a condition of ``-exit`` is met.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import JobSelection, clusters, owner
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Given, Option, given
from roost.cli.condor.printing.columns import lines
from roost.cli.condor.queue_batches import BatchRow, batches, table
from roost.cli.pool_connection import Pool
from roost.wire.requests.queue import ClusterRow
from roost.wire.structs import replaced

OPTIONS: Final = (
    Option("clusters", "these clusters", takes="CLUSTER...", least=1),
    Option("users", "watch jobs of these users", takes="USER...", least=1),
    Option("batches", "these batches", takes="NAME...", least=2),
    Option("exit", "exit when the jobs reach a status: GROUP,STATUS[,EXIT-STATUS]", takes="CONDITION...", least=2),
    Option("groupby", "accepted; jobs are always grouped by batch", takes="ATTR", least=2),
    Option("files", "watch the clusters of these event logs", takes="FILE...", least=1),
    Option("table", "accepted; it is always shown", least=2),
    Option("no-table", "do not show the table", least=5),
    Option("summary", "accepted; it is always shown", least=2),
    Option("no-summary", "do not show the line of totals", least=6),
    Option("refresh", "accepted; the table is always redrawn in place", least=1),
    Option("no-refresh", "print each table below the previous one", least=6),
    *(Option(f"{no}{word}", "accepted, has no effect", least=len(word) + len(no))
      for word in ("progress", "row-progress", "updated-at", "color", "abbreviate") for no in ("", "no-")),
    *PLACE_OPTIONS,
    Option("debug", "accepted, has no effect", least=1),
)  # fmt: skip
_PAUSE_S: Final = 1.0
_FIRST_S: Final = 0.1
#: Status of a condition to a test of the counts of all jobs.
_STATUSES: Final = {
    "active": ("IDLE", "RUN", "HOLD"), "idle": ("IDLE",), "running": ("RUN",), "held": ("HOLD",), "done": ("DONE",),
    "completed": ("DONE",), "removed": ("DONE",),
}  # fmt: skip


class _Condition:
    """When to end: all, any or none of the jobs are in a status."""

    def __init__(self, text: str) -> None:
        parts = text.lower().split(",")
        if len(parts) not in (2, 3) or parts[0] not in ("all", "any", "none") or parts[1] not in _STATUSES:
            raise UsageError(f"Error: -exit {text}: write {{all|any|none}},{{{'|'.join(_STATUSES)}}}[,EXIT-STATUS]")
        if len(parts) == 3 and not parts[2].isdecimal():
            raise UsageError(f"Error: -exit {text}: {parts[2]} is not an exit status")
        self._group, self._columns = parts[0], _STATUSES[parts[1]]
        self.status = int(parts[2]) if len(parts) == 3 else 0

    def is_met(self, counts: dict[str, int]) -> bool:
        """Whether the condition holds."""
        inside, total = sum(counts[each] for each in self._columns), sum(counts.values())
        return {"all": inside == total, "any": inside > 0, "none": inside == 0}[self._group]


class _CommandLine:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.place = DaemonLocation()
        self.choice = JobSelection()
        self.batch_names: list[str] = []
        self.conditions: list[_Condition] = []
        self.flags: set[str] = set()
        for option in given(arguments, OPTIONS):
            if not self.place.take(option):
                self._take(option)

    def _take(self, option: Given) -> None:
        match option.name:
            case "clusters":
                self.choice = self.choice._replace(jobs=(*self.choice.jobs, *option.values))
            case "users":
                self.choice = self.choice._replace(owners=tuple(owner(each) for each in option.values))
            case "batches":
                self.batch_names += option.values
            case "exit":
                self.conditions += [_Condition(text) for text in option.values]
            case "files":
                self._files(option.values)
            case "":
                raise UsageError(f"Error: {option.written}: name the jobs with -clusters, -users, -batches or -files")
            case _:
                self.flags.add(option.name)

    def _files(self, paths: tuple[str, ...]) -> None:
        """Watch the clusters in event logs."""
        from roost.cli.condor.event_jobs import clusters_of_log

        found = dict.fromkeys(str(cluster) for path in paths for cluster in clusters_of_log(path))
        if not found:
            raise ToolError(f"Error: {' '.join(paths)}: these logs mention no jobs")
        self.choice = self.choice._replace(jobs=(*self.choice.jobs, *found))


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_watch_q``."""
    order = _CommandLine(arguments)
    return order.place.ask(lambda pool: _watch(order, pool))


def _watch(order: _CommandLine, pool: Pool) -> int:
    choice = order.choice if order.choice.jobs or order.choice.owners else order.choice._replace(owners=(pool.user,))
    screen, pause_s = _Screen(order), _FIRST_S
    seen: dict[int, ClusterRow] = {}
    while True:
        rows = _overview(pool, choice, seen)
        found = [each for each in batches(rows, whole=True) if not order.batch_names or each.name in order.batch_names]
        counts = _counts(found)
        screen.show(found, counts)
        for condition in order.conditions:
            if counts["TOTAL"] and condition.is_met({key: n for key, n in counts.items() if key != "TOTAL"}):
                return condition.status
        if counts["DONE"] >= counts["TOTAL"] and not order.conditions:
            return 0
        if counts["DONE"] >= counts["TOTAL"] > 0:
            return 0
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _PAUSE_S)


def _overview(pool: Pool, choice: JobSelection, seen: dict[int, ClusterRow]) -> list[ClusterRow]:
    """The clusters that exist or existed when watching began."""
    present = {row.cluster: row for row in clusters(pool, choice)}
    for number, row in seen.items():
        if number not in present:
            present[number] = replaced(row, counts={}, left=0)
    seen.update(present)
    return list(present.values())


def _counts(found: list[BatchRow]) -> dict[str, int]:
    counts = {word: sum(batch.counts[word] for batch in found) for word in ("IDLE", "RUN", "HOLD")}
    return {**counts, "DONE": sum(batch.done for batch in found), "TOTAL": sum(batch.total for batch in found)}


class _Screen:
    """The position of the table on the screen."""

    def __init__(self, order: _CommandLine) -> None:
        self._flags = order.flags
        self._again = sys.stdout.isatty() and "no-refresh" not in order.flags
        self._last = ""
        self._high = 0

    def show(self, found: list[BatchRow], counts: dict[str, int]) -> None:
        """Show the current state, if it has changed."""
        mask, rows = table(found, 0)
        text = "" if "no-table" in self._flags else "".join(lines(mask, rows)) + "\n"
        if "no-summary" not in self._flags:
            words = {"DONE": "done", "IDLE": "idle", "RUN": "running", "HOLD": "held"}
            said = ", ".join(f"{counts[key]} {word}" for key, word in words.items())
            text += f"Total: {counts['TOTAL']} jobs; {said}\n"
        if text == self._last:
            return
        self._last = text
        if self._again and self._high:
            sys.stdout.write(f"\x1b[{self._high}A\x1b[J")
        sys.stdout.write(text if self._again else f"{text}\n")
        sys.stdout.flush()
        self._high = text.count("\n")
