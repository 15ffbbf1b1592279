"""Whatever happens to a run, nothing begins before what it waits for, and every run ends."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.dag import NodeKind, ScriptPoint, read_dag
from roost.dag import orders as o
from roost.dag.run import Run, Settings
from roost.dag.states import NodeState

SCRIPT_STATUSES = (0, 0, 0, 1, 3, 7)


@st.composite
def dags(draw: st.DrawFn) -> str:
    """A file with up to eight nodes, and all that may be said of them."""
    count = draw(st.integers(1, 8))
    lines = []
    for number in range(count):
        words = draw(st.sampled_from(("", "", "", " NOOP", " DONE")))
        lines.append(f"JOB n{number} x.sub{words}")
    for child in range(1, count):
        parents = draw(st.sets(st.integers(0, child - 1), max_size=2))
        lines += [f"PARENT n{parent} CHILD n{child}" for parent in parents]
    for number in range(count):
        lines += draw(st.lists(st.sampled_from(_sayings(number)), max_size=3, unique=True))
    lines += draw(st.lists(st.sampled_from(("FINAL f x.sub", "PROVISIONER p x.sub", "SERVICE s x.sub", "MAXJOBS c 1")),
                           max_size=2, unique=True))  # fmt: skip
    return "\n".join(lines)


def _sayings(number: int) -> list[str]:
    name = f"n{number}"
    return [
        f"SCRIPT PRE {name} pre.sh $RETRY",
        f"SCRIPT DEFER 3 10 POST {name} post.sh $RETURN",
        f"SCRIPT HOLD {name} held.sh",
        f"RETRY {name} 2",
        f"RETRY {name} 1 UNLESS-EXIT 7",
        f"PRE_SKIP {name} 1",
        f"ABORT-DAG-ON {name} 7 RETURN 4",
        f"PRIORITY {name} {number}",
        f"CATEGORY {name} c",
    ]


@dataclass
class World:
    """Carries orders out in some order, with some luck."""

    run: Run
    chance: random.Random
    pending: list[o.Order] = field(default_factory=list)
    #: Cluster to the procs in the queue.
    queue: dict[int, set[int]] = field(default_factory=dict)
    #: What a log would have: submissions, ends of jobs, ends of POST scripts.
    past: list[o.Event] = field(default_factory=list)
    finished: o.Finish | None = None
    clusters: int = 0
    now: float = 0.0

    def tell(self, event: o.Event) -> None:
        self.now += 1
        step = self.run.step(event, self.now)
        for taken in step.transitions:
            self._check(taken.node, taken.row.target)
        for order in step.orders:
            if isinstance(order, o.Finish):
                assert self.finished is None, "it ends once"
                self.finished = order
            elif isinstance(order, o.StopScripts):
                self.pending = [one for one in self.pending if not isinstance(one, o.RunScript)]
            else:
                self.pending.append(order)

    def _check(self, name: str, target: NodeState) -> None:
        run, node = self.run, self.run.dag.nodes[name]
        if target in (NodeState.PRERUN, NodeState.SUBMITTED):
            for parent in run.dag.parents[name]:
                assert run.nodes[parent].state is NodeState.DONE, f"{name} begins before {parent} is done"
        most = run.dag.category_limits.get(node.category)
        assert not node.category or most is None or run.in_category[node.category] <= most

    def move(self) -> None:
        """One thing happens."""
        jobs = [(cluster, proc) for cluster, procs in self.queue.items() for proc in procs]
        choices = len(self.pending) + len(jobs)
        assert choices or self.finished, "nothing is under way, and it is not over"
        if self.finished:
            return
        pick = self.chance.randrange(choices)
        if pick < len(self.pending):
            self._carry_out(self.pending.pop(pick))
        else:
            self._of_job(*jobs[pick - len(self.pending)])

    def _carry_out(self, order: o.Order) -> None:
        match order:
            case o.RunScript(node=node, point=point):
                status = self.chance.choice(SCRIPT_STATUSES)
                event = o.ScriptEnded(node=node, point=point, status=status)
                deferred = point is ScriptPoint.POST and status == 3
                if point is ScriptPoint.POST and not deferred:
                    self.past.append(event)
                self.tell(event)
            case o.SubmitNode(node=node):
                if self.chance.random() < 0.1:
                    self.tell(o.SubmitRefused(node=node, text="no", final=self.chance.random() < 0.5))
                    return
                self.clusters += 1
                jobs = self.chance.choice((1, 1, 3))
                self.queue[self.clusters] = set(range(jobs))
                self._told(o.NodeSubmitted(node=node, cluster=self.clusters, jobs=jobs))
            case o.RemoveJobs(cluster=cluster):
                for proc in list(self.queue.get(cluster, ())):
                    self._left(cluster, proc)
                    self._told(o.JobRemoved(cluster=cluster, proc=proc))
            case o.Wait(node=node):
                self.tell(o.WaitOver(node=node))

    def _told(self, event: o.Event) -> None:
        self.past.append(event)
        self.tell(event)

    def _left(self, cluster: int, proc: int) -> None:
        self.queue[cluster].discard(proc)

    def _of_job(self, cluster: int, proc: int) -> None:
        kind = self.chance.choice(("ran", "held", "waits", "ended", "ended", "ended", "removed"))
        match kind:
            case "ran":
                self._told(o.JobRan(cluster=cluster, proc=proc))
            case "held":
                self._told(o.JobHeld(cluster=cluster, proc=proc, reason="x"))
            case "waits":
                self._told(o.JobWaits(cluster=cluster, proc=proc))
            case "ended":
                self._left(cluster, proc)
                self._told(o.JobEnded(cluster=cluster, proc=proc, status=self.chance.choice((0, 0, 0, 1, 7, -9))))
            case "removed":
                self._left(cluster, proc)
                self._told(o.JobRemoved(cluster=cluster, proc=proc))


def _run_of(text: str, limits: Settings) -> Run:
    return Run(read_dag(["x.dag"], {"x.dag": text}.get), limits)


LIMITS = st.builds(
    Settings,
    jobs_max=st.sampled_from((0, 1, 2)),
    idle_max=st.sampled_from((0, 1)),
    pre_max=st.sampled_from((0, 1)),
    post_max=st.sampled_from((0, 1)),
    always_post=st.booleans(),
    depth_first=st.booleans(),
    retry_first=st.booleans(),
)


@settings(max_examples=300)
@given(dags(), LIMITS, st.integers(0, 2**32), st.sampled_from((None, None, "halt", "remove")))
def test_every_run_ends_whole(text: str, limits: Settings, seed: int, trouble: str | None) -> None:
    world = World(_run_of(text, limits), random.Random(seed))
    world.tell(o.Begun())
    when = world.chance.randrange(1, 20)
    for step in range(3000):
        if world.finished:
            break
        if step == when and trouble == "halt":
            world.tell(o.HaltSet(halted=True))
        elif step == when and trouble == "remove":
            world.tell(o.RemovalAsked())
        else:
            world.move()
    else:
        raise AssertionError("no end")
    run = world.run
    assert sum(run.counts.values()) == len(run.nodes)
    for name, progress in run.nodes.items():
        if progress.node.kind in (NodeKind.JOB, NodeKind.SUBDAG) and trouble is None and run.ending is None:
            assert progress.state.over, name
    good = all(one.state is NodeState.DONE for one in run.nodes.values() if one.node.kind is NodeKind.JOB)
    if run.dag.final is None and run.ending is None:
        assert (world.finished is not None and world.finished.exit_code == 0) == good


@settings(max_examples=200)
@given(dags(), LIMITS, st.integers(0, 2**32), st.integers(0, 40))
def test_a_run_that_was_killed_goes_on_where_it_was(text: str, limits: Settings, seed: int, moves: int) -> None:
    world = World(_run_of(text, limits), random.Random(seed))
    world.tell(o.Begun())
    for _ in range(moves):
        world.move()
    if world.finished:
        return
    before = world.run
    world.run, world.pending = _run_of(text, limits), []
    world.tell(o.Begun(past=tuple(world.past)))
    for name, progress in world.run.nodes.items():
        if before.nodes[name].cluster is not None and before.nodes[name].state is NodeState.SUBMITTED:
            assert progress.cluster == before.nodes[name].cluster
            assert progress.ended == before.nodes[name].ended
        if before.nodes[name].cluster is not None and before.nodes[name].state is NodeState.DONE:
            assert progress.state is NodeState.DONE
    for _ in range(3000):
        if world.finished:
            break
        world.move()
    assert world.finished
