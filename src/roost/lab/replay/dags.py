"""The DAGs of a replay: the real DAG process, except that it polls in simulated time.

Its log is the file that the real queue writes, and its scripts are real processes that end when the scenario says so.
It works in its own directory, and writes no other files, whatever the DAG says: those of the lab's user stay untouched.
As in the simulation, the run has no job of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, cast

from roost.base.records import dataclass, replace
from roost.classad import ClassAd
from roost.config import Config
from roost.dag import Dag, Node, Script, ScriptPoint
from roost.dag.configured import configured_settings
from roost.dag.run import NodeTransition, Run
from roost.lab.machines import LabError
from roost.lab.node_changes import NodeChange, dag_ended, node_changes
from roost.lab.replay.driven_loop import DrivenClock
from roost.lab.replay.jobs import StandIns
from roost.lab.scenario.dags import ScenarioDag, jobs_of_node, names_at_try, program_of, submitter_of
from roost.lab.scenario.values import job_of
from roost.runtime.home import Home
from roost.runtime.workflow.files import RunFiles
from roost.runtime.workflow.process import LOOK_S, Process, QueueRefused
from roost.runtime.workflow.scripts import Scripts
from roost.runtime.workflow.signals import Signals
from roost.runtime.workflow.submitting import BadNode, Submitter
from roost.schedd import events as ev
from roost.schedd.identifiers import JobId
from roost.schedd.submit import Submission
from roost.sim.inputs.workload import Job

_log = logging.getLogger("roost.lab.replay")


class DagPool(Protocol):
    """The interface of the pool for a DAG."""

    home: Home
    clock: DrivenClock
    jobs: StandIns
    #: Job of the scenario to its id.
    ids: dict[str, JobId]
    node_changes: list[NodeChange]

    @property
    def flows(self) -> Mapping[str, object]:
        """The DAGs that were started."""
        ...

    def submit(self, jobs: dict[str, Job]) -> str:
        """Submit the jobs of a cluster by name, and return why the queue refused them, "" if it did not."""

    def act(self, action: ev.Action, jobs: tuple[JobId, ...], *, reason: str = "") -> None:
        """Perform an action on jobs in the queue."""


class ReplayFlow:
    """A running DAG."""

    def __init__(self, pool: DagPool, flow: ScenarioDag, config: Config) -> None:
        self.flow = flow
        self._pool = pool
        directory = pool.home.path / f"dag.{len(pool.flows)}"
        directory.mkdir(mode=0o700)
        files = RunFiles(primary=str(directory / "run.dag"))
        self.scripts = _Scripts(directory, pool.jobs, pool.jobs.book(flow.scripts))
        self._signals = _Ordered()
        #: Set when something has happened that the process may notice.
        self._stirred = asyncio.Event()
        self.scripts.ended_one = self.stir
        self.process = _Process(
            files=files,
            dag=_without_files(flow.dag),
            settings=configured_settings(config, {}),
            queue=_Queue(pool, flow),
            submitter=_Nodes.of(flow, submitter_of(files.nodes_log, config)),
            version="",
            directory=directory,
            clock=pool.clock,
            scripts=self.scripts,
            signals=self._signals,
            of_flow=self,
        )
        self._task = asyncio.create_task(self._work(), name=f"DAG {flow.name}")

    def remove(self) -> None:
        """Remove it."""
        self._signals.order(signal.SIGUSR1)
        self.stir()

    def stir(self) -> None:
        """Wake the process, because something may have happened."""
        self._stirred.set()

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self._task.done()

    async def close(self) -> None:
        """End it and its scripts."""
        self._task.cancel()
        await asyncio.wait([self._task])
        self.scripts.close()

    def took(self, taken: NodeTransition) -> None:
        """A node has taken a row of its table."""
        self._pool.node_changes += node_changes(self.flow.name, (taken,), self._pool.clock.now())

    async def _work(self) -> None:
        try:
            self.process.begin(recovering=False)
            while (code := self.process.look()) is None:
                await self._pause()
        except Exception:
            _log.critical("internal error: DAG %s", self.flow.name, exc_info=True)
        else:
            status, now = self.process.run.status, self._pool.clock.now()
            self._pool.node_changes.append(dag_ended(self.flow.name, status, code, now))

    async def _pause(self) -> None:
        """Wait for the next poll; polls are skipped while nothing happens."""
        if not self._stirred.is_set():
            until = self.process.due
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if until is None else until - self._pool.clock.now()):
                    await self._stirred.wait()
        self._stirred.clear()
        await asyncio.sleep(LOOK_S)


@dataclass(slots=True, kw_only=True)
class _Process(Process):
    """The process of a run, which reports what its nodes do."""

    of_flow: ReplayFlow

    @property
    def due(self) -> float | None:
        """When the next timer fires, epoch s; None for never."""
        return min(self._waits.values(), default=None)

    def took(self, taken: NodeTransition) -> None:
        """Report that a node has taken a row of its table."""
        Process.took(self, taken)
        self.of_flow.took(taken)


class _Ordered(Signals):
    """Signals that the scenario sends."""

    def __init__(self) -> None:
        self._orders: deque[int] = deque()

    def order(self, number: int) -> None:
        """Send one."""
        self._orders.append(number)

    def listen(self) -> None:
        """Signals of this process are not used."""

    def take(self) -> int | None:
        """The next one; None for none."""
        return self._orders.popleft() if self._orders else None


# -- jobs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """The jobs of a node, in place of a submission's clusters."""

    node: str
    described: list[dict[str, Any]]

    @property
    def clusters(self) -> tuple[_Made]:
        """The only one."""
        return (self,)

    def ads(self) -> Iterator[ClassAd]:
        """No ads: no job has a tag for a job state log."""
        return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nodes(Submitter):
    """How nodes are submitted: their jobs are those of the scenario."""

    flow: ScenarioDag
    reader: Submitter

    @classmethod
    def of(cls, flow: ScenarioDag, reader: Submitter) -> _Nodes:
        """`reader` reads the submit descriptions of the DAG `flow`."""
        return cls(
            cluster=None,
            nodes_log=reader.nodes_log,
            owner=reader.owner,
            uid_domain=reader.uid_domain,
            config=reader.config,
            options=reader.options,
            flow=flow,
            reader=reader,
        )

    def submission(self, run: Run, node: Node, retry: int, now: float) -> Submission:
        """The jobs of a node. Raises BadNode."""
        try:
            described = jobs_of_node(self.flow, run, node, retry, self.reader)
        except LabError as error:
            raise BadNode(str(error)) from None
        return cast("Submission", _Made(node=node.name, described=described))


class _Queue:
    """The queue of the replay, as the process of a run needs it."""

    def __init__(self, pool: DagPool, flow: ScenarioDag) -> None:
        self._pool = pool
        self._flow = flow
        #: Names of jobs, including those that the queue refused.
        self._names: list[str] = []
        self._counts: dict[int, int] = {}

    def submit(self, submission: Submission) -> tuple[int, int]:
        """Cluster and number of jobs. Raises QueueRefused."""
        pool, made = self._pool, cast("_Made", submission)
        number, now = pool.jobs.next_number, pool.clock.now()
        names = names_at_try(self._flow.name, made.node, len(made.described), self._names)
        self._names += names
        jobs: dict[str, Job] = {
            name: job_of(each, number, now, name, proc)
            for proc, (name, each) in enumerate(zip(names, made.described, strict=True))
        }
        pool.jobs.add(jobs.values())
        refusal = pool.submit(jobs)
        if refusal:
            raise QueueRefused(refusal)
        cluster = pool.ids[names[0]].cluster
        self._counts[cluster] = len(jobs)
        return cluster, len(jobs)

    def remove(self, cluster: int, reason: str) -> None:
        """Remove a cluster."""
        jobs = tuple(JobId(cluster, proc) for proc in range(self._counts[cluster]))
        self._pool.act(ev.Action.REMOVE, jobs, reason=reason)

    def tell(self, cluster: int, attributes: dict[str, Any]) -> None:
        """The run has no job of its own."""

    def clusters_of(self, run_cluster: int) -> dict[int, tuple[str, int]]:
        """The run has no job of its own."""
        return {}


# -- scripts -------------------------------------------------------------------------------------------------------


class _Scripts(Scripts):
    """Scripts that behave as the scenario says; the loop is woken when one has ended."""

    def __init__(self, directory: Path, jobs: StandIns, book: int) -> None:
        super().__init__(directory)
        self._jobs = jobs
        self._book = book
        #: File descriptors that become readable when a process ends.
        self._ends: set[int] = set()
        #: Called when one of them has ended.
        self.ended_one: Callable[[], None] = lambda: None

    def place(self, node: Node) -> Path:
        """The directory in which they run, away from the user's files."""
        return self.directory

    def program(self, word: str, directory: Path) -> str:
        """The stand-in for a program."""
        path = directory / f"script.{program_of((word,))}"
        if not path.exists():
            self._jobs.script(path, program_of((word,)), self._book)
        return str(path)

    def start(self, node: Node, point: ScriptPoint, words: tuple[str, ...]) -> str:
        """Start one, and return why if it cannot be started."""
        problem = super().start(node, point, words)
        if not problem:
            end = os.pidfd_open(self._running[-1].process.pid)
            self._ends.add(end)
            asyncio.get_running_loop().add_reader(end, self._ended, end)
        return problem

    def under_way(self) -> str:
        """What is known to be in progress; "" for nothing."""
        for each in self._running:
            if each.process.poll() is None and not self._jobs.works(each.process.pid):
                return f"the {each.point} script of node {each.node}"
        return ""

    def close(self) -> None:
        """Kill all remaining ones."""
        self.stop()
        for end in list(self._ends):
            self._ended(end)

    def _ended(self, end: int) -> None:
        self._ends.discard(end)
        self.ended_one()
        asyncio.get_running_loop().remove_reader(end)
        os.close(end)


def _without_files(dag: Dag) -> Dag:
    """A DAG that writes no files."""
    nodes = {
        name: replace(
            node,
            pre=_without_output(node.pre),
            post=_without_output(node.post),
            held=_without_output(node.held),
            save_point=None,
        )
        for name, node in dag.nodes.items()
    }
    return replace(dag, nodes=nodes, status_file=None, job_state_log="", dot=None)


def _without_output(script: Script | None) -> Script | None:
    return None if script is None else replace(script, debug_file="")


__all__: Final = ["ReplayFlow"]
