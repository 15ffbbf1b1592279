"""Files that tell what the database has, for programs that read them: the job queue's log and the history of HTCondor,
the accounting and the reporting file of a Grid Engine cell.

The first two are options (JOB_QUEUE_LOG, HISTORY, PER_JOB_HISTORY_DIR). All are written in a thread of their own, in
the order of commits and after each; nothing waits for them but a queue that would get too far ahead.

An unforeseen failure stops neither the queue nor these files: after a pause, the job queue's log is made anew from the
database, and the files of the cell go on where they stopped.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from roost.config import Config
from roost.runtime.database_guard import StoreError
from roost.runtime.home import Home
from roost.runtime.keep_going import FIRST_PAUSE_S, LONGEST_PAUSE_S
from roost.runtime.queue.cell.accounting_store import FILED
from roost.runtime.queue.cell.filed_lines import LineFile
from roost.runtime.queue.cell.reporting_store import REPORTED
from roost.runtime.queue.history_file import HistoryFile
from roost.runtime.queue.job_queue_file import JobQueueFile
from roost.runtime.queue.store import KeptJobs, Store
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.schedd.records.job_queue_log import Mirror
from roost.schedd.status import JobStatus

_log = logging.getLogger("roost.schedd")

#: Groups of changes that wait to be written; the queue goes on when there are fewer.
WAITING_MAX: Final = 200

_REPORTS_LATE: Final = "the reporting file is not up to date: %s; its lines wait in the queue's database"


class _Part:
    """One of the files, whose work is left alone for a while after an unforeseen failure."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pause_s = FIRST_PAUSE_S
        self._again_at = 0.0
        self.has_failed = False

    @property
    def is_due(self) -> bool:
        """Whether there is something to be taken up again now."""
        return self.has_failed and time.monotonic() >= self._again_at

    def do(self, work: Callable[[], None]) -> None:
        """Do some work; a failure is logged."""
        try:
            work()
        except StoreError as error:
            self._failed()
            _log.error("%s waits: %s", self._name, error)
        except Exception:
            self._failed()
            _log.critical(
                "internal error: %s is not written; it is taken up again in %g s",
                self._name, self._pause_s, exc_info=True,
            )  # fmt: skip
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        else:
            self.has_failed, self._pause_s = False, FIRST_PAUSE_S

    def _failed(self) -> None:
        self.has_failed, self._again_at = True, time.monotonic() + self._pause_s


class ExportedFiles:
    """Those of them that the configuration asks for."""

    def __init__(self, config: Config, home: Home, store: Store) -> None:
        self._store = store
        #: SGE_ROOT of commands on this machine.
        self.sge_root = str(home.cell_common.parent.parent)
        self._accounting = LineFile(home.cell_common / "accounting", store.lines_after)
        self._reports = LineFile(home.cell_common / "reporting", store.reports_after, _REPORTS_LATE)
        self._history = _history_of(config)
        self._log = config.get("JOB_QUEUE_LOG") or ""
        self._kept_max = config.get_int("MAX_JOB_QUEUE_LOG_ROTATIONS", 1)
        self._clean_s = float(config.get_int("QUEUE_CLEAN_INTERVAL", 86_400))
        self._mirror: JobQueueFile | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="copies")
        self._waiting: deque[Future[None]] = deque()
        self._mirror_part = _Part("the mirror of the job queue")
        #: Files of the cell, each with the kind of change that brings new lines.
        self._cell_files = (
            (_Part("the accounting file"), self._accounting, ch.AddAccounting),
            (_Part("the reporting file"), self._reports, ch.AddReports),
        )

    @property
    def filed(self) -> int:
        """The last record of accounting that is in the file."""
        return self._accounting.filed

    @property
    def reported(self) -> int:
        """The last line of the reporting file that is in it."""
        return self._reports.filed

    def keep_accounting(self, *, wanted: bool) -> None:
        """Whether the cell wants an accounting file."""
        self._accounting.is_wanted = wanted

    def begin(self, kept: KeptJobs) -> None:
        """The queue is what was kept; nothing has happened to it since."""
        self._accounting.begin(int(self._store.state(FILED) or 0))
        self._reports.begin(int(self._store.state(REPORTED) or 0))
        if self._history is not None:
            self._history.begin(self._store.history(limit=0))
        if self._log:
            self._mirror = self._mirror_of(kept)
            self._submit(self._mirror_part, self._mirror.begin)

    def _mirror_of(self, kept: KeptJobs) -> JobQueueFile:
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
        return JobQueueFile(Path(self._log), mirror, kept_max=self._kept_max, clean_s=self._clean_s)

    def _submit(self, part: _Part, work: Callable[[], None]) -> None:
        self._waiting.append(self._thread.submit(part.do, work))

    def retry(self) -> None:
        """Try again what could not be written."""
        if len(self._waiting) >= WAITING_MAX:
            return
        for part, file, _ in self._cell_files:
            if part.is_due or (file.is_behind and not part.has_failed):
                self._submit(part, file.write)
        if self._mirror_part.is_due:
            self._submit(self._mirror_part, self._mirror_anew)

    async def took(self, steps: Sequence[Sequence[ch.Change]]) -> None:
        """These changes are on disk."""
        kinds = {change.__class__ for step in steps for change in step}
        for part, file, kind in self._cell_files:
            if kind in kinds and not part.has_failed:
                self._submit(part, file.write)
        if self._mirror is not None or self._history is not None:
            self._waiting.append(self._thread.submit(self._write, steps))
        while self._waiting and (self._waiting[0].done() or len(self._waiting) > WAITING_MAX):
            await asyncio.wrap_future(self._waiting.popleft())

    def took_reports(self) -> None:
        """Lines of the reporting file are on disk that no step of the queue has led to."""
        part, file, _ = self._cell_files[1]
        if not part.has_failed:
            self._submit(part, file.write)

    def _write(self, steps: Sequence[Sequence[ch.Change]]) -> None:
        # What others are told beside the queue must not stop the queue.
        if self._mirror is not None and not self._mirror_part.has_failed:
            self._mirror_part.do(partial(self._mirror.add, steps))
        if self._history is not None:
            for change in (change for step in steps for change in step if isinstance(change, ch.AddHistory)):
                self._add_history(self._history, change)

    def _add_history(self, history: HistoryFile, change: ch.AddHistory) -> None:
        try:
            history.add(change.ads())
        except Exception:
            last = "" if change.last is None else f" to {JobId(change.job.cluster, change.last)}"
            _log.critical(
                "internal error: %s%s: not all are in the history file; `roost history` has them",
                change.job, last, exc_info=True,
            )  # fmt: skip

    def _mirror_anew(self) -> None:
        """Make the log of what the database has; changes that still wait here lead from there to the same again."""
        self._mirror = self._mirror_of(self._store.kept_jobs())
        self._mirror.begin()

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
