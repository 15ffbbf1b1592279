"""Nodes that wait for the limits of the run, in the order in which they proceed."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from roost.base.records import dataclass, field

#: What a node waits for: a script of a kind, or a job of a category.
Line = tuple[str, str]
PRE, POST, HELD, JOB = "pre", "post", "held", "job"


@dataclass(slots=True)
class Waiting:
    """Queues of nodes; in each, the highest priority is first, then the node that was added first (or last)."""

    depth_first: bool = False
    _lines: dict[Line, list[tuple[int, int, str]]] = field(default_factory=dict)
    _came: int = 0

    def add(self, line: Line, node: str, priority: int) -> None:
        """Add a node to a queue."""
        self._came += 1
        order = -self._came if self.depth_first else self._came
        heapq.heappush(self._lines.setdefault(line, []), (-priority, order, node))

    def next(self, has_room: Callable[[Line], bool]) -> tuple[Line, str] | None:
        """Remove and return the first node of all queues that have room."""
        heads = [(queue[0], line) for line, queue in self._lines.items() if queue and has_room(line)]
        if not heads:
            return None
        _, line = min(heads)
        return line, heapq.heappop(self._lines[line])[2]

    def clear(self) -> None:
        """Empty all queues."""
        self._lines.clear()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))
