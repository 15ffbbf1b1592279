"""How jobs ended: for the summary of ``roost wait``, for ``roost retry`` and the list of ``roost history``."""

from __future__ import annotations

from typing import Any, Final

from roost.base.records import dataclass, field
from roost.cli.listing import counted, job_name
from roost.cli.pool_connection import Pool, Refused
from roost.model.cell_requests import LIMIT_EXCEEDED
from roost.runtime.asking.output import OutputReader
from roost.schedd.status import JobStatus
from roost.wire.requests import queue

#: Attributes that say how a job ended.
SHOWN: Final = (
    "ClusterId", "ProcId", "JobStatus", "ExitCode", "ExitBySignal", "ExitSignal", "RemoveReason", "CellFailed",
    "CellFailedReason", "MemoryUsage", "RequestMemory",
)  # fmt: skip
#: True for jobs that did not end with status 0.
ENDED_BADLY: Final = "JobStatus != 4 || ExitBySignal =?= true || (ExitCode =!= undefined && ExitCode != 0)"
#: Maximum number of ended jobs whose memory is compared with their requests.
_MEASURED_MAX: Final = 10_000
#: Number of failed jobs whose last lines are shown, and number of lines, and characters of each.
_SHOWN_MAX: Final = 5
_LINES: Final = 3
_LINE_CHARS: Final = 300
#: A request at least this many times the usage, and this much larger, MB, is mentioned.
_GENEROUS: Final = 4
_GENEROUS_MB: Final = 512


@dataclass(slots=True, kw_only=True)
class Summary:
    """How the jobs of some clusters ended."""

    ended: int = 0
    #: Job to how it ended, for those that did not end with status 0.
    failed: dict[str, str] = field(default_factory=dict)
    #: Job to the last lines of its standard error, for some of them.
    last_lines: dict[str, list[str]] = field(default_factory=dict)
    #: Maximum memory used by a job, and the largest request of a job, MB; None if nothing was measured.
    memory_mb: int | None = None
    requested_mb: int | None = None

    @property
    def memory_text(self) -> str:
        """The usage compared with the request; "" if nothing was measured."""
        if self.memory_mb is None or self.requested_mb is None:
            return ""
        text = f"memory: at most {self.memory_mb} MB of the {self.requested_mb} MB requested"
        is_generous = self.requested_mb > max(self.memory_mb, 1) * _GENEROUS
        if is_generous and self.requested_mb - self.memory_mb >= _GENEROUS_MB:
            text += "; with a smaller request_memory more machines could run such jobs"
        return text


def summary_of(pool: Pool, jobs: list[str]) -> Summary:
    """How jobs and clusters that have left the queue ended."""
    found = Summary()
    rows = pool.ask(queue.History(jobs=tuple(jobs), projection=SHOWN, limit=_MEASURED_MAX))
    found.ended = len(rows)
    if found.ended == _MEASURED_MAX:
        bad = pool.ask(queue.History(jobs=tuple(jobs), projection=SHOWN, constraint=ENDED_BADLY))
    else:
        bad = [row for row in rows if is_bad(row)]
    bad.sort(key=lambda row: (row["ClusterId"], row["ProcId"]))
    found.failed = {job_name(row): how(row) for row in bad}
    used = [int(row["MemoryUsage"]) for row in rows if isinstance(row.get("MemoryUsage"), int | float)]
    asked = [int(row["RequestMemory"]) for row in rows if isinstance(row.get("RequestMemory"), int | float)]
    if used and asked:
        found.memory_mb, found.requested_mb = max(used), max(asked)
    ran = [row for row in bad if row.get("JobStatus") != JobStatus.REMOVED]
    for row in ran[:_SHOWN_MAX]:
        name = job_name(row)
        lines = _last_lines(pool, name)
        if lines:
            found.last_lines[name] = lines
    return found


def _last_lines(pool: Pool, job: str) -> list[str]:
    """The last lines of a job's standard error; none if it may not be read, or is empty."""
    try:
        reader = OutputReader(pool, job, "err", {})
        reader.skip_to_last(_LINES)
        text = reader.next().decode("utf-8", "replace")
    except Refused:
        return []
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return [line[:_LINE_CHARS] for line in lines[-_LINES:]]


def is_bad(row: dict[str, Any]) -> bool:
    """Whether a job that has left did not end with status 0."""
    return row.get("JobStatus") != JobStatus.COMPLETED or row.get("ExitBySignal") is True or bool(row.get("ExitCode"))


def how(row: dict[str, Any]) -> str:
    """How a job that did not end with status 0 ended: ``ended with status 3``."""
    if row.get("JobStatus") == JobStatus.REMOVED:
        return f"was removed: {row.get('RemoveReason', '')}".rstrip(": ")
    if row.get("CellFailed") == LIMIT_EXCEEDED:
        return f"was killed: {row.get('CellFailedReason', '')}"
    if row.get("ExitBySignal"):
        return f"was killed by signal {row.get('ExitSignal', '?')}"
    return f"ended with status {row.get('ExitCode', '?')}"


def told(summary: Summary, held: dict[str, str], most: int) -> list[str]:
    """The lines of a summary, with at most `most` held jobs and as many failed ones."""
    lines = [f"job {job} is on hold: {reason}" for job, reason in list(held.items())[:most]]
    for job, text in list(summary.failed.items())[:most]:
        lines.append(f"job {job} {text}")
        lines += [f"    {line}" for line in summary.last_lines.get(job, ())]
    more = max(0, len(held) - most) + max(0, len(summary.failed) - most)
    if more:
        lines.append(f"and {more} more; `roost queue --held` and `roost history` list them")
    if summary.ended > 1 or summary.failed:
        fine = summary.ended - len(summary.failed)
        count = f"{counted(summary.ended, 'job')} ended" if summary.ended < _MEASURED_MAX else "the jobs have ended"
        parts = [count + (f", {fine} of them with status 0" if 0 < fine < summary.ended else "")]
        parts += [summary.memory_text] if summary.memory_text else []
        lines.append("; ".join(parts))
    if summary.failed:
        clusters = dict.fromkeys(job.partition(".")[0] for job in summary.failed)
        lines.append(f"`roost logs JOB` shows what a job printed, `roost retry {' '.join(clusters)}` runs them again")
    return lines
