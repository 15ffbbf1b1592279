"""Changes of DAGs and their nodes over time: the same values in the simulation and on real daemons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roost.base.records import dataclass
from roost.dag.run import NodeTransition
from roost.dag.states import RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChange:
    """A node has taken a row of its table, or a DAG has ended."""

    #: ``flow.A`` for the node A of the DAG flow, ``flow`` for that DAG.
    name: str
    #: Epoch s.
    at: float
    #: In words.
    what: str

    def __str__(self) -> str:
        return self.what


def node_changes(dag: str, taken: Iterable[NodeTransition], at: float) -> Iterator[NodeChange]:
    """The changes for rows that nodes of a DAG have taken."""
    for each in taken:
        row = each.row
        way = f"{row.source.name.lower()} → {row.target.name.lower()}"
        yield NodeChange(name=f"{dag}.{each.node}", at=at, what=f"{row.number:>3} {way}: {' or '.join(row.on)}")


def ended_as(status: RunStatus, exit_code: int) -> str:
    """The result of a DAG that has ended."""
    return "removed" if status is RunStatus.REMOVED else "failed" if exit_code else "done"


def dag_ended(dag: str, status: RunStatus, exit_code: int, at: float) -> NodeChange:
    """The end of a DAG."""
    return NodeChange(name=dag, at=at, what=f"{ended_as(status, exit_code)} ({exit_code})")
