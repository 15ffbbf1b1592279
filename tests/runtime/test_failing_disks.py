"""Disks that fail (EIO): what is kept is written once it can be, counts once, and no daemon ends because of it."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy.exc import DatabaseError

from roost.classad import ClassAd
from roost.model.cell_accounting import AccountingRecord
from roost.runtime import database_guard
from roost.runtime.database import DOUBTS_MAX, Database
from roost.runtime.database_guard import Damaged, Guard, StoreError
from roost.runtime.node.runs import reports as run_reports
from roost.runtime.node.runs.reports import Reports
from roost.runtime.node.runs.runner import Runner
from roost.runtime.processes.run_records import read_record
from roost.runtime.queue.database.store import Store
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus

RUN = "1.0#1@q"


class Disk:
    """A disk that fails while it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails = False
        for where, name in ((Path, "unlink"), (run_reports.os, "open")):
            monkeypatch.setattr(where, name, self._failing(getattr(where, name)))

    def _failing(self, work: Any) -> Any:
        def tried(path: Any, *words: Any, **options: Any) -> Any:
            if self.fails:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return work(path, *words, **options)

        return tried


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_a_record_that_cannot_be_removed_keeps_no_machine_from_starting(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """The daemon ended and started again until the disk took the removal."""
    stray = tmp_path / "stray.run"
    stray.write_text("{}\n")
    disk.fails = True
    assert Reports(tmp_path).load() == {}
    assert f"{stray} does not belong to a run, and cannot be removed: Input/output error" in caplog.text
    disk.fails = False
    assert Reports(tmp_path).load() == {} and not stray.exists()


def test_a_run_whose_ticket_could_not_be_written_has_it_before_its_program_starts(tmp_path: Path, disk: Disk) -> None:
    """Without it a later daemon could not tell its queue how the run ended."""
    reports = Reports(tmp_path)
    disk.fails = True
    reports.begin(RUN, schedd="q", claim_id="c", slot="slot1")
    reports.begins_program(RUN, {"run": RUN, "slot": {}})
    assert "Input/output error" in reports.problem(RUN)
    disk.fails = False
    reports.begins_program(RUN, {"run": RUN, "slot": {}})
    assert reports.problem(RUN) == ""
    reports.begins_program(RUN, {"run": RUN, "slot": {"later": True}})
    found = read_record(reports.record(RUN))
    assert found.ticket == {"run": RUN, "schedd": "q", "claim_id": "c", "slot": "slot1"}
    assert reports.record(RUN).read_text().count("ticket") == 1 and found.slot["slot"] == {"later": True}


def test_the_end_of_a_run_whose_list_of_input_cannot_be_removed_is_an_end(tmp_path: Path, disk: Disk) -> None:
    """The daemon died of it in the middle of a step, at each job whose files had been moved."""
    done: list[bool] = []

    class Half:
        moved = True
        tasks = None
        around = type("Around", (), {"done": staticmethod(lambda: done.append(True)), "shells": None})
        _baseline_path = tmp_path / "1.0_1_q.baseline"

        def forget(self) -> None:
            pass

    disk.fails = True
    Runner.done(cast(Runner, Half()))
    assert done == [True]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store.open(f"sqlite:///{tmp_path / 'q.sqlite'}")
    yield found
    found.close()


def _corrupt(statement: str) -> DatabaseError:
    """What SQLite says when its disk fails while it reads, as when the file is damaged."""
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return DatabaseError(statement, {}, error)


def test_a_database_on_a_disk_that_fails_is_not_damaged(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue confirmed nothing more until it was started again, and asked for a backup of what was whole."""
    with (
        pytest.raises(StoreError, match="its disk failed while it was being read") as whole,
        store.database.reading(),
    ):
        raise _corrupt("SELECT")
    assert not isinstance(whole.value, Damaged)

    def fails(descriptor: int, size: int, at: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(database_guard.os, "pread", fails)
        for _ in range(2 * DOUBTS_MAX):
            with pytest.raises(StoreError, match="Input/output error") as failing, store.database.changing():
                raise _corrupt("INSERT")
            assert not isinstance(failing.value, Damaged)
    store.commit([[ch.AddAccounting(record=RUN_OF)]], 1, ())
    assert len(store.lines_after(0, 9)) == 1


def test_what_is_whole_and_cannot_be_used_again_and_again_is_damaged(store: Store) -> None:
    for _ in range(DOUBTS_MAX):
        with pytest.raises(StoreError) as doubted, store.database.reading():
            raise _corrupt("SELECT")
        assert not isinstance(doubted.value, Damaged)
    with pytest.raises(Damaged), store.database.reading():
        raise _corrupt("SELECT")


RUN_OF = AccountingRecord(queue="all.q", host="a", group="g", owner="ann", job_name="x", job=1)


@pytest.mark.parametrize("kind", ["accounting", "history", "log"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_answer_was_lost_counts_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, when: str, kind: str
) -> None:
    """A retry added all of it again, or failed forever since the rows were there."""
    history = ch.AddHistory(
        job=JobId(1, 0), owner="ann", status=JobStatus.COMPLETED, ended_at=5, ad=ClassAd(ClusterId=1), cluster=None
    )
    changes: dict[str, list[ch.Change]] = {
        "accounting": [ch.AddAccounting(record=RUN_OF)],
        "history": [history],
        "log": [ch.AppendLog(path="/log", owner="ann", text="x\n"), history, ch.AddAccounting(record=RUN_OF)],
    }
    real, failures = Database.changing, [True]

    @contextmanager
    def changing(database: Database) -> Iterator[Any]:
        fails = bool(failures and failures.pop())
        if fails and when == "before":
            raise StoreError("the server is away")
        with real(database) as connection:
            yield connection
        if fails:
            raise StoreError("the server does not answer")

    store.commit([[ch.AddAccounting(record=RUN_OF)]], 1, ())
    with monkeypatch.context() as patched:
        patched.setattr(Database, "changing", changing)
        with pytest.raises(StoreError):
            store.commit([changes[kind]], 2, ())
        store.commit([changes[kind]], 2, ())
    store.commit([[ch.AddAccounting(record=RUN_OF)]], 2, ())
    assert [number for number, _ in store.lines_after(0, 9)] == list(range(1, 3 + (kind != "history")))
    assert len(list(store.history(limit=9))) == (kind != "accounting")
    assert store.load().next_cluster == 2


def test_a_commit_is_one_though_its_disk_fails_right_after(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue took it for failed, and made it once more."""

    def fails(self: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Guard, "grown", fails)
    store.commit([[ch.AddAccounting(record=RUN_OF)]], 1, ())
    assert len(store.lines_after(0, 9)) == 1
