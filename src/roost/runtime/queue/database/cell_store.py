"""The Grid Engine cell of a pool in the queue's database: the text of each object, and every change.

A change is one transaction: the texts, the row with its author, time and contents, and the record for the pool's audit
trail. Its number is the cell's revision. States of queue instances and users' accounts are stored next to the texts,
because they change without a new revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Column, Connection, Float, Integer, MetaData, Table, Text, delete, func, insert, select

from roost.base.records import dataclass, field
from roost.model.cell_reporting import Report
from roost.model.cell_usage import Owner, Used

_METADATA: Final = MetaData()
FILES: Final = Table(
    "cell_files", _METADATA, Column("name", Text, primary_key=True), Column("text", Text, nullable=False)
)
CHANGES: Final = Table(
    "cell_changes",
    _METADATA,
    Column("revision", Integer, primary_key=True, autoincrement=False),
    #: Epoch s.
    Column("at", Float(53), nullable=False),
    Column("actor", Text, nullable=False),
    #: The changes of objects, in wire form.
    Column("changes", Text, nullable=False),
)
#: Current states of queue instances. An instance without a row was never given one.
INSTANCES: Final = Table(
    "cell_instances",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("letters", Text, nullable=False),
    #: Epoch s.
    Column("at", Float(53), nullable=False),
    Column("actor", Text, nullable=False),
)

#: Users' usage.
USAGE: Final = Table(
    "cell_usage",
    _METADATA,
    *(Column(name, Text, primary_key=True) for name in Owner._fields),
    #: Time for which the recent sums are given, epoch s.
    Column("at", Float(53), nullable=False),
    #: Sums by name, JSON: those that decay, and those that do not.
    Column("recent", Text, nullable=False),
    Column("total", Text, nullable=False),
)


#: Advance reservations that still exist.
RESERVATIONS: Final = Table(
    "cell_reservations",
    _METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    #: In wire form.
    Column("data", Text, nullable=False),
)
#: Events of advance reservations, kept for reports.
RESERVATION_LOG: Final = Table(
    "cell_reservation_log",
    _METADATA,
    Column("serial", Integer, primary_key=True, autoincrement=False),
    #: Epoch s.
    Column("at", Float(53), nullable=False),
    Column("number", Integer, nullable=False, index=True),
    Column("event", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("actor", Text, nullable=False),
    #: The reservation, in wire form.
    Column("data", Text, nullable=False),
)


def create_cell_tables(connection: Connection) -> None:
    """Create the tables that do not exist."""
    _METADATA.create_all(connection)


class GivenState(NamedTuple):
    """The last given state of a queue instance."""

    #: d and s
    letters: str
    #: epoch s
    at: float
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCell:
    """A stored cell."""

    #: 0 if there is no cell
    revision: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    #: by queue instance
    states: Mapping[str, GivenState] = field(default_factory=dict)
    #: by number, in wire form
    reservations: Mapping[int, Any] = field(default_factory=dict)
    #: the last assigned number; 0 for none
    last_reservation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationCommit:
    """An event of an advance reservation to store."""

    number: int
    at: float
    event: str
    state: str
    actor: str
    #: in wire form
    data: Any
    #: whether it no longer exists after it
    gone: bool
    #: the record for the audit trail, in wire form
    record: dict[str, Any]
    #: for the reporting file
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCommit:
    """A change of a cell to store."""

    revision: int
    at: float
    actor: str
    #: in wire form
    changes: Any
    put: Mapping[str, str]
    drop: Iterable[str]
    #: the record for the audit trail, in wire form
    record: dict[str, Any]
    #: queue instances that no longer exist, with their states
    gone: Iterable[str] = ()
    #: the minimum number of the next cluster
    next_cluster: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StatesCommit:
    """States of queue instances to store."""

    states: Mapping[str, GivenState]
    #: the record for the audit trail, in wire form
    record: dict[str, Any]
    #: for the reporting file
    reports: tuple[Report, ...] = ()


def read_kept(connection: Connection) -> KeptCell:
    """The last stored cell."""
    revision = connection.execute(select(func.max(CHANGES.c.revision))).scalar_one_or_none() or 0
    rows = connection.execute(select(FILES.c.name, FILES.c.text).order_by(FILES.c.name))
    given = connection.execute(select(INSTANCES).order_by(INSTANCES.c.name))
    return KeptCell(
        revision=revision,
        files={row.name: row.text for row in rows},
        states={row.name: GivenState(row.letters, row.at, row.actor) for row in given},
        reservations={row.number: msgspec.json.decode(row.data) for row in connection.execute(_RESERVATIONS)},
        last_reservation=connection.execute(_LAST).scalar_one_or_none() or 0,
    )


_RESERVATIONS: Final = select(RESERVATIONS).order_by(RESERVATIONS.c.number)
_LAST: Final = (
    select(RESERVATION_LOG.c.number)
    .where(RESERVATION_LOG.c.event == "created")
    .order_by(RESERVATION_LOG.c.serial.desc())
    .limit(1)
)


def write_reservation(connection: Connection, commit: ReservationCommit) -> None:
    """Store an event of a reservation; the caller owns the transaction."""
    data = msgspec.json.encode(commit.data).decode()
    connection.execute(delete(RESERVATIONS).where(RESERVATIONS.c.number == commit.number))
    if not commit.gone:
        connection.execute(insert(RESERVATIONS), [{"number": commit.number, "data": data}])
    serial = (connection.execute(select(func.max(RESERVATION_LOG.c.serial))).scalar_one_or_none() or 0) + 1
    row = {
        "serial": serial,
        "at": commit.at,
        "number": commit.number,
        "event": commit.event,
        "state": commit.state,
        "actor": commit.actor,
        "data": data,
    }
    connection.execute(insert(RESERVATION_LOG), [row])


def read_reservation_log(connection: Connection, number: int | None, limit: int) -> list[dict[str, Any]]:
    """Events of one reservation, or of all, oldest first; only the last `limit`."""
    query = select(RESERVATION_LOG).order_by(RESERVATION_LOG.c.serial.desc()).limit(limit)
    if number is not None:
        query = query.where(RESERVATION_LOG.c.number == number)
    return [
        {
            "at": row.at,
            "event": row.event,
            "state": row.state,
            "actor": row.actor,
            "reservation": msgspec.json.decode(row.data),
        }
        for row in reversed(connection.execute(query).all())
    ]


def read_usage(connection: Connection) -> dict[Owner, Used]:
    """The accounts of users."""
    rows = connection.execute(select(USAGE).order_by(*(USAGE.c[name] for name in Owner._fields)))
    return {
        Owner(row.user, row.project, row.department): Used(
            at=row.at, recent=_amounts(row.recent), total=_amounts(row.total)
        )
        for row in rows
    }


def _amounts(text: str) -> dict[str, float]:
    return msgspec.json.decode(text, type=dict[str, float])


def usage_row(owner: Owner, used: Used) -> dict[str, Any]:
    """The row of an account."""
    sums = {name: msgspec.json.encode(each).decode() for name, each in (("recent", used.recent), ("total", used.total))}
    return {**owner._asdict(), "at": used.at, **sums}


def write_states(connection: Connection, states: Mapping[str, GivenState]) -> None:
    """Store states of queue instances; the caller owns the transaction."""
    for name, given in states.items():
        connection.execute(delete(INSTANCES).where(INSTANCES.c.name == name))
        connection.execute(insert(INSTANCES), [{"name": name, **given._asdict()}])


def write_commit(connection: Connection, commit: CellCommit) -> None:
    """Store a change; the caller owns the transaction."""
    gone = sorted({*commit.drop, *commit.put})
    for name in gone:
        connection.execute(delete(FILES).where(FILES.c.name == name))
    if commit.put:
        connection.execute(insert(FILES), [{"name": name, "text": text} for name, text in commit.put.items()])
    row = {
        "revision": commit.revision,
        "at": commit.at,
        "actor": commit.actor,
        "changes": msgspec.json.encode(commit.changes).decode(),
    }
    connection.execute(insert(CHANGES), [row])
    for name in commit.gone:
        connection.execute(delete(INSTANCES).where(INSTANCES.c.name == name))


def read_changes(connection: Connection, limit: int) -> list[tuple[int, float, str, Any]]:
    """The latest changes, newest first: revision, time, actor, changes."""
    rows = connection.execute(select(CHANGES).order_by(CHANGES.c.revision.desc()).limit(limit))
    return [(row.revision, row.at, row.actor, msgspec.json.decode(row[3])) for row in rows]
