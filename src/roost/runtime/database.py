"""Opening a SQL database that one process writes: durable, locked against a second writer, checked and migrated.

SQLite runs in WAL mode with full synchronisation: a commit that has returned survives a power failure. A lock (a file
next to a SQLite database, an advisory lock in PostgreSQL) keeps a second writer out.

A database has an identity, a random text created with it. A file elsewhere in the state directory keeps a copy,
together with the location of the database. A database that was deleted with everything next to it is therefore not
mistaken for a new one, nor another one for the old one. While it is open, `Guard` watches the files.

A schema has a version, stored in its own table, and is updated by migrations, each in a transaction. A database with a
newer version than this program knows is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from sqlalchemy import Connection, Engine, Table, create_engine, event, insert, make_url, select, text, update
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError

from roost.base.records import dataclass
from roost.runtime.database_guard import Damaged, Guard, StoreError, Tail, is_damage
from roost.runtime.files.whole_files import write_first, write_whole

_log = logging.getLogger("roost.database")

#: Time limit of the check of a database at startup, s; the rest is not checked.
CHECK_S: Final = 2.0
#: Time limit of the check when SQLite reports damage, s, and how often the result may be that it is intact.
CONFIRM_S: Final = 30.0
DOUBTS_MAX: Final = 5
#: Steps of SQLite's virtual machine between two checks of the clock.
_CHECK_STEPS: Final = 20_000
#: How long a server may take to release the lock of an earlier process, s, and the interval of attempts.
LEFT_S: Final = 5.0
_LOOK_S: Final = 0.05
_IDENTITY: Final = "identity"
#: The remedy for damage.
RESTORE: Final = "restore a backup of it (docs/guides/operations.md, Backup and restore)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The contents of a database."""

    #: Its table of names and values.
    meta: Table
    #: Migrations from version n to n + 1; their number is the current version.
    migrations: Sequence[Callable[[Connection], None]]
    #: Initial values of a new database.
    first: dict[str, str]
    #: Number of the advisory lock.
    lock: int
    #: The daemon that writes it, for messages.
    writer: str


@dataclass(slots=True, kw_only=True)
class Database:
    """An open database, used exclusively by this process."""

    engine: Engine
    meta: Table
    #: Its name in messages.
    shown: str
    identity: str
    #: The file that keeps a copy of the identity.
    _known: Path | None
    _lock: IO[str] | Connection | None
    #: None if the database manages its own files.
    _guard: Guard | None
    #: How often since the last transaction SQLite has reported damage while the database was intact.
    _doubts: int = 0

    @classmethod
    def open(cls, url: str, schema: Schema, known: Path | None = None) -> Database:
        """Open a database, creating it if necessary, and check and migrate it. Raises StoreError.

        `known`: the file that says which database was used last; that one is never created again.
        """
        shown = _shown(url)
        with contextlib.ExitStack() as stack:
            lock: IO[str] | Connection | None = None
            guard: Guard | None = None
            try:
                engine = create_engine(url, pool_size=1, max_overflow=4)
                if engine.dialect.name == "sqlite":
                    path = engine.url.database or ""
                    lock = _lock_beside(path)
                    if lock is not None:
                        stack.callback(lock.close)
                        _is_still_there(Path(path), known)
                    tail = Tail(Path(path))
                    event.listen(engine, "connect", _durable)
                    if lock is not None:
                        guard = _guarded(engine, Path(path), tail)
                        stack.callback(guard.close)
                elif engine.dialect.name == "postgresql":
                    stack.callback(engine.dispose)
                    lock = _lock_within(engine, schema)
                # Before the files are closed: SQLite's locks belong to the process.
                stack.callback(_released, engine, lock)
                _migrate(engine, schema, shown)
                identity = _identified(engine, schema.meta, known, shown)
                if guard is not None:
                    guard.grown()
            except (SQLAlchemyError, ImportError, OSError) as error:
                raise StoreError(f"the database {shown} cannot be opened: {told(error)}; {_remedy(error)}") from None
            stack.pop_all()
        return cls(
            engine=engine, meta=schema.meta, shown=shown, identity=identity, _known=known, _lock=lock, _guard=guard
        )

    def close(self) -> None:
        """Close the database."""
        _released(self.engine, self._lock)
        self._keep_identity()
        # Files are closed only after SQLite is done, and the lock last: both keep others out.
        if self._guard is not None:
            self._guard.close()
        if self._lock is not None:
            self._lock.close()

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """A transaction, which is on disk, in the database's own file, when this returns. Raises StoreError."""
        try:
            if self._guard is not None:
                self._guard.look()
            with self.engine.begin() as connection:
                yield connection
            self._doubts = 0
            if self._guard is not None:
                # It is on disk now: a disk failure from here on does not undo it.
                with contextlib.suppress(OSError):
                    self._guard.grown()
                    self._guard.look()
        except (Damaged, SQLAlchemyError, OSError) as error:
            raise self._failed(error, "written") from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reading. Raises StoreError."""
        try:
            with self.engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._failed(error, "read") from None

    def look(self) -> None:
        """Check that the files are those that are open; callable from any thread. Raises StoreError."""
        try:
            if self._guard is not None:
                self._guard.look()
        except (Damaged, OSError) as error:
            raise self._failed(error, "read") from None

    def verify(self) -> None:
        """Check that the database is intact, as far as that is possible quickly. Raises StoreError."""
        try:
            if self._guard is not None:
                self._guard.verify()
            elif self.engine.dialect.name != "sqlite":
                self._is_the_same()
        except (Damaged, OSError) as error:
            raise self._failed(error, "read") from None

    def _failed(self, error: Exception, what: str) -> StoreError:
        """Why the database could not be used; damage is reported only if it is certain."""
        if isinstance(error, Damaged):
            return self._damaged(str(error))
        why = self._disk_fails() if is_damage(error) else told(error)
        if why:
            return StoreError(f"the database {self.shown} cannot be {what}: {why}")
        return self._damaged(f"{self.shown}: {told(error)}")

    def _disk_fails(self) -> str:
        """Why a database is intact although SQLite reports damage: it also does so when the disk fails during a read.

        "" for damage. An intact database that repeatedly cannot be used counts as damaged.
        """
        self._doubts += 1
        if self._guard is None or self._doubts > DOUBTS_MAX:
            return ""
        try:
            self._guard.read_through(CONFIRM_S)
            with self.engine.connect() as connection:
                found = _quick_check(connection, CONFIRM_S)
        except OSError as error:
            self._doubts -= 1
            return f"{self.shown}: {error.strerror}"
        except SQLAlchemyError:
            return ""
        return "its disk failed while it was being read" if found == ["ok"] else ""

    def _is_the_same(self) -> None:
        """Check that a server has not replaced the database under this name. Raises StoreError."""
        with self.reading() as connection:
            if meta_value(connection, self.meta, _IDENTITY) != self.identity:
                raise Damaged(f"{self.shown} was replaced by another one while it was in use")

    def _keep_identity(self) -> None:
        """Write the copy again if it was removed with the database, so that the next start does not create an empty
        one.
        """
        # If the directory is gone or the disk is full, the damage is still reported.
        with contextlib.suppress(OSError):
            if self._known is not None:
                write_first(self._known, _copy(self.identity, self.shown), mode=0o600)

    def _damaged(self, text: str) -> Damaged:
        self._keep_identity()
        return Damaged(f"the database is damaged: {text}; {RESTORE}")


def _released(engine: Engine, lock: IO[str] | Connection | None) -> None:
    """Close all connections, including that of the lock."""
    if isinstance(lock, Connection):
        lock.close()
    engine.dispose()


def _copy(identity: str, shown: str) -> str:
    return f"{identity} {shown}\n"


def _known_identity(known: Path | None, shown: str) -> str:
    """The last known identity of the database; "" if there is none, or if another location was used."""
    text = ""
    if known is not None:
        with contextlib.suppress(FileNotFoundError):
            text = known.read_text(encoding="utf-8", errors="surrogateescape")
    identity, _, where = text.rstrip("\n").partition(" ")
    return identity if where == shown else ""


def _is_still_there(path: Path, known: Path | None) -> None:
    """Check that a known database still exists. Raises StoreError."""
    if not path.exists() and _known_identity(known, str(path)):
        raise StoreError(
            f"the database {path} is missing, but this pool used it when it last ran; {RESTORE}, or remove "
            f"{known} to start with an empty one"
        )


def _identified(engine: Engine, meta: Table, known: Path | None, shown: str) -> str:
    """The identity of a database; a database other than the last used one is refused. Raises StoreError."""
    before = _known_identity(known, shown)
    with engine.begin() as connection:
        found = meta_value(connection, meta, _IDENTITY)
        if found is None:
            if before:
                raise StoreError(
                    f"the database {shown} has lost its contents since this pool used it; {RESTORE}, or "
                    f"remove {known} to continue with what is left"
                )
            found = secrets.token_hex(8)
            connection.execute(insert(meta), [{"name": _IDENTITY, "value": found}])
    if before and before != found:
        raise StoreError(
            f"the database {shown} is not the one that this pool last used; put that one back, or remove "
            f"{known} to continue with this one"
        )
    if known is not None and not before:
        write_whole(known, _copy(found, shown), mode=0o600, sync=True)
    return found


def _guarded(engine: Engine, path: Path, tail: Tail) -> Guard:
    """Open the files, report what the WAL has lost, and check the rest. Raises StoreError."""
    with engine.connect() as connection:
        # The first reader causes the WAL to be read.
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_schema").scalar_one()
        guard = Guard(path)
        try:
            lost = tail.lost(guard)
            if lost:
                _log.error(
                    "the last %d pages of %s-wal, the write-ahead log, are unusable: the last changes "
                    "confirmed in the previous run are lost; compare with your users' event logs, or %s",
                    lost,
                    path,
                    RESTORE,
                )
            _check(connection, path)
        except BaseException:
            # No object of SQLite may outlive this in a process that retries.
            engine.dispose()
            guard.close()
            raise
    return guard


def _check(connection: Connection, path: Path) -> None:
    """Let SQLite check for damage, for a limited time. Raises Damaged."""
    found = _quick_check(connection, CHECK_S)
    if found is None:
        _log.info("%s was checked for %g s; the rest was not checked", path, CHECK_S)
    elif found != ["ok"]:
        raise Damaged(f"the database {path} is damaged: {'; '.join(found)}; {RESTORE}")


def _quick_check(connection: Connection, limit_s: float) -> list[str] | None:
    """SQLite's findings, ["ok"] for none; None if time ran out before."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    until = time.monotonic() + limit_s
    driver.set_progress_handler(lambda: int(time.monotonic() > until), _CHECK_STEPS)
    try:
        return [str(row[0]) for row in driver.execute("PRAGMA quick_check(3)")]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return None
    except sqlite3.DatabaseError as error:
        return [str(error)]
    finally:
        driver.set_progress_handler(None, 0)


def _remedy(error: Exception) -> str:
    """The remedy: another URL, a driver, a running server, or another file."""
    if isinstance(error, ImportError | ArgumentError):
        return (
            "set DATABASE_URL to postgresql+psycopg://USER@HOST/NAME (with psycopg installed), or leave it unset "
            "to use a file"
        )
    if isinstance(error, OperationalError) and "psycopg" in type(error.orig).__module__:
        return "make sure that the server is running and admits this user, or correct DATABASE_URL"
    if is_damage(error):
        return RESTORE
    return f"make it readable and writable, or {RESTORE}"


def meta_value(connection: Connection, meta: Table, name: str) -> str | None:
    """A value of the table of names and values; None if there is none."""
    row = connection.execute(select(meta.c.value).where(meta.c.name == name)).one_or_none()
    return None if row is None else str(row.value)


def told(error: Exception) -> str:
    """A driver's message on one line."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def _shown(url: str) -> str:
    """A database for messages: a path, or a URL without its password."""
    try:
        found = make_url(url)
    except SQLAlchemyError:
        return url
    return found.database or url if found.drivername == "sqlite" else found.render_as_string()


def _lock_beside(path: str) -> IO[str] | None:
    if not path or path == ":memory:":
        return None
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    lock = Path(f"{path}.lock").open("a")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise StoreError(f"{path} is in use; is this pool already running? `roost status` shows it") from None
    return lock


def _lock_within(engine: Engine, schema: Schema) -> Connection:
    """A lock that the database holds as long as the connection lives, which is used for nothing else."""
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    until = time.monotonic() + LEFT_S
    while not connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": schema.lock}).scalar():
        if time.monotonic() > until:
            break
        time.sleep(_LOOK_S)
    else:
        return connection
    connection.close()
    raise StoreError(f"the database is in use; is another {schema.writer} using it?")


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
            f"the database {shown} has schema version {version}, but this program supports versions up to "
            f"{known}; use the newer Roost that wrote it"
        )
    for number in range(version, known):
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":
                # Its driver begins a transaction only before rows are changed; statements that create tables would run
                # outside of one.
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            schema.migrations[number](connection)
            if number == 0:
                rows = [{"name": name, "value": value} for name, value in {"schema": "1", **schema.first}.items()]
                connection.execute(insert(meta), rows)
            connection.execute(update(meta).where(meta.c.name == "schema").values(value=str(number + 1)))
