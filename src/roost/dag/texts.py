"""The texts that a run writes: rescue files, node status files, the table in its log, metrics, a graph for dot.

Formats and terms are DAGMan's, for the programs that read them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from roost.dag.plan import NodeKind
from roost.dag.run import Run
from roost.dag.states import NodeState, Progress, RunStatus

#: The version of rescue files that is written.
RESCUE_VERSION: Final = "2.0.1"

_STATUS_NAMES: Final = {
    NodeState.NOT_READY: "STATUS_NOT_READY",
    NodeState.READY: "STATUS_READY",
    NodeState.PRERUN: "STATUS_PRERUN",
    NodeState.SUBMITTED: "STATUS_SUBMITTED",
    NodeState.POSTRUN: "STATUS_POSTRUN",
    NodeState.DONE: "STATUS_DONE",
    NodeState.ERROR: "STATUS_ERROR",
    NodeState.FUTILE: "STATUS_FUTILE",
}
_COLUMNS: Final = (
    ("Done", NodeState.DONE, 4),
    ("Pre", NodeState.PRERUN, 8),
    ("Queued", NodeState.SUBMITTED, 9),
    ("Post", NodeState.POSTRUN, 8),
    ("Ready", NodeState.READY, 8),
    ("Un-Ready", NodeState.NOT_READY, 11),
    ("Failed", NodeState.ERROR, 9),
    ("Futile", NodeState.FUTILE, 9),
)


def rescue_text(run: Run, at: float) -> str:
    """A rescue file with the nodes that a later run can skip; FINAL, PROVISIONER and SERVICE nodes always run. `at` is
    in epoch s."""
    ordinary = {NodeKind.JOB, NodeKind.SUBDAG}
    done = [
        name
        for name, each in run.nodes.items()
        if each.node.kind in ordinary
        # A failed node need not run again if all its children are WEAK.
        and (each.state is NodeState.DONE or (each.state is NodeState.ERROR and run.dag.only_weak(name)))
    ]
    failed = [name for name, each in run.nodes.items() if each.state is NodeState.ERROR]
    when = datetime.fromtimestamp(at, UTC)
    lines = [
        "# Rescue DAG file, created after running",
        f"#   the {run.dag.files[0]} DAG file",
        f"# Created {when.month}/{when.day}/{when:%Y %H:%M:%S} UTC",
        f"# Rescue DAG version: {RESCUE_VERSION} (partial)",
        "#",
        f"# Total number of Nodes: {len(run.nodes)}",
        f"# Nodes premarked DONE: {len(done)}",
        f"# Nodes that failed: {len(failed)}",
        *([f"#   {','.join(failed)},<ENDLIST>"] if failed else []),
        "",
        *(f"DONE {name}" for name in done),
    ]
    return "\n".join(lines) + "\n"


def status_table(run: Run) -> Iterator[str]:
    """The lines with the numbers of nodes by state, as in a run's log."""
    yield f"Of {len(run.nodes)} nodes total:"
    yield " " + "".join(f"{title:>{wide}}" for title, _, wide in _COLUMNS)
    yield " " + "".join(f"{'=' * min(3, wide):>{wide}}" for _, _, wide in _COLUMNS)
    yield " " + "".join(f"{run.counts[state]:>{wide}}" for _, state, wide in _COLUMNS)
    held = sum(len(each.held) for each in run.nodes.values())
    yield f"{held} job proc(s) currently held"


def run_attributes(run: Run) -> dict[str, int | bool]:
    """The attributes of the run's own job."""
    nodes = run.nodes.values()
    return {
        "DAG_Status": int(run.status),
        "DAG_NodesTotal": len(run.nodes),
        "DAG_NodesDone": run.counts[NodeState.DONE],
        "DAG_NodesPrerun": run.counts[NodeState.PRERUN],
        "DAG_NodesQueued": run.counts[NodeState.SUBMITTED],
        "DAG_NodesPostrun": run.counts[NodeState.POSTRUN],
        "DAG_NodesReady": run.counts[NodeState.READY],
        "DAG_NodesUnready": run.counts[NodeState.NOT_READY],
        "DAG_NodesFailed": run.counts[NodeState.ERROR],
        "DAG_NodesFutile": run.counts[NodeState.FUTILE],
        "DAG_JobsSubmitted": run.jobs.submitted,
        "DAG_JobsIdle": sum(len(each.idle) for each in nodes),
        "DAG_JobsRunning": sum(len(each.running) for each in nodes),
        "DAG_JobsHeld": sum(len(each.held) for each in nodes),
        "DAG_JobsCompleted": run.jobs.ended,
    }


# -- node status files ---------------------------------------------------------------------------------


def node_status_text(run: Run, at: float, next_at: float) -> str:
    """A node status file, written at `at`, to be written again at `next_at` (epoch s)."""
    parts = [_ad(_whole_status(run, at))]
    parts += [_ad(_node_status(each)) for each in run.nodes.values()]
    parts.append(_ad({"Type": '"StatusEnd"', "EndTime": _instant(at), "NextUpdate": _instant(next_at)}))
    return "\n".join(parts) + "\n"


def _whole_status(run: Run, at: float) -> dict[str, str]:
    numbers = {
        "NodesTotal": len(run.nodes),
        "NodesDone": run.counts[NodeState.DONE],
        "NodesPre": run.counts[NodeState.PRERUN],
        "NodesQueued": run.counts[NodeState.SUBMITTED],
        "NodesPost": run.counts[NodeState.POSTRUN],
        "NodesReady": run.counts[NodeState.READY],
        "NodesUnready": run.counts[NodeState.NOT_READY],
        "NodesFutile": run.counts[NodeState.FUTILE],
        "NodesFailed": run.counts[NodeState.ERROR],
        "JobProcsHeld": sum(len(each.held) for each in run.nodes.values()),
        "JobProcsIdle": sum(len(each.idle) + len(each.held) for each in run.nodes.values()),
    }
    files = ",\n".join(f"    {_string(file)}" for file in run.dag.files)
    return {
        "Type": '"DagStatus"',
        "DagFiles": f"{{\n{files}\n  }}",
        "Timestamp": _instant(at),
        "DagStatus": _status(_state_of(run)),
        **{name: str(number) for name, number in numbers.items()},
    }


def _state_of(run: Run) -> NodeState:
    """The state of the whole run as a node state."""
    if run.over:
        return NodeState.DONE if run.exit_code == 0 else NodeState.ERROR
    return NodeState.SUBMITTED


def _node_status(progress: Progress) -> dict[str, str]:
    return {
        "Type": '"NodeStatus"',
        "Node": _string(progress.node.name),
        "NodeStatus": _status(progress.state),
        "StatusDetails": _string(_details(progress)),
        "RetryCount": str(progress.retry),
        "JobProcsQueued": str(progress.left if progress.state is NodeState.SUBMITTED else 0),
        "JobProcsHeld": str(len(progress.held)),
    }


def _details(progress: Progress) -> str:
    if progress.state is NodeState.SUBMITTED:
        return "idle" if progress.idle and not progress.running else "not_idle"
    return progress.details


def _status(state: NodeState) -> str:
    return f'{int(state)}; /* "{_STATUS_NAMES[state]}" */'


def _instant(at: float) -> str:
    return f'{int(at)}; /* "{datetime.fromtimestamp(at).astimezone():%a %b %e %H:%M:%S %Y}" */'


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _ad(values: dict[str, str]) -> str:
    lines = (
        f"  {name} = {value}" if value.endswith("*/") else f"  {name} = {value};" for name, value in values.items()
    )
    return "[\n" + "\n".join(lines) + "\n]"


# -- the rest ------------------------------------------------------------------------------------------


def metrics_text(run: Run, *, began_at: float, ended_at: float, exit_code: int, rescue: int, version: str) -> str:
    """The metrics file; `rescue` is the number of the rescue file that the run started from, 0 for none."""
    jobs, failed = run.jobs.submitted, run.jobs.failed
    edges = sum(map(len, run.dag.children.values()))
    data = {
        "client": "condor_dagman",
        "version": version,
        "type": "metrics",
        "start_time": round(began_at, 3),
        "end_time": round(ended_at, 3),
        "duration": round(ended_at - began_at, 3),
        "exitcode": exit_code,
        "rescue_dag_number": rescue,
        "jobs": jobs,
        "jobs_failed": failed,
        "jobs_succeeded": jobs - failed,
        "total_jobs": len(run.nodes),
        "total_jobs_run": sum(each.cluster is not None for each in run.nodes.values()),
        "DagStatus": int(run.status),
        "edges": edges,
    }
    return json.dumps(data, indent=4) + "\n"


def dot_text(run: Run, at: float, include: str = "") -> str:
    """A graph of the run for Graphviz; `include` is inserted into it."""
    when = f"{datetime.fromtimestamp(at).astimezone():%a %b %e %H:%M:%S %Y}"
    lines = ["digraph DAG {", f'    label="DAGMan Job status at {when}";', ""]
    lines += [f"{line}" for line in include.splitlines()]
    for name, each in run.nodes.items():
        lines.append(f"    {_string(name)} [shape=ellipse label={_string(f'{name} ({_LETTERS[each.state]})')}];")
    lines.append("")
    for name, children in run.dag.children.items():
        lines += [f"    {_string(name)} -> {_string(child)};" for child in children]
    return "\n".join([*lines, "}"]) + "\n"


_LETTERS: Final = {
    NodeState.NOT_READY: "I",
    NodeState.READY: "I",
    NodeState.PRERUN: "P",
    NodeState.SUBMITTED: "R",
    NodeState.POSTRUN: "P",
    NodeState.DONE: "Done",
    NodeState.ERROR: "E",
    NodeState.FUTILE: "F",
}

#: The status of the run in words.
STATUS_WORDS: Final = {
    RunStatus.OK: "good",
    RunStatus.ERROR: "an error",
    RunStatus.NODE_FAILED: "a node failed",
    RunStatus.ABORTED: "aborted by a node",
    RunStatus.REMOVED: "removed",
    RunStatus.CYCLE: "a circle",
    RunStatus.HALTED: "halted",
}
