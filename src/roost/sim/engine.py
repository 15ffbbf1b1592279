"""The clock of the simulated world: a heap of what is due, taken in the order of a full key.

The key is (time, rank, place, sequence). Rank and place order what happens at the same instant and does not
depend on when it was planned: polls come before messages, machine after machine. Among the rest, what was planned first
comes first. So a poll that is left out changes nothing of the order of all that remains.

Only what is due within the present minute is kept in order. What is due later is put by for its minute: most of it is
the submission of jobs, and deadlines that will be set anew before they come.
"""

from __future__ import annotations

import gc
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: What is due: called with the time.
Due = Callable[[float], None]

#: Objects made during a run, less those that are gone, after which cycles of garbage are looked for.
COLLECTED_EVERY: Final = 200_000

#: For so long what is due is kept in order, s.
ORDERED_S: Final = 60.0

RANK_POLL: Final = 0
RANK_STARTER: Final = 1
RANK_MESSAGE: Final = 2
RANK_CYCLE: Final = 3


_Entry = tuple[float, int, int, int, Due]


class Engine:
    """A heap of what is due."""

    __slots__ = ("_heap", "_later", "_ordered_until", "_sequence", "done", "now")

    def __init__(self, start: float) -> None:
        #: Epoch s.
        self.now = start
        #: How many have been taken.
        self.done = 0
        #: What is due before that instant, and by the minute what is due later.
        self._heap: list[_Entry] = []
        self._later: defaultdict[float, list[_Entry]] = defaultdict(list)
        self._ordered_until = start // ORDERED_S * ORDERED_S + ORDERED_S
        self._sequence = 0

    def at(self, time: float, due: Due, rank: int = RANK_MESSAGE, place: int = 0) -> None:
        """Plan `due` for `time`, which must not have passed."""
        assert time >= self.now, f"planned for {time}, and it is {self.now}"
        self._sequence += 1
        entry = time, rank, place, self._sequence, due
        if time < self._ordered_until:
            heapq.heappush(self._heap, entry)
        else:
            self._later[time // ORDERED_S * ORDERED_S].append(entry)

    def run(self, until: float) -> None:
        """Take everything that is due before `until`, then let it be `until`."""
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
    """Cycles of garbage are looked for seldom: jobs and machines stay to the end, and what comes and goes has few.

    What is there already is not looked at again.
    """
    before = gc.get_threshold()
    gc.set_threshold(COLLECTED_EVERY, *before[1:])
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
