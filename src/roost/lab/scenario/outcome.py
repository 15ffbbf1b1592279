"""The outcome of a scenario: in simulation, and, if requested, on real daemons."""

from __future__ import annotations

from roost.base.records import dataclass, field
from roost.config import Host
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.run import Verdict, run_scenario
from roost.lab.scenario.values import Scenario


class NoReplay(Exception):
    """No real daemons can be started here; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDifference:
    """The first difference between the two worlds: a transition of a slot or node, or a status of a job."""

    #: The slot's name, or ``job a``, ``node flow.A``, ``DAG flow``.
    slot: str
    #: When, s since the beginning of the scenario.
    at_s: float
    #: What each does there; "" for nothing.
    simulated: str
    real: str
    #: Lines of both around it.
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one scenario."""

    verdict: Verdict
    #: The clauses that it exercised.
    coverage: Coverage = field(default_factory=Coverage)
    #: Where real daemons differ; None if they did not run or did not reach the end.
    differences: tuple[ReplayDifference, ...] | None = None
    #: What kept it from its end, or internal errors of daemons; "" for none.
    problem: str = ""
    #: Why it was not replayed on real daemons though requested; "" if it was, or was not requested.
    unreplayed: str = ""

    @property
    def passed(self) -> bool:
        """Whether all was as expected, and the same in both worlds."""
        return self.verdict.passed and not self.differences and not self.problem


def unfinished(scenario: Scenario, problem: str) -> Outcome:
    """The outcome of a scenario that did not finish."""
    return Outcome(verdict=Verdict(scenario=scenario, checked=0, failures=()), problem=problem)


def simulated(scenario: Scenario, host: Host, width: int = 100) -> Outcome:
    """The outcome of a scenario in simulation only. Raises LabError."""
    coverage = Coverage()
    return Outcome(verdict=run_scenario(scenario, host, coverage, width), coverage=coverage)
