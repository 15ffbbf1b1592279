"""Files that tell what the database has, for programs that read them: the job queue's log and the history of HTCondor,
the accounting of a Grid Engine cell.

The first two are options (JOB_QUEUE_LOG, HISTORY, PER_JOB_HISTORY_DIR). All are written in a thread of their own, in
the order of commits and after each; nothing waits for them but a queue that would get too far ahead.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from roost.config import Config
from roost.runtime.home import Home
from roost.runtime.queue.cell.accounting_file import AccountingFile
from roost.runtime.queue.cell.accounting_store import FILED
from roost.runtime.queue.history_file import HistoryFile
from roost.runtime.queue.job_queue_file import JobQueueFile
from roost.runtime.queue.store import Kept, Store
from roost.schedd import changes as ch
from roost.schedd.job_queue_log import Mirror
from roost.schedd.status import JobStatus

_log = logging.getLogger("roost.schedd")

#: Groups of changes that wait to be written; the queue goes on when there are fewer.
WAITING_MAX: Final = 200


class ExportedFiles:
    """Those of them that the configuration asks for."""

    def __init__(self, config: Config, home: Home, store: Store) -> None:
        self._store = store
        self._accounting = AccountingFile(home.cell_common / "accounting", store.lines_after)
        self._history = _history_of(config)
        self._log = config.get("JOB_QUEUE_LOG") or ""
        self._kept_max = config.get_int("MAX_JOB_QUEUE_LOG_ROTATIONS", 1)
        self._clean_s = float(config.get_int("QUEUE_CLEAN_INTERVAL", 86_400))
        self._mirror: JobQueueFile | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="copies")
        self._waiting: deque[Future[None]] = deque()

    @property
    def filed(self) -> int:
        """The last record of accounting that is in the file."""
        return self._accounting.filed

    def keep_accounting(self, *, wanted: bool) -> None:
        """Whether the cell wants an accounting file."""
        self._accounting.is_wanted = wanted

    def begin(self, kept: Kept) -> None:
        """The queue is what was kept; nothing has happened to it since."""
        self._accounting.begin(int(self._store.state(FILED) or 0))
        if self._history is not None:
            self._history.begin(self._store.history(limit=0))
        if self._log:
            mirror = Mirror()
            for each in kept.clusters:
                mirror.restore_cluster(
                    ch.PutCluster(
                        cluster=each.cluster, owner=each.owner, submitted_at=each.submitted_at, count=each.count,
                        ad=each.ad, plan=each.plan,
                    ),
                    each.gone,
                )  # fmt: skip
            for job in kept.jobs:
                mirror.restore_job(ch.PutJob(job=job.job, status=JobStatus(job.status), attributes=job.attributes))
            mirror.next_cluster = max(mirror.next_cluster, kept.next_cluster)
            self._mirror = JobQueueFile(Path(self._log), mirror, kept_max=self._kept_max, clean_s=self._clean_s)
            self._waiting.append(self._thread.submit(self._mirror.begin))

    def retry(self) -> None:
        """Try again what could not be written."""
        if self._accounting.is_behind and len(self._waiting) < WAITING_MAX:
            self._waiting.append(self._thread.submit(self._accounting.write))

    async def took(self, steps: Sequence[Sequence[ch.Change]]) -> None:
        """These changes are on disk."""
        if any(isinstance(change, ch.AddAccounting) for step in steps for change in step):
            self._waiting.append(self._thread.submit(self._accounting.write))
        elif self._mirror is None and self._history is None:
            return
        self._waiting.append(self._thread.submit(self._write, steps))
        while self._waiting and (self._waiting[0].done() or len(self._waiting) > WAITING_MAX):
            await asyncio.wrap_future(self._waiting.popleft())

    def _write(self, steps: Sequence[Sequence[ch.Change]]) -> None:
        try:
            self._write_all(steps)
        except Exception:
            # What others are told beside the queue must not stop the queue.
            _log.critical("internal error: copies of the queue are no longer written", exc_info=True)
            self._mirror = self._history = None

    def _write_all(self, steps: Sequence[Sequence[ch.Change]]) -> None:
        if self._mirror is not None:
            self._mirror.add(steps)
        if self._history is not None:
            ended = (change for step in steps for change in step if isinstance(change, ch.AddHistory))
            self._history.add(ad for change in ended for ad in change.ads())

    def close(self) -> None:
        """Write what waits, and go."""
        self._thread.shutdown(wait=True)


def _history_of(config: Config) -> HistoryFile | None:
    path, each = config.get("HISTORY") or "", config.get("PER_JOB_HISTORY_DIR") or ""
    if not path and not each:
        return None
    return HistoryFile(
        Path(path) if path else None,
        bytes_max=config.get_int("MAX_HISTORY_LOG", 20_971_520),
        kept_max=config.get_int("MAX_HISTORY_ROTATIONS", 2),
        each=Path(each) if each else None,
    )
