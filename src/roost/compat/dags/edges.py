"""Edges between the nodes of two layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from roost.compat.dags.exceptions import IncompatibleGrouper, OneToOneEdgeNeedsSameNumberOfVars

if TYPE_CHECKING:
    from roost.compat.dags.node import BaseNode


class JoinNode:
    """A no-op node between many parents and many children."""

    def __init__(self, id: int) -> None:
        self.id = id


class JoinFactory:
    """Creates numbered join nodes."""

    def __init__(self) -> None:
        self.joins: list[JoinNode] = []

    def get_join_node(self) -> JoinNode:
        """A new join node."""
        self.joins.append(JoinNode(len(self.joins)))
        return self.joins[-1]


#: Numbers of the nodes of a layer, or a join.
Side = tuple[int, ...] | JoinNode


class BaseEdge(ABC):
    """Connects two layers."""

    @abstractmethod
    def get_edges(self, parent: BaseNode, child: BaseNode, join_factory: JoinFactory) -> Iterable[tuple[Side, Side]]:
        """Pairs of parents and children, each a group of node numbers or a join."""

    def __repr__(self) -> str:
        return type(self).__name__


class ManyToMany(BaseEdge):
    """Each node of one layer before each of the other."""

    def get_edges(self, parent: BaseNode, child: BaseNode, join_factory: JoinFactory) -> Iterator[tuple[Side, Side]]:
        """One pair, or two around a join."""
        parents, children = tuple(range(len(parent))), tuple(range(len(child)))
        if len(parents) > 1 and len(children) > 1:
            join = join_factory.get_join_node()
            yield parents, join
            yield join, children
        else:
            yield parents, children


class OneToOne(BaseEdge):
    """The first before the first, the second before the second, …"""

    def get_edges(self, parent: BaseNode, child: BaseNode, join_factory: JoinFactory) -> Iterator[tuple[Side, Side]]:
        """One pair per node. Raises OneToOneEdgeNeedsSameNumberOfVars."""
        if len(parent) != len(child):
            raise OneToOneEdgeNeedsSameNumberOfVars(
                f"Parent layer {parent} has {len(parent)} nodes, but child layer {child} has {len(child)} nodes"
            )
        yield from (((at,), (at,)) for at in range(len(parent)))


class Grouper(BaseEdge):
    """Groups of one layer before groups of the other, all to all within a pair of groups."""

    def __init__(self, parent_chunk_size: int = 1, child_chunk_size: int = 1) -> None:
        if parent_chunk_size < 1 or child_chunk_size < 1:
            raise ValueError("a chunk has at least one node")
        self.parent_chunk_size = parent_chunk_size
        self.child_chunk_size = child_chunk_size

    def get_edges(self, parent: BaseNode, child: BaseNode, join_factory: JoinFactory) -> Iterator[tuple[Side, Side]]:
        """The pairs of each group. Raises IncompatibleGrouper."""
        sides = (("parent", parent, self.parent_chunk_size), ("child", child, self.child_chunk_size))
        for word, layer, size in sides:
            if len(layer) % size:
                raise IncompatibleGrouper(
                    f"Cannot apply edge {self} to {word} layer {layer} because number of real {word} nodes "
                    f"({len(layer)}) is not evenly divisible by the {word} chunk size ({size})"
                )
        first, second = (len(layer) // size for _, layer, size in sides)
        if first != second:
            raise IncompatibleGrouper(
                f"Cannot apply edge {self} to layers {parent} and {child} because they do not produce the same number "
                f"of chunks (parent chunk: {len(parent)} / {self.parent_chunk_size} = {first}, "
                f"child chunk: {len(child)} / {self.child_chunk_size} = {second})"
            )
        for at in range(first):
            parents, children = (tuple(range(at * size, (at + 1) * size)) for _, _, size in sides)
            join = join_factory.get_join_node()
            yield parents, join
            yield join, children

    def __repr__(self) -> str:
        return f"Grouper(parent_chunk_size = {self.parent_chunk_size}, child_chunk_size = {self.child_chunk_size})"


class Slicer(BaseEdge):
    """One to one, between a slice of each layer."""

    def __init__(self, parent_slice: slice = slice(None), child_slice: slice = slice(None)) -> None:
        self.parent_slice = parent_slice
        self.child_slice = child_slice

    def get_edges(self, parent: BaseNode, child: BaseNode, join_factory: JoinFactory) -> Iterator[tuple[Side, Side]]:
        """Pairs of nodes, up to the length of the shorter slice."""
        parents, children = range(len(parent))[self.parent_slice], range(len(child))[self.child_slice]
        for first, second in zip(parents, children, strict=False):
            yield (first,), (second,)

    def __repr__(self) -> str:
        return f"Slicer(parent_slice = {self.parent_slice}, child_slice = {self.child_slice})"
