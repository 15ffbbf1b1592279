"""The accounting file has each ended run once, whatever is killed or renamed meanwhile."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.model.cell_accounting import AccountingRecord
from roost.runtime.database_guard import StoreError
from roost.runtime.queue.cell.filed_lines import LineFile
from roost.runtime.queue.store import Store
from roost.schedd.changes import AddAccounting

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
