"""No request of one user stops those of others: a limit on what a request costs, and turns while it is served."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from roost.classad import ClassAd
from roost.config import MemoryHost, load_text
from roost.runtime.bus.budget import EXPRESSION_CHARS_MAX, Budget, OverBudget
from roost.runtime.bus.client import Bus
from roost.runtime.bus.lanes import WAITING_MAX, WIDTH, Lanes
from roost.runtime.central.daemon import CentralDaemon
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.home import Home
from roost.runtime.identity import user_name
from roost.runtime.queue.daemon import ScheddDaemon
from roost.runtime.role import RoleContext
from roost.schedd import events as ev
from roost.wire.messages import Answer, Ask
from roost.wire.subjects import Role
from tests.runtime.kit import run
from tests.runtime.test_bus import SUBJECTS, Place
from tests.schedd.submit.machine import sleep

#: A match that would take the matcher all of the million steps that it has.
HOSTILE = 'regexp("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")'
#: One of some ten thousand steps: within the limit of one evaluation, and far from free.
SLOW = 'regexp("(a+)+$", strcat("aaaaaaaaaa!", ProcId))'


class Waiting:
    """A daemon's bus that only keeps the answers."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, Answer]] = []

    async def answer(self, reply: str, answer: Answer) -> None:
        self.answers.append((reply, answer))


def test_a_user_with_more_requests_than_a_lane_is_wide_delays_no_other() -> None:
    async def work() -> None:
        served: list[str] = []
        may = asyncio.Event()

        async def serve(ask: Ask, sender: str, reply: str) -> None:
            if sender == "ann":
                await may.wait()
            served.append(f"{sender} {ask.what}")

        bus = Waiting()
        lanes = Lanes(bus, serve)  # type: ignore[arg-type]
        for number in range(WIDTH + WAITING_MAX + 2):
            lanes.take(Ask(what=str(number)), "ann", f"ann {number}")
        lanes.take(Ask(what="b"), "bob", "bob")
        while "bob b" not in served:
            await asyncio.sleep(0)
        assert served == ["bob b"]
        while len(bus.answers) < 2:
            await asyncio.sleep(0)
        refused = [(reply, answer.code) for reply, answer in bus.answers]
        assert refused == [(f"ann {WIDTH + WAITING_MAX + n}", "busy") for n in range(2)]
        may.set()
        while len(served) < 1 + WIDTH + WAITING_MAX:
            await asyncio.sleep(0)
        numbers = [int(each.split()[1]) for each in served[1:]]
        assert sorted(numbers) == list(range(WIDTH + WAITING_MAX))
        # Those that waited began in the order in which they came.
        assert [each for each in numbers if each >= WIDTH] == list(range(WIDTH, WIDTH + WAITING_MAX))

    run(work())


def test_a_request_that_fails_is_answered_and_its_lane_goes_on() -> None:
    async def work() -> None:
        async def serve(ask: Ask, sender: str, reply: str) -> None:
            if ask.what == "bad":
                raise RuntimeError("no")
            await bus.answer(reply, Answer())

        bus = Waiting()
        lanes = Lanes(bus, serve)  # type: ignore[arg-type]
        for number in range(20):
            lanes.take(Ask(what="bad" if number % 2 else "good"), "ann", str(number))
        while len(bus.answers) < 20:
            await asyncio.sleep(0)
        assert sorted(int(reply) for reply, answer in bus.answers if answer.code == "internal") == list(range(1, 20, 2))

    run(work())


def test_a_budget_counts_what_the_request_itself_takes() -> None:
    async def work() -> None:
        budget = Budget("it", 0.05)
        time_s = time.thread_time
        other_until = time_s() + 0.1
        while time_s() < other_until:
            pass
        budget.resume()
        await budget.pause()
        assert budget.run(ClassAd({"A": 1}).eval, "A", author="ann", name=(1, 0)) == 1
        with pytest.raises(OverBudget, match=r"it took more than 0\.05 s of processor time \(REQUEST_TIME_MAX\)"):
            while True:
                if budget.due:
                    await budget.pause()

    run(work())


@asynccontextmanager
async def queue(tmp_path: Path, config: str = "") -> AsyncIterator[tuple[ScheddDaemon, Callable[..., Awaitable[Any]]]]:
    """A queue's daemon, and what asks it something in the name of a user."""
    (tmp_path / "servers").mkdir()
    place, home = Place(tmp_path / "servers"), Home(tmp_path / "home")
    home.make()
    buses: dict[str, Bus] = {}

    async def ask(user: str, what: str, **args: Any) -> Answer:
        if user not in buses:
            buses[user] = await Bus.connect(place.settings(Role.CLIENT, user))
        return await buses[user].ask(SUBJECTS.ask_schedd("q", user), Ask(what=what, args=args))

    try:
        settings = place.settings(Role.SCHEDD, "q")
        bus = await Bus.connect(settings)
        context = RoleContext(role="schedd", name="q", home=home, roots=None, bus=settings)
        daemon = ScheddDaemon(context, load_text(config, MemoryHost()), bus)
        await daemon.start()
        try:
            yield daemon, ask
        finally:
            await daemon.stop(DaemonEnding.FAST)
            for each in (bus, *buses.values()):
                await each.close()
    finally:
        place.server.stop()


def _submit(daemon: ScheddDaemon, text: str) -> None:
    daemon.feed(ev.Submitted(clusters=(sleep(text),), owner=user_name(), reply_to=""))


@pytest.mark.parametrize(
    ("what", "args"),
    [
        ("query", {"constraint": HOSTILE}),
        ("query", {"constraint": HOSTILE, "projection": ["ClusterId"]}),
        ("overview", {"constraint": HOSTILE}),
        ("act", {"action": "remove", "constraint": HOSTILE}),
        ("act", {"action": "hold", "constraint": HOSTILE}),
        ("act", {"action": "edit", "constraint": HOSTILE, "attributes": {"A": 1}}),
    ],
)
def test_a_constraint_that_takes_too_many_steps_is_refused_by_name(
    tmp_path: Path, what: str, args: dict[str, Any]
) -> None:
    async def work() -> None:
        async with queue(tmp_path) as (daemon, ask):
            _submit(daemon, f"hold = true\n+Evil = {HOSTILE}\nqueue 40\n")
            answer = await ask("ann", what, **args)
            assert (answer.ok, answer.code) == (False, "over-budget")
            assert "more than 50000 evaluation steps" in answer.text and "(a+)+" in answer.remedy
            assert not answer.data
            # Nothing was done, and nobody else waits.
            rows = await ask("ann", "query", projection=["ProcId", "JobStatus"])
            assert [(row["ProcId"], row["JobStatus"]) for row in rows.data] == [(n, 5) for n in range(40)]

    run(work())


@pytest.mark.parametrize("count", [1, 300])
def test_costly_expressions_in_jobs_of_one_user_keep_nobody_from_an_answer(tmp_path: Path, count: int) -> None:
    async def work() -> None:
        async with queue(tmp_path) as (daemon, ask):
            doubling = "".join(f"+A{n} = A{n - 1} + A{n - 1}\n" for n in range(1, 61))
            _submit(daemon, f"hold = true\n+A0 = time()\n{doubling}request_memory = A60\nqueue {count}\n")
            _submit(daemon, "hold = true\nrequest_memory = 7\nqueue 3\n")
            warning = f"expressions that take more than 50000 evaluation steps count as ERROR: in 1.0 ({user_name()})"
            wanted = ["ClusterId", "ProcId", "RequestMemory"]
            for more in ({}, {"limit": 100_000}, {"constraint": "RequestMemory > 0 || ClusterId == 1"}):
                answer = await ask("ann", "query", projection=wanted, **more)
                assert answer.ok and answer.text.startswith(warning), answer
                assert answer.text.endswith(f" and {count - 5} more") is (count > 5)
                theirs = [row["RequestMemory"] for row in answer.data if row["ClusterId"] == 2]
                assert theirs == [7, 7, 7]
            answer = await ask("ann", "overview", constraint="RequestMemory == 7", projection=wanted, rows_max=100)
            assert [row["ProcId"] for row in answer.data] == [0, 1, 2] and answer.text.startswith(warning)
            assert answer.text.count("1.0 (") == 1, "a job that is asked for twice is named once"
            answer = await ask(user_name(), "act", action="release", constraint="RequestMemory == 7")
            assert answer.ok and answer.data["counts"] == {"ok": 3} and answer.text.startswith(warning)

    run(work())


def test_others_are_answered_while_a_long_query_runs(tmp_path: Path) -> None:
    async def work() -> None:
        async with queue(tmp_path, "REQUEST_TIME_MAX = 100000") as (daemon, ask):
            _submit(daemon, "hold = true\nqueue 60000\n")
            long = asyncio.create_task(ask("ann", "query", constraint=SLOW, projection=["ProcId"]))
            await ask("bob", "summary")
            for number in range(10):
                _submit(daemon, "hold = true\nqueue 1\n")
                answer = await ask("bob", "query", jobs=[str(number + 2)], projection=["ClusterId"])
                assert [row["ClusterId"] for row in answer.data] == [number + 2]
            # Ann's own short requests are served as well.
            assert (await ask("ann", "query", jobs=["2"], projection=["ClusterId"])).data == [{"ClusterId": 2}]
            # Her query would take minutes.
            assert not long.done()
            long.cancel()

    run(work())


def test_others_are_answered_while_many_jobs_are_removed_at_little_disk(tmp_path: Path) -> None:
    count = 60_000

    async def work() -> None:
        async with queue(tmp_path) as (daemon, ask):
            _submit(daemon, f"hold = true\nqueue {count}\n")
            sizes: list[int] = []
            await ask("bob", "summary")
            removal, answered = asyncio.create_task(ask(user_name(), "act", action="remove", jobs=["1"])), 0
            while not removal.done():
                _submit(daemon, "hold = true\nqueue 1\n")
                answer = await ask("bob", "query", jobs=[str(len(sizes) + 2)], projection=["ClusterId"])
                assert [row["ClusterId"] for row in answer.data] == [len(sizes) + 2]
                sizes.append(sum(each.stat().st_size for each in (tmp_path / "home" / "db").glob("queue.sqlite*")))
                answered += not removal.done()
            # Where nobody else is served, that is none, or one that comes first.
            assert answered > 2
            assert (await removal).data["counts"] == {"ok": count}
            assert (await ask("ann", "query", jobs=["1"], projection=["ProcId"])).data == []
            # With everything that was removed in one transaction it was 2 KB a job.
            assert max(sizes) < 100 * count

    run(work())


def test_a_query_that_takes_too_long_is_refused_whole_with_the_limit(tmp_path: Path) -> None:
    async def work() -> None:
        async with queue(tmp_path, "REQUEST_TIME_MAX = 0.2") as (daemon, ask):
            _submit(daemon, "hold = true\nqueue 20000\n")
            answer = await ask("ann", "query", constraint=f"{SLOW} || true")
            assert (answer.ok, answer.code) == (False, "over-budget")
            assert "more than 0.2 s of processor time (REQUEST_TIME_MAX)" in answer.text
            assert (await ask("ann", "query", jobs=["1.7"], projection=["ProcId"])).data == [{"ProcId": 7}]

    run(work())


def test_a_search_of_the_history_has_the_same_limits(tmp_path: Path) -> None:
    async def work() -> None:
        async with queue(tmp_path, "REQUEST_TIME_MAX = 0.2") as (daemon, ask):
            _submit(daemon, f"hold = true\n+Evil = {HOSTILE}\nqueue 3000\n")
            assert (await ask(user_name(), "act", action="remove", jobs=["1"])).ok
            slow = await ask("ann", "history", constraint=f"{SLOW} || true")
            assert (slow.ok, slow.code) == (False, "over-budget") and "REQUEST_TIME_MAX" in slow.text
            evil = await ask("ann", "history", constraint=HOSTILE)
            assert (evil.ok, evil.code, evil.data or []) == (False, "over-budget", [])
            assert "evaluation steps" in evil.text
            evil = await ask("ann", "history", projection=["Evil"], limit=1)
            assert evil.ok and f"in 1.2999 ({user_name()})" in evil.text
            found = await ask("bob", "history", projection=["ProcId"], jobs=["1.2999"])
            assert found.data == [{"ProcId": 2999}]

    run(work())


def test_many_rows_of_a_query_arrive_once_each_and_in_order(tmp_path: Path) -> None:
    async def work() -> None:
        async with queue(tmp_path) as (daemon, ask):
            _submit(daemon, "hold = true\nqueue 9001\n")
            for args in ({}, {"constraint": "ProcId >= 0"}, {"raw": True}):
                answer = await ask("ann", "query", projection=["ProcId"], **args)
                assert [row["ProcId"] for row in answer.data] == list(range(9001))
            # Parts of the answer that are not whole turns: some of the jobs have left.
            assert (await ask(user_name(), "act", action="remove", jobs=[f"1.{n}" for n in range(0, 700, 7)])).ok
            left = [n for n in range(9001) if n % 7 or n >= 700]
            for args in ({}, {"constraint": "ProcId >= 0"}, {"raw": True}):
                answer = await ask("ann", "query", projection=["ProcId"], **args)
                assert [row["ProcId"] for row in answer.data] == left
            assert (await ask(user_name(), "act", action="remove", jobs=["1"])).data["counts"] == {"ok": len(left)}
            answer = await ask("ann", "history", projection=["ProcId"])
            assert sorted(row["ProcId"] for row in answer.data) == list(range(9001))

    run(work())


def test_an_expression_of_a_request_has_a_longest_length(tmp_path: Path) -> None:
    async def work() -> None:
        async with queue(tmp_path) as (_, ask):
            answer = await ask("ann", "query", constraint="1 + " * EXPRESSION_CHARS_MAX + "1")
            assert answer.code == "over-budget" and str(EXPRESSION_CHARS_MAX) in answer.text

    run(work())


@pytest.mark.parametrize("slots", [3, 200])
def test_a_hostile_constraint_on_slots_is_refused_and_others_are_answered(tmp_path: Path, slots: int) -> None:
    async def work() -> None:
        (tmp_path / "servers").mkdir()
        place, home = Place(tmp_path / "servers"), Home(tmp_path / "home")
        home.make()
        settings = place.settings(Role.CENTRAL, "c")
        bus, client = await Bus.connect(settings), await Bus.connect(place.settings(Role.CLIENT, "ann"))
        context = RoleContext(role="central", name="c", home=home, roots=None, bus=settings)
        daemon = CentralDaemon(context, load_text("", MemoryHost()), bus)
        await daemon.start()
        try:
            for number in range(slots):
                ad = ClassAd({"MyType": "Machine", "Name": f"slot{number}@n", "Machine": "a" * 30})
                daemon.table.put(ad, sender="n", now=daemon.clock.now())
            subject = f"{SUBJECTS.prefix}.central.ask.ann"

            async def ask(**args: Any) -> Answer:
                return await client.ask(subject, Ask(what="ads", args={"kind": "Machine", **args}))

            for constraint in (HOSTILE, 'regexp("(a+)+$", strcat(Machine, Name))'):
                answer = await ask(constraint=constraint)
                assert (answer.ok, answer.code, answer.data) == (False, "over-budget", None)
            good = await ask(constraint='regexp("slot[0-9]@", Name)', projection=["Name"], values=True)
            assert [row["Name"] for row in good.data] == [f"slot{n}@n" for n in range(min(10, slots))]
        finally:
            await daemon.stop(DaemonEnding.FAST)
            await bus.close()
            await client.close()
            place.server.stop()

    run(work())
