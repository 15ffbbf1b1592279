"""The names of the nodes of a layer."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from roost.compat.dags.exceptions import CannotInvertFormat, LayerNameContainsSeparator

DEFAULT_SEPARATOR = ":"


class NodeNameFormatter(ABC):
    """Builds node names from a layer's name and a number, and parses them."""

    @abstractmethod
    def generate(self, layer_name: str, node_index: int) -> str:
        """The name of a node."""

    @abstractmethod
    def parse(self, node_name: str) -> tuple[str, int]:
        """Layer and number of a node."""


class SimpleFormatter(NodeNameFormatter):
    """The layer's name, a separator, and the number."""

    def __init__(self, separator: str = DEFAULT_SEPARATOR, index_format: str = "{:d}", offset: int = 0) -> None:
        self.separator = separator
        self.index_format = index_format
        self.offset = offset

    def generate(self, layer_name: str, node_index: int) -> str:
        """The name of a node. Raises LayerNameContainsSeparator."""
        if self.separator in layer_name:
            raise LayerNameContainsSeparator(
                f"The layer name {layer_name} cannot contain the node name separator character '{self.separator}'"
            )
        return f"{layer_name}{self.separator}{self.index_format.format(node_index + self.offset)}"

    def parse(self, node_name: str) -> tuple[str, int]:
        """Layer and number of a node. Raises CannotInvertFormat."""
        layer, _, number = node_name.partition(self.separator)
        digits = re.search(r"\d+", number)
        index = -1 if digits is None else int(digits[0]) - self.offset
        if digits is None or self.generate(layer, index) != node_name:
            raise CannotInvertFormat(
                f"{type(self).__name__} was not able to invert the formatted node name {node_name}. "
                "Perhaps the index_format is incompatible?"
            )
        return layer, index
