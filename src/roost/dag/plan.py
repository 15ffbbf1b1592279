"""The contents of DAG files as data: nodes, what each runs, their order, and settings of the whole.

Names are DAGMan's. A plan is what was written; `roost.dag.run` has the state of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from roost.base.diagnostics import Diagnostic
from roost.base.records import dataclass, field
from roost.config import Span


class NodeKind(StrEnum):
    """What a node is for."""

    JOB = "JOB"
    #: Another DAG, run by its own process.
    SUBDAG = "SUBDAG"
    #: Runs when all others have ended, whatever their results.
    FINAL = "FINAL"
    #: Runs before all others, which wait until its job runs.
    PROVISIONER = "PROVISIONER"
    #: Runs alongside the others, which do not wait for it, and is removed at the end.
    SERVICE = "SERVICE"


class ScriptPoint(StrEnum):
    """When a script runs, on the machine of the queue."""

    PRE = "PRE"
    POST = "POST"
    #: When the node's job goes on hold.
    HOLD = "HOLD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A program that runs before or after a node's job."""

    words: tuple[str, ...]
    #: Exit status after which it runs again in `defer_s`; None for none.
    defer_status: int | None = None
    defer_s: int = 0
    #: Where its output goes (path, and of which streams: STDOUT, STDERR or ALL); "" for nowhere.
    debug_file: str = ""
    debug_streams: str = "ALL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A macro of a node's submit description."""

    name: str
    value: str
    #: True: it comes before the description's lines, which may then change it; False: before its queue statement; None:
    #: as set for the run.
    prepended: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Abort:
    """ABORT-DAG-ON."""

    status: int
    #: The exit status of the run then; None for `status`.
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """TOLERANCE."""

    #: How many of a node's jobs may fail, or what percentage, rounded down.
    most: int = 0
    percent: bool = False
    #: Whether the others continue when more have failed.
    waits: bool = False

    def of(self, jobs: int) -> int:
        """How many of `jobs` jobs may fail."""
        return jobs * self.most // 100 if self.percent else self.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node."""

    name: str
    kind: NodeKind
    #: Path of a submit description or, for a SUBDAG, of a DAG file; "" where `text` holds the description.
    submit: str = ""
    text: str | None = None
    #: Relative to the directory in which the run was started; "" for that directory.
    directory: str = ""
    #: Whether nothing is submitted; scripts still run.
    noop: bool = False
    #: Whether it was done before this run.
    done: bool = False
    pre: Script | None = None
    post: Script | None = None
    held: Script | None = None
    #: Exit status of PRE that marks the node as done.
    pre_skip: int | None = None
    retries: int = 0
    #: Exit status after which it is not retried.
    unless_exit: int | None = None
    abort: Abort | None = None
    #: None if no TOLERANCE applies to the node.
    tolerance: Tolerance | None = None
    variables: tuple[Variable, ...] = ()
    priority: int = 0
    category: str = ""
    #: File for the save point at this node; None for no save point.
    save_point: str | None = None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFile:
    """NODE_STATUS_FILE."""

    path: str
    #: Minimum time between two updates, s.
    interval_s: int = 60
    #: Whether it is written even if nothing has changed.
    always: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DotFile:
    """DOT."""

    path: str
    #: Whether it is rewritten as the run proceeds.
    update: bool = False
    overwrite: bool = True
    #: A file whose text is included in the graph; "" for none.
    include: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dag:
    """The contents of the DAG files."""

    #: As given; files of the run are named after the first one.
    files: tuple[str, ...]
    #: By name, in the order of the files. FINAL, PROVISIONER and SERVICE nodes are among them.
    nodes: Mapping[str, Node]
    #: Node to the nodes that wait for it, in the order of the files.
    children: Mapping[str, tuple[str, ...]]
    #: Node to the nodes that it waits for.
    parents: Mapping[str, tuple[str, ...]]
    #: WEAK edges, parent and child: the child also runs if the parent has failed.
    weak: frozenset[tuple[str, str]] = frozenset()
    #: Category to how many of its nodes may be in the queue at once.
    category_limits: Mapping[str, int] = field(default_factory=dict)
    #: Attributes of the run's own job: name to expression.
    attributes: Mapping[str, str] = field(default_factory=dict)
    #: Environment variables that the run's job takes from the submitter's environment, and those that it sets.
    environment_kept: tuple[str, ...] = ()
    environment_set: str = ""
    #: A file with settings of DAGMan; "" for none.
    config: str = ""
    status_file: StatusFile | None = None
    job_state_log: str = ""
    dot: DotFile | None = None
    #: Problems that do not prevent a run.
    warnings: tuple[Diagnostic, ...] = ()

    def only_weak(self, name: str) -> bool:
        """Whether a node has children and all of them are WEAK."""
        children = self.children[name]
        return bool(children) and all((name, child) in self.weak for child in children)

    @property
    def final(self) -> Node | None:
        """The node that runs last."""
        return next((one for one in self.nodes.values() if one.kind is NodeKind.FINAL), None)

    @property
    def provisioner(self) -> Node | None:
        """The node that runs first."""
        return next((one for one in self.nodes.values() if one.kind is NodeKind.PROVISIONER), None)
