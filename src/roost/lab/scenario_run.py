"""Running scenarios: one machine, the real cores, and a look at every expected instant.

A failure comes with the slot's timeline around the instant, and with an explanation: of the expression that would have
had to be otherwise for the slot to be where it was expected, or else of the one that led it to where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from roost.classad import Value, parse_expression, unparse_value
from roost.config import Host, MemoryHost
from roost.lab.coverage import Coverage
from roost.lab.durations import shown
from roost.lab.machines import load_config, make_pattern
from roost.lab.scenario import Deed, Expectation, Scenario
from roost.model import events as ev
from roost.policy.explain import explain
from roost.policy.render import render_text
from roost.sim.host import Machine, Slot
from roost.sim.quiet import EXPRESSIONS
from roost.sim.world import BEGINNING, Plan, World
from roost.startd.machine import Step
from roost.startd.policy_inputs import Decision, Inputs
from roost.startd.transitions import ROWS, On
from roost.startd.work import Taken

#: Expectations are looked at after everything else of the instant.
_RANK_LOOK: Final = 9
#: Transitions shown before and after a failure.
_SHOWN: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An expectation that was not met."""

    expectation: Expectation
    #: What was expected and what was found, in one line each.
    wanted: str
    found: str
    timeline: tuple[str, ...]
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a scenario ended."""

    scenario: Scenario
    checked: int
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        """Whether all was as expected."""
        return not self.failures


class _Run:
    def __init__(self, scenario: Scenario, host: Host, coverage: Coverage, width: int) -> None:
        self.scenario = scenario
        self.coverage = coverage
        self.width = width
        self.start = BEGINNING + scenario.begins_s
        self.taken: list[tuple[str, Taken]] = []
        self.missed: list[tuple[Expectation, str, str, str]] = []
        self.names = {f"{number}.0": name for number, (_, name, _) in enumerate(scenario.jobs, 1)}
        plan = Plan(
            machines=(self._machine(host),),
            jobs=tuple(scenario.submitted(self.start)),
            days=scenario.end_s / 86_400,
            cycle_s=scenario.cycle_s,
            start=self.start,
        )
        self.world = World(plan, on_step=self._stepped)
        for deed in scenario.deeds:
            self.world.engine.at(self.start + deed.at_s, lambda now, deed=deed: self._do(deed, now))  # type: ignore[misc]
        for each in scenario.expectations:
            due = lambda now, each=each: self._look(each, now)  # noqa: E731
            self.world.engine.at(self.start + each.at_s, due, _RANK_LOOK)

    def _machine(self, host: Host) -> Any:
        scenario = self.scenario
        paths = scenario.configs
        if scenario.policy is not None:
            host, paths = MemoryHost(files={scenario.file: scenario.policy}), (scenario.file,)
        config = load_config(host, paths, scenario.hardware, "machine")
        pattern = make_pattern(config, scenario.hardware)
        return pattern.machine("machine", scenario.owner(self.start), started_at=self.start, phase_s=0)

    @property
    def machine(self) -> Machine:
        return self.world.machines[0]

    def _slot(self, number: int) -> Slot | None:
        return next((slot for slot in self.machine.slots if slot.plan.id.number == number), None)

    def _stepped(self, machine: Machine, slot: Slot, step: Step, now: float) -> None:
        self.taken += [(slot.plan.name, taken) for taken in step.transitions]
        self.coverage.look(Inputs(slot.state, slot.plan.policy, now))

    def _do(self, deed: Deed, now: float) -> None:
        slot = self._slot(deed.slot)
        if slot is None:
            return
        number, life = self.machine.slots.index(slot), self.machine.lives
        if deed.update is not None:
            self.machine.receive(number, ev.JobUpdated(attributes=deed.update), now, life)
        if deed.vacate is not None:
            self.machine.receive(number, ev.VacateRequested(fast=deed.vacate == "fast"), now, life)

    # -- looking -----------------------------------------------------------------------------------------

    def _look(self, each: Expectation, now: float) -> None:
        self.machine.sync(now)
        slot = self._slot(each.slot)
        if slot is None:
            self.missed.append((each, f"slot{each.slot}", "the machine has no such slot", ""))
            return
        inputs = Inputs(slot.state, slot.plan.policy, now)
        self.coverage.look(inputs)
        pair, state = str(slot.state.pair), slot.state.state.value
        if each.pair is not None and each.pair not in (pair, state):
            self.missed.append((each, each.pair, pair, self._why_not(each.pair, slot, inputs)))
        job = "" if slot.process is None else self.names[slot.process.job.name]
        if each.job is not None and each.job != job:
            self.missed.append((each, f"job {each.job or 'none'}", f"job {job or 'none'}", ""))
        for name, wanted in each.values:
            self._look_at_value(each, name, wanted, inputs)

    def _look_at_value(self, each: Expectation, name: str, wanted: Any, inputs: Inputs) -> None:
        decision = inputs.decide_for_job(name, inputs.state.claim.job_ad)
        value, expected = decision.value, _value(wanted)
        if (value.__class__ is expected.__class__ and value == expected) or _near(value, expected):
            return
        text = self._explained(decision)
        self.missed.append((each, f"{name} = {unparse_value(expected)}", f"{name} = {unparse_value(value)}", text))

    def _why_not(self, wanted: str, slot: Slot, inputs: Inputs) -> str:
        """The first expression that keeps the slot from where it was expected; else what led it here."""
        for row in ROWS[slot.state.pair]:
            if On.POLL not in row.on or wanted not in (str(row.target), row.target.state.value):
                continue
            for guard in row.when:
                asked = EXPRESSIONS.get(guard)
                if asked is None:
                    continue
                name, variants, needed = asked
                job = slot.state.claim.job_ad
                decision = inputs.decide_for_job(name, job) if variants else inputs.decide(name, job)
                if (decision.truth is True) is not needed:
                    return f"Transition {row.number} to {row.target} waits for this:\n{self._explained(decision)}"
        mine = [taken for name, taken in self.taken if name == slot.plan.name]
        if not mine:
            return ""
        last = mine[-1]
        text = f"{row_text(last, self.start)} led here."
        return text if last.decision is None else f"{text}\n{self._explained(last.decision)}"

    def _explained(self, decision: Decision) -> str:
        if decision.expression is None:
            return f"{decision.name} is not set."
        world = decision.world.again()
        found = explain(decision.expression, decision.my, decision.target, world=world, name=decision.name)
        return render_text(found, self.width).rstrip()

    # -- the result ----------------------------------------------------------------------------------------

    def verdict(self) -> Verdict:
        self.world.run()
        failures = tuple(
            Failure(
                expectation=each,
                wanted=wanted,
                found=found,
                timeline=tuple(self._timeline(each)),
                explanation=text,
            )
            for each, wanted, found, text in self.missed
        )
        return Verdict(scenario=self.scenario, checked=len(self.scenario.expectations), failures=failures)

    def _timeline(self, each: Expectation) -> Iterator[str]:
        """The slot's transitions around the instant, with what people did between them."""
        at = self.start + each.at_s
        slot = self._slot(each.slot)
        lines = [
            (taken.at, 1, row_text(taken, self.start)) for name, taken in self.taken if slot and name == slot.plan.name
        ]
        lines += [
            (self.start + t, 0, f"{shown(t):>10}  keys are pressed for {shown(e - t)}")
            for t, e in self.scenario.presses
        ]
        lines += [(self.start + t, 0, f"{shown(t):>10}  load of the owner {load:g}") for t, load in self.scenario.loads]
        lines += [(self.start + t, 0, f"{shown(t):>10}  job {name} is submitted") for t, name, _ in self.scenario.jobs]
        lines.sort(key=lambda line: line[:2])
        before = [text for time, _, text in lines if time <= at]
        after = [text for time, _, text in lines if time > at]
        yield from before[-_SHOWN:]
        yield f"{shown(each.at_s):>10}  <- here"
        yield from after[:2]


def row_text(taken: Taken, start: float) -> str:
    """A transition in one line."""
    text = f"{shown(taken.at - start):>10}  [{taken.number}] {taken.source} -> {taken.target}: {taken.reason}"
    decision = taken.decision
    return text if decision is None else f"{text} ({decision.name} = {unparse_value(decision.value)})"


def _value(wanted: Any) -> Value:
    """A value of TOML as a value of the language; a text that begins with ``=`` is an expression."""
    if isinstance(wanted, str) and wanted.startswith("="):
        from roost.classad import evaluate

        return evaluate(parse_expression(wanted[1:]))
    return wanted  # type: ignore[no-any-return]


def _near(value: Value, expected: Value) -> bool:
    numbers = (int, float)
    if value.__class__ not in numbers or expected.__class__ not in numbers:
        return False
    return abs(value - expected) <= 1e-9 * max(1.0, abs(expected))


def run_scenario(scenario: Scenario, host: Host, coverage: Coverage, width: int = 100) -> Verdict:
    """Run a scenario; what it exercised is added to `coverage`. Raises LabError."""
    return _Run(scenario, host, coverage, width).verdict()
