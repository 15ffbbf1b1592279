"""The clock of the simulated world: a heap of events, taken in the order of a full key.

The key is (time, rank, place, sequence). Rank and place order events at the same instant independently of when they
were planned: polls come before messages, machine by machine. Among the rest, the first planned comes first. Leaving out
a poll therefore does not change the order of the remaining events.

Only events within the current minute are kept in order. Later ones are put aside by minute: most of them are
submissions of jobs, and deadlines that will be set again before they are due.
"""

from __future__ import annotations

import gc
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: An event: called with the time.
Due = Callable[[float], None]

#: Number of objects created during a run, minus those freed, after which garbage cycles are collected.
COLLECTED_EVERY: Final = 200_000

#: The time span within which events are kept in order, s.
ORDERED_S: Final = 60.0

RANK_POLL: Final = 0
RANK_STARTER: Final = 1
RANK_MESSAGE: Final = 2
RANK_CYCLE: Final = 3


_Entry = tuple[float, int, int, int, Due]


class Engine:
    """A heap of events."""

    __slots__ = ("_heap", "_later", "_ordered_until", "_sequence", "done", "now")

    def __init__(self, start: float) -> None:
        #: Epoch s.
        self.now = start
        #: Number of events taken.
        self.done = 0
        #: Events before that instant, and later ones by the minute.
        self._heap: list[_Entry] = []
        self._later: defaultdict[float, list[_Entry]] = defaultdict(list)
        self._ordered_until = start // ORDERED_S * ORDERED_S + ORDERED_S
        self._sequence = 0

    def at(self, time: float, due: Due, rank: int = RANK_MESSAGE, place: int = 0) -> None:
        """Plan `due` for `time`, which must not be in the past."""
        assert time >= self.now, f"planned for {time}, and it is {self.now}"
        self._sequence += 1
        entry = time, rank, place, self._sequence, due
        if time < self._ordered_until:
            heapq.heappush(self._heap, entry)
        else:
            self._later[time // ORDERED_S * ORDERED_S].append(entry)

    def run(self, until: float) -> None:
        """Take all events before `until`, then set the time to `until`."""
        while self._ordered_until < until:
            self._take(self._ordered_until)
            self._heap = self._later.pop(self._ordered_until, [])
            heapq.heapify(self._heap)
            self._ordered_until += ORDERED_S
        self._take(until)
        self.now = max(self.now, until)

    def _take(self, until: float) -> None:
        heap, pop, done = self._heap, heapq.heappop, 0
        while heap and heap[0][0] < until:
            time, _, _, _, due = pop(heap)
            self.now = time
            done += 1
            due(time)
        self.done += done


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Collect garbage cycles rarely: jobs and machines live to the end, and short-lived objects form few cycles.

    Existing objects are not examined again.
    """
    before = gc.get_threshold()
    gc.set_threshold(COLLECTED_EVERY, *before[1:])
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
