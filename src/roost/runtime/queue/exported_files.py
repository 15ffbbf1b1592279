"""Files with contents of the database, for programs that read them: HTCondor's job queue log and history, and a Grid
Engine cell's accounting and reporting files.

The first two are optional (JOB_QUEUE_LOG, HISTORY, JOB_EPOCH_HISTORY). All are written in a separate thread, in the
order of commits and after each; nothing waits for them, except that the queue pauses if it gets too far ahead.

An unforeseen failure stops neither the queue nor these files: after a pause, the job queue's log is rebuilt from the
database, and the files of the cell continue where they stopped.
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
from typing import Final, TypeVar

from roost.config import Config
from roost.runtime.database_guard import StoreError
from roost.runtime.home import Home
from roost.runtime.keep_going import FIRST_PAUSE_S, LONGEST_PAUSE_S
from roost.runtime.queue.database.accounting_store import FILED
from roost.runtime.queue.database.kept import KeptJobs
from roost.runtime.queue.database.reporting_store import REPORTED
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.filed_lines import LineFile
from roost.runtime.queue.history_file import EpochFile, HistoryFile
from roost.runtime.queue.job_queue_file import JobQueueFile
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.schedd.records.job_queue_log import Mirror
from roost.schedd.status import JobStatus

F = TypeVar("F", bound=HistoryFile)

_log = logging.getLogger("roost.schedd")

#: Maximum number of groups of changes waiting to be written; the queue pauses while there are more.
WAITING_MAX: Final = 200

_REPORTS_LATE: Final = "the reporting file is not up to date: %s; its lines wait in the queue's database"


class _Part:
    """One of the files, which is left alone for a while after an unforeseen failure."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pause_s = FIRST_PAUSE_S
        self._again_at = 0.0
        self.has_failed = False

    @property
    def is_due(self) -> bool:
        """Whether there is something to retry now."""
        return self.has_failed and time.monotonic() >= self._again_at

    def do(self, work: Callable[[], None]) -> None:
        """Do some work; log a failure."""
        try:
            work()
        except StoreError as error:
            self._failed()
            _log.error("%s waits: %s", self._name, error)
        except Exception:
            self._failed()
            _log.critical(
                "internal error: %s was not written; trying again in %g s",
                self._name, self._pause_s, exc_info=True,
            )  # fmt: skip
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        else:
            self.has_failed, self._pause_s = False, FIRST_PAUSE_S

    def _failed(self) -> None:
        self.has_failed, self._again_at = True, time.monotonic() + self._pause_s


class ExportedFiles:
    """The files that the configuration enables."""

    def __init__(self, config: Config, home: Home, store: Store) -> None:
        self._store = store
        #: SGE_ROOT of commands on this machine.
        self.sge_root = str(home.cell_common.parent.parent)
        self._accounting = LineFile(home.cell_common / "accounting", store.lines_after)
        self._reports = LineFile(home.cell_common / "reporting", store.reports_after, _REPORTS_LATE)
        self._history = _file_of(
            HistoryFile,
            config.get("HISTORY"),
            config.get("PER_JOB_HISTORY_DIR"),
            bytes_max=config.get_int("MAX_HISTORY_LOG", 20_971_520),
            kept_max=config.get_int("MAX_HISTORY_ROTATIONS", 2),
        )
        self._epochs = _file_of(
            EpochFile,
            config.get("JOB_EPOCH_HISTORY"),
            config.get("JOB_EPOCH_HISTORY_DIR"),
            bytes_max=config.get_int("MAX_EPOCH_HISTORY_LOG", 20_971_520),
            kept_max=config.get_int("MAX_EPOCH_HISTORY_ROTATIONS", 2),
        )
        self._log = config.get("JOB_QUEUE_LOG") or ""
        self._kept_max = config.get_int("MAX_JOB_QUEUE_LOG_ROTATIONS", 1)
        self._clean_s = float(config.get_int("QUEUE_CLEAN_INTERVAL", 86_400))
        self._mirror: JobQueueFile | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="copies")
        self._waiting: deque[Future[None]] = deque()
        self._mirror_part = _Part("the mirror of the job queue")
        #: Files of the cell, each with the kind of change that adds lines.
        self._cell_files = (
            (_Part("the accounting file"), self._accounting, ch.AddAccounting),
            (_Part("the reporting file"), self._reports, ch.AddReports),
        )

    @property
    def filed(self) -> int:
        """The last accounting record that is in the file."""
        return self._accounting.filed

    @property
    def reported(self) -> int:
        """The last line of the reporting file that has been written."""
        return self._reports.filed

    @property
    def records_epochs(self) -> bool:
        """Whether finished runs are recorded."""
        return self._epochs is not None

    def keep_accounting(self, *, wanted: bool) -> None:
        """Set whether the cell wants an accounting file."""
        self._accounting.is_wanted = wanted

    def begin(self, kept: KeptJobs) -> None:
        """Start with the stored state of the queue; nothing has happened to it since."""
        self._accounting.begin(int(self._store.state(FILED) or 0))
        self._reports.begin(int(self._store.state(REPORTED) or 0))
        if self._history is not None:
            self._history.begin(self._store.history(limit=0))
        if self._epochs is not None:
            self._epochs.begin(())
        if self._log:
            self._mirror = self._mirror_of(kept)
            self._submit(self._mirror_part, self._mirror.begin)

    def _mirror_of(self, kept: KeptJobs) -> JobQueueFile:
        mirror = Mirror()
        for each in kept.clusters:
            mirror.restore_cluster(
                ch.PutCluster(
                    cluster=each.cluster, owner=each.owner, submitted_at=each.submitted_at, count=each.count,
                    ad=each.ad, plan=each.plan, factory=each.factory,
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
        """Retry what could not be written."""
        if len(self._waiting) >= WAITING_MAX:
            return
        for part, file, _ in self._cell_files:
            if part.is_due or (file.is_behind and not part.has_failed):
                self._submit(part, file.write)
        if self._mirror_part.is_due:
            self._submit(self._mirror_part, self._mirror_anew)

    async def took(self, steps: Sequence[Sequence[ch.Change]]) -> None:
        """Note that these changes are committed."""
        kinds = {change.__class__ for step in steps for change in step}
        for part, file, kind in self._cell_files:
            if kind in kinds and not part.has_failed:
                self._submit(part, file.write)
        if self._mirror is not None or self._history is not None or self._epochs is not None:
            self._waiting.append(self._thread.submit(self._write, steps))
        while self._waiting and (self._waiting[0].done() or len(self._waiting) > WAITING_MAX):
            await asyncio.wrap_future(self._waiting.popleft())

    def took_reports(self) -> None:
        """Note committed lines of the reporting file that do not result from a step of the queue."""
        part, file, _ = self._cell_files[1]
        if not part.has_failed:
            self._submit(part, file.write)

    def _write(self, steps: Sequence[Sequence[ch.Change]]) -> None:
        # A failure to write files for other programs on the queue's machine must not stop the queue.
        if self._mirror is not None and not self._mirror_part.has_failed:
            self._mirror_part.do(partial(self._mirror.add, steps))
        for change in (change for step in steps for change in step):
            if isinstance(change, ch.AddHistory) and self._history is not None:
                self._add_history(self._history, change)
            elif isinstance(change, ch.AddEpoch) and self._epochs is not None:
                self._add_epoch(self._epochs, change)

    def _add_history(self, history: HistoryFile, change: ch.AddHistory) -> None:
        try:
            history.add(change.ads())
        except Exception:
            last = "" if change.last is None else f" to {JobId(change.job.cluster, change.last)}"
            _log.critical(
                "internal error: %s%s: some jobs are missing from the history file; `roost history` lists them",
                change.job, last, exc_info=True,
            )  # fmt: skip

    def _add_epoch(self, epochs: EpochFile, change: ch.AddEpoch) -> None:
        try:
            epochs.add((change.ad,))
        except Exception:
            _log.critical("internal error: a run is missing from the epoch history", exc_info=True)

    def _mirror_anew(self) -> None:
        """Rebuild the log from the database; waiting changes lead from there to the same state again."""
        self._mirror = self._mirror_of(self._store.kept_jobs())
        self._mirror.begin()

    def close(self) -> None:
        """Write what waits, and stop."""
        self._thread.shutdown(wait=True)


def _file_of(kind: type[F], path: str | None, each: str | None, *, bytes_max: int, kept_max: int) -> F | None:
    if not path and not each:
        return None
    return kind(
        Path(path) if path else None,
        bytes_max=bytes_max,
        kept_max=kept_max,
        each=Path(each) if each else None,
    )
