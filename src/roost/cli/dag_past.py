"""The result of a finished DAG run, from the files next to the DAG file.

The event log of the nodes is replayed, as by a run that continues after it was killed: failed nodes, the reasons, and
their jobs are thus known without the pool. The pool is only asked where a failed job's output is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.base.records import dataclass
from roost.cli.dag_files import plan
from roost.cli.listing import counted
from roost.cli.pool_connection import Pool, connected
from roost.cli.terminal import CommandError
from roost.runtime.home import Home
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.dag.states import Progress
    from roost.runtime.workflow.files import RunFiles

#: Maximum number of failed nodes shown in full, and number of final output lines of each.
NODES_MAX: Final = 20
LINES_MAX: Final = 10
_TAIL_BYTES: Final = 16_384
#: A line of the run's log about a node that has taken a row of its table.
_TRANSITION: Final = re.compile(r"node (?P<node>\S+): \w+ -> (?P<target>\w+) \([^)]*\)(?:: (?P<why>.*))?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedNode:
    """A node that failed."""

    name: str
    why: str
    #: Its last job, ``12.0``; "" if none was submitted.
    job: str
    #: Its output file, and the last lines there.
    printed: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """How a run ended."""

    #: None for a run that has not ended.
    exit_status: int | None
    total: int
    done: int
    futile: int
    failed: tuple[FailedNode, ...]
    #: Number of further failed nodes.
    more: int
    #: The newest rescue file; "" for none.
    rescue: str
    #: The log of the run.
    log: str


def past_run(file: str, home: Home) -> PastRun:
    """How the last run of a DAG file ended. Raises CommandError."""
    from roost.dag.run import Run, Settings
    from roost.dag.states import NodeState
    from roost.runtime.workflow.files import RunFiles

    files = RunFiles(primary=file, several=False)
    if not files.debug.exists():
        raise CommandError(f"{file} has not been run: there is no {files.debug}")
    dag = plan((file,))
    metrics = _metrics(files)
    rescued = int(metrics.get("rescue_dag_number", 0))
    if rescued:
        from roost.dag import apply_rescue
        from roost.runtime.workflow.files import read_text

        # Nodes that were done before that run are not in its own log.
        dag = apply_rescue(dag, str(files.rescue(rescued)), read_text)
    run = Run(dag, Settings())
    _played(run, files)
    nodes = list(run.nodes.values())
    told = _failed_nodes(files)
    bad = [each for each in nodes if each.state is NodeState.ERROR or each.node.name in told]
    shown = [_failed(each, told) for each in bad[:NODES_MAX]]
    newest = files.last_rescue()
    return PastRun(
        exit_status=None if files.lock.exists() else _whole(metrics.get("exitcode")),
        total=len(nodes),
        done=sum(each.state is NodeState.DONE for each in nodes),
        futile=sum(each.state is NodeState.FUTILE for each in nodes),
        failed=tuple(_with_lines(shown, home)),
        more=len(bad) - len(shown),
        rescue=str(files.rescue(newest)) if newest else "",
        log=str(files.debug),
    )


def lines_of(file: str, past: PastRun) -> Iterator[str]:
    """The result in words."""
    if past.exit_status is None:
        yield f"{file}: the run has not come to its end; `roost dag status` shows runs in the queue"
    else:
        how = "ended well" if past.exit_status == 0 else f"failed, with exit status {past.exit_status}"
        yield f"{file}: the run {how}: {past.done} of {past.total} nodes are done"
    for node in past.failed:
        yield f"  node {node.name} failed: {node.why}" + (f" (job {node.job})" if node.job else "")
        if node.lines:
            yield f"    the last lines of {node.printed}:"
            yield from (f"    | {line}" for line in node.lines)
    if past.more:
        yield f"  and {past.more} nodes more"
    if past.futile:
        waits = "was not run, since it waits" if past.futile == 1 else "were not run, since they wait"
        yield f"  {counted(past.futile, 'node')} {waits} for nodes that failed"
    if past.exit_status:
        if past.rescue:
            yield f"  To go on, correct the cause and submit {file} again: the nodes that are done are in {past.rescue}"
            yield f"  To start over: roost dag submit --force {file}"
        else:
            yield f"  No rescue file was written. To run it again: roost dag submit {file}"
        yield f"  The log of the run is {past.log}"


def data_of_run(past: PastRun) -> dict[str, Any]:
    """The result as JSON."""
    nodes = [
        {"node": each.name, "why": each.why, "job": each.job, "file": each.printed, "lines": list(each.lines)}
        for each in past.failed
    ]
    return {
        "exit_status": past.exit_status, "nodes": past.total, "done": past.done, "futile": past.futile,
        "failed": nodes, "more_failed": past.more, "rescue": past.rescue, "log": past.log,
    }  # fmt: skip


def _metrics(files: RunFiles) -> dict[str, Any]:
    try:
        found = json.loads(files.metrics.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _played(run: Any, files: RunFiles) -> None:
    """Let a run process its nodes' log."""
    from roost.dag import orders as o
    from roost.runtime.workflow.nodes_log import NodesLog

    log = NodesLog(files.nodes_log)
    past = tuple(event for event in log.past() if not isinstance(event, o.NodeSubmitted) or event.node in run.nodes)
    run.step(o.Begun(past=past), 0.0)


def _failed_nodes(files: RunFiles) -> dict[str, str]:
    """Nodes whose last transition in the run's log was to failed, and why: a PRE script leaves no event."""
    found: dict[str, str] = {}
    with files.debug.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if (taken := _TRANSITION.search(line)) is not None:
                found.pop(taken["node"], None)
                if taken["target"] == "ERROR":
                    found[taken["node"]] = (taken["why"] or "").strip()
    return found


def _failed(progress: Progress, told: dict[str, str]) -> FailedNode:
    job = "" if progress.cluster is None else f"{progress.cluster}.{progress.last_proc}"
    name = progress.node.name
    return FailedNode(name=name, why=progress.details or told.get(name) or _why(progress), job=job)


def _why(progress: Progress) -> str:
    from roost.dag.states import JOB_REMOVED, PRE_FAILED, SUBMIT_FAILED

    known = {SUBMIT_FAILED: "its job was not submitted", JOB_REMOVED: "its job was removed",
             PRE_FAILED: "its PRE script failed"}  # fmt: skip
    result = progress.result or progress.status
    return known.get(result, f"signal {-result}" if result < 0 else f"exit status {result}")


def _with_lines(nodes: list[FailedNode], home: Home) -> list[FailedNode]:
    """The nodes with the last output of their jobs, if the pool says where that is."""
    from roost.base.records import replace

    jobs = tuple(each.job for each in nodes if each.job)
    if not jobs:
        return nodes
    try:
        with connected(home) as pool:
            places = _places(pool, jobs)
    except CommandError:
        return nodes
    found = []
    for node in nodes:
        for path in places.get(node.job, ()):
            lines = _last_lines(path)
            if lines:
                node = replace(node, printed=str(path), lines=lines)
                break
        found.append(node)
    return found


def _places(pool: Pool, jobs: tuple[str, ...]) -> dict[str, tuple[Path, ...]]:
    """Job to the files of its standard error and output."""
    names = ("ClusterId", "ProcId", "Iwd", "Err", "Out")
    rows = [
        *pool.ask(queue.Query(jobs=jobs, projection=names)),
        *pool.ask(queue.History(jobs=jobs, projection=names)),
    ]
    found = {}
    for row in rows:
        iwd = Path(str(row.get("Iwd") or "/"))
        given = (row.get("Err"), row.get("Out"))
        found[f"{row['ClusterId']}.{row['ProcId']}"] = tuple(
            iwd / str(each) for each in given if each and each != "/dev/null"
        )
    return found


def _last_lines(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    return tuple(text.splitlines()[-LINES_MAX:])
