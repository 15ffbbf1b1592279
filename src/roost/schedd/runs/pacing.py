"""Pauses of clusters whose jobs get slots and yet do not begin.

A job that a machine refuses, or that ends there before its program ran, waits again and would be matched again at once:
nothing else stands between a machine that can start nothing and a cycle of the matchmaker for every try. So a cluster
gets some tries without a pause, since races look like refusals, too; then its jobs are not offered for a while that
doubles with each further miss. As soon as one of them begins the count starts anew.

Pauses are not kept over a restart of the queue, and do not hold up jobs on claims that it has.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from roost.base.records import dataclass, field
from roost.schedd.identifiers import JobId

#: Misses in a row that cost nothing.
FREE_TRIES: Final = 3
#: Misses of different jobs within this time of one that counted are of one cause, and count with it, s.
MISS_GAP_S: Final = 0.1
#: The first pause, and the longest, s. A tick sees that a pause is over: this one is over well before its sixth tick,
#: however long the messages of the try took that began with a tick.
PAUSE_S: Final = 1.0
PAUSE_S_MAX: Final = 28.0


@dataclass(slots=True)
class Pause:
    """Misses of one cluster in a row, and until when it is not offered, epoch s."""

    misses: int = 0
    until: float = 0.0
    #: When a miss counted last, epoch s.
    missed_at: float = 0.0
    #: Its end has been seen.
    is_over: bool = True
    #: Numbers of the jobs whose misses counted as the last one.
    procs: set[int] = field(default_factory=set)


class Pauses:
    """Those of all clusters; no more than there are clusters."""

    def __init__(self) -> None:
        self._pauses: dict[int, Pause] = {}

    def __bool__(self) -> bool:
        """Whether any cluster has missed anything lately."""
        return bool(self._pauses)

    def over_at(self, now: float) -> float | None:
        """When the next pause ends, or ended without having been noticed, epoch s; None if there is none."""
        return min((pause.until for pause in self._pauses.values() if not pause.is_over), default=None)

    def missed(self, job: JobId, now: float) -> None:
        """A job had a slot, or was promised one, and did not begin."""
        pause = self._pauses.setdefault(job.cluster, Pause())
        soon = 0 <= now - pause.missed_at < MISS_GAP_S
        if self.of(job.cluster, now) is not None or (soon and job.proc not in pause.procs):
            # What was on its way to other machines at the same time. The next try of the same job was not.
            pause.procs.add(job.proc)
            return
        pause.missed_at, pause.procs = now, {job.proc}
        pause.misses += 1
        over = pause.misses - FREE_TRIES - 1
        if over >= 0:
            pause.until = now + min(PAUSE_S_MAX, PAUSE_S * 2.0 ** min(over, 30))
            pause.is_over = False

    def began(self, cluster: int) -> None:
        """A job's program runs."""
        if self._pauses:
            self._pauses.pop(cluster, None)

    def of(self, cluster: int, now: float) -> Pause | None:
        """The pause that a cluster has; None if its jobs are offered."""
        pause = self._pauses.get(cluster)
        # A clock that was set back makes no pause longer.
        return pause if pause is not None and 0 < pause.until - now <= PAUSE_S_MAX else None

    def ended(self, present: Container[int], now: float) -> bool:
        """Whether a pause has ended since this was asked last; clusters that are gone are forgotten."""
        for cluster in [each for each in self._pauses if each not in present]:
            del self._pauses[cluster]
        ended = [
            pause for cluster, pause in self._pauses.items() if not pause.is_over and self.of(cluster, now) is None
        ]
        for pause in ended:
            pause.is_over = True
        return bool(ended)
