"""``condor_q -dag``: the nodes of workflows below the job that runs their workflow."""

from __future__ import annotations

from typing import Final

from roost.cli.condor.printing.rows import AdRow
from roost.cli.condor.printing.values import Value

#: Key of the nesting depth in a row's data.
_DEPTH: Final = "roost_depth"


def under_their_dags(rows: list[AdRow]) -> list[AdRow]:
    """Rows in the order of their numbers, but nodes directly below their workflow, and theirs below them."""
    known = {row.whole("ClusterId") for row in rows}
    children: dict[int, list[AdRow]] = {}
    for row in rows:
        parent = row.whole("DAGManJobId")
        if parent in known and parent != row.whole("ClusterId"):
            children.setdefault(parent, []).append(row)
    below = {id(row) for each in children.values() for row in each}
    found: list[AdRow] = []
    work = [(row, 0) for row in reversed(rows) if id(row) not in below]
    seen: set[int] = set()
    while work:
        row, depth = work.pop()
        found.append(AdRow({**row.data, _DEPTH: depth}))
        cluster = row.whole("ClusterId")
        if cluster not in seen:
            seen.add(cluster)
            work += [(child, depth + 1) for child in reversed(children.get(cluster, ()))]
    return found


def node_name(row: AdRow, value: Value) -> str | None:
    """The name of a node, indented by its depth; the owner of any other job."""
    node, depth = row.text("DAGNodeName"), row.whole(_DEPTH)
    if not node:
        return str(value) if value.__class__ is str else None
    return f"{' ' * depth}|-{node}" if depth else node
