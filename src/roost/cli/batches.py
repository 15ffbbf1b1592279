"""Batches: the jobs of a queue as their users submitted them, with their progress, for ``roost queue`` and ``watch``.

A batch is a cluster, the clusters of a user with the same batch name, or a workflow with the jobs of its nodes. For a
workflow, nodes are counted; for any other batch, jobs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.cli.colour import painted, wanted
from roost.cli.listing import arguments
from roost.cli.terminal import width
from roost.wire.requests.queue import ClusterRow

#: Counts of a cluster's row to the state under which they are counted.
_STATES: Final = {
    "Idle": "idle", "Running": "running", "TransferringOutput": "running", "Suspended": "suspended", "Held": "held",
}  # fmt: skip
_COLOURS: Final = {"RUN": "green", "HELD": "red", "SUSP": "yellow"}
#: JobUniverse of a workflow's own job.
_WORKFLOW_UNIVERSE: Final = 7
#: Width of a bar, characters; and of a name if there are bars, and if the terminal is narrow.
_BAR: Final = 10
_NAME_CHARS: Final = 16
_NAME_CHARS_LEAST: Final = 10


@dataclass(slots=True, kw_only=True)
class Batch:
    """Jobs that belong together."""

    owner: str
    name: str
    #: Whether its user gave the name, rather than it being the program.
    is_named: bool = False
    #: Numbers of its clusters, ascending.
    clusters: list[int] = field(default_factory=list)
    #: Submission time of the first cluster, epoch s.
    submitted: int = 0
    #: Jobs, or nodes of a workflow.
    total: int = 0
    done: int = 0
    idle: int = 0
    running: int = 0
    suspended: int = 0
    held: int = 0

    @property
    def left(self) -> int:
        """Jobs that have not ended; for a workflow, nodes."""
        return self.total - self.done

    @property
    def ids(self) -> str:
        """``12``, ``12-14`` or ``12 +5``."""
        first, last = self.clusters[0], self.clusters[-1]
        if first == last:
            return str(first)
        return f"{first}-{last}" if last - first + 1 == len(self.clusters) else f"{first} +{len(self.clusters) - 1}"

    def data(self) -> dict[str, Any]:
        """As JSON."""
        names = ("owner", "name", "clusters", "submitted", "total", "done", "idle", "running", "suspended", "held")
        return {name: getattr(self, name) for name in names}


def batches_of(rows: Iterable[ClusterRow]) -> list[Batch]:
    """The batches of clusters, ordered by their first; `rows` are those of `Overview`."""
    found: dict[object, Batch] = {}
    workflows = {row.cluster: row for row in rows if row.attributes.get("JobUniverse") == _WORKFLOW_UNIVERSE}
    for row in sorted(rows, key=lambda row: row.cluster):
        head = workflows.get(row.attributes.get("DAGManJobId", 0), row)
        name = str(head.attributes.get("JobBatchName") or "")
        key = (row.owner, name) if name else head.cluster
        batch = found.get(key)
        if batch is None:
            batch = found[key] = Batch(
                owner=row.owner, name=name or _command(head.attributes), is_named=bool(name), submitted=row.submitted_at
            )
        batch.clusters.append(row.cluster)
        if row.cluster in workflows:
            # Its own job runs as long as the workflow, and is not part of its work.
            batch.total += int(row.attributes.get("DAG_NodesTotal") or 0)
            batch.done += int(row.attributes.get("DAG_NodesDone") or 0)
            batch.held += row.counts.get("Held", 0)
            continue
        for count, state in _STATES.items():
            setattr(batch, state, getattr(batch, state) + row.counts.get(count, 0))
        if row.attributes.get("DAGManJobId") not in workflows:
            batch.total += row.total
            batch.done += row.total - row.unmaterialized - row.left + row.counts.get("Completed", 0)
    return list(found.values())


def lines_of(batches: list[Batch], columns: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a table of batches, for that many columns (None: of the output)."""
    room = width() if columns is None else columns
    titles, rows = _columns(batches, bars=True)
    if _room_of_name(titles, rows, room) < _NAME_CHARS:
        titles, rows = _columns(batches, bars=False)
    left = max(_NAME_CHARS_LEAST, _room_of_name(titles, rows, room))
    for row in rows:
        row[-1] = row[-1] if len(row[-1]) <= left else row[-1][: left - 1] + "…"
    return titles, rows


def _room_of_name(titles: list[str], rows: list[list[str]], columns: int) -> int:
    return columns - sum(_widths(titles, rows)[:-1]) - 2 * (len(titles) - 1)


def _columns(batches: list[Batch], *, bars: bool) -> tuple[list[str], list[list[str]]]:
    is_any_suspended = any(batch.suspended for batch in batches)
    titles = ["BATCH", "OWNER", "SUBMITTED", *(["PROGRESS"] if bars else []), "DONE", "RUN", "IDLE", "HELD"]
    titles += [*(["SUSP"] if is_any_suspended else []), "TOTAL", "NAME"]
    rows = []
    for batch in batches:
        numbers = {"DONE": batch.done, "RUN": batch.running, "IDLE": batch.idle, "HELD": batch.held}
        if is_any_suspended:
            numbers["SUSP"] = batch.suspended
        submitted = time.strftime("%m-%d %H:%M", time.localtime(batch.submitted))
        head = [batch.ids, batch.owner, submitted, *([bar(batch.done, batch.total)] if bars else [])]
        rows.append([*head, *(str(number or "-") for number in numbers.values()), str(batch.total), batch.name])
    return titles, rows


def formatted(titles: list[str], rows: list[list[str]], *, colours: bool | None = None) -> list[str]:
    """A table of batches as lines."""
    on = wanted() if colours is None else colours
    widths = _widths(titles, rows)
    left = ("BATCH", "OWNER", "SUBMITTED", "PROGRESS", "NAME")
    lines = []
    for number, row in enumerate([titles, *rows]):
        cells = []
        for title, text, wide in zip(titles, row, widths, strict=True):
            cell = f"{text:<{wide}}" if title in left else f"{text:>{wide}}"
            is_count = number and title in _COLOURS and text != "-"
            cells.append(painted(cell, _COLOURS[title], on=on) if is_count else cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def bar(done: int, total: int) -> str:
    """``█████░░░░░ 50 %``: full only when everything is done."""
    share = done / total if total else 0.0
    full = min(int(share * _BAR), _BAR)
    return f"{'█' * full}{'░' * (_BAR - full)} {int(share * 100):3} %"


def _widths(titles: list[str], rows: list[list[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(titles, *rows, strict=True)]


def _command(row: Mapping[str, Any]) -> str:
    return f"{str(row.get('Cmd', '')).rpartition('/')[2]} {arguments(dict(row))}".rstrip()
