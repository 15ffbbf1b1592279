"""Nodes that wait for room, in the order in which they get it."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from roost.base.records import dataclass, field

#: What is waited for: room for a script of a kind, or for a job of a category.
Line = tuple[str, str]
PRE, POST, HELD, JOB = "pre", "post", "held", "job"


@dataclass(slots=True)
class Waiting:
    """Lines of nodes; in each the highest priority is first, then the node that came first (or last)."""

    depth_first: bool = False
    _lines: dict[Line, list[tuple[int, int, str]]] = field(default_factory=dict)
    _came: int = 0

    def add(self, line: Line, node: str, priority: int) -> None:
        """A node joins a line."""
        self._came += 1
        order = -self._came if self.depth_first else self._came
        heapq.heappush(self._lines.setdefault(line, []), (-priority, order, node))

    def next(self, has_room: Callable[[Line], bool]) -> tuple[Line, str] | None:
        """Take out the first node of all lines that have room."""
        heads = [(queue[0], line) for line, queue in self._lines.items() if queue and has_room(line)]
        if not heads:
            return None
        _, line = min(heads)
        return line, heapq.heappop(self._lines[line])[2]

    def clear(self) -> None:
        """Empty all lines."""
        self._lines.clear()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))
