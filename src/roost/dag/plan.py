"""What a DAG file says, as data: nodes, what each runs, in what order, and what holds for the whole.

Names are DAGMan's. A plan is what was written; how far a run of it is stands in `roost.dag.run`.
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
    #: A DAG of its own, which a process of its own runs.
    SUBDAG = "SUBDAG"
    #: Runs when all others are over, whatever became of them.
    FINAL = "FINAL"
    #: Runs before all others, which wait until its job runs.
    PROVISIONER = "PROVISIONER"
    #: Runs beside the others, which do not wait for it, and is removed at the end.
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
    #: Exit status that means: once more, in `defer_s`; None for none.
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
    #: It stands before the description's lines, which so may change it; False: before its queue statement; None: as
    #: the settings of the run say.
    prepended: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Abort:
    """ABORT-DAG-ON."""

    status: int
    #: What the run then exits with; None for `status`.
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """TOLERANCE."""

    #: So many of a node's jobs may fail, or that many percent of them, rounded down.
    most: int = 0
    percent: bool = False
    #: When more have failed, the others go on.
    waits: bool = False

    def of(self, jobs: int) -> int:
        """How many of so many jobs may fail."""
        return jobs * self.most // 100 if self.percent else self.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node."""

    name: str
    kind: NodeKind
    #: Path of a submit description or, for a SUBDAG, of a DAG file; "" where `text` holds the description.
    submit: str = ""
    text: str | None = None
    #: Relative to where the run was started; "" for there.
    directory: str = ""
    #: Nothing is submitted; scripts run.
    noop: bool = False
    #: It was done before this run.
    done: bool = False
    pre: Script | None = None
    post: Script | None = None
    held: Script | None = None
    #: Exit status of PRE that means: the node is done.
    pre_skip: int | None = None
    retries: int = 0
    #: Exit status after which it is not tried again.
    unless_exit: int | None = None
    abort: Abort | None = None
    tolerance: Tolerance = Tolerance()
    variables: tuple[Variable, ...] = ()
    priority: int = 0
    category: str = ""
    #: Where a run that begins at this node is kept; None for no save point.
    save_point: str | None = None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFile:
    """NODE_STATUS_FILE."""

    path: str
    #: Written again at most this often.
    interval_s: int = 60
    #: Written even where nothing has changed.
    always: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DotFile:
    """DOT."""

    path: str
    #: Written again as the run goes on.
    update: bool = False
    overwrite: bool = True
    #: A file whose text is put into the picture's; "" for none.
    include: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dag:
    """What the files say."""

    #: As given, the first is the one that things are named after.
    files: tuple[str, ...]
    #: By name, in the order of the files. FINAL, PROVISIONER and SERVICE nodes are among them.
    nodes: Mapping[str, Node]
    #: Node to the nodes that wait for it, in the order of the files.
    children: Mapping[str, tuple[str, ...]]
    #: Node to the nodes that it waits for.
    parents: Mapping[str, tuple[str, ...]]
    #: Edges, parent and child, for which it does if the parent has failed: WEAK.
    weak: frozenset[tuple[str, str]] = frozenset()
    #: Category to how many of its nodes may be in the queue at once.
    category_limits: Mapping[str, int] = field(default_factory=dict)
    #: Attributes of the run's own job: name to expression.
    attributes: Mapping[str, str] = field(default_factory=dict)
    #: Environment variables that jobs of the run get from where it is started, and those that it sets.
    environment_kept: tuple[str, ...] = ()
    environment_set: str = ""
    #: A file with settings of DAGMan; "" for none.
    config: str = ""
    status_file: StatusFile | None = None
    job_state_log: str = ""
    dot: DotFile | None = None
    #: What is odd about the files, but does not stop a run.
    warnings: tuple[Diagnostic, ...] = ()

    def only_weak(self, name: str) -> bool:
        """Whether what waits for a node, and something does, does not want it to be good."""
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
