"""Work that meets a failure which was not foreseen goes on, and what does not depend on it goes on meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from roost.classad import ClassAd, Expr
from roost.config import MemoryHost, load_text
from roost.model.effects import FetchWork
from roost.model.events import FetchedWorkOffered
from roost.negotiator.timing import Intervals, Urgency
from roost.node.cron import CronJob, CronPlan, Mode
from roost.node.machine import Machine, NodeSlot
from roost.runtime import keep_going as keeping
from roost.runtime.bus.lanes import WIDTH, Lanes
from roost.runtime.central.daemon import CentralDaemon
from roost.runtime.clock import SYSTEM
from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.identity import user_name
from roost.runtime.keep_going import keep_going
from roost.runtime.node.fetching import Fetching
from roost.runtime.processes import cron
from roost.runtime.processes.cron import CronAround, CronPrograms
from roost.runtime.processes.hook_programs import HookResult
from roost.runtime.queue.database.kept import LogPiece
from roost.runtime.queue.log_files import LogFiles
from roost.wire.messages import Answer, Ask
from tests.runtime.kit import run
from tests.runtime.test_matching_together import _demand, _matched, _slots, central

LOG = logging.getLogger("test")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that are made, in place of them."""
    found: list[float] = []
    sleep = asyncio.sleep

    async def pause(delay: float) -> None:
        found.append(delay)
        await sleep(0)

    monkeypatch.setattr(keeping.asyncio, "sleep", pause)
    return found


def test_work_that_fails_is_taken_up_again_after_longer_and_longer_pauses(
    pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    failures = iter([True] * 6 + [False])

    async def work() -> None:
        if next(failures):
            raise KeyError("a defect")

    run(keep_going(work, "the work", LOG, first_s=1.0, longest_s=10.0))
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert caplog.messages[0] == "internal error: the work failed; it resumes in 1 s"
    assert "KeyError: 'a defect'" in caplog.text


class Broken:
    """Fails a number of times, then is what it stands for."""

    def __init__(self, whole: Any, times: float) -> None:
        self.whole, self.times = whole, times

    def __call__(self, *words: Any, **options: Any) -> Any:
        self.times -= 1
        if self.times >= 0:
            raise ZeroDivisionError("a defect in matching")
        return self.whole(*words, **options)


async def _until(daemon: CentralDaemon, text: str) -> None:
    """Wait until that is, or "" for nothing, what the central manager works without."""
    while (found := daemon.context.home.shortcoming("central")) is None or bool(text) != bool(found):
        await asyncio.sleep(0.001)
    assert text in found


def test_a_collector_answers_while_each_cycle_fails_and_matching_goes_on_once_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A lasting defect in matching ended the central manager again and again, and with it the table of all ads."""

    async def work() -> None:
        async with central(tmp_path) as daemon:
            daemon.cycle_timer.intervals = Intervals(interval_s=3600.0, min_interval_s=0.0, cycle_delay_s=0.0)
            broken = Broken(daemon.matchmaker.cycle, float("inf"))
            daemon.matchmaker.cycle = broken  # type: ignore[method-assign]
            daemon._on_slots(_slots(1, claim=1), "n", "")
            daemon._on_demand(_demand(1, 1), "q", "")
            await _until(
                daemon,
                "no jobs are being matched: every matchmaking cycle ends with an internal error (ZeroDivisionError",
            )
            # What asks for a cycle does not make it fail more often than at each interval.
            for serial in range(2, 30):
                daemon._on_slots(_slots(1, claim=serial), "n", "")
                daemon._on_demand(_demand(serial, 1), "q", "")
                await asyncio.sleep(0.001)
            assert caplog.text.count("the matchmaking cycle failed") == 1
            assert daemon.table.get("Machine", "slot1@n") is not None and daemon.cycles == 0
            broken.times = 2
            daemon.cycle_timer.intervals = Intervals(interval_s=0.05, min_interval_s=0.0, cycle_delay_s=0.0)
            daemon.ask_for_cycle(Urgency.CHANGED)
            await _until(daemon, "")
            assert _matched(daemon) == ["slot1@n"]
            assert caplog.text.count("the matchmaking cycle failed") == 3
            assert "Traceback" in caplog.text

    run(work())


def test_a_slot_has_its_fetch_hook_called_again_after_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    offered: list[FetchedWorkOffered] = []

    class Plan:
        def keyword_of(self, slot: object) -> str:
            raise ZeroDivisionError("a defect")

    class Slot:
        name, plan = "slot1@n", cast(Any, type("Plan", (), {"id": 1}))

    class Half:
        plan = Plan()

    async def work() -> None:
        spawned: list[asyncio.Task[None]] = []

        def spawn(work: Any, name: str | None = None) -> asyncio.Task[None]:
            spawned.append(asyncio.create_task(work, name=name))
            return spawned[-1]

        config = load_text("", MemoryHost())
        fetching = Fetching(
            cast(Machine, Half()), config, Path("/"), SYSTEM, spawn, lambda slot, event: offered.append(event)
        )
        assert fetching.perform(cast(NodeSlot, Slot()), FetchWork())
        await asyncio.wait(spawned)

    run(work())
    (found,) = offered
    assert found.job_ad is None
    assert found.problem == "internal error; see the machine's log: ZeroDivisionError: a defect"
    assert "slot1@n: internal error" in caplog.text and "Traceback" in caplog.text


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("where", ["condition", "run"])
def test_a_program_is_run_again_after_an_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pauses: list[float], mode: Mode, where: str
) -> None:
    """Its task was over, and the program rested until the daemon's next start."""
    failures: Iterator[bool] = iter([True, True])
    runs: list[float] = []

    def ad() -> ClassAd:
        if where == "condition" and next(failures, False):
            raise ZeroDivisionError("a defect")
        return ClassAd(Ready=True)

    async def run_hook(*words: object) -> HookResult:
        if where == "run" and next(failures, False):
            raise ZeroDivisionError("a defect")
        runs.append(0.0)
        return HookResult(status=0, output="", errors="")

    async def work() -> None:
        tasks: list[asyncio.Task[Any]] = []

        def spawn(work: Any) -> asyncio.Task[Any]:
            tasks.append(asyncio.create_task(work))
            return tasks[-1]

        around = CronAround(
            clock=SYSTEM, execute=tmp_path, directory=tmp_path, fork_server=lambda: cast(Any, None), spawn=spawn,
            ad=ad, changed=lambda at_once: None, log=LOG,
        )  # fmt: skip
        job = CronJob(name="p", executable="/bin/true", mode=mode, period_s=1, condition=Expr.parse("Ready"))
        programs = CronPrograms(around, CronPlan(manager="STARTD_CRON", jobs=(job,)))
        programs.begin()
        if mode is Mode.ONE_SHOT:
            await asyncio.wait(tasks)
            tasks[0].exception()
        else:
            while len(runs) < 3:
                await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    monkeypatch.setattr(cron, "run_hook", run_hook)
    run(work())
    if mode is Mode.ONE_SHOT:
        # One that has begun is not begun twice.
        assert len(runs) == (where == "condition")
    else:
        assert [each for each in pauses if each] and len(runs) >= 3


def test_requests_of_a_user_are_served_though_answers_to_others_fail(caplog: pytest.LogCaptureFixture) -> None:
    served: list[str] = []

    class Bus:
        async def answer(self, reply: str, answer: Answer) -> None:
            raise ZeroDivisionError("a defect")

    async def serve(ask: Ask, sender: str, reply: str) -> None:
        served.append(reply)
        if len(served) <= 2 * WIDTH:
            raise ZeroDivisionError("a defect")

    async def work() -> None:
        lanes = Lanes(cast(Any, Bus()), serve)
        for number in range(3 * WIDTH):
            lanes.take(Ask(what="x", args={}), "ann", f"r{number}")
        while len(served) < 3 * WIDTH:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not any(lanes.has(f"r{number}") for number in range(3 * WIDTH))

    run(work())
    assert caplog.text.count("was not answered") == 2 * WIDTH


def test_a_log_that_an_internal_error_keeps_from_being_written_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces were forgotten until the queue's next start."""
    path, file_workers = tmp_path / "log", FileWorkers()
    pieces = [LogPiece(id=n, path=str(path), owner=user_name(), text=f"event {n}\n...\n") for n in range(3)]
    files = LogFiles(file_workers)
    broken = Broken(file_workers.hands_of, 2)
    monkeypatch.setattr(file_workers, "hands_of", broken)
    assert files.append(pieces[:1]).done == [] and files.wait
    assert files.append(pieces[1:2]).done == []
    assert files.append(pieces[2:]).done == [0, 1, 2]
    assert path.read_text() == "event 0\n...\nevent 1\n...\nevent 2\n...\n"
    assert not files.wait
