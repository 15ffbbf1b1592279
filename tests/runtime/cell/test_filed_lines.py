"""The accounting and reporting files have each line once, whatever is killed or renamed meanwhile."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.model.cell_accounting import AccountingRecord
from roost.model.cell_reporting import JobReport
from roost.runtime.database_guard import StoreError
from roost.runtime.queue import filed_lines
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.filed_lines import LineFile
from roost.schedd.changes import AddAccounting, AddReports

RUN = AccountingRecord(queue="all.q", host="a", group="g", owner="ann", job_name="x", job=1)


def added(store: Store, *jobs: int, filed: int = 0) -> None:
    changes = [AddAccounting(record=dataclasses.replace(RUN, job=job)) for job in jobs]
    store.commit([changes], 1, (), (), filed)


def jobs(path: Path) -> list[int]:
    return [int(line.split(":")[5]) for line in path.read_text().splitlines() if not line.startswith("#")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store.open(f"sqlite:///{tmp_path / 'q.sqlite'}")
    yield found
    found.close()


def test_lines_follow_each_other_and_a_renamed_file_is_begun_anew(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "root" / "common" / "accounting"
    file = LineFile(path, store.lines_after)
    added(store, 1, 2)
    file.begin(0)
    assert path.read_text().startswith("# Version: 8.1.9\n") and jobs(path) == [1, 2]
    path.rename(path.with_name("accounting.1"))
    added(store, 3)
    file.write()
    assert jobs(path) == [3] and jobs(path.with_name("accounting.1")) == [1, 2]
    path.unlink()
    file.write()
    assert not path.exists()
    added(store, 4)
    file.write()
    assert jobs(path) == [4]


@pytest.mark.parametrize("renamed", [False, True])
def test_what_was_written_before_a_kill_is_not_written_again(store: Store, tmp_path: Path, renamed: bool) -> None:
    path = tmp_path / "accounting"
    LineFile(path, store.lines_after).begin(0)
    # Two of them are alike, and one is cut off.
    added(store, 5, 5, 5, 6)
    first = LineFile(path, lambda number, limit: store.lines_after(number, limit)[: 2 if number == 0 else 0])
    first.begin(0)
    assert jobs(path) == [5, 5]
    if renamed:
        path.rename(tmp_path / "accounting.20261123")
        path = tmp_path / "accounting.20261123"
    with path.open("a") as file:
        file.write(store.lines_after(2, 1)[0][1][:20])
    again = LineFile(tmp_path / "accounting", store.lines_after)
    again.begin(0)
    if renamed:
        assert jobs(tmp_path / "accounting") == [5, 6]
    else:
        assert jobs(path) == [5, 5, 5, 6]
    assert again.filed == 4


@pytest.mark.parametrize("renames", [1, 2])
def test_a_file_that_is_renamed_between_two_lines_does_not_get_the_second_again(
    store: Store, tmp_path: Path, renames: int
) -> None:
    path = tmp_path / "accounting"
    file = LineFile(path, store.lines_after)
    file.begin(0)
    for number in range(renames + 1):
        added(store, number, number)
        file.write()
        if number < renames:
            path.rename(tmp_path / f"accounting.{9 - number}")
    # Killed before a later commit says how far the file is.
    added(store, 7)
    LineFile(path, store.lines_after).begin(0)
    assert jobs(path) == [renames, renames, 7]


@pytest.mark.parametrize("tail", [4 * 1024 * 1024, 5000])
def test_a_kill_after_many_lines_repeats_none(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tail: int
) -> None:
    monkeypatch.setattr(filed_lines, "LINES_MAX", 10)
    monkeypatch.setattr(filed_lines, "_TAIL_BYTES", tail)
    path = tmp_path / "accounting"
    added(store, *range(95))
    LineFile(path, store.lines_after).begin(0)
    # Killed before a commit says how far the file is.
    added(store, 95, 96)
    again = LineFile(path, store.lines_after)
    again.begin(0)
    assert jobs(path) == list(range(97)) and again.filed == 97


def test_kills_at_any_instant_lose_and_repeat_nothing(store: Store, tmp_path: Path) -> None:
    path, rng, number = tmp_path / "accounting", random.Random(7), 0
    for _ in range(60):
        file = LineFile(path, store.lines_after)
        file.begin(int(store.state("accounting-filed") or 0))
        for _ in range(rng.randrange(4)):
            some = range(number + 1, number + 1 + rng.randrange(3))
            number += len(some)
            added(store, *some, filed=file.filed)
            if rng.random() < 0.7:
                file.write()
        if rng.random() < 0.3 and path.exists():
            path.write_bytes(path.read_bytes() + b"all.q:a:g")
    LineFile(path, store.lines_after).begin(int(store.state("accounting-filed") or 0))
    assert jobs(path) == list(range(1, number + 1))


def test_a_file_that_cannot_be_written_waits(store: Store, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    file = LineFile(blocked / "accounting", store.lines_after)
    added(store, 1)
    file.begin(0)
    assert file.is_behind and file.filed == 0
    blocked.unlink()
    file.write()
    assert jobs(blocked / "accounting") == [1] and not file.is_behind


def test_a_cell_may_want_no_file(store: Store, tmp_path: Path) -> None:
    file = LineFile(tmp_path / "accounting", store.lines_after)
    file.is_wanted = False
    added(store, 1)
    file.begin(0)
    file.is_wanted = True
    added(store, 2)
    file.write()
    assert jobs(tmp_path / "accounting") == [2]


def test_a_commit_that_fails_counts_for_nothing(store: Store) -> None:
    added(store, 1)
    bad = AddAccounting(record=dataclasses.replace(RUN, job=2**70))
    with pytest.raises((StoreError, OverflowError)):
        store.commit([[AddAccounting(record=RUN), bad]], 1, ())
    added(store, 2)
    assert [number for number, _ in store.lines_after(0, 9)] == [1, 2]


def reported(store: Store, *jobs: int, reported: int = 0) -> None:
    reports = tuple(JobReport(at=9, event="pending", job=job, submitted=9, name="x", owner="ann") for job in jobs)
    store.commit([[AddReports(reports=reports)]], 1, (), reported=reported)


def test_lines_of_reports_are_kept_until_they_are_in_the_file(store: Store, tmp_path: Path) -> None:
    path, number, rng = tmp_path / "reporting", 0, random.Random(5)
    for _ in range(30):
        file = LineFile(path, store.reports_after)
        file.begin(int(store.state("reporting-filed") or 0))
        for _ in range(rng.randrange(4)):
            some = range(number + 1, number + 1 + rng.randrange(3))
            number += len(some)
            reported(store, *some, reported=file.filed)
            if rng.random() < 0.7:
                file.write()
        if rng.random() < 0.3 and path.exists():
            path.write_bytes(path.read_bytes() + b"9:job_l")
    file = LineFile(path, store.reports_after)
    file.begin(int(store.state("reporting-filed") or 0))
    assert [int(line.split(":")[4]) for line in path.read_text().splitlines()[4:]] == list(range(1, number + 1))
    reported(store, reported=file.filed)
    assert len(store.reports_after(0, 1000)) == 1 and store.reports_after(file.filed, 9) == []
    # Numbers go on, though the lines before are gone.
    reported(store, 1)
    assert [each for each, _ in store.reports_after(file.filed, 9)] == [number + 1]


def test_reports_of_a_commit_whose_answer_was_lost_are_there_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported(store, 1)

    def lost(*_: object) -> None:
        raise StoreError("no answer")

    with monkeypatch.context() as broken:
        broken.setattr(store, "_took", lost)
        with pytest.raises(StoreError):
            reported(store, 2)
    reported(store, 2)
    reported(store, 3)
    assert [(number, line.split(":")[4]) for number, line in store.reports_after(0, 9)] == [
        (1, "1"),
        (2, "2"),
        (3, "3"),
    ]
