"""The job as the operating system would see it: it runs, stands still, saves its work, ends.

It knows the truth about its job and nothing about policy. Orders come from the slot; what happens goes back by `ended`.
Its time to say farewell after a soft kill is its own; work that it saved then is kept, other work since the last save
is lost with it.

What it does not do: transfer files, or use more or less of its machine as time passes: its size is that of its ad.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from roost.model.effects import Notice
from roost.sim.engine import Engine
from roost.sim.workload import Job

#: Time from a hard kill to the end of the starter, s.
KILL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run of a job ended."""

    #: "completed", "evicted", "held" or "lost".
    outcome: str
    #: Time it ran, and time it stood still, s.
    run_s: float
    suspended_s: float
    #: Work of this run that the job need not do again, s.
    kept_s: float
    #: Whose words drove it out; None where nobody's did.
    notice: Notice | None
    hard: bool


class Process:
    """One run of one job."""

    __slots__ = (
        "_due", "begun_at", "done_before_s", "ended", "engine", "hard", "job", "notice", "run_s", "running_since",
        "stretch", "suspended_s", "suspended_since",
    )  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        job: Job,
        done_before_s: float,
        now: float,
        ended: Callable[[Process, End, float], None],
        stretch: Callable[[Process, float, float], None],
    ) -> None:
        self.engine = engine
        self.job = job
        self.done_before_s = done_before_s
        self.begun_at = now
        self.ended = ended
        #: Told of each stretch in which it ran.
        self.stretch = stretch
        self.run_s = 0.0
        self.suspended_s = 0.0
        self.running_since: float | None = now
        self.suspended_since: float | None = None
        self.notice: Notice | None = None
        self.hard = False
        #: Number of the only end that still counts.
        self._due = 0
        self._plan_completion(now)

    def progress_s(self, now: float) -> float:
        """Time it has run."""
        return self.run_s + (0.0 if self.running_since is None else now - self.running_since)

    def _plan(self, at: float, end: Callable[[float], None]) -> None:
        self._due += 1
        number = self._due
        self.engine.at(at, lambda now: end(now) if number == self._due else None)

    def _plan_completion(self, now: float) -> None:
        left = self.job.truth.run_s - self.done_before_s - self.progress_s(now)
        self._plan(now + max(0.0, left), self._completed)

    def _completed(self, now: float) -> None:
        self._end(now, "completed", self.progress_s(now))

    def suspend(self, now: float) -> None:
        """All processes are stopped."""
        if self.running_since is None:
            return
        self._stop_clock(now)
        self.suspended_since = now
        self._due += 1

    def resume(self, now: float) -> None:
        """All processes go on."""
        if self.suspended_since is None:
            return
        self.suspended_s += now - self.suspended_since
        self.suspended_since, self.running_since = None, now
        if self.notice is None:
            self._plan_completion(now)

    def soft_kill(self, notice: Notice, now: float) -> None:
        """It is asked to end, and may finish if that takes less time than its farewell."""
        if self.notice is not None or self.hard:
            return
        self.resume(now)
        self.notice = notice
        left = self.job.truth.run_s - self.done_before_s - self.progress_s(now)
        if left > self.job.truth.farewell_s:
            self._plan(now + self.job.truth.farewell_s, self._left)

    def _left(self, now: float) -> None:
        saved = self.progress_s(now) if self.job.truth.checkpoints else 0.0
        self._end(now, self._outcome, saved)

    @property
    def _outcome(self) -> str:
        return "held" if self.notice is not None and self.notice.hold else "evicted"

    def hard_kill(self, notice: Notice | None, now: float) -> None:
        """It has no time to save anything."""
        if self.hard:
            return
        self.hard = True
        self.notice = self.notice or notice
        self._plan(now + KILL_S, lambda then: self._end(then, self._outcome, 0.0))

    def vanish(self, now: float) -> End:
        """Its machine died; nobody is told."""
        self._due += 1
        return self._close(now, "lost", 0.0)

    def _end(self, now: float, outcome: str, kept_s: float) -> None:
        self._due += 1
        self.ended(self, self._close(now, outcome, kept_s), now)

    def _close(self, now: float, outcome: str, kept_s: float) -> End:
        if self.suspended_since is not None:
            self.suspended_s += now - self.suspended_since
            self.suspended_since = None
        if self.running_since is not None:
            self._stop_clock(now)
        return End(
            outcome=outcome,
            run_s=self.run_s,
            suspended_s=self.suspended_s,
            kept_s=kept_s,
            notice=self.notice,
            hard=self.hard,
        )

    def _stop_clock(self, now: float) -> None:
        assert self.running_since is not None
        self.stretch(self, self.running_since, now)
        self.run_s += now - self.running_since
        self.running_since = None
