"""The states and counters of nodes and of a run."""

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
    """The state of a node; the numbers are those of node status files."""

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
    """The status of a run; the numbers are those of $DAG_STATUS and of DAG_Status."""

    OK = 0
    ERROR = 1
    NODE_FAILED = 2
    ABORTED = 3
    REMOVED = 4
    CYCLE = 5
    HALTED = 6


class Part(StrEnum):
    """The part of a node that is in progress."""

    NOTHING = "nothing"
    PRE = "PRE script"
    SUBMISSION = "submission"
    JOB = "job"
    POST = "POST script"
    #: The script asked to be run again later.
    DEFERRED = "deferred script"
    #: The queue refused the jobs; submission is retried later.
    PAUSE = "pause before the next submission"


@dataclass(slots=True, kw_only=True)
class Progress:
    """The progress of one node."""

    node: Node
    state: NodeState = NodeState.NOT_READY
    part: Part = Part.NOTHING
    #: Nodes that it still waits for.
    waits: int = 0
    #: Number of retries so far.
    retry: int = 0
    #: Exit status of its PRE script; None if none has ended.
    pre_status: int | None = None
    #: Whether PRE has succeeded.
    prepared: bool = False
    cluster: int | None = None
    jobs: int = 0
    #: Procs by status; ended ones are in none.
    idle: set[int] = field(default_factory=set)
    running: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    #: Exit status, -1 for any signal, to the number of its jobs that ended so; and the number of removed jobs.
    exits: Counter[int] = field(default_factory=Counter)
    removed: int = 0
    #: How often its jobs were put on hold.
    holds: int = 0
    #: The job's result: exit status, negative for a signal or one of the numbers above.
    result: int = 0
    #: Result of the first of its jobs that failed; 0 if none has.
    first_failure: int = 0
    failures: int = 0
    #: Whether more of them failed than the node tolerates.
    failed: bool = False
    last_proc: int = 0
    #: Consecutive submissions that the queue refused.
    refusals: int = 0
    #: Final status of the node.
    status: int = 0
    #: Explanation in words.
    details: str = ""

    @property
    def left(self) -> int:
        """Jobs in the queue."""
        return self.jobs - len(self.ended)

    @property
    def removes_rest(self) -> bool:
        """Whether the remaining jobs must be removed because of those that failed."""
        return self.failed and self.left > 0 and not (self.node.tolerance and self.node.tolerance.waits)

    @property
    def is_for_release(self) -> bool:
        """Whether this attempt is beyond the node's retries: its jobs are submitted on hold, for the user to
        release."""
        return self.retry > self.node.retries

    def forget_try(self) -> None:
        """Reset the state of the last attempt."""
        self.pre_status, self.prepared, self.cluster, self.jobs = None, False, None, 0
        self.idle, self.running, self.held, self.ended = set(), set(), set(), set()
        self.exits, self.removed, self.holds = Counter(), 0, 0
        self.first_failure, self.failures = 0, 0
        self.result, self.failed, self.last_proc, self.refusals = 0, False, 0, 0
