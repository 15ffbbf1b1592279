"""The process that runs a DAG: a plain loop around the core, the nodes' event log, scripts and signals.

It has no state of its own that must not be lost. The event log that the queue writes contains the events of jobs, and
results of POST scripts are written there too; killed at any moment and restarted, the process reads that log, asks the
queue for jobs that it does not know, and continues where it was. PRE scripts may run twice, and so may a POST script
whose end was not observed when the run was killed.

Signals: SIGUSR1 removes the run (its jobs, then a rescue file), SIGTERM, SIGINT and SIGQUIT leave its jobs in the
queue, for a run that continues later.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from roost.base.records import dataclass, field, replace
from roost.dag import Dag, ScriptPoint
from roost.dag import orders as o
from roost.dag.run import NodeTransition, Run, Settings, Step
from roost.dag.states import NodeState
from roost.dag.texts import (
    STATUS_WORDS,
    dot_text,
    metrics_text,
    node_status_text,
    rescue_text,
    run_attributes,
    status_table,
)
from roost.runtime.clock import SYSTEM, Clock
from roost.runtime.files.whole_files import write_whole
from roost.runtime.workflow.description import AGAIN_EXIT, final_exit
from roost.runtime.workflow.files import RunFiles, read_text, unused
from roost.runtime.workflow.job_states import JobStates
from roost.runtime.workflow.nodes_log import NodesLog
from roost.runtime.workflow.scripts import Scripts
from roost.runtime.workflow.signals import Signals
from roost.runtime.workflow.submitting import BadNode, Submitter, tag_of
from roost.schedd.submit import Submission

_log = logging.getLogger("roost.dag")

#: Interval of checks of the nodes' log, the halt file and scripts, s.
LOOK_S: Final = 0.2
#: Interval of updates of the run's own job and of the status table, s.
TELL_S: Final = 2.0


class QueueAway(Exception):
    """The queue does not answer at the moment."""


class QueueRefused(Exception):
    """The queue refuses the jobs."""


class Queue(Protocol):
    """The interface of the job queue for a run."""

    def submit(self, submission: Submission) -> tuple[int, int]:
        """Submit; return cluster and number of jobs. Raises QueueAway, QueueRefused."""

    def remove(self, cluster: int, reason: str) -> None:
        """Remove a cluster. Raises QueueAway."""

    def tell(self, cluster: int, attributes: dict[str, Any]) -> None:
        """Change attributes of the run's own job. Raises QueueAway."""

    def clusters_of(self, run_cluster: int) -> dict[int, tuple[str, int]]:
        """Cluster to node and number of jobs, for all jobs of the run in the queue. Raises QueueAway."""


@dataclass(slots=True, kw_only=True)
class Process:
    """A run of a DAG."""

    files: RunFiles
    dag: Dag
    settings: Settings
    queue: Queue
    submitter: Submitter
    version: str
    #: The rescue file from which it continues; 0 for none.
    rescue: int = 0
    rescues_max: int = 100
    #: Interval of submissions, s, and how many are made before the run checks for events.
    submit_delay_s: float = 0.0
    submits_max: int = 100
    #: Attributes set once in the run's own job: the batch of the run and its nodes, if it was submitted without one.
    batch: dict[str, str] = field(default_factory=dict)
    #: The directory to which the relative paths of the DAG refer.
    directory: Path = field(default_factory=Path)
    clock: Clock = SYSTEM
    scripts: Scripts = field(default_factory=Scripts)
    signals: Signals = field(default_factory=Signals)
    run: Run = field(init=False)
    log: NodesLog = field(init=False)
    states: JobStates = field(init=False)
    _began_at: float = field(init=False, default=0.0)
    _waits: dict[str, float] = field(init=False, default_factory=dict)
    _todo: list[o.Order] = field(init=False, default_factory=list)
    _finish: o.Finish | None = field(init=False, default=None)
    _status_at: float = field(init=False, default=0.0)
    _told_at: float = field(init=False, default=0.0)
    _changed: bool = field(init=False, default=True)
    #: Clusters of nodes that the run knows.
    _clusters: set[int] = field(init=False, default_factory=set)
    #: Nodes whose submission was not answered: their jobs may be, or may have been, in the queue.
    _unanswered: set[str] = field(init=False, default_factory=set)
    #: Node with a running POST script to its cluster, and to the status of the script if that is killed.
    _posts: dict[str, tuple[int | None, int]] = field(init=False, default_factory=dict)
    _away: bool = field(init=False, default=False)
    #: Number of submissions since the last check, and when the next one may be made.
    _submits: int = field(init=False, default=0)
    _submit_at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.run = Run(self.dag, self.settings)
        self.run.cluster = -1 if self.submitter.cluster is None else self.submitter.cluster
        log = self.dag.job_state_log
        path = str(self.directory / log) if log else ""
        self.states = JobStates(path, self.run.nodes, self.run.clusters, self._tag_of, self.clock)
        self.log = NodesLog(self.files.nodes_log, self.states.heard, self.clock)

    def work(self, *, recovering: bool) -> int:
        """Run until the run is over, or a signal orders to leave it; return the exit status. Raises OSError."""
        self.begin(recovering=recovering)
        while (code := self.look()) is None:
            self.signals.wait(LOOK_S)
        return code

    def begin(self, *, recovering: bool) -> None:
        """Begin or continue the run; `look` does the rest. Raises OSError."""
        self._began_at = self.clock.now()
        self.signals.listen()
        if not recovering:
            self.log.begin_anew()
            self.files.halt.unlink(missing_ok=True)
        self.states.began(f"{self.submitter.cluster or 0}.0", recovering=recovering)
        past = tuple(self._past()) if recovering else ()
        self._clusters.update(event.cluster for event in past if isinstance(event, o.NodeSubmitted))
        if recovering:
            _log.info("continuing from %s: %d events", self.files.nodes_log, len(past))
        self._take(self.run.step(o.Begun(past=past), self.clock.now()), past=True)
        if recovering:
            self.states.catch_up()
            self.states.recovered()

    def look(self) -> int | None:
        """Check for events, and act on them; return the exit status of a run that is over or left. Raises OSError."""
        leave = 0 if self._finish is not None else self._look()
        if leave:
            self.scripts.stop()
            _log.info("signal %d: leaving the jobs in the queue", leave)
            return AGAIN_EXIT
        return None if self._finish is None else self._end(self._finish)

    # -- events ------------------------------------------------------------------------------------------

    def _past(self) -> Iterator[o.Event]:
        """The events of the nodes' log, and jobs in the queue that are not in it."""
        own, heard = self.submitter.cluster, set[int]()
        # Jobs that leave the queue after that are in the log.
        present = {} if own is None else self._asked_again(own)
        for event in self.log.past():
            if isinstance(event, o.NodeSubmitted):
                heard.add(event.cluster)
                if event.node not in self.dag.nodes:
                    continue
                # The log of a large node is read in parts of its jobs.
                _, jobs = present.get(event.cluster, ("", 0))
                event = replace(event, jobs=max(jobs, event.jobs))
            yield event
        for cluster, (node, jobs) in present.items():
            if cluster not in heard and node in self.dag.nodes:
                yield o.NodeSubmitted(node=node, cluster=cluster, jobs=jobs)

    def _asked_again(self, own: int) -> dict[int, tuple[str, int]]:
        while True:
            try:
                return self.queue.clusters_of(own)
            except QueueAway as problem:
                _log.warning("%s", problem)
                time.sleep(1)

    def _look(self) -> int:
        """Pass events to the core; return the signal that orders to leave, or 0."""
        while (number := self.signals.take()) is not None:
            if number == signal.SIGUSR1:
                _log.info("the run is being removed")
                self._tell(o.RemovalAsked())
            elif number != signal.SIGCHLD:
                return number
        self._submits = 0
        self._carry_out()
        news = tuple(self.log.news())
        self.states.catch_up()
        for event in news:
            self._tell(event)
        for node, point, status in self.scripts.ended():
            _log.info("%s script of node %s ended with status %d", point, node, status)
            self._script_ended(o.ScriptEnded(node=node, point=point, status=status))
        now = self.clock.now()
        for node in [node for node, at in self._waits.items() if at <= now]:
            del self._waits[node]
            self._tell(o.WaitOver(node=node))
        if self.files.halt.exists() != self.run.halted:
            _log.info("halted" if not self.run.halted else "no longer halted")
            self._tell(o.HaltSet(halted=not self.run.halted))
        self._carry_out()
        self._publish(now)
        return 0

    def _script_ended(self, event: o.ScriptEnded) -> None:
        progress = self.run.nodes[event.node]
        script = progress.node.pre if event.point is ScriptPoint.PRE else None
        if script is not None and event.status != script.defer_status:
            self.states.pre_ended(event.node, good=event.status in (0, progress.node.pre_skip))
        if event.point is ScriptPoint.POST:
            self._posts[event.node] = progress.cluster, event.status
        self._tell(event)

    def _tell(self, event: o.Event) -> None:
        self._take(self.run.step(event, self.clock.now()))

    def _take(self, step: Step, *, past: bool = False) -> None:
        for taken in step.transitions:
            self.took(taken)
            # Earlier events are in the log already.
            if taken.row.source is NodeState.POSTRUN and not past:
                self._write_post(taken.node)
            self._changed = True
        self._todo += step.orders

    def took(self, taken: NodeTransition) -> None:
        """Log that a node has taken a row of its table."""
        progress, row = self.run.nodes[taken.node], taken.row
        telling = row.target in (NodeState.READY, NodeState.ERROR)
        details = f": {progress.details}" if telling and progress.details else ""
        cause = ", ".join(row.on)
        _log.info("node %s: %s -> %s (%s)%s", taken.node, row.source.name, row.target.name, cause, details)

    def _write_post(self, node: str) -> None:
        # A retried node has already forgotten its cluster and how the script ended.
        progress = self.run.nodes[node]
        cluster, status = self._posts.pop(node, (progress.cluster, progress.status))
        self.log.write_post(node, cluster, status)

    # -- orders ------------------------------------------------------------------------------------------

    def _carry_out(self) -> None:
        while self._todo:
            order = self._todo[0]
            if isinstance(order, o.SubmitNode) and not self._may_submit():
                return
            try:
                self._do(order)
            except QueueAway as problem:
                if not self._away:
                    _log.warning("%s; trying again", problem)
                self._away = True
                return
            self._away = False
            self._todo.pop(0)

    def _may_submit(self) -> bool:
        """Whether a node may be submitted now; if so, it counts as submitted."""
        now = self.clock.now()
        if self._submits >= self.submits_max or now < self._submit_at:
            return False
        self._submits, self._submit_at = self._submits + 1, now + self.submit_delay_s
        return True

    def _do(self, order: o.Order) -> None:
        match order:
            case o.RunScript(node=name, point=point, words=words):
                _log.info("node %s: %s script: %s", name, point, " ".join(words))
                if point is ScriptPoint.POST:
                    self._posts[name] = self.run.nodes[name].cluster, -signal.SIGKILL
                self.states.script_began(name, point)
                problem = self.scripts.start(self.dag.nodes[name], point, words)
                if problem:
                    _log.error("node %s: %s", name, problem)
            case o.StopScripts():
                self.scripts.stop()
            case o.SubmitNode(node=name, retry=retry):
                self._submit(name, retry)
            case o.RemoveJobs(cluster=cluster, reason=reason):
                _log.info("removing cluster %d: %s", cluster, reason)
                self.queue.remove(cluster, reason)
            case o.Wait(node=node, at=at):
                self._waits[node] = at
            case o.KeepRescue():
                self._keep_rescue()
            case o.KeepSavePoint(node=name, path=path):
                target = Path(path or f"{name}-{Path(self.files.primary).name}.save")
                self._write(target if len(target.parts) > 1 else Path("save_files") / target, rescue_text)
            case o.Finish():
                self._finish = order

    def _submit(self, name: str, retry: int) -> None:
        node = self.dag.nodes[name]
        if self.run.nodes[name].state is not NodeState.SUBMITTED:
            return
        try:
            submission = self.submitter.submission(self.run, node, retry, self.clock.now())
            cluster, jobs = self._submitted_before(name) or self.queue.submit(submission)
        except BadNode as problem:
            self._not_submitted(name, str(problem), final=True)
        except QueueRefused as problem:
            self._not_submitted(name, str(problem), final=False)
        except QueueAway:
            self._unanswered.add(name)
            raise
        else:
            _log.info("node %s: cluster %d, %d job(s)", name, cluster, jobs)
            self._clusters.add(cluster)
            self.states.submitted(name, cluster, tag_of(submission))
            self._tell(o.NodeSubmitted(node=name, cluster=cluster, jobs=jobs))
            if name in self._unanswered:
                self._unanswered.discard(name)
                for event in self.log.again(cluster):
                    self._tell(event)

    def _submitted_before(self, name: str) -> tuple[int, int] | None:
        """The cluster of a node whose submission was not answered, and its jobs, if there is one. Raises QueueAway."""
        own = self.submitter.cluster
        if name not in self._unanswered or own is None:
            return None
        # Jobs are either in the queue or, if they have left it, in the log by then.
        present = self.queue.clusters_of(own)
        found = self.log.submissions() | present
        fresh = [each for each, (node, _) in sorted(found.items()) if node == name and each not in self._clusters]
        return (fresh[0], found[fresh[0]][1]) if fresh else None

    def _tag_of(self, name: str) -> str:
        """The tag of a node that has not been submitted yet; its PRE script may have to write its description first."""
        try:
            return tag_of(self.submitter.submission(self.run, self.dag.nodes[name], 0, self.clock.now()))
        except BadNode:
            return ""

    def _not_submitted(self, name: str, text: str, *, final: bool) -> None:
        _log.error("node %s was not submitted: %s", name, text)
        self.states.refused(name)
        self._tell(o.SubmitRefused(node=name, text=text.splitlines()[0], final=final))

    # -- files ---------------------------------------------------------------------------------------------

    def _write(self, path: Path, text_of: Any) -> None:
        path = self.directory / path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text_of(self.run, self.clock.now()))
        except OSError as error:
            _log.error("%s is not written: %s", path, error.strerror)

    def _keep_rescue(self) -> None:
        number = min(self.rescues_max, self.files.last_rescue(self.rescues_max) + 1)
        path = self.files.rescue(number)
        _log.info("writing the rescue file %s", path)
        self._write(path, rescue_text)

    def _publish(self, now: float, *, at_once: bool = False) -> None:
        """Publish the progress of the run: its status file, its picture, its own job, its log."""
        file = self.dag.status_file
        if file is not None and (at_once or now >= self._status_at) and (self._changed or file.always):
            self._status_at = now + file.interval_s
            self._write(Path(file.path), lambda run, at: node_status_text(run, at, at + file.interval_s))
        if not (at_once or (self._changed and now >= self._told_at)):
            return
        self._told_at, self._changed = now + TELL_S, False
        for line in status_table(self.run):
            _log.info("%s", line)
        dot = self.dag.dot
        if dot is not None and (dot.update or at_once):
            include = read_text(str(self.directory / dot.include)) if dot.include else None
            path = self.directory / dot.path
            self._write(path if dot.overwrite else unused(path), lambda run, at: dot_text(run, at, include or ""))
        if self.submitter.cluster is not None:
            try:
                told = {**run_attributes(self.run), "DAG_InRecovery": False, "DAG_AdUpdateTime": int(now), **self.batch}
                self.queue.tell(self.submitter.cluster, told)
                self.batch = {}
            except (QueueAway, QueueRefused) as problem:
                _log.warning("%s", problem)

    def _end(self, finish: o.Finish) -> int:
        self._carry_out()
        now, code = self.clock.now(), final_exit(finish.exit_code)
        if code != finish.exit_code:
            _log.warning("exit status %d would restart the run; exiting with %d instead", finish.exit_code, code)
        self._publish(now, at_once=True)
        text = metrics_text(
            self.run,
            began_at=self._began_at,
            ended_at=now,
            exit_code=code,
            rescue=self.rescue,
            version=self.version,
        )
        self._write(self.files.metrics, lambda run, at: text)
        for _ in self.log.news():
            # The last events, those of the last POST script, go only to the job state log.
            pass
        self.states.catch_up()
        self.states.finished(code)
        self.files.lock.unlink(missing_ok=True)
        _log.info("the run is over: %s", STATUS_WORDS[finish.status])
        _log.info("**** condor_dagman (condor_DAGMAN) pid %d EXITING WITH STATUS %d", os.getpid(), code)
        return code
