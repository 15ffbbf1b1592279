"""The owners of machines: when keys are pressed, and the load of their own programs.

A trace is fixed for all times before the run begins, and is a function of time, so sensors can be read for any instant,
and it is known how long nothing changes. While an owner is present, a key has just been pressed; while the owner is
away, the time since the last key grows. Load is piecewise constant.

`diurnal` makes the trace of a person who works by day, with breaks; `owners_file` reads recorded ones.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from random import Random
from typing import Final

from roost.base.records import dataclass, field

DAY_S: Final = 86_400
#: Maximum number of absences searched for one that is long enough; beyond that, the next one may be.
ABSENCES_AHEAD: Final = 64
HOUR_S: Final = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerTrace:
    """The actions of one owner. Times are epoch s, whole seconds."""

    #: Intervals [from, to) in which keys are pressed all the time; disjoint and in order.
    present: tuple[tuple[float, float], ...] = ()
    #: (time, load of the owner's own programs from then on), in order.
    loads: tuple[tuple[float, float], ...] = ()
    #: When a key was last pressed before the trace begins.
    last_key_before: float = 0.0
    _edges: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _load_times: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _sums: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        edges: list[float] = []
        sums = [0.0]
        for begin, end in self.present:
            if not begin < end or (edges and begin < edges[-1]):
                raise ValueError(f"intervals of presence must be in order and apart: {begin:g} to {end:g}")
            edges += (begin, end)
            sums.append(sums[-1] + end - begin)
        object.__setattr__(self, "_edges", tuple(edges))
        object.__setattr__(self, "_load_times", tuple(time for time, _ in self.loads))
        object.__setattr__(self, "_sums", tuple(sums))

    def is_present(self, now: float) -> bool:
        """Whether keys are being pressed."""
        return bisect_right(self._edges, now) % 2 == 1

    def idle_s(self, now: float) -> int:
        """KeyboardIdle, s."""
        passed = bisect_right(self._edges, now)
        if passed % 2:
            return 0
        last = self._edges[passed - 1] if passed else self.last_key_before
        return max(0, int(now - last))

    def load(self, now: float) -> float:
        """Load of the owner's own programs."""
        passed = bisect_right(self._load_times, now)
        return self.loads[passed - 1][1] if passed else 0.0

    def next_presence(self, now: float) -> float:
        """When the owner arrives or leaves next; infinite if never."""
        return _next(self._edges, now)

    def next_load(self, now: float) -> float:
        """When the load changes next; infinite if never."""
        return _next(self._load_times, now)

    def idle_beyond(self, now: float, limit_s: float) -> float:
        """From `now` on, the first instant at which KeyboardIdle may exceed a limit; infinite if it never does."""
        grows_s = math.floor(limit_s) + 1
        edges = self._edges
        # Where an owner leaves: before now, or next.
        place = bisect_right(edges, now)
        place += place % 2
        begin = edges[place - 1] if place else self.last_key_before
        for _ in range(ABSENCES_AHEAD):
            if place == len(edges) or edges[place] - begin > grows_s:
                break
            begin, place = edges[place + 1], place + 2
        return max(now, begin + grows_s)

    def presence_s(self, begin: float, end: float) -> float:
        """Seconds of presence within [begin, end)."""
        return self._present_until(end) - self._present_until(begin)

    def _present_until(self, now: float) -> float:
        passed = bisect_right(self._edges, now)
        total = self._sums[passed // 2]
        return total + (now - self._edges[passed - 1] if passed % 2 else 0.0)


def _next(times: Sequence[float], now: float) -> float:
    passed = bisect_right(times, now)
    return times[passed] if passed < len(times) else math.inf


NOBODY: Final = OwnerTrace()


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """An owner's habits, as ranges from which each owner's own habits are drawn."""

    #: Hours of local time at which work begins and ends, on average.
    begin_h: float = 9.0
    end_h: float = 17.5
    #: Probability of presence on a working day, on a weekend day, and in the evening.
    weekday: float = 0.9
    weekend: float = 0.12
    evening: float = 0.2
    #: Mean stretch of work and mean break, s.
    stretch_s: float = 2_400.0
    break_s: float = 900.0
    #: Probability that a stretch includes a computation by the owner.
    computes: float = 0.15


def diurnal(chance: Random, start: float, days: float, habits: Habits = Habits()) -> OwnerTrace:
    """The trace of one owner. `start` must be a midnight of local time; that day is a Monday."""
    begin_h = chance.gauss(habits.begin_h, 0.8)
    end_h = max(begin_h + 4, chance.gauss(habits.end_h, 1.0))
    present: list[tuple[float, float]] = []
    loads: list[tuple[float, float]] = []
    for day in range(math.ceil(days)):
        here = habits.weekday if day % 7 < 5 else habits.weekend
        midnight = start + day * DAY_S
        if chance.random() < here:
            _work(
                chance, midnight, begin_h + chance.gauss(0, 0.5), end_h + chance.gauss(0, 0.5), habits, present, loads
            )
        if chance.random() < habits.evening:
            at = chance.uniform(19.0, 22.0)
            _work(chance, midnight, at, at + chance.expovariate(1.2), habits, present, loads)
    return OwnerTrace(
        present=merged(present), loads=rising(loads), last_key_before=start - chance.randrange(HOUR_S, 12 * HOUR_S)
    )


def _work(
    chance: Random,
    midnight: float,
    begin_h: float,
    end_h: float,
    habits: Habits,
    present: list[tuple[float, float]],
    loads: list[tuple[float, float]],
) -> None:
    """One stay, in stretches with breaks between them."""
    at = midnight + max(0.0, begin_h) * HOUR_S
    end = midnight + min(end_h, 23.9) * HOUR_S
    while at < end:
        stop = min(end, at + max(60.0, chance.expovariate(1 / habits.stretch_s)))
        if stop - at >= 1:
            present.append((float(round(at)), float(round(stop))))
            if chance.random() < habits.computes:
                begin = at + chance.random() * (stop - at)
                last = begin + max(120.0, chance.expovariate(1 / 1_200))
                loads += ((float(round(begin)), round(chance.uniform(0.6, 1.4), 2)), (float(round(last)), 0.0))
        at = stop + max(60.0, chance.expovariate(1 / habits.break_s))


def merged(intervals: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The intervals merged and in order."""
    apart: list[tuple[float, float]] = []
    for begin, end in sorted(intervals):
        if apart and begin <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        elif begin < end:
            apart.append((begin, end))
    return tuple(apart)


def rising(loads: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Loads in the order of time; of several at one time, the last."""
    return tuple(sorted(dict(sorted(loads)).items()))
