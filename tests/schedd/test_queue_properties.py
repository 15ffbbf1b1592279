"""Whatever happens to a queue, lost or twice: no job is lost, each has one end, all accounts agree."""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from tests.schedd.queue_world import World, source

SOURCES = {
    "plain": lambda n: source(n),
    "varying priorities": lambda n: source(n, own={"JobPrio": (0, 3)}),
    "varying sizes": lambda n: source(n, own={"RequestMemory": (10, 20)}),
    "told apart by their requirements": lambda n: source(n, Requirements="=ProcId >= 0 || Args == 1"),
    "run again": lambda n: source(n, OnExitRemove="=NumJobCompletions > 1"),
    "held at their end": lambda n: source(n, OnExitHold="=NumHolds =?= undefined || NumHolds < 1"),
    "held as time passes": lambda n: source(n, PeriodicHold="=JobStatus == 2 && NumJobStarts < 2"),
    "removed as time passes": lambda n: source(n, PeriodicRemove="=NumHolds > 1"),
    "on hold": lambda n: source(n, JobStatus=5, HoldReasonCode=15, HoldReason="submitted on hold"),
    "that need a machine of a kind that is not there": lambda n: source(n, Args="$$(Nothing:x)", Env="$$(Missing)"),
    "that stay a while": lambda n: source(n, LeaveJobInQueue="=CompletionDate =?= undefined || NumHolds > 5"),
}
ACTIONS = [action for action in ev.Action if action is not ev.Action.EDIT]
NODES = st.sampled_from(("a", "b"))
FATES = st.sampled_from(({}, {}, {}, {"lost": True}, {"twice": True}))


class QueueMachine(RuleBasedStateMachine):
    """A queue at work."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @rule(kind=st.sampled_from(sorted(SOURCES)), count=st.integers(1, 4))
    def submit(self, kind: str, count: int) -> None:
        if len(self.world.submitted) < 30:
            self.world.submit(SOURCES[kind](count))

    @rule(times=st.integers(1, 4))
    def match(self, times: int) -> None:
        for _ in range(times):
            self.world.match()

    @rule(node=NODES, fate=FATES)
    def order_arrives(self, node: str, fate: dict[str, bool]) -> None:
        self.world.deliver_order(node, **fate)

    @rule(node=NODES, fate=FATES)
    def word_arrives(self, node: str, fate: dict[str, bool]) -> None:
        self.world.deliver_word(node, **fate)

    @rule()
    def all_arrives(self) -> None:
        for _ in range(6):
            for node in self.world.nodes:
                self.world.deliver_order(node)
                self.world.deliver_word(node)

    @rule(node=NODES, pick=st.integers(0, 3), ending=st.sampled_from(("exit", "exit", "evict", "hold")))
    def run_ends(self, node: str, pick: int, ending: str) -> None:
        where = self.world.nodes[node]
        if where.runs:
            slot = sorted(where.runs)[pick % len(where.runs)]
            self.world.to_queue[node].append(where.ends(slot, self.world.now, ending, code=pick))

    @rule(node=NODES, pick=st.integers(0, 3))
    def machine_ends_claim(self, node: str, pick: int) -> None:
        where = self.world.nodes[node]
        if where.held:
            slot = sorted(where.held)[pick % len(where.held)]
            if slot in where.runs:
                self.world.to_queue[node].append(where.ends(slot, self.world.now, "evict"))
            self.world.to_queue[node].append(where.gives_up(slot))

    @rule(node=NODES, unwilling=st.booleans())
    def owner(self, node: str, unwilling: bool) -> None:
        self.world.nodes[node].unwilling = unwilling

    @rule(action=st.sampled_from(ACTIONS), pick=st.integers(0, 30), several=st.booleans(), dies=st.booleans())
    def user_acts(self, action: ev.Action, pick: int, several: bool, dies: bool) -> None:
        jobs = sorted(self.world.submitted)
        if jobs:
            first = pick % len(jobs)
            chosen = tuple(jobs[first : first + (3 if several else 1)])
            self.world.feed(ev.Acted(action=action, jobs=chosen, user="ann", reply_to="r"), dies=dies)
            if dies:
                self.world.restart()

    @rule(pick=st.integers(0, 30), prio=st.integers(0, 3), memory=st.sampled_from((10, 20)))
    def user_edits(self, pick: int, prio: int, memory: int) -> None:
        jobs = sorted(self.world.submitted)
        if jobs:
            self.world.act(ev.Action.EDIT, jobs[pick % len(jobs)], JobPrio=prio, RequestMemory=memory)

    @rule(passed_s=st.sampled_from((1, 25, 70, 3000)), slept=st.booleans())
    def time_passes(self, passed_s: int, slept: bool) -> None:
        step_s = passed_s if slept else 100
        while passed_s > 0:
            self.world.now += min(step_s, passed_s)
            passed_s -= step_s
            self.world.feed(ev.Ticked())

    @rule()
    def queue_is_killed(self) -> None:
        self.world.restart()

    @rule()
    def bus_breaks(self) -> None:
        for node in self.world.nodes:
            self.world.to_node[node].clear()
            self.world.to_queue[node].clear()
        self.world.feed(ev.BusCameBack())

    @rule()
    def reports_are_repeated(self) -> None:
        self.world.repeat_reports()

    @rule(more=st.booleans())
    def matching_depends_on_other_attributes(self, more: bool) -> None:
        self.world.feed(ev.SignificantChanged(attributes=("Args", "NumHolds") if more else ()))

    @rule(pick=st.integers(0, 30))
    def strangers_are_refused(self, pick: int) -> None:
        jobs = sorted(self.world.submitted)
        if jobs:
            before = list(self.world.disk.history)
            job = jobs[pick % len(jobs)]
            self.world.feed(ev.Acted(action=ev.Action.REMOVE, jobs=(job,), user="eve", reply_to="r"))
            assert self.world.disk.history == before

    @invariant()
    def all_agrees(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        self.world.calm()


QueueMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("ROOST_EXAMPLES", "60")), stateful_step_count=50, deadline=None
)
TestQueue = QueueMachine.TestCase


def test_a_job_that_was_edited_waits_in_its_new_place_only() -> None:
    world = World()
    world.submit(source(3))
    world.act(ev.Action.EDIT, JobId(1, 1), JobPrio=5)
    world.check()
    world.act(ev.Action.EDIT, JobId(1, 1), JobPrio=0)
    world.check()
    world.calm()
