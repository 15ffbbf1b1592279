"""Jobs of a simulated pool: what policy may know of them, and separately what will really happen.

A `Job` is what is submitted: its ad. A `Truth` is how long it really runs and what it can save, and only the simulated
processes (`process`) read it. Workloads come from a Standard Workload Format file (`swf`) or are generated: a mix is a
list of kinds with weights, arriving as a Poisson process whose rate follows the day.

Run times are log-normal, like those of recorded workloads: most jobs are short, most of the time is spent in the long
ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from random import Random
from typing import Final

from roost.base.records import dataclass, replace
from roost.classad import ClassAd, parse_expression
from roost.schedd.job_policy.expressions import PERIODIC_ATTRIBUTES
from roost.sim.inputs.owners import DAY_S, HOUR_S

#: Requirements of a job that sets none: the slot is large enough.
ENOUGH: Final = parse_expression("TARGET.Memory >= RequestMemory && TARGET.Disk >= RequestDisk")


#: Attributes whose texts are expressions.
_EXPRESSIONS: Final = PERIODIC_ATTRIBUTES | {
    "requirements", "rank", "onexithold", "onexitremove", "leavejobinqueue",
}  # fmt: skip

_SIZE: Final = ((0.0, 64 * 1024),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Facts that no policy sees."""

    #: Run time of the job on an otherwise unused machine, s.
    run_s: float
    #: Whether a soft kill lets it save its work.
    checkpoints: bool = False
    #: Time from a soft kill to its end, s.
    farewell_s: float = 5.0
    #: It ignores a soft kill.
    ignores_soft_kill: bool = False
    #: Time from a hard kill to its end, s.
    death_s: float = 1.0
    exit_code: int = 0
    #: For its first ends, in order, the outcome instead of that.
    exit_codes: tuple[int, ...] = ()
    #: Virtual size over run time: (s, KiB), interpolated linearly between two points, and constant after the last.
    #: Without points, it has the ImageSize of its ad.
    memory: tuple[tuple[float, int], ...] = ()
    #: Fraction of it that is resident.
    resident_share: float = 0.9
    #: Size of its sandbox, KiB.
    disk_kb: int = 512
    #: Run time after which it exits to have its state saved, with that code, s; None if it never does.
    exits_to_save_s: float | None = None
    save_code: int = 85
    #: Time to transfer input and output, s.
    input_s: float = 0.0
    output_s: float = 0.0

    def image_kb(self, run_s: float) -> int:
        """Virtual size after that time, KiB."""
        points = self.memory or _SIZE
        after = next((index for index, (at, _) in enumerate(points) if at > run_s), len(points))
        if after == len(points) or after == 0:
            return points[after - 1][1] if after else points[0][1]
        (begin, low), (end, high) = points[after - 1], points[after]
        return int(low + (high - low) * (run_s - begin) / (end - begin))

    def sizes_change_in(self, run_s: float) -> float:
        """For how much longer its size stays the same, s of run time."""
        points = self.memory
        for (begin, low), (end, high) in pairwise(points):
            if low != high and run_s < end:
                return max(0.0, begin - run_s)
        return math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as submitted."""

    #: ``cluster.proc``.
    name: str
    owner: str
    submitted_at: float
    ad: ClassAd
    truth: Truth
    #: Jobs with the same value are the same to a matcher.
    kind: str
    #: Clusters of an owner with the same value are submitted together, if they arrive at the same time; "": each alone.
    submission: str = ""

    def again(self, exits: int) -> Job:
        """The job for its next run, after it has ended by itself that many times."""
        if exits >= len(self.truth.exit_codes):
            return self
        return replace(self, truth=replace(self.truth, exit_code=self.truth.exit_codes[exits]))


def make_job(
    number: int,
    owner: str,
    submitted_at: float,
    truth: Truth,
    attributes: Mapping[str, object],
    kind: str,
    *,
    proc: int = 0,
) -> Job:
    """Job `proc` of cluster `number`, with the attributes that every queue writes, overridden by `attributes`."""
    ad = ClassAd(
        {
            "MyType": "Job",
            "ClusterId": number,
            "ProcId": proc,
            "GlobalJobId": f"sim#{number}.{proc}",
            "Owner": owner,
            "User": f"{owner}@sim",
            "QDate": int(submitted_at),
            "JobUniverse": 5,
            "ImageSize": 64 * 1024,
            "RequestCpus": 1,
            "RequestMemory": 128,
            "RequestDisk": 1024,
            "JobLeaseDuration": 2400,
            "NiceUser": False,
            "ShouldTransferFiles": "NO",
        }
    )
    ad.put("Requirements", ENOUGH)
    for name, value in attributes.items():
        if isinstance(value, str) and name.lower() in _EXPRESSIONS:
            ad.set(name, value)
        else:
            ad[name] = value
    size = ad.eval("ImageSize")
    if not truth.memory and isinstance(size, int):
        truth = replace(truth, memory=((0.0, size),))
    return Job(
        name=f"{number}.{proc}",
        owner=owner,
        submitted_at=submitted_at,
        ad=ad,
        truth=truth,
        kind=kind,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """One kind of job in a mix."""

    name: str
    weight: float
    #: Median run time, s, and the spread of its logarithm.
    median_s: float
    spread: float
    memory_mb: int = 128
    image_kb: int = 64 * 1024
    universe: int = 5
    checkpoints: bool = False
    owners: tuple[str, ...] = ("ada", "ben", "cyd", "dee")


#: Mixes by name.
MIXES: Final[Mapping[str, tuple[JobKind, ...]]] = {
    "desktop": (
        JobKind(name="short", weight=5, median_s=12 * 60, spread=0.9),
        JobKind(name="long", weight=3, median_s=2 * HOUR_S, spread=0.8, memory_mb=512, image_kb=300 * 1024),
        JobKind(name="saving", weight=2, median_s=5 * HOUR_S, spread=0.6, memory_mb=512, universe=1, checkpoints=True),
    ),
    "short": (JobKind(name="short", weight=1, median_s=10 * 60, spread=0.8),),
    "long": (JobKind(name="long", weight=1, median_s=8 * HOUR_S, spread=0.6, memory_mb=1024, image_kb=600 * 1024),),
    "saving": (JobKind(name="saving", weight=1, median_s=6 * HOUR_S, spread=0.6, universe=1, checkpoints=True),),
}

#: Maximum generated run time, s.
RUN_S_MAX: Final = 3 * DAY_S


def generated(chance: Random, mix: str, count: int, start: float, days: float) -> list[Job]:
    """`count` jobs of a mix that arrive within `days`, in the order of their arrival."""
    kinds = MIXES.get(mix)
    if kinds is None:
        raise ValueError(f"there is no mix {mix!r}; there are: {', '.join(MIXES)}")
    arrivals = sorted(start + float(int(_arrival(chance, days))) for _ in range(count))
    jobs = []
    for number, at in enumerate(arrivals, 1):
        kind = chance.choices(kinds, [each.weight for each in kinds])[0]
        run_s = min(RUN_S_MAX, max(10.0, kind.median_s * math.exp(chance.gauss(0, kind.spread))))
        truth = Truth(
            run_s=float(round(run_s)),
            checkpoints=kind.checkpoints,
            farewell_s=float(chance.randrange(5, 60) if kind.checkpoints else chance.randrange(1, 5)),
        )
        attributes = {
            "RequestMemory": kind.memory_mb,
            "ImageSize": kind.image_kb,
            "JobUniverse": kind.universe,
            "WantCheckpoint": kind.checkpoints,
        }
        owner = chance.choice(kind.owners)
        jobs.append(make_job(number, owner, at, truth, attributes, f"{kind.name}/{owner}"))
    return jobs


def _arrival(chance: Random, days: float) -> float:
    """An instant within the days: three times as many jobs are submitted in the afternoon as at night."""
    while True:
        at = chance.random() * days * DAY_S
        if chance.random() < 0.5 - 0.25 * math.cos((at / HOUR_S - 3) / 24 * 2 * math.pi) + 0.25:
            return at
