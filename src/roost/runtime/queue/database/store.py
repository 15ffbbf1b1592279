"""The queue's durable state in a SQL database.

SQLite is the default; PostgreSQL uses the same code with another URL; `database` opens either. A change survives a
power failure once `commit` has returned.

Ads are stored as JSON in wire form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, func, literal, select, update

from roost.classad import ClassAd
from roost.model.cell_reporting import Report
from roost.model.cell_usage import Owner, Used
from roost.runtime.database import RESTORE, Database, meta_value
from roost.runtime.database_guard import Damaged
from roost.runtime.queue.database.accounting_store import FILED, RECORDS, AccountingWriter, lines_after
from roost.runtime.queue.database.batch import Batch, add_rows, drop_rows
from roost.runtime.queue.database.cell_store import (
    CellCommit,
    KeptCell,
    ReservationCommit,
    StatesCommit,
    read_changes,
    read_kept,
    read_reservation_log,
    read_usage,
    write_commit,
    write_reservation,
    write_states,
)
from roost.runtime.queue.database.kept import (
    LOADER,
    Committed,
    KeptJobs,
    KeptQueue,
    LogPiece,
    Noted,
    PastClusters,
    claims_of,
    dumped,
    jobs_of,
    past_ads,
)
from roost.runtime.queue.database.reporting_store import LINES, REPORTED, ReportWriter, drop_reported, reports_after
from roost.runtime.queue.database.tables import HISTORY, LOGS, META, OUTBOX, SCHEMA, STATES
from roost.schedd import changes as ch


class Store:
    """The database of one queue. Its methods block: they are called from a separate thread."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._next_piece = self._next_noted = 1
        #: Clusters with a row in `PAST`, most recently written last.
        self._past: frozenset[int] = frozenset()
        #: The stored number of the next cluster; None if unknown.
        self._next_cluster: int | None = None
        self._accounting = AccountingWriter()
        self.reports = ReportWriter()
        #: The first line that the last batch added, with its number; it may be committed or not.
        self._first_report: tuple[int, str] | None = None
        #: Whether the last commit failed: it may have been committed all the same.
        self._unsure = False
        #: The stored number of the last accounting record that is in the file.
        self._filed = 0
        #: The stored number of the last line that is in the reporting file.
        self._reported = 0

    @classmethod
    def open(cls, url: str, known: Path | None = None) -> Store:
        """Open a database, create it if it does not exist, and migrate it; `known` as there. Raises StoreError."""
        return cls(Database.open(url, SCHEMA, known))

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    # -- reading -------------------------------------------------------------------------------------

    def load(self) -> KeptQueue:
        """The complete stored state. Raises StoreError."""
        with self._readable() as connection:
            kept = KeptQueue(
                **jobs_of(connection),
                claims=tuple(claims_of(connection)),
                log_pieces=tuple(
                    LogPiece(id=row.id, path=row.path, owner=row.owner, text=row.text)
                    for row in connection.execute(select(LOGS).order_by(LOGS.c.id))
                ),
                noted=tuple(
                    Noted(id=row.id, record=LOADER.decode(row.record))
                    for row in connection.execute(select(OUTBOX).order_by(OUTBOX.c.id))
                ),
            )
        self._next_piece = max((piece.id for piece in kept.log_pieces), default=0) + 1
        self._next_noted = max((each.id for each in kept.noted), default=0) + 1
        return kept

    def kept_jobs(self) -> KeptJobs:
        """The currently stored jobs; callable from any thread. Raises StoreError."""
        with self._readable() as connection:
            return KeptJobs(**jobs_of(connection))

    @contextmanager
    def _readable(self) -> Iterator[Connection]:
        try:
            with self.database.reading() as connection:
                yield connection
        except (ValueError, TypeError, msgspec.DecodeError) as error:
            what = f"the database {self.database.shown} is damaged: a row cannot be read: {error}"
            raise Damaged(f"{what}; {RESTORE}") from None

    def history(self, *, limit: int, cluster: int | None = None, proc: int | None = None) -> Iterator[ClassAd]:
        """Ads of jobs that have left, the last first; `limit` 0 for all."""
        query = select(HISTORY.c.ad, HISTORY.c.cluster, HISTORY.c.proc, HISTORY.c.last).order_by(HISTORY.c.id.desc())
        if cluster is not None:
            query = query.where(HISTORY.c.cluster == cluster)
        if proc is not None:
            # The index on the numbers of the first jobs leaves few rows to examine.
            query = query.where(HISTORY.c.proc.between(proc - ch.TOGETHER_MAX, proc))
            query = query.where(func.coalesce(HISTORY.c.last, HISTORY.c.proc) >= proc)
        if limit:
            query = query.limit(limit)
        found = 0
        with self.database.reading() as connection:
            past = PastClusters(connection)
            with connection.execution_options(yield_per=500).execute(query) as rows:
                for row in rows:
                    for ad in past_ads(row, past, proc):
                        yield ad
                        found += 1
                        if found == limit:
                            return

    def state(self, name: str) -> Any:
        """The value stored under a name; None if there is none."""
        with self.database.reading() as connection:
            row = connection.execute(select(STATES.c.value).where(STATES.c.name == name)).one_or_none()
        return None if row is None else LOADER.decode(row.value)

    # -- writing -------------------------------------------------------------------------------------

    def commit(
        self,
        steps: Sequence[Sequence[ch.Change]],
        next_cluster: int,
        written: Iterable[int],
        told_of: Iterable[int] = (),
        filed: int = 0,
        reported: int = 0,
    ) -> Committed:
        """Commit the changes of several steps, all or nothing.

        `written` are pieces of logs that are in their files, `told_of` records that the central manager has: they no
        longer need to be kept. `filed` is the last record that is in the accounting file, `reported` the last line that
        is in the reporting file. Raises StoreError.
        """
        batch = Batch(self._next_piece, self._next_noted)
        for step in steps:
            for change in step:
                batch.add(change)
        if filed > self._filed:
            batch.states[FILED] = filed
        if reported > self._reported:
            batch.states[REPORTED] = batch.reported = reported
        try:
            if not (self._unsure and self._holds(batch)):
                self._write(batch, next_cluster, written, told_of)
            self._took(batch, next_cluster)
        except BaseException:
            self._accounting.forget()
            self.reports.forget()
            self._unsure = True
            raise
        self._unsure = False
        self._filed = max(self._filed, filed)
        self._reported = max(self._reported, reported)
        return Committed(pieces=tuple(batch.pieces), noted=tuple(batch.noted))

    def _write(self, batch: Batch, next_cluster: int, written: Iterable[int], told_of: Iterable[int]) -> None:
        self._accounting.first, self._first_report = 0, None
        with self.database.changing() as connection:
            batch.write(connection, self._past)
            self._accounting.write(connection, batch.accounting)
            self._first_report = self.reports.write(connection, batch.reports)
            if batch.reported:
                drop_reported(connection, batch.reported)
            drop_rows(connection, LOGS, [{"id": each} for each in sorted(written)])
            drop_rows(connection, OUTBOX, [{"id": each} for each in sorted(told_of)])
            if next_cluster != self._next_cluster:
                _count_on(connection, next_cluster)

    def _took(self, batch: Batch, next_cluster: int) -> None:
        """Note that a batch is committed."""
        self._next_cluster = next_cluster
        self._past = batch.past(self._past)
        self._next_piece, self._next_noted = batch.next_piece, batch.next_noted

    def _holds(self, batch: Batch) -> bool:
        """Whether a batch is committed although its commit failed: a server or disk may fail between the commit and its
        answer.

        Rows that a batch adds would be there twice. A batch that only replaces rows may be written again.
        """
        with self.database.reading() as connection:
            if batch.pieces:
                return _has(connection, LOGS.c.id == batch.pieces[0].id)
            if batch.noted:
                return _has(connection, OUTBOX.c.id == batch.noted[0].id)
            if batch.accounting:
                return _has(connection, RECORDS.c.id == self._accounting.first)
            if batch.reports:
                first = self._first_report
                return first is not None and _has(connection, (LINES.c.id == first[0]) & (LINES.c.line == first[1]))
            if batch.history:
                job = batch.history[0].job
                return _has(connection, (HISTORY.c.cluster == job.cluster) & (HISTORY.c.proc == job.proc))
        return False

    def lines_after(self, number: int, limit: int) -> list[tuple[int, str]]:
        """The next lines of the accounting file, with the numbers of their records. Raises StoreError."""
        with self.database.reading() as connection:
            return lines_after(connection, number, limit)

    def reports_after(self, number: int, limit: int) -> list[tuple[int, str]]:
        """The next lines of the reporting file, with their numbers. Raises StoreError."""
        with self.database.reading() as connection:
            return reports_after(connection, number, limit)

    def cell(self) -> KeptCell:
        """The Grid Engine cell of the pool. Raises StoreError."""
        with self.database.reading() as connection:
            return read_kept(connection)

    def cell_usage(self) -> dict[Owner, Used]:
        """The users' usage of the cell. Raises StoreError."""
        with self.database.reading() as connection:
            return read_usage(connection)

    def cell_changes(self, limit: int) -> list[tuple[int, float, str, Any]]:
        """The latest changes of the cell, newest first: revision, time, actor, changes. Raises StoreError."""
        with self.database.reading() as connection:
            return read_changes(connection, limit)

    def keep_cell(self, commit: CellCommit) -> tuple[Noted, ...]:
        """Store a change of the cell; return what must now be sent about it. Raises StoreError."""
        noted = Noted(id=self._next_noted, record=commit.record)
        with self.database.changing() as connection:
            write_commit(connection, commit)
            add_rows(connection, OUTBOX, [{"id": noted.id, "record": dumped(noted.record)}])
            if commit.next_cluster > int(meta_value(connection, META, "next_cluster") or 1):
                _count_on(connection, commit.next_cluster)
                self._next_cluster = commit.next_cluster
        self._next_noted += 1
        return (noted,)

    def keep_reservation(self, commit: ReservationCommit) -> tuple[Noted, ...]:
        """Store an event of an advance reservation; return what must now be sent about it. Raises StoreError."""
        noted = Noted(id=self._next_noted, record=commit.record)
        with self._reporting(), self.database.changing() as connection:
            write_reservation(connection, commit)
            self.reports.write(connection, commit.reports)
            add_rows(connection, OUTBOX, [{"id": noted.id, "record": dumped(noted.record)}])
        self._next_noted += 1
        return (noted,)

    def keep_reports(self, reports: Sequence[Report]) -> None:
        """Store lines of the reporting file that come without other changes. Raises StoreError."""
        with self._reporting(), self.database.changing() as connection:
            self.reports.write(connection, reports)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.reports.forget()
            raise

    def reservation_log(self, number: int | None, limit: int) -> list[dict[str, Any]]:
        """The events of advance reservations. Raises StoreError."""
        with self.database.reading() as connection:
            return read_reservation_log(connection, number, limit)

    def keep_instances(self, commit: StatesCommit) -> tuple[Noted, ...]:
        """Store states of queue instances; return what must now be sent about them. Raises StoreError."""
        noted = Noted(id=self._next_noted, record=commit.record)
        with self._reporting(), self.database.changing() as connection:
            write_states(connection, commit.states)
            self.reports.write(connection, commit.reports)
            add_rows(connection, OUTBOX, [{"id": noted.id, "record": dumped(noted.record)}])
        self._next_noted += 1
        return (noted,)


def _count_on(connection: Connection, next_cluster: int) -> None:
    done = connection.execute(update(META).where(META.c.name == "next_cluster").values(value=str(next_cluster)))
    if not done.rowcount:
        raise Damaged("its table meta was emptied")


def _has(connection: Connection, condition: ColumnElement[bool]) -> bool:
    return connection.execute(select(literal(1)).where(condition).limit(1)).first() is not None
