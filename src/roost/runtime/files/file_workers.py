"""The processes that access users' files: the daemon itself if it runs as the user, otherwise a file worker running as
that user.

    file_workers = FileWorkers()
    hands = file_workers.hands_of("ann")
    hands.append("/home/ann/log", b"…")

Only a root daemon has file workers; any other cannot change its user, and accesses files itself at no cost. A file
worker is started when its user's files are first needed, performs one operation at a time, and ends when it was not
needed for `IDLE_S`, or when more than `IDLE_MAX` others were needed since. A file worker that has died is restarted,
and the operation repeated if that is harmless; one that hangs (on an unavailable file server) is given up after
`ANSWER_S`, and its user's files count as unreachable for `SHUNNED_S`, so that others do not wait.

All operations block: they are called from threads. This module does not decide who a user is: that is the owner on
record in the queue, and hence the account that submitted.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import roost
from roost.runtime.files.worker.hands import OWN, Hands, Looked
from roost.runtime.files.worker.serve import HEAD, TEXT_BYTES_MAX, received
from roost.runtime.processes.accounts import Account, account_named, can_switch_user, own_account

T = TypeVar("T")

#: Maximum number of idle file workers.
IDLE_MAX: Final = 8
#: How long an idle file worker is kept, s.
IDLE_S: Final = 60.0
#: Lifetime of a file worker, s; changes of its user's groups take effect with the next one.
LIFE_S: Final = 600.0
#: Time limit of an operation, s.
ANSWER_S: Final = 20.0
#: How long the files of a user whose file worker hung are not accessed, s.
SHUNNED_S: Final = 60.0

#: How long to wait for a process to end, s: one that hangs in the kernel ends when it can.
END_S: Final = 1.0

#: Idempotent operations. Appending is not among them.
_HARMLESS: Final = frozenset(
    ("look", "exists", "names", "real", "open", "make_directory", "begin", "put", "make", "discard")
)
_KEPT: Final = ("LD_LIBRARY_PATH",)
_MSG_CMSG_CLOEXEC: Final = 0x40000000


class _Gone(Exception):
    """The file worker has exited."""


class FileWorkers:
    """The file workers of one daemon."""

    def __init__(self) -> None:
        self._own = own_account()
        #: Whether other processes than this one access users' files.
        self.are_needed = can_switch_user()
        self._lock = threading.Lock()
        self._known: dict[str, FileWorker] = {}
        self._live: dict[int, FileWorker] = {}
        self._ending: list[subprocess.Popen[bytes]] = []

    def hands_of(self, user: str) -> Hands:
        """The `Hands` that access the files of a user. May query a directory service. Raises NoSuchAccount."""
        if not self.are_needed or user == self._own.name:
            return OWN
        with self._lock:
            known = self._known.get(user)
        if known is not None and known.is_young:
            return known
        return self.hands_as(account_named(user))

    def hands_as(self, account: Account | None) -> Hands:
        """The `Hands` that access the files of an account; None is the account of this process."""
        if account is None or not self.are_needed or account.is_root:
            return OWN
        with self._lock:
            known = self._known.get(account.name)
            if known is None or known.account != account or not known.is_young:
                known = self._known[account.name] = FileWorker(account, self)
            return known

    # -- their processes -----------------------------------------------------------------------------

    def began(self, worker: FileWorker) -> None:
        """Note that a file worker has a process: idle ones make room."""
        with self._lock:
            self._live[id(worker)] = worker
            others = [each for each in self._live.values() if each is not worker]
        others.sort(key=lambda each: each.used_at)
        for each in others[: max(0, len(others) - IDLE_MAX)]:
            self._end(each, even_if_used=False)

    def tidy(self) -> None:
        """End file workers that were not needed for long."""
        now = time.monotonic()
        with self._lock:
            live = list(self._live.values())
        for each in live:
            if now - each.used_at > IDLE_S or not each.is_young:
                self._end(each, even_if_used=False)
        with self._lock:
            known = [name for name, each in self._known.items() if id(each) not in self._live and not each.is_shunned]
            for name in known:
                del self._known[name]
            self._ending = [each for each in self._ending if each.poll() is None]

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            live = list(self._live.values())
        for each in live:
            self._end(each, even_if_used=True)
        for process in self._ending:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S)

    def _end(self, worker: FileWorker, *, even_if_used: bool) -> None:
        if worker.end(wait=even_if_used):
            with self._lock:
                self._live.pop(id(worker), None)

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """Note a process to be waited for later: it may hang in the kernel."""
        with self._lock:
            self._ending.append(process)

    @property
    def pids(self) -> list[int]:
        """Process ids of the file workers."""
        with self._lock:
            return [each.pid for each in self._live.values() if each.pid]


async def with_hands(hands: Hands, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
    """Call a function that uses these `Hands` in a thread.

    A file worker performs one operation at a time, so calls wait for it here and not in threads: a user whose file
    worker hangs occupies one thread, and leaves the others to other users.
    """
    if not isinstance(hands, FileWorker):
        return await asyncio.to_thread(function, *arguments, **named)
    async with hands.turn:
        return await asyncio.to_thread(function, *arguments, **named)


#: Resources that a machine may run out of, whichever user writes.
_MACHINES: Final = frozenset((errno.ENOSPC, errno.EROFS))


def is_users(hands: Hands, problem: OSError) -> bool:
    """Whether a failure concerns only the user, and others on this machine would not have it.

    A user can stop or kill a file worker and change what it may access; the machine continues to accept jobs anyway.
    """
    return isinstance(hands, FileWorker) and problem.errno not in _MACHINES


class FileWorker(Hands):
    """The `Hands` of one user."""

    def __init__(self, account: Account, file_workers: FileWorkers) -> None:
        self.account = account
        self.used_at = self._made_at = time.monotonic()
        self._file_workers = file_workers
        self._lock = threading.Lock()
        #: Held while the event loop uses these `Hands`.
        self.turn = asyncio.Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._shunned_until = 0.0

    @property
    def is_young(self) -> bool:
        """Whether its user's groups are still considered current."""
        return time.monotonic() - self._made_at < LIFE_S

    @property
    def is_shunned(self) -> bool:
        """Whether its user's files are not accessed for now."""
        return time.monotonic() < self._shunned_until

    @property
    def pid(self) -> int:
        """Its process id; 0 for none."""
        process = self._process
        return 0 if process is None else process.pid

    # -- operations ---------------------------------------------------------------------------------------

    def look(self, path: str) -> Looked:
        mode, size, changed_ns, inode = self._ask("look", path)
        return Looked(int(mode), int(size), int(changed_ns), int(inode))

    def exists(self, path: str) -> bool:
        return bool(self._ask("exists", path))

    def names(self, directory: str) -> list[str]:
        return [str(each) for each in self._ask("names", directory)]

    def real(self, path: str) -> str:
        return str(self._ask("real", path))

    def open(self, path: str) -> int:
        return int(self._ask("open", path))

    def make_directory(self, path: str, mode: int) -> None:
        self._ask("make_directory", path, mode)

    def begin(self, target: str, mark: str) -> int:
        return int(self._ask("begin", target, mark))

    def put(self, target: str, mark: str, offset: int, data: bytes, mode: int | None, sync: bool) -> int:
        return int(self._ask("put", target, mark, offset, mode, sync, data=data))

    def discard(self, target: str, mark: str) -> None:
        self._ask("discard", target, mark)

    def make(self, path: str, data: bytes, mode: int) -> None:
        self._ask("make", path, mode, data=data)

    def called(self, operation: str, arguments: list[Any], data: bytes) -> list[Any]:
        return list(self._ask("called", operation, arguments, data=data))

    def append(self, path: str, data: bytes) -> None:
        self._ask("append", path, data=data)

    # -- the process ---------------------------------------------------------------------------------

    def _ask(self, operation: str, *arguments: object, data: bytes = b"") -> Any:
        with self._lock:
            if self.is_shunned:
                raise OSError(errno.ETIMEDOUT, f"file access as {self.account.name} does not respond", arguments[0])
            self.used_at = time.monotonic()
            try:
                return self._call(operation, arguments, data)
            except _Gone:
                if operation not in _HARMLESS:
                    raise OSError(errno.EIO, self._gone_text(), arguments[0]) from None
            try:
                return self._call(operation, arguments, data)
            except _Gone:
                raise OSError(errno.EIO, self._gone_text(), arguments[0]) from None

    def _gone_text(self) -> str:
        return f"the file-access process of {self.account.name} has exited"

    def _call(self, operation: str, arguments: tuple[object, ...], data: bytes) -> Any:
        channel = self._channel or self._begin()
        text = json.dumps([operation, *arguments]).encode()
        try:
            channel.sendall(HEAD.pack(len(text), len(data)) + text)
            if data:
                channel.sendall(data)
            answer, file = _answered(channel)
        except TimeoutError:
            self._shunned_until = time.monotonic() + SHUNNED_S
            self._leave()
            text_ = f"no answer within {ANSWER_S:g} s"
            raise OSError(errno.ETIMEDOUT, text_, arguments[0]) from None
        except (OSError, ValueError, _Gone):
            self._leave()
            raise _Gone from None
        if operation != "open" and file >= 0:
            os.close(file)
        if "errno" in answer:
            raise _problem(answer, arguments[0], self.account)
        return answer["value"] if operation != "open" else file

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        account, source = self.account, str(Path(roost.__file__).resolve().parents[1])
        program = (
            f"import sys; sys.path.append({source!r}); from roost.runtime.files.worker.serve import serve; "
            f"serve({theirs.fileno()}, {account.uid}, {account.gid}, {list(account.groups)})"
        )
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", program],
                stdin=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        ours.settimeout(ANSWER_S)
        self._channel = ours
        self._file_workers.began(self)
        return ours

    def _leave(self) -> None:
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        if channel is not None:
            channel.close()
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            self._file_workers.ended(process)

    def end(self, *, wait: bool) -> bool:
        """End the process; return False if it is busy, in which case it is not waited for."""
        if not self._lock.acquire(blocking=wait, timeout=ANSWER_S if wait else -1):
            return False
        try:
            self._leave()
            return True
        finally:
            self._lock.release()


def _problem(answer: dict[str, Any], path: object, account: Account) -> OSError:
    number, text = int(answer["errno"]), str(answer["text"])
    if number in (errno.EACCES, errno.EPERM):
        text += f" for user {account.name}"
    return OSError(number, text, answer.get("file") or path)


def _answered(channel: socket.socket) -> tuple[dict[str, Any], int]:
    """An answer and the descriptor that came with it, or -1. Raises _Gone, ValueError, OSError."""
    files: list[int] = []
    head = b""
    try:
        while len(head) < HEAD.size:
            part, some, _, _ = socket.recv_fds(channel, HEAD.size - len(head), 1, _MSG_CMSG_CLOEXEC)
            files += some
            if not part:
                raise _Gone
            head += part
        size, _ = HEAD.unpack(head)
        text = received(channel, size) if size <= TEXT_BYTES_MAX else None
        if text is None:
            raise _Gone
        answer = json.loads(text)
        if not isinstance(answer, dict) or ("errno" not in answer and "value" not in answer):
            raise ValueError("not a valid answer from the file-access process")
        return answer, files.pop() if files else -1
    finally:
        # On success, the descriptor to pass on was taken out.
        for each in files:
            os.close(each)
