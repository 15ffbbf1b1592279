"""The bus: a server of one's own, messages in order, long answers in pieces, and a connection that comes back."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.runtime.bus.answer_pieces import ROWS_PER_ANSWER, pieces
from roost.runtime.bus.client import Bus, BusError, BusSettings
from roost.runtime.bus.server import BusAccounts, NatsServer
from roost.runtime.identity import user_name
from roost.wire.codec import expect
from roost.wire.errors import WireError
from roost.wire.messages import Answer, Ask, Message, ReleaseClaim
from roost.wire.subjects import Role, Subjects

SUBJECTS = Subjects("test pool")


class Place:
    """A server with users."""

    def __init__(self, directory: Path) -> None:
        self.accounts = BusAccounts(directory, SUBJECTS)
        for role, name in (
            (Role.CENTRAL, "c"),
            (Role.SCHEDD, "q"),
            (Role.NODE, "n.example"),
            (Role.CLIENT, "ann"),
            (Role.CLIENT, "bob"),
            (Role.CLIENT, user_name()),
        ):
            self.accounts.account(role, name)
        self.server = NatsServer(directory / "nats", self.accounts.server_text)
        self.server.start()

    def settings(self, role: Role, name: str) -> BusSettings:
        account = self.accounts.account(role, name)
        return BusSettings(
            urls=(self.server.url,), pool=SUBJECTS.pool, name=name, user=account.user, password=account.password
        )


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.server.stop()


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do it, within bounds."""
    asyncio.run(asyncio.wait_for(work(), 90))


def test_messages_of_one_sender_arrive_in_order(place: Place) -> None:
    async def work() -> None:
        queue = await Bus.connect(place.settings(Role.SCHEDD, "q"))
        node = await Bus.connect(place.settings(Role.NODE, "n.example"))
        heard: list[tuple[str, str]] = []
        all_there = asyncio.Event()

        def on_message(message: Message, sender: str, reply: str) -> None:
            assert isinstance(message, ReleaseClaim)
            heard.append((message.claim_id, sender))
            if len(heard) == 500:
                all_there.set()

        await node.listen(SUBJECTS.node("n.example", "*"), on_message)
        for number in range(500):
            await queue.send(SUBJECTS.node("n.example", "q"), ReleaseClaim(claim_id=str(number)))
        await all_there.wait()
        assert heard == [(str(number), "q") for number in range(500)]
        await queue.close()
        await node.close()

    run(work)


@pytest.mark.parametrize("count", [0, 1, ROWS_PER_ANSWER, ROWS_PER_ANSWER + 1, 3 * ROWS_PER_ANSWER])
def test_long_answers_come_whole(place: Place, count: int) -> None:
    async def work() -> None:
        queue = await Bus.connect(place.settings(Role.SCHEDD, "q"))
        client = await Bus.connect(place.settings(Role.CLIENT, "ann"), patient=False)

        async def on_ask(message: Message, sender: str, reply: str) -> None:
            await queue.answer(reply, Answer(data=list(range(count))))

        await queue.listen(SUBJECTS.ask_schedd("q", "*"), on_ask)
        answer = await client.ask(SUBJECTS.ask_schedd("q", "ann"), Ask(what="rows"))
        assert answer.data == list(range(count))
        await client.close()
        await queue.close()

    run(work)


@pytest.mark.parametrize(
    "sizes", [[5_000_000] * 3, [10] * 5 + [9_000_000] + [10] * 3, [9_000_000], [4_000_000, 9_000_000]]
)
def test_an_answer_with_large_rows_comes_in_messages_that_are_not_too_large(sizes: list[int]) -> None:
    """One user's large jobs made the queries of all others fail."""
    rows: list[object] = [{"Big": "x" * size} for size in sizes]
    sent = [expect(Answer, data) for data in pieces(Answer(data=rows, text="slow"))]
    assert [each.more for each in sent] == [True] * (len(sent) - 1) + [False]
    found = [row for each in sent if isinstance(each.data, list) for row in each.data]
    assert found == [row for row, size in zip(rows, sizes, strict=True) if size < 8_000_000]
    assert sent[-1].text.startswith("slow") and ("1 omitted, larger than" in sent[-1].text) == (len(found) < len(rows))


def test_an_answer_without_form_is_a_mistake() -> None:
    with pytest.raises(WireError, match="cannot be represented in JSON"):
        list(pieces(Answer(data=[1, object()])))


def test_a_mistake_of_a_daemon_is_an_answer(place: Place) -> None:
    async def work() -> None:
        queue = await Bus.connect(place.settings(Role.SCHEDD, "q"))
        client = await Bus.connect(place.settings(Role.CLIENT, "ann"), patient=False)

        def on_ask(message: Message, sender: str, reply: str) -> None:
            raise RuntimeError("never thought of that")

        await queue.listen(SUBJECTS.ask_schedd("q", "*"), on_ask)
        answer = await client.ask(SUBJECTS.ask_schedd("q", "ann"), Ask(what="x"))
        assert (answer.ok, answer.code) == (False, "internal")
        assert "never thought of that" in answer.text
        await client.close()
        await queue.close()

    run(work)


def test_asking_nobody_is_told_at_once(place: Place) -> None:
    async def work() -> None:
        client = await Bus.connect(place.settings(Role.CLIENT, "ann"), patient=False)
        with pytest.raises(BusError, match="no reply"):
            await client.ask(SUBJECTS.ask_schedd("q", "ann"), Ask(what="x"), timeout_s=20)
        with pytest.raises(BusError, match="no reply"):
            await client.request(SUBJECTS.ask_schedd("q", "ann"), Ask(what="x"), 20)
        await client.close()

    run(work)


def test_a_connection_comes_back_after_the_server_died(place: Place) -> None:
    async def work() -> None:
        queue = await Bus.connect(place.settings(Role.SCHEDD, "q"))
        node = await Bus.connect(place.settings(Role.NODE, "n.example"))
        back, heard = asyncio.Event(), asyncio.Event()
        node.on_reconnect = back.set
        await node.listen(SUBJECTS.node("n.example", "*"), lambda message, sender, reply: heard.set())
        port, pid = place.server.port, place.server.pid
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        place.server.gone()
        await queue.send(SUBJECTS.node("n.example", "q"), ReleaseClaim(claim_id="lost or not"))
        await asyncio.to_thread(place.server.start)
        assert place.server.port == port, "everybody finds it where it was"
        await back.wait()
        while not heard.is_set():
            await queue.send(SUBJECTS.node("n.example", "q"), ReleaseClaim(claim_id="x"))
            await asyncio.sleep(0.01)
        await queue.close()
        await node.close()

    run(work)


def test_whoever_is_not_known_is_turned_away(place: Place) -> None:
    async def work() -> None:
        settings = BusSettings(urls=(place.server.url,), pool="test pool", name="ann", user="ann", password="guess")
        with pytest.raises(BusError, match="no pool answers"):
            await Bus.connect(settings, patient=False)

    run(work)
    # A connection that was refused is closed.
    gc.collect()


def test_passwords_are_for_the_owner_only_and_stay(place: Place, tmp_path: Path) -> None:
    for path in (tmp_path / "accounts.json", tmp_path / "nats" / "nats.conf"):
        assert path.stat().st_mode & 0o077 == 0, path
    again = BusAccounts(tmp_path, SUBJECTS)
    assert again.account(Role.CLIENT, "ann") == place.accounts.account(Role.CLIENT, "ann")


def test_a_user_who_is_not_named_any_more_has_no_account(tmp_path: Path) -> None:
    subjects = Subjects("p")
    accounts = BusAccounts(tmp_path, subjects)
    kept = accounts.account(Role.USER, "ann")
    accounts.account(Role.USER, "bob")
    accounts.account(Role.CLIENT, "root")
    accounts.forget_users(["ann"])
    again = BusAccounts(tmp_path, subjects)
    names = {each["user"] for each in json.loads(again.server_text().removeprefix("authorization: "))["users"]}
    assert names == {"user:ann", "client:root"}
    assert again.account(Role.USER, "ann") == kept, "who stays keeps the key"


def test_a_user_tells_the_collector_nothing_and_speaks_as_nobody_else() -> None:
    say, _ = SUBJECTS.permissions(Role.USER, "ann")
    assert all(subject.endswith(".ask.ann") for subject in say)
