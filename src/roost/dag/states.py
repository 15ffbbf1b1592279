"""The states of nodes and of a run, and what both count."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum, StrEnum
from typing import Final

from roost.base.records import dataclass, field
from roost.dag.plan import Node

#: Node results that are not exit statuses; scripts see them as $RETURN.
SUBMIT_FAILED: Final = -1001
JOB_REMOVED: Final = -1002
PRE_FAILED: Final = -1004


class NodeState(IntEnum):
    """Where a node is; the numbers are those of node status files."""

    NOT_READY = 0
    READY = 1
    PRERUN = 2
    SUBMITTED = 3
    POSTRUN = 4
    DONE = 5
    ERROR = 6
    FUTILE = 7

    @property
    def over(self) -> bool:
        """Whether nothing more happens to the node."""
        return self in (NodeState.DONE, NodeState.ERROR, NodeState.FUTILE)


class RunStatus(IntEnum):
    """How the run is; the numbers are those of $DAG_STATUS and of DAG_Status."""

    OK = 0
    ERROR = 1
    NODE_FAILED = 2
    ABORTED = 3
    REMOVED = 4
    CYCLE = 5
    HALTED = 6


class Part(StrEnum):
    """What of a node is under way."""

    NOTHING = "nothing"
    PRE = "PRE script"
    SUBMISSION = "submission"
    JOB = "job"
    POST = "POST script"
    #: The script said that it is to be run again later.
    DEFERRED = "deferred script"
    #: The queue took no jobs; it is asked again later.
    PAUSE = "pause before the next submission"


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far one node is."""

    node: Node
    state: NodeState = NodeState.NOT_READY
    part: Part = Part.NOTHING
    #: Nodes that it still waits for.
    waits: int = 0
    #: How often it was tried again.
    retry: int = 0
    #: Exit status of its PRE script; None while there was none.
    pre_status: int | None = None
    #: PRE is over and was good.
    prepared: bool = False
    cluster: int | None = None
    jobs: int = 0
    #: Procs by what they do; those that ended are in none.
    idle: set[int] = field(default_factory=set)
    running: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    #: Exit status, -1 for any signal, to the number of its jobs that ended so; and how many were removed.
    exits: Counter[int] = field(default_factory=Counter)
    removed: int = 0
    #: The job's result: exit status, negative for a signal or one of the numbers above.
    result: int = 0
    #: Result of the first of its jobs that failed; 0 while there was none.
    first_failure: int = 0
    failures: int = 0
    #: More of them failed than the node tolerates.
    failed: bool = False
    last_proc: int = 0
    #: Submissions that the queue refused, one after another.
    refusals: int = 0
    #: What the node ended with.
    status: int = 0
    #: In words, for people.
    details: str = ""

    @property
    def left(self) -> int:
        """Jobs in the queue."""
        return self.jobs - len(self.ended)

    @property
    def removes_rest(self) -> bool:
        """Whether the jobs that are left are to be removed, because of those that failed."""
        return self.failed and self.left > 0 and not self.node.tolerance.waits

    def forget_try(self) -> None:
        """Another try begins."""
        self.pre_status, self.prepared, self.cluster, self.jobs = None, False, None, 0
        self.idle, self.running, self.held, self.ended = set(), set(), set(), set()
        self.exits, self.removed = Counter(), 0
        self.first_failure, self.failures = 0, 0
        self.result, self.failed, self.last_proc, self.refusals = 0, False, 0, 0
