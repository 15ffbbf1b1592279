"""``condor_q -batch``: one line for all jobs that belong together, counted by state.

Jobs of one user with one batch name are a line, and so are all nodes of one DAG; otherwise every cluster is one. The
queue counts: it returns one row per cluster, however many jobs that has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roost.cli.condor.printing.columns import Column, Mask
from roost.cli.condor.printing.renderers import date
from roost.cli.condor.printing.rows import AdRow
from roost.wire.requests.queue import ClusterRow

#: Column of the table to the states in a cluster's row that it counts.
_COUNTED: Final = {
    "RUN": ("Running", "TransferringOutput"),
    "IDLE": ("Idle", "Suspended"),
    "HOLD": ("Held",),
}
#: JobUniverse of workflows.
SCHEDULER: Final = 7


class BatchRow:
    """Jobs that belong together."""

    def __init__(self, owner: str, name: str, submitted_at: int) -> None:
        self.owner = owner
        self.name = name
        self.submitted_at = submitted_at
        self.counts = dict.fromkeys(_COUNTED, 0)
        self.done = 0
        self.total = 0
        self.first: tuple[int, int] | None = None
        self.last: tuple[int, int] | None = None
        #: The workflow's own job.
        self.own = (0, 0)

    def add(self, row: ClusterRow, *, whole: bool) -> None:
        """Add a cluster; `whole`: all of its jobs that are in the queue are in the row.

        For a workflow, its nodes are counted, not the job that runs it.
        """
        if row.attributes.get("JobUniverse") == SCHEDULER:
            self.done += int(row.attributes.get("DAG_NodesDone", 0))
            self.total += int(row.attributes.get("DAG_NodesTotal", 0))
            self.own = (row.cluster, row.first)
            # It is not counted, but it must be visible that nothing of it is running.
            self.counts["HOLD"] += row.counts.get("Held", 0)
            return
        if row.attributes.get("DAGManJobId") is None:
            self.total += row.total
            if whole:
                self.done += row.total - row.left - row.unmaterialized
        for word, states in _COUNTED.items():
            self.counts[word] += sum(row.counts.get(state, 0) for state in states)
        first, last = (row.cluster, row.first), (row.cluster, row.last)
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)

    @property
    def ids(self) -> str:
        """Its jobs, as ``5.0-2`` or ``5.0 ... 9.3``."""
        if self.first is None or self.last is None:
            return f"{self.own[0]}.{self.own[1]}"
        if self.first == self.last:
            return f"{self.first[0]}.{self.first[1]}"
        if self.first[0] == self.last[0]:
            return f"{self.first[0]}.{self.first[1]}-{self.last[1]}"
        return f"{self.first[0]}.{self.first[1]} ... {self.last[0]}.{self.last[1]}"

    def row(self) -> AdRow:
        """As a row of the table."""
        shown = {"OWNER": self.owner, "BATCH_NAME": self.name, "SUBMITTED": date(self.submitted_at), "IDS": self.ids}
        counts = {"DONE": self.done, **self.counts, "TOTAL": self.total}
        return AdRow(shown | {word: count for word, count in counts.items() if count})


def batches(clusters: Iterable[ClusterRow], *, whole: bool) -> list[BatchRow]:
    """The batches of a queue's clusters, in the order of their first cluster."""
    found: dict[tuple[str, ...], BatchRow] = {}
    for row in sorted(clusters, key=lambda row: row.cluster):
        key, name = _belongs(row)
        batch = found.get(key)
        if batch is None:
            batch = found[key] = BatchRow(row.owner, name, row.submitted_at)
        batch.add(row, whole=whole)
    return list(found.values())


def _belongs(row: ClusterRow) -> tuple[tuple[str, ...], str]:
    """The key of a cluster's batch, and its name."""
    name, dag, cluster = row.attributes.get("JobBatchName"), row.attributes.get("DAGManJobId"), str(row.cluster)
    if dag is not None:
        return ("dag", str(dag)), str(name or f"DAG: {dag}")
    if row.attributes.get("JobUniverse") == SCHEDULER:
        return ("dag", cluster), str(name or f"DAG: {cluster}")
    if isinstance(name, str) and name:
        return ("name", row.owner, name), name
    return ("cluster", cluster), f"ID: {cluster}"


def table(found: list[BatchRow], width: int) -> tuple[Mask, Iterator[AdRow]]:
    """The table of batches, and its rows. `width` is the terminal's, 0 for any."""
    rows = [batch.row() for batch in found]
    owner, name = 5, 12
    if found:
        longest = max(len(batch.owner) for batch in found)
        owner = longest if longest >= 5 else 8
        name = max(10, *(len(batch.name) for batch in found))
        ids = max(len(batch.ids) for batch in found)
        if width:
            owner, name = _squeezed(owner, name, ids, width - 50)
    numbers = [Column(word, f"{word:>6}" if word != "RUN" else "  RUN ", wide=6, form="%6d", otherwise="_",
                      hidden=word == "HOLD" and bool(found) and not any(each.counts["HOLD"] for each in found))
               for word in ("DONE", "RUN", "IDLE", "HOLD", "TOTAL")]  # fmt: skip
    columns = (
        Column("OWNER", "OWNER", wide=owner, left=True, cut=True),
        Column("BATCH_NAME", "BATCH_NAME", wide=name, left=True, cut=True),
        Column("SUBMITTED", "   SUBMITTED", wide=12),
        *numbers,
        Column("IDS", "JOB_IDS"),
    )
    return Mask(columns, widest=max(0, width - 1)), iter(rows)


def _squeezed(owner: int, name: int, ids: int, room: int) -> tuple[int, int]:
    """Widths of owner and name at which a line fits, if possible."""
    if owner + name + ids <= room:
        return owner, name
    left = max(18, room - ids)
    name = min(name, max(10, left - min(owner, 8)))
    return min(owner, max(8, left - name)), name
