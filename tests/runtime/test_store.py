"""What a queue keeps is there when it comes back, in either database, whatever killed it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, inspect, text

from roost.classad import ClassAd, parse_expression
from roost.classad.values import from_bytes
from roost.model.audit import AuditKind, AuditRecord
from roost.runtime import database
from roost.runtime.database import Database
from roost.runtime.database_guard import StoreError
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.database.tables import CELL_ERRORS, MIGRATIONS, SCHEMA
from roost.schedd import changes as ch
from roost.schedd import events as ev
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue
from roost.schedd.status import JobStatus
from roost.sim.queue.disk import Disk
from roost.wire.ads import ad_data
from tests.schedd.submit.machine import sleep

ROOT = Path(__file__).resolve().parents[2]


# -- changes ------------------------------------------------------------------------------------------------------

JOBS = st.builds(JobId, st.integers(1, 3), st.integers(0, 3))
TEXTS = st.sampled_from(("", "plain", "é ☃", 'it\'s "quoted"', "\\", from_bytes(b"cut \xc3"), "line\nline", "%s :x ?"))
CELLS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXTS
ADS = st.dictionaries(st.sampled_from(("A", "Bc", "RequestMemory", "my attr")), CELLS, max_size=3).map(ClassAd)
CHANGES = st.one_of(
    st.builds(
        ch.PutCluster,
        cluster=st.integers(1, 3),
        owner=st.sampled_from(("ann", "bob")),
        submitted_at=st.integers(0, 2**40),
        count=st.just(4),
        ad=ADS,
        plan=st.none() | st.dictionaries(st.text("ab"), st.integers() | st.text("xyz"), max_size=2),
    ),
    st.builds(ch.PutGone, cluster=st.integers(1, 3), gone=st.sampled_from(("", "0", "1-2"))),
    st.builds(ch.PutJob, job=JOBS, status=st.sampled_from(JobStatus), attributes=ADS),
    st.builds(ch.DropJob, job=JOBS),
    st.builds(
        ch.PutClaim,
        claim_id=st.sampled_from(("c1", "c2")),
        node=st.just("n"),
        slot=st.just("slot1@n"),
        submitter=st.just("ann@x"),
        job=st.none() | JOBS,
        run=st.sampled_from(("", "1.0#1")),
    ),
    st.builds(ch.DropClaim, claim_id=st.sampled_from(("c1", "c2"))),
    st.builds(
        ch.AddHistory, job=JOBS, owner=st.just("ann"), status=st.just(JobStatus.COMPLETED), ended_at=st.just(5), ad=ADS
    ),
    st.builds(
        ch.AddAudit,
        record=st.builds(
            AuditRecord,
            id=st.sampled_from(("a", "b")),
            kind=st.just(AuditKind.HOLD),
            at=st.just(1.0),
            until=st.just(1.0),
            reason=TEXTS,
        ),
    ),
    st.builds(ch.AppendLog, path=st.sampled_from(("/a", "/b")), text=TEXTS, owner=st.just("ann")),
)


def shown(store: Store) -> object:
    """All that a database holds, comparable."""
    kept = store.load()
    return (
        [
            (each.cluster, each.owner, each.submitted_at, each.count, ad_data(each.ad), each.plan, each.gone)
            for each in kept.clusters
        ],
        [(each.job, each.status, ad_data(each.attributes)) for each in kept.jobs],
        list(kept.claims),
    )


def expected(disk: Disk) -> object:
    """What it should."""
    return (
        [
            (n, each.owner, each.submitted_at, each.count, ad_data(each.ad), each.plan, disk.gone.get(n, ""))
            for n, each in sorted(disk.clusters.items())
        ],
        [(job, int(each.status), ad_data(each.attributes)) for job, each in sorted(disk.jobs.items())],
        [disk.claims[key] for key in sorted(disk.claims)],
    )


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(batches=st.lists(st.lists(st.lists(CHANGES, max_size=4), max_size=3), max_size=4))
def test_what_was_committed_is_what_is_read(url: str, batches: list[list[list[ch.Change]]]) -> None:
    disk, pieces, noted, ends = Disk(), [], [], 0
    store = _emptied(url)
    for number, steps in enumerate(batches):
        valid = [[change for change in step if _makes_sense(disk, change)] for step in steps]
        for step in valid:
            disk.keep(tuple(step))
            ends += sum(isinstance(change, ch.AddHistory) for change in step)
        done = store.commit(valid, number + 7, [])
        pieces += done.pieces
        noted += done.noted
    try:
        assert shown(store) == expected(disk)
        kept = store.load()
        assert list(kept.log_pieces) == pieces
        assert list(kept.noted) == noted
        assert len(list(store.history(limit=0))) == ends
        assert kept.next_cluster == (len(batches) + 6 if batches else 1)
        store.commit([], 99, [piece.id for piece in pieces], [each.id for each in noted])
        kept = store.load()
        assert not kept.log_pieces
        assert not kept.noted
    finally:
        store.close()


def _makes_sense(disk: Disk, change: ch.Change) -> bool:
    """Clusters are put once, and their ranges after them."""
    if isinstance(change, ch.PutCluster):
        return change.cluster not in disk.clusters
    return not isinstance(change, ch.PutGone) or change.cluster in disk.clusters


def _emptied(url: str) -> Store:
    Store.open(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        for table in ("clusters", "jobs", "claims", "history", "log_pieces", "audit_outbox"):
            connection.execute(text(f"DELETE FROM {table}"))
        connection.execute(text("UPDATE meta SET value = '1' WHERE name = 'next_cluster'"))
    engine.dispose()
    return Store.open(url)


# -- histories and states -----------------------------------------------------------------------------------------


def test_history_is_read_from_the_last_on(url: str) -> None:
    store = Store.open(url)
    ads = [ClassAd({"ClusterId": n // 2, "ProcId": n % 2, "E": parse_expression("A + 1")}) for n in range(6)]
    for n, ad in enumerate(ads):
        job = JobId(n // 2, n % 2)
        store.commit([[ch.AddHistory(job=job, owner="a", status=JobStatus.COMPLETED, ended_at=n, ad=ad)]], 1, [])
    numbers = [(ad.get("ClusterId"), ad.get("ProcId")) for ad in store.history(limit=3)]
    assert numbers == [(2, 1), (2, 0), (1, 1)]
    assert [ad.get("ProcId") for ad in store.history(limit=0, cluster=1)] == [1, 0]
    assert len(list(store.history(limit=0, cluster=1, proc=0))) == 1
    store.close()


def test_jobs_that_left_together_are_read_one_by_one(url: str) -> None:
    queue = Queue(QueueSettings(name="q"), 0.0)
    store = Store.open(url)
    plan = sleep("arguments = $(Process)\n+Half = ProcId / 2\nqueue 30\n")
    steps = [queue.step(ev.Submitted(clusters=(plan,), owner="ann", reply_to=""), 0.0)]
    jobs = [JobId(1, proc) for proc in range(30)]
    for action, some in ((ev.Action.HOLD, jobs[7:8]), (ev.Action.REMOVE, jobs[:20]), (ev.Action.REMOVE, jobs[20:])):
        steps.append(queue.step(ev.Acted(action=action, jobs=tuple(some), user="ann", reply_to=""), 1.0))
    for step in steps:
        store.commit([step.changes], 2, [])
    expected = {
        job: ad_data(ad)
        for step in steps
        for change in step.changes
        if isinstance(change, ch.AddHistory)
        for job, ad in zip(change.jobs, change.ads(), strict=True)
    }
    # Jobs 0 to 6, 7, 8 to 19, and 20 to 29.
    assert sum(isinstance(change, ch.AddHistory) for step in steps for change in step.changes) == 4
    assert len(list(store.history(limit=0))) == 30
    store.close()
    again = Store.open(url)
    found = list(again.history(limit=0))
    # The last to leave first; in one step those that were removed singly come last.
    assert [ad.eval("ProcId") for ad in found[:10]] == list(range(29, 19, -1))
    assert {JobId(1, ad.eval("ProcId")): ad_data(ad) for ad in found} == expected and len(found) == 30  # type: ignore[arg-type]
    assert [ad.eval("Args") for ad in again.history(limit=0, cluster=1, proc=13)] == ["13"]
    assert [ad.eval("HoldReasonCode") for ad in again.history(limit=0, cluster=1, proc=7)] == [1]
    assert [ad.eval("ProcId") for ad in again.history(limit=3)] == [29, 28, 27]
    assert list(again.history(limit=0, cluster=1, proc=30)) == []
    again.close()


def test_states_are_kept_under_their_names(url: str) -> None:
    store = Store.open(url)
    assert store.state(CELL_ERRORS) is None
    store.commit([[ch.PutErrors(errors={"all.q@a": "1"})]], 2, [])
    store.commit([[ch.PutErrors(errors={"all.q@b": "2"})]], 2, [])
    store.close()
    again = Store.open(url)
    assert again.state(CELL_ERRORS) == {"all.q@b": "2"}
    again.close()


# -- opening ------------------------------------------------------------------------------------------------------


def test_one_queue_has_a_database_at_a_time(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LEFT_S", 0.2)
    store = Store.open(url)
    with pytest.raises(StoreError, match="in use"):
        Store.open(url)
    list(store.history(limit=1))
    with pytest.raises(StoreError, match="in use"):
        Store.open(url)
    store.close()
    Store.open(url).close()


def test_a_server_that_has_not_noticed_yet_that_a_queue_was_killed_is_waited_for(postgres: str) -> None:
    store = Store.open(postgres)
    Timer(0.5, store.close).start()
    Store.open(postgres).close()


def test_a_database_of_an_older_roost_is_brought_up_to_date(url: str) -> None:
    Store.open(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE audit_outbox"))
        connection.execute(text("UPDATE meta SET value = '1' WHERE name = 'schema'"))
    engine.dispose()
    store = Store.open(url)
    record = AuditRecord(id="a", kind=AuditKind.HOLD, at=1.0, until=1.0)
    assert store.commit([[ch.AddAudit(record=record)]], 1, []).noted == store.load().noted != ()
    store.close()


def test_what_interrupts_bringing_a_database_up_to_date_leaves_it_as_it_was(url: str) -> None:
    Store.open(url).close()

    def interrupted(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE half (id INTEGER)"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Database.open(url, replace(SCHEMA, migrations=(*MIGRATIONS, interrupted)))
    engine = create_engine(url)
    assert "half" not in inspect(engine).get_table_names()
    engine.dispose()
    Store.open(url).close()


def test_a_database_of_a_newer_roost_is_left_alone(url: str) -> None:
    Store.open(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE meta SET value = '{len(MIGRATIONS) + 1}' WHERE name = 'schema'"))
    engine.dispose()
    with pytest.raises(StoreError, match="newer Roost"):
        Store.open(url)


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("This is no database. " * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(f"sqlite:///{tmp_path}/text.sqlite")
    with pytest.raises(StoreError, match=r"cannot be opened.*set DATABASE_URL to postgresql\+psycopg://"):
        Store.open("nonsense://x")


# -- deaths -------------------------------------------------------------------------------------------------------

_WRITER = """
import sys
from roost.classad import ClassAd
from roost.runtime.queue.database.store import Store
from roost.schedd import changes as ch
from roost.schedd import events as ev
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue
from roost.schedd.status import JobStatus
store = Store.open(sys.argv[1])
for n in range(10_000):
    ad = ClassAd({"N": n})
    steps = [[ch.PutJob(job=JobId(1, p), status=JobStatus.IDLE, attributes=ad) for p in range(5)]]
    store.commit(steps, n, [])
    print(n, flush=True)
"""


def test_what_was_acknowledged_survives_a_kill_and_nothing_is_half_there(url: str) -> None:
    for lines in (3, 11):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, url],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            text=True,
        ) as writer:
            assert writer.stdout is not None
            last = [writer.stdout.readline() for _ in range(lines)][-1]
            writer.send_signal(signal.SIGKILL)
            rest = writer.stdout.read().split()
            acknowledged = int(rest[-1] if rest else last)
        store = _opened(url)
        kept = store.load()
        numbers = {job.attributes.get("N") for job in kept.jobs}
        assert len(kept.jobs) == 5
        assert len(numbers) == 1, "a commit is there as a whole"
        assert numbers.pop() >= acknowledged
        store.close()


def _opened(url: str) -> Store:
    """PostgreSQL takes a moment to see that who held it is dead."""
    from tests.integration.kit import eventually

    def attempt() -> Store | None:
        try:
            return Store.open(url)
        except StoreError:
            return None

    found = eventually(attempt)
    assert found is not None
    return found
