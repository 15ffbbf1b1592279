"""One scenario on real daemons: its actions happen to them at their instants, and transitions are recorded."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from roost.base.records import dataclass
from roost.config import Config, Host, MemoryHost, Setting
from roost.lab.inputs.durations import shown
from roost.lab.machines import LabError, load_config
from roost.lab.node_changes import NodeChange
from roost.lab.policy_check import refuse_unreadable
from roost.lab.replay.driven_loop import DrivenLoop, Stuck
from roost.lab.replay.leftovers import RunDirectory, memory
from roost.lab.replay.pool import CLIENT, ReplayEnvironment, ReplayPool
from roost.lab.scenario.described import configured
from roost.lab.scenario.values import Scenario, ScheduledAction
from roost.model.starter import HookPoint
from roost.runtime.processes.accounts import can_switch_user
from roost.sim.inputs.workload import Job
from roost.sim.queue.job_changes import JobChange
from roost.sim.world import BEGINNING
from roost.startd.configured import wants_backfill
from roost.startd.work import Taken

T = TypeVar("T")

#: Time limit for teardown of a stuck or interrupted run, s.
END_S: Final = 10.0

#: Hooks of the scenario's policy that replays replace by their own programs.
_HOOKS: Final = {"FETCH_WORK": "fetch", "REPLY_FETCH": "reply", "EVICT_CLAIM": "reply"}
#: Jobs are stand-ins, which no wrapper starts.
_NO_WRAPPER: Final = ("USER_JOB_WRAPPER", "")
#: The backfill client of a replay only sleeps.
_CLIENT: Final = [
    ("BOINC_Executable", "/bin/sleep"),
    ("BOINC_Arguments", "1000000"),
    ("BOINC_InitialDir", "/"),
    ("BOINC_Owner", "nobody"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The result of a scenario."""

    scenario: Scenario
    start: float
    #: Slot and transition, in the order of time.
    taken: tuple[tuple[str, Taken], ...]
    #: What each job did as its queue saw it, in the order of time.
    jobs: tuple[JobChange, ...] = ()
    #: Changes of DAGs and their nodes, in the order of time.
    nodes: tuple[NodeChange, ...] = ()
    #: Internal errors that daemons reported.
    mistakes: tuple[str, ...] = ()


async def _ended(work: asyncio.Task[Any]) -> None:
    await asyncio.wait([work], timeout=END_S)


async def _all_ended() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for each in left:
        each.cancel()
    if left:
        await asyncio.wait(left, timeout=END_S)


class _Mistakes(logging.Handler):
    """Keep the internal errors that daemons log, without printing them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Record a log line of a daemon."""
        if record.exc_info and record.exc_info[1] is not None:
            self.found.append(f"{record.name}: {record.getMessage()}: {record.exc_info[1]!r}")


class Replays:
    """Replays scenarios one after another in one environment."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._own = RunDirectory(Path(tempfile.gettempdir()))
        place = memory()
        self._memory = None if place is None else RunDirectory(place)
        self._mistakes = _Mistakes()
        self._log = logging.getLogger("roost")
        self._talked = self._log.propagate
        # Warnings of daemons are caused by the scenario.
        self._log.propagate = bool(os.environ.get("ROOST_LOG_LEVEL"))
        self._log.addHandler(self._mistakes)
        self._loop = DrivenLoop()
        #: Elapsed time of the current scenario, s.
        self._passed_s: Callable[[], float] = lambda: 0.0
        self._stage = ReplayEnvironment(self._own.path, (self._memory or self._own).path)
        try:
            self._run(self._stage.build())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Replays:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop and remove everything."""
        # Nothing needs reports about work that is cut short.
        self._loop.set_exception_handler(lambda *_: None)
        try:
            with self._loop.held():
                self._run(self._stage.clear())
                self._run(_all_ended())
        finally:
            self._loop.close()
            self._log.removeHandler(self._mistakes)
            self._log.propagate = self._talked
            if self._memory is not None:
                self._memory.remove()
            self._own.remove()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def replay(self, scenario: Scenario, limit_s: float = math.inf) -> Replay:
        """Run a scenario. Raises LabError for one without a machine, Stuck if it does not end in time.

        After Stuck the state is unknown: the caller can only close.
        """
        self._mistakes.found.clear()
        work = self._loop.create_task(self._replayed(scenario))
        self._loop.until = None if limit_s == math.inf else time.monotonic() + limit_s
        try:
            return self._loop.run_until_complete(work)
        except Stuck as stuck:
            passed = shown(round(self._passed_s()))
            self._abandon(work)
            raise Stuck(f"at {passed} of {shown(scenario.end_s)}, {stuck}") from None
        except BaseException:
            self._abandon(work)
            raise
        finally:
            self._loop.until = None

    def _abandon(self, work: asyncio.Task[Replay]) -> None:
        """Tear down interrupted work, as far as possible."""
        self._loop.until = None
        if not work.done():
            work.cancel()
            with self._loop.held():
                self._run(_ended(work))

    async def _replayed(self, scenario: Scenario) -> Replay:
        loop, start = self._loop, BEGINNING + scenario.begins_s
        settings = _Settings(scenario, self._host)
        scenario = configured(scenario, settings.of_pool())
        pool = ReplayPool(self._stage, scenario, start)
        self._passed_s = lambda: pool.passed_s
        try:
            with loop.held():
                await pool.open(loop, settings.first)
            for at, act in _script(scenario, pool, settings):
                await asyncio.sleep(max(0.0, start + at - pool.clock.now()))
                await act()
            await asyncio.sleep(max(0.0, start + scenario.end_s - pool.clock.now()))
        finally:
            with loop.held():
                await pool.close(loop)
            pool.remove()
        mistakes = tuple(self._mistakes.found)
        return Replay(
            scenario=scenario,
            start=start,
            taken=tuple(pool.taken),
            jobs=tuple(pool.changes),
            nodes=tuple(pool.node_changes),
            mistakes=mistakes,
        )


def _script(
    scenario: Scenario, pool: ReplayPool, settings: _Settings
) -> Iterator[tuple[float, Callable[[], Awaitable[None]]]]:
    """The actions, in the order of time."""
    found: list[tuple[float, Callable[[], Awaitable[None]]]] = []
    clusters: list[tuple[float, dict[str, Job]]] = []
    for job, each in zip(scenario.submitted(pool.start), scenario.jobs, strict=True):
        if not each.proc:
            clusters.append((each.at_s, {}))
        clusters[-1][1][each.name] = job
    for at_s, jobs in clusters:

        async def submit(jobs: dict[str, Job] = jobs) -> None:
            pool.submit(jobs)

        found.append((at_s, submit))
    for action in scenario.actions:

        async def do(action: ScheduledAction = action) -> None:
            try:
                await pool.do(action, settings.changed)
            except LabError as error:
                raise scenario.failed(action, error) from None

        found.append((action.at_s, do))
    return iter(sorted(found, key=lambda each: each[0]))


class _Settings:
    """The configurations of a scenario's daemons, as they change."""

    def __init__(self, scenario: Scenario, host: Host) -> None:
        self._scenario = scenario
        self._host = host
        #: Machine to its current settings; "" is the queue and the matchmaker.
        self._settings = {each.name: (*scenario.settings, *each.settings) for each in scenario.machines}
        self._settings[""] = scenario.settings

    def of_pool(self) -> Config:
        """The configuration of the queue and the matchmaker."""
        return self._config("")

    def first(self, hooks: Path, script: Callable[[Path], Path]) -> dict[str, Config]:
        """The initial configurations; `script` creates the programs around jobs."""
        self._set(
            Setting("NEGOTIATOR_INTERVAL", f"{self._scenario.cycle_s:g}"),
            Setting("QUEUE_SUPER_USERS", f"{CLIENT}, root"),
        )
        found = self._configs()
        for machine, config in found.items():
            more = [(name, str(hooks / program)) for name, program in _hooks(config)]
            more += [(name, str(script(hooks / name))) for name in _scripts(config)]
            if wants_backfill(config):
                more += _CLIENT if can_switch_user() else _CLIENT[:-1]
            more.append(_NO_WRAPPER)
            self._settings[machine] += tuple(Setting(*each) for each in more)
        return self._configs()

    def changed(self, action: ScheduledAction) -> dict[str, Config]:
        """The configurations after an order."""
        settings = [each for each in action.settings if each.name.upper() != _NO_WRAPPER[0]]
        self._set(*settings, machine=action.machine)
        return self._configs()

    def _set(self, *settings: Setting, machine: str = "") -> None:
        for name in [machine] if machine else self._settings:
            self._settings[name] += settings

    def _configs(self) -> dict[str, Config]:
        return {name: self._config(name) for name in self._settings}

    def _config(self, name: str) -> Config:
        scenario, host = self._scenario, self._host
        machine = next((each for each in scenario.machines if each.name == name), scenario.machines[0])
        paths = scenario.configs
        if scenario.policy is not None:
            host, paths = MemoryHost(files={scenario.file: scenario.policy}), (scenario.file,)
        config = load_config(host, paths, machine.hardware, machine.name, settings=self._settings[name])
        refuse_unreadable(config)
        return config


def _hooks(config: Config) -> Iterable[tuple[str, str]]:
    for name in config.names():
        keyword, _, hook = name.upper().partition("_HOOK_")
        if keyword and hook in _HOOKS:
            yield name, _HOOKS[hook]


def _scripts(config: Config) -> Iterable[str]:
    """Knobs of hooks, prologs and epilogs that are set."""
    points = "|".join(HookPoint)
    known = re.compile(rf"[A-Z0-9_]+_HOOK_({points})|(SLOT(_TYPE_)?\d+_)?STARTER_(PROLOG|EPILOG)")
    return [name for name in config.names() if known.fullmatch(name.upper()) and config.get(name)]
