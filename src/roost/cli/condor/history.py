"""``condor_history``: jobs that have left the queue, newest first."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import JobSelection, is_meant, job_id, owner
from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option, given, number
from roost.cli.condor.printing.chosen import OUTPUT_OPTIONS, Output, Projection
from roost.cli.condor.printing.columns import Column, Mask, lines
from roost.cli.condor.printing.renderers import rendered
from roost.cli.condor.printing.rows import AdRow, needed
from roost.cli.pool_connection import Pool, Refused
from roost.cli.terminal import complain
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.schedd.records.history import Entry

OPTIONS: Final = (
    # It is first because -f is -file and not -format here, as in HTCondor.
    Option("file", "read jobs from a history file instead of the queue's history", takes="FILE", least=1),
    *OUTPUT_OPTIONS,
    Option("constraint", "only jobs for which EXPR is true", takes="EXPR", least=1),
    Option("limit", "at most N jobs", takes="N", least=3),
    Option("match", "the same", takes="N", least=1),
    Option("since", "stop at this job, or at the first for which EXPR is true", takes="ID|EXPR", least=1),
    Option("completedsince", "only jobs that completed at or after this time, epoch s", takes="TIME", least=2),
    Option("scanlimit", "examine at most N jobs", takes="N", least=3),
    Option("forwards", "oldest first", least=3),
    Option("backwards", "newest first (default)", least=1),
    Option("wide", "do not truncate lines", least=1, colon="N"),
    Option("directory", "with -epochs: read the files in JOB_EPOCH_HISTORY_DIR; has no effect otherwise", least=3),
    Option(
        "epochs",
        "runs of jobs, from JOB_EPOCH_HISTORY; `:d` with -directory deletes files all of whose runs are listed",
        least=1,
        colon="D",
    ),
    *PLACE_OPTIONS,
)
_TABLE: Final = Mask((
    Column("ClusterId", " ID", wide=5, form="%4d.", after=False, auto=True),
    Column("ProcId", " ", wide=3, form="%-3d", before=False, auto=True),
    Column("Owner", "OWNER", wide=14, left=True, cut=True, render=rendered("OWNER"), otherwise="??"),
    Column("QDate", "SUBMITTED", wide=11, render=rendered("QDATE")),
    Column("RemoteWallClockTime", "RUN_TIME", wide=12, render=rendered("RUNTIME")),
    Column("JobStatus", "ST", wide=2, left=True, auto=True, render=rendered("JOB_STATUS")),
    Column("CompletionDate", "COMPLETED", wide=11, render=lambda row, value: _completed(row)),
    Column("Cmd", "CMD", render=rendered("JOB_DESCRIPTION")),
))  # fmt: skip
_LOOKED_AT: Final = (
    "Owner", "QDate", "RemoteWallClockTime", "JobStatus", "CompletionDate", "Cmd", "Arguments", "Args",
    "JobDescription", "ClusterId", "ProcId",
)  # fmt: skip


def _completed(row: AdRow) -> str:
    from roost.cli.condor.printing.renderers import date

    at = row.whole("CompletionDate")
    return date(at) if at > 0 else "    ???    "


class _CommandLine:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.place = DaemonLocation()
        self.output = Output()
        self.choice = JobSelection()
        self.limit = 0
        self.scan_limit = 0
        self.since = ""
        self.file = ""
        self.wide = False
        self.forwards = False
        self.epochs = False
        self.directory = False
        self.delete = False
        for option in given(arguments, OPTIONS):
            if not (self.place.take(option) or self.output.take(option)):
                self._take(option)

    def _take(self, option: Given) -> None:
        match option.name:
            case "":
                self._positional(option.value)
            case "constraint":
                self.choice = self.choice.but(option.value)
            case "completedsince":
                self.choice = self.choice.but(f"CompletionDate >= {number(option)}")
            case "limit" | "match":
                self.limit = number(option)
            case "scanlimit":
                self.scan_limit = number(option)
            case "since":
                self.since = option.value
            case "file":
                self.file = option.value
            case "wide" | "forwards" | "directory":
                setattr(self, option.name, True)
            case "epochs":
                if (option.colon or "").lower() not in ("", "d"):
                    raise ToolError(f"Error: {option.written}: only d can follow the colon, which deletes")
                self.epochs, self.delete = True, bool(option.colon)

    def _positional(self, word: str) -> None:
        job = job_id(word)
        if job is not None:
            self.choice = self.choice._replace(jobs=(*self.choice.jobs, job))
        else:
            self.choice = self.choice.but(f'Owner == "{owner(word)}"')


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_history``."""
    order = _CommandLine(arguments)
    custom = order.output.custom
    if custom is not None and custom.where:
        order.choice = order.choice.but(custom.where)
    rows: Iterable[AdRow]
    if order.epochs:
        rows = _of_epochs(order)
    else:
        if order.directory:
            complain("WARNING: -directory has no effect without -epochs")
        rows = _of_file(order) if order.file else _of_queue(order)
    if order.since:
        rows = _until(rows, order.since)
    found = list(islice(rows, order.limit or None))
    if order.forwards:
        found.reverse()
    if order.output.is_own:
        order.output.print(found)
        return 0
    widest = 0 if order.wide or not sys.stdout.isatty() else _width()
    sys.stdout.writelines(lines(_TABLE._replace(widest=widest), found))
    return 0


def _width() -> int:
    from roost.cli.terminal import width

    return max(0, width() - 1)


def _of_queue(order: _CommandLine) -> list[AdRow]:
    beside = ("ClusterId", "ProcId", *((order.since,) if order.since else ()))
    wanted = order.output.wanted(*beside) if order.output.is_own else Projection(needed([*_LOOKED_AT, *beside]) or [])
    limit = order.limit or order.scan_limit

    def ask(pool: Pool) -> list[AdRow]:
        choice = order.choice
        request = queue.History(jobs=choice.jobs, constraint=choice.constraint, limit=limit, **wanted.asked())
        return wanted.rows(pool.ask(request))

    try:
        return order.place.ask(ask)
    except Refused as refused:
        raise ToolError(f"Error: {refused}") from None


def _until(rows: Iterable[AdRow], since: str) -> Iterator[AdRow]:
    """Rows up to the one at which to stop: a job or cluster by its number, or the first for which an expression is
    true.
    """
    job = job_id(since)
    for row in rows:
        if job is None:
            reached = row.value(since) is True
        else:
            reached = job in (str(row.value("ClusterId")), f"{row.value('ClusterId')}.{row.value('ProcId')}")
        if reached:
            return
        yield row


def _of_file(order: _CommandLine) -> Iterator[AdRow]:
    """The jobs of a history file, newest first."""
    from roost.schedd.records.history import BytesStore, FileStore, backwards

    if order.file == "-":
        yield from _meant(order, backwards(BytesStore(sys.stdin.buffer.read())))
        return
    try:
        with Path(order.file).open("rb") as file:
            yield from _meant(order, backwards(FileStore(file)))
    except OSError as error:
        raise ToolError(f"Error opening history file {order.file}: {error.strerror}") from None


def _of_epochs(order: _CommandLine) -> Iterator[AdRow]:
    """Runs of jobs, newest first."""
    from roost.cli.condor.asking import config as read
    from roost.runtime.queue.history_file import entries_of, epoch_files

    if order.file:
        raise ToolError("Error: -epochs and -file exclude each other")
    order.place.check_files()
    config = read()
    path, each = config.get("JOB_EPOCH_HISTORY") or "", config.get("JOB_EPOCH_HISTORY_DIR") or ""
    if order.directory:
        path = ""
    if not path and not each:
        knob = "JOB_EPOCH_HISTORY_DIR" if order.directory else "JOB_EPOCH_HISTORY"
        raise ToolError(f"Error: No Job Run Instance recordings to read: {knob} is not set")
    if order.delete and path:
        raise ToolError("Error: -epochs:d deletes files of JOB_EPOCH_HISTORY_DIR only; add -directory")
    if order.delete and (order.limit or order.scan_limit or order.since):
        raise ToolError("Error: -epochs:d cannot be used with -match, -limit, -scanlimit or -since")
    try:
        files = epoch_files(path, each)
        if not order.delete:
            yield from _meant(order, entries_of(files))
            return
        for file in files:
            size, runs = file.stat().st_size, list(entries_of([file]))
            meant = list(_meant(order, runs))
            yield from meant
            # A file with a run that was not listed stays.
            if len(meant) == len(runs) and file.stat().st_size == size:
                file.unlink()
    except OSError as error:
        raise ToolError(f"Error: cannot read the epoch history: {error.filename}: {error.strerror}") from None


def _meant(order: _CommandLine, entries: Iterable[Entry]) -> Iterator[AdRow]:
    for looked, entry in enumerate(entries, 1):
        if order.scan_limit and looked > order.scan_limit:
            return
        row = AdRow.of(entry.ad)
        if is_meant(row, order.choice):
            yield row
