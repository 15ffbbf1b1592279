"""Whose hands touch users' files: the daemon's own where it is the user, else a deputy's that has become the user.

    deputies = Deputies()
    hands = deputies.hands_of("ann")
    hands.append("/home/ann/log", b"…")

Only a daemon of root has deputies; any other cannot change its user, and does all by itself at no cost. A deputy is
started when its user's files are first needed, does one operation at a time, and ends when it was not needed for
`IDLE_S`, or when `IDLE_MAX` others were needed later. One that has died is started again, and the operation repeated
where that is harmless; one that hangs (a file server that is away) is given up after `ANSWER_S`, and its user's files
count as out of reach for `SHUNNED_S`, so that others do not wait.

All of it waits: it is called from threads. What it does not do: decide who a user is. That is the owner whom the queue
has on record, and that is the account that submitted.
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
from roost.runtime.files.deputy.hands import OWN, Hands, Looked
from roost.runtime.files.deputy.serve import HEAD, TEXT_BYTES_MAX, received
from roost.runtime.processes.accounts import Account, account_named, can_switch_user, own_account

T = TypeVar("T")

#: Deputies that wait for something to do.
IDLE_MAX: Final = 8
#: How long each waits, s.
IDLE_S: Final = 60.0
#: How long a deputy serves; groups of its user that changed count with the next one, s.
LIFE_S: Final = 600.0
#: How long an operation may take, s.
ANSWER_S: Final = 20.0
#: How long the files of a user whose deputy hung are left alone, s.
SHUNNED_S: Final = 60.0

#: How long an end is waited for, s: one that hangs in the kernel ends when it can.
END_S: Final = 1.0

#: Done again they do nothing else. Appending is not among them.
_HARMLESS: Final = frozenset(
    ("look", "exists", "names", "real", "open", "make_directory", "begin", "put", "make", "discard")
)
_KEPT: Final = ("LD_LIBRARY_PATH",)
_MSG_CMSG_CLOEXEC: Final = 0x40000000


class _Gone(Exception):
    """The deputy has ended."""


class Deputies:
    """The deputies of one daemon."""

    def __init__(self) -> None:
        self._own = own_account()
        #: Whether users have other hands than this process.
        self.are_needed = can_switch_user()
        self._lock = threading.Lock()
        self._known: dict[str, Deputy] = {}
        self._live: dict[int, Deputy] = {}
        self._ending: list[subprocess.Popen[bytes]] = []

    def hands_of(self, user: str) -> Hands:
        """The hands that touch the files of a user. May ask a directory service. Raises NoSuchAccount."""
        if not self.are_needed or user == self._own.name:
            return OWN
        with self._lock:
            known = self._known.get(user)
        if known is not None and known.is_young:
            return known
        return self.hands_as(account_named(user))

    def hands_as(self, account: Account | None) -> Hands:
        """The hands that touch the files of an account; None is the account of this process."""
        if account is None or not self.are_needed or account.is_root:
            return OWN
        with self._lock:
            known = self._known.get(account.name)
            if known is None or known.account != account or not known.is_young:
                known = self._known[account.name] = Deputy(account, self)
            return known

    # -- their processes -----------------------------------------------------------------------------

    def began(self, deputy: Deputy) -> None:
        """A deputy has a process: others that have nothing to do make room."""
        with self._lock:
            self._live[id(deputy)] = deputy
            others = [each for each in self._live.values() if each is not deputy]
        others.sort(key=lambda each: each.used_at)
        for each in others[: max(0, len(others) - IDLE_MAX)]:
            self._end(each, even_if_used=False)

    def tidy(self) -> None:
        """End those that were not needed for long."""
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

    def _end(self, deputy: Deputy, *, even_if_used: bool) -> None:
        if deputy.end(wait=even_if_used):
            with self._lock:
                self._live.pop(id(deputy), None)

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """A process was left; it is waited for some time, not now: it may hang in the kernel."""
        with self._lock:
            self._ending.append(process)

    @property
    def pids(self) -> list[int]:
        """The processes that there are."""
        with self._lock:
            return [each.pid for each in self._live.values() if each.pid]


async def with_hands(hands: Hands, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
    """Call what uses these hands in a thread.

    A deputy does one operation at a time, so calls wait for it here and not in threads: a user whose deputy hangs holds
    one thread, and leaves the others to other users.
    """
    if not isinstance(hands, Deputy):
        return await asyncio.to_thread(function, *arguments, **named)
    async with hands.turn:
        return await asyncio.to_thread(function, *arguments, **named)


#: What a machine is short of, whichever user writes.
_MACHINES: Final = frozenset((errno.ENOSPC, errno.EROFS))


def is_users(hands: Hands, problem: OSError) -> bool:
    """Whether a problem of these hands is their user's own, and others on this machine would not have it.

    A user can stop or kill a deputy and change what it may touch; the machine goes on taking jobs all the same.
    """
    return isinstance(hands, Deputy) and problem.errno not in _MACHINES


class Deputy(Hands):
    """The hands of one user."""

    def __init__(self, account: Account, deputies: Deputies) -> None:
        self.account = account
        self.used_at = self._made_at = time.monotonic()
        self._deputies = deputies
        self._lock = threading.Lock()
        #: Held by what uses these hands from the event loop.
        self.turn = asyncio.Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._shunned_until = 0.0

    @property
    def is_young(self) -> bool:
        """Whether its user's groups are still taken for what they were."""
        return time.monotonic() - self._made_at < LIFE_S

    @property
    def is_shunned(self) -> bool:
        """Whether its user's files are left alone."""
        return time.monotonic() < self._shunned_until

    @property
    def pid(self) -> int:
        """Its process; 0 for none."""
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

    def called(self, deed: str, arguments: list[Any], data: bytes) -> list[Any]:
        return list(self._ask("called", deed, arguments, data=data))

    def append(self, path: str, data: bytes) -> None:
        self._ask("append", path, data=data)

    # -- the process ---------------------------------------------------------------------------------

    def _ask(self, deed: str, *arguments: object, data: bytes = b"") -> Any:
        with self._lock:
            if self.is_shunned:
                raise OSError(errno.ETIMEDOUT, f"the files of {self.account.name} do not answer", arguments[0])
            self.used_at = time.monotonic()
            try:
                return self._told(deed, arguments, data)
            except _Gone:
                if deed not in _HARMLESS:
                    raise OSError(errno.EIO, self._gone_text(), arguments[0]) from None
            try:
                return self._told(deed, arguments, data)
            except _Gone:
                raise OSError(errno.EIO, self._gone_text(), arguments[0]) from None

    def _gone_text(self) -> str:
        return f"the process that acts as {self.account.name} has ended"

    def _told(self, deed: str, arguments: tuple[object, ...], data: bytes) -> Any:
        channel = self._channel or self._begin()
        text = json.dumps([deed, *arguments]).encode()
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
        if deed != "open" and file >= 0:
            os.close(file)
        if "errno" in answer:
            raise _problem(answer, arguments[0], self.account)
        return answer["value"] if deed != "open" else file

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        account, source = self.account, str(Path(roost.__file__).resolve().parents[1])
        program = (
            f"import sys; sys.path.append({source!r}); from roost.runtime.files.deputy.serve import serve; "
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
        self._deputies.began(self)
        return ours

    def _leave(self) -> None:
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        if channel is not None:
            channel.close()
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            self._deputies.ended(process)

    def end(self, *, wait: bool) -> bool:
        """End the process; False if it is at work, and is not waited for."""
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
            raise ValueError("no answer of a deputy")
        return answer, files.pop() if files else -1
    finally:
        # On success the one that is handed on was taken out.
        for each in files:
            os.close(each)
