"""The connection between a running job and its queue: chirp, as spoken by `condor_chirp` and `htchirp`.

A job with `want_io_proxy = true` finds ``.chirp.config`` in its scratch directory: host, port and a secret. The machine
listens there, on loopback, while the job runs; each request goes to the queue in one message, because the files, the ad
and the event log are there. A file that a job has opened is only a name and a position here, so a restarted queue
continues with it.

Lines end in a newline; a backslash escapes a space, and the answer is a number, negative for an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import json
import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from roost.runtime.bus.client import Carrier
from roost.runtime.bus_settings import BusError
from roost.runtime.files.file_workers import with_hands
from roost.runtime.files.worker.hands import Hands
from roost.runtime.node.runs.job_environment import CHIRP_CONFIG
from roost.wire.messages import Chirp, Chirped

_log = logging.getLogger("roost.node")

#: Maximum size of a line, and of a piece that goes to the queue, bytes.
LINE_MAX: Final = 5120
PIECE: Final = 384 * 1024
#: Maximum number of open files per connection, and of connections per job.
FILES_MAX: Final = 256
CONNECTIONS_MAX: Final = 32
#: How long to wait for the queue's answer, s.
ANSWER_S: Final = 60.0

_NOT_AUTHENTICATED, _NOT_AUTHORIZED, _INVALID, _TOO_MANY = -1, -2, -8, -9
_TRY_AGAIN, _BAD_FILE, _UNKNOWN = -11, -12, -127
#: Error number to chirp's.
_CODES: Final = {
    errno.EACCES: _NOT_AUTHORIZED, errno.EPERM: _NOT_AUTHORIZED, errno.EROFS: _NOT_AUTHORIZED, errno.ENOENT: -3,
    errno.EEXIST: -4, errno.EFBIG: -5, errno.ENOSPC: -6, errno.EDQUOT: -6, errno.ENOMEM: -7, errno.EINVAL: _INVALID,
    errno.EMFILE: _TOO_MANY, errno.EBUSY: -10, errno.EAGAIN: _TRY_AGAIN, errno.EBADF: _BAD_FILE, errno.EISDIR: -13,
    errno.ENOTDIR: -14, errno.ENOTEMPTY: -15, errno.EXDEV: -16, errno.ETIMEDOUT: -17,
}  # fmt: skip
#: Command to how its arguments are parsed.
_PLAIN: Final[dict[str, tuple[Callable[[str], object], ...]]] = {
    "rename": (str, str), "unlink": (str,), "rmdir": (str,), "rmall": (str,), "mkdir": (str, int), "link": (str, str),
    "symlink": (str, str), "access": (str, int), "chmod": (str, int), "chown": (str, int, int),
    "lchown": (str, int, int), "truncate": (str, int), "utime": (str, int, int), "set_job_attr": (str, str),
    "ulog": (str,),
}  # fmt: skip
_SAME: Final = {"set_job_attr_delayed": "set_job_attr", "get_job_attr_delayed": "get_job_attr"}


class _Failed(Exception):
    """A request failed; the number is the answer."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


class ChirpLine:
    """The chirp server of one run."""

    def __init__(self, bus: Carrier, node: str, schedd: str, run: str) -> None:
        self._bus = bus
        self._subject = bus.subjects.schedd(schedd, node)
        self._run = run
        self._cookie = secrets.token_hex(16)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def listen(self, sandbox: Path, hands: Hands) -> None:
        """Start listening, and write the address for the job. Raises OSError."""
        if self._server is None:
            self._server = await asyncio.start_server(self._met, "127.0.0.1", 0, limit=2 * LINE_MAX)
        port = self._server.sockets[0].getsockname()[1]
        text = f"127.0.0.1 {port} {self._cookie}\n".encode()
        await with_hands(hands, hands.make, str(sandbox / CHIRP_CONFIG), text, 0o600)

    def close(self) -> None:
        """Stop, and close all connections."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._open:
            task.cancel()

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= CONNECTIONS_MAX:
            writer.close()
            return
        self._open.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
                await _Talk(self._ask, self._cookie, reader, writer).run()
        finally:
            self._open.discard(task)
            writer.close()

    async def _ask(self, words: tuple[object, ...], data: bytes = b"") -> Chirped:
        """The queue's answer. Raises _Failed."""
        message = Chirp(run=self._run, asked=json.dumps(words).encode(), data=data)
        try:
            answer = await self._bus.request(self._subject, message, ANSWER_S)
        except BusError:
            raise _Failed(_TRY_AGAIN) from None
        if not isinstance(answer, Chirped):
            raise _Failed(_UNKNOWN)
        if answer.errno:
            raise _Failed(_CODES.get(answer.errno, _UNKNOWN))
        return answer


class _Talk:
    """A single connection."""

    def __init__(
        self, ask: Callable[..., Awaitable[Chirped]], cookie: str, reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:  # fmt: skip
        self._ask = ask
        self._cookie = cookie
        self._reader = reader
        self._writer = writer
        #: Number to name, whether it is appended to, and position.
        self._files: dict[int, tuple[str, bool, int]] = {}

    async def run(self) -> None:
        """Answer requests until the job disconnects."""
        known = False
        while line := await self._reader.readuntil(b"\n"):
            if len(line) > LINE_MAX:
                return
            words = _words(os.fsdecode(line.rstrip(b"\n")))
            try:
                if not known:
                    known = words[:1] == ["cookie"] and hmac.compare_digest(" ".join(words[1:]), self._cookie)
                    self._say(0 if known else _NOT_AUTHENTICATED)
                else:
                    await self._answer(words)
            except _Failed as failed:
                self._say(failed.code)
            except (ValueError, IndexError, TypeError):
                self._say(_INVALID)
            await self._writer.drain()

    def _say(self, number: int, data: bytes = b"") -> None:
        self._writer.write(f"{number}\n".encode() + data)

    def _give(self, data: bytes) -> None:
        self._say(len(data), data)

    async def _answer(self, words: list[str]) -> None:
        verb, arguments = _SAME.get(words[0], words[0]), words[1:]
        if verb in _PLAIN:
            kinds = _PLAIN[verb]
            if len(arguments) != len(kinds):
                raise _Failed(_INVALID)
            values = (kind(word) for kind, word in zip(kinds, arguments, strict=True))
            self._say((await self._ask((verb, *values))).value)
            return
        handler = getattr(self, f"_do_{verb}", None)
        if handler is None:
            raise _Failed(_INVALID)
        await handler(*arguments)

    # -- what gives data back --------------------------------------------------------------------------

    async def _do_get_job_attr(self, name: str) -> None:
        self._give((await self._ask(("get_job_attr", name))).data)

    async def _do_readlink(self, path: str, most: str) -> None:
        self._give((await self._ask(("readlink", path))).data[: int(most)])

    async def _do_getdir(self, path: str) -> None:
        self._give((await self._ask(("getdir", path))).data)

    async def _do_getlongdir(self, path: str) -> None:
        names = (await self._ask(("getdir", path))).data.decode("utf-8", "surrogateescape").splitlines()
        lines = ""
        for name in names:
            lines += f"{name}\n{_row((await self._ask(('lstat', f'{path}/{name}'))).numbers)}"
        self._give(lines.encode("utf-8", "surrogateescape"))

    async def _do_stat(self, path: str) -> None:
        self._say(0, _row((await self._ask(("stat", path))).numbers).encode())

    async def _do_lstat(self, path: str) -> None:
        self._say(0, _row((await self._ask(("lstat", path))).numbers).encode())

    async def _do_statfs(self, path: str) -> None:
        self._say(0, _row((await self._ask(("statfs", path))).numbers).encode())

    async def _do_whoami(self, most: str) -> None:
        self._give(b"CONDOR"[: int(most)])

    async def _do_whoareyou(self, host: str, most: str) -> None:
        self._give(b"CONDOR"[: int(most)])

    async def _do_version(self) -> None:
        self._say(2)

    # -- whole files -----------------------------------------------------------------------------------

    async def _do_getfile(self, path: str) -> None:
        size = (await self._ask(("open", path, "r", 0))).numbers[7]
        self._say(size)
        offset = 0
        while offset < size:
            data = (await self._ask(("read", path, min(PIECE, size - offset), offset))).data
            if not data:
                # It was truncated, but its length has already been sent.
                raise ConnectionError
            self._writer.write(data)
            await self._writer.drain()
            offset += len(data)

    async def _do_putfile(self, path: str, mode: str, length: str) -> None:
        await self._ask(("open", path, "wct", int(mode) & 0o777))
        self._say(0)
        await self._writer.drain()
        self._say(await self._received(path, 0, int(length), appends=False))

    async def _received(self, path: str, offset: int, length: int, *, appends: bool) -> int:
        """Write bytes from the job to a file; return the number of bytes."""
        failed, done = None, 0
        while done < length:
            data = await self._reader.readexactly(min(PIECE, length - done))
            done += len(data)
            if failed is None:
                try:
                    await self._ask(("write", path, offset + done - len(data), appends), data)
                except _Failed as problem:
                    failed = problem
        if failed is not None:
            raise failed
        return done

    # -- open files ------------------------------------------------------------------------------------

    async def _do_open(self, path: str, letters: str, mode: str) -> None:
        if len(self._files) >= FILES_MAX:
            raise _Failed(_TOO_MANY)
        found = await self._ask(("open", path, letters, int(mode) & 0o777))
        number = next(each for each in range(FILES_MAX) if each not in self._files)
        self._files[number] = (path, "a" in letters, 0)
        self._say(number, _row(found.numbers).encode())

    def _file(self, number: str) -> tuple[str, bool, int]:
        found = self._files.get(int(number))
        if found is None:
            raise _Failed(_BAD_FILE)
        return found

    async def _do_close(self, number: str) -> None:
        self._file(number)
        del self._files[int(number)]
        self._say(0)

    async def _do_fsync(self, number: str) -> None:
        self._file(number)
        self._say(0)

    async def _do_lseek(self, number: str, offset: str, whence: str) -> None:
        path, appends, position = self._file(number)
        base = (0, position, None)[int(whence)]
        if base is None:
            base = (await self._ask(("stat", path))).numbers[7]
        if base + int(offset) < 0:
            raise _Failed(_INVALID)
        self._files[int(number)] = (path, appends, base + int(offset))
        self._say(base + int(offset))

    async def _do_read(self, number: str, length: str) -> None:
        path, appends, position = self._file(number)
        data = await self._read(path, int(length), position)
        self._files[int(number)] = (path, appends, position + len(data))
        self._give(data)

    async def _do_pread(self, number: str, length: str, offset: str) -> None:
        self._give(await self._read(self._file(number)[0], int(length), int(offset)))

    async def _do_sread(self, number: str, length: str, offset: str, stride: str, skip: str) -> None:
        path, size, step = self._file(number)[0], int(stride), int(skip)
        if size <= 0 or step <= 0:
            raise _Failed(_INVALID)
        found, at = b"", int(offset)
        while len(found) < int(length):
            data = await self._read(path, min(size, int(length) - len(found)), at)
            found, at = found + data, at + step
            if not data:
                break
        self._give(found)

    async def _read(self, path: str, length: int, offset: int) -> bytes:
        found = b""
        while len(found) < min(length, 64 * PIECE):
            data = (await self._ask(("read", path, min(PIECE, length - len(found)), offset + len(found)))).data
            if not data:
                break
            found += data
        return found

    async def _do_write(self, number: str, length: str) -> None:
        path, appends, position = await self._target(number, length)
        self._say(await self._received(path, position, int(length), appends=appends))
        self._files[int(number)] = (path, appends, position + int(length))

    async def _do_pwrite(self, number: str, length: str, offset: str) -> None:
        path, appends, _ = await self._target(number, length)
        self._say(await self._received(path, int(offset), int(length), appends=appends))

    async def _do_swrite(self, number: str, length: str, offset: str, stride: str, skip: str) -> None:
        path, _, _ = await self._target(number, length)
        size, step, left, at = int(stride), int(skip), int(length), int(offset)
        if size <= 0 or step <= 0:
            await self._reader.readexactly(left)
            raise _Failed(_INVALID)
        while left:
            part = min(size, left)
            await self._received(path, at, part, appends=False)
            left, at = left - part, at + step
        self._say(int(length))

    async def _target(self, number: str, length: str) -> tuple[str, bool, int]:
        """The file to write to; the job's data is consumed even if there is none."""
        try:
            return self._file(number)
        except _Failed:
            await self._reader.readexactly(int(length))
            raise


def _row(numbers: list[int]) -> str:
    return " ".join(map(str, numbers)) + "\n"


def _words(line: str) -> list[str]:
    """The words of a line: a backslash escapes the character after it."""
    words, word, begun, at = [], "", False, 0
    while at < len(line):
        letter = line[at]
        if letter == "\\" and at + 1 < len(line):
            at += 1
            word, begun = word + line[at], True
        elif letter in " \t\r":
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + letter, True
        at += 1
    return [*words, word] if begun else words
