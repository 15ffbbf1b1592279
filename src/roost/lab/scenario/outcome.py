"""What a scenario came to: in simulation, and, where that was asked for, on real daemons."""

from __future__ import annotations

from roost.base.records import dataclass, field
from roost.config import Host
from roost.lab.replay.comparison import Difference
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.run import Verdict, run_scenario
from roost.lab.scenario.values import Scenario


class NoReplay(Exception):
    """No real daemons can be started here; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Of one scenario."""

    verdict: Verdict
    #: What it exercised.
    coverage: Coverage = field(default_factory=Coverage)
    #: Where real daemons do otherwise; None where they were not asked, or did not come to the end.
    differences: tuple[Difference, ...] | None = None
    #: What kept it from its end, or what daemons told of mistakes of theirs; "" for nothing.
    problem: str = ""
    #: Why it was not replayed on real daemons though that was asked for; "" where it was, or was not asked for.
    unreplayed: str = ""
    #: How long it took, s of real time.
    took_s: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether all was as expected, and the same in both worlds."""
        return self.verdict.passed and not self.differences and not self.problem


def unfinished(scenario: Scenario, problem: str) -> Outcome:
    """The outcome of a scenario whose end was not seen."""
    return Outcome(verdict=Verdict(scenario=scenario, checked=0, failures=()), problem=problem)


def simulated(scenario: Scenario, host: Host, width: int = 100) -> Outcome:
    """What a scenario comes to in simulation alone. Raises LabError."""
    coverage = Coverage()
    return Outcome(verdict=run_scenario(scenario, host, coverage, width), coverage=coverage)
