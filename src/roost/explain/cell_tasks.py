"""Tasks of jobs as `qstat` sees them: what the queue knows of a job, in Grid Engine's words and letters.

A job is a cluster, and a task of an array a process of it; a cluster of several processes that `qsub` did not submit is
an array from 1 on.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from roost.base.records import dataclass, replace
from roost.model import cell_requests as cell
from roost.model.codes import HoldCode
from roost.schedd.status import JobStatus

if TYPE_CHECKING:
    from roost.gridengine.scheduling import Range

#: Attributes that a task is read from.
SHOWN: Final = (
    "ClusterId", "ProcId", "JobStatus", "Owner", "Cmd", "QDate", "JobCurrentStartDate", "JobStartDate",
    "JobCurrentStartExecutingDate", "NumJobStarts", "HoldReasonCode", "HoldReason", "JobPrio",
    "RemoteHost", cell.NAME, cell.TASKS, cell.TASK, cell.HELD, cell.NOT_BEFORE, cell.PROJECT,
    cell.RESOURCES, cell.SOFT_RESOURCES, cell.QUEUES, cell.SOFT_QUEUES, "JobBatchName", cell.PREDECESSORS,
    cell.PREDECESSORS_ASKED, cell.RERUN, cell.CHECKPOINT, cell.PARALLEL, cell.MASTER_QUEUES, cell.DEADLINE,
    cell.ARRAY_PREDECESSORS, cell.ARRAY_PREDECESSORS_ASKED, "CellFailed", "CellErrorReason",
    "JobMaterializeLimit",
)  # fmt: skip
#: `CellFailed` of runs after which a job is run again, and of those that failed in a script: these do not count.
_AGAIN: Final = (24, 25)
_IN_SCRIPTS: Final = range(7, 16)
_INSTANCE: Final = re.compile(r'Instance\s*=\s*"((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_ENVIRONMENT: Final = re.compile(r'\bEnvironment\s*=\s*"([^"]*)"', re.IGNORECASE)
_RERUN: Final = re.compile(r"\bRerun\s*=\s*true\b", re.IGNORECASE)
_GRANTS: Final = re.compile(r'AllGrants\s*=\s*"([^"]*)"', re.IGNORECASE)
_OF_USERS: Final = (HoldCode.USER_REQUEST, HoldCode.SUBMITTED_ON_HOLD)
_ON_MACHINE: Final = (JobStatus.RUNNING, JobStatus.TRANSFERRING_OUTPUT, JobStatus.SUSPENDED)


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a job, or the whole of a job without tasks."""

    job: int
    proc: int
    #: 0 for a job without tasks.
    number: int
    #: First, last and step of the array; None for a job without tasks.
    tasks: tuple[int, int, int] | None
    name: str
    owner: str
    status: int
    #: Grid Engine's letters.
    state: str
    #: Epoch s.
    submitted: int
    started: int
    #: The queue instance that it runs in; "" while it waits.
    instance: str
    #: Holds: letters of `ALL_HOLDS`, and j for other jobs that have to leave first.
    holds: str
    ad: Mapping[str, Any]
    #: Slots by queue instance, the master's first; empty while it waits.
    grants: Mapping[str, int]
    #: Slots that it counts as while it waits; 0 for the fewest that it asks for.
    counted: int = 0

    @property
    def environment(self) -> str:
        """The parallel environment that it got; "" for none."""
        told = self.ad.get(cell.TASK)
        text = told.get("expr", "") if isinstance(told, dict) else told
        found = _ENVIRONMENT.search(text) if self.runs and isinstance(text, str) else None
        return found[1] if found else ""

    @property
    def slots(self) -> int:
        """Its slots; of a parallel job that waits those that it counts as."""
        if self.grants:
            return sum(self.grants.values())
        asked = slots_asked(self.ad)
        return self.counted or (asked[0].low if asked else 1)

    @property
    def runs(self) -> bool:
        """Whether it has a slot."""
        return bool(self.instance)

    @property
    def reruns(self) -> bool:
        """Whether it may be run again: it was submitted with `-r y`, or without `-r` to a queue with `rerun`."""
        asked = self.ad.get(cell.RERUN)
        return cell.NAME not in self.ad or asked == "y" or (asked != "n" and _reruns(self.ad))

    @property
    def after(self) -> tuple[int, ...]:
        """The jobs that have to leave before it starts."""
        return _numbers(self.ad.get(cell.PREDECESSORS))

    @property
    def arrays_after(self) -> tuple[int, ...]:
        """The arrays of which tasks have to leave before it starts."""
        return _numbers(self.ad.get(cell.ARRAY_PREDECESSORS))

    @property
    def is_error(self) -> bool:
        """Whether it is in error state."""
        return "E" in self.state

    @property
    def order(self) -> tuple[int, int, int]:
        """Its place among tasks of the same priority."""
        return self.submitted, self.job, self.number


def _numbers(listed: Any) -> tuple[int, ...]:
    return tuple(int(word) for word in str(listed or "").split(",") if word)


def tasks_of(rows: Iterable[Mapping[str, Any]]) -> list[Task]:
    """The tasks of rows of the queue."""
    found = list(rows)
    #: Of clusters that `qsub` did not submit: the number of the last process.
    last: dict[int, int] = {}
    for row in found:
        last[row["ClusterId"]] = max(last.get(row["ClusterId"], 0), int(row["ProcId"]))
    return [_task(row, last[row["ClusterId"]]) for row in found]


def _task(row: Mapping[str, Any], last: int) -> Task:
    status, proc = int(row.get("JobStatus", 1)), int(row["ProcId"])
    range_ = array_of(row) or ((1, last + 1, 1) if last and cell.NAME not in row else None)
    holds = held_by(row)
    runs = status in _ON_MACHINE or (status == JobStatus.REMOVED and bool(row.get("RemoteHost")))
    state = _state(row, status, holds, runs=runs)
    started = row.get("JobCurrentStartDate") or row.get("JobStartDate") or 0
    return Task(
        job=int(row["ClusterId"]),
        proc=proc,
        number=0 if range_ is None else range_[0] + proc * range_[2],
        tasks=range_,
        name=name_of(row),
        owner=str(row.get("Owner", "")),
        status=status,
        state=state,
        submitted=int(row.get("QDate", 0)),
        started=int(started),
        instance=instance_of(row) if runs else "",
        holds=holds,
        ad=row,
        grants=_grants(row) if runs else {},
    )


def name_of(row: Mapping[str, Any]) -> str:
    """The name of a job."""
    given = row.get(cell.NAME) or row.get("JobBatchName") or posixpath.basename(str(row.get("Cmd", "")))
    return str(given)


def array_of(row: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """First, last and step of the tasks of a job of `qsub`; None for a job without tasks."""
    text = row.get(cell.TASKS)
    if not isinstance(text, str):
        return None
    first, last, step = (int(word) for word in re.split("[-:]", text))
    return first, last, step


def slots_asked(row: Mapping[str, Any]) -> tuple[Range, ...]:
    """The ranges of slots that a parallel job asks for; none for any other job."""
    from roost.gridengine.pool.requests import parallel

    text = row.get(cell.PARALLEL)
    return parallel(text)[1] if isinstance(text, str) else ()


def _reruns(row: Mapping[str, Any]) -> bool:
    told = row.get(cell.TASK)
    text = told.get("expr", "") if isinstance(told, dict) else told
    return isinstance(text, str) and _RERUN.search(text) is not None


def _grants(row: Mapping[str, Any]) -> Mapping[str, int]:
    told = row.get(cell.TASK)
    text = told.get("expr", "") if isinstance(told, dict) else told
    found = _GRANTS.search(text) if isinstance(text, str) else None
    if found is None:
        return {instance_of(row): 1}
    pairs = (word.rpartition("=") for word in found[1].split(","))
    return {instance: int(slots) for instance, _, slots in pairs}


def instance_of(row: Mapping[str, Any]) -> str:
    """The queue instance of the task that a job has of the cell, or its slot where it has none."""
    told = row.get(cell.TASK)
    text = told.get("expr", "") if isinstance(told, dict) else told
    found = _INSTANCE.search(text) if isinstance(text, str) else None
    return found[1] if found else str(row.get("RemoteHost", ""))


def held_by(row: Mapping[str, Any]) -> str:
    """Holds of a job on hold."""
    if row.get("JobStatus") in _ON_MACHINE:
        letters = row.get(cell.HELD)
        return letters if isinstance(letters, str) else ""
    if row.get("JobStatus") != JobStatus.HELD:
        return ""
    return str(row.get(cell.HELD) or ("u" if row.get("HoldReasonCode") in _OF_USERS else ""))


def _state(row: Mapping[str, Any], status: int, holds: str, *, runs: bool) -> str:
    failed = row.get("CellFailed")
    began_before = int(row.get("NumJobStarts") or 0) > (1 if runs else 0)
    again = "R" if failed in _AGAIN or (began_before and failed not in _IN_SCRIPTS) else ""
    held = "h" if holds else ""
    match status:
        case JobStatus.HELD:
            error = "" if row.get("HoldReasonCode") in _OF_USERS else "E"
            return f"{held}{error}{'Rq' if again and not error else 'qw'}"
        case JobStatus.REMOVED:
            return "dr" if runs else "d"
        case JobStatus.SUSPENDED:
            return f"{held}{again}s"
        case JobStatus.RUNNING | JobStatus.TRANSFERRING_OUTPUT:
            begun, started = row.get("JobCurrentStartExecutingDate"), row.get("JobCurrentStartDate") or 0
            is_there = status != JobStatus.RUNNING or (begun is not None and begun >= started)
            return f"{held}{again}{'r' if is_there else 't'}"
        case JobStatus.COMPLETED:
            return "z"
    return "Rq" if again else "qw"


def limited(tasks: Iterable[Task]) -> dict[int, int]:
    """Arrays with a limit (`-tc`) to how many of their tasks may start now."""
    found: dict[int, int] = {}
    for task in tasks:
        if most := int(task.ad.get("JobMaterializeLimit") or 0):
            found[task.job] = found.get(task.job, most) - task.runs
    return found


def held_back(task: Task) -> Task:
    """A task that waits for other jobs, with that hold."""
    state = task.state if task.state.startswith("h") else f"h{task.state}"
    return replace(task, state=state, holds=f"{task.holds}j")


def suspended(task: Task, causes: frozenset[str]) -> Task:
    """A task with the letters of what of the cell suspends it: S for its queue, T for a threshold."""
    if task.status != JobStatus.SUSPENDED or not causes:
        return task
    letters = ("S" if causes - {cell.Suspender.THRESHOLD} else "") + ("T" if cell.Suspender.THRESHOLD in causes else "")
    return replace(task, state=task.state.removesuffix("s") + letters)


# -- groups of waiting tasks -----------------------------------------------------------------------------------------


def grouped(tasks: Sequence[Task]) -> Iterator[tuple[Task, str]]:
    """The first of all waiting tasks of one job in one state, with the numbers of all, in the order they were in."""
    found: dict[tuple[int, str], list[Task]] = {}
    for task in tasks:
        found.setdefault((task.job, task.state), []).append(task)
    for some in found.values():
        yield some[0], numbers([task.number for task in some]) if some[0].tasks else ""


def numbers(given: Iterable[int]) -> str:
    """Numbers of tasks as Grid Engine lists them: ``1-5:2`` for three or more with one step, else ``1,2``."""
    rest, parts = sorted(given), list[str]()
    while rest:
        end = 1
        step = rest[1] - rest[0] if len(rest) > 1 else 0
        while end < len(rest) and rest[end] - rest[end - 1] == step:
            end += 1
        if end >= 3:
            parts.append(f"{rest[0]}-{rest[end - 1]}:{step}")
            rest = rest[end:]
        else:
            parts.append(str(rest.pop(0)))
    return ",".join(parts)
