"""Whose hands touch users' files, and what becomes of the processes that act for users."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roost.runtime.files import file_workers as module
from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.files.worker.hands import OWN
from roost.runtime.files.worker.serve import received
from roost.runtime.processes.accounts import Account, NoSuchAccount, own_account
from roost.runtime.queue.database.kept import LogPiece
from roost.runtime.queue.user_logs import UserLogs
from tests.runtime.kit import run

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


def _account(uid: int) -> Account:
    return Account(name=f"u{uid}", uid=uid, gid=uid, groups=(uid, 60_100), home=Path("/"))


@pytest.fixture
def found() -> Iterator[FileWorkers]:
    file_workers = FileWorkers()
    yield file_workers
    file_workers.close()
    assert not file_workers.pids


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_who_is_the_user_needs_nobody_else(found: FileWorkers) -> None:
    assert found.hands_of(own_account().name) is OWN
    assert found.hands_as(None) is OWN


@root
def test_an_unknown_user_has_no_hands(found: FileWorkers) -> None:
    with pytest.raises(NoSuchAccount):
        found.hands_of("no such user")


@root
def test_a_file_that_is_made_takes_the_place_of_a_link(found: FileWorkers, place: Path) -> None:
    hands = found.hands_as(_account(60_001))
    hands.make_directory(f"{place}/d", 0o755)
    path, secret = place / "d" / "file", place / "secret"
    secret.write_text("kept")
    path.symlink_to(secret)
    for own, uid in ((hands, 60_001), (OWN, os.geteuid())):
        own.make(str(path), b"text", 0o644)
        assert (path.read_text(), path.stat().st_uid, path.stat().st_mode & 0o777) == ("text", uid, 0o644)
    assert secret.read_text() == "kept"


@root
def test_what_a_file_worker_makes_is_its_users_and_what_is_not_it_cannot_read(found: FileWorkers, place: Path) -> None:
    hands, other = found.hands_as(_account(60_001)), found.hands_as(_account(60_002))
    assert hands.begin(f"{place}/d/file", "mark") == 0
    hands.put(f"{place}/d/file", "mark", 0, b"first ", None, False)
    assert hands.begin(f"{place}/d/file", "mark") == 6
    hands.put(f"{place}/d/file", "mark", 6, b"second", 0o600, True)
    assert (place / "d" / "file").stat().st_uid == 60_001
    file = hands.open(f"{place}/d/file")
    assert os.read(file, 100) == b"first second"
    os.close(file)
    for deed in (lambda: other.open(f"{place}/d/file"), lambda: other.append(f"{place}/d/file", b"x")):
        with pytest.raises(PermissionError, match="u60002"):
            deed()
    assert (hands.names(f"{place}/d"), hands.look(f"{place}/d/file").size) == (["file"], 12)
    with pytest.raises(FileNotFoundError):
        hands.look(f"{place}/absent")


@root
def test_idle_file_workers_are_few_and_end(found: FileWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_MAX", 2)
    for uid in range(60_001, 60_006):
        assert found.hands_as(_account(uid)).exists("/")
    assert len(found.pids) == module.IDLE_MAX + 1, "the one that was needed last, and those that wait"
    monkeypatch.setattr(module, "IDLE_S", -1.0)
    found.tidy()
    assert not found.pids


@root
def test_a_file_worker_that_hangs_is_given_up_and_keeps_nobody_waiting(
    found: FileWorkers, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands, other = found.hands_as(_account(60_001)), found.hands_as(_account(60_002))
    assert hands.exists(f"{place}")
    monkeypatch.setattr(module, "ANSWER_S", 0.2)
    os.kill(found.pids[0], signal.SIGSTOP)
    for _ in range(2):
        with pytest.raises(OSError) as told:
            hands.exists(f"{place}")
        assert told.value.errno == errno.ETIMEDOUT
    monkeypatch.setattr(module, "ANSWER_S", 20.0)
    assert other.exists(f"{place}")


@root
def test_what_may_not_be_done_twice_is_not(found: FileWorkers, place: Path) -> None:
    hands = found.hands_as(_account(60_001))
    hands.append(f"{place}/log", b"one\n")
    os.kill(found.pids[0], signal.SIGKILL)
    with pytest.raises(OSError) as told:
        hands.append(f"{place}/log", b"two\n")
    assert told.value.errno == errno.EIO
    hands.append(f"{place}/log", b"three\n")
    os.kill(found.pids[0], signal.SIGKILL)
    assert hands.look(f"{place}/log").size == len("one\nthree\n")


@root
def test_calls_for_a_file_worker_that_hangs_hold_one_thread(found: FileWorkers, place: Path) -> None:
    """All others of its user wait without a thread, so that other users' files are touched meanwhile."""
    hanging, other = found.hands_as(_account(60_001)), found.hands_as(_account(60_002))
    assert hanging.exists("/") and isinstance(hanging, module.FileWorker)
    os.kill(hanging.pid, signal.SIGSTOP)

    async def work() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        waiting = [asyncio.create_task(module.with_hands(hanging, hanging.exists, "/")) for _ in range(20)]
        await asyncio.sleep(0)
        for number in range(10):
            await module.with_hands(other, other.append, f"{place}/log", b"%d" % number)
        assert not any(each.done() for each in waiting)
        os.kill(hanging.pid, signal.SIGCONT)
        assert await asyncio.gather(*waiting) == [True] * 20

    run(work())
    assert (place / "log").read_bytes() == b"0123456789"


@root
def test_logs_of_other_users_are_written_while_a_file_worker_hangs(
    found: FileWorkers, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = {f"u{uid}": _account(uid) for uid in (60_001, 60_002)}
    monkeypatch.setattr(module, "account_named", accounts.__getitem__)
    done: list[int] = []
    logs = UserLogs(found, lambda appended: done.extend(appended.done))

    def piece(number: int, user: str) -> LogPiece:
        return LogPiece(id=number, path=f"{place}/{user}.log", owner=user, text=f"{number}\n")

    hanging = found.hands_of("u60001")
    assert hanging.exists("/") and isinstance(hanging, module.FileWorker)
    os.kill(hanging.pid, signal.SIGSTOP)

    async def work() -> None:
        await logs.write([piece(0, "u60001"), piece(1, "u60002")])
        assert logs.is_behind("u60001")
        for number in range(2, 30, 2):
            await logs.write([piece(number, "u60001"), piece(number + 1, "u60002")])
        while logs.is_behind("u60002"):
            await asyncio.sleep(0.01)
        assert done == list(range(1, 30, 2)) and logs.is_behind("u60001")
        os.kill(hanging.pid, signal.SIGCONT)
        while logs.is_behind("u60001"):
            await asyncio.sleep(0.01)

    run(work())
    for user, first in (("u60001", 0), ("u60002", 1)):
        assert (place / f"{user}.log").read_text() == "".join(f"{number}\n" for number in range(first, 30, 2))


def test_a_daemon_that_dies_before_it_reads_an_answer_ends_its_file_worker_in_silence() -> None:
    """Closing a socket with unread data resets it, which the other end must take for an end."""
    ours, theirs = socket.socketpair()
    theirs.sendall(b"an answer nobody reads")
    ours.close()
    with theirs:
        assert received(theirs, 8) is None
