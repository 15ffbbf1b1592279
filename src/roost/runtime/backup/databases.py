"""A pool's two databases in a backup: always SQLite files, whatever database the pool uses.

A SQLite database is copied by SQLite itself, in one read transaction, while its daemon goes on writing. A PostgreSQL
database is read in one transaction that sees one state, and written table by table into a fresh SQLite file of the same
schema; and back. So a pool that was on PostgreSQL can be restored to a file, and the other way round.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine, MetaData, Table, create_engine, delete, func, insert, make_url, select, text
from sqlalchemy.exc import SQLAlchemyError

from roost.config import Config
from roost.runtime.backup.archive import AUDIT, QUEUE, BackupError
from roost.runtime.central.audit_keeper import audit_settings
from roost.runtime.central.audit_store import SCHEMA as AUDIT_SCHEMA
from roost.runtime.database import Database, Schema, meta_value, told
from roost.runtime.database_guard import StoreError
from roost.runtime.home import Home
from roost.runtime.queue.database.tables import SCHEMA as QUEUE_SCHEMA
from roost.schedd.status import JobStatus

#: Rows that are copied at once.
_ROWS: Final = 1_000
#: A restored queue leaves out so many cluster numbers: jobs that were submitted after the backup had some of them.
SKIPPED_CLUSTERS: Final = 10_000


class Kept(NamedTuple):
    """One of the databases of a pool."""

    #: Its name in a backup.
    name: str
    url: str
    schema: Schema

    @property
    def file(self) -> Path | None:
        """The SQLite file that it is; None for a server's."""
        found = make_url(self.url)
        return Path(found.database or "") if found.get_backend_name() == "sqlite" else None

    @property
    def shown(self) -> str:
        """How people know it."""
        return str(self.file) if self.file is not None else make_url(self.url).render_as_string()


def databases(home: Home, config: Config) -> tuple[Kept, Kept]:
    """Those of a pool, as configured. Raises ConfigError."""
    queue = config.get("DATABASE_URL", subsys="SCHEDD") or f"sqlite:///{home.database}"
    return Kept(QUEUE, queue, QUEUE_SCHEMA), Kept(AUDIT, audit_settings(config, home).url, AUDIT_SCHEMA)


# -- taking ------------------------------------------------------------------------------------------


def copy_to_file(kept: Kept, target: Path) -> int | None:
    """Copy a database as it is now into a new file; its schema's version, None if there is none. Raises BackupError."""
    source = kept.file
    try:
        if source is None:
            return _from_server(kept, target)
        if not source.exists():
            return None
        with closing(sqlite3.connect(source, timeout=30)) as connection:
            connection.execute("VACUUM INTO ?", (str(target),))
        return version_of(target, kept.schema)
    except (SQLAlchemyError, sqlite3.Error, ImportError) as error:
        why = told(error) if isinstance(error, SQLAlchemyError) else str(error)
        raise BackupError(f"the database {kept.shown} cannot be copied: {why}") from None


def version_of(path: Path, schema: Schema) -> int:
    """The version of the schema that a SQLite file has. Raises sqlite3.Error."""
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute(f"SELECT value FROM {schema.meta.name} WHERE name = 'schema'").fetchone()
    return 0 if row is None else int(row[0])


def _from_server(kept: Kept, target: Path) -> int | None:
    with _engine(kept.url) as server, server.connect() as first:
        connection = first.execution_options(isolation_level="REPEATABLE READ")
        if not server.dialect.has_table(connection, kept.schema.meta.name):
            return None
        version = int(meta_value(connection, kept.schema.meta, "schema") or 0)
        if version != len(kept.schema.migrations):
            raise BackupError(
                f"the database {kept.shown} has schema version {version}, and this program works with "
                f"{len(kept.schema.migrations)}; run the backup with the Roost that runs the pool"
            )
        with _opened(f"sqlite:///{target}", kept.schema) as copy, copy.engine.begin() as to:
            _copy(connection, to, _tables(copy.engine))
    Path(f"{target}.lock").unlink(missing_ok=True)
    return version


# -- restoring ---------------------------------------------------------------------------------------


def number_on(path: Path) -> None:
    """Let the numbers of clusters go on behind those that were used after the backup. Raises sqlite3.Error."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE meta SET value = CAST(CAST(value AS INTEGER) + ? AS TEXT) WHERE name = 'next_cluster'",
            (SKIPPED_CLUSTERS,),
        )


def runs_of(path: Path) -> list[tuple[str, str]]:
    """The jobs that were running, suspended ones among them, and where: (job, machine). Raises sqlite3.Error."""
    with closing(sqlite3.connect(path)) as connection:
        running = {
            f"{cluster}.{proc}"
            for cluster, proc in connection.execute(
                "SELECT cluster, proc FROM jobs WHERE status IN (?, ?, ?)",
                (JobStatus.RUNNING, JobStatus.SUSPENDED, JobStatus.TRANSFERRING_OUTPUT),
            )
        }
        rows = connection.execute("SELECT job, node FROM claims WHERE job != ''").fetchall()
    machines = {str(job): str(node) for job, node in rows}
    return sorted(((job, machines.get(job, "")) for job in running), key=lambda each: _order(each[0]))


def _order(job: str) -> tuple[int, int]:
    cluster, _, proc = job.partition(".")
    return int(cluster), int(proc)


def refuse_used(kept: Kept) -> None:
    """See that a database can be restored to its place: nothing is there. Raises BackupError."""
    if kept.file is not None:
        if kept.file.exists():
            raise BackupError(f"{kept.file}, the database of DATABASE_URL, exists; move it away, or name another one")
        return
    try:
        with _engine(kept.url) as server, server.connect() as connection:
            if server.dialect.has_table(connection, kept.schema.meta.name):
                raise BackupError(
                    f"the database {kept.shown} is in use or has been used by a pool; name an empty one with --database"
                )
    except (SQLAlchemyError, ImportError) as error:
        raise BackupError(f"the database {kept.shown} cannot be used: {told(error)}") from None


def fill(kept: Kept, source: Path) -> None:
    """Put the copy into the place of the database. Raises BackupError, OSError."""
    if kept.file is not None:
        kept.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Another file system, perhaps: a rename would not do.
        with closing(sqlite3.connect(source)) as connection:
            connection.execute("VACUUM INTO ?", (str(kept.file),))
        return
    try:
        with (
            _opened(f"sqlite:///{source}", kept.schema) as copy,
            _opened(kept.url, kept.schema) as database,
            copy.engine.connect() as connection,
            database.engine.begin() as to,
        ):
            tables = _tables(copy.engine)
            _copy(connection, to, tables)
            for table in tables:
                _number_on(to, table)
    except (SQLAlchemyError, StoreError) as error:
        raise BackupError(str(error) if isinstance(error, StoreError) else told(error)) from None


def _number_on(connection: Connection, table: Table) -> None:
    """Let the numbers that a server gives to rows go on after those that were copied."""
    for column in table.primary_key.columns:
        sequence = connection.execute(
            text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": table.name, "column": column.name}
        ).scalar()
        if sequence is not None:
            last = connection.execute(select(func.max(column))).scalar()
            if last is not None:
                connection.execute(text("SELECT setval(:sequence, :last)"), {"sequence": sequence, "last": last})


# -- both --------------------------------------------------------------------------------------------


@contextmanager
def _engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _opened(url: str, schema: Schema) -> Iterator[Database]:
    database = Database.open(url, schema)
    try:
        yield database
    finally:
        database.close()


def _tables(engine: Engine) -> list[Table]:
    """The tables of a file, as it has them."""
    found = MetaData()
    found.reflect(engine)
    return found.sorted_tables


def _copy(source: Connection, target: Connection, tables: list[Table]) -> None:
    for table in tables:
        # Migrations fill some tables.
        target.execute(delete(table))
        rows = source.execution_options(yield_per=_ROWS).execute(select(table))
        for part in rows.mappings().partitions(_ROWS):
            target.execute(insert(table), [dict(row) for row in part])
