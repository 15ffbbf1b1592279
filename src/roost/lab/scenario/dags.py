"""The DAGs of a scenario file: read, and run in the simulated world by the core of `roost.dag`.

A node's `JOB` line names a job of the scenario, which says how the node behaves, or has an inline description in the
DAG. Events of jobs are read from the event log that the queue writes, as in the process of a DAG.

What it does not do: write files (rescue, status, DOT and job state files), or run the job of the DAG itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from roost.base.records import dataclass, replace
from roost.config import Config
from roost.dag import BadDag, Dag, Node, NodeKind, ScriptPoint, read_dag
from roost.dag import orders as o
from roost.dag.configured import configured_settings
from roost.dag.run import Run
from roost.dag.states import NodeState
from roost.lab.inputs.tables import Table
from roost.lab.machines import LabError
from roost.lab.node_changes import NodeChange, dag_ended, ended_as, node_changes
from roost.lab.scenario.described import Template, names_of
from roost.lab.scenario.hooks import read_scripts
from roost.runtime.workflow.description import SubmitOptions, final_exit
from roost.runtime.workflow.nodes_log import event_of
from roost.runtime.workflow.submitting import Submitter
from roost.schedd.event_log import log
from roost.schedd.events import Action
from roost.schedd.jobs.local import UNIVERSES
from roost.sim.inputs.workload import Job
from roost.sim.machine.scripts import Script, Scripts
from roost.sim.world import World

DAG_KEYS: Final = ("file", "text", "scripts")
#: Statuses of a DAG, and states of its nodes.
STATUSES: Final = ("waiting", "running", "done", "failed", "removed")
NODE_STATES: Final = tuple(state.name.lower() for state in NodeState)
#: Delay until the process of a DAG finds an event in its log, s: the pool's messages about it have arrived by then.
LOOK_S: Final = 1.0
#: A submitter that needs no pool.
_TEXT_ONLY: Final = Submitter(
    cluster=None, nodes_log=Path("/"), owner="", uid_domain="", config=None, options=SubmitOptions()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioDag:
    """A DAG, and the templates of its nodes."""

    name: str
    dag: Dag
    #: Node to its job.
    templates: Mapping[str, Template]
    scripts: Mapping[str, Script]
    #: Whether a job of some node runs on the queue's machine.
    runs_locally: bool = False

    def notes(self) -> Iterator[str]:
        """Warnings about it, and the parts that have no effect here."""
        yield from (f"DAG {self.name}: {each}" for each in self.dag.warnings)
        unused = ", ".join(_without_effect(self.dag))
        if unused:
            why = "the lab writes no files of a run and has no job for it, so these have no effect"
            yield f"DAG {self.name}: {why}: {unused}"


def read_dags(tables: tuple[Table, ...], templates: Mapping[str, Template]) -> dict[str, ScenarioDag]:
    """The DAGs of the tables, where a later one replaces an earlier one of its name. Raises LabError."""
    found = {}
    for table in tables:
        dags = table.child("dags", "dags")
        for name in dags.values:
            found[name] = _dag(dags.child(name, f"DAG {name!r}"), name, templates)
    return found


def _dag(table: Table, name: str, templates: Mapping[str, Template]) -> ScenarioDag:
    table.known(DAG_KEYS)
    if ("file" in table) == ("text" in table):
        table.fail("name the DAG either by file = \"FILE\" or by text = '''…'''")
    folder = Path(table.file).parent
    file = table.text("file", f"{name}.dag")

    def read(path: str) -> str | None:
        if "text" in table and path == file:
            return table.text("text", "")
        try:
            return (folder / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    try:
        dag = read_dag((file,), read)
    except BadDag as error:
        table.fail(f"the DAG cannot be used: {error}", "file" if "file" in table else "text")
    if dag.config:
        table.fail("CONFIG has no effect in the lab; set the knobs by settings")
    nodes = {node.name: _template_of(table, node, templates) for node in dag.nodes.values()}
    run = ScenarioDag(name=name, dag=dag, templates=nodes, scripts=read_scripts(table))
    programs = {
        program_of(script.words) for node in dag.nodes.values() for script in (node.pre, node.post, node.held) if script
    }
    for program in run.scripts:
        if program not in programs:
            table.fail(
                f"no node has the script {program!r}; the scripts are: {', '.join(sorted(programs)) or 'none'}",
                "scripts",
            )
    beside = False
    for node in dag.nodes.values():
        try:
            jobs = jobs_of_node(run, Run(dag, configured_settings(None, {})), node, 0)
        except LabError as error:
            table.fail(f"node {node.name}: {error}")
        beside = beside or any(each.get("JobUniverse") in UNIVERSES for each in jobs)
    return replace(run, runs_locally=beside)


def _without_effect(dag: Dag) -> Iterator[str]:
    """The commands of a DAG that the lab ignores."""
    nodes = dag.nodes.values()
    scripts = [script for node in nodes for script in (node.pre, node.post, node.held) if script]
    found = {
        "DIR": any(node.directory for node in nodes),
        "DOT": dag.dot,
        "ENV": dag.environment_kept or dag.environment_set,
        "JOBSTATE_LOG": dag.job_state_log,
        "NODE_STATUS_FILE": dag.status_file,
        "SAVE_POINT_FILE": any(node.save_point is not None for node in nodes),
        "SCRIPT DEBUG": any(script.debug_file for script in scripts),
        "SET_JOB_ATTR": dag.attributes,
    }
    return (name for name, used in found.items() if used)


def _template_of(table: Table, node: Node, templates: Mapping[str, Template]) -> Template:
    if node.kind is NodeKind.SUBDAG:
        table.fail(f"node {node.name}: the lab does not run a DAG within a DAG; use SPLICE")
    if node.text is not None:
        behaves = templates.get(node.name)
        given, truth = ({}, {}) if behaves is None else (behaves.given, behaves.truth)
        return Template(given=given, truth=truth, text=node.text, file=f"the description of node {node.name}")
    if node.submit not in templates:
        table.fail(f"node {node.name}: there is no job {node.submit!r}; describe it in [jobs.{node.submit!r}]")
    if templates[node.submit].text is None and node.variables:
        table.fail(f"node {node.name}: VARS are for submit descriptions; give the job {node.submit!r} a description")
    return templates[node.submit]


def jobs_of_node(
    flow: ScenarioDag, run: Run, node: Node, retry: int, submitter: Submitter = _TEXT_ONLY
) -> list[dict[str, Any]]:
    """The jobs of a node, as described, for attempt number `retry`. Raises LabError."""
    before, after = submitter.lines_before(run, node, retry), submitter.lines_after(run, node)
    made = flow.templates[node.name].jobs(tuple(before), tuple(after), submitter.config)
    more = {
        "DAGNodeName": node.name,
        "DAGParentNodeNames": ",".join(run.dag.parents[node.name]),
        "DAGManNodesLog": str(submitter.nodes_log),
    }
    found = []
    for each in made:
        codes = each.get("exit_code") or (0,)
        described = {**each, **more, "exit_code": codes[min(retry, len(codes) - 1) :]}
        if node.priority and flow.templates[node.name].text is None:
            described["JobPrio"] = node.priority
        found.append(described)
    return found


def submitter_of(nodes_log: Path, config: Config) -> Submitter:
    """The submitter that creates the jobs of nodes with this log under a configuration."""
    appends = config.get_bool("DAGMAN_DEFAULT_APPEND_VARS", False)
    return replace(_TEXT_ONLY, nodes_log=nodes_log, config=config, append_variables=appends)


def names_at_try(dag: str, node: str, count: int, known: Iterable[str]) -> list[str]:
    """The names of `count` jobs of a node, with a number for later attempts; `known` are all names so far."""
    made = [f"{dag}.{each}" for each in names_of(node, count)]
    tries = sum(each.partition("/")[0] == made[0] for each in known)
    return [f"{each}/{tries + 1}" for each in made] if tries else made


def program_of(words: tuple[str, ...]) -> str:
    """The name by which a scenario knows a script."""
    return words[0].rpartition("/")[2]


class Flow:
    """A running DAG."""

    def __init__(self, flow: ScenarioDag, world: World, config: Callable[[], Config], make: Any) -> None:
        self.flow = flow
        #: The current configuration of the pool.
        self._config = config
        self._log = Path(f"{flow.name}.dag.nodes.log")
        self.run = Run(flow.dag, configured_settings(None, {}))
        self._submitter = _TEXT_ONLY
        #: Its changes and those of its nodes, in the order of time.
        self.changes: list[NodeChange] = []
        self.status = "waiting"
        self.exit_code: int | None = None
        self._world = world
        #: Creates the jobs of a node from their description.
        self._make = make
        self._scripts = Scripts(flow.scripts)
        #: Scripts of another generation were killed.
        self._generation = 0
        #: Cluster to the queue's names of its jobs.
        self._jobs: dict[int, list[str]] = {}
        self._reader = log.LogReader()
        self._read = 0
        self._looks = False

    def begin(self, now: float) -> None:
        """Submit it. Raises LabError if it was submitted before."""
        if self.status != "waiting":
            raise LabError(f"the DAG {self.flow.name} has been submitted before; describe another in [dags.NAME]")
        config = self._config()
        self.run = Run(self.flow.dag, configured_settings(config, {}))
        self._submitter = submitter_of(self._log, config)
        self.status = "running"
        self._world.queue.watchers.append(self._stepped)
        self._step(o.Begun(), now)

    def remove(self, now: float) -> None:
        """Remove it. Raises LabError if it is not running."""
        if self.status != "running":
            raise LabError(
                f"the DAG {self.flow.name} is {self.status}, and cannot be removed; remove it while it is running"
            )
        self._step(o.RemovalAsked(), now)

    def node(self, name: str) -> str:
        """The state of a node."""
        return self.run.nodes[name].state.name.lower()

    # -- what happens ------------------------------------------------------------------------------------

    def _stepped(self, now: float) -> None:
        lines = self._world.queue.logs.get(str(self._log), [])
        if len(lines) > self._read and not self._looks:
            self._looks = True
            self._world.engine.at(now + LOOK_S, self._look)

    def _look(self, now: float) -> None:
        self._looks = False
        lines = self._world.queue.logs.get(str(self._log), [])
        fresh, self._read = lines[self._read :], len(lines)
        for logged in self._reader.feed("".join(fresh).encode()):
            event = event_of(logged)
            if event is not None:
                self._step(event, now)

    def _step(self, event: o.Event, now: float) -> None:
        step = self.run.step(event, now)
        self.changes += node_changes(self.flow.name, step.transitions, now)
        for order in step.orders:
            self._do(order, now)

    def _do(self, order: o.Order, now: float) -> None:
        at = self._world.engine.at
        match order:
            case o.RunScript(node=node, point=point, words=words):
                script, status = self._scripts.run(program_of(words))
                at(now + script.takes_s, partial(self._script_ended, self._generation, node, point, status))
            case o.StopScripts():
                self._generation += 1
            case o.SubmitNode(node=node, retry=retry):
                # The submission happens after this step.
                at(now, partial(self._submit, node, retry))
            case o.RemoveJobs(cluster=cluster, reason=reason):
                for name in self._jobs.get(cluster, []):
                    self._world.queue.act(Action.REMOVE, name, now, reason=reason)
            case o.Wait(node=node, at=due):
                at(max(now, due), lambda then: self._step(o.WaitOver(node=node), then))
            case o.Finish(exit_code=code, status=status):
                self.exit_code = final_exit(code)
                self.status = ended_as(status, self.exit_code)
                self.changes.append(dag_ended(self.flow.name, status, self.exit_code, now))

    def _script_ended(self, generation: int, node: str, point: ScriptPoint, status: int, now: float) -> None:
        if generation == self._generation:
            self._step(o.ScriptEnded(node=node, point=point, status=status), now)

    def _submit(self, name: str, retry: int, now: float) -> None:
        if self.run.nodes[name].state is not NodeState.SUBMITTED:
            return
        try:
            described = jobs_of_node(self.flow, self.run, self.flow.dag.nodes[name], retry, self._submitter)
        except LabError as error:
            self._step(o.SubmitRefused(node=name, text=str(error).splitlines()[0], final=True), now)
            return
        jobs: list[Job] = self._make(self.flow.name, name, described, now)
        refusal = self._world.queue.submit(jobs, now)
        if refusal:
            self._step(o.SubmitRefused(node=name, text=refusal, final=False), now)
            return
        cluster = self._world.queue.ids[jobs[0].name].cluster
        self._jobs[cluster] = [job.name for job in jobs]
        self._step(o.NodeSubmitted(node=name, cluster=cluster, jobs=len(jobs)), now)


def dag_misses(
    flow: Flow, status: str | None, exit_code: int | None, nodes: tuple[tuple[str, str], ...]
) -> Iterator[tuple[str, str]]:
    """What was expected of a DAG and what was found instead, one line each."""
    name = flow.flow.name
    if status is not None and status != flow.status:
        yield f"DAG {name} {status}", f"DAG {name} {flow.status}"
    if exit_code is not None and exit_code != flow.exit_code:
        yield f"DAG {name}: exit status {exit_code}", f"DAG {name}: exit status {flow.exit_code}"
    for node, wanted in nodes:
        found, details = flow.node(node), flow.run.nodes[node].details
        if wanted != found:
            yield f"node {name}.{node} {wanted}", f"node {name}.{node} {found}" + (f": {details}" if details else "")
