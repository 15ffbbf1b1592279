"""A simulated pool, put together, run and recorded.

`World` takes a `Plan`, everything that a run depends on, and produces an `Outcome`. It observes all events, writes the
records, and calls the checkers. See `engine` for the order of events, `host` for machines, `queue` and `negotiation`
for the rest of the pool, `bus` for messages and faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.defrag.policy import DefragPolicy
from roost.model.cell_requests import TASK
from roost.model.claims import ClaimKind
from roost.model.events import VacateRequested
from roost.model.identifiers import ClaimId
from roost.negotiator.settings import NegotiatorSettings
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.events import ClaimsHeard, Event, RunMeasured
from roost.sim.bus import AT_ONCE, Bus, Faults
from roost.sim.cell import CellPlan, SimulatedCell
from roost.sim.chance import stream
from roost.sim.checkers import Checker
from roost.sim.defragmentation import Defragmentation
from roost.sim.engine import Engine, seldom_collected
from roost.sim.inputs.owners import DAY_S
from roost.sim.inputs.workload import Job
from roost.sim.machine.fetched import WorkSource
from roost.sim.machine.host import Deaths, Machine, SimulatedSlot
from roost.sim.machine.pattern import Pattern
from roost.sim.machine.plan import MachinePlan
from roost.sim.machine.process import End, Process
from roost.sim.machine.run import Run
from roost.sim.machine.scripts import Script, Scripts
from roost.sim.metrics import Metrics
from roost.sim.negotiation import SOON_S, Manner, Negotiation
from roost.sim.queue.local_jobs import LocalJobs, local_machine_plan, runs_locally
from roost.sim.queue.queue import DEFAULT, Queue
from roost.sim.record import Recorder, Sink
from roost.startd.draining import DrainOrder
from roost.startd.machine import SlotStep
from roost.startd.states import PAIRS
from roost.starter.machine import StarterStep

#: A Monday, 00:00 UTC, epoch s.
BEGINNING: Final = 1_704_067_200.0


#: The pairs of a slot in the form of records.
_PAIRS: Final = {pair: str(pair) for pair in PAIRS}
#: If nothing goes wrong, the interval of checks of the whole pool, s.
_CHECK_S: Final = 6 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An administrator's order to a machine. A dead daemon does not receive it."""

    #: Since the beginning, s.
    at_s: float
    #: Index of the machine in the plan.
    machine: int
    #: Drain it.
    drain: DrainOrder | None = None
    #: Cancel any drain in progress.
    cancel_drain: bool = False
    #: Vacate all its slots: "graceful" or "fast".
    vacate: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All inputs of a run."""

    machines: tuple[MachinePlan, ...]
    jobs: tuple[Job, ...]
    days: float
    seed: int | str = 0
    #: NEGOTIATOR_INTERVAL, s.
    cycle_s: float = 60.0
    faults: Faults = Faults()
    start: float = BEGINNING
    #: Settings of the negotiator.
    negotiator: NegotiatorSettings = NegotiatorSettings()
    #: Machines are also notified of matches of their slots (NEGOTIATOR_INFORM_STARTD), not only the queue.
    informs: bool = True
    #: Settings of the pool's defragmentation daemon; None if there is none.
    defrag: DefragPolicy | None = None
    #: Settings of the queue.
    queue: QueueSettings = DEFAULT
    #: The Grid Engine cell of the pool; None if there is none.
    cell: CellPlan | None = None
    #: Whether event logs and measurements of running jobs are read.
    told: bool = False
    #: Work that machines fetch; the numbers of these jobs are not numbers of `jobs`.
    fetched: tuple[Job, ...] = ()
    #: The machine of local jobs; None if there are none.
    beside: MachinePlan | None = None
    #: Hooks, prologs and epilogs by the names of their knobs; a program not listed takes a second and succeeds.
    scripts: Mapping[str, Script] = field(default_factory=dict)
    #: Orders of administrators.
    orders: tuple[Order, ...] = ()
    #: Match as soon as a slot or a job changes, as a real pool does, not only every `cycle_s`.
    eager: bool = False
    #: Poll whenever a poll is due, and show the negotiator all slots in every cycle, even if it cannot matter.
    exhaustive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run."""

    digest: str
    records: int
    summary: dict[str, Any]
    #: Violated invariants, in words; empty in a correct run.
    problems: tuple[str, ...]
    #: Numbers of events taken, polls that happened, and messages; informational, and not part of the digest.
    effort: dict[str, int] = field(compare=False)


class World:
    """A run."""

    def __init__(
        self,
        plan: Plan,
        *,
        sinks: tuple[Sink, ...] = (),
        lines: Callable[[str], object] | None = None,
        on_step: Callable[[Machine, SimulatedSlot, SlotStep, float], None] | None = None,
    ) -> None:
        self.plan = plan
        self.engine = Engine(plan.start)
        slots = sum(len(machine.slots) for machine in plan.machines)
        truths = {job.name: job.truth.run_s for job in plan.jobs}
        cores = sum(machine.cores for machine in plan.machines)
        self.metrics = Metrics(slots=slots, days=plan.days, run_s=truths, cores=cores)
        self.recorder = Recorder(plan.start, (self.metrics.take, *sinks), lines)
        self.bus = Bus(self.engine, plan.seed, plan.faults, scale=AT_ONCE if plan.eager else 1.0)
        self.queue = Queue(self.engine, self.bus, self.recorder, plan.queue, exhaustive=plan.exhaustive, told=plan.told)
        self.cell = None
        if plan.cell is not None:
            queue = self.queue
            self.cell = queue.cell = SimulatedCell(plan.cell, lambda: queue.core.claim_table, queue.feed)
        self.source = WorkSource(plan.fetched)
        self.scripts = Scripts(plan.scripts)
        self.checker = Checker(self)
        self._on_step = on_step
        self._interference: dict[Process, float] = {}
        self.machines: list[Machine] = []
        for index, each in enumerate(plan.machines):
            machine = self._machine(each, index)
            self.machines.append(machine)
            self.queue.machines[each.name] = machine
            if self.bus.faulty:
                machine.queue_link.repeat(plan.start)
        self.beside = None
        if plan.beside is not None:
            self.beside = LocalJobs(self.queue, self._machine(plan.beside, len(self.machines)))
            self.queue.watchers.append(self.beside.look)
        assert self.beside is not None or not runs_locally(plan.jobs), "a plan of such jobs has a machine for them"
        self.queue.expect(plan.jobs)
        order = list(range(len(self.machines)))
        stream(plan.seed, "matcher").shuffle(order)
        manner = Manner(
            interval_s=plan.cycle_s,
            settings=plan.negotiator,
            order=order,
            informs=plan.informs,
            singly=not plan.exhaustive,
            eager=plan.eager,
        )
        self.matcher = Negotiation(self.engine, self.bus, self.queue, self.machines, manner, cell=self.cell)
        if plan.eager:
            self.queue.watchers.append(lambda now: self.matcher.more(SOON_S))
        self.defragmentation = None if plan.defrag is None else self._defragmentation(plan.defrag)
        for wanted in plan.orders:
            self.engine.at(plan.start + wanted.at_s, partial(self._carry_out, wanted))
        self._plan_deaths()

    def _defragmentation(self, policy: DefragPolicy) -> Defragmentation:
        return Defragmentation(self.engine, self.bus, self.recorder, self.machines, policy, self.plan.seed)

    def _machine(self, plan: MachinePlan, index: int) -> Machine:
        faults = self.plan.faults
        chance = stream(self.plan.seed, "cuts", plan.name) if faults.machine_cut or faults.starter_crash else None
        return Machine(
            plan,
            index,
            self.engine,
            self,
            exhaustive=self.plan.exhaustive,
            deaths=Deaths(chance, faults.machine_cut, faults.starter_crash),
        )

    def _carry_out(self, order: Order, now: float) -> None:
        machine = self.machines[order.machine]
        self.recorder.write(now, "order", machine=machine.plan.name)
        if order.drain is not None:
            machine.drain(order.drain, now)
        if order.cancel_drain:
            machine.cancel_drain(now)
        if order.vacate is not None:
            for slot in list(machine.slots):
                machine.tell(slot, VacateRequested(fast=order.vacate == "fast"), now)

    # -- the run -----------------------------------------------------------------------------------------

    def run(self, progress: Callable[[float], None] | None = None) -> Outcome:
        """Run to the end; `progress` is called with the completed fraction after each simulated hour."""
        end = self.plan.start + self.plan.days * DAY_S
        with seldom_collected():
            while self.engine.now < end:
                self.engine.run(min(end, self.engine.now + 3600))
                if self.bus.faulty or self.engine.now % _CHECK_S == 0:
                    self.checker.check_all()
                if progress is not None:
                    progress((self.engine.now - self.plan.start) / (end - self.plan.start))
            self._close(end)
        return Outcome(
            digest=self.recorder.digest,
            records=self.recorder.count,
            summary=self.metrics.summary(),
            problems=tuple(self.checker.problems),
            effort={
                "events": self.engine.done,
                "polls": sum(machine.polls for machine in self.machines),
                "match evaluations": self.matcher.evaluations,
                **{f"messages {name}": count for name, count in self.bus.counts.items()},
            },
        )

    def _close(self, end: float) -> None:
        for machine in (*self.machines, *([] if self.beside is None else [self.beside.machine])):
            for slot in machine.slots:
                if slot.run is not None:
                    slot.run.vanish(end, "open")
        self.checker.check_all()

    # -- deaths ------------------------------------------------------------------------------------------

    def _plan_deaths(self) -> None:
        faults = self.plan.faults
        self._away = stream(self.plan.seed, "away")
        for machine in self.machines if faults.machine_death_s else ():
            self._plan_machine_death(machine, stream(self.plan.seed, "death", machine.plan.name))
        self.queue.cut = self._queue_dies
        chance = stream(self.plan.seed, "death of the queue")
        if faults.queue_death_s:
            self._plan_queue_death(chance)
        if faults.queue_cut:
            self.queue.die_after(1 + int(chance.expovariate(1 / faults.queue_cut)))

    def _is_over(self, now: float) -> bool:
        return now - self.plan.start > self.plan.faults.until_s

    def _plan_machine_death(self, machine: Machine, chance: Random) -> None:
        at = self.engine.now + chance.expovariate(1 / self.plan.faults.machine_death_s)
        if self._is_over(at):
            return

        def die(now: float) -> None:
            self._machine_dies(machine, now)
            self._plan_machine_death(machine, chance)

        self.engine.at(at, die)

    def _machine_dies(self, machine: Machine, now: float) -> None:
        if not machine.alive:
            return
        self.recorder.write(now, "dead", machine=machine.plan.name)
        machine.die(now)
        self.matcher.forget(machine)

        def live(then: float) -> None:
            self.recorder.write(then, "alive", machine=machine.plan.name)
            self.start_anew(machine, then)
            for slot in machine.slots:
                self.matcher.look(slot)

        self.engine.at(now + 1 + self._away.random() * self.plan.faults.away_s, live)

    def start_anew(self, machine: Machine, now: float) -> None:
        """Start a machine's daemon after it died."""
        self.queue.clock.watch_closely()
        machine.begin(now)
        machine.queue_link.repeat(now)

    def reconfigure(self, pattern: Pattern, now: float) -> None:
        """Let the daemons outside machines, queue, negotiator and defragmentation, read their configuration again."""
        self.queue.reconfigure(pattern.queue)
        if self.beside is not None:
            self.beside.machine.reconfigure(local_machine_plan(pattern.config, self.plan.start), now)
        for machine in self.machines:
            for slot in machine.slots:
                if slot.run is not None and slot.run.process.job.name not in self.source:
                    slot.run.asked_for |= self.queue.asks
                    slot.run.plan_anew(now)
        self.matcher.reconfigure(pattern.negotiator, informs=pattern.informs, interval_s=pattern.cycle_s)
        if self.defragmentation is not None and pattern.defrag is not None:
            self.defragmentation.reconfigure(pattern.defrag, now)

    def qconf(self, line: str, user: str, now: float) -> int:
        """Change the cell for a program around a job."""
        assert self.cell is not None, "only programs of a cell change one"
        done = self.cell.qconf(line, user)
        said = "; ".join(each.text for each in done.lines)
        self.recorder.write(now, "qconf", line=line, user=user, status=done.status, text=said)
        self.matcher.more(SOON_S)
        return done.status

    def reconfigured(self, machine: Machine) -> None:
        """Note that a machine has read its configuration again."""
        self.matcher.configured()

    def cut(self, machine: Machine, now: float) -> None:
        """Kill a machine between two effects, or because it was ordered."""
        if not self._is_over(now):
            self._machine_dies(machine, now)

    def ended(self, machine: Machine, now: float) -> None:
        """Restart a daemon that ended because a drain ordered it."""
        self._machine_dies(machine, now)

    def _plan_queue_death(self, chance: Random) -> None:
        at = self.engine.now + chance.expovariate(1 / self.plan.faults.queue_death_s)
        if self._is_over(at):
            return

        def die(_: float) -> None:
            self._queue_dies()
            self._plan_queue_death(chance)

        self.engine.at(at, die)

    def _queue_dies(self) -> None:
        now = self.engine.now
        if not self.queue.running or self._is_over(now):
            return
        self.recorder.write(now, "dead", machine="queue")
        self.queue.die()

        def live(then: float) -> None:
            self.recorder.write(then, "alive", machine="queue")
            self.queue.revive(then)
            self.matcher.tell_queue()
            if self.plan.faults.queue_cut:
                self.queue.die_after(1 + int(self._away.expovariate(1 / self.plan.faults.queue_cut)))

        self.engine.at(now + 1 + self._away.random() * self.plan.faults.away_s, live)

    # -- what machines tell ------------------------------------------------------------------------------

    def _is_beside(self, machine: Machine) -> bool:
        """Whether a machine is not part of the pool."""
        return self.beside is not None and machine is self.beside.machine

    def stepped(self, machine: Machine, slot: SimulatedSlot, step: SlotStep, now: float) -> None:
        """Record transitions, each with its reason."""
        if self._is_beside(machine):
            self.checker.check_slot(slot)
            return
        there = slot.process is not None and slot.state.claim.activation is not None
        job = slot.process.job.name if there and slot.process is not None else None
        for taken in step.transitions:
            decision = taken.decision
            self.recorder.write(
                now,
                "transition",
                slot=slot.plan.name,
                number=taken.number,
                source=_PAIRS[taken.source],
                target=_PAIRS[taken.target],
                reason=str(taken.reason),
                expression=None if decision is None else decision.name,
                value=None if decision is None else _shown(decision.value),
                job=job,
            )
        self.matcher.look(slot)
        if self.plan.eager and step.transitions:
            self.matcher.more()
        self.checker.check_slot(slot)
        if self._on_step is not None:
            self._on_step(machine, slot, step, now)

    def starter_stepped(self, machine: Machine, slot: SimulatedSlot, step: StarterStep, now: float) -> None:
        """Record what a starter decided by its own expressions."""
        for taken in step.transitions:
            decision = taken.decision
            if decision is None:
                continue
            self.recorder.write(
                now,
                "starter",
                slot=slot.plan.name,
                number=taken.number,
                source=str(taken.source),
                target=str(taken.target),
                reason=str(taken.reason),
                expression=decision.name,
                value=_shown(decision.value),
                job=None if slot.process is None else slot.process.job.name,
            )

    def run_begun(self, machine: Machine, slot: SimulatedSlot, run: Run, now: float) -> None:
        """Note that a job has begun to run."""
        job = run.process.job
        self.recorder.write(now, "start", slot=slot.plan.name, job=job.name, **self._of_cell(run))
        self._interference[run.process] = 0.0
        if job.name not in self.source:
            run.asked_for |= self.queue.asks
            self.queue.run_begun(run)

    def _of_cell(self, run: Run) -> dict[str, Any]:
        """The job's grants in the cell, for records: queue instance, project and slots."""
        task = run.starter.state.job_ad.get(TASK) if self.cell is not None else None
        if not isinstance(task, ClassAd):
            return {}
        slots = task.get("AllSlots") or task.get("Slots", 1)
        return {"instance": task.get("Instance"), "project": task.get("Project"), "slots": slots}

    def ran(self, machine: Machine, slot: SimulatedSlot, process: Process, begin: float, end: float) -> None:
        """Record the time that the job ran while the owner was present."""
        self._interference[process] += machine.plan.sensors.owner.presence_s(begin, end)

    def run_ended(self, machine: Machine, slot: SimulatedSlot, run: Run, end: End, now: float) -> None:
        """Record the end of a run. What is lost with a dying machine is not reported."""
        name = run.process.job.name
        self.recorder.write(
            now,
            "end",
            slot=slot.plan.name,
            job=name,
            outcome=end.outcome,
            cause=end.cause,
            hard=end.hard,
            run_s=round(end.run_s, 3),
            suspended_s=round(end.suspended_s, 3),
            kept_s=round(end.kept_s, 3),
            interference_s=round(self._interference.pop(run.process, 0.0), 3),
            cpus=0 if self._is_beside(machine) else self._of_cell(run).get("slots", slot.plan.cpus),
        )
        if name in self.source:
            self.source.ended(name, end)
        elif end.outcome != "open":
            self.queue.run_ended(run, end)

    def say(self, machine: Machine, event: Event) -> None:
        """Send messages to the queue."""
        name = machine.plan.name
        due, now = partial(self.queue.hear, event), self.engine.now
        if isinstance(event, RunMeasured) or (isinstance(event, ClaimsHeard) and not self.bus.faulty):
            # Measurements without an effect, and answers to keepalives that were not sent, are left out too: sending
            # them would not change any delays.
            self.engine.at(now + self.bus.steady_delay(f"{name}~queue", now), due)
        else:
            self.bus.send(f"{name}>queue", due)

    def divided(self, machine: Machine) -> None:
        """Note that the rest of a slot is available."""
        self.matcher.more()

    def job_of(self, ad: ClassAd, kind: ClaimKind) -> tuple[Job, float]:
        """The job of an ad, and its completed work, s."""
        return self.source.lookup(ad) if kind is ClaimKind.FETCHED else self.queue.job_of(ad)

    def renewed_at(self, machine: Machine, claim_id: ClaimId, now: float) -> float | None:
        """When the last keepalive arrived that was not sent."""
        return self.queue.clock.renewed_at(claim_id.text, now)

    @property
    def alive_interval_s(self) -> float:
        """The interval of the queue's keepalives, s."""
        return self.queue.core.claim_table.settings.alive_interval_s

    @property
    def tells_files(self) -> bool:
        """Whether the queue is notified of file transfers, although they take no time."""
        return self.queue.told

    def measures(self, job: Job) -> bool:
        """Whether the queue receives the usage of running jobs: for a record, or for its policy."""
        return self.queue.told or self.queue.clock.judges

    def fetch(self, machine: Machine, slot: SimulatedSlot) -> ClassAd | None:
        """Work for a slot that fetches it."""
        return self.source.fetch(self.engine.now)

    def fetched(self, job_ad: ClassAd, accepted: bool) -> None:
        """Note what happened to fetched work."""
        self.source.replied(job_ad, accepted)


def _shown(value: object) -> Any:
    return value if isinstance(value, bool | int | str) else str(value)
