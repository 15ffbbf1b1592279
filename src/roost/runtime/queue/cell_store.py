"""The Grid Engine cell of a pool in the queue's database: the text of each object, and every change that was made.

A change is one transaction: the texts, the row that says who made it, when and what it was, and the record for the
pool's audit trail. Its number is the cell's revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from sqlalchemy import Column, Connection, Float, Integer, MetaData, Table, Text, delete, func, insert, select

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
    #: The changes of objects, as the wire has them.
    Column("changes", Text, nullable=False),
)


def create_cell_tables(connection: Connection) -> None:
    """Create the tables that do not exist."""
    _METADATA.create_all(connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCell:
    """A cell as it was kept."""

    #: 0 if there is no cell
    revision: int = 0
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCommit:
    """A change of a cell that is to be kept."""

    revision: int
    at: float
    actor: str
    #: as the wire has them
    changes: Any
    put: Mapping[str, str]
    drop: Iterable[str]
    #: the record for the audit trail, as the wire has it
    record: dict[str, Any]


def read_kept(connection: Connection) -> KeptCell:
    """The cell that was kept last."""
    revision = connection.execute(select(func.max(CHANGES.c.revision))).scalar_one_or_none() or 0
    rows = connection.execute(select(FILES.c.name, FILES.c.text).order_by(FILES.c.name))
    return KeptCell(revision=revision, files={row.name: row.text for row in rows})


def write_commit(connection: Connection, commit: CellCommit) -> None:
    """Keep a change; the transaction is the caller's."""
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


def read_changes(connection: Connection, limit: int) -> list[tuple[int, float, str, Any]]:
    """The last changes, the last first: revision, time, actor, changes."""
    rows = connection.execute(select(CHANGES).order_by(CHANGES.c.revision.desc()).limit(limit))
    return [(row.revision, row.at, row.actor, msgspec.json.decode(row[3])) for row in rows]
