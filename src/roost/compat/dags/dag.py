"""`DAG`: a workflow that a program builds and writes."""

from __future__ import annotations

import fnmatch
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from roost.compat.dags.edges import BaseEdge
from roost.compat.dags.exceptions import DuplicateNodeName, UnrecognizedWalkOrder
from roost.compat.dags.node import BaseNode, FinalNode, NodeLayer, Nodes, SubDAG, _shown
from roost.compat.dags.walk_order import WalkOrder


class DotConfig:
    """A graph of the DAG, for Graphviz."""

    def __init__(
        self, path: Path, update: bool = False, overwrite: bool = True, include_file: Path | None = None
    ) -> None:
        self.path = Path(path)
        self.update = update
        self.overwrite = overwrite
        self.include_file = None if include_file is None else Path(include_file)

    def __repr__(self) -> str:
        return _shown(self, "path update overwrite include_file")


class NodeStatusFile:
    """A file with the state of each node."""

    def __init__(self, path: Path, update_time: int | None = None, always_update: bool | None = False) -> None:
        self.path = Path(path)
        self.update_time = update_time
        self.always_update = always_update

    def __repr__(self) -> str:
        return _shown(self, "path update_time always_update")


class DAG:
    """A workflow of layers, which are created by `layer`, `subdag` and `final`, or through existing nodes."""

    def __init__(
        self,
        dagman_config: Mapping[str, Any] | None = None,
        dagman_job_attributes: Mapping[str, Any] | None = None,
        max_jobs_by_category: Mapping[str, int] | None = None,
        dot_config: DotConfig | None = None,
        jobstate_log: Path | None = None,
        node_status_file: NodeStatusFile | None = None,
    ) -> None:
        self._nodes: dict[str, BaseNode] = {}
        self._edges: dict[tuple[BaseNode, BaseNode], BaseEdge] = {}
        self._final_node: FinalNode | None = None
        self.dagman_config = dict(dagman_config or {})
        self.dagman_job_attributes = dict(dagman_job_attributes or {})
        self.max_jobs_per_category = dict(max_jobs_by_category or {})
        self.dot_config = dot_config
        self.jobstate_log = None if jobstate_log is None else Path(jobstate_log)
        self.node_status_file = node_status_file

    # -- nodes -------------------------------------------------------------------------------------

    def layer(self, **kwargs: Any) -> NodeLayer:
        """Add a layer of jobs. Raises DuplicateNodeName."""
        self._check(kwargs["name"])
        made = self._nodes[kwargs["name"]] = NodeLayer(self, **kwargs)
        return made

    def subdag(self, **kwargs: Any) -> SubDAG:
        """Add a nested DAG. Raises DuplicateNodeName."""
        self._check(kwargs["name"])
        made = self._nodes[kwargs["name"]] = SubDAG(self, **kwargs)
        return made

    def final(self, **kwargs: Any) -> FinalNode:
        """The node that runs last; an earlier one is replaced."""
        self._check(kwargs["name"])
        self._final_node = FinalNode(self, **kwargs)
        return self._final_node

    def _check(self, name: str) -> None:
        if name in self._nodes:
            raise DuplicateNodeName(f"the DAG already has a node named {name}: {self._nodes[name]}")

    def __contains__(self, node: object) -> bool:
        if isinstance(node, BaseNode):
            return self._nodes.get(node.name) is node
        return node in self._nodes

    @property
    def nodes(self) -> Nodes:
        """All nodes except the final one."""
        return Nodes(self._nodes.values())

    @property
    def edges(self) -> Iterator[tuple[BaseNode, BaseNode]]:
        """Parents and children."""
        yield from self._edges

    @property
    def node_to_children(self) -> dict[BaseNode, Nodes]:
        """Each node's children."""
        return {node: node.children for node in self.nodes}

    @property
    def node_to_parents(self) -> dict[BaseNode, Nodes]:
        """Each node's parents."""
        return {node: node.parents for node in self.nodes}

    @property
    def roots(self) -> Nodes:
        """Nodes without parents."""
        later = {child for _, child in self._edges}
        return Nodes(node for node in self.nodes if node not in later)

    @property
    def leaves(self) -> Nodes:
        """Nodes without children."""
        earlier = {parent for parent, _ in self._edges}
        return Nodes(node for node in self.nodes if node not in earlier)

    def select(self, selector: Callable[[BaseNode], bool]) -> Nodes:
        """The nodes for which `selector` is true."""
        return Nodes(node for node in self.nodes if selector(node))

    def glob(self, pattern: str) -> Nodes:
        """The nodes whose names match a pattern."""
        return self.select(lambda node: fnmatch.fnmatchcase(node.name, pattern))

    # -- walks -------------------------------------------------------------------------------------

    def walk(self, order: WalkOrder = WalkOrder.DEPTH_FIRST) -> Iterator[BaseNode]:
        """All nodes, from the roots on."""
        return self._walk(list(self.roots), lambda node: node.children, order)

    def walk_descendants(self, node: BaseNode, order: WalkOrder = WalkOrder.DEPTH_FIRST) -> Iterator[BaseNode]:
        """All descendants of a node."""
        return self._walk([node], lambda each: each.children, order, skip=frozenset((node,)))

    def walk_ancestors(self, node: BaseNode, order: WalkOrder = WalkOrder.DEPTH_FIRST) -> Iterator[BaseNode]:
        """All ancestors of a node."""
        return self._walk([node], lambda each: each.parents, order, skip=frozenset((node,)))

    def _walk(
        self,
        first: list[BaseNode],
        onward: Callable[[BaseNode], Iterable[BaseNode]],
        order: WalkOrder,
        skip: frozenset[BaseNode] = frozenset(),
    ) -> Iterator[BaseNode]:
        if order not in list(WalkOrder):
            raise UnrecognizedWalkOrder(f"Unrecognized WalkOrder: {order}")
        deep = order == WalkOrder.DEPTH_FIRST
        waiting, seen = deque(reversed(first) if deep else first), set[BaseNode]()
        while waiting:
            node = waiting.pop() if deep else waiting.popleft()
            if node in seen:
                continue
            seen.add(node)
            if node not in skip:
                yield node
            others = list(onward(node))
            waiting.extend(reversed(others) if deep else others)

    # -- telling -----------------------------------------------------------------------------------

    def describe(self) -> str:
        """A table of the nodes."""
        rows = [["Type", "Name", "# Nodes", "# Children", "Parents"]]
        for node in self.walk(WalkOrder.BREADTH_FIRST):
            kind = "Layer" if isinstance(node, NodeLayer) else type(node).__name__
            count = str(len(node)) if isinstance(node, NodeLayer) else ""
            parents = ", ".join(f"{each.name}[{self._edges[each, node]}]" for each in node.parents)
            rows.append([kind, node.name, count, str(len(node.children)), parents])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        head, *body = rows
        titles = [
            f"{head[0]:<{widths[0]}}",
            *(f"{each:^{wide}}" for each, wide in zip(head[1:4], widths[1:4], strict=True)),
        ]
        lines = ["  ".join([*titles, head[4]])]
        for kind, name, count, children, parents in body:
            cells = (f"{kind:<{widths[0]}}", f"{name:^{widths[1]}}", f"{count:^{widths[2]}}",
                     f"{children:^{widths[3]}}", f"{parents:<{widths[4]}}")  # fmt: skip
            lines.append("  ".join(cells))
        return "\n".join(lines)
