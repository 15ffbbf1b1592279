"""Runs in which messages are lost, doubled, late and out of order, and daemons die: one world for each seed.

`run_seed` runs the world of a seed (`worlds`) and looks at two things. Safety: while things go wrong, no invariant
(`checkers`) is violated. Liveness: once nothing goes wrong any more, every job comes to its end, every claim is given
back, and every ledger is full again.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from roost.base.records import dataclass, replace
from roost.schedd.status import JobStatus
from roost.sim.machine.host import Machine
from roost.sim.record import Record
from roost.sim.world import World
from roost.startd.states import State
from tests.faults.worlds import Drawn, drawn

_ENDS: Final = (JobStatus.COMPLETED, JobStatus.REMOVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOutcome:
    """What came of a seed."""

    seed: int
    layout: str
    policy: str
    digest: str
    #: What was violated, in words; empty where all is well.
    problems: tuple[str, ...]
    #: Messages lost, doubled and late, deaths and crashes.
    mishaps: int
    #: Transitions taken, by number.
    transitions: Counter[str]

    @property
    def command(self) -> str:
        """The line that runs it again."""
        return f"make sim SEED={self.seed} N=1"

    def __str__(self) -> str:
        state = "ok" if not self.problems else "FAILED"
        return f"seed {self.seed}: {state} ({self.layout}, {self.policy}, {self.mishaps} mishaps)"


class _Tally:
    """Counts what a run is judged by."""

    def __init__(self) -> None:
        self.completed: Counter[str] = Counter()
        self.deaths = 0
        self.transitions: Counter[str] = Counter()

    def take(self, record: Record) -> None:
        match record["what"]:
            case "complete":
                self.completed[record["job"]] += 1
            case "transition":
                self.transitions[record["number"]] += 1
            case "dead":
                self.deaths += 1
            case "end" if record["outcome"] == "lost":
                self.deaths += 1


def run_seed(seed: int, *, exhaustive: bool = False, draw: Callable[[int], Drawn] = drawn) -> SeedOutcome:
    """Run the world of a seed, as `draw` makes it."""
    world_drawn = draw(seed)
    tally = _Tally()
    world = World(replace(world_drawn.plan, exhaustive=exhaustive), sinks=(tally.take,))
    try:
        outcome = world.run()
    except Exception:
        # Whatever is raised in there is an internal error; the seed is enough to reproduce it.
        at_s = world.engine.now - world_drawn.plan.start
        problems: tuple[str, ...] = (f"at {at_s:.3f} s: {traceback.format_exc()}",)
    else:
        problems = (*outcome.problems, *_not_come_right(world, world_drawn, tally))
    counts = world.bus.counts
    return SeedOutcome(
        seed=seed,
        layout=world_drawn.layout,
        policy=world_drawn.policy,
        digest=world.recorder.digest,
        problems=problems,
        mishaps=tally.deaths + counts["lost"] + counts["doubled"] + counts["late"],
        transitions=tally.transitions,
    )


def _not_come_right(world: World, drawn: Drawn, tally: _Tally) -> Iterator[str]:
    """What is not as it should be at the end."""
    queue = world.queue
    for job in drawn.plan.jobs:
        name, status = job.name, queue.status.get(job.name)
        if tally.completed[name] > 1:
            yield f"job {name} completed {tally.completed[name]} times"
        if status is None:
            yield f"job {name} was never taken"
        elif status not in _ENDS and name not in drawn.hopeless:
            shown = status.name.lower()
            yield f"job {name} ({job.kind}) is still {shown}, after {queue.starts[name]} starts"
    for job in drawn.plan.fetched:
        if job.name not in world.source.completed:
            yield f"fetched job {job.name} has not completed"
    busy = bool(queue.core.claim_table.claims)
    for machine in world.machines:
        if not machine.alive:
            yield f"{machine.plan.name} is still dead"
            continue
        if not busy:
            yield from _left_over(machine)


def _left_over(machine: Machine) -> Iterator[str]:
    for slot in machine.slots:
        if slot.state.state in (State.CLAIMED, State.PREEMPTING, State.MATCHED, State.DRAINED):
            yield f"{slot.state.name} is still {slot.state.pair}"
    accounts, division = machine.host.dynamic_slots, machine.plan.division
    if accounts is not None and division is not None and accounts.slots != division.slots:
        yield f"the ledgers of {machine.plan.name} are not as they were: {accounts.slots.ledgers}"
