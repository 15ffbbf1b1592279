"""A scenario in both worlds: simulated, and on real daemons; what it came to, and where the two differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from roost.config import Host
from roost.lab.coverage import Coverage
from roost.lab.replay.comparison import Difference, differences
from roost.lab.replay.run import Replay, Replays
from roost.lab.scenario import Scenario
from roost.lab.scenario_run import Verdict, observe_scenario
from roost.runtime.nats_server import ServerFailed
from roost.runtime.nursery import NurseryFailed
from roost.startd.timers import IDLE_LOOK_S

#: In the simulation a queue may ask for the rest of a slot that was divided; a real pool's matchmaker gives it away in
#: the same cycle. What is got is the same, but not by the same transitions.
#: And a real matchmaker knows of a slot what its machine told last: it is to be told as often as the machine looks.
_ALIKE: Final = (("CLAIM_PARTITIONABLE_LEFTOVERS", "False"), ("UPDATE_INTERVAL", str(IDLE_LOOK_S)))


class NoReplay(Exception):
    """No pool can be started here; the text says why."""


class BothWorlds:
    """Runs scenarios in both worlds; use it with ``with``. Raises NoReplay."""

    def __init__(self, host: Host) -> None:
        self._host = host
        try:
            self._replays = Replays(host)
        except (ServerFailed, NurseryFailed, OSError) as problem:
            raise NoReplay(str(problem)) from None

    def __enter__(self) -> BothWorlds:
        return self

    def __exit__(self, *_: object) -> None:
        self._replays.close()

    def run(self, scenario: Scenario, coverage: Coverage, width: int = 100) -> tuple[Verdict, list[Difference]]:
        """What a scenario came to, and the first difference of each slot. Raises LabError."""
        scenario = replace(scenario, settings=(*scenario.settings, *_ALIKE))
        verdict, simulated = observe_scenario(scenario, self._host, coverage, width)
        found = self._replays.replay(scenario)
        return verdict, differences(scenario, found.start, simulated, found.taken)

    def replay(self, scenario: Scenario) -> Replay:
        """The scenario on real daemons alone. Raises LabError."""
        return self._replays.replay(scenario)
