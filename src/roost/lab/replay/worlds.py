"""A scenario in both worlds: simulated, and on real daemons; the result, and the differences."""

from __future__ import annotations

import math
import time
from typing import Final

from roost.base.records import replace
from roost.config import Host, Setting
from roost.lab.inputs.durations import shown
from roost.lab.replay.comparison import differences, job_differences, node_differences
from roost.lab.replay.driven_loop import Stuck
from roost.lab.replay.run import Replay, Replays
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.outcome import NoReplay, Outcome
from roost.lab.scenario.run import observe_scenario
from roost.lab.scenario.values import Scenario
from roost.runtime.bus.server import ServerFailed
from roost.runtime.processes.fork_server import ForkServerFailed
from roost.startd.timers import IDLE_LOOK_S

#: A real matchmaker knows only a machine's last update, so updates are sent at every poll.
_ALIKE: Final = (Setting("UPDATE_INTERVAL", str(IDLE_LOOK_S)),)


class BothWorlds:
    """Runs scenarios in both worlds; use it with ``with``. Raises NoReplay."""

    def __init__(self, host: Host, limit_s: float = math.inf) -> None:
        self._host = host
        #: How long a scenario may take, s of real time.
        self._limit_s = limit_s
        self._replays: Replays | None = None
        self._begin()

    def _begin(self) -> Replays:
        if self._replays is None:
            try:
                self._replays = Replays(self._host)
            except (ServerFailed, ForkServerFailed, OSError) as problem:
                raise NoReplay(str(problem)) from None
        return self._replays

    def __enter__(self) -> BothWorlds:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop and remove everything."""
        replays, self._replays = self._replays, None
        if replays is not None:
            replays.close()

    def run(self, scenario: Scenario, width: int = 100) -> Outcome:
        """The outcome of a scenario. Raises LabError, NoReplay."""
        begun = time.monotonic()
        scenario = replace(scenario, settings=(*scenario.settings, *_ALIKE))
        coverage = Coverage()
        seen = observe_scenario(scenario, self._host, coverage, width)
        if scenario.unreplayed:
            return Outcome(verdict=seen.verdict, coverage=coverage, unreplayed=scenario.unreplayed)
        try:
            found = self._begin().replay(scenario, self._limit_s - (time.monotonic() - begun))
        except Stuck as stuck:
            # The state of these daemons is unknown.
            self.close()
            after = shown(round(time.monotonic() - begun))
            problem = f"the real daemons did not reach the end of the scenario after {after}: {stuck}"
            return Outcome(verdict=seen.verdict, coverage=coverage, problem=problem)
        return Outcome(
            verdict=seen.verdict,
            coverage=coverage,
            differences=(
                *differences(scenario, found.start, seen.taken, found.taken),
                *job_differences(scenario, found.start, seen.jobs, found.jobs),
                *node_differences(scenario, found.start, seen.nodes, found.nodes),
            ),
            problem="; ".join(found.mistakes),
        )

    def replay(self, scenario: Scenario) -> Replay:
        """The scenario on real daemons only. Raises LabError, NoReplay, Stuck."""
        return self._begin().replay(scenario, self._limit_s)
