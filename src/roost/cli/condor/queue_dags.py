"""``condor_q -dag``: the nodes of workflows under the job that runs their workflow."""

from __future__ import annotations

from typing import Final

from roost.cli.condor.printing.rows import Row
from roost.cli.condor.printing.values import Value

#: How deep a row stands, noted in its data.
_DEPTH: Final = "roost_depth"


def under_their_dags(rows: list[Row]) -> list[Row]:
    """Rows in the order of their numbers, but nodes directly under their workflow, and theirs under them."""
    known = {row.whole("ClusterId") for row in rows}
    children: dict[int, list[Row]] = {}
    for row in rows:
        parent = row.whole("DAGManJobId")
        if parent in known and parent != row.whole("ClusterId"):
            children.setdefault(parent, []).append(row)
    below = {id(row) for each in children.values() for row in each}
    found: list[Row] = []
    work = [(row, 0) for row in reversed(rows) if id(row) not in below]
    seen: set[int] = set()
    while work:
        row, depth = work.pop()
        found.append(Row({**row.data, _DEPTH: depth}))
        cluster = row.whole("ClusterId")
        if cluster not in seen:
            seen.add(cluster)
            work += [(child, depth + 1) for child in reversed(children.get(cluster, ()))]
    return found


def node_name(row: Row, value: Value) -> str | None:
    """The name of a node, drawn as deep as it stands; the owner of anything else."""
    node, depth = row.text("DAGNodeName"), row.whole(_DEPTH)
    if not node:
        return str(value) if value.__class__ is str else None
    return f"{' ' * depth}|-{node}" if depth else node
