"""Questions of `qacct` to a queue's database with many ended runs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.measure import Row
from roost.model.cell_accounting import AccountingRecord
from roost.runtime.queue.database.accounting_store import AccountingWriter, SummaryKey, Wanted, lines, sums
from roost.runtime.queue.database.store import Store

#: What is wanted, s of processor time: 1,000,000 records of 50 users on 100 hosts with 3 queues.
WANTED_S: Final = 1.0
RUNS: Final = 1_000_000
_AT_ONCE: Final = 20_000
_BEGAN: Final = 1_790_000_000


def _record(number: int) -> AccountingRecord:
    start = _BEGAN + number * 20
    return AccountingRecord(
        queue=f"q{number % 3}.q", host=f"node{number // 3 % 100}", group="g", owner=f"user{number // 7 % 50}",
        job_name=f"job{number // 11 % 2000}", job=number // 4 + 1, task=number % 4, started=start, ended=start + 60,
        wallclock_s=60, resources={"ru_utime": 50.0, "ru_stime": 1.5}, cpu_s=51.5, mem=0.5,
    )  # fmt: skip


def _is_of_user(kind: SummaryKey) -> bool:
    return kind.owner == "user7"


def fill(path: Path, runs: int) -> float:
    """Add records to a queue's database, which is made if it is missing; the time that each took, us."""
    store = Store.open(f"sqlite:///{path}")
    writer, began = AccountingWriter(), time.process_time()
    for first in range(0, runs, _AT_ONCE):
        with store.database.changing() as connection:
            writer.write(connection, [_record(number) for number in range(first, first + _AT_ONCE)])
    store.close()
    return (time.process_time() - began) / runs * 1e6


def run(*, quick: bool) -> Iterator[Row]:
    """Measure sums of all, of one user and of a third of the time, and a job, a name and a pattern of names."""
    runs = RUNS // 10 if quick else RUNS
    third = runs // 3 * 20
    asked: tuple[tuple[str, Any, Wanted], ...] = (
        ("sums of all", sums, Wanted()),
        ("sums of a user", sums, Wanted(kinds=_is_of_user)),
        ("sums of a third of the time", sums, Wanted(since=_BEGAN + third, until=_BEGAN + 2 * third)),
        ("a job", lines, Wanted(job=777)),
        ("a name", lines, Wanted(name="job77")),
        ("a pattern of names", lines, Wanted(name="job7?7", is_pattern=True)),
    )
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as place:
        path = Path(place) / "queue.sqlite"
        built_us = fill(path, runs)
        store = Store.open(f"sqlite:///{path}")
        with store.database.reading() as connection:
            for name, ask, wanted in asked:
                elapsed, began = time.perf_counter(), time.process_time()
                rows = sum(1 for _ in ask(connection, wanted))
                used_s, elapsed = time.process_time() - began, time.perf_counter() - elapsed
                yield Row(
                    name=f"accounting: {name} among {runs:,} runs",
                    ratio=WANTED_S / used_s,
                    wanted=None if quick else 1.0,
                    detail=f"{used_s:.3f} s of processor, {elapsed:.3f} s elapsed, {rows:,} rows; "
                    f"a record took {built_us:.0f} us to add",
                )
        store.close()
