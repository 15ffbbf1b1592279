"""``condor_history``: jobs that have left the queue, the last first."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from roost.cli.condor.asking import PLACE_OPTIONS, Place
from roost.cli.condor.choosing import Choice, is_meant, job_id, owner
from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option, given, number
from roost.cli.condor.printing.chosen import OUTPUT_OPTIONS, Output, Wanted
from roost.cli.condor.printing.columns import Column, Mask, lines
from roost.cli.condor.printing.renderers import rendered
from roost.cli.condor.printing.rows import Row, needed
from roost.cli.pool import Pool, Refused
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.schedd.records.history import Entry

OPTIONS: Final = (
    # It stands first, since -f is -file and not -format here, as in HTCondor.
    Option("file", "jobs of a history file, instead of the queue's", takes="FILE", least=1),
    *OUTPUT_OPTIONS,
    Option("constraint", "jobs for which this is true", takes="EXPR", least=1),
    Option("limit", "at most N jobs", takes="N", least=3),
    Option("match", "the same", takes="N", least=1),
    Option("since", "stop at this job, or where this is true", takes="ID|EXPR", least=1),
    Option("completedsince", "jobs that were done at or after this time, epoch s", takes="TIME", least=2),
    Option("scanlimit", "look at no more than N jobs", takes="N", least=3),
    Option("forwards", "the oldest first", least=3),
    Option("backwards", "the last first (default)", least=1),
    Option("wide", "lines as long as they are", least=1, colon="N"),
    Option("directory", "accepted, without effect", least=3),
    Option("epochs", "not kept by Roost: nothing is printed", least=1, colon="D"),
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


def _completed(row: Row) -> str:
    from roost.cli.condor.printing.renderers import date

    at = row.whole("CompletionDate")
    return date(at) if at > 0 else "    ???    "


class _Order:
    """What the command line says."""

    def __init__(self, arguments: list[str]) -> None:
        self.place = Place()
        self.output = Output()
        self.choice = Choice()
        self.limit = 0
        self.scan_limit = 0
        self.since = ""
        self.file = ""
        self.wide = False
        self.forwards = False
        self.epochs = False
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
            case "wide" | "forwards" | "epochs":
                setattr(self, option.name, True)

    def _positional(self, word: str) -> None:
        job = job_id(word)
        if job is not None:
            self.choice = self.choice._replace(jobs=(*self.choice.jobs, job))
        else:
            self.choice = self.choice.but(f'Owner == "{owner(word)}"')


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_history``."""
    order = _Order(arguments)
    if order.epochs:
        return 0
    custom = order.output.custom
    if custom is not None and custom.where:
        order.choice = order.choice.but(custom.where)
    rows: Iterable[Row] = _of_file(order) if order.file else _of_queue(order)
    if order.since:
        rows = _until(rows, order.since)
    found = list(rows)[: order.limit or None]
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


def _of_queue(order: _Order) -> list[Row]:
    beside = ("ClusterId", "ProcId", *((order.since,) if order.since else ()))
    wanted = order.output.wanted(*beside) if order.output.is_own else Wanted(needed([*_LOOKED_AT, *beside]) or [])
    limit = order.limit or order.scan_limit

    def ask(pool: Pool) -> list[Row]:
        choice = order.choice
        request = queue.History(jobs=choice.jobs, constraint=choice.constraint, limit=limit, **wanted.asked())
        return wanted.rows(pool.ask(request))

    try:
        return order.place.ask(ask)
    except Refused as refused:
        raise ToolError(f"Error: {refused}") from None


def _until(rows: Iterable[Row], since: str) -> Iterator[Row]:
    """Rows up to the one at which to stop: a job or cluster by its number, or the first for which this is true."""
    job = job_id(since)
    for row in rows:
        if job is None:
            reached = row.value(since) is True
        else:
            reached = job in (str(row.value("ClusterId")), f"{row.value('ClusterId')}.{row.value('ProcId')}")
        if reached:
            return
        yield row


def _of_file(order: _Order) -> Iterator[Row]:
    """The jobs of a history file, the last first."""
    from roost.schedd.records.history import BytesStore, backwards

    if order.file == "-":
        yield from _meant(order, backwards(BytesStore(sys.stdin.buffer.read())))
        return
    try:
        with Path(order.file).open("rb") as file:
            yield from _meant(order, backwards(_FileStore(file)))
    except OSError as error:
        raise ToolError(f"Error opening history file {order.file}: {error.strerror}") from None


class _FileStore:
    """The bytes of an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def size(self) -> int:
        return self._file.seek(0, 2)

    def read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)


def _meant(order: _Order, entries: Iterable[Entry]) -> Iterator[Row]:
    for looked, entry in enumerate(entries, 1):
        if order.scan_limit and looked > order.scan_limit:
            return
        row = Row.of(entry.ad)
        if is_meant(row, order.choice):
            yield row
