"""The cell in the queue's database: each change is kept whole, with who, when and what, in either database."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import create_engine, text

from roost.runtime.database_guard import StoreError
from roost.runtime.queue.cell_store import CellCommit, KeptCell
from roost.runtime.queue.store import Store

CHANGE: list[dict[str, Any]] = [{"verb": "add", "kind": "project", "name": "p", "attributes": []}]


def commit(revision: int, put: dict[str, str], drop: tuple[str, ...] = ()) -> CellCommit:
    record = {"id": f"cell/{revision}", "kind": "command", "at": 1.0, "until": 1.0}
    return CellCommit(
        revision=revision, at=revision + 0.25, actor="ann", changes=CHANGE, put=put, drop=drop, record=record
    )


def emptied(url: str) -> Store:
    Store.open(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        for table in ("cell_files", "cell_changes", "audit_outbox"):
            connection.execute(text(f"DELETE FROM {table}"))
    engine.dispose()
    return Store.open(url)


def test_a_pool_begins_without_a_cell(url: str) -> None:
    store = emptied(url)
    assert store.cell() == KeptCell()
    assert store.cell_changes(5) == []
    store.close()


def test_changes_are_kept_with_their_texts_and_records(url: str) -> None:
    store = emptied(url)
    store.keep_cell(commit(1, {"a/x": "1\n", "a/y": "é\n"}))
    told = store.keep_cell(commit(2, {"a/x": "2\n"}, ("a/y",)))
    assert [each.record["id"] for each in told] == ["cell/2"]
    store.close()
    again = Store.open(url)
    assert again.cell() == KeptCell(revision=2, files={"a/x": "2\n"})
    assert again.cell_changes(5) == [(2, 2.25, "ann", CHANGE), (1, 1.25, "ann", CHANGE)]
    assert again.cell_changes(1) == [(2, 2.25, "ann", CHANGE)]
    assert [each.record["id"] for each in again.load().noted] == ["cell/1", "cell/2"]
    again.close()


def test_a_change_that_cannot_be_kept_leaves_nothing(url: str) -> None:
    store = emptied(url)
    store.keep_cell(commit(1, {"a/x": "1\n"}))
    with pytest.raises(StoreError):
        # There is such a revision.
        store.keep_cell(commit(1, {"a/x": "2\n", "a/z": "3\n"}))
    assert store.cell() == KeptCell(revision=1, files={"a/x": "1\n"})
    store.load()
    store.keep_cell(commit(2, {"a/x": "2\n"}))
    assert store.cell().revision == 2
    store.close()


def test_a_database_without_cells_is_brought_up_to_date(url: str) -> None:
    emptied(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE cell_files"))
        connection.execute(text("DROP TABLE cell_changes"))
        connection.execute(text("UPDATE meta SET value = '4' WHERE name = 'schema'"))
    engine.dispose()
    store = Store.open(url)
    store.keep_cell(commit(1, {"a/x": "1\n"}))
    assert store.cell() == KeptCell(revision=1, files={"a/x": "1\n"})
    store.close()
