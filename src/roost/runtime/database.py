"""Opening a SQL database that one process writes: durable, locked against a second writer, brought up to date.

SQLite runs in WAL mode with full synchronisation: what a commit returned from survives a power cut. A lock, in a file
beside a SQLite database and an advisory lock in PostgreSQL, keeps a second writer out.

A schema has a version, kept in a table of its own, and is brought up to date by migrations, each in a transaction. A
database that is newer than this program is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, insert, make_url, select, text, update
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError


class StoreError(Exception):
    """The database can't be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What a database is to have."""

    #: Its own table of names and values.
    meta: Table
    #: What brings version n to n + 1; their number is the present version.
    migrations: Sequence[Callable[[Connection], None]]
    #: Values that a new database begins with.
    first: dict[str, str]
    #: Of the advisory lock.
    lock: int
    #: Who writes it, for messages.
    writer: str


def open_database(url: str, schema: Schema) -> tuple[Engine, IO[str] | Connection | None]:
    """The engine and the lock of a database, made if there is none, and up to date. Raises StoreError."""
    with contextlib.ExitStack() as stack:
        lock: IO[str] | Connection | None = None
        try:
            engine = create_engine(url, pool_size=1, max_overflow=2)
            stack.callback(engine.dispose)
            if engine.dialect.name == "sqlite":
                lock = _lock_beside(engine.url.database or "")
                event.listen(engine, "connect", _durable)
            elif engine.dialect.name == "postgresql":
                lock = _lock_within(engine, schema)
            if lock is not None:
                stack.callback(lock.close)
            _migrate(engine, schema, _shown(url))
        except (SQLAlchemyError, ImportError, OSError) as error:
            raise StoreError(f"the database {_shown(url)} can't be opened: {told(error)}; {_remedy(error)}") from None
        stack.pop_all()
        return engine, lock


def _remedy(error: Exception) -> str:
    """What helps: another URL, a driver, a server that answers, or another file."""
    if isinstance(error, ImportError | ArgumentError):
        return "DATABASE_URL is postgresql+psycopg://USER@HOST/NAME (with psycopg installed), or unset for a file"
    if isinstance(error, OperationalError) and "psycopg" in type(error.orig).__module__:
        return "see that the server runs and lets this user in, or mend DATABASE_URL"
    return "mend it, restore a backup, or move it away to begin with an empty one"


def meta_value(connection: Connection, meta: Table, name: str) -> str | None:
    """A value of the table of names and values; None if there is none."""
    row = connection.execute(select(meta.c.value).where(meta.c.name == name)).one_or_none()
    return None if row is None else str(row.value)


def told(error: Exception) -> str:
    """What a driver said, in one line."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def _shown(url: str) -> str:
    """A database as people know it: a path, or a URL without its password."""
    try:
        found = make_url(url)
    except SQLAlchemyError:
        return url
    return found.database or url if found.drivername == "sqlite" else found.render_as_string()


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


def _lock_within(engine: Engine, schema: Schema) -> Connection:
    """A lock that the database keeps as long as the connection lives, which is used for nothing else."""
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    if connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": schema.lock}).scalar():
        return connection
    connection.close()
    raise StoreError(f"the database is in use: is another {schema.writer} running with it?")


def _durable(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=10000", "cache_size=-4000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _migrate(engine: Engine, schema: Schema, shown: str) -> None:
    meta, known = schema.meta, len(schema.migrations)
    with engine.begin() as connection:
        version = 0
        if engine.dialect.has_table(connection, meta.name):
            version = int(meta_value(connection, meta, "schema") or 0)
    if version > known:
        raise StoreError(
            f"the database {shown} has schema {version}, this program knows {known}: use the newer Roost that wrote it"
        )
    for number in range(version, known):
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":
                # Its driver begins a transaction only before rows are changed: what makes tables would be none.
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            schema.migrations[number](connection)
            if number == 0:
                rows = [{"name": name, "value": value} for name, value in {"schema": "1", **schema.first}.items()]
                connection.execute(insert(meta), rows)
            connection.execute(update(meta).where(meta.c.name == "schema").values(value=str(number + 1)))
