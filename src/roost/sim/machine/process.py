"""The job as the operating system would see it: it runs, is stopped, grows, saves its work, ends.

It knows the truth about its job and nothing about policy. Its starter starts, stops, signals and kills it; `ended`
reports how it ended. A signal to leave starts its grace period, in which a job that can saves its work; a job that
ignores the signal continues unchanged. Work that was not saved is lost with the run.

One `Process` is one stay of a job on a slot, across all starts by its starter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from roost.base.fast_records import record
from roost.model.starter import Usage
from roost.sim.engine import Engine
from roost.sim.inputs.workload import Job

SIGKILL: Final = 9
SIGTERM: Final = 15


@record
class End:
    """How a stay of a job ended."""

    #: "completed", "evicted", "held", or "lost" without a report of its starter.
    outcome: str
    #: Time it ran, and time it was stopped, s.
    run_s: float
    suspended_s: float
    #: Work of this stay that does not have to be repeated, s.
    kept_s: float
    #: Why it had to leave; None if it was not forced to.
    cause: str | None
    #: It was killed hard.
    hard: bool


def _unheard(*told: object) -> None:
    """The handler of reports that no longer matter."""


#: Times that differ by less are equal, s.
_EPSILON_S: Final = 1e-6


class Process:
    """One stay of one job on a slot."""

    __slots__ = (
        "_due", "_dying", "code", "done_before_s", "ended", "engine", "job", "leaving", "run_s", "running_since",
        "saved_s", "stretch", "suspended_s", "suspended_since", "writing",
    )  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        job: Job,
        done_before_s: float,
        ended: Callable[[int | None, int | None, float], None],
        stretch: Callable[[Process, float, float], None],
    ) -> None:
        self.engine = engine
        self.job = job
        self.done_before_s = done_before_s
        #: Called with how it ended: code or signal.
        self.ended = ended
        #: Called with each stretch in which it ran.
        self.stretch = stretch
        self.run_s = 0.0
        self.suspended_s = 0.0
        self.running_since: float | None = None
        self.suspended_since: float | None = None
        #: Work of this stay that is saved.
        self.saved_s = 0.0
        #: Work written when it last exited for a checkpoint, and not saved yet.
        self.writing = 0.0
        #: It has received a signal to end.
        self.leaving = False
        #: Its last exit code; None while it has not exited.
        self.code: int | None = None
        #: Number of the only pending end that is still valid.
        self._due = 0
        self._dying = False

    @property
    def here(self) -> bool:
        """Whether there is a process, running or stopped."""
        return self.running_since is not None or self.suspended_since is not None

    @property
    def is_done(self) -> bool:
        """Whether its program has ended by itself, with all its work done."""
        return self.code is not None and self.done_before_s + self.run_s >= self.job.truth.run_s - _EPSILON_S

    def progress_s(self, now: float) -> float:
        """Run time in this stay."""
        return self.run_s + (0.0 if self.running_since is None else now - self.running_since)

    def image_kb(self, now: float) -> int:
        """Its virtual size, KiB."""
        return self.job.truth.image_kb(self.done_before_s + self.progress_s(now))

    def usage(self, at: float, now: float | None = None) -> Usage:
        """The result of a measurement now, or `at` an instant since which nothing has happened to it until `now`."""
        truth = self.job.truth
        progress_s = self.progress_s(at if now is None else now)
        if now is not None and self.running_since is not None:
            progress_s -= now - at
        image_kb = truth.image_kb(self.done_before_s + progress_s)
        return Usage(
            image_size_kib=image_kb,
            resident_kib=int(image_kb * truth.resident_share),
            user_cpu_s=float(int(progress_s * 0.95)),
            system_cpu_s=float(int(progress_s * 0.05)),
            process_count=1,
            disk_usage_kib=truth.disk_kb,
        )

    def sizes_change_at(self, now: float) -> float:
        """When its sizes first change, as long as nothing happens to it."""
        if self.running_since is None:
            return math.inf
        progress_s = self.done_before_s + self.progress_s(now)
        return now + self.job.truth.sizes_change_in(progress_s)

    # -- its life ------------------------------------------------------------------------------------

    def _plan(self, at: float, end: Callable[[float], None]) -> None:
        self._due += 1
        number = self._due
        self.engine.at(at, lambda now: end(now) if number == self._due else None)

    def start(self, now: float) -> None:
        """Start the program, or continue it after a checkpoint."""
        self.code = None
        self._dying = False
        self.running_since = now
        self._plan_end(now)

    def _plan_end(self, now: float) -> None:
        truth, done_s = self.job.truth, self.progress_s(now)
        left = truth.run_s - self.done_before_s - done_s
        save_in = math.inf if truth.exits_to_save_s is None else truth.exits_to_save_s - (done_s - self.saved_s)
        if save_in < left:
            self._plan(now + max(0.0, save_in), self._exit_to_save)
        else:
            self._plan(now + max(0.0, left), lambda then: self._end(then, truth.exit_code, None))

    def _exit_to_save(self, now: float) -> None:
        self.writing = self.progress_s(now)
        self._end(now, self.job.truth.save_code, None)

    def safe(self) -> None:
        """Note that the work written at its last exit is saved."""
        self.saved_s = max(self.saved_s, self.writing)

    def save(self, now: float) -> None:
        """Save its work without ending."""
        if self.here and self.job.truth.checkpoints:
            self.saved_s = self.progress_s(now)

    def suspend(self, now: float) -> None:
        """Stop all processes."""
        if self.running_since is None:
            return
        self._stop_clock(now)
        self.suspended_since = now
        if not self._dying:
            self._due += 1

    def resume(self, now: float) -> None:
        """Continue all processes."""
        if self.suspended_since is None:
            return
        self.suspended_s += now - self.suspended_since
        self.suspended_since, self.running_since = None, now
        if not self._dying:
            self._plan_end(now)

    def signal(self, name: str, now: float) -> None:
        """Ask it to end."""
        if name == "SIGKILL":
            self.kill(now)
            return
        if self.leaving or self._dying or not self.here or self.job.truth.ignores_soft_kill:
            return
        self.leaving = True
        left = self.job.truth.run_s - self.done_before_s - self.progress_s(now)
        self._plan(now + max(0.0, min(left, self.job.truth.farewell_s)), self._left)

    def _left(self, now: float) -> None:
        if self.job.truth.checkpoints:
            self.saved_s = self.progress_s(now)
        self._end(now, None, SIGTERM)

    def kill(self, now: float) -> None:
        """Kill it, with no time to save anything."""
        if self.here and not self._dying:
            self._dying = True
            self._plan(now + self.job.truth.death_s, lambda then: self._end(then, None, SIGKILL))

    def vanish(self, now: float) -> None:
        """End without a message."""
        self._due += 1
        self._close(now)

    def _end(self, now: float, code: int | None, signal: int | None) -> None:
        self._due += 1
        # The receiver brings up to date what was sensed before this instant, while it still ran.
        self.ended(code, signal, now)

    def gone(self, now: float, code: int | None) -> None:
        """Note that its end has been observed."""
        self.code = code
        self._close(now)

    def forget(self) -> None:
        """Stop reporting to its run. The two refer to each other: otherwise they would stay until garbage
        collection.
        """
        self.ended = self.stretch = _unheard

    def _close(self, now: float) -> None:
        if self.suspended_since is not None:
            self.suspended_s += now - self.suspended_since
            self.suspended_since = None
        if self.running_since is not None:
            self._stop_clock(now)

    def _stop_clock(self, now: float) -> None:
        assert self.running_since is not None
        self.stretch(self, self.running_since, now)
        self.run_s += now - self.running_since
        self.running_since = None
