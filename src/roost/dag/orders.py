"""Events and orders of a DAG run."""

from __future__ import annotations

from roost.base.records import dataclass
from roost.dag.plan import ScriptPoint
from roost.dag.states import RunStatus


class _Event:
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun(_Event):
    """The run begins, or continues after its process was killed."""

    #: Events before that, in order.
    past: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEnded(_Event):
    """A script has ended; a negative status is a signal."""

    node: str
    point: ScriptPoint
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSubmitted(_Event):
    """The queue has accepted a node's jobs."""

    node: str
    cluster: int
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitRefused(_Event):
    """The queue refused a node's jobs."""

    node: str
    text: str
    #: Whether a retry is pointless because the description is wrong.
    final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRan(_Event):
    """A job has started."""

    cluster: int
    proc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWaits(_Event):
    """A job is idle again."""

    cluster: int
    proc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHeld(_Event):
    """A job is on hold."""

    cluster: int
    proc: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded(_Event):
    """A job has left the queue by itself; a negative status is a signal."""

    cluster: int
    proc: int
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRemoved(_Event):
    """A job was removed from the queue."""

    cluster: int
    proc: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOver(_Event):
    """The time of a `Wait` has passed."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HaltSet(_Event):
    """Starting of new nodes was halted or resumed."""

    halted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalAsked(_Event):
    """Removal of the run was requested."""


Event = (
    Begun
    | ScriptEnded
    | NodeSubmitted
    | SubmitRefused
    | JobRan
    | JobWaits
    | JobHeld
    | JobEnded
    | JobRemoved
    | WaitOver
    | HaltSet
    | RemovalAsked
)


class _Order:
    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScript(_Order):
    """Run a script of a node; `words` are its program and its arguments."""

    node: str
    point: ScriptPoint
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopScripts(_Order):
    """Kill the running scripts; no events of them follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitNode(_Order):
    """Submit a node's jobs to the queue."""

    node: str
    retry: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveJobs(_Order):
    """Remove a cluster from the queue."""

    cluster: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(_Order):
    """Send `WaitOver` for a node at a time, epoch s."""

    node: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRescue(_Order):
    """Write a rescue file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepSavePoint(_Order):
    """Write a rescue file of the run as it is when a node starts; "" for the file that is named after the node."""

    node: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish(_Order):
    """The run is over."""

    exit_code: int
    status: RunStatus


Order = RunScript | StopScripts | SubmitNode | RemoveJobs | Wait | KeepRescue | KeepSavePoint | Finish
