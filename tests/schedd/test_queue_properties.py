"""Whatever happens to a queue in a pool, lost or twice: no job is lost, each has one end, all accounts agree.

The pool is the lab's: the matchmaker and the machines are the real ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from roost.classad import ClassAd
from roost.config import MemoryHost
from roost.model.events import DrainSchedule, VacateRequested
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.claims.held_claims import HeldClaim, Stage
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue, Step
from roost.schedd.status import JobStatus
from roost.sim.bus import Faults
from roost.sim.inputs.owners import OwnerTrace
from roost.sim.inputs.workload import Truth, make_job
from roost.sim.machine.pattern import Hardware, Pattern, load_config, make_pattern
from roost.sim.world import BEGINNING, Plan, World
from roost.startd.draining import DrainOrder, OnCompletion
from tests.schedd import soundness
from tests.schedd.kit import SETTINGS, Driven, source

#: What sets the jobs of a submission apart, by kind.
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "of varying priorities": {"JobPrio": [0, 3]},
    "of varying sizes": {"RequestMemory": [10, 20]},
    "told apart by their requirements": {"Requirements": "ProcId >= 0 || Args == 1"},
    "run again": {"OnExitRemove": "NumJobCompletions > 1"},
    "held at their end": {"OnExitHold": "NumHolds =?= undefined || NumHolds < 1"},
    "held as time passes": {"PeriodicHold": "JobStatus == 2 && NumJobStarts < 2"},
    "removed as time passes": {"PeriodicRemove": "NumHolds > 1"},
    "on hold": {"JobStatus": 5, "HoldReasonCode": 15, "HoldReason": "submitted on hold"},
    "that need a machine of a kind that is not there": {"Args": "$$(Nothing:x)", "Env": "$$(Missing)"},
    "that stay a while": {"LeaveJobInQueue": "CompletionDate =?= undefined || NumHolds > 5"},
    "held by machines": {"Unwelcome": True},
    "evicted by machines": {"Evicted": True},
}
CONFIG = """
NUM_SLOTS = 2
START = True
SUSPEND = False
WANT_SUSPEND = False
PREEMPT = (TARGET.Unwelcome =?= True || TARGET.Evicted =?= True) && TARGET.NumJobStarts < 2 && TotalJobRunTime > 20
WANT_HOLD = TARGET.Unwelcome =?= True
KILL = False
"""
ACTIONS = [action for action in ev.Action if action is not ev.Action.EDIT]
NODES = st.integers(0, 1)


def _ended(claim: str, run: str, at: float) -> ev.Event:
    return ev.RunEnded(node="a", claim_id=claim, run=run, at=at, ending="exit", started=True, exit_code=0)


#: What machines say of a run on a claim.
NEWS: tuple[Callable[[str, str, float], ev.Event], ...] = (
    lambda claim, run, at: ev.RunBegan(claim_id=claim, run=run, at=at, slot="slot1@a"),
    lambda claim, run, at: ev.RunStoodStill(claim_id=claim, run=run, at=at, still=True),
    lambda claim, run, at: ev.FilesMoved(claim_id=claim, run=run, at=at, stage="output-started"),
    lambda claim, run, at: ev.RunSaved(
        claim_id=claim, run=run, at=at, checkpoints=9, attributes=ClassAd({"ImageSize": 9})
    ),
    lambda claim, run, at: ev.RunMeasured(claim_id=claim, run=run, at=at, attributes=ClassAd({"ImageSize": 9})),
    lambda claim, run, at: ev.RunRefused(claim_id=claim, run=run, refusal="no"),
    _ended,
)
#: What becomes of messages: lost, twice, late.
FATES = st.sampled_from(((0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.0, 0.4, 0.0), (0.0, 0.0, 0.3), (0.2, 0.2, 0.2)))


@cache
def _pattern() -> Pattern:
    hardware = Hardware(cpus=2, memory_mb=2048)
    config = load_config(MemoryHost(files={"/pool.config": CONFIG}), ["/pool.config"], hardware, "m")
    return make_pattern(config, hardware)


class QueueMachine(RuleBasedStateMachine):
    """A queue at work."""

    def __init__(self) -> None:
        super().__init__()
        self.past = soundness.Past()
        self.clusters = 0
        self.checks = 0
        self.steps = pytest.MonkeyPatch()
        step = Queue.step

        def watched(queue: Queue, event: ev.Event, now: float) -> Step:
            before = soundness.statuses_of(queue)
            found = step(queue, event, now)
            soundness.check_rows(before, found, queue)
            self.past.took(found)
            return found

        self.steps.setattr(Queue, "step", watched)

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        owner = OwnerTrace(present=(), loads=(), last_key_before=BEGINNING - 86_400)
        self.world = World(
            Plan(
                machines=tuple(_pattern().machine(name, owner, started_at=BEGINNING, phase_s=0) for name in ("a", "b")),
                jobs=(),
                days=1.0,
                seed=seed,
                cycle_s=20.0,
                # Something may go wrong; what does is said by the rules.
                faults=Faults(late=1e-9, late_s=30.0, away_s=60.0),
                queue=SETTINGS,
                told=True,
                eager=True,
            )
        )
        assert self.world.queue.disk is not None
        self.disk = self.world.queue.disk
        self.begun()

    def begun(self) -> None:
        """The pool is there."""

    @property
    def queue(self) -> Queue:
        return self.world.queue.core

    def pass_time(self, passed_s: float) -> None:
        self.world.engine.run(self.world.engine.now + passed_s)

    @property
    def jobs(self) -> list[JobId]:
        return sorted(self.past.submitted)

    def act(self, action: ev.Action, *jobs: JobId, user: str = "ann", **attributes: Any) -> None:
        event = ev.Acted(action=action, jobs=jobs, user=user, reply_to="r", attributes=ClassAd(attributes))
        self.world.queue.feed(event)

    @rule(kind=st.sampled_from(sorted(KINDS)), count=st.integers(1, 4), run_s=st.sampled_from((5, 40, 300)),
          code=st.integers(0, 3))  # fmt: skip
    def submit(self, kind: str, count: int, run_s: int, code: int) -> None:
        if len(self.past.submitted) >= 30:
            return
        self.clusters += 1
        now, jobs = self.world.engine.now, []
        for proc in range(count):
            own = {name: each[proc % 2] if isinstance(each, list) else each for name, each in KINDS[kind].items()}
            attributes = {"UserLog": "/log", "RequestMemory": 10, "JobPrio": 0, **own}
            truth = Truth(run_s=float(run_s), exit_code=code, farewell_s=3.0)
            job = make_job(self.clusters, "ann", now, truth, attributes, kind)
            job.ad["ProcId"] = proc
            jobs.append(replace(job, name=f"{self.clusters}.{proc}"))
        self.world.queue.submit(jobs, now)

    @rule(fate=FATES)
    def messages_fare(self, fate: tuple[float, float, float]) -> None:
        lost, doubled, late = fate
        self.world.bus.faults = replace(self.world.bus.faults, lost=lost, doubled=doubled, late=late)

    @rule(node=NODES, pick=st.integers(0, 1), fast=st.booleans())
    def machine_vacates(self, node: int, pick: int, fast: bool) -> None:
        machine = self.world.machines[node]
        if machine.alive:
            machine.tell(machine.slots[pick], VacateRequested(fast=fast), self.world.engine.now)

    @rule(node=NODES, unwilling=st.booleans())
    def owner(self, node: int, unwilling: bool) -> None:
        machine, now = self.world.machines[node], self.world.engine.now
        if machine.alive and unwilling:
            machine.drain(DrainOrder(schedule=DrainSchedule.QUICK, on_completion=OnCompletion.NOTHING), now)
        elif machine.alive:
            machine.cancel_drain(now)

    @rule(node=NODES)
    def machine_is_killed(self, node: int) -> None:
        self.world.cut(self.world.machines[node], self.world.engine.now)

    @precondition(lambda self: self.world.queue.running)
    @rule(action=st.sampled_from(ACTIONS), pick=st.integers(0, 30), several=st.booleans(), dies=st.booleans())
    def user_acts(self, action: ev.Action, pick: int, several: bool, dies: bool) -> None:
        if self.jobs:
            first = pick % len(self.jobs)
            if dies:
                # Before it sends the first message: what it has done is kept, and nobody is told.
                self.world.queue.die_after(1)
            self.act(action, *self.jobs[first : first + (3 if several else 1)])

    @precondition(lambda self: self.world.queue.running)
    @rule(pick=st.integers(0, 30), prio=st.integers(0, 3), memory=st.sampled_from((10, 20)))
    def user_edits(self, pick: int, prio: int, memory: int) -> None:
        if self.jobs:
            self.act(ev.Action.EDIT, self.jobs[pick % len(self.jobs)], JobPrio=prio, RequestMemory=memory)

    @rule(passed_s=st.sampled_from((0.1, 1, 5, 25, 70, 3000)))
    def time_passes(self, passed_s: float) -> None:
        self.pass_time(passed_s)

    @rule()
    def queue_is_killed(self) -> None:
        self.world.queue.cut()

    @precondition(lambda self: self.world.queue.running)
    @rule(passed_s=st.sampled_from((1, 100, 3000)))
    def bus_breaks(self, passed_s: float) -> None:
        self.world.queue.mute(True)
        self.pass_time(passed_s)
        self.world.queue.mute(False)

    @precondition(lambda self: self.world.queue.running)
    @rule(more=st.booleans())
    def matching_depends_on_other_attributes(self, more: bool) -> None:
        self.world.queue.feed(ev.SignificantChanged(attributes=("Args", "NumHolds") if more else ()))

    @precondition(lambda self: self.world.queue.running)
    @rule(pick=st.integers(0, 30))
    def strangers_are_refused(self, pick: int) -> None:
        if self.jobs:
            before = list(self.past.history)
            self.act(ev.Action.REMOVE, self.jobs[pick % len(self.jobs)], user="eve")
            assert self.past.history == before

    @invariant()
    def all_agrees(self) -> None:
        if not hasattr(self, "world") or not self.world.queue.running:
            return
        soundness.check(self.queue, self.disk, self.past)
        self.checks += 1
        if self.checks % 4 == 0:
            soundness.check_restart(self.queue, self.disk, self.world.engine.now)
        self.world.checker.check_all()
        assert self.world.checker.problems == []
        for claim in list(self.queue.claim_table.claims.values()):
            if claim.stage is Stage.RUNNING:
                self.old_news_changes_nothing(claim)

    def old_news_changes_nothing(self, claim: HeldClaim) -> None:
        """Nor does what is said of its run as if it were on another claim."""
        now, tell, heard_at = self.world.engine.now, NEWS[self.checks % len(NEWS)], claim.heard_at
        for about in ((claim.id, f"{claim.run}x"), (f"{claim.id}x", claim.run)):
            step = self.queue.step(tell(*about, now), now)
            assert not step.changes
            assert all(isinstance(each, ef.Taken) for each in step.effects)
        # The machine says what it knew before it was told of the run.
        step = self.queue.step(ev.ClaimsHeard(node=claim.node, known={claim.id: ""}, serial=claim.asked), now)
        assert (step.changes, step.effects) == ((), ())
        claim.heard_at = heard_at

    def teardown(self) -> None:
        try:
            if hasattr(self, "world"):
                self.calm()
        finally:
            self.steps.undo()

    def calm(self) -> None:
        """Nothing goes wrong any more, all jobs are released and end: the queue becomes empty, and slots free."""
        self.world.bus.faults = Faults()
        since = self.world.engine.now
        continued: set[str] = set()
        for _ in range(160):
            self.pass_time(25)
            if not self.world.queue.running:
                continue
            for machine in self.world.machines:
                if machine.alive:
                    machine.cancel_drain(self.world.engine.now)
            held = [job.id for each in self.queue.book.clusters.values() for job in map(each.job, each.procs())
                    if job.status is JobStatus.HELD]  # fmt: skip
            if held:
                # Some cannot be helped: what they need of a machine is nowhere.
                hopeless = self.world.engine.now > since + 1500
                self.act(ev.Action.REMOVE if hopeless else ev.Action.RELEASE, *held)
            # An order that is lost is repeated: one for each run is enough.
            still = [job for each in self.queue.book.clusters.values() for job in map(each.job, each.procs())
                     if job.status is JobStatus.SUSPENDED and job.run not in continued]  # fmt: skip
            if still:
                continued |= {job.run for job in still}
                self.act(ev.Action.CONTINUE, *(job.id for job in still))
            if not self.queue.book.clusters and not self.queue.claim_table.claims and not self.busy():
                break
        self.all_agrees()
        assert not self.queue.book.clusters, f"left: {list(map(str, self.queue.book.ids()))}"
        assert not self.queue.claim_table.claims
        assert not self.busy(), "a claim that nobody holds"

    def busy(self) -> list[str]:
        """Slots that are claimed."""
        slots = (slot for machine in self.world.machines for slot in machine.slots)
        return [slot.plan.name for slot in slots if slot.state.claim.granted_at is not None]


QueueMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("ROOST_EXAMPLES", "60")), stateful_step_count=50, deadline=None
)
TestQueue = QueueMachine.TestCase


def test_a_job_that_was_edited_waits_in_its_new_place_only() -> None:
    driven = Driven()
    driven.submit(source(3))
    for prio in (5, 0):
        driven.act(ev.Action.EDIT, JobId(1, 1), JobPrio=prio)
        driven.check()
    ran = [driven.start() for _ in range(3)]
    assert [job.id.proc for job in ran] == [0, 1, 2]
