"""The Standard Workload Format of the parallel workloads archive: recorded jobs, one a line, 18 numbers each.

Used are: 1 job number, 2 submit time, 4 run time, 5 processors, 7 used memory (KB a processor), 8 processors asked
for, 10 memory asked for, 11 status, 12 user. What the run time asked for (9) says goes into the ad as
JobMaxRunTime; the true one does not. Comment lines begin with a semicolon.

What it does not do: dependencies between jobs (17, 18), queues and partitions (15, 16).
"""

from __future__ import annotations

from roost.sim.workload import Job, Truth, make_job

#: Numbers on a line.
FIELDS = 18


class WorkloadProblem(ValueError):
    """A workload that can't be read, with the place and what to do."""


def read_swf(text: str, start: float, *, file: str = "<swf>", jobs_max: int | None = None) -> list[Job]:
    """The jobs of a file, submitted relative to `start`; those that never ran are left out."""
    jobs: list[Job] = []
    first: float | None = None
    for line_number, line in enumerate(text.splitlines(), 1):
        words = line.split(";", 1)[0].split()
        if not words:
            continue
        numbers = _numbers(words, f"{file}:{line_number}")
        if numbers[3] <= 0:
            continue
        first = numbers[1] if first is None else first
        jobs.append(_job(numbers, start + max(0.0, numbers[1] - first)))
        if jobs_max is not None and len(jobs) >= jobs_max:
            break
    return sorted(jobs, key=lambda job: (job.submitted_at, job.ad["ClusterId"]))


def _numbers(words: list[str], place: str) -> list[float]:
    if len(words) < FIELDS:
        raise WorkloadProblem(f"{place}: {len(words)} numbers where the format has {FIELDS}; -1 stands for unknown")
    try:
        return [float(word) for word in words[:FIELDS]]
    except ValueError:
        raise WorkloadProblem(f"{place}: every field must be a number; -1 stands for unknown") from None


def _job(numbers: list[float], at: float) -> Job:
    cpus = max(1, int(numbers[7] if numbers[7] > 0 else numbers[4]))
    memory_kb = numbers[9] if numbers[9] > 0 else numbers[6]
    memory_mb = max(1, round(memory_kb * cpus / 1024)) if memory_kb > 0 else 128
    attributes: dict[str, object] = {
        "RequestCpus": cpus,
        "RequestMemory": memory_mb,
        "ImageSize": int(memory_kb * cpus) if memory_kb > 0 else 128 * 1024,
    }
    if numbers[8] > 0:
        attributes["JobMaxRunTime"] = int(numbers[8])
    owner = f"user{int(numbers[11])}" if numbers[11] >= 0 else "unknown"
    kind = f"{owner}/{cpus}/{memory_mb}"
    return make_job(int(numbers[0]), owner, at, Truth(run_s=numbers[3]), attributes, kind)
