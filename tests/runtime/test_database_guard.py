"""A database that is deleted, replaced, cut or overwritten confirms nothing more, and is refused at the next start."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import select, text

from roost.runtime import database as databases
from roost.runtime.database import Database
from roost.runtime.database_guard import Damaged, StoreError
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.database.tables import META, SCHEMA, STATES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db" / "queue.sqlite"


def keep_state(store: Store, name: str, value: str) -> None:
    """Write a row of the database, or write it again."""
    with store.database.changing() as connection:
        connection.execute(STATES.delete().where(STATES.c.name == name))
        connection.execute(STATES.insert(), [{"name": name, "value": json.dumps(value)}])


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """A database with something in it, in the WAL and in its body."""
    found = _opened(path)
    for number in range(40):
        keep_state(found, f"name{number}", "x" * 2000)
    yield found
    found.close()


def _opened(path: Path) -> Store:
    return Store.open(f"sqlite:///{path}", _known(path))


def _known(path: Path) -> Path:
    """Where the state directory keeps which database was used last."""
    return path.parents[1] / f"{path.stem}.identity"


def _wal(path: Path) -> Path:
    return Path(f"{path}-wal")


def _overwrite(path: Path, at: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(size))


def _replace(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


def _empty_meta(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("DELETE FROM meta WHERE name = 'next_cluster'")
    other.close()


SEEN_AT_ONCE = {
    "deleted": (lambda path: path.unlink(), "queue.sqlite is missing"),
    "all deleted": (lambda path: [each.unlink() for each in path.parent.iterdir()], "queue.sqlite is missing"),
    "directory gone": (lambda path: shutil.rmtree(path.parent), "queue.sqlite is missing"),
    "moved": (lambda path: path.rename(path.with_name("other")), "queue.sqlite is missing"),
    "replaced": (_replace, "queue.sqlite was replaced by another file"),
    "log deleted": (lambda path: _wal(path).unlink(), "queue.sqlite-wal, its write-ahead log, is missing"),
    "log replaced": (lambda path: _replace(_wal(path)), "queue.sqlite-wal, its write-ahead log, was replaced"),
    "log cut": (lambda path: os.truncate(_wal(path), _wal(path).stat().st_size // 2), "was truncated"),
    "emptied": (_empty_meta, "its table meta was emptied"),
}
SEEN_SOON = {
    "header": (lambda path: _overwrite(path, 0, 512), "it is no longer a SQLite database"),
    "log header": (lambda path: _overwrite(_wal(path), 0, 32), "queue.sqlite-wal.* was overwritten"),
    "log frame": (lambda path: _overwrite(_wal(path), 9000, 1), "queue.sqlite-wal.* was overwritten"),
    "log body": (lambda path: _overwrite(_wal(path), 8192, 20_000), "queue.sqlite-wal.* was overwritten"),
}


@pytest.mark.parametrize("what", SEEN_AT_ONCE)
def test_nothing_is_confirmed_after_the_files_were_destroyed(store: Store, path: Path, what: str) -> None:
    destroy, words = SEEN_AT_ONCE[what]
    destroy(path)
    with pytest.raises(Damaged, match=words) as found:
        store.commit([], 7, ())
    assert "restore a backup" in str(found.value)


@pytest.mark.parametrize("what", [name for name in SEEN_AT_ONCE if name != "emptied"] + list(SEEN_SOON))
def test_the_watch_finds_what_was_destroyed(store: Store, path: Path, what: str) -> None:
    destroy, words = (SEEN_AT_ONCE | SEEN_SOON)[what]
    store.database.verify()
    destroy(path)
    with pytest.raises(Damaged, match=words):
        store.database.verify()


def test_what_was_destroyed_while_it_was_written_is_not_confirmed(store: Store, path: Path) -> None:
    with pytest.raises(Damaged, match="is missing"), store.database.changing() as connection:
        connection.execute(text("DELETE FROM states"))
        path.unlink()


def test_a_database_at_work_is_whole(path: Path) -> None:
    """Through many turns of the log, with readers and backups beside."""
    store = _opened(path)
    backup = path.with_name("backup")
    for number in range(300):
        keep_state(store, f"name{number % 50}", os.urandom(3000).hex())
        store.database.verify()
        if number % 60 == 0:
            with sqlite3.connect(path) as other:
                backup.unlink(missing_ok=True)
                other.execute("VACUUM INTO ?", (str(backup),))
            other.close()
            assert store.state(f"name{number % 50}")
    store.close()
    store = _opened(path)
    assert store.state("name49")
    store.database.verify()
    store.close()
    copy = _opened(backup)
    assert copy.database.identity == store.database.identity
    copy.close()


def test_another_database_under_the_same_name_is_found(url: str) -> None:
    """Also where a server keeps the files: somebody restored another database under the name."""
    database = Database.open(url, SCHEMA)
    database.verify()
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE meta SET value = 'another' WHERE name = 'identity'"))
    if url.startswith("postgresql"):
        with pytest.raises(Damaged, match="was replaced by another one"):
            database.verify()
    database.close()


# -- the next start --------------------------------------------------------------------------------------------


def test_a_database_that_is_gone_is_not_begun_anew(path: Path) -> None:
    _opened(path).close()
    path.unlink()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"queue.sqlite is missing.*restore a backup.*remove .*queue.identity"):
            _opened(path)
    _known(path).unlink()
    _opened(path).close()


@pytest.mark.parametrize("when", ["closed", "open", "closed since"])
def test_a_database_that_is_removed_with_its_directory_is_not_begun_anew(path: Path, when: str) -> None:
    store = _opened(path)
    if when == "closed since":
        store.close()
    shutil.rmtree(path.parent)
    if when == "open":
        # With the copy of its identity as well: while it is open, that is made again.
        _known(path).unlink()
        with pytest.raises(Damaged, match="is missing"):
            store.database.verify()
        assert _known(path).read_text() == f"{store.database.identity} {path}\n"
    store.close()
    with pytest.raises(StoreError, match=r"queue.sqlite is missing.*restore a backup"):
        _opened(path)


def test_another_database_is_not_taken_for_the_old_one(path: Path, tmp_path: Path) -> None:
    _opened(path).close()
    other = tmp_path / "other.sqlite"
    _opened(other).close()
    shutil.copy(path, tmp_path / "backup")
    shutil.copy(other, path)
    with pytest.raises(StoreError, match=r"not the one that this pool last used.*remove .*queue.identity"):
        _opened(path)
    # The administrator may name another place.
    Store.open(f"sqlite:///{other}", _known(path)).close()
    assert _known(path).read_text().endswith(f" {other}\n")
    shutil.copy(tmp_path / "backup", path)
    _opened(path).close()


@pytest.mark.parametrize("at", [0, 4096, 3 * 4096])
def test_a_damaged_database_is_refused(store: Store, path: Path, at: int) -> None:
    store.close()
    _overwrite(path, at, 2048)
    with pytest.raises(StoreError, match="restore a backup"):
        _opened(path)
    # It has let go of everything.
    with pytest.raises(StoreError, match="restore a backup"):
        _opened(path)


def test_a_row_that_cannot_be_read_is_damage(store: Store) -> None:
    with store.database.changing() as connection:
        columns = "cluster, owner, submitted_at, count, ad, plan, gone"
        connection.execute(text(f"INSERT INTO clusters ({columns}) VALUES (1, 'a', 1, 1, '{{', '', '')"))
    with pytest.raises(Damaged, match="a row cannot be read"):
        store.load()


def test_the_check_takes_limited_time(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.close()
    monkeypatch.setattr(databases, "CHECK_S", -1.0)
    monkeypatch.setattr(databases, "_CHECK_STEPS", 1)
    with caplog.at_level(logging.INFO):
        again = _opened(path)
    assert "the rest was not checked" in caplog.text
    assert again.state("name1") == "x" * 2000
    again.close()


_KILLED = """
import os, pathlib, signal, sys
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.database.tables import STATES
store = Store.open(sys.argv[1], pathlib.Path(sys.argv[2]))
for number in range(40):
    with store.database.changing() as connection:
        connection.execute(STATES.insert(), [{"name": f"name{number}", "value": f'"{"x" * 2000}"'}])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed(path: Path) -> Path:
    """A database whose writer was killed with everything in the log."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, f"sqlite:///{path}", _known(path)], env=environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    return path


def test_a_log_that_is_whole_is_used_without_a_word(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = _opened(killed)
    assert store.state("name39") == "x" * 2000
    assert "are unusable" not in caplog.text
    store.close()


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    "destroy", [_cut, lambda wal: _overwrite(wal, wal.stat().st_size // 2, 100)], ids=["cut", "garbage"]
)
def test_the_log_says_what_of_the_wal_is_lost(
    killed: Path, destroy: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    destroy(_wal(killed))
    store = _opened(killed)
    with store.database.reading() as connection:
        left = connection.execute(select(STATES.c.name)).all()
        assert connection.execute(select(META.c.value)).all()
    assert 0 < len(left) < 40
    (said,) = [each.getMessage() for each in caplog.records if "are unusable" in each.getMessage()]
    assert "queue.sqlite-wal" in said and "the last changes confirmed in the previous run are lost" in said
    store.close()
    caplog.clear()
    _opened(killed).close()
    assert "are unusable" not in caplog.text


def test_a_database_whose_whole_log_is_lost_is_told(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    _wal(killed).unlink()
    # It was all in its log. That it is refused leaves it as it is.
    for _ in range(2):
        with pytest.raises(StoreError, match=r"has lost its contents.*restore a backup.*or remove .*queue.identity"):
            _opened(killed)
    assert "are unusable" in caplog.text


def test_the_schema_is_that_of_a_queue(path: Path) -> None:
    database = Database.open(f"sqlite:///{path}", SCHEMA, _known(path))
    assert _known(path).read_text() == f"{database.identity} {path}\n"
    database.close()
