"""Copies of databases in backups: from either engine and to either, with all rows, while they are written."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, insert, select, text

from roost.runtime import backup_lock
from roost.runtime.backup.archive import QUEUE, BackupError
from roost.runtime.backup.databases import SKIPPED_CLUSTERS, Kept, copy_to_file, fill, number_on, refuse_used
from roost.runtime.database import Database
from roost.runtime.queue.database.tables import CLUSTERS, HISTORY, META, SCHEMA


def _filled(url: str, rows: int) -> Database:
    database = Database.open(url, SCHEMA)
    with database.changing() as connection:
        for number in range(1, rows + 1):
            values = {"cluster": number, "owner": "ann", "submitted_at": 7, "count": 1, "ad": "{}", "plan": "x"}
            connection.execute(insert(CLUSTERS), [values])
        history = {"proc": 0, "owner": "bob", "status": 4, "ended_at": 9, "ad": '{"a":"ä"}'}
        connection.execute(insert(HISTORY), [history | {"cluster": number} for number in range(3000)])
    return database


def _rows(url: str) -> dict[str, list[Any]]:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {each.name: sorted(map(tuple, connection.execute(select(each)))) for each in (META, CLUSTERS, HISTORY)}
    engine.dispose()
    return found


@pytest.mark.parametrize("to", ["sqlite", "postgresql"])
def test_what_was_copied_comes_back_on_either_engine(
    url: str, to: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database = _filled(url, 20)
    kept = Kept(QUEUE, url, SCHEMA)
    assert copy_to_file(kept, tmp_path / "copy") == len(SCHEMA.migrations)
    database.close()
    before = _rows(url)
    target = f"sqlite:///{tmp_path}/new/restored.sqlite"
    if to == "postgresql":
        target = request.getfixturevalue("postgres")
        engine = create_engine(target)
        with engine.begin() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        engine.dispose()
    restored = Kept(QUEUE, target, SCHEMA)
    refuse_used(restored)
    fill(restored, tmp_path / "copy")
    assert _rows(target) == before and len(before["history"]) == 3000
    with pytest.raises(BackupError, match=r"exists; move it away|has been used by a pool"):
        refuse_used(restored)
    # The next rows get numbers of their own.
    again = Database.open(target, SCHEMA)
    assert again.identity == database.identity
    with again.changing() as connection:
        values = {"cluster": 1, "proc": 0, "owner": "bob", "status": 4, "ended_at": 9, "ad": "{}"}
        connection.execute(insert(HISTORY), [values])
    again.close()
    assert len(_rows(target)["history"]) == 3001


def test_a_copy_is_of_one_time_while_the_database_is_written(url: str, tmp_path: Path) -> None:
    """Each transaction writes two rows that belong together."""
    database, ends = Database.open(url, SCHEMA), threading.Event()

    def write() -> None:
        number = 0
        while not ends.is_set():
            with database.changing() as connection:
                number += 1
                values = {"owner": "a", "submitted_at": 7, "count": 1, "ad": "{}", "plan": "x"}
                connection.execute(insert(CLUSTERS), [values | {"cluster": number}])
                row = {"cluster": number, "proc": 0, "owner": "a", "status": 4, "ended_at": 9, "ad": "{}"}
                connection.execute(insert(HISTORY), [row])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(8):
            copy = tmp_path / f"copy{number}"
            copy_to_file(Kept(QUEUE, url, SCHEMA), copy)
            with closing(sqlite3.connect(copy)) as found:
                clusters = {row[0] for row in found.execute("SELECT cluster FROM clusters")}
                assert clusters == {row[0] for row in found.execute("SELECT cluster FROM history")}
                assert clusters == set(range(1, len(clusters) + 1))
    finally:
        ends.set()
        writer.join()
        database.close()


def test_a_database_that_does_not_exist_has_no_copy(url: str, tmp_path: Path) -> None:
    assert copy_to_file(Kept(QUEUE, url, SCHEMA), tmp_path / "copy") is None
    assert not (tmp_path / "copy").exists()


def test_numbers_of_clusters_go_on_behind_those_after_the_backup(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    Database.open(f"sqlite:///{path}", SCHEMA).close()
    number_on(path)
    with closing(sqlite3.connect(path)) as found:
        assert found.execute("SELECT value FROM meta WHERE name = 'next_cluster'").fetchone() == (
            str(1 + SKIPPED_CLUSTERS),
        )


def test_the_lock_is_held_by_one_backup_and_seen_by_the_queue(tmp_path: Path) -> None:
    assert not backup_lock.is_held(tmp_path)
    with backup_lock.held(tmp_path):
        assert backup_lock.is_held(tmp_path)
        with pytest.raises(backup_lock.BackupRuns), backup_lock.held(tmp_path):
            pass
        assert backup_lock.is_held(tmp_path)
    assert not backup_lock.is_held(tmp_path) and not list(tmp_path.iterdir())
