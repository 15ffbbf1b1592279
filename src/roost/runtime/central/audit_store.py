"""The audit trail in a SQL database: decisions of all daemons of a pool, with queries, and deletion of old records.

It has its own database, or shares one with the queue in PostgreSQL. A known record is replaced by its newer form, so
that there are no duplicates; `until` says which form is newer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from roost.model.audit import AuditRecord
from roost.runtime.database import Database, Schema
from roost.wire.audit import audit_from
from roost.wire.requests.central import AuditPage, AuditTrail

_METADATA: Final = MetaData()

META: Final = Table(
    "audit_meta", _METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False)
)
AUDIT: Final = Table(
    "audit",
    _METADATA,
    #: SQLite assigns row numbers only in columns of this type.
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("origin", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", Float(53), nullable=False),
    Column("until", Float(53), nullable=False),
    Column("actor", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("loser", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("slot", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("knob", Text, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("effect", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("audit_until", "until"),
    Index("audit_job", "job"),
    Index("audit_kind", "kind", "until"),
)


def _first(connection: Connection) -> None:
    _METADATA.create_all(connection)


#: Migrations from version n to n + 1; their number is the current version.
MIGRATIONS: Final[tuple[Callable[[Connection], None], ...]] = (_first,)
SCHEMA: Final = Schema(meta=META, migrations=MIGRATIONS, first={}, lock=7262, writer="central manager")

#: Maximum size of one answer, bytes; the rest is requested with the number of the last row.
PAGE_BYTES: Final = 400_000
#: Maximum number of rows deleted at once.
FORGET_AT_ONCE: Final = 5_000

_COLUMNS: Final = ("at", "until", "kind", "actor", "user", "loser", "machine", "slot", "job", "knob", "configuration",
                   "effect")  # fmt: skip
_EMPTY: Final = dict.fromkeys(("actor", "user", "loser", "machine", "slot", "job", "knob", "configuration"), "")
_DUMPER: Final = msgspec.json.Encoder()
_LOADER: Final = msgspec.json.Decoder()


class AuditStore:
    """The audit trail. Its methods block: they are called from threads."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(cls, url: str, known: Path | None = None) -> AuditStore:
        """Open a database, and create it if it does not exist; `known` as there. Raises StoreError."""
        return cls(Database.open(url, SCHEMA, known))

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def keep(self, records: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Store records: sender, and the record in wire form. All or none. Raises StoreError."""
        rows = {row["id"]: row for row in (_row(origin, data) for origin, data in records)}
        with self.database.changing() as connection:
            names = sorted(rows)
            known: dict[str, float] = {}
            for first in range(0, len(names), 500):
                found = select(AUDIT.c.id, AUDIT.c.until).where(AUDIT.c.id.in_(names[first : first + 500]))
                known.update({row.id: row.until for row in connection.execute(found)})
            for name, before in known.items():
                if rows[name]["until"] >= before:
                    connection.execute(update(AUDIT).where(AUDIT.c.id == name).values(rows[name]))
            fresh = [row for name, row in rows.items() if name not in known]
            if fresh:
                connection.execute(insert(AUDIT), fresh)

    def forget(self, *, before: float, most: int) -> int:
        """Delete records that ended before an instant, and the oldest beyond a number; return how many. Raises
        StoreError.

        At most FORGET_AT_ONCE for either reason: call it again for the rest.
        """
        with self.database.changing() as connection:
            old = select(AUDIT.c.seq).where(AUDIT.c.until < before).limit(FORGET_AT_ONCE)
            gone = connection.execute(delete(AUDIT).where(AUDIT.c.seq.in_(old))).rowcount
            excess = int(connection.execute(select(func.count()).select_from(AUDIT)).scalar_one()) - most
            if excess > 0:
                oldest = select(AUDIT.c.seq).order_by(AUDIT.c.until, AUDIT.c.seq).limit(min(excess, FORGET_AT_ONCE))
                gone += connection.execute(delete(AUDIT).where(AUDIT.c.seq.in_(oldest))).rowcount
            return int(gone)

    def query(self, wanted: AuditTrail) -> AuditPage:
        """Records, newest first, or after a number in their order. Raises StoreError."""
        found: list[AuditRecord] = []
        last, size, looked_at = wanted.after or 0, 0, 0
        with self.database.reading() as connection:
            for row in _rows(connection, _asked(wanted)):
                looked_at += 1
                record = audit_from({"origin": row.origin, **_LOADER.decode(row.record)})
                if not _is_about(record, wanted):
                    last = row.seq
                    continue
                size += len(row.record)
                if len(found) == wanted.limit or (found and size > PAGE_BYTES):
                    return AuditPage(records=found, last=last, more=True)
                found.append(record)
                last = row.seq
        # Rows that were not examined are on the next page.
        return AuditPage(records=found, last=last, more=looked_at >= LOOKED_AT_MAX)


#: Numbers of rows that are read at once, and that one request examines.
_READ_AT_ONCE: Final = 500
LOOKED_AT_MAX: Final = 200_000


def _rows(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    for first in range(0, LOOKED_AT_MAX, _READ_AT_ONCE):
        rows = connection.execute(query.limit(_READ_AT_ONCE).offset(first)).all()
        yield from rows
        if len(rows) < _READ_AT_ONCE:
            return


def _row(origin: str, data: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {**_EMPTY, "effect": "done", **{name: data[name] for name in _COLUMNS if name in data}}
    row.setdefault("until", row["at"])
    return {**row, "id": f"{origin}/{data['id']}", "origin": origin, "record": _DUMPER.encode(data).decode()}


def _asked(wanted: AuditTrail) -> Select[Any]:
    c = AUDIT.c
    query = select(c.seq, c.origin, c.record)
    if wanted.since is not None:
        query = query.where(c.until >= wanted.since)
    if wanted.until is not None:
        query = query.where(c.at <= wanted.until)
    for column, values in ((c.kind, wanted.kinds), (c.effect, wanted.effects)):
        if values:
            query = query.where(column.in_(values))
    if wanted.knob:
        query = query.where(func.lower(c.knob) == wanted.knob.lower())
    if wanted.configuration:
        query = query.where(c.configuration.startswith(wanted.configuration, autoescape=True))
    if wanted.user:
        names = [or_(each == wanted.user, each.startswith(f"{wanted.user}@", autoescape=True))
                 for each in (c.actor, c.user, c.loser)]  # fmt: skip
        query = query.where(or_(*names))
    # Records that count several decisions have names among their samples; `_is_about` checks these.
    for column, value in ((c.job, wanted.job), (c.slot, wanted.machine)):
        if value:
            head = value.partition(".")[0] if column is c.job else value
            query = query.where(
                or_(column.istartswith(head, autoescape=True), c.record.icontains(head, autoescape=True))
            )
    if wanted.request:
        query = query.where(c.record.contains(wanted.request, autoescape=True))
    if wanted.after is not None:
        return query.where(c.seq > wanted.after).order_by(c.seq)
    return query.order_by(c.until.desc(), c.seq.desc())


def _is_about(record: AuditRecord, wanted: AuditTrail) -> bool:
    if wanted.job and not _names_job(record, wanted.job):
        return False
    if wanted.request and wanted.request not in (record.request, record.submission):
        return False
    return not wanted.machine or _names_machine(record, wanted.machine.lower())


def _names_job(record: AuditRecord, wanted: str) -> bool:
    names = [record.job, *(each.partition(" ")[0] for each in record.samples)]
    # A match of a request of several jobs may be about any job of that cluster; its text says so.
    like = record.detail.like.partition(".")[0]
    return like == wanted.partition(".")[0] or any(_covers(name, wanted) for name in names)


def _covers(name: str, wanted: str) -> bool:
    """Whether ``12.3`` or ``12.0-99`` refers to a job or cluster."""
    cluster, dot, procs = name.partition(".")
    wanted_cluster, wanted_dot, proc = wanted.partition(".")
    if not dot or cluster != wanted_cluster:
        return False
    if not wanted_dot:
        return True
    first, _, last = procs.partition("-")
    if not (proc.isdecimal() and first.isdecimal()):
        return False
    return int(first) <= int(proc) <= (int(last) if last.isdecimal() else int(first))


def _names_machine(record: AuditRecord, wanted: str) -> bool:
    names = [record.machine, record.slot, *(each.rpartition(" ")[2] for each in record.samples)]
    return any(name.lower() == wanted or name.lower().partition("@")[2] == wanted for name in names if name)
