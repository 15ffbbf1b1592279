"""Runs scenarios in several processes at once.

    with WorkerPool(RunOptions(real=True, limit_s=600), 2) as workers:
        for outcome in workers.outcomes(scenarios, shown):
            …

Outcomes come in the order of the scenarios. No scenario can stop the others: one that does not end within its limit is
abandoned by its process (`roost.lab.replay.run`), and if that process does not respond, it is killed and replaced; a
process that dies is replaced, too. Each such scenario counts as failed, with what it was waiting for.

A caller that ends early, by an exception or a signal, ends all processes, and what these have started.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Final, cast

from roost.base.records import dataclass, field
from roost.lab.inputs.durations import shown
from roost.lab.machines import LabError
from roost.lab.scenario.outcome import NoReplay, Outcome, simulated, unfinished
from roost.lab.scenario.values import Scenario
from roost.runtime.machine import SystemHost

#: Grace period for a process to report that a scenario has exceeded its limit, and to end, s.
GRACE_S: Final = 30.0
#: How often progress is reported, s.
_LOOK_S: Final = 0.25
#: How long to wait for an unresponsive process to report its stack, s.
_WORDS_S: Final = 5.0
_WORDS_BYTES: Final = 65536
#: Lines of the stack that are reported.
_LINES: Final = 3
_LINE: Final = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How scenarios are run."""

    #: Whether scenarios also run on real daemons.
    real: bool
    #: Time limit of one scenario, s of real time.
    limit_s: float
    #: Columns of timelines.
    width: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a run."""

    done: int
    whole: int
    failed: int
    #: Running scenarios, and for how long they have been running, s.
    running: tuple[tuple[str, float], ...]


@dataclass(slots=True)
class _Answer:
    """A worker's answer about a scenario."""

    outcome: Outcome | None = None
    #: Why there is none and continuing is pointless: the text of a LabError or NoReplay.
    refused: str = ""
    no_replay: str = ""


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    line: Connection
    #: Connection on which it reports what it is doing, when requested by a signal.
    words: Connection
    #: Place of the scenario that it runs; None for none.
    at_work: int | None = None
    since: float = 0.0


class WorkerPool:
    """The processes. Use it with ``with``."""

    def __init__(self, options: RunOptions, size: int) -> None:
        self._options = options
        self._size = size
        self._workers: list[_Worker] = []

    def __enter__(self) -> WorkerPool:
        self._sweep()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def outcomes(self, scenarios: Sequence[Scenario], tell: Callable[[Progress], None]) -> Iterator[Outcome]:
        """The outcomes of scenarios, in order. Raises LabError, NoReplay."""
        work = _Work(scenarios)
        while work.told < len(scenarios):
            self._hand_out(work)
            lines = {worker.line: worker for worker in self._workers if worker.at_work is not None}
            for line in wait(lines, timeout=_LOOK_S):
                self._hear(lines[cast("Connection", line)], work)
            for worker in list(self._workers):
                if worker.at_work is not None and time.monotonic() - worker.since > self._options.limit_s + GRACE_S:
                    self._give_up(worker, work)
            tell(self._progress(work))
            yield from work.next()

    def _hand_out(self, work: _Work) -> None:
        for worker in self._workers:
            if worker.at_work is None and (place := work.take()) is not None:
                self._send(worker, place, work)
        while len(self._workers) < self._size and (place := work.take()) is not None:
            self._workers.append(worker := _begin(self._options))
            self._send(worker, place, work)

    def _send(self, worker: _Worker, place: int, work: _Work) -> None:
        worker.at_work, worker.since = place, time.monotonic()
        # A dead worker is detected when its answer is awaited.
        with contextlib.suppress(OSError):
            worker.line.send(work.scenarios[place])

    def _hear(self, worker: _Worker, work: _Work) -> None:
        place = worker.at_work
        assert place is not None
        try:
            answer: _Answer = worker.line.recv()
        except (EOFError, OSError):
            worker.process.join(GRACE_S)
            self._lose(worker)
            work.ended(place, _Answer(outcome=unfinished(work.scenarios[place], _ended(worker.process.exitcode))))
            return
        worker.at_work = None
        work.ended(place, answer)

    def _give_up(self, worker: _Worker, work: _Work) -> None:
        """Give up on a process that does not report that its scenario exceeded its limit."""
        assert worker.at_work is not None
        scenario, took_s = work.scenarios[worker.at_work], time.monotonic() - worker.since
        problem = (
            f"it has not finished after {shown(round(took_s))}, and its process does not respond: {_doing(worker)}"
        )
        work.ended(worker.at_work, _Answer(outcome=unfinished(scenario, problem)))
        self._lose(worker)

    def _lose(self, worker: _Worker) -> None:
        """Drop a process that can no longer be used."""
        self._workers.remove(worker)
        _kill(worker)
        self._sweep()

    def _sweep(self) -> None:
        """Remove what dead processes have left."""
        if self._options.real:
            from roost.lab.replay.leftovers import sweep

            sweep()

    def _progress(self, work: _Work) -> Progress:
        now = time.monotonic()
        running = [
            (work.scenarios[each.at_work].name, now - each.since) for each in self._workers if each.at_work is not None
        ]
        return Progress(done=work.done, whole=len(work.scenarios), failed=work.failed, running=tuple(running))

    def close(self) -> None:
        """End all processes, and what they have started."""
        workers, self._workers = self._workers, []
        try:
            for worker in workers:
                worker.process.terminate()
            until = time.monotonic() + GRACE_S
            for worker in workers:
                worker.process.join(max(0.0, until - time.monotonic()))
        finally:
            for worker in workers:
                _kill(worker)
            if workers:
                self._sweep()


@dataclass(slots=True)
class _Work:
    """Scenarios: those that no process has taken yet, and the outcomes of the others."""

    scenarios: Sequence[Scenario]
    #: How many were taken, have ended, have failed, and were returned in order.
    taken: int = 0
    done: int = 0
    failed: int = 0
    told: int = 0
    answers: dict[int, _Answer] = field(default_factory=dict)

    def take(self) -> int | None:
        """The next scenario to run."""
        if self.taken == len(self.scenarios):
            return None
        self.taken += 1
        return self.taken - 1

    def ended(self, place: int, answer: _Answer) -> None:
        """Record an answer."""
        self.answers[place] = answer
        self.done += 1
        self.failed += answer.outcome is None or not answer.outcome.passed

    def next(self) -> Iterator[Outcome]:
        """The next outcomes in order. Raises LabError, NoReplay."""
        while (answer := self.answers.pop(self.told, None)) is not None:
            self.told += 1
            if answer.no_replay:
                raise NoReplay(answer.no_replay)
            if answer.outcome is None:
                raise LabError(answer.refused)
            yield answer.outcome


def _begin(options: RunOptions) -> _Worker:
    """Start a new process, which inherits no state."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    words, said = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(theirs, said, options))
    process.start()
    said.close()
    theirs.close()
    return _Worker(process, ours, words)


def _kill(worker: _Worker) -> None:
    if worker.process.exitcode is None:
        worker.process.kill()
    worker.process.join()
    worker.line.close()
    worker.words.close()


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was killed by {signal.Signals(-code).name}"
    return f"its process exited with {code}"


def _doing(worker: _Worker) -> str:
    """What an unresponsive process is doing: its innermost lines of Roost's code."""
    if worker.process.pid is not None:
        os.kill(worker.process.pid, signal.SIGUSR1)
    told = os.read(worker.words.fileno(), _WORDS_BYTES) if worker.words.poll(_WORDS_S) else b""
    root = f"{Path(__file__).parents[3]}{os.sep}"
    found = [
        f"{name.removeprefix(root)}:{line} ({function})"
        for name, line, function in _LINE.findall(told.decode(errors="replace"))
        if name.startswith(root)
    ]
    return "it is at " + ", called at ".join(found[:_LINES]) if found else "its state is unknown"


# -- in the process ----------------------------------------------------------------------------------------


class _Ended(KeyboardInterrupt):
    """This process was told to end; event loops do not catch this exception."""


def _end(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Ended


def _serve(line: Connection, words: Connection, options: RunOptions) -> None:
    """Run scenarios from the connection until it is closed."""
    # Ctrl-C reaches all processes of the terminal; the parent decides when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    faulthandler.register(signal.SIGUSR1, words.fileno(), all_threads=False)
    with contextlib.suppress(_Ended, EOFError, OSError):
        if options.real:
            _serve_both(line, options)
        else:
            host = SystemHost()
            while True:
                line.send(_answered(lambda scenario: simulated(scenario, host, options.width), line.recv()))


def _serve_both(line: Connection, options: RunOptions) -> None:
    from roost.lab.replay.worlds import BothWorlds

    try:
        worlds = BothWorlds(SystemHost(), options.limit_s)
    except NoReplay as problem:
        line.recv()
        line.send(_Answer(no_replay=str(problem)))
        return
    with worlds:
        while True:
            line.send(_answered(lambda scenario: worlds.run(scenario, options.width), line.recv()))


def _answered(run: Callable[[Scenario], Outcome], scenario: Scenario) -> _Answer:
    try:
        return _Answer(outcome=run(scenario))
    except LabError as error:
        return _Answer(refused=str(error))
    except NoReplay as problem:
        return _Answer(no_replay=str(problem))
    except Exception as error:
        # An internal error fails one scenario, and reports its place.
        return _Answer(outcome=unfinished(scenario, f"internal error: {error!r} {_place(error)}"))


def _place(error: BaseException) -> str:
    last: Any = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return "" if last is None else f"at {last.tb_frame.f_code.co_filename}:{last.tb_lineno}"


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE_S)
        os._exit(1)


__all__ = ["Progress", "RunOptions", "WorkerPool"]
