"""Pauses of clusters whose jobs get slots but do not begin.

A job that a machine refuses, or that ends there before its program ran, is idle again and would be matched again at
once. A machine that cannot start anything would then cost a matchmaking cycle for every try. A cluster therefore gets
some tries without a pause, since races also look like refusals; then its jobs are not offered for a while, which
doubles with each further miss. As soon as one of them begins, the count starts again.

Pauses are not stored across a restart of the queue, and do not delay jobs on existing claims.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from roost.base.records import dataclass, field
from roost.schedd.identifiers import JobId

#: Consecutive misses without a pause.
FREE_TRIES: Final = 3
#: Misses of different jobs within this time of a counted one have the same cause, and count as one with it, s.
MISS_GAP_S: Final = 0.1
#: The first and the maximum pause, s. Ticks detect the end of a pause: this one is over well before its sixth tick,
#: however long the messages of a try took that began with a tick.
PAUSE_S: Final = 1.0
PAUSE_S_MAX: Final = 28.0


@dataclass(slots=True)
class Pause:
    """Consecutive misses of one cluster, and until when it is not offered, epoch s."""

    misses: int = 0
    until: float = 0.0
    #: When a miss last counted, epoch s.
    missed_at: float = 0.0
    #: Its end has been noticed.
    is_over: bool = True
    #: Numbers of the jobs whose misses counted with the last one.
    procs: set[int] = field(default_factory=set)


class Pauses:
    """The pauses of all clusters, at most one per cluster."""

    def __init__(self) -> None:
        self._pauses: dict[int, Pause] = {}

    def __bool__(self) -> bool:
        """Whether any cluster has missed recently."""
        return bool(self._pauses)

    def over_at(self, now: float) -> float | None:
        """When the next pause ends, or ended unnoticed, epoch s; None if there is none."""
        return min((pause.until for pause in self._pauses.values() if not pause.is_over), default=None)

    def missed(self, job: JobId, now: float) -> None:
        """Note that a job had a slot, or was promised one, and did not begin."""
        pause = self._pauses.setdefault(job.cluster, Pause())
        soon = 0 <= now - pause.missed_at < MISS_GAP_S
        if self.of(job.cluster, now) is not None or (soon and job.proc not in pause.procs):
            # Tries on other machines that were in progress at the same time. The next try of the same job was not.
            pause.procs.add(job.proc)
            return
        pause.missed_at, pause.procs = now, {job.proc}
        pause.misses += 1
        over = pause.misses - FREE_TRIES - 1
        if over >= 0:
            pause.until = now + min(PAUSE_S_MAX, PAUSE_S * 2.0 ** min(over, 30))
            pause.is_over = False

    def began(self, cluster: int) -> None:
        """Note that a job's program runs."""
        if self._pauses:
            self._pauses.pop(cluster, None)

    def of(self, cluster: int, now: float) -> Pause | None:
        """The pause of a cluster; None if its jobs are offered."""
        pause = self._pauses.get(cluster)
        # A clock that was set back does not lengthen a pause.
        return pause if pause is not None and 0 < pause.until - now <= PAUSE_S_MAX else None

    def ended(self, present: Container[int], now: float) -> bool:
        """Whether a pause has ended since the last call; clusters that are gone are forgotten."""
        for cluster in [each for each in self._pauses if each not in present]:
            del self._pauses[cluster]
        ended = [
            pause for cluster, pause in self._pauses.items() if not pause.is_over and self.of(cluster, now) is None
        ]
        for pause in ended:
            pause.is_over = True
        return bool(ended)
