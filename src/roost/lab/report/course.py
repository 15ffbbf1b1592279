"""How many jobs waited and ran over the time of a run: gathered from records, for a picture."""

from __future__ import annotations

from typing import Final

from roost.sim.record import Record

#: Intervals of a run.
INTERVALS: Final = 168
_BACK: Final = ("evicted", "lost")


class Course:
    """A sink of records, of one run of so many seconds."""

    def __init__(self, end_s: float) -> None:
        self._step_s = end_s / INTERVALS
        self._end_s = end_s
        self._at = 0.0
        self._now = {"waiting": 0, "running": 0}
        self._sums = {name: [0.0] * INTERVALS for name in self._now}

    def take(self, record: Record) -> None:
        """A record more."""
        what = record["what"]
        if what not in ("submit", "start", "end"):
            return
        self._pass(record["t"])
        if what == "submit":
            self._now["waiting"] += 1
        elif what == "start":
            self._now["waiting"] = max(0, self._now["waiting"] - 1)
            self._now["running"] += 1
        else:
            self._now["running"] = max(0, self._now["running"] - 1)
            self._now["waiting"] += record.get("outcome") in _BACK

    def _pass(self, at: float) -> None:
        """Time passes with as many jobs as there are."""
        at = min(at, self._end_s)
        while self._at < at:
            index = min(INTERVALS - 1, int(self._at / self._step_s))
            until = at if index == INTERVALS - 1 else min(at, (index + 1) * self._step_s)
            # An end of an interval that rounding puts before where we are.
            until = max(until, self._at + 1e-6)
            for name, number in self._now.items():
                self._sums[name][index] += number * (until - self._at)
            self._at = until

    def means(self) -> dict[str, list[float]]:
        """Jobs that waited and that ran on average, interval by interval."""
        self._pass(self._end_s)
        return {name: [each / self._step_s for each in sums] for name, sums in self._sums.items()}
