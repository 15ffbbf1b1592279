"""The queue's durable state in a SQL database.

SQLite is the default; PostgreSQL uses the same code with another URL; `database` opens either. A change survives a
power failure once `commit` has returned.

Ads are stored as JSON in wire form.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, assert_never

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Delete,
    Index,
    Insert,
    Integer,
    MetaData,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    inspect,
    literal,
    select,
    update,
)

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.cell_accounting import AccountingRecord
from roost.model.cell_reporting import Report
from roost.model.cell_usage import Owner, Used
from roost.runtime.database import RESTORE, Database, Schema, meta_value
from roost.runtime.database_guard import Damaged
from roost.runtime.queue.cell.accounting_store import (
    FILED,
    RECORDS,
    AccountingWriter,
    create_accounting_tables,
    lines_after,
)
from roost.runtime.queue.cell.reporting_store import (
    LINES,
    REPORTED,
    ReportWriter,
    create_reporting_tables,
    drop_reported,
    reports_after,
)
from roost.runtime.queue.cell.store import (
    USAGE,
    CellCommit,
    KeptCell,
    ReservationCommit,
    StatesCommit,
    create_cell_tables,
    read_changes,
    read_kept,
    read_reservation_log,
    read_usage,
    usage_row,
    write_commit,
    write_reservation,
    write_states,
)
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Cluster
from roost.schedd.submit import ClusterPlan
from roost.wire.ads import ad_data, ad_from
from roost.wire.audit import audit_data

#: Number of jobs from which the history stores a cluster's common attributes once.
LARGE_CLUSTER: Final = 10
#: Maximum number of clusters of the history that a reader keeps in memory.
PAST_KEPT_MAX: Final = 8
#: Clusters that are known to have their own row.
PAST_KNOWN_MAX: Final = 10_000

#: Whether a command wants the job of a claim suspended, in stored form and back.
_WANTED: Final = {None: "", True: "suspended", False: "running"}
_STILL: Final = {wanted: still for still, wanted in _WANTED.items()}

_METADATA: Final = MetaData()

META: Final = Table("meta", _METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))
CLUSTERS: Final = Table(
    "clusters",
    _METADATA,
    Column("cluster", Integer, primary_key=True, autoincrement=False),
    Column("owner", Text, nullable=False),
    Column("submitted_at", BigInteger, nullable=False),
    Column("count", Integer, nullable=False),
    Column("ad", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("gone", Text, nullable=False, server_default=""),
    #: Jobs whose submission is in the users' logs; "" for all.
    Column("told", Text, nullable=False, server_default=""),
    #: How far the factory of its jobs has come; "" where all are in the queue from the start.
    Column("factory", Text, nullable=False, server_default=""),
)
JOBS: Final = Table(
    "jobs",
    _METADATA,
    Column("cluster", Integer, primary_key=True, autoincrement=False),
    Column("proc", Integer, primary_key=True, autoincrement=False),
    Column("status", Integer, nullable=False),
    Column("attributes", Text, nullable=False),
)
HISTORY: Final = Table(
    "history",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("cluster", Integer, nullable=False),
    Column("proc", Integer, nullable=False),
    Column("owner", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("ended_at", BigInteger, nullable=False),
    Column("ad", Text, nullable=False),
    #: Number of the last job of several that left together; NULL if `ad` is the whole ad of one job. With a number,
    #: `ad` is what has happened to each, in addition to `PAST`.
    Column("last", Integer),
    Index("history_job", "cluster", "proc"),
)
#: Large clusters whose jobs have left: the common part of their ads, once.
PAST: Final = Table(
    "past_clusters",
    _METADATA,
    Column("cluster", Integer, primary_key=True, autoincrement=False),
    Column("owner", Text, nullable=False),
    Column("submitted_at", BigInteger, nullable=False),
    Column("count", Integer, nullable=False),
    Column("ad", Text, nullable=False),
    Column("plan", Text, nullable=False),
)
CLAIMS: Final = Table(
    "claims",
    _METADATA,
    Column("claim_id", Text, primary_key=True),
    Column("node", Text, nullable=False),
    Column("slot", Text, nullable=False),
    Column("submitter", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("run", Text, nullable=False),
    #: The state that a command wants for the job: "suspended", "running", or "" for none.
    Column("wanted", Text, nullable=False, server_default=""),
)
LOGS: Final = Table(
    "log_pieces",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("path", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("text", Text, nullable=False),
)
OUTBOX: Final = Table(
    "audit_outbox", _METADATA, Column("id", Integer, primary_key=True), Column("record", Text, nullable=False)
)
STATES: Final = Table(
    "states", _METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False)
)


def _first(connection: Connection) -> None:
    _METADATA.create_all(connection)


def _with_outbox(connection: Connection) -> None:
    OUTBOX.create(connection, checkfirst=True)


def _with_past_clusters(connection: Connection) -> None:
    PAST.create(connection, checkfirst=True)
    if "last" not in {column["name"] for column in inspect(connection).get_columns("history")}:
        connection.exec_driver_sql("ALTER TABLE history ADD COLUMN last INTEGER")


def _with_told(connection: Connection) -> None:
    if "told" not in {column["name"] for column in inspect(connection).get_columns("clusters")}:
        connection.exec_driver_sql("ALTER TABLE clusters ADD COLUMN told TEXT DEFAULT '' NOT NULL")


def _with_factory(connection: Connection) -> None:
    if "factory" not in {column["name"] for column in inspect(connection).get_columns("clusters")}:
        connection.exec_driver_sql("ALTER TABLE clusters ADD COLUMN factory TEXT DEFAULT '' NOT NULL")


def _with_wanted(connection: Connection) -> None:
    if "wanted" not in {column["name"] for column in inspect(connection).get_columns("claims")}:
        connection.exec_driver_sql("ALTER TABLE claims ADD COLUMN wanted TEXT DEFAULT '' NOT NULL")


#: The queue instances of the cell in the error state, in the form of `Store.state`.
CELL_ERRORS: Final = "cell-errors"
#: Migrations from version n to n + 1; their number is the current version.
MIGRATIONS: Final[tuple[Callable[[Connection], None], ...]] = (
    _first,
    _with_outbox,
    _with_past_clusters,
    _with_told,
    create_cell_tables,
    # With the table of queue instances.
    create_cell_tables,
    # With the table of users' usage.
    create_cell_tables,
    create_accounting_tables,
    # With the tables of advance reservations.
    create_cell_tables,
    create_reporting_tables,
    _with_wanted,
    _with_factory,
)
SCHEMA: Final = Schema(meta=META, migrations=MIGRATIONS, first={"next_cluster": "1"}, lock=7261, writer="queue")


_DUMPER: Final = msgspec.json.Encoder()
_LOADER: Final = msgspec.json.Decoder()


def _dumped(value: Any) -> str:
    return _DUMPER.encode(value).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCluster:
    """A stored cluster."""

    cluster: int
    owner: str
    submitted_at: int
    count: int
    ad: ClassAd
    plan: Any
    gone: str
    told: str
    factory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJob:
    """A stored job."""

    job: JobId
    status: int
    attributes: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPiece:
    """A piece of an event log that may not be in its file yet."""

    id: int
    path: str
    owner: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A record of a decision that the central manager may not have yet, in wire form."""

    id: int
    record: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What has to be done after a commit."""

    #: To be written to users' logs now.
    pieces: tuple[LogPiece, ...]
    #: To be sent now.
    noted: tuple[Noted, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJobs:
    """The stored jobs."""

    next_cluster: int
    clusters: tuple[KeptCluster, ...]
    jobs: tuple[KeptJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptQueue(KeptJobs):
    """The complete stored state."""

    claims: tuple[ch.PutClaim, ...]
    log_pieces: tuple[LogPiece, ...]
    noted: tuple[Noted, ...]


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
                **_jobs_of(connection),
                claims=tuple(_claims(connection)),
                log_pieces=tuple(
                    LogPiece(id=row.id, path=row.path, owner=row.owner, text=row.text)
                    for row in connection.execute(select(LOGS).order_by(LOGS.c.id))
                ),
                noted=tuple(
                    Noted(id=row.id, record=_LOADER.decode(row.record))
                    for row in connection.execute(select(OUTBOX).order_by(OUTBOX.c.id))
                ),
            )
        self._next_piece = max((piece.id for piece in kept.log_pieces), default=0) + 1
        self._next_noted = max((each.id for each in kept.noted), default=0) + 1
        return kept

    def kept_jobs(self) -> KeptJobs:
        """The currently stored jobs; callable from any thread. Raises StoreError."""
        with self._readable() as connection:
            return KeptJobs(**_jobs_of(connection))

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
            past = _PastClusters(connection)
            with connection.execution_options(yield_per=500).execute(query) as rows:
                for row in rows:
                    for ad in _past_ads(row, past, proc):
                        yield ad
                        found += 1
                        if found == limit:
                            return

    def state(self, name: str) -> Any:
        """The value stored under a name; None if there is none."""
        with self.database.reading() as connection:
            row = connection.execute(select(STATES.c.value).where(STATES.c.name == name)).one_or_none()
        return None if row is None else _LOADER.decode(row.value)

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
        batch = _Batch(self._next_piece, self._next_noted)
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

    def _write(self, batch: _Batch, next_cluster: int, written: Iterable[int], told_of: Iterable[int]) -> None:
        self._accounting.first, self._first_report = 0, None
        with self.database.changing() as connection:
            batch.write(connection, self._past)
            self._accounting.write(connection, batch.accounting)
            self._first_report = self.reports.write(connection, batch.reports)
            if batch.reported:
                drop_reported(connection, batch.reported)
            _drop(connection, LOGS, [{"id": each} for each in sorted(written)])
            _drop(connection, OUTBOX, [{"id": each} for each in sorted(told_of)])
            if next_cluster != self._next_cluster:
                _count_on(connection, next_cluster)

    def _took(self, batch: _Batch, next_cluster: int) -> None:
        """Note that a batch is committed."""
        self._next_cluster = next_cluster
        self._past = batch.past(self._past)
        self._next_piece, self._next_noted = batch.next_piece, batch.next_noted

    def _holds(self, batch: _Batch) -> bool:
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
            _add(connection, OUTBOX, [{"id": noted.id, "record": _dumped(noted.record)}])
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
            _add(connection, OUTBOX, [{"id": noted.id, "record": _dumped(noted.record)}])
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
            _add(connection, OUTBOX, [{"id": noted.id, "record": _dumped(noted.record)}])
        self._next_noted += 1
        return (noted,)


def _count_on(connection: Connection, next_cluster: int) -> None:
    done = connection.execute(update(META).where(META.c.name == "next_cluster").values(value=str(next_cluster)))
    if not done.rowcount:
        raise Damaged("its table meta was emptied")


class _Batch:
    """Changes of many steps as few statements: of several changes of one row the last counts."""

    def __init__(self, next_piece: int, next_noted: int) -> None:
        self.clusters: dict[int, ch.PutCluster | None] = {}
        self.gone: dict[int, str] = {}
        self.told: dict[int, str] = {}
        self.factories: dict[int, str] = {}
        self.jobs: dict[JobId, ch.PutJob | None] = {}
        self.claims: dict[str, ch.PutClaim | None] = {}
        self.history: list[ch.AddHistory] = []
        self.pieces: list[LogPiece] = []
        self.noted: list[Noted] = []
        self.states: dict[str, Any] = {}
        self.accounting: list[AccountingRecord] = []
        self.reports: list[Report] = []
        #: The last line of the reporting file that has been written; 0 if that is already stored.
        self.reported = 0
        self.usage: dict[Owner, Used] = {}
        self.usage_cleared = False
        self.next_piece, self.next_noted = next_piece, next_noted

    def past(self, known: frozenset[int]) -> frozenset[int]:
        """The clusters that have a row in `PAST` now, up to the maximum kept in memory."""
        fresh = frozenset(each.job.cluster for each in self.history if _is_apart(each))
        return fresh if len(known) > PAST_KNOWN_MAX else known | fresh

    def add(self, change: ch.Change) -> None:
        match change:
            case ch.PutCluster():
                self.clusters[change.cluster] = change
                self.factories[change.cluster] = change.factory
            case ch.PutFactory():
                self.factories[change.cluster] = change.factory
            case ch.PutGone():
                self.gone[change.cluster] = change.gone
            case ch.PutTold():
                self.told[change.cluster] = change.told
            case ch.DropCluster():
                self.clusters[change.cluster] = None
                self.gone.pop(change.cluster, None)
                self.told.pop(change.cluster, None)
                self.factories.pop(change.cluster, None)
            case ch.PutJob() | ch.DropJob():
                self.jobs[change.job] = change if isinstance(change, ch.PutJob) else None
            case ch.PutClaim() | ch.DropClaim():
                self.claims[change.claim_id] = change if isinstance(change, ch.PutClaim) else None
            case ch.AddHistory():
                self.history.append(change)
            case ch.AddEpoch():
                pass
            case ch.AppendLog():
                # A text that was split in the middle of a character must not prevent everything else from being stored.
                whole = change.text if change.text.isascii() else _readable(change.text)
                piece = LogPiece(id=self.next_piece, path=change.path, owner=change.owner, text=whole)
                self.next_piece += 1
                self.pieces.append(piece)
            case ch.PutErrors():
                self.states[CELL_ERRORS] = dict(change.errors)
            case ch.PutUsage():
                self.usage.update(change.accounts)
            case ch.ClearUsage():
                self.usage.clear()
                self.usage_cleared = True
            case ch.AddAccounting():
                self.accounting.append(change.record)
            case ch.AddReports():
                self.reports += change.reports
            case ch.AddAudit():
                self.noted.append(Noted(id=self.next_noted, record=audit_data(change.record)))
                self.next_noted += 1
            case _:
                assert_never(change)

    def write(self, connection: Connection, known: Collection[int]) -> None:
        """Write all of it. `known`: clusters that have a row in `PAST`."""
        _drop(connection, CLUSTERS, [{"cluster": key} for key in self.clusters])
        _add(
            connection,
            CLUSTERS,
            [_cluster_row(each, self.gone, self.told, self.factories) for each in self.clusters.values() if each],
        )
        for cluster, gone in self.gone.items():
            if cluster not in self.clusters:
                connection.execute(_GONE, {"key_cluster": cluster, "now_gone": gone})
        for cluster, told in self.told.items():
            if cluster not in self.clusters:
                connection.execute(_TOLD, {"key_cluster": cluster, "now_told": told})
        for cluster, factory in self.factories.items():
            if cluster not in self.clusters:
                connection.execute(_FACTORY, {"key_cluster": cluster, "now_made": factory})
        jobs = [({"cluster": job.cluster, "proc": job.proc}, each) for job, each in self.jobs.items()]
        _put(connection, JOBS, [(key, None if each is None else _job_row(each)) for key, each in jobs])
        claims = [({"claim_id": key}, each) for key, each in self.claims.items()]
        _put(connection, CLAIMS, [(key, None if each is None else _claim_row(each)) for key, each in claims])
        past = {each.job.cluster: each.cluster for each in self.history if each.cluster and _is_apart(each)}
        _put(connection, PAST, [({"cluster": key}, _past_row(each)) for key, each in past.items() if key not in known])
        _add(connection, HISTORY, [_history_row(each) for each in self.history])
        _add(connection, LOGS, [_piece_row(each) for each in self.pieces])
        _add(connection, OUTBOX, [{"id": each.id, "record": _dumped(each.record)} for each in self.noted])
        states: list[tuple[dict[str, Any], dict[str, Any] | None]]
        states = [({"name": name}, {"name": name, "value": _dumped(each)}) for name, each in self.states.items()]
        _put(connection, STATES, states)
        if self.usage_cleared:
            connection.execute(delete(USAGE))
        _put(connection, USAGE, [(owner._asdict(), usage_row(owner, used)) for owner, used in self.usage.items()])


_GONE: Final = update(CLUSTERS).where(CLUSTERS.c.cluster == bindparam("key_cluster")).values(gone=bindparam("now_gone"))
_TOLD: Final = update(CLUSTERS).where(CLUSTERS.c.cluster == bindparam("key_cluster")).values(told=bindparam("now_told"))
_FACTORY: Final = (
    update(CLUSTERS).where(CLUSTERS.c.cluster == bindparam("key_cluster")).values(factory=bindparam("now_made"))
)


def _readable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")


# Statements are built once: building one costs as much as executing it.
@cache
def _insertion(table: Table) -> Insert:
    return insert(table)


@cache
def _replacement(table: Table, dialect: str) -> Insert | None:
    """A statement that inserts rows, or replaces those with their keys; None if the database has none for that."""
    if dialect not in ("sqlite", "postgresql"):
        return None
    # Only the dialect that is used is imported: each is large.
    statement = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    keys = [column.name for column in table.primary_key]
    others = {column.name: statement.excluded[column.name] for column in table.c if column.name not in keys}
    found: Insert = statement.on_conflict_do_update(index_elements=keys, set_=others)
    return found


@cache
def _deletion(table: Table, names: tuple[str, ...]) -> Delete:
    return delete(table).where(and_(*(table.c[name] == bindparam(f"key_{name}") for name in names)))


def _add(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(_insertion(table), rows)


def _drop(connection: Connection, table: Table, keys: list[dict[str, Any]]) -> None:
    """A statement that deletes rows by their keys, executed for each."""
    if keys:
        found = [{f"key_{name}": value for name, value in key.items()} for key in keys]
        connection.execute(_deletion(table, tuple(keys[0])), found)


def _put(connection: Connection, table: Table, rows: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
    """Keys of rows, and their new values: None to delete."""
    statement = _replacement(table, connection.dialect.name)
    _drop(connection, table, [key for key, row in rows if row is None or statement is None])
    present = [row for _, row in rows if row is not None]
    if present:
        connection.execute(_insertion(table) if statement is None else statement, present)


def _cluster_row(
    change: ch.PutCluster, gone: dict[int, str], told: dict[int, str], factories: dict[int, str]
) -> dict[str, Any]:
    return {
        "cluster": change.cluster,
        "owner": change.owner,
        "submitted_at": change.submitted_at,
        "count": change.count,
        "ad": _dumped(ad_data(change.ad)),
        "plan": _dumped(change.plan),
        "gone": gone.get(change.cluster, ""),
        "told": told.get(change.cluster, ""),
        "factory": factories.get(change.cluster, ""),
    }


def _job_row(change: ch.PutJob) -> dict[str, Any]:
    attributes = _dumped(ad_data(change.attributes))
    return {
        "cluster": change.job.cluster,
        "proc": change.job.proc,
        "status": int(change.status),
        "attributes": attributes,
    }


def _claim_row(change: ch.PutClaim) -> dict[str, Any]:
    return {
        "claim_id": change.claim_id,
        "node": change.node,
        "slot": change.slot,
        "submitter": change.submitter,
        "job": "" if change.job is None else str(change.job),
        "run": change.run,
        "wanted": _WANTED[change.still],
    }


def _is_apart(change: ch.AddHistory) -> bool:
    """Whether an ad is stored without what it has in common with the others of its cluster."""
    return change.cluster is not None and (change.last is not None or change.cluster.count >= LARGE_CLUSTER)


def _history_row(change: ch.AddHistory) -> dict[str, Any]:
    apart = _is_apart(change)
    ad = change.ad
    if apart and change.last is None:
        ad = ad.copy()
        ad.chain_to(None)
    return {
        "cluster": change.job.cluster,
        "proc": change.job.proc,
        "owner": change.owner,
        "status": int(change.status),
        "ended_at": change.ended_at,
        "ad": _dumped(ad_data(ad)),
        "last": (change.job.proc if change.last is None else change.last) if apart else None,
    }


def _past_row(cluster: ch.PastCluster) -> dict[str, Any]:
    plan = cluster.plan
    return {
        "cluster": cluster.number,
        "owner": cluster.owner,
        "submitted_at": cluster.submitted_at,
        "count": cluster.count,
        "ad": _dumped(ad_data(cluster.ad)),
        "plan": _dumped(None if plan is None else plan.to_data()),
    }


def _piece_row(piece: LogPiece) -> dict[str, Any]:
    return {"id": piece.id, "path": piece.path, "owner": piece.owner, "text": piece.text}


# -- rows to values ------------------------------------------------------------------------------------------


def _jobs_of(connection: Connection) -> dict[str, Any]:
    """The fields of `KeptJobs`."""
    return {
        "next_cluster": int(meta_value(connection, META, "next_cluster") or 1),
        "clusters": tuple(_clusters(connection)),
        "jobs": tuple(_jobs(connection)),
    }


def _clusters(connection: Connection) -> Iterator[KeptCluster]:
    for row in connection.execute(select(CLUSTERS).order_by(CLUSTERS.c.cluster)):
        yield KeptCluster(
            cluster=row.cluster,
            owner=row.owner,
            submitted_at=row.submitted_at,
            count=row[3],
            ad=ad_from(_LOADER.decode(row.ad)),
            plan=_LOADER.decode(row.plan),
            gone=row.gone,
            told=row.told,
            factory=row.factory,
        )


def _jobs(connection: Connection) -> Iterator[KeptJob]:
    for row in connection.execute(select(JOBS).order_by(JOBS.c.cluster, JOBS.c.proc)):
        attributes = ad_from(_LOADER.decode(row.attributes))
        yield KeptJob(job=JobId(row.cluster, row.proc), status=row.status, attributes=attributes)


class _PastClusters:
    """Clusters whose jobs have left, loaded on demand."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._kept: OrderedDict[int, Cluster] = OrderedDict()

    def of(self, number: int) -> Cluster:
        """A cluster."""
        found = self._kept.get(number)
        if found is None:
            row = self._connection.execute(select(PAST).where(PAST.c.cluster == number)).one()
            plan = _LOADER.decode(row.plan)
            found = self._kept[number] = Cluster(
                number,
                ad_from(_LOADER.decode(row.ad)),
                None if plan is None else ClusterPlan.from_data(plan),
                count=row[3],
                owner=row.owner,
                submitted_at=row.submitted_at,
            )
            if len(self._kept) > PAST_KEPT_MAX:
                self._kept.popitem(last=False)
        return found


def _past_ads(row: Any, past: _PastClusters, proc: int | None) -> Iterator[ClassAd]:
    """The ads of a row of the history, the last first; only that of one job with `proc`."""
    ad = ad_from(_LOADER.decode(row.ad))
    if row.last is None:
        yield ad
        return
    cluster = past.of(row.cluster)
    for each in reversed(range(row.proc, row.last + 1)) if proc is None else (proc,):
        yield ch.whole_ad(cluster, each, ad)


def _claims(connection: Connection) -> Iterator[ch.PutClaim]:
    for row in connection.execute(select(CLAIMS).order_by(CLAIMS.c.claim_id)):
        yield ch.PutClaim(
            claim_id=row.claim_id,
            node=row.node,
            slot=row.slot,
            submitter=row.submitter,
            job=JobId.read(row.job) if row.job else None,
            run=row.run,
            still=_STILL.get(row.wanted),
        )


def _has(connection: Connection, condition: ColumnElement[bool]) -> bool:
    return connection.execute(select(literal(1)).where(condition).limit(1)).first() is not None
