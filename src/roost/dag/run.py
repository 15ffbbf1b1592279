"""A run of a DAG: one event in; orders, and the transitions that nodes took, out.

The table of `roost.dag.table` says how nodes change state; this module executes it and has the rules listed under it. A
run is large, so a step changes it in place. After a kill, a run is created again and gets the earlier events
(`Begun.past`): it reaches the same state without ordering anything twice.

What it does not do: read a clock, submit, run scripts, write files.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from roost.base.records import dataclass
from roost.dag import ending, node_jobs, rules
from roost.dag import orders as o
from roost.dag.past import catch_up
from roost.dag.plan import Dag, NodeKind, ScriptPoint
from roost.dag.ready import HELD, JOB, POST, PRE, Line, Waiting
from roost.dag.scripts import script_words
from roost.dag.states import PRE_FAILED, NodeState, Part, Progress, RunStatus
from roost.dag.table import BY_STATE, Guard, On, Row
from roost.tables.finder import row_finder

#: Exit status of a run that was removed.
REMOVED_EXIT: Final = 2

_LINES: Final = {ScriptPoint.PRE: PRE, ScriptPoint.POST: POST, ScriptPoint.HOLD: HELD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits of a run; 0 for none."""

    #: Nodes with jobs in the queue.
    jobs_max: int = 0
    #: Jobs that wait for a slot.
    idle_max: int = 1000
    #: Scripts of each kind at once.
    pre_max: int = 20
    post_max: int = 20
    held_max: int = 20
    #: Whether POST runs after a failed PRE.
    always_post: bool = False
    #: Maximum number of submission attempts for a node.
    submit_attempts: int = 6
    #: Whether nodes that became ready last start first.
    depth_first: bool = False
    #: Whether a failed node is retried before other waiting nodes start.
    retry_first: bool = False
    #: How often jobs of a node may be put on hold; the last of these holds removes them.
    holds_max: int = 100
    #: How many jobs of a node without TOLERANCE may fail.
    failures_max: int = 0
    #: Whether a node whose jobs failed and that has no retries left is resubmitted with its jobs on hold.
    hold_failed: bool = False


@dataclass(slots=True)
class Tally:
    """Counts of a run's jobs."""

    submitted: int = 0
    ended: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTransition:
    """A transition that a node took."""

    node: str
    row: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The result of one event."""

    #: To be carried out in this order.
    orders: tuple[o.Order, ...]
    transitions: tuple[NodeTransition, ...]


class Run:
    """A run and its state."""

    def __init__(self, dag: Dag, settings: Settings) -> None:
        self.dag = dag
        self.settings: Settings = settings
        self.nodes = {name: Progress(node=node) for name, node in dag.nodes.items()}
        self.counts: Counter[NodeState] = Counter()
        self.clusters: dict[int, Progress] = {}
        #: Jobs that were submitted, that have ended, and that have failed.
        self.jobs = Tally()
        #: Nodes of a category with jobs in the queue.
        self.in_category: Counter[str] = Counter()
        #: Cluster of the run's own job; -1 for a run that is not a job.
        self.cluster = -1
        self.status = RunStatus.OK
        self.halted = False
        self.over = False
        #: Exit status of the run; None before its end.
        self.exit_code: int | None = None
        #: Exit status once everything has been removed; None while the run proceeds normally.
        self.ending: int | None = None
        #: Nodes that have started, for save points.
        self._saved: set[str] = set()
        self.waiting: Waiting = Waiting(depth_first=settings.depth_first)
        self.scripts: Counter[str] = Counter()
        self.idle = 0
        self.final_begun = False
        self.provisioned = dag.provisioner is None
        self.replaying = False
        self.now = 0.0
        self.orders: list[o.Order] = []
        self.taken: list[NodeTransition] = []
        self.services = tuple(each for each in self.nodes.values() if each.node.kind is NodeKind.SERVICE)
        for progress in self.nodes.values():
            self.counts[progress.state] += 1

    def step(self, event: o.Event, now: float) -> Step:
        """Process `event` at `now` (epoch s)."""
        self.now, self.orders, self.taken = now, [], []
        if not self.over:
            self._handle(event)
            self.fill()
            ending.look_over(self)
        return Step(orders=tuple(self.orders), transitions=tuple(self.taken))

    def _handle(self, event: o.Event) -> None:
        match event:
            case o.Begun(past=past):
                self._begun(past)
            case o.ScriptEnded():
                self._script_ended(event)
            case o.NodeSubmitted():
                node_jobs.submitted(self, event)
            case o.SubmitRefused():
                node_jobs.refused(self, event)
            case o.JobRan() | o.JobWaits() | o.JobHeld() | o.JobEnded() | o.JobRemoved():
                node_jobs.of_job(self, event)
            case o.WaitOver(node=name):
                self._wait_over(self.nodes[name])
            case o.HaltSet(halted=halted):
                self.halted = halted
            case o.RemovalAsked():
                ending.end(self, REMOVED_EXIT, RunStatus.REMOVED, "the run is being removed")

    # -- the table, executed ----------------------------------------------------------------------

    def raised(self, progress: Progress, on: On) -> None:
        """Take the row of a node that a trigger selects."""
        found = _first_row((self, progress), progress.state, (on,))
        if found is None:
            raise AssertionError(f"node {progress.node.name} is {progress.state.name}, and {on}")
        self.take(progress, found[0])

    def take(self, progress: Progress, row: Row) -> None:
        """Take a row for a node."""
        self.counts[progress.state] -= 1
        if progress.state is NodeState.SUBMITTED:
            self.in_category[progress.node.category] -= 1
        progress.state, progress.part = row.target, Part.NOTHING
        self.counts[row.target] += 1
        if row.target is NodeState.SUBMITTED:
            self.in_category[progress.node.category] += 1
        self.taken.append(NodeTransition(node=progress.node.name, row=row))
        for entry in row.entry:
            rules.ENTRIES[entry](self, progress)

    # -- beginning ----------------------------------------------------------------------

    def _begun(self, past: tuple[o.Event, ...]) -> None:
        for progress in self.nodes.values():
            progress.waits = sum(not self.nodes[parent].node.done for parent in self.dag.parents[progress.node.name])
            if progress.node.done:
                self.counts[progress.state] -= 1
                progress.state = NodeState.DONE
                self.counts[progress.state] += 1
        self.replaying = bool(past)
        provisioner = self.dag.provisioner
        if provisioner is None:
            self.begin_ordinary()
        else:
            self.raised(self.nodes[provisioner.name], On.PARENTS_DONE)
        for event in past:
            catch_up(self, event)
            self._handle(event)
        self.replaying = False
        self.orders.clear()
        for progress in self.clusters.values():
            # Removals ordered before the kill are ordered again; doing so twice does no harm.
            if progress.removes_rest or (progress.left and self.ending is not None):
                self.remove(progress)

    def begin_ordinary(self) -> None:
        """Nodes without parents may start."""
        self.provisioned = True
        for progress in list(self.nodes.values()):
            ordinary = progress.node.kind in (NodeKind.JOB, NodeKind.SUBDAG, NodeKind.SERVICE)
            if ordinary and progress.state is NodeState.NOT_READY and not progress.waits:
                self.raised(progress, On.PARENTS_DONE)

    # -- room ----------------------------------------------------------------------

    def fill(self) -> None:
        """Start what the limits allow."""
        if self.replaying:
            return
        while (found := self.waiting.next(self._has_room)) is not None:
            line, name = found
            progress = self.nodes[name]
            if line[0] == POST:
                if progress.state is NodeState.POSTRUN:
                    self.run_script(progress, ScriptPoint.POST)
            elif line[0] == HELD:
                self.run_script(progress, ScriptPoint.HOLD)
            elif progress.state is NodeState.READY:
                self._save(progress)
                self.raised(progress, On.CHANCE)

    def _has_room(self, line: Line) -> bool:
        kind, category = line
        limits = self.settings
        if kind == POST:
            return not limits.post_max or self.scripts[POST] < limits.post_max
        if kind == HELD:
            return not limits.held_max or self.scripts[HELD] < limits.held_max
        if self.halted or (self.ending is not None and not self.final_begun):
            return False
        if kind == PRE:
            return not limits.pre_max or self.scripts[PRE] < limits.pre_max
        if limits.jobs_max and self.counts[NodeState.SUBMITTED] >= limits.jobs_max:
            return False
        if limits.idle_max and self.idle >= limits.idle_max:
            return False
        most = self.dag.category_limits.get(category) if category else None
        return most is None or self.in_category[category] < most

    def queue_up(self, progress: Progress) -> None:
        """Queue a node that waits for the limits."""
        node = progress.node
        line = (PRE, "") if rules.GUARDS[Guard.HAS_PRE]((self, progress)).holds else (JOB, node.category)
        urgent = 1_000_000_000 if progress.retry and self.settings.retry_first else 0
        self.waiting.add(line, node.name, node.priority + urgent)

    def _save(self, progress: Progress) -> None:
        node = progress.node
        if node.save_point is not None and node.name not in self._saved:
            self._saved.add(node.name)
            self.orders.append(o.KeepSavePoint(node=node.name, path=node.save_point))

    # -- scripts ----------------------------------------------------------------------

    def run_script(self, progress: Progress, point: ScriptPoint) -> None:
        """Run a script of a node."""
        node = progress.node
        script = {ScriptPoint.PRE: node.pre, ScriptPoint.POST: node.post, ScriptPoint.HOLD: node.held}[point]
        assert script is not None, "a script that the node does not have"
        if point is not ScriptPoint.HOLD:
            progress.part = Part.PRE if point is ScriptPoint.PRE else Part.POST
        self.scripts[_LINES[point]] += 1
        words = script_words(script.words, point, progress, self)
        self.orders.append(o.RunScript(node=node.name, point=point, words=words))

    def _script_ended(self, event: o.ScriptEnded) -> None:
        progress = self.nodes[event.node]
        if event.point is ScriptPoint.HOLD:
            self.scripts[HELD] -= self.scripts[HELD] > 0
            return
        pre = event.point is ScriptPoint.PRE
        wanted = NodeState.PRERUN if pre else NodeState.POSTRUN
        if progress.state is not wanted:
            return
        if progress.part in (Part.PRE, Part.POST):
            self.scripts[PRE if pre else POST] -= 1
        script = progress.node.pre if pre else progress.node.post
        if script is not None and event.status == script.defer_status and self.ending is None:
            progress.part = Part.DEFERRED
            self.orders.append(o.Wait(node=event.node, at=self.now + script.defer_s))
            return
        self._ended(progress, event.point, event.status)

    def _ended(self, progress: Progress, point: ScriptPoint, status: int) -> None:
        progress.status = status
        if point is ScriptPoint.PRE:
            progress.pre_status = status
            if status and status != progress.node.pre_skip:
                progress.result = PRE_FAILED
                progress.details = f"PRE script {node_jobs.ended_words(status)}"
            self.raised(progress, On.PRE_ENDED)
        else:
            if status:
                progress.details = f"POST script {node_jobs.ended_words(status)}"
            self.raised(progress, On.POST_ENDED)
        ending.look_abort(self, progress)

    def _wait_over(self, progress: Progress) -> None:
        if progress.part is Part.DEFERRED:
            point = ScriptPoint.PRE if progress.state is NodeState.PRERUN else ScriptPoint.POST
            self.run_script(progress, point)
        elif progress.part is Part.PAUSE and self.ending is None:
            node_jobs.submit(self, progress)

    def remove(self, progress: Progress) -> None:
        """Have a node's jobs removed from the queue."""
        assert progress.cluster is not None
        reason = progress.details if progress.failed else "the run of its DAG ends"
        self.orders.append(o.RemoveJobs(cluster=progress.cluster, reason=reason))

    # -- how nodes end ----------------------------------------------------------------------

    def release(self, progress: Progress) -> None:
        """Children of a node that is done wait for one node less."""
        progress.details = ""
        for child in self.dag.children[progress.node.name]:
            self._waits_less(self.nodes[child])

    def _waits_less(self, waiting: Progress) -> None:
        waiting.waits -= 1
        if not waiting.waits and waiting.state is NodeState.NOT_READY:
            self.raised(waiting, On.PARENTS_DONE)

    def give_up(self, progress: Progress) -> None:
        """Children of a failed node cannot be reached, or wait for one node less if the edge is WEAK.

        Not recursive: a chain may have a million nodes. Children of an unreachable node are unreachable, too, WEAK or
        not.
        """
        if progress.node.kind is NodeKind.SERVICE:
            return
        if progress.state is NodeState.ERROR and self.status is RunStatus.OK:
            self.status = RunStatus.NODE_FAILED
        if progress.state is NodeState.FUTILE:
            return
        name = progress.node.name
        weak = [child for child in self.dag.children[name] if (name, child) in self.dag.weak]
        far = [child for child in self.dag.children[name] if (name, child) not in self.dag.weak]
        while far:
            waiting = self.nodes[far.pop()]
            if waiting.state is NodeState.NOT_READY:
                self.raised(waiting, On.ANCESTOR_FAILED)
                far += self.dag.children[waiting.node.name]
        for child in weak:
            self._waits_less(self.nodes[child])

    def next_try(self, progress: Progress) -> None:
        """Retry a node."""
        progress.retry += 1
        progress.forget_try()


_first_row: Final = row_finder(BY_STATE, rules.GUARDS)
