"""Load sensors of a Grid Engine cell: programs that the cell's configuration names for this machine.

A sensor is started once. At each interval it gets an empty line, and answers with a block: ``begin``, lines
``host:name:value`` for this host or for ``global``, and ``end``. A sensor that exits is restarted at the next interval,
and so is one whose file has changed. A sensor that does not answer within `HANGS_S` is killed, its values are
forgotten, and it is restarted.

If the daemon runs as root, sensors run as the account STARTD_LOAD_SENSOR_USER: the cell's managers choose the program,
and the machine's owner chooses the account. Each goes through the fork server, so that nothing of it is left when the
daemon is killed; its input is then closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from roost.classad import ClassAd
from roost.model.cell_requests import GLOBAL_LOADS, LOAD_SENSORS, LOADS
from roost.node.cron import CronAd
from roost.runtime.processes.accounts import Account, NoSuchAccount, account_named, can_switch_user, own_account
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.hook_programs import HookCall, HookFailed, run_hook

_log = logging.getLogger("roost.node")

#: How long a sensor may take to answer, s.
HANGS_S: Final = 120.0
#: Minimum interval between two requests, s.
_INTERVAL_S_MIN: Final = 1.0
#: Maximum number of values of one sensor, and maximum length of one line, characters.
VALUES_MAX: Final = 1000
LINE_CHARS_MAX: Final = 4096
_NAME: Final = re.compile(r"[^\s,=:]{1,512}\Z")


class SensorText:
    """Parses the output of one sensor, block by block."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._rest = b""
        self._block: dict[tuple[str, str], str] | None = None
        #: (host, name) to value, as of the last complete block.
        self.values: dict[tuple[str, str], str] = {}
        self.blocks = 0

    def take(self, data: bytes) -> None:
        """Parse more of it. Raises ValueError if it is too much."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_CHARS_MAX:
            raise ValueError(f"printed a line of more than {LINE_CHARS_MAX} characters")
        for line in lines:
            self._line(line[:LINE_CHARS_MAX].decode("utf-8", "replace").strip())

    def _line(self, line: str) -> None:
        if line == "begin":
            self._block = {}
        elif line == "end" and self._block is not None:
            self.values, self._block = self._block, None
            self.blocks += 1
        elif self._block is not None:
            host, _, rest = line.partition(":")
            name, colon, value = rest.partition(":")
            if not colon or not _NAME.match(name) or "," in value:
                _log.error('format error from loadsensor "%s". Received: "%s"', self._path, line)
            elif len(self._block) < VALUES_MAX:
                self._block[host, name] = value
            else:
                raise ValueError(f"printed more than {VALUES_MAX} values")


class LoadSensors:
    """The load sensors of this machine."""

    def __init__(
        self,
        execute: Path,
        fork_server: Callable[[], ForkServer],
        spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
        user: Callable[[], str],
        admit: Callable[[Path], None],
        changed: Callable[[], None],
    ) -> None:
        """`user` is STARTD_LOAD_SENSOR_USER; `admit` gives other accounts access to a directory.

        `changed` is called when values change.
        """
        self._execute, self._fork_server, self._spawn = execute, fork_server, spawn
        self._user, self._admit, self._changed = user, admit, changed
        #: The current order, as in the ads of slots: interval, host and programs.
        self._order = ""
        self._host, self._interval_s = "", 40.0
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._texts: dict[str, SensorText] = {}
        self._calls = 0

    @property
    def ads(self) -> tuple[CronAd, ...]:
        """The ads that slots publish of it."""
        if not self._order:
            return ()
        attributes = ClassAd({LOAD_SENSORS: self._order})
        for attribute, is_global in ((LOADS, False), (GLOBAL_LOADS, True)):
            if text := self._values(is_global=is_global):
                attributes[attribute] = text
        return (CronAd(job="load_sensor", tag="", attributes=attributes),)

    def _values(self, *, is_global: bool) -> str:
        found: dict[str, str] = {}
        for text in self._texts.values():
            for (host, name), value in text.values.items():
                if (host == "global") if is_global else _is_same(host, self._host):
                    found[name] = value
        return ",".join(f"{name}={value}" for name, value in found.items())

    def configure(self, order: str) -> None:
        """Apply another order: ``interval host program,program``; "" for no sensors."""
        if order == self._order:
            return
        self._order = order
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._texts.clear()
        if order:
            interval, self._host, programs = order.split(" ", 2)
            self._interval_s = max(_INTERVAL_S_MIN, float(interval))
            for path in dict.fromkeys(programs.split(",")):
                self._tasks[path] = self._spawn(self._life(path))
        self._changed()

    async def _life(self, path: str) -> None:
        """Run a sensor, over and over."""
        while True:
            try:
                await self._run(path)
            except NoSuchAccount as problem:
                _log.error("load sensor %s was not started: STARTD_LOAD_SENSOR_USER: %s", path, problem)
            except OSError as problem:
                _log.error("load sensor %s was not started: %s", path, problem)
            await asyncio.sleep(self._interval_s)

    def _account(self) -> Account | None:
        if not can_switch_user():
            return None
        user = self._user() or "nobody"
        return None if user == own_account().name else account_named(user)

    async def _run(self, path: str) -> None:
        """Run a sensor until it exits, hangs, or its file changes."""
        text, account = SensorText(path), self._account()
        if account is not None:
            self._admit(self._execute)
        self._calls += 1
        feeds: list[int] = []

        def heard(data: bytes) -> None:
            before = text.blocks
            text.take(data)
            if text.blocks != before:
                self._texts[path] = text
                self._changed()

        call = HookCall(
            key=f"load_sensor{os.getpid()}.{self._calls}",
            path=Path(path),
            environment={"PATH": os.defpath, "HOME": "/" if account is None else str(account.home)},
            account=account,
            heard=heard,
            feeds=feeds.append,
        )
        run = asyncio.ensure_future(run_hook(self._fork_server(), self._execute, call))
        try:
            await self._ask(path, text, run, feeds)
        finally:
            run.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([run])

    async def _ask(self, path: str, text: SensorText, run: asyncio.Future[Any], feeds: list[int]) -> None:
        loop = asyncio.get_running_loop()
        changed_at, asked, asked_at = _changed_at(path), 0, loop.time()
        while True:
            if feeds and not run.done() and text.blocks >= asked:
                with contextlib.suppress(OSError):
                    os.write(feeds[0], b"\n")
                asked, asked_at = text.blocks + 1, loop.time()
            await asyncio.wait([run], timeout=self._interval_s)
            if run.done():
                result = run.result()
                how = result.text if isinstance(result, HookFailed) else f"it exited with status {result.status}"
                _log.warning("load sensor %s: %s; restarting it", path, how)
                return
            if loop.time() - asked_at > HANGS_S:
                _log.error("load sensor %s did not answer for %g s; killing and restarting it", path, HANGS_S)
                self._texts.pop(path, None)
                self._changed()
                return
            if _changed_at(path) != changed_at:
                _log.info("load sensor %s has changed; restarting it", path)
                return


def _is_same(one: str, other: str) -> bool:
    """Whether two names refer to one host: in any case, and with or without domain."""
    one, other = one.casefold(), other.casefold()
    return one == other or one.partition(".")[0] == other.partition(".")[0]


def _changed_at(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return 0.0
