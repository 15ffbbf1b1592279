"""How many drains a round may start, so that the average is DEFRAG_DRAINING_MACHINES_PER_HOUR.

A round starts the whole part of its share of the hourly rate. The remainder of each hour is started in the first round
of an hour, and what then remains of a day, rounded to the nearest machine, in the first round of a day. Hours and days
are those of the epoch, so that a restarted daemon does not begin them again.
"""

from __future__ import annotations

import math

from roost.base.records import dataclass

_HOUR_S = 3_600
_DAY_S = 86_400

#: A rate this close below a whole number is taken for it: rates are often quotients such as 1/3.
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Numbers of drains to start."""

    per_round: int
    #: Additional ones in the first round of an hour, and of a day.
    per_hour: int
    per_day: int

    @classmethod
    def of(cls, machines_per_hour: float, interval_s: int) -> Rate:
        """The rate of a daemon with a round every `interval_s`."""
        worth = max(0.0, machines_per_hour) * interval_s / _HOUR_S
        per_round = math.floor(worth + _TOLERANCE)
        left_per_hour = (worth - per_round) * _HOUR_S / interval_s
        # Rounds further apart than an hour would miss hours, and those further apart than a day, days.
        per_hour = math.floor(left_per_hour + _TOLERANCE) if interval_s <= _HOUR_S else 0
        left_per_day = (left_per_hour - per_hour) * _DAY_S / _HOUR_S
        per_day = max(0, math.floor(left_per_day + 0.5)) if interval_s <= _DAY_S else 0
        return cls(per_round=per_round, per_hour=per_hour, per_day=per_day)

    def allowance(self, last_round_at: float | None, now: float) -> int:
        """Drains that a round at `now` may start; a `last_round_at` of None means the first round, which begins no hour
        or day."""
        allowed = self.per_round
        if last_round_at is not None:
            allowed += self.per_hour if now // _HOUR_S > last_round_at // _HOUR_S else 0
            allowed += self.per_day if now // _DAY_S > last_round_at // _DAY_S else 0
        return allowed
