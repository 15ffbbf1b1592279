"""Runs of the lab that people start over HTTP: each in a process of its own, bounded in number, time and memory.

A run is kept in a file of the directory ``web/lab``, so that its address stays good after a restart; the oldest ones
go when there are too many.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final, Literal

from roost.api.people import Person, WebRole
from roost.api.problems import Problem
from roost.runtime.bus_settings import BusSettings
from roost.runtime.files.whole_files import write_whole
from roost.runtime.web_settings import WebSettings
from roost.wire.errors import WireError
from roost.wire.structs import Struct, read, replaced, whole_data_of

_log = logging.getLogger("roost.web")

#: Runs that are kept, in all and of one user.
KEPT_MAX: Final = 100
OWN_MAX: Final = 20
#: Characters of a trial policy.
POLICY_MAX: Final = 100_000
#: Bytes that a process may say in one line.
_LINE_MAX: Final = 16 << 20
#: Bytes of its last words that go into the log.
_WORDS: Final = 2_000

State = Literal["running", "done", "failed"]


class LabRun(Struct):
    """A comparison of the present policy with a trial on the pool's machines and jobs."""

    id: str
    #: The user that started it.
    user: str
    #: Epoch s.
    at: float
    state: State
    #: The trial policy, read after the present configuration.
    text: str
    weeks: int
    seeds: int
    owners: str
    #: Share that is done, 0 to 1.
    progress: float = 0.0
    #: How many are simulated; 0 while that is not known.
    machines: int = 0
    jobs: int = 0
    #: Epoch s; 0 while it runs.
    ended_at: float = 0.0
    #: Why it failed; "" otherwise.
    problem: str = ""
    #: The comparison, as `roost lab compare --json` gives it; None until it is done.
    result: dict[str, Any] | None = None


class LabRuns:
    """All runs of a server."""

    def __init__(self, place: Path, settings: WebSettings) -> None:
        self._place = place
        self._settings = settings
        self._runs: dict[str, LabRun] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._read()

    def _read(self) -> None:
        """What an earlier server left; a run that it could not end has failed."""
        for path in self._place.glob("*.json") if self._place.is_dir() else ():
            try:
                run = read(LabRun, json.loads(path.read_text()), "a lab run", strict=False)
            except (OSError, ValueError, WireError) as error:
                _log.warning("%s: this lab run cannot be read and is forgotten: %s", path, error)
                path.unlink(missing_ok=True)
                continue
            if run.state == "running":
                run = replaced(run, state="failed", problem="the web server was restarted", ended_at=time.time())
            self._runs[run.id] = run

    # -- what is asked -------------------------------------------------------------------------------

    def all(self) -> list[LabRun]:
        """All runs without their results, the last first."""
        with self._lock:
            found = sorted(self._runs.values(), key=lambda run: (-run.at, run.id))
        return [replaced(run, result=None) for run in found]

    def get(self, name: str) -> LabRun:
        """A run. Raises Problem."""
        with self._lock:
            found = self._runs.get(name)
        if found is None:
            raise Problem(404, f"there is no lab run {name}", remedy="the oldest ones are forgotten; start it again")
        return found

    def start(self, person: Person, asked: Any, bus: BusSettings, order: dict[str, Any]) -> LabRun:
        """Begin a run; `order` is what its process needs besides. Raises Problem."""
        run = LabRun(
            id=secrets.token_hex(8), user=person.name, at=time.time(), state="running", text=asked.text,
            weeks=asked.weeks, seeds=asked.seeds, owners=asked.owners,
        )  # fmt: skip
        whole = order | {
            "bus": bus._asdict(), "person": person.name, "now": run.at, "text": run.text, "weeks": run.weeks,
            "seeds": run.seeds, "owners": run.owners, "memory_mb": self._settings.lab_memory_mb,
            "time_s": self._settings.lab_s,
        }  # fmt: skip
        with self._lock:
            self._check(person)
            self._runs[run.id] = run
            try:
                process, words = _process()
            except OSError as error:
                del self._runs[run.id]
                raise Problem(503, f"the lab process cannot be started: {error.strerror}") from None
            self._processes[run.id] = process
            self._forget_old()
            self._keep(run)
        threading.Thread(target=self._follow, args=(run.id, process, words, whole), daemon=True).start()
        return run

    def _check(self, person: Person) -> None:
        running = [run for run in self._runs.values() if run.state == "running"]
        mine = next((run for run in running if run.user == person.name), None)
        if mine is not None:
            raise Problem(409, f"your lab run {mine.id} is still running", remedy="wait for it, or cancel it")
        if len(running) >= self._settings.lab_runs_max:
            raise Problem(
                503, f"{len(running)} lab runs are already running", remedy="try again later; see WEB_LAB_RUNS_MAX"
            )

    def remove(self, person: Person, name: str) -> None:
        """Cancel a run, and forget it. Raises Problem."""
        run = self.get(name)
        if run.user != person.name and person.role < WebRole.OPERATOR:
            raise Problem(403, f"lab run {name} is {run.user}'s", remedy="ask them, or an operator, to remove it")
        with self._lock:
            self._runs.pop(name, None)
            process = self._processes.get(name)
            (self._place / f"{name}.json").unlink(missing_ok=True)
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            processes = list(self._processes.values())
        for process in processes:
            process.kill()

    # -- processes -----------------------------------------------------------------------------------

    def _follow(self, name: str, process: subprocess.Popen[bytes], words: Any, order: dict[str, Any]) -> None:
        """Tell the process what to do, and take what it says until it ends."""
        late = threading.Timer(order["time_s"], process.kill)
        late.start()
        began = time.monotonic()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with contextlib.suppress(OSError):
                process.stdin.write(json.dumps(order).encode() + b"\n")
                process.stdin.flush()
            while line := process.stdout.readline(_LINE_MAX):
                self._take(name, line)
            status = process.wait()
        finally:
            late.cancel()
            process.kill()
            process.wait()
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            with self._lock:
                self._processes.pop(name, None)
        if self._is_running(name):
            is_late = time.monotonic() - began >= order["time_s"] or status == -24
            why = _why(status, order, is_late=is_late)
            self._change(name, state="failed", ended_at=time.time(), problem=why)
            words.seek(0, os.SEEK_END)
            words.seek(max(0, words.tell() - _WORDS))
            _log.warning("lab run %s ended with status %d: %s", name, status, words.read().decode("utf-8", "replace"))
        words.close()

    def _take(self, name: str, line: bytes) -> None:
        """A word of a process."""
        try:
            said = json.loads(line)
        except ValueError:
            return
        if "result" in said:
            self._change(name, state="done", progress=1.0, ended_at=time.time(), result=said["result"])
        elif "problem" in said:
            self._change(name, state="failed", ended_at=time.time(), problem=said["problem"])
        elif "found" in said:
            self._change(name, **said["found"])
        else:
            self._change(name, progress=said["progress"])

    def _is_running(self, name: str) -> bool:
        with self._lock:
            run = self._runs.get(name)
        return run is not None and run.state == "running"

    def _change(self, name: str, **fields: Any) -> None:
        """Replace a run that has not been removed; the end of a run is on disk before it is told."""
        with self._lock:
            run = self._runs.get(name)
            if run is None:
                return
            run = replaced(run, **fields)
            if run.state != "running":
                self._keep(run)
            self._runs[name] = run

    # -- files ---------------------------------------------------------------------------------------

    def _keep(self, run: LabRun) -> None:
        try:
            self._place.mkdir(mode=0o700, exist_ok=True)
            write_whole(self._place / f"{run.id}.json", json.dumps(whole_data_of(run)))
        except OSError as error:
            _log.warning("lab run %s cannot be kept: %s", run.id, error)

    def _forget_old(self) -> None:
        """Too many runs: the oldest that have ended go."""
        newest = sorted(self._runs.values(), key=lambda run: -run.at)
        counts: dict[str, int] = {}
        for number, run in enumerate(newest):
            counts[run.user] = counts.get(run.user, 0) + 1
            if (number >= KEPT_MAX or counts[run.user] > OWN_MAX) and run.id not in self._processes:
                del self._runs[run.id]
                (self._place / f"{run.id}.json").unlink(missing_ok=True)


def _process() -> tuple[subprocess.Popen[bytes], Any]:
    """A process that waits for its order, and the file of its last words. Raises OSError."""
    words = tempfile.TemporaryFile()  # noqa: SIM115 - the thread that follows the process closes it
    # One thread: what a library would start more of counts for the limit of memory.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "roost.api.lab_process"]
    return (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, env=environment, cwd="/",
            start_new_session=True,
        ),
        words,
    )  # fmt: skip


def _why(status: int, order: dict[str, Any], *, is_late: bool) -> str:
    """Why a process that said nothing has ended."""
    if is_late:
        return f"it took longer than {order['time_s']} s (WEB_LAB_TIME_MAX); simulate fewer weeks or seeds"
    if status < 0:
        return (
            f"its process was ended by signal {-status}; it may use {order['memory_mb']} MB of memory "
            "(WEB_LAB_MEMORY_MAX)"
        )
    return f"internal error (a bug in Roost): its process ended with status {status}; the log of `web` shows why"
