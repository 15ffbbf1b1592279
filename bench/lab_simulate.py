"""A large run of the lab: 1,000 desktops, 7 days, 20,000 jobs, in a process of its own for its memory.

The ratios are those of what is wanted to what is measured: a run that takes half the time has 2.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench.measure import Row

MACHINES = 1_000
DAYS = 7.0
JOBS = 20_000
#: What is wanted of the whole run on one core, and of its memory.
WANTED_S = 60.0
WANTED_MB = 1_000.0
POLICY = "use POLICY : Desktop\n"


def run(*, quick: bool) -> Iterator[Row]:
    """Time and memory; nothing in a quick run, for which it takes too long."""
    if quick:
        return
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        seconds, megabytes, completed, problems = pool.submit(measured).result()
    assert not problems, problems
    what = "(f) 1,000 desktops, 7 days, 20,000 jobs"
    yield Row(
        name=f"{what}: time",
        ratio=WANTED_S / seconds,
        wanted=1,
        detail=f"{seconds:,.1f} s of one core, wanted are {WANTED_S:g}; {completed:,} jobs completed, classic policy",
        bound="steps of slots and starters: sensing, evaluating policy, predicting when it changes",
    )
    yield Row(
        name=f"{what}: memory",
        ratio=WANTED_MB / megabytes,
        wanted=1,
        detail=f"{megabytes:,.0f} MB resident at most, wanted are {WANTED_MB:,.0f}",
        bound="ads of jobs, and records of what is to come",
    )


def measured() -> tuple[float, float, int, tuple[str, ...]]:
    """Seconds of the core, most memory in MB, completed jobs and violated invariants of the run."""
    from roost.config import MemoryHost
    from roost.lab.simulate import Request, plan_of
    from roost.sim.world import World

    begun = time.process_time()
    host = MemoryHost(files={"/desktop": POLICY})
    plan = plan_of(Request(configs=("/desktop",), machines=MACHINES, days=DAYS, jobs=JOBS), host)
    outcome = World(plan).run()
    seconds = time.process_time() - begun
    scale = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6
    return seconds, most, outcome.summary["jobs_completed"], outcome.problems
