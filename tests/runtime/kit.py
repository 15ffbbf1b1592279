"""A node without a node: a fork server, jobs that are small scripts, and ways to wait for what they do."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from roost.runtime.processes.family import Family
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.shepherd.processes import MARK, everybody
from roost.runtime.processes.shepherd.system import read_kernel_file
from roost.runtime.processes.spawn_order import NotStarted, SpawnOrder

#: What a test may take at most, s.
PATIENCE_S = 120.0

T = TypeVar("T")

#: Jobs that tests have started and still know.
_FAMILIES: WeakSet[Family] = WeakSet()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a test that waits."""

    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE_S):
            return await work

    return asyncio.run(bounded())


class Place:
    """A directory for one test, and names that no other test has."""

    def __init__(self, path: Path, *, groups: bool = True) -> None:
        self.path = path
        self.groups = groups
        self.prefix = f"test-{uuid.uuid4().hex[:12]}"
        self.jobs = path / "jobs"
        self.jobs.mkdir()

    @asynccontextmanager
    async def fork_server(self) -> AsyncIterator[ForkServer]:
        """A fork server that is closed in the end."""
        fork_server = await ForkServer.start(self.path / "nursery", use_groups=self.groups)
        try:
            yield fork_server
        except BaseException:
            # What a failed test leaves open would be another test's failure.
            for family in _FAMILIES:
                family.forget()
            raise
        finally:
            await fork_server.close()

    def key(self, name: str) -> str:
        """The key of a run."""
        return f"{self.prefix}.{name}"

    def order(self, name: str, program: str | Path, *arguments: str, **settings: Any) -> SpawnOrder:
        """An order for a program."""
        settings.setdefault("directory", self.path)
        settings.setdefault("environment", {"PATH": "/usr/local/bin:/usr/bin:/bin"})
        return SpawnOrder(
            key=self.key(name),
            record=self.jobs / name,
            program=Path(program),
            arguments=(str(program), *arguments),
            **settings,
        )

    def shell(self, name: str, script: str, **settings: Any) -> SpawnOrder:
        """An order for a shell script."""
        return self.order(name, "/bin/sh", "-c", script, **settings)

    def python(self, name: str, script: str, *arguments: str, **settings: Any) -> SpawnOrder:
        """An order for a Python script."""
        return self.order(name, sys.executable, "-I", "-S", "-c", script, *arguments, **settings)

    def left(self) -> list[int]:
        """Processes of the test's jobs that are still there."""
        mark = b"\0" + MARK + b"=" + self.prefix.encode()
        found = []
        for pid, seen in everybody().items():
            environment = b"\0" + read_kernel_file(f"/proc/{pid}/environ")
            if mark in environment and not seen.is_dead:
                found.append(pid)
        return found


async def started(fork_server: ForkServer, order: SpawnOrder) -> Family:
    """A job whose program runs."""
    family = await fork_server.spawn(order)
    assert isinstance(family, Family), family
    _FAMILIES.add(family)
    return family


async def not_started(fork_server: ForkServer, order: SpawnOrder) -> NotStarted:
    """A job whose program cannot run."""
    failure = await fork_server.spawn(order)
    assert isinstance(failure, NotStarted), failure
    return failure


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for something that nobody tells."""
    while not condition():
        await asyncio.sleep(0.005)


class Beacon:
    """A pipe through which jobs tell how far they are, a line a time."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o666)
        path.chmod(0o666)
        self.path = path
        # Open for writing too, so that it never ends.
        self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._lines: list[str] = []
        self._rest = b""

    async def line(self) -> str:
        """The next line."""
        loop = asyncio.get_running_loop()
        while not self._lines:
            ready = loop.create_future()
            loop.add_reader(self._file, ready.set_result, None)
            try:
                await ready
            finally:
                loop.remove_reader(self._file)
            *lines, self._rest = (self._rest + os.read(self._file, 65536)).split(b"\n")
            self._lines += [each.decode() for each in lines]
        return self._lines.pop(0)

    async def lines(self, count: int) -> list[str]:
        """The next lines."""
        return [await self.line() for _ in range(count)]

    def close(self) -> None:
        """Nobody listens any more."""
        os.close(self._file)
