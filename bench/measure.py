"""How a benchmark is measured and what it reports."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the report."""

    #: Letter of the requirement, and what is measured.
    name: str
    #: Ours against the reference; more is better, unless the unit says otherwise.
    ratio: float | None
    #: Smallest ratio that is wanted; None where there is none.
    wanted: float | None
    #: Figures behind the ratio, in words.
    detail: str
    #: What bounds the figure.
    bound: str = ""

    @property
    def met(self) -> bool:
        """Whether the ratio is what was wanted."""
        return self.wanted is None or (self.ratio is not None and self.ratio >= self.wanted)


def seconds_each(run: Callable[[], object], repeat: int, rounds: int = 5) -> float:
    """Median over `rounds` of the seconds one call of `run` takes, called `repeat` times a round."""
    run()
    gc.collect()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeat):
            run()
        times.append((time.perf_counter() - start) / repeat)
    return statistics.median(times)


def paired(
    ours: Callable[[], object], theirs: Callable[[], object], repeat: int, rounds: int = 7
) -> tuple[float, float]:
    """Seconds a call of both, measured in turn so that a drift of the machine hits both alike."""
    ours()
    theirs()
    mine, other = [], []
    for _ in range(rounds):
        mine.append(seconds_each(ours, repeat, 1))
        other.append(seconds_each(theirs, repeat, 1))
    return statistics.median(mine), statistics.median(other)
