"""The records of runs as the node writes them: whose run it is, and how it ended, until its queue has stored that.

Both are lines of the run's record (`records`), to which the shepherd adds its own. A record is removed when it is no
longer needed: the run is finished, and the queue has confirmed the report if there is one.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import logging
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from roost.classad import ClassAd
from roost.model.starter import Usage
from roost.runtime.processes.run_records import SUFFIX, RunRecord, read_record
from roost.runtime.processes.spawn_order import ProcessEnd
from roost.wire.codec import encode, expect
from roost.wire.errors import WireError
from roost.wire.messages import RunEnded

_log = logging.getLogger("roost.node")

#: Characters that must be encoded in a name, and those that need not.
_MARKS: Final = re.compile("[#@]")
_ODD: Final = re.compile("[^A-Za-z0-9.#@-]|#.*#|@.*[#@]")
_UNFIT: Final = re.compile("[^A-Za-z0-9.-]")

_HOW: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


class Reports:
    """The records of one machine's runs, and the reports that queues have not confirmed yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        #: The same as text: a path is joined three times per run.
        self._prefix = f"{directory}/"
        #: Run to queue and report.
        self._waiting: dict[str, tuple[str, RunEnded]] = {}
        #: Runs in progress.
        self._open: set[str] = set()
        #: Runs whose identity could not be recorded, and why.
        self._unkept: dict[str, str] = {}
        #: First lines of records that could not be written.
        self._tickets: dict[str, bytes] = {}
        #: Records that could not be read at startup, and why.
        self._unreadable: dict[Path, str] = {}
        self._none = asyncio.Event()
        self._none.set()

    def load(self) -> dict[str, RunRecord]:
        """Read the records that an earlier daemon kept: run to its record."""
        found = {}
        for path in sorted(self._directory.glob(f"*{SUFFIX}")):
            try:
                record = read_record(path)
            except OSError as error:
                # It is left as it is. A slot's part in the run is ended (`takeover`).
                self._unreadable[path] = error.strerror or str(error)
                _log.error("cannot read %s: %s; remove it", path, error.strerror)
                continue
            run = record.ticket.get("run") or next((key.rpartition("/")[0] or key for key in record.keys), "")
            if not run or self.record(run) != path:
                try:
                    path.unlink(missing_ok=True)
                    _log.error("%s does not belong to a run: removed", path)
                except OSError as error:
                    _log.error("%s does not belong to a run, and cannot be removed: %s", path, error.strerror)
                continue
            found[run] = record
            if record.report is not None:
                self._load_report(run, record)
        return found

    def unreadable(self) -> str:
        """The records that could not be read at startup and still exist, in a sentence; "" for none."""
        self._unreadable = {path: why for path, why in self._unreadable.items() if path.exists()}
        if not self._unreadable:
            return ""
        path, why = next(iter(self._unreadable.items()))
        others = len(self._unreadable) - 1
        more = f" and {others} more" if others else ""
        return (
            f"cannot read the records of runs: {path}{more} ({why}); their remaining processes were killed, "
            f"and their jobs run again. Remove the {'files' if others else 'file'}"
        )

    def _load_report(self, run: str, record: RunRecord) -> None:
        try:
            message = expect(RunEnded, msgspec.json.encode(record.report))
        except WireError as error:
            _log.error("cannot read the report of %s: %s", run, error)
            return
        self._waiting[run] = (record.schedd, message)
        self._none.clear()

    def record(self, run: str) -> Path:
        """The path of the record of a run."""
        return self._directory / f"{file_name(run)}{SUFFIX}"

    def begin(self, run: str, *, schedd: str, claim_id: str, slot: str) -> None:
        """Record the beginning of a run, so that its end can be reported whatever else is lost."""
        self._open.add(run)
        ticket = {"run": run, "schedd": schedd, "claim_id": claim_id, "slot": slot}
        line = msgspec.json.encode({"ticket": ticket})
        try:
            self._add(run, line)
        except OSError:
            # No program is started before it exists.
            self._tickets[run] = line

    def begins_program(self, run: str, record: dict[str, Any]) -> None:
        """Record the state of slot and starter before the program is started, for a later daemon."""
        try:
            if run in self._tickets:
                self._add(run, self._tickets[run])
                del self._tickets[run]
            self._add(run, msgspec.json.encode(record))
            self._unkept.pop(run, None)
        except OSError as error:
            self._unkept[run] = f"cannot write {self.record(run)}: {error.strerror}"

    def problem(self, run: str) -> str:
        """Why a program must not be started: it would be unknown after this daemon ends; "" if it may be started."""
        return self._unkept.get(run, "")

    def resume(self, run: str) -> None:
        """Note that a run of an earlier daemon continues."""
        self._open.add(run)

    def done(self, run: str) -> None:
        """Note that the run is finished."""
        self._open.discard(run)
        self._unkept.pop(run, None)
        self._tickets.pop(run, None)
        if run not in self._waiting:
            self._remove(run)

    def keep(self, schedd: str, message: RunEnded) -> None:
        """Store a report; a full disk does not prevent it from being sent."""
        self._waiting[message.run] = (schedd, message)
        self._none.clear()
        try:
            line = b'{"schedd": ' + msgspec.json.encode(schedd) + b', "report": ' + encode(message) + b"}"
            self._add(message.run, line)
        except OSError as error:
            _log.error("cannot save the report of %s: %s", message.run, error)

    def taken(self, runs: Iterable[str]) -> None:
        """Note that queues have stored these."""
        for run in runs:
            if self._waiting.pop(run, None) is not None and run not in self._open:
                self._remove(run)
        if not self._waiting:
            self._none.set()

    def waiting(self) -> list[tuple[str, RunEnded]]:
        """Queue and report of all reports that have not been confirmed."""
        return list(self._waiting.values())

    def run_of(self, claim_id: str) -> str:
        """The run on a claim whose report has not been confirmed; "" if there is none."""
        return next((report.run for _, report in self._waiting.values() if report.claim_id == claim_id), "")

    def __contains__(self, run: str) -> bool:
        return run in self._waiting

    async def all_taken(self) -> None:
        """Wait until nothing is left."""
        await self._none.wait()

    def _add(self, run: str, line: bytes) -> None:
        """Append a line in one write: a process that is killed leaves all of it or nothing."""
        descriptor = os.open(f"{self._prefix}{file_name(run)}{SUFFIX}", _HOW, 0o600)
        try:
            # An earlier line may have been truncated by a full disk.
            line = b"\n" + line + b"\n"
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(descriptor)

    def _remove(self, run: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(f"{self._prefix}{file_name(run)}{SUFFIX}")  # noqa: PTH108


@lru_cache(maxsize=1024)
def file_name(run: str) -> str:
    """The file name for a run or a slot; it is unique."""
    plain = _MARKS.sub("_", run, count=2)
    if not _ODD.search(run):
        return plain
    digest = hashlib.blake2b(run.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
    return f"{_UNFIT.sub('_', plain)[:160]}-{digest}"


def last_usage(end: ProcessEnd) -> Usage:
    """The usage of a job at its end."""
    return Usage(
        image_size_kib=end.max_resident_kib,
        resident_kib=end.max_resident_kib,
        user_cpu_s=end.user_cpu_s,
        system_cpu_s=end.system_cpu_s,
        process_count=0,
        io_bytes=end.io_bytes,
    )


def out_of_memory(end: ProcessEnd, job_ad: ClassAd) -> str:
    """Why the kernel killed a job because of its memory; "" if it did not."""
    if end.out_of_memory is None:
        return ""
    limit, peak = (-(-size // 2**20) for size in end.out_of_memory)
    requested = job_ad.eval("RequestMemory") if "RequestMemory" in job_ad else None
    asked = f" (request_memory is {requested} MB)" if isinstance(requested, int | float) else ""
    return (
        f"The job was killed because it reached the memory limit of its slot, {limit} MB{asked}; its largest use was "
        f"{peak} MB. Submit it with a higher request_memory"
    )
