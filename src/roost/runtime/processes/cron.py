"""Runs the programs of STARTD_CRON_* or SCHEDD_CRON_* and keeps their output.

Each program has a task that starts it when it is due. A run goes through the fork server like a hook, so that all of
its processes are known and have ended when it is stopped; its output is read as it comes.

It does not interpret the knobs, or decide which slot gets which output (`roost.node.cron`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.node.cron import ADS_MAX, Autopublish, CronAd, CronJob, CronOutput, CronPlan, Ended, Mode
from roost.runtime.clock import Clock
from roost.runtime.keep_going import keep_going
from roost.runtime.processes.family import Family
from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.hook_programs import HookCall, HookFailed, run_hook

#: Interval of checks for a program that may not start yet because of its condition or the load, s.
_AGAIN_S: Final = 1.0
#: Variables that programs inherit from the daemon, besides their own environment.
_INHERITED: Final = ("PATH", "HOME", "LANG", "TZ", "CONDOR_CONFIG", "ROOST_HOME", "ROOST_CONFIG")


@dataclass(frozen=True, slots=True, kw_only=True)
class CronAround:
    """The surroundings of a daemon's programs."""

    clock: Clock
    execute: Path
    #: The working directory of programs that name none.
    directory: Path
    fork_server: Callable[[], ForkServer]
    spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    #: The ad for which conditions are evaluated.
    ad: Callable[[], ClassAd]
    #: Called for new output; True if it must be published at once.
    changed: Callable[[bool], None]
    log: logging.Logger


class CronPrograms:
    """The programs of one daemon."""

    def __init__(self, around: CronAround, plan: CronPlan) -> None:
        self._around = around
        self._plan = plan
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._families: dict[str, Family] = {}
        self._loads: dict[str, float] = {}
        #: Programs that are due and may not start because of the load, in order.
        self._waiting: dict[str, None] = {}
        self._numbers = itertools.count(1)
        #: (program, tag) to its ad.
        self._ads: dict[tuple[str, str], CronAd] = {}

    @property
    def ads(self) -> tuple[CronAd, ...]:
        """The output of the programs."""
        return tuple(self._ads.values())

    def begin(self) -> None:
        """Start the programs."""
        for job in self._plan.jobs:
            self._tasks[job.name] = self._around.spawn(self._life(job))

    async def reconfigure(self, plan: CronPlan) -> None:
        """Stop programs that are gone or have changed, and signal the others."""
        before = {job.name: job for job in self._plan.jobs}
        self._plan = plan
        after = {job.name: job for job in plan.jobs}
        for name, job in before.items():
            again = after.get(name)
            if again != job or job.rerun:
                await self._stop(name)
            elif job.reconfig and name in self._families:
                await self._families[name].signal(signal.SIGHUP)
            if again is None:
                self._forget(name)
        for name, job in after.items():
            if name not in self._tasks:
                self._tasks[name] = self._around.spawn(self._life(job))

    def _forget(self, name: str) -> None:
        kept = {key: ad for key, ad in self._ads.items() if key[0] != name}
        if len(kept) != len(self._ads):
            self._ads = kept
            self._around.changed(True)

    async def _stop(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task])

    # -- one program -------------------------------------------------------------------------------------

    async def _life(self, job: CronJob) -> None:
        log, name = self._around.log, self._called(job)
        try:
            match job.mode:
                case Mode.ONE_SHOT:
                    # Only the wait is repeated: a program that has started is not run twice.
                    await keep_going(lambda: self._may_start(job), name, log)
                    await self._run(job)
                case Mode.WAIT_FOR_EXIT:
                    await keep_going(lambda: self._again_and_again(job), name, log)
                case Mode.PERIODIC:
                    await keep_going(lambda: self._periodically(job), name, log)
        finally:
            self._loads.pop(job.name, None)

    async def _again_and_again(self, job: CronJob) -> None:
        while True:
            await self._may_start(job)
            await self._run(job)
            await asyncio.sleep(job.period_s)

    async def _periodically(self, job: CronJob) -> None:
        run: asyncio.Task[None] | None = None
        try:
            while True:
                if run is not None and not run.done() and job.kill:
                    self._around.log.warning("%s was killed: it ran longer than its period", self._called(job))
                    await _cancelled(run)
                if run is None or run.done():
                    ended, run = run, None
                    if ended is not None and not ended.cancelled():
                        # `keep_going` handles a failure.
                        ended.result()
                    await self._may_start(job)
                    run = asyncio.create_task(self._run(job))
                    self._loads[job.name] = job.load
                await asyncio.sleep(job.period_s)
        finally:
            if run is not None:
                await _cancelled(run)

    async def _may_start(self, job: CronJob) -> None:
        """Wait until the condition of a program is TRUE, the others leave it enough load, and it is its turn."""
        try:
            while not (self._condition(job) and self._has_turn(job) and self._has_load(job)):
                await asyncio.sleep(_AGAIN_S)
        finally:
            self._waiting.pop(job.name, None)
        self._loads[job.name] = job.load

    def _condition(self, job: CronJob) -> bool:
        fulfilled = job.condition is None or self._around.ad().eval_expr(job.condition) is True
        if not fulfilled:
            self._waiting.pop(job.name, None)
        return fulfilled

    def _has_turn(self, job: CronJob) -> bool:
        self._waiting.setdefault(job.name)
        return next(iter(self._waiting)) == job.name

    def _has_load(self, job: CronJob) -> bool:
        others = sum(load for name, load in self._loads.items() if name != job.name)
        # A program that is too heavy by itself would never run: it runs alone.
        return not others or others + job.load <= self._plan.load_max + 1e-9

    async def _run(self, job: CronJob) -> None:
        output = CronOutput(job)

        def heard(data: bytes) -> None:
            for ended in output.fed(data):
                self._take(job, ended)

        call = HookCall(
            key=f"{self._plan.manager.lower()}_{job.name}_{os.getpid()}_{next(self._numbers)}",
            path=Path(job.executable),
            arguments=job.arguments,
            environment=self._environment(job),
            directory=Path(job.directory) if job.directory else self._around.directory,
            heard=heard,
            began=lambda family: self._families.__setitem__(job.name, family),
        )
        try:
            result = await run_hook(self._around.fork_server(), self._around.execute, call)
            for ended in output.closed():
                self._take(job, ended)
            self._tell(job, result)
        finally:
            self._families.pop(job.name, None)
            self._loads.pop(job.name, None)

    def _tell(self, job: CronJob, result: Any) -> None:
        if isinstance(result, HookFailed):
            self._around.log.error("%s failed: %s", self._called(job), result.text)
        elif result.status and self._plan.logs_failures:
            self._around.log.warning(
                "%s exited with status %d: %s", self._called(job), result.status, result.errors.strip()[:1000]
            )

    def _called(self, job: CronJob) -> str:
        return f"the program {job.name} of {self._plan.manager}_JOBLIST"

    def _environment(self, job: CronJob) -> dict[str, str]:
        manager = self._plan.manager
        found = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        found |= {f"{manager}_INTERFACE_VERSION": "1", f"{manager}_NAME": job.name}
        if self._plan.config_val is not None:
            found[f"{manager}_CONFIG_VAL"] = self._plan.config_val
        return found | dict(job.environment)

    def _take(self, job: CronJob, ended: Ended) -> None:
        for line in ended.unread:
            self._around.log.warning("%s printed a line that is not an attribute: %r", self._called(job), line)
        key = (job.name, ended.ad.tag)
        if key not in self._ads and len(self._ads) >= ADS_MAX:
            self._around.log.error("%s prints more than %d ads; %r is left out", self._called(job), ADS_MAX, key[1])
            return
        before = self._ads.get(key)
        updated = f"{job.prefix}LastUpdate"
        if before is not None:
            # The time is left out of the comparison: it always differs.
            before.attributes.pop(updated, None)
        is_new = before is None or before != ended.ad
        ended.ad.attributes[updated] = int(self._around.clock.now())
        self._ads = {**self._ads, key: ended.ad}
        at_once = ended.update
        if at_once is None:
            at_once = self._plan.autopublish is Autopublish.ALWAYS or (
                self._plan.autopublish is Autopublish.IF_CHANGED and is_new
            )
        self._around.changed(at_once)


async def _cancelled(run: asyncio.Task[None]) -> None:
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait([run])
