"""The queue's durable state in a SQL database.

SQLite is the default, in WAL mode with full synchronisation: what `commit` returned from survives a power cut.
PostgreSQL is the same code by another URL. One process writes; a lock, in a file beside a SQLite database and an
advisory lock in PostgreSQL, keeps a second one out.

The schema has a version, and is brought up to date at start by `MIGRATIONS`, each step in a transaction of its own. A
database that is newer than this program is refused.

Ads are kept as JSON in the form of the wire.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, assert_never

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from roost.classad import ClassAd
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.wire.ads import ad_data, ad_from

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
    Index("history_job", "cluster", "proc"),
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
)
LOGS: Final = Table(
    "log_pieces",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("path", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("text", Text, nullable=False),
)
STATES: Final = Table(
    "states", _METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False)
)


def _first(connection: Connection) -> None:
    _METADATA.create_all(connection)


#: What brings a database of version n to n + 1; its length is the present version.
MIGRATIONS: Final[tuple[Callable[[Connection], None], ...]] = (_first,)


_DUMPER: Final = msgspec.json.Encoder()
_LOADER: Final = msgspec.json.Decoder()


def _dumped(value: Any) -> str:
    return _DUMPER.encode(value).decode()


class StoreError(Exception):
    """The database can't be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCluster:
    """A cluster as it was kept."""

    cluster: int
    owner: str
    submitted_at: int
    count: int
    ad: ClassAd
    plan: Any
    gone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJob:
    """A job as it was kept."""

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
class Kept:
    """All that was kept."""

    next_cluster: int
    clusters: tuple[KeptCluster, ...]
    jobs: tuple[KeptJob, ...]
    claims: tuple[ch.PutClaim, ...]
    log_pieces: tuple[LogPiece, ...]


class Store:
    """The database of one queue. Its methods block: they are called from a thread of their own."""

    def __init__(self, engine: Engine, lock: IO[str] | Connection | None) -> None:
        self._engine = engine
        self._lock = lock
        self._next_piece = 1

    @classmethod
    def open(cls, url: str) -> Store:
        """Open a database, make it if there is none, bring it up to date. Raises StoreError."""
        with contextlib.ExitStack() as stack:
            lock: IO[str] | Connection | None = None
            try:
                engine = create_engine(url, pool_size=1, max_overflow=2)
                stack.callback(engine.dispose)
                if engine.dialect.name == "sqlite":
                    lock = _lock_beside(engine.url.database or "")
                    event.listen(engine, "connect", _durable)
                elif engine.dialect.name == "postgresql":
                    lock = _lock_within(engine)
                if lock is not None:
                    stack.callback(lock.close)
                _migrate(engine)
            except (SQLAlchemyError, ImportError, OSError) as error:
                raise StoreError(f"the database can't be opened: {_told(error)}") from None
            stack.pop_all()
            return cls(engine, lock)

    def close(self) -> None:
        """Let go of the database."""
        if self._lock is not None:
            self._lock.close()
        self._engine.dispose()

    # -- reading -------------------------------------------------------------------------------------

    def load(self) -> Kept:
        """All that was kept. Raises StoreError."""
        try:
            with self._engine.connect() as connection:
                kept = Kept(
                    next_cluster=int(_meta(connection, "next_cluster") or 1),
                    clusters=tuple(_clusters(connection)),
                    jobs=tuple(_jobs(connection)),
                    claims=tuple(_claims(connection)),
                    log_pieces=tuple(
                        LogPiece(id=row.id, path=row.path, owner=row.owner, text=row.text)
                        for row in connection.execute(select(LOGS).order_by(LOGS.c.id))
                    ),
                )
        except (SQLAlchemyError, ValueError) as error:
            raise StoreError(f"the database can't be read: {_told(error)}") from None
        self._next_piece = max((piece.id for piece in kept.log_pieces), default=0) + 1
        return kept

    def history(self, *, limit: int, cluster: int | None = None, proc: int | None = None) -> Iterator[ClassAd]:
        """Ads of jobs that have left, the last first; `limit` 0 for all."""
        query = select(HISTORY.c.ad).order_by(HISTORY.c.id.desc())
        if cluster is not None:
            query = query.where(HISTORY.c.cluster == cluster)
        if proc is not None:
            query = query.where(HISTORY.c.proc == proc)
        if limit:
            query = query.limit(limit)
        with self._engine.connect() as connection:
            for row in connection.execution_options(yield_per=500).execute(query):
                yield ad_from(_LOADER.decode(row.ad))

    def state(self, name: str) -> Any:
        """A value kept by `keep_state`; None if there is none."""
        with self._engine.connect() as connection:
            row = connection.execute(select(STATES.c.value).where(STATES.c.name == name)).one_or_none()
        return None if row is None else _LOADER.decode(row.value)

    # -- writing -------------------------------------------------------------------------------------

    def commit(
        self, steps: Sequence[Sequence[ch.Change]], next_cluster: int, written: Iterable[int]
    ) -> tuple[LogPiece, ...]:
        """Keep the changes of several steps, all or nothing; the pieces of logs among them, now to be written.

        `written` are pieces that are in their files, and need not be kept any more. Raises StoreError.
        """
        batch = _Batch(self._next_piece)
        for step in steps:
            for change in step:
                batch.add(change)
        try:
            with self._engine.begin() as connection:
                batch.write(connection)
                gone = sorted(written)
                _drop(connection, LOGS, [{"id": each} for each in gone])
                connection.execute(update(META).where(META.c.name == "next_cluster").values(value=str(next_cluster)))
        except SQLAlchemyError as error:
            raise StoreError(f"the database can't be written: {_told(error)}") from None
        self._next_piece = batch.next_piece
        return tuple(batch.pieces)

    def keep_state(self, name: str, value: Any) -> None:
        """Keep a small JSON value under a name. Raises StoreError."""
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(STATES).where(STATES.c.name == name))
                connection.execute(insert(STATES), [{"name": name, "value": _dumped(value)}])
        except SQLAlchemyError as error:
            raise StoreError(f"the database can't be written: {_told(error)}") from None


class _Batch:
    """Changes of many steps, as few statements: of several changes of one row the last counts."""

    def __init__(self, next_piece: int) -> None:
        self.clusters: dict[int, ch.PutCluster | None] = {}
        self.gone: dict[int, str] = {}
        self.jobs: dict[JobId, ch.PutJob | None] = {}
        self.claims: dict[str, ch.PutClaim | None] = {}
        self.history: list[ch.AddHistory] = []
        self.pieces: list[LogPiece] = []
        self.next_piece = next_piece

    def add(self, change: ch.Change) -> None:
        match change:
            case ch.PutCluster():
                self.clusters[change.cluster] = change
            case ch.PutGone():
                self.gone[change.cluster] = change.gone
            case ch.DropCluster():
                self.clusters[change.cluster] = None
                self.gone.pop(change.cluster, None)
            case ch.PutJob() | ch.DropJob():
                self.jobs[change.job] = change if isinstance(change, ch.PutJob) else None
            case ch.PutClaim() | ch.DropClaim():
                self.claims[change.claim_id] = change if isinstance(change, ch.PutClaim) else None
            case ch.AddHistory():
                self.history.append(change)
            case ch.AppendLog():
                # A text that was cut in the middle of a character must not keep everything else from being kept.
                whole = change.text if change.text.isascii() else _readable(change.text)
                piece = LogPiece(id=self.next_piece, path=change.path, owner=change.owner, text=whole)
                self.next_piece += 1
                self.pieces.append(piece)
            case _:
                assert_never(change)

    def write(self, connection: Connection) -> None:
        _drop(connection, CLUSTERS, [{"cluster": key} for key in self.clusters])
        _add(connection, CLUSTERS, [_cluster_row(each, self.gone) for each in self.clusters.values() if each])
        for cluster, gone in self.gone.items():
            if cluster not in self.clusters:
                connection.execute(update(CLUSTERS).where(CLUSTERS.c.cluster == cluster).values(gone=gone))
        _drop(connection, JOBS, [{"cluster": job.cluster, "proc": job.proc} for job in self.jobs])
        _add(connection, JOBS, [_job_row(each) for each in self.jobs.values() if each])
        _drop(connection, CLAIMS, [{"claim_id": key} for key in self.claims])
        _add(connection, CLAIMS, [_claim_row(each) for each in self.claims.values() if each])
        _add(connection, HISTORY, [_history_row(each) for each in self.history])
        _add(connection, LOGS, [_piece_row(each) for each in self.pieces])


def _readable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")


def _add(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _drop(connection: Connection, table: Table, keys: list[dict[str, Any]]) -> None:
    """Delete rows by their keys: one statement, executed for each."""
    if not keys:
        return
    from sqlalchemy import and_, bindparam

    condition = and_(*(table.c[name] == bindparam(f"key_{name}") for name in keys[0]))
    connection.execute(
        delete(table).where(condition), [{f"key_{name}": value for name, value in key.items()} for key in keys]
    )


def _cluster_row(change: ch.PutCluster, gone: dict[int, str]) -> dict[str, Any]:
    return {
        "cluster": change.cluster,
        "owner": change.owner,
        "submitted_at": change.submitted_at,
        "count": change.count,
        "ad": _dumped(ad_data(change.ad)),
        "plan": _dumped(change.plan),
        "gone": gone.get(change.cluster, ""),
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
    }


def _history_row(change: ch.AddHistory) -> dict[str, Any]:
    return {
        "cluster": change.job.cluster,
        "proc": change.job.proc,
        "owner": change.owner,
        "status": int(change.status),
        "ended_at": change.ended_at,
        "ad": _dumped(ad_data(change.ad)),
    }


def _piece_row(piece: LogPiece) -> dict[str, Any]:
    return {"id": piece.id, "path": piece.path, "owner": piece.owner, "text": piece.text}


# -- rows to values ------------------------------------------------------------------------------------------


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
        )


def _jobs(connection: Connection) -> Iterator[KeptJob]:
    for row in connection.execute(select(JOBS).order_by(JOBS.c.cluster, JOBS.c.proc)):
        attributes = ad_from(_LOADER.decode(row.attributes))
        yield KeptJob(job=JobId(row.cluster, row.proc), status=row.status, attributes=attributes)


def _claims(connection: Connection) -> Iterator[ch.PutClaim]:
    for row in connection.execute(select(CLAIMS).order_by(CLAIMS.c.claim_id)):
        yield ch.PutClaim(
            claim_id=row.claim_id,
            node=row.node,
            slot=row.slot,
            submitter=row.submitter,
            job=JobId.read(row.job) if row.job else None,
            run=row.run,
        )


def _meta(connection: Connection, name: str) -> str | None:
    row = connection.execute(select(META.c.value).where(META.c.name == name)).one_or_none()
    return None if row is None else str(row.value)


# -- opening -------------------------------------------------------------------------------------------------


def _lock_beside(path: str) -> IO[str] | None:
    if not path or path == ":memory:":
        return None
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    lock = Path(f"{path}.lock").open("w")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise StoreError(f"{path} is in use: is this pool running already? `roost status` shows it") from None
    return lock


def _lock_within(engine: Engine) -> Connection:
    """A lock that the database keeps as long as the connection lives, which is used for nothing else."""
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    if connection.execute(text("SELECT pg_try_advisory_lock(7261)")).scalar():
        return connection
    connection.close()
    raise StoreError("the database is in use: is another queue running with it?")


def _durable(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000", "cache_size=-4000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _migrate(engine: Engine) -> None:
    with engine.begin() as connection:
        version = 0
        if engine.dialect.has_table(connection, "meta"):
            version = int(_meta(connection, "schema") or 0)
    if version > len(MIGRATIONS):
        raise StoreError(
            f"the database has schema {version}, this program knows {len(MIGRATIONS)}: "
            "use the newer Roost that wrote it"
        )
    for number in range(version, len(MIGRATIONS)):
        with engine.begin() as connection:
            MIGRATIONS[number](connection)
            if number == 0:
                connection.execute(
                    insert(META), [{"name": "schema", "value": "1"}, {"name": "next_cluster", "value": "1"}]
                )
            connection.execute(update(META).where(META.c.name == "schema").values(value=str(number + 1)))


def _told(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def count_history(store: Store) -> int:
    """Jobs in the history."""
    with store._engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(HISTORY)).scalar_one())
