"""Users' priorities: who has used less of late comes first.

A priority is the number of slots that a user has had, weighed so that what is a half-life old counts for half, and at
least 0.5; times the factor of all users. A lower one is better.
"""

from __future__ import annotations

from typing import Final

#: Best priority that there is, without the factor.
BEST: Final = 0.5
#: DEFAULT_PRIO_FACTOR.
FACTOR: Final = 1000.0


class Priorities:
    """The priorities of all users of a queue."""

    __slots__ = ("_known", "_start", "halflife_s")

    def __init__(self, start: float, halflife_s: float = 86_400.0) -> None:
        #: PRIORITY_HALFLIFE.
        self.halflife_s = halflife_s
        self._start = start
        #: User to use, and when it was computed.
        self._known: dict[str, tuple[float, float]] = {}

    def used(self, user: str, slots: int, now: float) -> None:
        """The user has had so many slots since this was said last."""
        self._known[user] = (self._use(user, slots, now), now)

    def _use(self, user: str, slots: int, now: float) -> float:
        use, at = self._known.get(user, (0.0, self._start))
        kept: float = 0.5 ** ((now - at) / self.halflife_s)
        return use * kept + slots * (1.0 - kept)

    def of(self, user: str, slots: int, now: float) -> float:
        """The priority of a user who has had so many slots lately."""
        return FACTOR * max(BEST, self._use(user, slots, now))
