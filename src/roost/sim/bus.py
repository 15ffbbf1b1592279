"""Messages between simulated daemons: each takes time, and under faults may be lost, duplicated or late.

Delays and faults are drawn from a separate stream for each pair of daemons, so an additional machine does not change
them. Messages over one connection (`reliable`), as between a starter and its queue, are only delayed.
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
    """Faults to inject. All are off unless set."""

    #: Probabilities that a message is lost, duplicated, and late.
    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    #: Maximum delay of a late message, s.
    late_s: float = 120.0
    #: Mean time between deaths of an execute machine's daemon, and of the queue's, s; 0 for none.
    machine_death_s: float = 0.0
    queue_death_s: float = 0.0
    #: Probability that a life of a machine's daemon ends between two effects, and that a starter dies by itself.
    machine_cut: float = 0.0
    starter_crash: float = 0.0
    #: Mean number of messages after which the queue dies between two of them; 0 for never.
    queue_cut: float = 0.0
    #: Maximum downtime of a dead daemon, s.
    away_s: float = 900.0
    #: No faults from this time of the run on, s; whatever is left must then recover.
    until_s: float = float("inf")

    @property
    def any(self) -> bool:
        """Whether there are any faults."""
        return any(getattr(self, name) > 0 for name in _FAULTS)


#: Latency of a message that is not late, s.
TRIP_S_MIN: Final = 0.05
TRIP_S_MAX: Final = 0.25
_TRIP_S_MORE: Final = TRIP_S_MAX - TRIP_S_MIN
#: Factor for it in a world that acts on each event at once, like a pool of one machine, so that other events rarely
#: come in between.
AT_ONCE: Final = 0.1

_FAULTS: Final = (
    "lost", "doubled", "late", "machine_death_s", "queue_death_s", "machine_cut", "starter_crash", "queue_cut",
)  # fmt: skip


@lru_cache(maxsize=10_000)
def _steady_delay(seed: int | str, link: str, number: float) -> float:
    """A machine asks for these delays of the last keepalives of a claim whenever something happens to it."""
    return TRIP_S_MIN + _TRIP_S_MORE * drawn(seed, "bus", link, number)


class _Link:
    """The link from one daemon to another."""

    __slots__ = ("chance", "last_at")

    def __init__(self, chance: Random) -> None:
        #: The stream for delays and faults.
        self.chance = chance
        #: When the last message arrives.
        self.last_at = 0.0


class Bus:
    """Delivers messages."""

    __slots__ = ("_links", "counts", "engine", "faults", "faulty", "scale", "seed", "start")

    def __init__(self, engine: Engine, seed: int | str, faults: Faults, *, scale: float = 1.0) -> None:
        #: Factor for the latency of messages.
        self.scale = scale
        self.engine = engine
        self.seed = seed
        self.faults = faults
        #: Whether there are any faults.
        self.faulty = faults.any
        self.start = engine.now
        #: Numbers of messages sent, lost, duplicated and late.
        self.counts = {"sent": 0, "lost": 0, "doubled": 0, "late": 0}
        self._links: dict[str, _Link] = {}

    def _link(self, name: str) -> _Link:
        link = self._links[name] = _Link(stream(self.seed, "bus", name))
        return link

    def steady_delay(self, link: str, number: float) -> float:
        """Latency of a message without faults, independent of other messages on its link, s."""
        return self.scale * _steady_delay(self.seed, link, number)

    def send(self, name: str, deliver: Callable[[float], None], *, reliable: bool = False) -> None:
        """Deliver a message on the link with that name after its delay."""
        link = self._links.get(name) or self._link(name)
        chance, now = link.chance, self.engine.now
        self.counts["sent"] += 1
        # Messages from one daemon to another arrive in the order in which they were sent, except late ones.
        at = max(link.last_at, now + self.scale * (TRIP_S_MIN + _TRIP_S_MORE * chance.random()))
        link.last_at = at
        faults = self.faults
        if self.faulty and not reliable and now - self.start < faults.until_s:
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
