"""The verifier of a queue: a program of `jsv_url`, started with the first submission and kept.

It processes one submission at a time. It is restarted if the URL or the file has changed, if it has exited, and once if
it does not answer in time or violates the protocol; if it fails again, the submission is refused. Its child processes
are ended with it, and those left by a killed queue are ended by the next one.

It runs as the queue's account. A queue that runs as root runs it as `nobody`, or as the user that the URL names
(``user@path``) if SCHEDD_JSV_USERS has that account.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from roost.gridengine.jsv.protocol import LINE_BYTES_MAX, Broken, Conversation, Verdict
from roost.gridengine.jsv.url import BadUrl, Settings, read_url
from roost.runtime.processes.accounts import Account, NoSuchAccount, account_named, own_account
from roost.runtime.processes.hook_programs import refusal
from roost.runtime.processes.shepherd.processes import start_of

_log = logging.getLogger("roost.schedd.jsv")

#: Maximum number of submissions that wait for the verifier.
WAITING_MAX: Final = 200
#: How much of a line that a verifier writes to standard error is kept, bytes.
_ERROR_BYTES_MAX: Final = 1000
#: Maximum number of logged lines of standard error per process.
_ERROR_LINES_MAX: Final = 1000
#: How long a verifier may take to exit after QUIT, s.
_QUIT_S: Final = 1.0
_NOBODY: Final = "nobody"
_LEVELS: Final = {"INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}


class VerifierFailed(Exception):
    """There is no verdict; the text says why."""


class Verifier:
    """The program."""

    def __init__(self, run: Path) -> None:
        """`run`: the directory for data about its processes."""
        self._record = run / "jsv.process"
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._process: asyncio.subprocess.Process | None = None
        self._errors: asyncio.Task[None] | None = None
        #: The source of the running process: URL, and the file's time and inode number.
        self._mark: tuple[Any, ...] = ()

    async def verdict(
        self,
        settings: Settings,
        users: Sequence[str],
        parameters: Sequence[tuple[str, str]],
        environment: Mapping[str, str],
    ) -> Verdict:
        """Its verdict on a job; `users`: accounts as which it may run. Raises VerifierFailed."""
        if self._waiting >= WAITING_MAX:
            raise VerifierFailed(f"{WAITING_MAX} submissions already wait for the JSV; try again later")
        self._waiting += 1
        try:
            async with self._lock:
                began = time.monotonic()
                found = await self._twice(settings, users, parameters, environment)
                took_ms = (time.monotonic() - began) * 1000
                if took_ms > settings.threshold_ms:
                    _log.info("the JSV took %.0f ms for a job of %s", took_ms, dict(parameters).get("USER"))
        finally:
            self._waiting -= 1
        for level, text in found.messages:
            _log.log(_LEVELS[level], "JSV: %s", text)
        return found

    async def _twice(
        self,
        settings: Settings,
        users: Sequence[str],
        parameters: Sequence[tuple[str, str]],
        environment: Mapping[str, str],
    ) -> Verdict:
        for is_last in (False, True):
            conversation = Conversation(parameters, environment)
            try:
                await self._ready(settings, users)
                async with asyncio.timeout(settings.timeout_s):
                    await self._talk(conversation)
                return conversation.verdict
            except TimeoutError:
                problem = f'JSV "{settings.url}" has not decided within {settings.timeout_s:g} s'
            except Broken as broken:
                await self.end()
                raise VerifierFailed(str(broken)) from None
            except (OSError, EOFError) as error:
                why = error.strerror if isinstance(error, OSError) else "it ended"
                problem = f'got no response from JSV "{settings.url}": {why}'
            except BaseException:
                # It is in the middle of a conversation.
                await self.end()
                raise
            await self.end()
            _log.warning("%s%s", problem, "" if is_last else "; restarting it")
        raise VerifierFailed(problem)

    async def _talk(self, conversation: Conversation) -> None:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        lines = conversation.begin()
        while True:
            if lines:
                process.stdin.write("".join(f"{line}\n" for line in lines).encode())
                await process.stdin.drain()
            try:
                line = await process.stdout.readline()
            except ValueError:
                raise Broken(f"the JSV has sent a line of more than {LINE_BYTES_MAX} bytes") from None
            if not line.endswith(b"\n"):
                raise EOFError
            lines = conversation.heard(line.decode("utf-8", "replace"))
            if conversation.is_over:
                return

    # -- the process -----------------------------------------------------------------------------------------------

    async def _ready(self, settings: Settings, users: Sequence[str]) -> None:
        """Make sure that it runs. Raises VerifierFailed and OSError."""
        assert settings.url is not None
        try:
            url = read_url(settings.url)
            account = await asyncio.to_thread(_account, url.user, users)
        except (BadUrl, NoSuchAccount) as problem:
            raise VerifierFailed(str(problem)) from None
        path = Path(url.path)
        if why := await asyncio.to_thread(refusal, path):
            raise VerifierFailed(f'JSV "{url.path}" is either not a file or not executable: {why}')
        found = path.stat()
        mark = (settings.url, account.name if account else "", found.st_mtime_ns, found.st_ino, found.st_size)
        if self._process is not None and self._process.returncode is None and mark == self._mark:
            return
        await self.end()
        self._end_leftover()
        await self._start(path, account)
        self._mark = mark

    async def _start(self, path: Path, account: Account | None) -> None:
        options: dict[str, Any] = {}
        if account is not None:
            options = {"user": account.uid, "group": account.gid, "extra_groups": list(account.groups)}
        names = ("PATH", "LANG", "LC_ALL", "TZ", "SGE_ROOT", "SGE_CELL", "ROOST_TEST_POOL")
        environment = {name: os.environ[name] for name in names if name in os.environ}
        self._process = process = await asyncio.create_subprocess_exec(
            path,
            cwd="/",
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE_BYTES_MAX,
            start_new_session=True,
            **options,
        )
        with contextlib.suppress(OSError):
            self._record.write_text(f"{process.pid} {start_of(process.pid)}\n")
        assert process.stderr is not None
        self._errors = asyncio.create_task(_log_errors(process.stderr))
        _log.info("JSV %s has been started%s", path, f" as {account.name}" if account else "")

    async def close(self) -> None:
        """End it once it has no pending request."""
        if self._process is not None:
            async with self._lock:
                await self.end()

    async def end(self) -> None:
        """End it now."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.write(b"QUIT\n")
            process.stdin.close()
        await _ended(process)
        with contextlib.suppress(OSError):
            # Whatever it has started ends with it.
            os.killpg(process.pid, signal.SIGKILL)
        await _ended(process)
        if process.stdin is not None:
            # Python 3.11 logs what could not be written unless the exception is retrieved.
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_QUIT_S):
                    await process.stdin.wait_closed()
        if self._errors is not None:
            self._errors.cancel()
        self._record.unlink(missing_ok=True)

    def _end_leftover(self) -> None:
        """End the program of a killed queue."""
        try:
            pid, started = self._record.read_text().split()
        except (OSError, ValueError):
            return
        if pid.isdecimal() and started.isdecimal() and start_of(int(pid)) == int(started) > 0:
            with contextlib.suppress(OSError):
                os.killpg(int(pid), signal.SIGKILL)
        self._record.unlink(missing_ok=True)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait a moment for the end of a process; its remaining output is read, because its end is noticed only then."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_QUIT_S):
            while await process.stdout.read(LINE_BYTES_MAX):
                pass
            await process.wait()


def _account(user: str, users: Sequence[str]) -> Account | None:
    """The account as which a verifier runs; None for that of the queue. Raises NoSuchAccount, VerifierFailed."""
    own = own_account()
    if not own.is_root:
        if user not in ("", own.name):
            raise VerifierFailed(f"the JSV cannot run as {user}: the queue runs as {own.name}, and not as root")
        return None
    if user and user not in users:
        raise VerifierFailed(f"the JSV cannot run as {user}: that account is not in SCHEDD_JSV_USERS")
    return account_named(user or _NOBODY)


async def _log_errors(stream: asyncio.StreamReader) -> None:
    """Log what a verifier writes to standard error, in pieces, so that none fills the memory."""
    lines = 0
    while piece := await stream.read(_ERROR_BYTES_MAX):
        for line in piece.decode("utf-8", "replace").splitlines():
            lines += 1
            if lines <= _ERROR_LINES_MAX:
                _log.warning("JSV stderr: %s", line)
