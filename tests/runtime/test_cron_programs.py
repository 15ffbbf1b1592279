"""When programs of STARTD_CRON_* and SCHEDD_CRON_* start."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any, cast

import pytest

from roost.classad import ClassAd
from roost.node.cron import CronJob, CronPlan, Mode
from roost.runtime.clock import SYSTEM
from roost.runtime.processes import cron
from roost.runtime.processes.cron import CronAround, CronPrograms
from roost.runtime.processes.hook_programs import HookCall, HookResult
from tests.runtime.kit import run


def test_programs_that_wait_for_load_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    async def run_hook(fork_server: object, execute: Path, call: HookCall) -> HookResult:
        runs.append(call.path.name)
        await asyncio.sleep(0.01)
        return HookResult(status=0, output="", errors="")

    async def work() -> None:
        tasks: list[asyncio.Task[Any]] = []

        def spawn(work: Any) -> asyncio.Task[Any]:
            tasks.append(asyncio.create_task(work))
            return tasks[-1]

        around = CronAround(
            clock=SYSTEM, execute=tmp_path, directory=tmp_path, fork_server=lambda: cast(Any, None), spawn=spawn,
            ad=ClassAd, changed=lambda at_once: None, log=logging.getLogger("test"),
        )  # fmt: skip
        jobs = [CronJob(name=name, executable=name, mode=Mode.WAIT_FOR_EXIT, load=0.06) for name in ("a", "b", "c")]
        CronPrograms(around, CronPlan(manager="STARTD_CRON", jobs=tuple(jobs))).begin()
        while len(runs) < 9:
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    monkeypatch.setattr(cron, "run_hook", run_hook)
    monkeypatch.setattr(cron, "_AGAIN_S", 0.03)
    run(work())
    assert {name: runs[:9].count(name) for name in "abc"} == {"a": 3, "b": 3, "c": 3}
