"""Changes of the queue as rows of its tables, written in few statements."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import Any, Final, assert_never

from sqlalchemy import Connection, Delete, Insert, Table, and_, bindparam, delete, insert, update

from roost.model.cell_accounting import AccountingRecord
from roost.model.cell_reporting import Report
from roost.model.cell_usage import Owner, Used
from roost.runtime.queue.database.cell_store import USAGE, usage_row
from roost.runtime.queue.database.kept import LogPiece, Noted, dumped
from roost.runtime.queue.database.tables import (
    CELL_ERRORS,
    CLAIMS,
    CLUSTERS,
    HISTORY,
    JOBS,
    LARGE_CLUSTER,
    LOGS,
    OUTBOX,
    PAST,
    PAST_KNOWN_MAX,
    STATES,
    WANTED,
)
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.wire.ads import ad_data
from roost.wire.audit import audit_data


class Batch:
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
        fresh = frozenset(each.job.cluster for each in self.history if is_apart(each))
        return fresh if len(known) > PAST_KNOWN_MAX else known | fresh

    def add(self, change: ch.Change) -> None:
        """Add a change."""
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
        drop_rows(connection, CLUSTERS, [{"cluster": key} for key in self.clusters])
        add_rows(
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
        past = {each.job.cluster: each.cluster for each in self.history if each.cluster and is_apart(each)}
        _put(connection, PAST, [({"cluster": key}, _past_row(each)) for key, each in past.items() if key not in known])
        add_rows(connection, HISTORY, [_history_row(each) for each in self.history])
        add_rows(connection, LOGS, [_piece_row(each) for each in self.pieces])
        add_rows(connection, OUTBOX, [{"id": each.id, "record": dumped(each.record)} for each in self.noted])
        states: list[tuple[dict[str, Any], dict[str, Any] | None]]
        states = [({"name": name}, {"name": name, "value": dumped(each)}) for name, each in self.states.items()]
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


def add_rows(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(_insertion(table), rows)


def drop_rows(connection: Connection, table: Table, keys: list[dict[str, Any]]) -> None:
    """A statement that deletes rows by their keys, executed for each."""
    if keys:
        found = [{f"key_{name}": value for name, value in key.items()} for key in keys]
        connection.execute(_deletion(table, tuple(keys[0])), found)


def _put(connection: Connection, table: Table, rows: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
    """Keys of rows, and their new values: None to delete."""
    statement = _replacement(table, connection.dialect.name)
    drop_rows(connection, table, [key for key, row in rows if row is None or statement is None])
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
        "ad": dumped(ad_data(change.ad)),
        "plan": dumped(change.plan),
        "gone": gone.get(change.cluster, ""),
        "told": told.get(change.cluster, ""),
        "factory": factories.get(change.cluster, ""),
    }


def _job_row(change: ch.PutJob) -> dict[str, Any]:
    attributes = dumped(ad_data(change.attributes))
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
        "wanted": WANTED[change.still],
    }


def is_apart(change: ch.AddHistory) -> bool:
    """Whether an ad is stored without what it has in common with the others of its cluster."""
    return change.cluster is not None and (change.last is not None or change.cluster.count >= LARGE_CLUSTER)


def _history_row(change: ch.AddHistory) -> dict[str, Any]:
    apart = is_apart(change)
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
        "ad": dumped(ad_data(ad)),
        "last": (change.job.proc if change.last is None else change.last) if apart else None,
    }


def _past_row(cluster: ch.PastCluster) -> dict[str, Any]:
    plan = cluster.plan
    return {
        "cluster": cluster.number,
        "owner": cluster.owner,
        "submitted_at": cluster.submitted_at,
        "count": cluster.count,
        "ad": dumped(ad_data(cluster.ad)),
        "plan": dumped(None if plan is None else plan.to_data()),
    }


def _piece_row(piece: LogPiece) -> dict[str, Any]:
    return {"id": piece.id, "path": piece.path, "owner": piece.owner, "text": piece.text}
