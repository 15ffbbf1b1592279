"""The audit trail: kept once, in either database, found again, forgotten when it is old; and what comes of it when the
database is away."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from roost.base.structs import replaced
from roost.config import MemoryHost, load_text
from roost.model.audit import SAMPLES_MAX, TEXT_MAX, AuditKind, AuditRecord, Detail, Effect
from roost.runtime.audit_sender import BATCH_BYTES_MAX, WAITING_MAX, AuditSender
from roost.runtime.central import audit_store
from roost.runtime.central.audit_keeper import AuditKeeper, AuditSettings, audit_settings
from roost.runtime.central.audit_store import MIGRATIONS, AuditStore
from roost.runtime.clock import SYSTEM
from roost.runtime.database_guard import StoreError
from roost.runtime.home import Home
from roost.wire.audit import audit_data, audit_from
from roost.wire.errors import WireError
from roost.wire.messages import Audit
from roost.wire.requests.central import AuditTrail


def record(name: str = "a", **more: Any) -> AuditRecord:
    found = AuditRecord(id=name, kind=AuditKind.HOLD, at=10.0, until=10.0)
    return replaced(found, **{"until": more.get("at", 10.0), **more})


def kept(url: str, *records: AuditRecord) -> AuditStore:
    store = AuditStore.open(url)
    store.keep([("schedd q", audit_data(each)) for each in records])
    return store


def names(store: AuditStore, **wanted: Any) -> list[str]:
    return [each.id for each in store.query(AuditTrail(**wanted)).records]


# -- records as JSON ---------------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was() -> None:
    detail = Detail(sources=("a",), for_="b", set={"c": "d"})
    full = record(effect=Effect.REFUSED, actor="ann", samples=("1.0", "2.0"), count=7, detail=detail, job="1.0")
    assert audit_from(audit_data(full)) == full
    assert audit_data(record()) == {"id": "a", "kind": "hold", "at": 10.0, "until": 10.0}


def test_what_is_no_record_is_refused_and_what_is_too_long_is_cut() -> None:
    good = audit_data(record())
    for bad in (None, [], {}, {**good, "kind": "fun"}, {**good, "at": "soon"}, {**good, "job": 5},
                {**good, "detail": {"sources": ["x" * 40_000]}}, {**good, "samples": 7}):  # fmt: skip
        with pytest.raises(WireError):
            audit_from(bad)
    long = audit_from({**good, "reason": "x" * 10_000, "samples": ["y"] * 100})
    assert (len(long.reason), len(long.samples)) == (TEXT_MAX, SAMPLES_MAX)


def test_texts_of_users_do_not_keep_a_record_from_being_kept(url: str) -> None:
    store = kept(url, record(reason="cut \udcc3 and \0 ☃", samples=("a\0",)))
    (found,) = store.query(AuditTrail()).records
    assert found.reason == "cut \ufffd and \ufffd ☃"
    store.close()


# -- the store ---------------------------------------------------------------------------------------------------


def test_a_record_that_is_said_twice_is_there_once_in_its_newest_form(url: str) -> None:
    store = kept(url, record(count=1), record("b"))
    store.keep([("schedd q", audit_data(record(at=20.0, count=5)))])
    store.keep([("schedd q", audit_data(record(at=15.0, count=3)))])
    found = store.query(AuditTrail()).records
    assert [(each.id, each.count) for each in found] == [("a", 5), ("b", 1)]
    store.keep([("node q", audit_data(record()))])
    assert len(store.query(AuditTrail()).records) == 3, "the same name of another daemon is another record"
    store.close()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, "gfedcba"),
        ({"since": 13.0, "until": 15.0}, "fedc"),
        ({"kinds": ("drain", "veto")}, "dc"),
        ({"user": "ann"}, "eba"),
        ({"user": "ann@x"}, "eb"),
        ({"job": "12.3"}, "f"),
        ({"job": "12"}, "fe"),
        ({"job": "1.0"}, "ca"),
        ({"machine": "m1"}, "dc"),
        ({"machine": "SLOT1@M1"}, "dc"),
        ({"machine": "m"}, ""),
        ({"knob": "start"}, "a"),
        ({"configuration": "beef"}, "b"),
        ({"effects": ("would-prevent",)}, "g"),
        ({"limit": 2}, "gf"),
    ],
)
def test_records_are_found_by_what_they_are_about(url: str, wanted: dict[str, Any], found: str) -> None:
    store = kept(
        url,
        record("a", at=11.0, actor="ann", job="1.0", knob="START"),
        record("b", at=12.0, user="ann@x", configuration="beef01"),
        record("c", at=13.0, kind=AuditKind.VETO, count=9, samples=("1.0 slot1@m1", "2.0 slot1@m2")),
        record("d", at=14.0, kind=AuditKind.DRAIN, machine="m1", slot="slot1@m1"),
        record("e", at=15.0, loser="ann@x", job="12.7"),
        record("f", at=16.0 - 1, count=100, samples=("12.0-4", "13.0")),
        record("g", at=17.0, effect=Effect.WOULD_PREVENT),
    )
    assert "".join(sorted(names(store, **wanted), reverse=True)) == found
    store.close()


def test_an_export_goes_through_all_records_page_by_page(url: str) -> None:
    store = kept(url, *(record(f"{n:03}", detail=Detail(sources=("x" * 10_000,))) for n in range(100)))
    found, after = [], 0
    for _ in range(100):
        page = store.query(AuditTrail(after=after))
        found += [each.id for each in page.records]
        after = page.last
        if not page.more:
            break
    assert found == [f"{n:03}" for n in range(100)]
    store.close()


def test_what_one_question_does_not_look_at_is_on_the_next_page(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_store, "LOOKED_AT_MAX", 2_000)
    store = kept(url, *(record(f"{n}", job=f"1.{n}") for n in range(2_500)))
    first = store.query(AuditTrail(job="1.2400", after=0))
    assert (first.records, first.more) == ([], True)
    rest = store.query(AuditTrail(job="1.2400", after=first.last))
    assert ([each.id for each in rest.records], rest.more) == (["2400"], False)
    store.close()


def test_what_is_old_or_too_much_is_forgotten(url: str) -> None:
    store = kept(url, *(record(f"{n}", at=float(n)) for n in range(10)))
    assert store.forget(before=3.0, most=100) == 3
    assert store.forget(before=0.0, most=5) == 2
    assert names(store) == ["9", "8", "7", "6", "5"]
    assert store.forget(before=0.0, most=5) == 0
    store.close()


def test_the_database_of_a_newer_roost_and_one_that_is_in_use_are_left_alone(url: str) -> None:
    store = AuditStore.open(url)
    with pytest.raises(StoreError, match="in use"):
        AuditStore.open(url)
    store.close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE audit_meta SET value = '{len(MIGRATIONS) + 1}' WHERE name = 'schema'"))
    engine.dispose()
    with pytest.raises(StoreError, match="newer Roost"):
        AuditStore.open(url)


def test_the_trail_is_beside_the_queues_database_or_in_the_same_server(tmp_path: Path) -> None:
    def settings(line: str) -> AuditSettings:
        return audit_settings(load_text(line, MemoryHost()), Home(tmp_path))

    assert settings("").url == f"sqlite:///{tmp_path}/db/audit.sqlite"
    assert settings("DATABASE_URL = postgresql+psycopg://h/d").url == "postgresql+psycopg://h/d"
    assert settings("DATABASE_URL = sqlite:////x/q.sqlite").url == f"sqlite:///{tmp_path}/db/audit.sqlite"
    found = settings("AUDIT_DATABASE_URL = sqlite:////a\nAUDIT_MAX_AGE = 60\nAUDIT_MAX_RECORDS = 5")
    assert found == AuditSettings(url="sqlite:////a", known=tmp_path / "audit.identity", age_max_s=60.0, records_max=5)


# -- on the way --------------------------------------------------------------------------------------------------


async def _until(look: Any) -> None:
    async with asyncio.timeout(90):
        while not look():
            await asyncio.sleep(0.005)


def test_a_database_that_is_away_delays_records_and_loses_none(tmp_path: Path) -> None:
    place = tmp_path / "db"
    place.write_text("not a directory yet")

    async def go() -> tuple[list[dict[str, int]], list[str]]:
        told: list[dict[str, int]] = []

        async def tell(found: dict[str, int]) -> None:
            told.append(found)

        url = f"sqlite:///{place}/audit.sqlite"
        keeper = AuditKeeper(AuditSettings(url=url, age_max_s=1e12, records_max=10), tell, SYSTEM)
        task = asyncio.create_task(keeper.keep_all())
        message = Audit(role="node", records=[audit_data(record()), {"no": "record"}], serial=7)
        keeper.take(message, "m1")
        keeper.take(message, "m1")
        await _until(lambda: keeper.problem)
        assert not told, "nobody is told that what is not on disk is kept"
        place.unlink()
        await _until(lambda: told)
        found = await keeper.query(AuditTrail())
        task.cancel()
        keeper.close()
        return told, [each.origin for each in found.records]

    assert asyncio.run(go()) == ([{"node m1": 7}], ["node m1"])


def test_what_was_not_kept_is_sent_again_by_the_next_daemon(tmp_path: Path) -> None:
    path = tmp_path / "waiting.jsonl"
    sent: list[Audit] = []

    async def send(message: Audit) -> None:
        sent.append(message)

    async def first() -> None:
        sender = AuditSender(send, role="node", now=100.0, path=path)
        sender.load()
        sender.add([audit_data(record("a"))])
        sender.kept(sender.add([audit_data(record("b"))]) - 1)

    async def second() -> None:
        with path.open("a") as file:
            file.write('{"cut short')
        sender = AuditSender(send, role="node", now=101.0, path=path)
        sender.load()
        task = asyncio.create_task(sender.send_all())
        await _until(lambda: sent)
        sender.kept(100_002)
        assert path.exists(), "what an earlier daemon was told says nothing of these"
        sender.kept(sent[-1].serial)
        task.cancel()

    asyncio.run(first())
    asyncio.run(second())
    assert [each["id"] for each in sent[0].records] == ["a", "b"]
    assert not path.exists()


def test_records_that_wait_are_limited_and_what_is_lost_is_counted() -> None:
    async def send(message: Audit) -> None:
        pass

    async def go() -> int:
        sender = AuditSender(send, role="node", now=0.0)
        sender.add([{}] * (WAITING_MAX + 3))
        return sender.lost

    assert asyncio.run(go()) == 3


def test_a_message_is_never_too_large_and_words_to_others_bring_nothing_back() -> None:
    sent: list[Audit] = []

    async def send(message: Audit) -> None:
        sent.append(message)
        sender.kept(0)
        sender.kept(message.serial)

    sender = AuditSender(send, role="node", now=1.0)

    async def go() -> None:
        sender.add([{"text": "x" * (BATCH_BYTES_MAX // 3)}] * 7 + [{"text": "y" * (2 * BATCH_BYTES_MAX)}] + [{}] * 300)
        task = asyncio.create_task(sender.send_all())
        await _until(lambda: sum(len(each.records) for each in sent) == 308)
        task.cancel()

    asyncio.run(go())
    assert [len(each.records) for each in sent] == [2, 2, 2, 1, 1, 200, 100]
