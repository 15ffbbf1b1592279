"""The Standard Workload Format of the parallel workloads archive: recorded jobs, one per line, 18 numbers each.

The fields used are: 1 job number, 2 submit time, 4 run time, 5 processors, 7 used memory (KB per processor), 8
processors requested, 10 memory requested, 12 user. The requested run time (9) goes into the ad as JobMaxRunTime; the
actual one does not. Comment lines begin with a semicolon. A job requests a slot with as many cores as it has
processors.

It does not support dependencies between jobs (17, 18), queues and partitions (15, 16).
"""

from __future__ import annotations

import math
from typing import Final

from roost.base.records import dataclass
from roost.classad import Expr, parse_expression
from roost.sim.inputs.workload import ENOUGH, Job, Truth, make_job

#: Names of the fields of a line.
_NAMES: Final = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "processors",
    "CPU time",
    "memory",
    "processors asked for",
    "time asked for",
    "memory asked for",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
#: Number of fields of a line.
FIELDS: Final = len(_NAMES)
#: Maximum value of any field.
NUMBER_MAX: Final = 1e12
_CORES: Final = parse_expression(f"TARGET.Cpus >= RequestCpus && {ENOUGH}")


class WorkloadProblem(ValueError):
    """A workload that cannot be read, with the place and what to do."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The contents of a file."""

    #: In the order of their arrival.
    jobs: list[Job]
    #: Number of jobs in the file that never ran: cancelled before they began, or without a run time.
    never_ran: int
    #: Remarks on a submit file, such as on a line without effect.
    warnings: tuple[str, ...] = ()


def read_swf(text: str, start: float, *, file: str = "<swf>") -> Recorded:
    """The jobs of a file, submitted relative to `start`. Raises WorkloadProblem."""
    lines = (line.split(";", 1)[0].split() for line in text.splitlines())
    rows = [_numbers(words, f"{file}:{number}") for number, words in enumerate(lines, 1) if words]
    first = min((row[1] for row in rows), default=0.0)
    jobs = [_job(row, start + row[1] - first) for row in rows if row[3] > 0]
    jobs.sort(key=lambda job: (job.submitted_at, job.ad["ClusterId"]))
    return Recorded(jobs, len(rows) - len(jobs))


def _numbers(words: list[str], place: str) -> list[float]:
    if len(words) < FIELDS:
        raise WorkloadProblem(
            f"{place}: {len(words)} {'number' if len(words) == 1 else 'numbers'} where the format has {FIELDS};"
            " -1 stands for unknown, and ; begins a comment"
        )
    numbers = [_number(word, index, place) for index, word in enumerate(words[:FIELDS])]
    if numbers[1] < 0:
        raise WorkloadProblem(f"{place}: field 2 (submit time) must be known and not negative; found {words[1]}")
    return numbers


def _number(word: str, index: int, place: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not abs(value) <= NUMBER_MAX:
        what = f"field {index + 1} ({_NAMES[index]})"
        raise WorkloadProblem(f"{place}: {what} must be a number, -1 where it is unknown; found {word[:40]!r}")
    return value


def _job(numbers: list[float], at: float) -> Job:
    cpus = max(1, int(numbers[7] if numbers[7] > 0 else numbers[4]))
    memory_kb = numbers[9] if numbers[9] > 0 else numbers[6]
    memory_mb = max(1, round(memory_kb * cpus / 1024)) if memory_kb > 0 else 128
    attributes: dict[str, object | Expr] = {
        "RequestCpus": cpus,
        "RequestMemory": memory_mb,
        "ImageSize": int(memory_kb * cpus) if memory_kb > 0 else 128 * 1024,
    }
    if cpus > 1:
        attributes["Requirements"] = _CORES
    if numbers[8] > 0:
        attributes["JobMaxRunTime"] = int(numbers[8])
    owner = f"user{int(numbers[11])}" if numbers[11] >= 0 else "unknown"
    kind = f"{owner}/{cpus}/{memory_mb}"
    return make_job(int(numbers[0]), owner, at, Truth(run_s=numbers[3]), attributes, kind)
