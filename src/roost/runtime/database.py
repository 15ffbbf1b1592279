"""Opening a SQL database that one process writes: durable, locked against a second writer, checked, brought up to date.

SQLite runs in WAL mode with full synchronisation: what a commit returned from survives a power cut. A lock, in a file
beside a SQLite database and an advisory lock in PostgreSQL, keeps a second writer out.

A database has an identity, a random text that is made with it. A file elsewhere in the state directory keeps a copy,
with the place of the database, so that one that was deleted with everything beside it is not taken for a new one, and
another one not for the old one. While it is open, `Guard` watches the files.

A schema has a version, kept in a table of its own, and is brought up to date by migrations, each in a transaction. A
database that is newer than this program is refused.
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

#: How long the check of a database at the start may take, s; what it has not come to by then is not checked.
CHECK_S: Final = 2.0
#: How long it is checked when SQLite calls it damaged, s, and how often it may be found whole then.
CONFIRM_S: Final = 30.0
DOUBTS_MAX: Final = 5
#: Steps of SQLite's virtual machine between two looks at the clock.
_CHECK_STEPS: Final = 20_000
#: How long a server may take to notice that an earlier process has left its lock, s, and how often it is asked.
LEFT_S: Final = 5.0
_LOOK_S: Final = 0.05
_IDENTITY: Final = "identity"
#: What helps against damage.
RESTORE: Final = "restore a backup of it (docs/guides/operations.md, Backup)"


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
    #: The daemon that writes it, for messages.
    writer: str


@dataclass(slots=True, kw_only=True)
class Database:
    """A database that is open, and ours alone."""

    engine: Engine
    meta: Table
    #: How messages name it.
    shown: str
    identity: str
    #: The file that keeps a copy of the identity.
    _known: Path | None
    _lock: IO[str] | Connection | None
    #: None where the database looks after its own files.
    _guard: Guard | None
    #: How often since the last transaction SQLite has called the database damaged, and it was whole.
    _doubts: int = 0

    @classmethod
    def open(cls, url: str, schema: Schema, known: Path | None = None) -> Database:
        """Open a database: made if there is none, checked and up to date. Raises StoreError.

        `known`: the file that tells which database was used last; that one is not begun anew.
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
                # Before the files are closed: SQLite's locks are those of the process.
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
        """Let go of the database."""
        _released(self.engine, self._lock)
        self._keep_identity()
        # No descriptor of its files before SQLite is done, and the lock last: both hold others out.
        if self._guard is not None:
            self._guard.close()
        if self._lock is not None:
            self._lock.close()

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """A transaction that is on disk, in the database's own file, when this ends. Raises StoreError."""
        try:
            if self._guard is not None:
                self._guard.look()
            with self.engine.begin() as connection:
                yield connection
            self._doubts = 0
            if self._guard is not None:
                # It is on disk now: a disk that fails just then does not make it undone.
                with contextlib.suppress(OSError):
                    self._guard.grown()
                    self._guard.look()
        except (Damaged, SQLAlchemyError, OSError) as error:
            raise self._failed(error, "written") from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read by. Raises StoreError."""
        try:
            with self.engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._failed(error, "read") from None

    def look(self) -> None:
        """See that the files are those that are open; for any thread. Raises StoreError."""
        try:
            if self._guard is not None:
                self._guard.look()
        except (Damaged, OSError) as error:
            raise self._failed(error, "read") from None

    def verify(self) -> None:
        """See that the database is whole, as far as that can be told quickly. Raises StoreError."""
        try:
            if self._guard is not None:
                self._guard.verify()
            elif self.engine.dialect.name != "sqlite":
                self._is_the_same()
        except (Damaged, OSError) as error:
            raise self._failed(error, "read") from None

    def _failed(self, error: Exception, what: str) -> StoreError:
        """Why the database could not be used; damage is only told where it is certain."""
        if isinstance(error, Damaged):
            return self._damaged(str(error))
        why = self._disk_fails() if is_damage(error) else told(error)
        if why:
            return StoreError(f"the database {self.shown} cannot be {what}: {why}")
        return self._damaged(f"{self.shown}: {told(error)}")

    def _disk_fails(self) -> str:
        """Why a database that SQLite calls damaged is not: it says so, too, when the disk fails while it reads.

        "" for damage. What is whole and still cannot be used, again and again, is damaged all the same.
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
        return "its disk failed while it was read" if found == ["ok"] else ""

    def _is_the_same(self) -> None:
        """See that a server has not got another database under this name. Raises StoreError."""
        with self.reading() as connection:
            if meta_value(connection, self.meta, _IDENTITY) != self.identity:
                raise Damaged(f"{self.shown} was replaced by another one while it was in use")

    def _keep_identity(self) -> None:
        """Write the copy again if it was removed with the database, so that the next start does not begin empty."""
        # If the directory is gone or the disk is full, the damage is still reported.
        with contextlib.suppress(OSError):
            if self._known is not None:
                write_first(self._known, _copy(self.identity, self.shown), mode=0o600)

    def _damaged(self, text: str) -> Damaged:
        self._keep_identity()
        return Damaged(f"the database is damaged: {text}; {RESTORE}")


def _released(engine: Engine, lock: IO[str] | Connection | None) -> None:
    """Close all connections, that of the lock among them."""
    if isinstance(lock, Connection):
        lock.close()
    engine.dispose()


def _copy(identity: str, shown: str) -> str:
    return f"{identity} {shown}\n"


def _known_identity(known: Path | None, shown: str) -> str:
    """The identity that the database there had last; "" where none is known, or another place was used."""
    text = ""
    if known is not None:
        with contextlib.suppress(FileNotFoundError):
            text = known.read_text(encoding="utf-8", errors="surrogateescape")
    identity, _, where = text.rstrip("\n").partition(" ")
    return identity if where == shown else ""


def _is_still_there(path: Path, known: Path | None) -> None:
    """A database that was there before is there. Raises StoreError."""
    if not path.exists() and _known_identity(known, str(path)):
        raise StoreError(
            f"the database {path} is gone, but this pool used it when it last ran; {RESTORE}, or remove {known} "
            "to begin with an empty one"
        )


def _identified(engine: Engine, meta: Table, known: Path | None, shown: str) -> str:
    """The identity of a database; one that is another than was used last is refused. Raises StoreError."""
    before = _known_identity(known, shown)
    with engine.begin() as connection:
        found = meta_value(connection, meta, _IDENTITY)
        if found is None:
            if before:
                raise StoreError(
                    f"the database {shown} has lost its contents since this pool used it; {RESTORE}, or remove {known} "
                    "to go on with what is left"
                )
            found = secrets.token_hex(8)
            connection.execute(insert(meta), [{"name": _IDENTITY, "value": found}])
    if before and before != found:
        raise StoreError(
            f"the database {shown} is not the one that this pool used last: put that one back, or remove {known} "
            "to go on with this one"
        )
    if known is not None and not before:
        write_whole(known, _copy(found, shown), mode=0o600, sync=True)
    return found


def _guarded(engine: Engine, path: Path, tail: Tail) -> Guard:
    """Open the files, tell of what the WAL has lost, and check what there is. Raises StoreError."""
    with engine.connect() as connection:
        # The first that reads has the WAL read.
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_schema").scalar_one()
        guard = Guard(path)
        try:
            lost = tail.lost(guard)
            if lost:
                _log.error(
                    "the last %d pages of %s-wal, the log of its last changes, cannot be used: what was confirmed last "
                    "in the previous run is lost; compare with your users' event logs, or %s", lost, path, RESTORE,
                )  # fmt: skip
            _check(connection, path)
        except BaseException:
            # Nothing of SQLite may outlive this in a process that tries again.
            engine.dispose()
            guard.close()
            raise
    return guard


def _check(connection: Connection, path: Path) -> None:
    """Have SQLite look for damage, for a limited time. Raises Damaged."""
    found = _quick_check(connection, CHECK_S)
    if found is None:
        _log.info("%s was checked for %g s; the rest of it is not checked", path, CHECK_S)
    elif found != ["ok"]:
        raise Damaged(f"the database {path} is damaged: {'; '.join(found)}; {RESTORE}")


def _quick_check(connection: Connection, limit_s: float) -> list[str] | None:
    """What SQLite finds wrong, ["ok"] for nothing; None where the time was over before."""
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
    """What helps: another URL, a driver, a server that answers, or another file."""
    if isinstance(error, ImportError | ArgumentError):
        return "DATABASE_URL is postgresql+psycopg://USER@HOST/NAME (with psycopg installed), or unset for a file"
    if isinstance(error, OperationalError) and "psycopg" in type(error.orig).__module__:
        return "see that the server runs and admits this user, or correct DATABASE_URL"
    if is_damage(error):
        return RESTORE
    return f"make it readable and writable, or {RESTORE}"


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
    lock = Path(f"{path}.lock").open("a")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise StoreError(f"{path} is in use: is this pool running already? `roost status` shows it") from None
    return lock


def _lock_within(engine: Engine, schema: Schema) -> Connection:
    """A lock that the database keeps as long as the connection lives, which is used for nothing else."""
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    until = time.monotonic() + LEFT_S
    while not connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": schema.lock}).scalar():
        if time.monotonic() > until:
            break
        time.sleep(_LOOK_S)
    else:
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
