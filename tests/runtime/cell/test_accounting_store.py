"""Records of accounting in the database: found by job, name and time, and summed by what they have in common."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from roost.gridengine.accounting_lines import line_of
from roost.model.cell_accounting import AccountingRecord
from roost.runtime.queue.database import accounting_store
from roost.runtime.queue.database.accounting_store import Wanted, lines, sums
from roost.runtime.queue.database.store import Store
from roost.schedd.changes import AddAccounting

RUN = AccountingRecord(queue="all.q", host="a", group="g", owner="ann", job_name="x", job=1)


def some(count: int, rng: random.Random) -> list[AccountingRecord]:
    """Records of jobs from 1 on; figures are whole, so that sums are exact."""
    found = []
    for number in range(1, count + 1):
        start = rng.randrange(1000, 2000)
        found.append(
            replace(
                RUN, job=number // 3 + 1, task=number % 3, job_name=rng.choice(("x", "xy", "z:1")),
                host=rng.choice("abcde"), owner=rng.choice(("ann", "bob", "eve")), account=rng.choice(("sge", "q")),
                slots=rng.choice((1, 4)), started=start, ended=start + 9, wallclock_s=rng.randrange(9),
                resources={"ru_utime": float(rng.randrange(9))}, cpu_s=float(rng.randrange(9)),
            )
        )  # fmt: skip
    return found


def filled(url: str, records: list[AccountingRecord]) -> Store:
    store = Store.open(url)
    with store.database.changing() as connection:
        for table in (accounting_store.RECORDS, accounting_store.SUMS, accounting_store.KINDS):
            connection.execute(table.delete())
    for first in range(0, len(records), 7):
        store.commit([[AddAccounting(record=each) for each in records[first : first + 7]]], 1, ())
    return store


@pytest.mark.parametrize("known_max", [3, 20_000])
def test_records_are_found_and_summed_exactly(url: str, monkeypatch: pytest.MonkeyPatch, known_max: int) -> None:
    monkeypatch.setattr(accounting_store, "KNOWN_MAX", known_max)
    records = some(200, random.Random(3))
    store = filled(url, records)
    cases: list[tuple[Wanted, Any]] = [
        (Wanted(), lambda one: True),
        (Wanted(kinds=lambda kind: kind.owner == "bob"), lambda one: one.owner == "bob"),
        (Wanted(since=1200, until=1500), lambda one: 1200 <= one.started <= 1500),
        (Wanted(since=1200, until=1500, by_end=True), lambda one: 1200 <= one.ended <= 1500),
        (Wanted(kinds=lambda kind: False), lambda one: False),
    ]
    for known in (True, False):
        # Both ways of choosing kinds, and a store that knows nothing of what it wrote.
        monkeypatch.setattr(accounting_store, "_FEW", 500 if known else 0)
        with store.database.reading() as connection:
            for wanted, means in cases:
                chosen = [one for one in records if means(one)]
                assert list(lines(connection, wanted)) == [line_of(one) for one in chosen]
                found = list(sums(connection, wanted))
                runs = Counter((one.host, one.owner, one.slots, one.account) for one in chosen)
                assert {(k.host, k.owner, k.slots, k.account): count for k, count, _ in found} == runs
                totals = [sum(figures[at] for _, _, figures in found) for at in (0, 1, 3)]
                assert totals == [
                    sum(one.wallclock_s for one in chosen), sum(one.resources["ru_utime"] for one in chosen),
                    sum(one.cpu_s for one in chosen),
                ]  # fmt: skip
            for wanted, means in [
                (Wanted(job=7), lambda one: one.job == 7),
                (Wanted(job=7, tasks=frozenset((1, 2))), lambda one: one.job == 7 and one.task in (1, 2)),
                (Wanted(name="x"), lambda one: one.job_name == "x"),
                (Wanted(name="x*", is_pattern=True), lambda one: one.job_name[0] == "x"),
                (Wanted(name="z_1", tasks=frozenset((2,))), lambda one: one.job_name[0] == "z" and one.task == 2),
            ]:  # fmt: skip
                assert list(lines(connection, wanted)) == [line_of(one) for one in records if means(one)]
    store.close()
