"""Messages between simulated daemons: each takes its time, and under faults may be lost, come twice, or come late.

Delays and faults are drawn from a stream of their own for each pair of daemons, so another machine does not shift them.
What goes over one connection (`reliable`), as between a starter and its queue, is only delayed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Final

from roost.base.records import dataclass
from roost.sim.chance import drawn, stream
from roost.sim.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What may go wrong. All are off unless set."""

    #: Chance of each message to be lost, to come twice, and to be late.
    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    #: How late a late message is at most, s.
    late_s: float = 120.0
    #: Mean time between deaths of an execute machine's daemon, and of the queue's, s; 0 for none.
    machine_death_s: float = 0.0
    queue_death_s: float = 0.0
    #: Chance of each life of a machine's daemon to end between two orders, and of each starter to die of itself.
    machine_cut: float = 0.0
    starter_crash: float = 0.0
    #: Mean number of messages after which the queue dies between two of them; 0 for never.
    queue_cut: float = 0.0
    #: How long a dead daemon stays away at most, s.
    away_s: float = 900.0
    #: Nothing goes wrong from this time of the run on, s; what is left must come right then.
    until_s: float = float("inf")

    @property
    def any(self) -> bool:
        """Whether anything may go wrong."""
        return any(getattr(self, name) > 0 for name in _FAULTS)


#: Times that a message takes that is not late, s.
TRIP_S_MIN: Final = 0.05
TRIP_S_MAX: Final = 0.25
_TRIP_S_MORE: Final = TRIP_S_MAX - TRIP_S_MIN
#: What they are multiplied by in a world that acts on each event at once, as a pool of one machine does: whatever else
#: happens seldom comes in between.
AT_ONCE: Final = 0.1

_FAULTS: Final = (
    "lost", "doubled", "late", "machine_death_s", "queue_death_s", "machine_cut", "starter_crash", "queue_cut",
)  # fmt: skip


@lru_cache(maxsize=10_000)
def _steady_delay(seed: int | str, link: str, number: float) -> float:
    """A machine asks for those of the last signs of life of a claim whenever something happens to it."""
    return TRIP_S_MIN + _TRIP_S_MORE * drawn(seed, "bus", link, number)


class Bus:
    """Delivers."""

    __slots__ = ("_chances", "_last", "counts", "engine", "faults", "faulty", "scale", "seed", "start")

    def __init__(self, engine: Engine, seed: int | str, faults: Faults, *, scale: float = 1.0) -> None:
        #: Multiplies the times that messages take.
        self.scale = scale
        self.engine = engine
        self.seed = seed
        self.faults = faults
        #: Whether anything may go wrong.
        self.faulty = faults.any
        self.start = engine.now
        #: Messages sent, lost, doubled, late.
        self.counts = {"sent": 0, "lost": 0, "doubled": 0, "late": 0}
        self._chances: dict[str, Random] = {}
        #: When what was sent last on each link arrives.
        self._last: dict[str, float] = {}

    def _chance(self, link: str) -> Random:
        chance = self._chances[link] = stream(self.seed, "bus", link)
        return chance

    def steady_delay(self, link: str, number: float) -> float:
        """How long a message takes that nothing goes wrong with, whatever else was sent on its link, s."""
        return self.scale * _steady_delay(self.seed, link, number)

    def send(self, link: str, deliver: Callable[[float], None], *, reliable: bool = False) -> None:
        """Deliver a message of the link after its delay."""
        chance = self._chances.get(link) or self._chance(link)
        self.counts["sent"] += 1
        # What one says to another arrives in the order in which it is said, but for what is late.
        at = self.engine.now + self.scale * (TRIP_S_MIN + _TRIP_S_MORE * chance.random())
        last = self._last.get(link)
        if last is not None and last > at:
            at = last
        self._last[link] = at
        faults = self.faults
        if self.faulty and not reliable and self.engine.now - self.start < faults.until_s:
            fate = chance.random()
            if fate < faults.lost:
                self.counts["lost"] += 1
                return
            if fate < faults.lost + faults.doubled:
                self.counts["doubled"] += 1
                self.engine.at(at + chance.random() * faults.late_s, deliver)
            elif fate < faults.lost + faults.doubled + faults.late:
                self.counts["late"] += 1
                at += chance.random() * faults.late_s
        self.engine.at(at, deliver)
