"""A simulated pool, put together, run and recorded.

`World` takes a `Plan`, everything that a run depends on, and gives an `Outcome`. It is the one who is told what
happens, writes the records, and asks the checkers. See `engine` for the order of events, `host` for machines, `queue`
and `matcher` for the rest of the pool, `bus` for messages and faults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from roost.model import effects as ef
from roost.sim.bus import Bus, Faults
from roost.sim.chance import stream
from roost.sim.checkers import Checker
from roost.sim.engine import Engine
from roost.sim.host import Machine, MachinePlan, Slot
from roost.sim.matcher import Matcher
from roost.sim.metrics import Metrics
from roost.sim.owners import DAY_S
from roost.sim.process import End, Process
from roost.sim.queue import Queue
from roost.sim.record import Recorder, Sink
from roost.sim.workload import Job
from roost.startd.machine import Step

#: A Monday, 00:00 UTC, epoch s.
BEGINNING: Final = 1_704_067_200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run is a function of."""

    machines: tuple[MachinePlan, ...]
    jobs: tuple[Job, ...]
    days: float
    seed: int | str = 0
    #: NEGOTIATOR_INTERVAL, s.
    cycle_s: float = 60.0
    faults: Faults = Faults()  # noqa: RUF009
    start: float = BEGINNING
    #: Poll whenever a poll is due, though it can't matter.
    exhaustive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run."""

    digest: str
    records: int
    summary: dict[str, Any]
    #: Violated invariants, in words; empty in a sound run.
    problems: tuple[str, ...]
    #: Events taken, polls that happened, messages; for curiosity, and no part of the digest.
    effort: dict[str, int] = field(compare=False)


class World:
    """A run."""

    def __init__(
        self,
        plan: Plan,
        *,
        sinks: tuple[Sink, ...] = (),
        lines: Callable[[str], object] | None = None,
        on_step: Callable[[Machine, Slot, Step, float], None] | None = None,
    ) -> None:
        self.plan = plan
        self.engine = Engine(plan.start)
        slots = sum(len(machine.slots) for machine in plan.machines)
        truths = {job.name: job.truth.run_s for job in plan.jobs}
        self.metrics = Metrics(slots=slots, days=plan.days, run_s=truths)
        self.recorder = Recorder(plan.start, (self.metrics.take, *sinks), lines)
        self.bus = Bus(self.engine, plan.seed, plan.faults)
        self.queue = Queue(self.engine, self.bus, self.recorder)
        self.checker = Checker(self)
        self._on_step = on_step
        self._interference: dict[Process, float] = {}
        self.machines = [
            Machine(each, index, self.engine, self, self.queue.lookup, exhaustive=plan.exhaustive)
            for index, each in enumerate(plan.machines)
        ]
        self.queue.expect(plan.jobs)
        order = list(range(len(self.machines)))
        stream(plan.seed, "matcher").shuffle(order)
        self.matcher = Matcher(self.engine, self.bus, self.queue, self.machines, plan.cycle_s, order)
        self._plan_deaths()

    # -- the run -----------------------------------------------------------------------------------------

    def run(self, progress: Callable[[float], None] | None = None) -> Outcome:
        """Run to the end; `progress` is told the share that is done, after each simulated hour."""
        end = self.plan.start + self.plan.days * DAY_S
        while self.engine.now < end:
            self.engine.run(min(end, self.engine.now + 3600))
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
        for machine in self.machines:
            for slot in machine.slots:
                if slot.process is not None:
                    process = slot.process
                    self._record_end(slot, process, process.vanish(end), end, "open")
        self.checker.check_all()

    # -- deaths ------------------------------------------------------------------------------------------

    def _plan_deaths(self) -> None:
        faults = self.plan.faults
        if faults.machine_death_s:
            for machine in self.machines:
                self._plan_machine_death(machine, stream(self.plan.seed, "death", machine.plan.name))
        if faults.queue_death_s:
            self._plan_queue_death(stream(self.plan.seed, "death of the queue"))

    def _plan_machine_death(self, machine: Machine, chance: Any) -> None:
        at = self.engine.now + chance.expovariate(1 / self.plan.faults.machine_death_s)
        away_s = 1 + chance.random() * self.plan.faults.away_s
        if at - self.plan.start > self.plan.faults.until_s:
            return

        def live(now: float) -> None:
            self.recorder.write(now, "alive", machine=machine.plan.name)
            machine.begin(now)
            self._plan_machine_death(machine, chance)

        def die(now: float) -> None:
            self.recorder.write(now, "dead", machine=machine.plan.name)
            machine.die(now)
            self.engine.at(now + away_s, live)

        self.engine.at(at, die)

    def _plan_queue_death(self, chance: Any) -> None:
        at = self.engine.now + chance.expovariate(1 / self.plan.faults.queue_death_s)
        away_s = 1 + chance.random() * self.plan.faults.away_s
        if at - self.plan.start > self.plan.faults.until_s:
            return

        def turn(now: float, alive: bool) -> None:
            self.recorder.write(now, "alive" if alive else "dead", machine="queue")
            self.queue.alive = alive
            if alive:
                self._plan_queue_death(chance)

        self.engine.at(at, lambda now: turn(now, False))
        self.engine.at(at + away_s, lambda now: turn(now, True))

    # -- what machines tell ------------------------------------------------------------------------------

    def stepped(self, machine: Machine, slot: Slot, step: Step, now: float) -> None:
        """Transitions are recorded, each with its reason."""
        job = slot.process.job.name if slot.process is not None else None
        for taken in step.transitions:
            decision = taken.decision
            self.recorder.write(
                now,
                "transition",
                slot=slot.plan.name,
                number=taken.number,
                source=str(taken.source),
                target=str(taken.target),
                reason=str(taken.reason),
                expression=None if decision is None else decision.name,
                value=None if decision is None else _shown(decision.value),
                job=job,
            )
        self.checker.check_slot(slot)
        if self._on_step is not None:
            self._on_step(machine, slot, step, now)

    def run_begun(self, machine: Machine, slot: Slot, process: Process, now: float) -> None:
        """A job has begun to run."""
        self.recorder.write(now, "start", slot=slot.plan.name, job=process.job.name)
        self._interference[process] = 0.0
        self.queue.run_begun(slot, process, now)

    def ran(self, machine: Machine, slot: Slot, process: Process, begin: float, end: float) -> None:
        """Time that the job ran while somebody was there."""
        self._interference[process] += machine.plan.sensors.owner.presence_s(begin, end)

    def run_ended(self, machine: Machine, slot: Slot, process: Process, end: End, now: float) -> None:
        """A run is over."""
        self._record_end(slot, process, end, now, end.outcome)
        if end.outcome != "lost":
            self.queue.run_ended(slot, process, end, now)

    def _record_end(self, slot: Slot, process: Process, end: End, now: float, outcome: str) -> None:
        self.recorder.write(
            now,
            "end",
            slot=slot.plan.name,
            job=process.job.name,
            outcome=outcome,
            cause=None if end.notice is None else end.notice.text,
            hard=end.hard,
            run_s=round(end.run_s, 3),
            suspended_s=round(end.suspended_s, 3),
            kept_s=round(end.kept_s, 3),
            interference_s=round(self._interference.pop(process, 0.0), 3),
        )

    def reply(self, machine: Machine, slot: Slot, effect: ef.Effect, now: float) -> None:
        """Messages to the queue."""
        self.bus.send(f"{machine.plan.name}>queue", lambda then: self.queue.reply(effect, then))


def _shown(value: object) -> Any:
    return value if isinstance(value, bool | int | str) else str(value)
