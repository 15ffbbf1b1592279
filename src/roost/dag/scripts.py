"""The words of a script's command, with DAGMan's macros expanded.

A macro is expanded only if it is a whole word: ``x=$RETURN`` stays unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from roost.dag.plan import ScriptPoint
from roost.dag.states import NodeState, Progress

if TYPE_CHECKING:
    from roost.dag.run import Run

#: Macro to its meaning, for the reference page.
MACROS: Final[Mapping[str, str]] = {
    "$JOB": "the node's name",
    "$NODE": "the node's name",
    "$RETRY": "number of retries of the node",
    "$MAX_RETRIES": "its RETRY",
    "$DAG_STATUS": "status of the run: 0 good, 2 a node failed, 3 aborted, 4 removed, 6 halted",
    "$FAILED_COUNT": "nodes in error",
    "$FUTILE_COUNT": "nodes that cannot be reached",
    "$DONE_COUNT": "nodes that are done",
    "$QUEUED_COUNT": "nodes whose jobs are in the queue",
    "$NODE_COUNT": "all nodes",
    "$DAGID": "the cluster of the run's own job, -1 if the run is not a job",
    "$JOBID": "POST: the last job, CLUSTER.PROC",
    "$CLUSTERID": "POST: the cluster",
    "$JOB_COUNT": "POST: jobs of the cluster",
    "$SUCCESS": "POST: True or False, whether the jobs were good",
    "$EXIT_CODES": "POST: exit statuses of the jobs, each once, ascending, with commas; -1 for any signal",
    "$EXIT_CODE_COUNTS": "POST: the same with the number of jobs that ended so: `0:3,7:1`",
    "$JOB_ABORT_COUNT": "POST: jobs of the cluster that were removed",
    "$RETURN": "POST: exit status of the job; a negative one is a signal, -1001 a submission that failed, "
    "-1002 a job that was removed, -1004 a PRE script that failed",
    "$PRE_SCRIPT_RETURN": "POST: exit status of PRE, -1 where there is none",
}

_LATE: Final = frozenset(
    ("$JOBID", "$CLUSTERID", "$JOB_COUNT", "$SUCCESS", "$EXIT_CODES", "$EXIT_CODE_COUNTS", "$JOB_ABORT_COUNT",
     "$RETURN", "$PRE_SCRIPT_RETURN")
)  # fmt: skip


def script_words(words: tuple[str, ...], point: ScriptPoint, progress: Progress, run: Run) -> tuple[str, ...]:
    """The program and its arguments."""
    values = _values(progress, run)
    found = []
    for word in words:
        name = word.upper()
        known = name in values and (point is not ScriptPoint.PRE or name not in _LATE)
        found.append(values[name] if known else word)
    return tuple(found)


def _values(progress: Progress, run: Run) -> dict[str, str]:
    node, counts, exits = progress.node, run.counts, sorted(progress.exits.items())
    cluster = -1 if progress.cluster is None else progress.cluster
    return {
        "$JOB": node.name,
        "$NODE": node.name,
        "$RETRY": str(progress.retry),
        "$MAX_RETRIES": str(node.retries),
        "$DAG_STATUS": str(int(run.status)),
        "$FAILED_COUNT": str(counts[NodeState.ERROR]),
        "$FUTILE_COUNT": str(counts[NodeState.FUTILE]),
        "$DONE_COUNT": str(counts[NodeState.DONE]),
        "$QUEUED_COUNT": str(counts[NodeState.SUBMITTED]),
        "$NODE_COUNT": str(sum(counts.values())),
        "$DAGID": str(run.cluster),
        "$EXIT_CODES": ",".join(str(code) for code, _ in exits),
        "$EXIT_CODE_COUNTS": ",".join(f"{code}:{count}" for code, count in exits),
        "$JOB_ABORT_COUNT": str(progress.removed),
        "$JOBID": f"{cluster}.{progress.last_proc}",
        "$CLUSTERID": str(cluster),
        "$JOB_COUNT": str(progress.jobs),
        "$SUCCESS": str(progress.result == 0),
        "$RETURN": str(progress.result),
        "$PRE_SCRIPT_RETURN": str(-1 if progress.pre_status is None else progress.pre_status),
    }
