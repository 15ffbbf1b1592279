"""The tables of the queue's database, and the migrations of earlier versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import BigInteger, Column, Connection, Index, Integer, MetaData, Table, Text, inspect

from roost.runtime.database import Schema
from roost.runtime.queue.database.accounting_store import create_accounting_tables
from roost.runtime.queue.database.cell_store import create_cell_tables
from roost.runtime.queue.database.reporting_store import create_reporting_tables

#: Number of jobs from which the history stores a cluster's common attributes once.
LARGE_CLUSTER: Final = 10
#: Clusters that are known to have their own row.
PAST_KNOWN_MAX: Final = 10_000

#: Whether a command wants the job of a claim suspended, in stored form and back.
WANTED: Final = {None: "", True: "suspended", False: "running"}
STILL: Final = {wanted: still for still, wanted in WANTED.items()}

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
