"""Whose hands touch users' files, and what becomes of the processes that act for users."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.runtime import deputies as module
from roost.runtime.accounts import Account, NoSuchAccount, own_account
from roost.runtime.deputies import Deputies
from roost.runtime.deputy.hands import OWN

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


def _account(uid: int) -> Account:
    return Account(name=f"u{uid}", uid=uid, gid=uid, groups=(uid, 60_100), home=Path("/"))


@pytest.fixture
def found() -> Iterator[Deputies]:
    deputies = Deputies()
    yield deputies
    deputies.close()
    assert not deputies.pids


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_who_is_the_user_needs_nobody_else(found: Deputies) -> None:
    assert found.hands_of(own_account().name) is OWN
    assert found.hands_as(None) is OWN


@root
def test_an_unknown_user_has_no_hands(found: Deputies) -> None:
    with pytest.raises(NoSuchAccount):
        found.hands_of("no such user")


@root
def test_a_file_that_is_made_takes_the_place_of_a_link(found: Deputies, place: Path) -> None:
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
def test_what_a_deputy_makes_is_its_users_and_what_is_not_it_cannot_read(found: Deputies, place: Path) -> None:
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
def test_idle_deputies_are_few_and_end(found: Deputies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_MAX", 2)
    for uid in range(60_001, 60_006):
        assert found.hands_as(_account(uid)).exists("/")
    assert len(found.pids) == module.IDLE_MAX + 1, "the one that was needed last, and those that wait"
    monkeypatch.setattr(module, "IDLE_S", -1.0)
    found.tidy()
    assert not found.pids


@root
def test_a_deputy_that_hangs_is_given_up_and_keeps_nobody_waiting(
    found: Deputies, place: Path, monkeypatch: pytest.MonkeyPatch
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
def test_what_may_not_be_done_twice_is_not(found: Deputies, place: Path) -> None:
    hands = found.hands_as(_account(60_001))
    hands.append(f"{place}/log", b"one\n")
    os.kill(found.pids[0], signal.SIGKILL)
    with pytest.raises(OSError) as told:
        hands.append(f"{place}/log", b"two\n")
    assert told.value.errno == errno.EIO
    hands.append(f"{place}/log", b"three\n")
    os.kill(found.pids[0], signal.SIGKILL)
    assert hands.look(f"{place}/log").size == len("one\nthree\n")
