"""Tasks of jobs as `qstat` sees them: the queue's data about a job, in Grid Engine's terms and state letters.

A job is a cluster, and a task of an array a process of it; a cluster of several processes that `qsub` did not submit is
an array whose first task is 1.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from roost.base.records import dataclass, replace
from roost.gridengine.letters import SUSPENDED_JOB, of_job
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
    cell.BINDING, cell.ARRAY_PREDECESSORS, cell.ARRAY_PREDECESSORS_ASKED, "CellFailed", "CellErrorReason",
    "JobMaterializeLimit",
)  # fmt: skip
#: `CellFailed` codes of runs that are repeated or failed in a script: these do not count as runs.
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
    """One task of a job, or a whole job without tasks."""

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
    #: Holds: letters of `ALL_HOLDS`, and j for other jobs that must leave the queue first.
    holds: str
    ad: Mapping[str, Any]
    #: Slots by queue instance, the master's first; empty while it waits.
    grants: Mapping[str, int]
    #: Number of slots that it counts for while it waits; 0 for the fewest that it requests.
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
        """Its slots; for a waiting parallel job, the number that it counts for."""
        if self.grants:
            return sum(self.grants.values())
        asked = slots_asked(self.ad)
        return self.counted or (asked[0].low if asked else 1)

    @property
    def runs(self) -> bool:
        """Whether it has a slot."""
        return bool(self.instance)

    @property
    def ran(self) -> bool:
        """Whether it had a slot before and either started its program or failed."""
        return self.ad.get("CellFailed") is not None or _began_before(self.ad, runs=self.runs)

    @property
    def reruns(self) -> bool:
        """Whether it may be rerun: it was submitted with `-r y`, or without `-r` to a queue with `rerun`."""
        asked = self.ad.get(cell.RERUN)
        return cell.NAME not in self.ad or asked == "y" or (asked != "n" and _reruns(self.ad))

    @property
    def after(self) -> tuple[int, ...]:
        """The jobs that must leave the queue before it starts."""
        return _numbers(self.ad.get(cell.PREDECESSORS))

    @property
    def arrays_after(self) -> tuple[int, ...]:
        """The arrays whose tasks must leave the queue before it starts."""
        return _numbers(self.ad.get(cell.ARRAY_PREDECESSORS))

    @property
    def is_error(self) -> bool:
        """Whether it is in error state."""
        return "E" in self.state

    @property
    def stands_still(self) -> bool:
        """Whether it is suspended."""
        return bool(SUSPENDED_JOB & set(self.state))

    @property
    def order(self) -> tuple[int, int, int]:
        """Its place among tasks of the same priority."""
        return self.submitted, self.job, self.number


def _numbers(listed: Any) -> tuple[int, ...]:
    return tuple(int(word) for word in str(listed or "").split(",") if word)


def tasks_of(rows: Iterable[Mapping[str, Any]]) -> list[Task]:
    """The tasks for rows of the queue."""
    found = list(rows)
    #: For clusters that `qsub` did not submit, the number of the last process.
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
    """First, last and step of the tasks of a job submitted by `qsub`; None for a job without tasks."""
    text = row.get(cell.TASKS)
    if not isinstance(text, str):
        return None
    first, last, step = (int(word) for word in re.split("[-:]", text))
    return first, last, step


def slots_asked(row: Mapping[str, Any]) -> tuple[Range, ...]:
    """The slot ranges that a parallel job requests; none for other jobs."""
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
    """The queue instance that the cell gave the job's task, or its slot if there is none."""
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


def _began_before(row: Mapping[str, Any], *, runs: bool) -> bool:
    return int(row.get("NumJobStarts") or 0) > (1 if runs else 0)


def _state(row: Mapping[str, Any], status: int, holds: str, *, runs: bool) -> str:
    failed = row.get("CellFailed")
    again = "R" if failed in _AGAIN or (_began_before(row, runs=runs) and failed not in _IN_SCRIPTS) else ""
    held = "h" if holds else ""
    match status:
        case JobStatus.HELD:
            error = "" if row.get("HoldReasonCode") in _OF_USERS else "E"
            return of_job(f"{error}{held}{'Rq' if again and not error else 'qw'}")
        case JobStatus.REMOVED:
            return "dr" if runs else "d"
        case JobStatus.SUSPENDED:
            return of_job(f"{held}{again}s")
        case JobStatus.RUNNING | JobStatus.TRANSFERRING_OUTPUT:
            begun, started = row.get("JobCurrentStartExecutingDate"), row.get("JobCurrentStartDate") or 0
            is_there = status != JobStatus.RUNNING or (begun is not None and begun >= started)
            return of_job(f"{held}{again}{'r' if is_there else 't'}")
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
    """The task, with the hold of tasks that wait for other jobs."""
    return replace(task, state=of_job(f"h{task.state}"), holds=f"{task.holds}j")


#: Attributes of a slot that say what suspends its job.
SUSPENDING: Final = ("Activity", cell.SUSPENDERS, cell.JOB_SUSPENDERS)


def suspended(task: Task, slot: Mapping[str, Any]) -> Task:
    """A task with a letter for each kind of cause that suspends it; `slot` is its slot's ad.

    Until the slot's ad shows it suspended, a command counts as the cause.
    """
    if task.status != JobStatus.SUSPENDED:
        return task
    if slot.get("Activity") != "Suspended":
        return task
    of_cell, own = (frozenset(str(slot.get(name) or "").split(",")) - {""} for name in SUSPENDING[1:])
    letters = "s" if cell.JobSuspender.COMMAND in own or not (of_cell or own) else ""
    letters += "S" if of_cell - {cell.Suspender.THRESHOLD} or cell.JobSuspender.POLICY in own else ""
    letters += "T" if cell.Suspender.THRESHOLD in of_cell else ""
    return replace(task, state=of_job(task.state.replace("s", "") + letters))


# -- groups of waiting tasks -----------------------------------------------------------------------------------------


def grouped(tasks: Sequence[Task]) -> Iterator[tuple[Task, str]]:
    """Waiting tasks grouped by job and state: the first task of each group with the numbers of all, in the original
    order."""
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
