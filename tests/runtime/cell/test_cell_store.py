"""The cell in the queue's database: each change is kept whole, with who, when and what, in either database."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from roost.model.cell_usage import Owner, Used
from roost.runtime.database_guard import StoreError
from roost.runtime.queue.database.cell_store import CellCommit, GivenState, KeptCell, StatesCommit
from roost.runtime.queue.database.store import Store
from roost.schedd.changes import ClearUsage, PutUsage

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
        for table in ("cell_files", "cell_changes", "cell_instances", "cell_usage", "audit_outbox"):
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


def test_states_of_queue_instances_are_kept_until_the_instances_go(url: str) -> None:
    store = emptied(url)
    store.keep_cell(commit(1, {"a/x": "1\n"}))
    record = {"id": "cell-instances/1", "kind": "command", "at": 1.0, "until": 1.0}
    first = {"b.q@h": GivenState("d", 1.5, "ann"), "a.q@h": GivenState("ds", 1.5, "ann")}
    told = store.keep_instances(StatesCommit(states=first, record=record))
    assert [each.record["id"] for each in told] == ["cell-instances/1"]
    store.keep_instances(StatesCommit(states={"b.q@h": GivenState("", 2.5, "bob")}, record=record))
    store.close()
    again = Store.open(url)
    again.load()
    assert again.cell().states == {"a.q@h": GivenState("ds", 1.5, "ann"), "b.q@h": GivenState("", 2.5, "bob")}
    again.keep_cell(CellCommit(**{**_fields(commit(2, {})), "gone": ["a.q@h", "c.q@h"]}))
    assert list(again.cell().states) == ["b.q@h"]
    again.close()


def test_what_users_have_used_is_kept_with_the_jobs_that_used_it(url: str) -> None:
    store = emptied(url)
    ann, bob = Owner("ann", "p", "d"), Owner("bob")
    first, second = (Used(at=at, recent={"cpu": at}, total={"cpu": 2 * at}) for at in (1.5, 2.5))
    store.commit([[PutUsage(accounts={ann: first})], [PutUsage(accounts={ann: second, bob: first})]], 1, ())
    store.close()
    again = Store.open(url)
    assert again.cell_usage() == {ann: second, bob: first}
    again.commit([[PutUsage(accounts={ann: first})], [ClearUsage()], [PutUsage(accounts={bob: second})]], 1, ())
    assert again.cell_usage() == {bob: second}
    again.close()


def _fields(one: CellCommit) -> dict[str, Any]:
    return {each.name: getattr(one, each.name) for each in dataclasses.fields(one)}
