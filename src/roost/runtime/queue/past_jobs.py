"""Answers of a queue about jobs that have left it.

The history is read and searched in separate threads, in batches: a long search delays neither the queue nor the
requests that need its other threads. Rows are sent as they are found.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from roost.classad import ClassAd, Expr
from roost.runtime.bus.budget import Budget
from roost.runtime.bus.job_rows import projected
from roost.runtime.queue.database.store import Store
from roost.wire.ads import ad_data

#: Maximum number of concurrent searches; further ones wait.
THREADS: Final = 2
#: Time limit of a batch, s of processor time.
_BATCH_S: Final = 0.2
#: Rows of a batch.
_BATCH_ROWS: Final = 2000

T = TypeVar("T")
#: Takes rows that were found.
Found = Callable[[list[Any]], Awaitable[None]]


class PastJobs:
    """Searches of the history of one queue."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="history")

    def close(self) -> None:
        """Stop searching."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def beside(self, work: Callable[[], T]) -> T:
        """Run a function in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def search(
        self,
        store: Store,
        wanted: list[tuple[int | None, int | None]],
        *,
        constraint: Expr | None,
        limit: int,
        shown: Callable[[ClassAd], Any],
        budget: Budget,
        found: Found,
    ) -> None:
        """Pass the rows of jobs to `found`, the last to leave first. Raises OverBudget."""
        loop = asyncio.get_running_loop()
        ads = _ads(store, wanted, limit if constraint is None else 0)
        sent = 0
        try:
            more = True
            while more:
                rows, took_s, more = await loop.run_in_executor(
                    self._threads, _batch, ads, constraint, limit - sent if limit else 0, shown, budget
                )
                budget.spend(took_s)
                budget.resume()
                await budget.pause()
                sent += len(rows)
                await found(rows)
        finally:
            await asyncio.shield(loop.run_in_executor(self._threads, ads.close))  # type: ignore[attr-defined]


def _ads(store: Store, wanted: list[tuple[int | None, int | None]], bound: int) -> Iterator[ClassAd]:
    for cluster, proc in wanted:
        yield from store.history(limit=bound, cluster=cluster, proc=proc)


def _batch(
    ads: Iterator[ClassAd], constraint: Expr | None, limit: int, shown: Callable[[ClassAd], Any], budget: Budget
) -> tuple[list[Any], float, bool]:
    """Some rows, the processor time that they took, s, and whether there are more. Raises OverBudget."""
    began = time.thread_time()
    rows: list[Any] = []
    for ad in ads:
        author, name = str(ad.cell("owner")), (ad.cell("clusterid"), ad.cell("procid"))
        if constraint is None or budget.fits(ad, constraint, author=author, name=name):
            rows.append(budget.run(shown, ad, author=author, name=name))
            if limit and len(rows) >= limit:
                return rows, time.thread_time() - began, False
        took_s = time.thread_time() - began
        if len(rows) >= _BATCH_ROWS or took_s > _BATCH_S:
            return rows, took_s, True
    return rows, time.thread_time() - began, False


def shown_as(projection: list[str], *, raw: bool, texts: frozenset[str]) -> Callable[[ClassAd], Any]:
    """The displayed form of an ad: some attributes, or all of it."""
    if not projection:
        return ad_data
    return lambda ad: projected(ad, projection, raw=raw, texts=texts)
