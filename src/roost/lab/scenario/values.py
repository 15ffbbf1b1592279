"""The data of scenarios: events on one or more machines over time, and the expected results of their policy.

Plain values only. `file` reads them from TOML, `run` runs them;
docs/reference/scenario-files.md describes the form of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd
from roost.config import Setting
from roost.lab.machines import Hardware, LabError
from roost.lab.scenario.sensors import ScenarioSensors
from roost.model.cell_requests import PREDECESSORS
from roost.schedd.jobs.local import UNIVERSES
from roost.sim.cell import CellPlan
from roost.sim.inputs.owners import OwnerTrace
from roost.sim.inputs.workload import Job, Truth, make_job
from roost.sim.machine.scripts import Script
from roost.startd.idleness import Connections

if TYPE_CHECKING:
    from roost.lab.scenario.dags import ScenarioDag
    from roost.lab.scenario.described import Template

#: The knob that says as whom programs of a cell may run alongside the job's owner.
SCRIPT_USERS: Final = "STARTER_SCRIPT_USERS"
#: Default name of the only machine, and default user of jobs.
MACHINE: Final = "machine"
OWNER: Final = "ada"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExpectation:
    """What is expected of a job."""

    job: str
    #: Its place in the queue; None where it does not matter.
    status: str | None = None
    #: How often its program was started, and exited by itself; None if it does not matter.
    starts: int | None = None
    exits: int | None = None
    #: The events of its log, in order, except those that only report measurements or file transfers; None if they do
    #: not matter.
    log: tuple[str, ...] | None = None
    #: Attribute or expression, evaluated on its ad, to the expected value.
    values: tuple[tuple[str, Any], ...] = ()
    #: Expectations in Grid Engine's terms; None if they do not matter.
    cell: CellJobExpectation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellJobExpectation:
    """What is expected of a job in a pool with a cell; None for what does not matter."""

    #: Letters of `qstat`; "" for a job that has left.
    state: str | None = None
    #: Its queue instances, each with ``=SLOTS`` if it has several slots; empty for none.
    queues: tuple[str, ...] | None = None
    #: Letters of what holds it.
    hold: str | None = None
    #: The code `failed` of its last run.
    failed: int | None = None
    #: Sentences among the reasons why it waits; empty if there must be none.
    reasons: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueExpectation:
    """What is expected of a queue instance; None for what does not matter."""

    queue: str
    #: Letters of `qstat -f`, in any order.
    state: str | None = None
    #: Slots in use.
    used: int | None = None
    #: Parts of the reasons why it accepts no jobs.
    reasons: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DagExpectation:
    """What is expected of a DAG."""

    dag: str
    #: None where it does not matter.
    status: str | None = None
    exit_code: int | None = None
    #: Node to its state.
    nodes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What is expected at one instant, or from then on for a while."""

    at_s: float
    #: Line of the file.
    line: int
    #: The machine's name; "" for the first.
    machine: str = ""
    #: As in the slot's name: "1", or "1_2" for a dynamic slot.
    slot: str = "1"
    #: A pair, or only a state; None where it does not matter.
    pair: str | None = None
    #: How long the pair must last, s.
    for_s: float = 0.0
    #: The job that runs; "" for none; None where it does not matter.
    job: str | None = None
    #: Number and reason of the last transition; None where they do not matter.
    transition: str | None = None
    reason: str | None = None
    #: State of the job as its starter sees it; "" for no starter; None where it does not matter.
    starter: str | None = None
    jobs: tuple[JobExpectation, ...] = ()
    dags: tuple[DagExpectation, ...] = ()
    #: The job with which expressions are evaluated, instead of the current one.
    against: str | None = None
    #: Hook, prolog or epilog to how often it has run by then.
    hooks: tuple[tuple[str, int], ...] = ()
    #: Policy expression to its expected value.
    values: tuple[tuple[str, Any], ...] = ()
    queues: tuple[QueueExpectation, ...] = ()
    #: The jobs in the queue, one line each: name, state, queue instance, slots, task; None if they do not matter.
    qstat: tuple[str, ...] | None = None


class ScenarioCommand(StrEnum):
    """A command to the machine, or about a job."""

    UPDATE = "update"
    VACATE = "vacate"
    HOLD = "hold"
    RELEASE = "release"
    REMOVE = "remove"
    SUSPEND = "suspend"
    CONTINUE = "continue"
    VACATE_JOB = "vacate_job"
    CHECKPOINT = "checkpoint"
    DRAIN = "drain"
    CANCEL_DRAIN = "cancel_drain"
    SHUTDOWN = "shutdown"
    RESTART = "restart"
    RECONFIG = "reconfig"
    MATCH = "match"
    QUEUE = "queue"
    DAG = "dag"
    REMOVE_DAG = "remove_dag"
    QMOD = "qmod"
    QCONF = "qconf"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledAction:
    """An order, at one instant."""

    at_s: float
    line: int
    order: ScenarioCommand
    #: The machine's name; "" for the first.
    machine: str = ""
    slot: str = "1"
    #: The job concerned; "" for an order to the machine.
    job: str = ""
    #: The mode, such as "graceful" or "fast"; "" if there is only one.
    how: str = ""
    #: New figures of the running job.
    attributes: ClassAd | None = None
    #: Knobs that change.
    settings: tuple[Setting, ...] = ()
    #: The user who gives the order; "" for an administrator.
    user: str = ""
    #: START while draining, and what happens after the drain; "" for the default.
    start: str = ""
    then: str = ""

    def no_slot(self, slots: Iterable[str]) -> LabError:
        """The error of an order to a slot that does not exist; `slots` are the machine's slots."""
        there = ", ".join(slots) or "none"
        return LabError(f"there is no slot {self.slot} when {self.order} is ordered; the machine's slots are: {there}")

    def no_job(self) -> LabError:
        """The error of an order about a job that has not been submitted."""
        return LabError(f"the job {self.job} has not been submitted when {self.order} is ordered; order it later")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioMachine:
    """A machine of a scenario, and the actions of its owner."""

    name: str = MACHINE
    hardware: Hardware = Hardware()
    #: Knobs of this machine, set after those of the scenario.
    settings: tuple[Setting, ...] = ()
    #: When a key was last pressed before the beginning: on its own keyboard, or anywhere, s.
    idle_s: float = 7200.0
    remote_idle_s: float = 7200.0
    presses: tuple[tuple[float, float], ...] = ()
    remote_presses: tuple[tuple[float, float], ...] = ()
    loads: tuple[tuple[float, float], ...] = ()
    #: Times with the attributes of the machine from then on.
    attributes: tuple[tuple[float, Mapping[str, Any]], ...] = ()

    def sensors(self, start: float, connected: Connections) -> ScenarioSensors:
        """Its sensors, for a scenario that begins at `start`, epoch s."""
        loads = tuple(sorted((start + at, load) for at, load in self.loads))
        console = _trace(self.presses, loads, start, self.idle_s)
        keyboard = _trace((*self.presses, *self.remote_presses), loads, start, min(self.idle_s, self.remote_idle_s))
        return ScenarioSensors(
            owner=keyboard,
            console=console,
            connected=connected,
            changes=tuple((start + at, ClassAd(given)) for at, given in self.attributes),
        )


class Submitted(NamedTuple):
    """A job that is submitted or can be fetched."""

    at_s: float
    name: str
    described: Mapping[str, Any]
    #: Its place among the jobs that are submitted together, as one cluster.
    proc: int = 0
    #: The jobs that must leave the queue first (`-hold_jid`).
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario."""

    name: str
    file: str
    line: int
    configs: tuple[str, ...]
    #: Text of the policy; None if files are given.
    policy: str | None
    #: Knobs set after the policy.
    settings: tuple[Setting, ...] = ()
    #: The Grid Engine cell of the pool; None if there is none.
    cell: CellPlan | None = None
    machines: tuple[ScenarioMachine, ...] = (ScenarioMachine(),)
    #: Hooks, prologs and epilogs by the names of their knobs.
    hooks: Mapping[str, Script] = field(default_factory=dict)
    #: Seconds since Monday 00:00 at which it begins.
    begins_s: float = 0.0
    cycle_s: float = 5.0
    #: Jobs that are submitted, and those that a hook returns when a machine fetches work.
    jobs: tuple[Submitted, ...] = ()
    fetched: tuple[Submitted, ...] = ()
    dags: Mapping[str, ScenarioDag] = field(default_factory=dict)
    #: Described jobs, for expectations about them.
    described: Mapping[str, Mapping[str, Any]]
    #: The templates of these jobs: submit descriptions depend on the configuration.
    templates: Mapping[str, Template] = field(default_factory=dict)
    actions: tuple[ScheduledAction, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    #: Parts of its file that have no effect.
    notes: tuple[str, ...] = ()

    @property
    def end_s(self) -> float:
        """When everything that matters is over, s since its beginning."""
        times = [each.at_s + each.for_s for each in self.expectations] + [each.at_s for each in self.actions]
        return max([*times, *(each.at_s for each in self.jobs)], default=0.0) + 1

    @property
    def hardware(self) -> Hardware:
        """The size of its first machine."""
        return self.machines[0].hardware

    @property
    def unreplayed(self) -> str:
        """Why it cannot be replayed on real daemons; "" if it can."""
        if self.cell is not None and self.cell.groups:
            return "in a replay, operating system groups are those of this machine"
        if self.cell is not None and any(each.name == SCRIPT_USERS and not each.value for each in self.settings):
            return "in a replay, jobs and programs of the cell can run only as the user who runs the replay"
        return "a replay does not control the time of jobs that run on the queue's machine" if self.runs_locally else ""

    @property
    def runs_locally(self) -> bool:
        """Whether some job is of the scheduler or local universe, and runs on the queue's machine."""
        nodes = any(dag.runs_locally for dag in self.dags.values())
        return nodes or any(each.described.get("JobUniverse") in UNIVERSES for each in self.jobs)

    def refused(self, why: str) -> LabError:
        """The error of a scenario that cannot be run, with its place."""
        return LabError(f"{self.file}:{self.line}: scenario {self.name!r}: {why}")

    def failed(self, action: ScheduledAction, error: LabError) -> LabError:
        """The error of an order, with its place, unless it names one in this file itself."""
        text = str(error)
        return error if text.startswith(f"{self.file}:") else LabError(f"{self.file}:{action.line}: {text}")

    def submitted(self, start: float) -> list[Job]:
        """Its jobs."""
        return _jobs(self.jobs, start, 1)

    def brought(self, start: float) -> list[Job]:
        """Its jobs that hooks return."""
        return _jobs(self.fetched, start, sum(not each.proc for each in self.jobs) + 1)


def _jobs(found: tuple[Submitted, ...], start: float, first: int) -> list[Job]:
    number, jobs, numbers = first - 1, [], dict[str, int]()
    for each in found:
        number += not each.proc
        numbers[each.name] = number
        described = each.described
        if each.after:
            after = dict.fromkeys(str(numbers[name]) for name in each.after)
            described = {**described, PREDECESSORS: ",".join(after)}
        jobs.append(job_of(described, number, start + each.at_s, _kind(each.described), each.proc))
    return jobs


def _kind(described: Mapping[str, Any]) -> str:
    """The kind of a job: a queue runs jobs of one kind one after another on one claim if policy sees no difference."""
    return repr(sorted((key, str(value)) for key, value in described.items() if key not in TRUTHS))


def _trace(
    presses: tuple[tuple[float, float], ...], loads: tuple[tuple[float, float], ...], start: float, idle_s: float
) -> OwnerTrace:
    present: list[tuple[float, float]] = []
    for begin, end in sorted((start + begin, start + end) for begin, end in presses):
        if present and begin <= present[-1][1]:
            present[-1] = (present[-1][0], max(end, present[-1][1]))
        else:
            present.append((begin, end))
    return OwnerTrace(present=tuple(present), loads=loads, last_key_before=start - idle_s)


#: Keys of a job that are not attributes of its ad.
TRUTHS = ("run", "checkpoints", "farewell", "stubborn", "memory", "disk", "exit_code")


def job_of(described: Mapping[str, Any], number: int, at: float, kind: str, proc: int = 0) -> Job:
    """A job from its description, in which durations are in seconds."""
    given = {key: value for key, value in described.items() if key not in TRUTHS}
    truth = Truth(
        run_s=float(described.get("run", 3600.0)),
        checkpoints=bool(described.get("checkpoints", False)),
        farewell_s=float(described.get("farewell", 5.0)),
        ignores_soft_kill=bool(described.get("stubborn", False)),
        memory=tuple(described.get("memory", ())),
        disk_kb=int(described.get("disk", 512)),
        exit_code=int((codes := described.get("exit_code") or (0,))[-1]),
        exit_codes=tuple(codes),
    )
    job = make_job(number, str(given.get("Owner", OWNER)), at, truth, given, kind)
    if not proc:
        return job
    job.ad["ProcId"], job.ad["GlobalJobId"] = proc, f"sim#{number}.{proc}"
    return replace(job, name=f"{number}.{proc}")
