"""Answers of a queue about finished runs of its jobs in a cell: sums of them, or their lines of the accounting file.

The database is searched in the history's threads, in batches, and rows are sent as they are found.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any, Final

from roost.base.records import replace
from roost.runtime.bus.budget import Budget
from roost.runtime.queue.database.accounting_store import FIGURES, SummaryKey, Wanted, lines, sums
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.past_jobs import PastJobs
from roost.wire.requests.cell import AccountingLines, AccountingSum, AccountingSums
from roost.wire.structs import data_of

#: Rows of a batch.
_BATCH_ROWS: Final = 2000
_WILD: Final = frozenset("*?[")
#: Fields of a request that a kind also has.
_EXACT: Final = ("group", "owner", "project", "department", "environment", "slots", "account")

Found = Callable[[list[Any]], Awaitable[None]]


async def search(
    past: PastJobs, store: Store, asked: AccountingSums | AccountingLines, *, budget: Budget, found: Found
) -> None:
    """Pass rows to `found`. Raises OverBudget."""
    rows = _rows(store, asked)
    try:
        while batch := await past.beside(lambda: list(itertools.islice(rows, _BATCH_ROWS))):
            budget.resume()
            await budget.pause()
            await found(batch)
    finally:
        await past.beside(rows.close)  # type: ignore[attr-defined]


def _rows(store: Store, asked: AccountingSums | AccountingLines) -> Iterator[Any]:
    wanted = _wanted(asked)
    with store.database.reading() as connection:
        if isinstance(asked, AccountingLines):
            yield from lines(connection, wanted)
            return
        found: dict[tuple[Any, ...], list[float]] = {}
        for kind, runs, amounts in sums(connection, wanted):
            key = tuple(getattr(kind, name) for name in asked.by)
            total = found.setdefault(key, [0.0] * (len(FIGURES) + 1))
            for at, figure in enumerate((*amounts, runs)):
                total[at] += figure
    for key, total in found.items():
        named = dict(zip(asked.by, key, strict=True))
        figures = dict(zip(FIGURES, total, strict=False))
        yield data_of(AccountingSum(runs=int(total[-1]), figures=figures, **named))


def _wanted(asked: AccountingSums | AccountingLines) -> Wanted:
    some = Wanted(kinds=_chooser(asked), since=asked.since, until=asked.until, by_end=asked.by_end)
    if not isinstance(asked, AccountingLines):
        return some
    is_pattern = not _WILD.isdisjoint(asked.name)
    return replace(some, job=asked.job, tasks=frozenset(asked.tasks), name=asked.name, is_pattern=is_pattern)


def _chooser(asked: AccountingSums | AccountingLines) -> Callable[[SummaryKey], bool] | None:
    """A filter of kinds of records; None if all are selected."""
    exact = {name: value for name in _EXACT if (value := getattr(asked, name)) is not None}
    host = None if asked.host is None else asked.host.lower()
    if not exact and host is None and not asked.instances:
        return None

    def means(kind: SummaryKey) -> bool:
        if any(getattr(kind, name) != value for name, value in exact.items()):
            return False
        if host is not None and kind.host.lower() != host:
            return False
        instance = f"{kind.queue}@{kind.host}"
        return not asked.instances or any(fnmatchcase(instance, each) for each in asked.instances)

    return means
