"""Many fault runs at once: ``python -m tests.faults --seed 1 --count 1000``, which ``make sim`` calls.

Each seed is a world of its own in which messages and daemons are lost (`tests.faults.run`); worlds are spread over
processes. A seed that fails is told at once, with what was violated and the line that runs it again. The result does
not depend on the number of processes, nor on their order: a seed's digest is its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Final

from roost.lab.progress_line import ProgressLine
from tests.faults.cells import world_of
from tests.faults.run import SeedOutcome, run_seed

#: Seeds of one call at most.
COUNT_MAX: Final = 1_000_000
#: Failures that are reported in full.
TOLD_MAX: Final = 20
#: Seeds that are handed out before the first of them has to be done.
_AHEAD: Final = 8


def attempt(seed: int) -> SeedOutcome:
    """The outcome of a seed. Whatever is raised is a mistake, and a failure of that seed alone."""
    try:
        return run_seed(seed, draw=world_of)
    except Exception:
        problems = (traceback.format_exc(),)
    return SeedOutcome(
        seed=seed, layout="?", policy="?", digest="", problems=problems, mishaps=0, transitions=Counter()
    )


def outcomes(seeds: Sequence[int], processes: int) -> Iterator[SeedOutcome]:
    """The outcomes of seeds, in whatever order they come."""
    if processes == 1 or len(seeds) == 1:
        yield from map(attempt, seeds)
        return
    # Processes are started afresh, so that none inherits what a thread of the parent was about to do.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        todo = iter(seeds)
        waiting = {pool.submit(attempt, seed) for seed, _ in zip(todo, range(processes * _AHEAD), strict=False)}
        while waiting:
            done = next(as_completed(waiting))
            waiting.discard(done)
            for seed in todo:
                waiting.add(pool.submit(attempt, seed))
                break
            yield done.result()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; the exit code: 1 if a seed failed, 2 for bad usage."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the first seed (1)")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="number of seeds (1000)")
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of worlds to run at a time (default: number of cores)",
    )
    args = parser.parse_args(arguments)
    if not 1 <= args.count <= COUNT_MAX or not 1 <= args.processes <= 256:
        parser.error(f"--count must be from 1 to {COUNT_MAX}, and --processes from 1 to 256")
    try:
        return _run(range(args.seed, args.seed + args.count), args.processes)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


def _run(seeds: range, processes: int) -> int:
    begun = time.monotonic()
    transitions: Counter[str] = Counter()
    failed: list[int] = []
    mishaps = 0
    shown = ProgressLine()
    for done, outcome in enumerate(outcomes(seeds, processes), 1):
        transitions += outcome.transitions
        mishaps += outcome.mishaps
        if outcome.problems:
            failed.append(outcome.seed)
            shown.clear()
            _tell(outcome, in_full=len(failed) <= TOLD_MAX)
        shown.show(done / len(seeds), f"{done:,} of {len(seeds):,}, {len(failed):,} failed")
    shown.clear()
    _summarise(seeds, failed, mishaps, transitions, time.monotonic() - begun)
    return 1 if failed else 0


def _tell(outcome: SeedOutcome, *, in_full: bool) -> None:
    print(outcome)
    for problem in outcome.problems if in_full else ():
        print("    " + problem.rstrip().replace("\n", "\n    "))
    print(f"    rerun it with: {outcome.command}", flush=True)


def _summarise(seeds: range, failed: list[int], mishaps: int, transitions: Counter[str], took_s: float) -> None:
    rate = len(seeds) / took_s if took_s > 0 else 0.0
    print(f"{len(seeds):,} seeds from {seeds[0]} in {took_s:,.1f} s ({rate:,.1f} a second)")
    print(f"{mishaps:,} mishaps; {sum(transitions.values()):,} transitions of {len(transitions)} kinds")
    if failed:
        listed = ", ".join(map(str, sorted(failed)[:TOLD_MAX])) + (", …" if len(failed) > TOLD_MAX else "")
        print(f"FAILED: {len(failed):,} seeds: {listed}")
    else:
        print("no invariant was violated, and every world recovered")
