"""The jobs of a replay: real processes, each paired with a simulated process that determines when it ends.

A stand-in (`stand_in`) reports the signals that it receives, and halts when it is stopped; the effect on its job
(`sim.process`) is the same as in the simulation. When the job's time is up, the stand-in is told to end like the job.
So whatever daemons do to a job, they do to a real process.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from signal import Signals
from typing import Any, Final

from roost.base.records import replace
from roost.classad import ClassAd
from roost.classad.forms import Form, format_ad
from roost.lab.replay import stand_in
from roost.lab.replay.driven_loop import DrivenClock
from roost.model.cell_requests import DIRECT, NAME
from roost.model.starter import Usage
from roost.runtime.processes.family import Family
from roost.runtime.processes.spawn_order import SpawnOrder
from roost.sim.inputs.workload import Job
from roost.sim.machine.fetched import WorkSource
from roost.sim.machine.process import End, Process
from roost.sim.machine.scripts import Script, Scripts
from roost.starter.scripts import expanded

PROGRAM: Final = Path(stand_in.__file__)
#: Jobs that end within this time end at one instant, s.
TOGETHER_S: Final = 0.001
#: What a program of a cell reports about its environment, in this order.
_TOLD: Final = ("host", "queue", "job_id", "ja_task_id", "job_owner")


class _Engine:
    """The scheduler of simulated processes: events within a millisecond happen at once, as intended."""

    def __init__(self, jobs: StandIns) -> None:
        self._jobs = jobs

    @property
    def now(self) -> float:
        return self._jobs.clock.now()

    def at(self, time: float, due: Callable[[float], None]) -> None:
        if time < math.inf:
            # A time in whole milliseconds is not moved, so that other events of that time, such as a poll, keep their
            # order.
            instant = max(time, math.ceil(time / TOGETHER_S) * TOGETHER_S)
            asyncio.get_running_loop().call_at(self._jobs.clock.at(instant), lambda: due(self.now))


class StandIn:
    """A process and the job that it represents."""

    def __init__(self, pid: int, process: Process, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.process = process
        self._writer = writer
        #: Whether it has been told to end or is gone.
        self.ending = False
        self.dead = asyncio.Event()
        self._asked = 0
        self._here: asyncio.Future[None] | None = None

    def say(self, text: str) -> None:
        """Send a message to the process."""
        if not self._writer.is_closing():
            self._writer.write(text.encode() + b"\n")

    async def where(self) -> None:
        """Wait until it has reported everything."""
        self._asked += 1
        self._here = asyncio.get_running_loop().create_future()
        self.say(f"where {self._asked}")
        await self._here

    def answered(self, number: int) -> None:
        """It has replied."""
        if number == self._asked:
            self.silent()

    def silent(self) -> None:
        """No reply is awaited any longer."""
        if self._here is not None and not self._here.done():
            self._here.set_result(None)


class StandIns:
    """The processes of all jobs of a scenario."""

    def __init__(
        self, path: Path, clock: DrivenClock, jobs: list[Job], fetched: list[Job], scripts: Mapping[str, Script]
    ) -> None:
        self.path = path
        #: It is replaced when simulated time starts.
        self.clock = clock
        self.jobs = {job.name: job for job in (*jobs, *fetched)}
        self.source = WorkSource(fetched)
        self._engine = _Engine(self)
        #: Saved work of each job, which need not be repeated, s.
        self.done_s = dict.fromkeys(self.jobs, 0.0)
        self.exits: Counter[str] = Counter()
        self.by_pid: dict[int, StandIn] = {}
        #: Scripts around jobs, followed by the scripts of each DAG.
        self._books = [Scripts(scripts)]
        #: Processes of scripts whose time is not over.
        self._at_work: set[int] = set()
        #: Whether the signal that a process gets tells it to end.
        self.is_to_end: Callable[[int], bool] = lambda pid: True
        #: Messages from processes so far.
        self.heard = 0
        self._server: asyncio.Server | None = None
        #: Carries out `qconf` as a user, if the pool has a cell; returns its exit status and output.
        self.qconf: Callable[[str, str], Awaitable[tuple[int, str]]] | None = None
        self._edits: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Start listening."""
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def close(self) -> None:
        """Stop listening, and end the remaining jobs."""
        if self._server is not None:
            self._server.close()
        for each in self.by_pid.values():
            each.ending = True
            each.dead.set()
            each.process.vanish(self.clock.now())
            each._writer.close()

    def program(self, name: str) -> dict[str, Any]:
        """The attributes of a job that make it run a stand-in."""
        return {
            "Cmd": sys.executable,
            "Arguments": f"-I -S {PROGRAM} {self.path} {name}",
            "Iwd": "/",
            "TransferExecutable": False,
        }

    def hook(self, path: Path) -> Path:
        """Create a FETCH_WORK hook."""
        path.write_text(
            f"#!{sys.executable} -IS\nimport socket, sys\n"
            f"line = socket.socket(socket.AF_UNIX)\nline.connect({str(self.path)!r})\nline.sendall(b'fetch\\n')\n"
            "while piece := line.recv(65536):\n    sys.stdout.buffer.write(piece)\n"
        )
        path.chmod(0o700)
        return path

    def reply_hook(self, path: Path) -> Path:
        """Create a hook that is notified about fetched work."""
        path.write_text(
            f"#!{sys.executable} -IS\nimport socket, sys\n"
            f"line = socket.socket(socket.AF_UNIX)\nline.connect({str(self.path)!r})\n"
            "ad = sys.stdin.read().split('-----')[0]\n"
            "number = [x.split('=')[1].strip() for x in ad.splitlines() if x.lower().startswith('clusterid')][0]\n"
            "word = (sys.argv[1:] or ['evict'])[0]\nline.sendall(f'{word} {number}\\n'.encode())\nline.recv(1)\n"
        )
        path.chmod(0o700)
        return path

    @property
    def next_number(self) -> int:
        """The number of the next submission."""
        return 1 + max((int(name.partition(".")[0]) for name in self.jobs), default=0)

    def add(self, jobs: Iterable[Job]) -> None:
        """Add jobs that will be submitted."""
        for job in jobs:
            self.jobs[job.name] = job
            self.done_s[job.name] = 0.0

    def book(self, scripts: Mapping[str, Script]) -> int:
        """Register the scripts of a DAG, and return the number by which `script` identifies them."""
        self._books.append(Scripts(scripts))
        return len(self._books) - 1

    def script(self, path: Path, name: str = "", book: int = 0) -> Path:
        """Create a script around a job, or of a DAG, that behaves as the scenario says for the program `name`, by
        default the file's name.
        """
        path.write_text(
            f"#!{sys.executable} -IS\nimport os, socket, sys\n"
            f"line = socket.socket(socket.AF_UNIX)\nline.connect({str(self.path)!r})\n"
            f"line.sendall(f'script {{os.getpid()}} {book} {name or path.name}\\n'.encode())\nanswer = b''\n"
            "while piece := line.recv(65536):\n    answer += piece\n"
            "status, _, text = answer.decode().partition('\\n')\nprint(text, end='', flush=True)\n"
            "sys.exit(int(status or 1))\n"
        )
        path.chmod(0o700)
        return path

    # -- processes -------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine: StandIn | None = None
        while line := await _line(reader):
            word, *rest = line.decode().split()
            if word == "here" and mine is not None:
                mine.answered(int(rest[0]))
                continue
            self.heard += 1
            if word == "begun":
                mine = self._begun(int(rest[0]), rest[1], writer)
            elif word == "signal" and mine is not None:
                # A process that replies is no longer suspended.
                mine.process.resume(self.clock.now())
                self._signalled(mine, Signals(int(rest[0])).name)
            elif word == "fetch":
                await self._fetch(writer)
            elif word == "script":
                self._script(int(rest[0]), self._books[int(rest[1])].run(" ".join(rest[2:])), writer)
            elif word == "program":
                values = dict(zip(_TOLD, rest[3:], strict=False))
                self._script(int(rest[0]), self._books[0].run(rest[1]), writer, user=rest[2], values=values)
            elif word in ("accept", "reject", "evict"):
                self.source.replied(self.jobs[f"{rest[0]}.0"].ad, word == "accept")
                writer.close()
        if mine is not None:
            self._gone(mine)

    def _begun(self, pid: int, name: str, writer: asyncio.StreamWriter) -> StandIn:
        job = self.jobs[name]
        found: list[StandIn] = []
        if name in self.source:
            self.source.lookup(job.ad)

        def ended(code: int | None, signal: int | None, now: float) -> None:
            mine = found[0]
            mine.process.gone(now, code)
            mine.ending = True
            mine.dead.set()
            mine.say(f"die {signal}" if code is None else f"exit {code}")

        process = Process(self._engine, job.again(self.exits[name]), self.done_s[name], ended, lambda *_: None)  # type: ignore[arg-type]
        mine = self.by_pid[pid] = StandIn(pid, process, writer)
        found.append(mine)
        process.start(self.clock.now())
        return mine

    def _signalled(self, mine: StandIn, name: str) -> None:
        """A signal has reached a job: one that need not end is asked to save its work."""
        if self.is_to_end(mine.pid):
            mine.process.signal(name, self.clock.now())
        else:
            mine.process.save(self.clock.now())

    def _gone(self, mine: StandIn) -> None:
        mine.silent()
        mine.dead.set()
        self.heard += 1
        if not mine.ending:
            mine.ending = True
            mine.process.vanish(self.clock.now())
        process = mine.process
        name = process.job.name
        completed = process.code is not None
        kept_s = 0.0 if completed else process.saved_s
        if name not in self.source:
            # A program that exited by itself starts over if it is started again.
            self.done_s[name] = 0.0 if completed else self.done_s[name] + kept_s
            self.exits[name] += completed
            return
        self.source.ended(
            name,
            End(
                outcome="completed" if completed else "evicted",
                run_s=process.run_s, suspended_s=process.suspended_s, kept_s=kept_s, cause=None, hard=False,
            ),
        )  # fmt: skip

    def _script(
        self,
        pid: int,
        begun: tuple[Script, int],
        writer: asyncio.StreamWriter,
        user: str = "",
        values: Mapping[str, str] | None = None,
    ) -> None:
        script, status = begun
        self._at_work.add(pid)

        async def edit() -> None:
            assert self.qconf is not None
            ended = [(await self.qconf(_expanded(line, values or {}), user))[0] for line in script.qconf]
            self._at_work.discard(pid)
            self.heard += 1
            if not writer.is_closing():
                writer.write(f"{ended[-1] if script.passes_on else status}".encode())
                writer.close()

        def end(_: float) -> None:
            if script.qconf:
                self._edits.add(task := asyncio.get_running_loop().create_task(edit()))
                task.add_done_callback(self._edits.discard)
                return
            self._at_work.discard(pid)
            self.heard += 1
            if not writer.is_closing():
                text = "" if script.prints is None else format_ad(script.prints, Form.OLD)
                writer.write(f"{status}\n{text}".encode())
                writer.close()

        self._engine.at(self.clock.now() + script.takes_s, end)

    def waits(self, family: Family) -> bool:
        """Whether a program is a script whose time is not over."""
        return self.works(family.pid)

    def works(self, pid: int) -> bool:
        """Whether a process is a script whose time is not over."""
        return pid in self._at_work

    async def _fetch(self, writer: asyncio.StreamWriter) -> None:
        ad = self.source.fetch(self.clock.now())
        if ad is not None:
            told = ad.copy()
            for name, value in self.program(f"{ad['ClusterId']}.{ad['ProcId']}").items():
                told[name] = value
            writer.write(format_ad(told, Form.OLD).encode())
            await writer.drain()
        writer.close()

    async def die(self, family: Family) -> None:
        """A job is being killed: wait for as long as its death takes."""
        found = self.by_pid.get(family.pid)
        if found is not None and found.process.here:
            found.process.kill(self.clock.now())
            await found.dead.wait()

    # -- answers to daemons -------------------------------------------------------------------------

    def usage(self, family: Family) -> Usage | None:
        """The usage of a job; None for a process without one."""
        found = self.by_pid.get(family.pid)
        return None if found is None or not found.process.here else found.process.usage(self.clock.now())

    def runs(self, family: Family | None) -> bool:
        """Whether a job is running and not stopped."""
        found = None if family is None else self.by_pid.get(family.pid)
        return found is not None and found.process.running_since is not None

    def look(self, family: Family) -> bool:
        """Check whether a job is stopped; returns whether it can reply."""
        found = self.by_pid.get(family.pid)
        if found is None or found.ending:
            return False
        still, now = family.stands_still(), self.clock.now()
        if still:
            found.process.suspend(now)
        else:
            found.process.resume(now)
        return not still

    async def ask(self, family: Family) -> None:
        """Wait until a job has reported everything."""
        await self.by_pid[family.pid].where()

    def ends(self, family: Family | None) -> bool:
        """Whether a job has been told to end, or is gone."""
        found = None if family is None else self.by_pid.get(family.pid)
        return found is not None and found.ending

    def under_way(self, family: Family) -> str:
        """What is known to be in progress for a job; "" for nothing."""
        if family.is_ended:
            return ""
        found = self.by_pid.get(family.pid)
        if found is None:
            return f"the beginning of {family.key}"
        return f"the end of {family.key}" if found.ending else ""


def _expanded(line: str, values: Mapping[str, str]) -> str:
    return " ".join(expanded(tuple(line.split()), values))


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next message of a process; empty from a dead one."""
    try:
        return await reader.readline()
    except ConnectionError:
        return b""


def stand_in_for(order: SpawnOrder) -> SpawnOrder:
    """The order with the stand-in as its program, whatever program the job names."""
    if str(PROGRAM) not in order.arguments[:4]:
        return order
    return replace(order, program=Path(sys.executable), arguments=(sys.executable, *order.arguments[1:]))


def ad_of(job: Job, stand_ins: StandIns) -> ClassAd:
    """A job's ad as its queue gets it. A program that the scenario names stays visible to policy."""
    ad = job.ad.copy()
    for name, value in stand_ins.program(job.name).items():
        if name != "Cmd" or "Cmd" not in ad:
            ad[name] = value
    if NAME in ad:
        # Otherwise a job of `qsub` is a command line for a shell.
        ad[DIRECT] = True
    return ad
