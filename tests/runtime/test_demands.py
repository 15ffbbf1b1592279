"""When a queue says what it wants."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from roost.classad import parse_expression
from roost.runtime.clock import Clock
from roost.runtime.queue.demands import SUBMITTER_BYTES_MAX, Demands, _within
from roost.schedd import events as ev
from roost.schedd.queue import Queue
from roost.wire import messages as m
from roost.wire.codec import MESSAGE_BYTES_MAX, encode
from roost.wire.messages import Message
from roost.wire.subjects import Subjects
from tests.schedd.kit import Driven, source


class At(Clock):
    """The same time always."""

    def now(self) -> float:
        """The time."""
        return 1000.0


class Daemon:
    """What demands need of a queue's daemon; it counts how often a word was to be sent, and keeps those that were."""

    context: Any = SimpleNamespace(name="q", bus=SimpleNamespace(urls=("nats://127.0.0.1:4222",)))
    clock: Clock = At()
    started_at = 0.0
    subjects = Subjects("p")

    def __init__(self, queue: Queue | None = None) -> None:
        self.queue = Driven().queue if queue is None else queue
        self.bus = self
        self.cron: Any = SimpleNamespace(ad={}, attributes=dict)
        self.told = 0
        self.said: list[m.Demand] = []

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """A word is to be sent."""
        work.close()
        self.told += 1

    async def send(self, subject: str, message: Message) -> None:
        """Take a message."""
        if isinstance(message, m.Demand):
            assert len(encode(message)) <= MESSAGE_BYTES_MAX
            self.said.append(message)


def test_a_queue_asks_for_nothing_before_it_hears_the_answer() -> None:
    async def begins() -> list[int]:
        daemon, told = Daemon(), []
        demands = Demands(daemon)
        demands.soon()
        await asyncio.sleep(0)
        told.append(daemon.told)
        demands.begin()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return [*told, daemon.told]

    assert asyncio.run(begins()) == [0, 1]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_queue_that_was_away_hears_machines_before_it_asks(monkeypatch: pytest.MonkeyPatch, restarted: bool) -> None:
    """What it had waiting was matched before the machines had said which of its other jobs were idle again."""
    monkeypatch.setattr("roost.runtime.queue.demands.ANSWERED_S", 0.3)

    async def comes_back() -> list[int]:
        daemon, told = Daemon(), []
        demands = Demands(daemon)
        demands.begin(claims=restarted)
        if not restarted:
            demands.came_back()
        for wait_s in (0.02, 0.6):
            # Machines answer, and each answer may be news to the matchmaker.
            demands.soon()
            await asyncio.sleep(wait_s)
            told.append(daemon.told)
        return told

    assert asyncio.run(comes_back()) == [0, 1]


def _words(queue: Queue, count: int) -> list[m.Demand]:
    """What a queue says to the matchmaker, so many times in a row."""
    daemon = Daemon(queue)

    async def speak() -> None:
        demands = Demands(daemon)
        for _ in range(count):
            await demands._tell()

    asyncio.run(speak())
    return daemon.said


def _of_kinds(*users: tuple[str, int, int]) -> Queue:
    """A queue with so many jobs of each user, all of them different, with so many characters in their Requirements."""
    driven = Driven()
    for owner, jobs, size in users:
        requirements = tuple(f'TARGET.Name != "{"x" * size}{number}"' for number in range(jobs))
        own = {"Requirements": tuple(map(parse_expression, requirements))}
        driven.queue.step(ev.Submitted(clusters=(source(jobs, own=own),), owner=owner, reply_to=""), 1000.0)
    while driven.queue.book.unplaced:
        driven.queue.step(ev.Ticked(), 1000.0)
    return driven.queue


def test_users_with_many_different_jobs_share_the_room_in_a_word() -> None:
    """The message was too large to be sent, and no further job began, whoever had submitted it."""
    words = _words(_of_kinds(("ann", 1500, 400), ("bob", 1500, 300), ("eve", 1, 400_000), ("sue", 3, 10)), 30)
    ads: Counter[str] = Counter()
    for word in words:
        ads.update({name: sum(bool(each.ad) for each in requests) for name, requests in word.submitters.items()})
        assert len(word.submitters["sue@here"]) == 3
    first = {name: len(requests) for name, requests in words[0].submitters.items()}
    assert 150 < first["ann@here"] < first["bob@here"] < 1500 and first["eve@here"] == 1
    # What is known takes little room: in the end there is room for all, and the ad of each was told once.
    assert {name: len(requests) for name, requests in words[-1].submitters.items()} == {
        "ann@here": 1500, "bob@here": 1500, "eve@here": 1, "sue@here": 3,
    }  # fmt: skip
    assert ads == {"ann@here": 1500, "bob@here": 1500, "eve@here": 1, "sue@here": 3}


@pytest.mark.parametrize("large", [[("eve", 3, 150_000)], [("eve", 3, 150_000), ("joe", 2, 120_000)]])
def test_kinds_of_jobs_without_number_have_their_turn_before_long(
    monkeypatch: pytest.MonkeyPatch, large: list[tuple[str, int, int]]
) -> None:
    """Those that had no room waited forever, or five minutes for each word."""
    monkeypatch.setattr("roost.runtime.queue.demands.WORD_BYTES", 100_000)
    users = [("ann", 800, 10), ("bob", 30, 10), *large]
    words = _words(_of_kinds(*users), 60)
    told: dict[str, set[str]] = {}
    for word in words:
        assert len(encode(word)) < 200_000
        for name, requests in word.submitters.items():
            told.setdefault(name, set()).update(each.job for each in requests)
    assert {name: len(jobs) for name, jobs in told.items()} == {f"{name}@here": jobs for name, jobs, _ in users}
    # The matchmaker has the ads that are left out, from the word before.
    known: set[int] = set()
    for word in words:
        requests = [each for some in word.submitters.values() for each in some]
        here = {each.autocluster for each in requests if each.ad}
        assert all(each.autocluster in known | here for each in requests)
        known = {each.autocluster for each in requests}


def test_the_next_word_follows_by_itself_while_not_all_had_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.runtime.queue.demands.WORD_BYTES", 100_000)
    assert _follows(_of_kinds(("ann", 800, 10))) and not _follows(_of_kinds(("ann", 20, 10)))


def _follows(queue: Queue) -> bool:
    async def speaks() -> bool:
        demands = Demands(Daemon(queue))
        demands._receives_matches = True
        await demands._tell()
        return demands._offer is not None

    return asyncio.run(speaks())


def test_submitters_without_number_do_not_fill_the_message(caplog: pytest.LogCaptureFixture) -> None:
    ads: dict[str, dict[str, Any]] = {f"{'n' * 200}{number}": {"IdleJobs": 1} for number in range(20_000)}
    found = _within(ads)
    assert 5000 < len(found) < 20_000 and sum(map(len, found)) < SUBMITTER_BYTES_MAX
    demands = Demands(Daemon())
    assert demands._shown(ads) == demands._shown(ads) == found
    assert demands._shown({"ann": {"IdleJobs": 1}}) == {"ann": {"IdleJobs": 1}}
    assert caplog.messages == [
        f"only {len(found)} of 20000 submitters were reported to the pool: the others do not fit into a message"
    ]
