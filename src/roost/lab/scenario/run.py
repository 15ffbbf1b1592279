"""Running scenarios: simulated machines, the real cores, and a check at every expected instant.

The machines are the simulator's, their sensors those of the scenario. The expectations of an instant are checked after
all its other events; one that must hold for a while is checked again whenever the slot has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from roost.base.records import dataclass, replace
from roost.classad import ClassAd, Value, evaluate, parse_expression, unparse_value
from roost.config import Config, Host, MemoryHost, Setting
from roost.lab.inputs.durations import shown
from roost.lab.machines import LabError, load_config, make_pattern
from roost.lab.node_changes import NodeChange
from roost.lab.policy_check import is_of_pool, not_acted_on, refuse_unreadable
from roost.lab.scenario.actions import ActionContext, do, hurry, slot_named
from roost.lab.scenario.cell_view import CellView, job_misses, queue_misses
from roost.lab.scenario.coverage import Coverage
from roost.lab.scenario.dags import Flow, dag_misses, names_at_try
from roost.lab.scenario.described import configured
from roost.lab.scenario.failure import Explainer, timeline
from roost.lab.scenario.hooks import unused_hooks
from roost.lab.scenario.jobs import misses, why_there
from roost.lab.scenario.values import (
    Expectation,
    JobExpectation,
    Scenario,
    ScenarioCommand,
    ScenarioMachine,
    ScheduledAction,
    job_of,
)
from roost.model.job_actions import refusal_words
from roost.node.host_slots import Starter
from roost.runtime.master_settings import master_settings
from roost.sim.inputs.workload import Job
from roost.sim.machine.host import Machine, SimulatedSlot
from roost.sim.machine.plan import MachinePlan
from roost.sim.machine.pool_ads import pool_ad
from roost.sim.machine.run import Run
from roost.sim.machine.starter_quiescence import reported_in
from roost.sim.queue.job_changes import JobChange
from roost.sim.queue.local_jobs import local_machine_plan
from roost.sim.world import BEGINNING, Plan, World
from roost.startd.idleness import connections
from roost.startd.layout.change import PresentLayout
from roost.startd.machine import SlotStep
from roost.startd.policy_inputs import Decision, Inputs, StepWorld
from roost.startd.slot_state import SlotState
from roost.startd.work import Taken
from roost.starter.machine import StarterStep
from roost.starter.policy_inputs import StarterInputs
from roost.starter.work import StarterTaken

#: Actions come after polls and before matching, expectations after everything else of the instant.
_RANK_LOOK: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An expectation that was not met."""

    expectation: Expectation
    #: When, s since the beginning of the scenario.
    at_s: float
    #: What was expected and what was found, one line each.
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
    #: Settings that the lab ignores.
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all was as expected."""
        return not self.failures


@dataclass(frozen=True, slots=True)
class _Miss:
    each: Expectation
    at_s: float
    wanted: str
    found: str
    explanation: str = ""


#: Knobs of the hook that fetches work, one of them by its old name.
_FETCHES: Final = re.compile(r"_HOOK_FETCH_(WORK|JOB)\Z", re.IGNORECASE)
#: Attributes that slots show to the pool but that the machine's own expressions do not see.
_SHOWN: Final = frozenset(("requirements", "retirementtimeremaining"))


class _World(World):
    """A world that also reports what starters do."""

    def __init__(
        self,
        plan: Plan,
        on_step: Callable[[Machine, SimulatedSlot, SlotStep, float], None],
        on_starter: Callable[[SimulatedSlot, StarterStep, float], None],
        looked_at: frozenset[str],
    ) -> None:
        self._on_starter = on_starter
        self._looked_at = looked_at
        super().__init__(plan, on_step=on_step)

    def run_begun(self, machine: Machine, slot: SimulatedSlot, run: Run, now: float) -> None:
        """Attributes in expectations are reported even if no policy refers to them."""
        run.asked_for |= self._looked_at
        super().run_begun(machine, slot, run, now)

    def starter_stepped(self, machine: Machine, slot: SimulatedSlot, step: StarterStep, now: float) -> None:
        """Record a starter's step."""
        super().starter_stepped(machine, slot, step, now)
        self._on_starter(slot, step, now)


class _Run:
    def __init__(self, scenario: Scenario, host: Host, coverage: Coverage, width: int) -> None:
        self.host = host
        #: Parts of the file and its configuration that have no effect here.
        self.notes = dict.fromkeys(scenario.notes)
        #: The current settings of the queue and the matchmaker.
        self.pool_settings = (Setting("NEGOTIATOR_INTERVAL", f"{scenario.cycle_s:g}"), *scenario.settings)
        self.scenario = scenario
        pool_config = self._pool_config()
        self.scenario = scenario = configured(scenario, pool_config)
        for name, template in scenario.templates.items():
            self.notes |= dict.fromkeys(f"job {name}: {text}" for text in template.warnings(pool_config))
        self.notes |= dict.fromkeys(note for each in scenario.dags.values() for note in each.notes())
        self.coverage = coverage
        self.start = BEGINNING + scenario.begins_s
        self.taken: list[tuple[str, Taken]] = []
        self.starters: list[tuple[str, StarterTaken]] = []
        self.missed: list[_Miss] = []
        #: Slot to its state at the last check.
        self.before: dict[str, SlotState] = {}
        #: Maps between the queue's and the scenario's names of jobs.
        submitted, fetched = scenario.submitted(self.start), scenario.brought(self.start)
        described = (*scenario.jobs, *scenario.fetched)
        self.names = {job.name: each.name for job, each in zip((*submitted, *fetched), described, strict=True)}
        self.ids = {name: number for number, name in self.names.items()}
        #: Machine to its current settings.
        self.settings = {each.name: (*scenario.settings, *each.settings) for each in scenario.machines}
        self.explainer = Explainer(width, coverage.origins)
        configs = [self._config(each) for each in scenario.machines]
        self._refuse_unused_hooks(configs)
        self._refuse_unfetched(configs)
        machines = tuple(self._plan(each, config) for each, config in zip(scenario.machines, configs, strict=True))
        pattern = make_pattern(pool_config, scenario.hardware)
        plan = Plan(
            machines=machines,
            jobs=tuple(_logged(job) for job in submitted),
            fetched=tuple(fetched),
            negotiator=pattern.negotiator,
            queue=pattern.queue,
            cell=scenario.cell,
            told=True,
            scripts=scenario.hooks,
            beside=local_machine_plan(pattern.config, self.start) if scenario.runs_locally else None,
            defrag=pattern.defrag,
            informs=pattern.informs,
            days=scenario.end_s / 86_400,
            cycle_s=scenario.cycle_s,
            eager=True,
            start=self.start,
        )
        values = [value for each in scenario.expectations for value in each.values]
        values += [value for each in scenario.expectations for job in each.jobs for value in job.values]
        asked = (parse_expression(name) for name, _ in values)
        looked_at = frozenset[str]().union(*map(reported_in, asked))
        self.world = _World(plan, self._stepped, self._starter_stepped, looked_at)
        self.flows = {
            name: Flow(each, self.world, self._pool_config, self._make) for name, each in scenario.dags.items()
        }
        for action in scenario.actions:
            self.world.engine.at(self.start + action.at_s, partial(self._do, action))
        for each in scenario.expectations:
            due = lambda now, each=each: self._look(each, now)  # noqa: E731
            self.world.engine.at(self.start + each.at_s, due, _RANK_LOOK)

    # -- the machine ---------------------------------------------------------------------------------------

    def _config(self, machine: ScenarioMachine) -> Config:
        """The configuration of a machine."""
        config = self._loaded(machine, self.settings[machine.name])
        self._note_of_pool(machine.name, machine.settings)
        self.coverage.configured(config)
        return config

    def _pool_config(self) -> Config:
        """The configuration of the queue and the matchmaker, without settings of single machines."""
        return self._loaded(self.scenario.machines[0], self.pool_settings)

    def _note_of_pool(self, machine: str, settings: Iterable[Setting]) -> None:
        """Note knobs of the queue and the matchmaker that only one machine is given."""
        names = dict.fromkeys(each.name for each in settings if is_of_pool(each.name))
        if names:
            self.notes[
                f"{machine}: {', '.join(names)} cannot be set for one machine, since the daemons of the pool read it: "
                "set it for the scenario"
            ] = None

    def _loaded(self, machine: ScenarioMachine, settings: tuple[Setting, ...]) -> Config:
        scenario = self.scenario
        host, paths = self.host, scenario.configs
        if scenario.policy is not None:
            host, paths = MemoryHost(files={scenario.file: scenario.policy}), (scenario.file,)
        config = load_config(host, paths, machine.hardware, machine.name, settings=settings)
        refuse_unreadable(config)
        self.notes |= dict.fromkeys(not_acted_on(config))
        return config

    def _refuse_unused_hooks(self, configs: Sequence[Config]) -> None:
        """Raise LabError for a hook that no job can have."""
        scenario = self.scenario
        templates = (
            *scenario.templates.values(),
            *(one for dag in scenario.dags.values() for one in dag.templates.values()),
        )
        said = [f"{one.given.get('HookKeyword', '')}\n{one.text or ''}" for one in templates]
        said += [str(setting.value) for action in scenario.actions for setting in action.settings]
        if unused := unused_hooks(scenario.hooks, configs, said):
            keyword = unused[0].upper().split("_HOOK_")[0]
            remedy = f"set STARTER_JOB_HOOK_KEYWORD = {keyword}, or HookKeyword of a job"
            raise scenario.refused(f"nothing runs the hook {unused[0]}: {remedy}")

    def _refuse_unfetched(self, configs: Sequence[Config]) -> None:
        """Raise LabError for a job to be fetched if no machine ever has a FETCH_WORK hook."""
        scenario = self.scenario
        names = [name for config in configs for name in config.names()]
        names += [setting.name for action in scenario.actions for setting in action.settings]
        if scenario.fetched and not any(_FETCHES.search(name) for name in names):
            remedy = "set STARTD_JOB_HOOK_KEYWORD = SITE and SITE_HOOK_FETCH_WORK"
            raise scenario.refused(f"no machine fetches {scenario.fetched[0].name}: {remedy}")

    def _plan(self, machine: ScenarioMachine, config: Config, present: PresentLayout | None = None) -> MachinePlan:
        relaid = any(action.order is ScenarioCommand.RECONFIG for action in self.scenario.actions)
        pattern = make_pattern(config, machine.hardware, accounts=relaid, present=present)
        sensors = machine.sensors(self.start, connections(config))
        plan = pattern.machine(machine.name, sensors.owner, started_at=self.start, phase_s=0)
        return replace(plan, sensors=sensors)

    def _reconfigure(self, action: ScheduledAction, now: float) -> None:
        """One machine's daemon, or all daemons of the pool, reread their configuration."""
        for machine in self.scenario.machines:
            if action.machine in ("", machine.name):
                self.settings[machine.name] = (*self.settings[machine.name], *action.settings)
                if action.machine:
                    self._note_of_pool(machine.name, action.settings)
                config = self._loaded(machine, self.settings[machine.name])
                simulated = self._machine(machine.name)
                simulated.reconfigure(self._plan(machine, config, simulated.present), now)
        if not action.machine:
            self.pool_settings = (*self.pool_settings, *action.settings)
            self.world.reconfigure(make_pattern(self._pool_config(), self.scenario.hardware), now)

    def _machine(self, name: str) -> Machine:
        """The machine of that name; "" for the first."""
        machines = self.world.machines
        return next((each for each in machines if each.plan.name == name), machines[0])

    def _stepped(self, machine: Machine, slot: SimulatedSlot, step: SlotStep, now: float) -> None:
        for taken in step.transitions:
            self.taken.append((slot.plan.name, taken))
            for decision in taken.decisions:
                self.coverage.decided(decision)
        self._cover(slot, now)
        at_s = now - self.start
        for each in self.scenario.expectations:
            if each.for_s and each.at_s < at_s <= each.at_s + each.for_s and slot is self._slot(each):
                self._check_pair(each, slot, Inputs(slot.state, slot.plan.policy, now), at_s)

    def _starter_stepped(self, slot: SimulatedSlot, step: StarterStep, now: float) -> None:
        for taken in step.transitions:
            if taken.decision is not None:
                self.starters.append((slot.plan.name, taken))
            for decision in taken.decisions:
                self.coverage.decided(decision)

    def _cover(self, slot: SimulatedSlot, now: float) -> None:
        if slot.starter is not None and slot.starter.alive:
            self.coverage.look_at_starter(StarterInputs(slot.starter.state, slot.starter.policy, now))
        waiting = [ad for _, ad in self.world.queue.idle_ads()]
        self.coverage.look(Inputs(slot.state, slot.plan.policy, now), waiting)
        # Expressions of a transition were evaluated in the state before it.
        before, after = self.before.get(slot.plan.name), slot.state.claim.activation
        if before is not None and before.pair != slot.state.pair:
            self.coverage.look(Inputs(replace(before, ad=slot.state.ad), slot.plan.policy, now))
        elif before is not None and after is not None and after.checkpointed_at:
            self.coverage.look(Inputs(before, slot.plan.policy, after.checkpointed_at))
        self.before[slot.plan.name] = slot.state

    def _slot(self, each: Expectation) -> SimulatedSlot | None:
        return slot_named(self._machine(each.machine), each.slot)

    def _do(self, action: ScheduledAction, now: float) -> None:
        try:
            stage = ActionContext(self.world, self._reconfigure, self.flows, self.names)
            why = do(action, stage, self._machine(action.machine), self.ids.get(action.job, ""), now)
        except LabError as error:
            raise self.scenario.failed(action, error) from None
        if why:
            order = f"{action.order.value.replace('_', ' ')} of job {action.job} at {shown(action.at_s)}"
            because = refusal_words(action.order.removesuffix("_job"), why)
            self.notes[f"{self.scenario.file}:{action.line}: {order} had no effect: the job {because}"] = None
        if action.order is ScenarioCommand.SHUTDOWN and action.how == "graceful":
            machine = self._machine(action.machine)
            config = next(self._config(each) for each in self.scenario.machines if each.name == machine.plan.name)
            self.world.engine.at(now + master_settings(config).graceful_s, partial(hurry, machine))

    # -- checks -------------------------------------------------------------------------------------------

    def _make(self, dag: str, node: str, described: list[dict[str, Any]], now: float) -> list[Job]:
        """Create the jobs of a DAG's node, which no step submits."""
        number = 1 + max((int(name.partition(".")[0]) for name in self.names), default=0)
        called = names_at_try(dag, node, len(described), self.ids)
        jobs = []
        for proc, (name, each) in enumerate(zip(called, described, strict=True)):
            job = _logged(job_of(each, number, now, name, proc))
            self.names[job.name], self.ids[name] = name, job.name
            self.world.metrics.run_s[job.name] = job.truth.run_s
            jobs.append(job)
        return jobs

    def _look(self, each: Expectation, now: float) -> None:
        for machine in self.world.machines:
            machine.sync(now)
        for wanted in each.jobs:
            self._check_job(each, wanted, now)
        for dag in each.dags:
            for expected, found_there in dag_misses(self.flows[dag.dag], dag.status, dag.exit_code, dag.nodes):
                self._miss(each, expected, found_there)
        self._check_cell(each, now)
        for hook, count in each.hooks:
            if count != (found := self.world.scripts.counts[hook]):
                self._miss(each, f"{hook} ran {count} times", f"{hook} ran {found} times")
        slot = self._slot(each)
        if slot is None:
            if each.pair is not None or each.values:
                slots = self._machine(each.machine).slots
                there = ", ".join(str(other.plan.id).removeprefix("slot") for other in slots)
                self._miss(each, f"slot {each.slot}", f"no such slot; the slots are: {there}")
            return
        inputs = Inputs(slot.state, slot.plan.policy, now)
        self._cover(slot, now)
        self._check_pair(each, slot, inputs, each.at_s)
        job = "" if slot.process is None else self.names[slot.process.job.name]
        if each.job is not None and each.job != job:
            self._miss(each, f"job {each.job or 'none'}", f"job {job or 'none'}", self._why_job(each.job, inputs))
        self._check_starter(each, slot)
        self._check_last(each, slot)
        for name, wanted in each.values:
            self._check_value(each, name, wanted, slot, inputs)

    def _miss(self, each: Expectation, wanted: str, found: str, why: str = "", at_s: float | None = None) -> None:
        self.missed.append(_Miss(each, each.at_s if at_s is None else at_s, wanted, found, why))

    def _check_pair(self, each: Expectation, slot: SimulatedSlot, inputs: Inputs, at_s: float) -> None:
        pair, state = str(slot.state.pair), slot.state.state.value
        if each.pair is None or each.pair in (pair, state):
            return
        if any(miss.each is each and miss.wanted == each.pair for miss in self.missed):
            return
        why = ""
        if at_s == each.at_s:
            why = self.explainer.why_not(each.pair, inputs, self._waiting())
        self._miss(each, each.pair, pair, why or self.explainer.why_here(self._last(slot), self.start), at_s)

    def _waiting(self) -> list[tuple[str, Any]]:
        return [(self.names[name], ad) for name, ad in self.world.queue.idle_ads()]

    def _why_job(self, job: str, inputs: Inputs) -> str:
        waiting = [each for each in self._waiting() if each[0] == job]
        return self.explainer.why_not("Claimed", inputs, waiting) if waiting else ""

    def _last(self, slot: SimulatedSlot) -> Taken | None:
        return next((taken for name, taken in reversed(self.taken) if name == slot.plan.name), None)

    def _check_starter(self, each: Expectation, slot: SimulatedSlot) -> None:
        alive = slot.starter is not None and slot.starter.alive
        found = slot.starter.state.state.value if alive and slot.starter is not None else ""
        if each.starter is not None and each.starter != found:
            mine = [taken for name, taken in self.starters if name == slot.plan.name]
            why = self.explainer.why_here(mine[-1], self.start) if mine else ""
            self._miss(each, f"starter {each.starter or 'none'}", f"starter {found or 'none'}", why)

    def _check_last(self, each: Expectation, slot: SimulatedSlot) -> None:
        last = self._last(slot)
        for what, wanted, found in (
            ("transition", each.transition, last and last.number),
            ("reason", each.reason, last and str(last.reason)),
        ):
            if wanted is not None and wanted != found:
                why = self.explainer.why_here(last, self.start)
                self._miss(each, f"{what} {wanted}", f"{what} {found or 'none'}", why)

    def _check_job(self, each: Expectation, wanted: JobExpectation, now: float) -> None:
        name, queue = self.ids.get(wanted.job, ""), self.world.queue
        why = why_there(wanted.job, name, queue)
        for expected, found in misses(wanted, name, queue, now, _is):
            self._miss(each, expected, found, why)
            # The explanation is given only once for all its expectations.
            why = ""

    def _check_cell(self, each: Expectation, now: float) -> None:
        if self.world.cell is None:
            return
        view = CellView(self.world, self.names, now)
        for job in each.jobs:
            if job.cell is not None:
                for expected, found in job_misses(view, job.job, self.ids.get(job.job, ""), job.cell):
                    self._miss(each, expected, found)
        rows = view.instances() if each.queues else ()
        for queue in each.queues:
            for expected, found in queue_misses(rows, queue):
                self._miss(each, expected, found)
        if each.qstat is not None and each.qstat != (lines := view.lines()):
            self._miss(each, " | ".join(each.qstat) or "no jobs", " | ".join(lines) or "no jobs")

    def _check_value(self, each: Expectation, name: str, wanted: Any, slot: SimulatedSlot, inputs: Inputs) -> None:
        job = inputs.state.claim.job_ad
        if each.against is not None:
            job = job_of(self.scenario.described[each.against.split("/")[0]], 0, inputs.now, "").ad
        self.coverage.look(inputs, [] if each.against is None or job is None else [job], [name])
        starter = self._starter_of(each)
        if starter is not None and name.upper() in starter.policy.expressions:
            decision = StarterInputs(starter.state, starter.policy, inputs.now).decide(name.upper())
            self.coverage.decided(decision)
        elif any(each.lower() in _SHOWN for each in re.findall(r"\w+", name)):
            # An attribute that only the pool sees.
            decision = _decided(name, inputs, job, pool_ad(slot, inputs.now))
        else:
            self._refuse_other_ad(each, name, inputs, job)
            decision = inputs.decide_for_job(name, job) if name.isidentifier() else _decided(name, inputs, job)
        value, expected = decision.value, _value(wanted)
        if _is(wanted, value):
            return
        text = self.explainer.decision(decision)
        asked = name if each.against is None else f"{name} for job {each.against}"
        self._miss(each, f"{asked} = {unparse_value(expected)}", f"{asked} = {unparse_value(value)}", text)

    def _refuse_other_ad(self, each: Expectation, name: str, inputs: Inputs, job: ClassAd | None) -> None:
        """An unscoped name is the slot's: one that only the job has would silently be looked up in the job."""
        if name.isidentifier() and name not in inputs.my and job is not None and job.get(name) is not None:
            why = f"it is an attribute of the job; write TARGET.{name}, or put the expectation under jobs"
            raise LabError(f"{self.scenario.file}:{each.line}: {name} is not an attribute of the slot: {why}")

    def _starter_of(self, each: Expectation) -> Starter | None:
        slot = self._slot(each)
        return slot.starter if slot is not None and slot.starter is not None and slot.starter.alive else None

    # -- the result ------------------------------------------------------------------------------------------

    def verdict(self) -> Verdict:
        self.world.run()
        failures = tuple(
            Failure(
                expectation=miss.each,
                at_s=miss.at_s,
                wanted=miss.wanted,
                found=miss.found,
                timeline=tuple(timeline(self.scenario, self.start, self._taken_by(miss.each), miss.at_s)),
                explanation=miss.explanation,
            )
            for miss in self.missed
        )
        checked, notes = len(self.scenario.expectations), tuple(self.notes)
        return Verdict(scenario=self.scenario, checked=checked, failures=failures, notes=notes)

    def _taken_by(self, each: Expectation) -> list[Taken | StarterTaken]:
        slot = f"slot{each.slot}@{self._machine(each.machine).plan.name}"
        mine: list[Taken | StarterTaken] = [taken for name, taken in self.taken if name == slot]
        return mine + [taken for name, taken in self.starters if name == slot]


def _logged(job: Job) -> Job:
    """A job with its own event log."""
    job.ad.put("UserLog", job.name)
    return job


def _decided(text: str, inputs: Inputs, job: ClassAd | None, my: ClassAd | None = None) -> Decision:
    """Evaluate an expression that is not a policy attribute on the slot's ad or on `my`."""
    formula = parse_expression(text)
    world = StepWorld(inputs.policy, inputs.state.name, inputs.now)
    my = inputs.my if my is None else my
    value = evaluate(formula, my, job, world.again())
    return Decision(name=text, defined=True, value=value, formula=formula, my=my, target=job, world=world)


def _value(wanted: Any) -> Value:
    """A TOML value as a value of the language; a string that begins with ``=`` is an expression."""
    if isinstance(wanted, str) and wanted.startswith("="):
        return evaluate(parse_expression(wanted[1:]))
    return wanted  # type: ignore[no-any-return]


def _is(wanted: Any, value: Value) -> bool:
    """Whether a value is the one that a scenario file names."""
    expected = _value(wanted)
    return (value.__class__ is expected.__class__ and value == expected) or _near(value, expected)


def _near(value: Value, expected: Value) -> bool:
    numbers = (int, float)
    if value.__class__ not in numbers or expected.__class__ not in numbers:
        return False
    return abs(value - expected) <= 1e-9 * max(1.0, abs(expected))


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The verdict on a scenario, and everything that happened in it."""

    verdict: Verdict
    #: Transitions of all slots, by the slots' names, changes of jobs in the queue, and changes of DAGs and their nodes;
    #: each in the order of time.
    taken: tuple[tuple[str, Taken], ...]
    jobs: tuple[JobChange, ...]
    nodes: tuple[NodeChange, ...]


def run_scenario(scenario: Scenario, host: Host, coverage: Coverage, width: int = 100) -> Verdict:
    """Run a scenario, adding the exercised clauses to `coverage`. Raises LabError."""
    return observe_scenario(scenario, host, coverage, width).verdict


def observe_scenario(scenario: Scenario, host: Host, coverage: Coverage, width: int = 100) -> Observed:
    """Run a scenario, and return everything that happened. Raises LabError."""
    run = _Run(scenario, host, coverage, width)
    verdict = run.verdict()
    changes = (replace(each, job=run.names[each.job]) for each in run.world.queue.changes)
    nodes = tuple(each for flow in run.flows.values() for each in flow.changes)
    return Observed(verdict=verdict, taken=tuple(run.taken), jobs=tuple(changes), nodes=nodes)


def shown_at(failure: Failure) -> str:
    """When an expectation was not met, in words."""
    text = shown(failure.at_s)
    each = failure.expectation
    if failure.at_s != each.at_s:
        text += f" (from {shown(each.at_s)} for {shown(each.for_s)})"
    return f"{text} on {each.machine}" if each.machine else text
