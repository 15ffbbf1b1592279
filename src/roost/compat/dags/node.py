"""The nodes of a DAG that a program builds: layers of jobs, nested DAGs, the final node; and groups of them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from roost.compat.dags.edges import BaseEdge, ManyToMany
from roost.compat.dags.walk_order import WalkOrder
from roost.compat.htcondor2.submit import Submit

if TYPE_CHECKING:
    from roost.compat.dags.dag import DAG


class Script:
    """A program that runs before or after a node's job."""

    def __init__(
        self,
        executable: str | Path,
        arguments: list[str] | None = None,
        retry: bool = False,
        retry_status: int = 1,
        retry_delay: int = 0,
    ) -> None:
        self.executable = executable
        self.arguments = arguments or []
        self.retry = retry
        self.retry_status = retry_status
        self.retry_delay = retry_delay

    def __repr__(self) -> str:
        return _shown(self, "executable arguments retry retry_status retry_delay")


class DAGAbortCondition:
    """The exit status of a node that aborts the whole DAG."""

    def __init__(self, node_exit_value: int, dag_return_value: int | None = None) -> None:
        self.node_exit_value = node_exit_value
        self.dag_return_value = dag_return_value

    def __repr__(self) -> str:
        return _shown(self, "node_exit_value dag_return_value")


def _shown(what: object, names: str) -> str:
    words = ", ".join(f"{name} = {getattr(what, name)}" for name in names.split())
    return f"{type(what).__name__}({words})"


class BaseNode(ABC):  # noqa: B024
    """Base class of all nodes, which are created by methods of a DAG or of another node."""

    def __init__(
        self,
        dag: DAG,
        *,
        name: str,
        dir: Path | None = None,
        noop: bool | Mapping[int, bool] = False,
        done: bool | Mapping[int, bool] = False,
        retries: int | None = None,
        retry_unless_exit: int | None = None,
        pre: Script | None = None,
        post: Script | None = None,
        pre_skip_exit_code: int | None = None,
        priority: int = 0,
        category: str | None = None,
        abort: DAGAbortCondition | None = None,
    ) -> None:
        self._dag = dag
        self.name = name
        self.dir = None if dir is None else Path(dir)
        self._noop = noop
        self._done = done
        self.retries = retries
        self.retry_unless_exit = retry_unless_exit
        self.pre = pre
        self.post = post
        self.pre_skip_exit_code = pre_skip_exit_code
        self.priority = priority
        self.category = category
        self.abort = abort

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True

    @property
    def noop(self) -> dict[int, bool]:
        """Number of a node to whether it is a no-op."""
        self._noop = self._each(self._noop)
        return self._noop

    @noop.setter
    def noop(self, value: bool | Mapping[int, bool]) -> None:
        self._noop = value

    @property
    def done(self) -> dict[int, bool]:
        """Number of a node to whether it is done already."""
        self._done = self._each(self._done)
        return self._done

    @done.setter
    def done(self, value: bool | Mapping[int, bool]) -> None:
        self._done = value

    def _each(self, said: bool | Mapping[int, bool]) -> dict[int, bool]:
        return said if isinstance(said, dict) else dict(said) if isinstance(said, Mapping) else (
            dict.fromkeys(range(len(self)), bool(said))
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name = {self.name})"

    def __iter__(self) -> Iterator[BaseNode]:
        yield self

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseNode) and self._dag is other._dag and self.name == other.name

    def __lt__(self, other: BaseNode) -> bool:
        return self.name < other.name

    def __le__(self, other: BaseNode) -> bool:
        return self.name <= other.name

    def __gt__(self, other: BaseNode) -> bool:
        return self.name > other.name

    def __ge__(self, other: BaseNode) -> bool:
        return self.name >= other.name

    # -- neighbours --------------------------------------------------------------------------------

    @property
    def children(self) -> Nodes:
        """The children of this node."""
        return Nodes(child for parent, child in self._dag._edges if parent is self)

    @property
    def parents(self) -> Nodes:
        """The parents of this node."""
        return Nodes(parent for parent, child in self._dag._edges if child is self)

    def add_children(self, *nodes: BaseNode | Iterable[BaseNode], edge: BaseEdge | None = None) -> Self:
        """Add children to this node."""
        for node in Nodes(*nodes):
            self._dag._edges[self, node] = edge or ManyToMany()
        return self

    def add_parents(self, *nodes: BaseNode | Iterable[BaseNode], edge: BaseEdge | None = None) -> Self:
        """Add parents to this node."""
        for node in Nodes(*nodes):
            self._dag._edges[node, self] = edge or ManyToMany()
        return self

    def remove_children(self, *nodes: BaseNode | Iterable[BaseNode]) -> Self:
        """Remove children from this node."""
        for node in Nodes(*nodes):
            self._dag._edges.pop((self, node), None)
        return self

    def remove_parents(self, *nodes: BaseNode | Iterable[BaseNode]) -> Self:
        """Remove parents from this node."""
        for node in Nodes(*nodes):
            self._dag._edges.pop((node, self), None)
        return self

    def child_layer(self, edge: BaseEdge | None = None, **kwargs: Any) -> NodeLayer:
        """Add a layer as child of this node."""
        made = self._dag.layer(**kwargs)
        self.add_children(made, edge=edge)
        return made

    def parent_layer(self, edge: BaseEdge | None = None, **kwargs: Any) -> NodeLayer:
        """Add a layer as parent of this node."""
        made = self._dag.layer(**kwargs)
        self.add_parents(made, edge=edge)
        return made

    def child_subdag(self, edge: BaseEdge | None = None, **kwargs: Any) -> SubDAG:
        """Add a nested DAG as child of this node."""
        made = self._dag.subdag(**kwargs)
        self.add_children(made, edge=edge)
        return made

    def parent_subdag(self, edge: BaseEdge | None = None, **kwargs: Any) -> SubDAG:
        """Add a nested DAG as parent of this node."""
        made = self._dag.subdag(**kwargs)
        self.add_parents(made, edge=edge)
        return made

    def walk_descendants(self, order: WalkOrder = WalkOrder.DEPTH_FIRST) -> Iterator[BaseNode]:
        """All descendants of this node."""
        return self._dag.walk_descendants(self, order)

    def walk_ancestors(self, order: WalkOrder = WalkOrder.DEPTH_FIRST) -> Iterator[BaseNode]:
        """All ancestors of this node."""
        return self._dag.walk_ancestors(self, order)


class NodeLayer(BaseNode):
    """Jobs of one description: one for each of `vars`, which are dicts of the macros in it."""

    def __init__(
        self,
        dag: DAG,
        *,
        submit_description: Submit | Path | None = None,
        vars: Iterable[dict[str, str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(dag, **kwargs)
        self.submit_description = Submit() if submit_description is None else submit_description
        self.vars = [{}] if vars is None else list(vars)

    def __len__(self) -> int:
        return len(self.vars)


class SubDAG(BaseNode):
    """A DAG in its own file, as one node."""

    def __init__(self, dag: DAG, *, dag_file: Path, **kwargs: Any) -> None:
        super().__init__(dag, **kwargs)
        self.dag_file = Path(dag_file)


class FinalNode(BaseNode):
    """The node that runs last, whatever the results of the others."""

    def __init__(self, dag: DAG, submit_description: Submit | Path | None = None, **kwargs: Any) -> None:
        super().__init__(dag, **kwargs)
        self.submit_description = Submit() if submit_description is None else submit_description


class Nodes:
    """A set of nodes used as one: children and parents are added to each."""

    def __init__(self, *nodes: BaseNode | Iterable[BaseNode]) -> None:
        self._nodes: dict[BaseNode, None] = {}
        for each in nodes:
            for node in (each,) if isinstance(each, BaseNode) else each:
                self._nodes[node] = None

    def __iter__(self) -> Iterator[BaseNode]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._nodes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nodes) and set(self._nodes) == set(other._nodes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Nodes({', '.join(repr(node) for node in sorted(self._nodes))})"

    def _dag(self) -> DAG:
        return next(iter(self._nodes))._dag

    def add_children(self, *nodes: BaseNode | Iterable[BaseNode], type: BaseEdge | None = None) -> Self:
        """Add children to each."""
        for node in self:
            node.add_children(*nodes, edge=type)
        return self

    def add_parents(self, *nodes: BaseNode | Iterable[BaseNode], type: BaseEdge | None = None) -> Self:
        """Add parents to each."""
        for node in self:
            node.add_parents(*nodes, edge=type)
        return self

    def remove_children(self, *nodes: BaseNode | Iterable[BaseNode]) -> Self:
        """Remove children from each."""
        for node in self:
            node.remove_children(*nodes)
        return self

    def remove_parents(self, *nodes: BaseNode | Iterable[BaseNode]) -> Self:
        """Remove parents from each."""
        for node in self:
            node.remove_parents(*nodes)
        return self

    def child_layer(self, type: BaseEdge | None = None, **kwargs: Any) -> NodeLayer:
        """Add a layer as child of each."""
        made = self._dag().layer(**kwargs)
        self.add_children(made, type=type)
        return made

    def parent_layer(self, type: BaseEdge | None = None, **kwargs: Any) -> NodeLayer:
        """Add a layer as parent of each."""
        made = self._dag().layer(**kwargs)
        self.add_parents(made, type=type)
        return made

    def child_subdag(self, type: BaseEdge | None = None, **kwargs: Any) -> SubDAG:
        """Add a nested DAG as child of each."""
        made = self._dag().subdag(**kwargs)
        self.add_children(made, type=type)
        return made

    def parent_subdag(self, type: BaseEdge | None = None, **kwargs: Any) -> SubDAG:
        """Add a nested DAG as parent of each."""
        made = self._dag().subdag(**kwargs)
        self.add_parents(made, type=type)
        return made

    def walk_descendants(self, order: WalkOrder = WalkOrder.DEPTH_FIRST) -> Iterator[BaseNode]:
        """All descendants of the nodes."""
        return self._dag()._walk(list(self), lambda node: node.children, order, skip=frozenset(self))

    def walk_ancestors(self, order: WalkOrder = WalkOrder.DEPTH_FIRST) -> Iterator[BaseNode]:
        """All ancestors of the nodes."""
        return self._dag()._walk(list(self), lambda node: node.parents, order, skip=frozenset(self))
