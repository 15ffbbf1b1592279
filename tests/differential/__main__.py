"""Random cases in both worlds: ``python -m tests.differential --count 500``, which ``make differential`` calls.

A seed draws a scenario (`tests.differential.cases`). It runs in simulation and on real daemons whose time is
driven, and what slots and jobs do has to be the same (`roost.lab.replay.comparison`). A case in which the worlds
differ is written as a scenario file, so that it can be run, cut down and kept.

What it does not do: excuse anything, but by an entry in `EXCUSED`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from roost.lab.scenario.outcome import Outcome
from roost.lab.worker_pool import RunOptions, WorkerPool
from tests.differential.cases import case_of

#: Seeds whose differences are known and right, each with the reason.
EXCUSED: Final[Mapping[int, str]] = {
    20_017: (
        "a job ends at the instant of a scheduling run, and the run that knows of the end keeps another one suspended "
        "for what it starts: on real daemons the end may be told just after that run, so that the suspended job goes on"
    ),
}
#: How long a case may take, s of real time.
LIMIT_S: Final = 600.0
#: Cases of one call at most.
COUNT_MAX: Final = 100_000


def differing(outcome: Outcome, seed: int) -> bool:
    """Whether a case counts as failed."""
    return bool(outcome.problem or outcome.differences) and seed not in EXCUSED


def shown(outcome: Outcome) -> list[str]:
    """What is different, in lines."""
    lines = [f"  {outcome.problem}"] if outcome.problem else []
    for each in outcome.differences or ():
        lines += [f"  {each.slot}:", *(f"    {line}" for line in each.lines)]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds; 1 if the worlds differ in one."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the first seed (1)")
    parser.add_argument("--count", type=int, default=20, metavar="N", help="number of cases (20)")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="cases at the same time (1)")
    parser.add_argument("--out", default="differences", metavar="DIR", help="where differing cases go (differences)")
    asked = parser.parse_args(arguments)
    if not 0 < asked.count <= COUNT_MAX:
        parser.error(f"--count must be a number from 1 to {COUNT_MAX}")
    failed = 0
    with TemporaryDirectory() as folder, WorkerPool(RunOptions(real=True, limit_s=LIMIT_S), asked.processes) as workers:
        cases = [case_of(seed) for seed in range(asked.seed, asked.seed + asked.count)]
        scenarios = [case.scenario(Path(folder)) for case in cases]
        for case, outcome in zip(cases, workers.outcomes(scenarios, lambda progress: None), strict=True):
            if differing(outcome, case.seed):
                failed += 1
                file = Path(asked.out) / f"case-{case.seed}.toml"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(case.text, encoding="utf-8")
                print(f"seed {case.seed} differs; it is in {file}", *shown(outcome), sep="\n", flush=True)
    noun = "case" if asked.count == 1 else "cases"
    print(f"{asked.count} {noun} from seed {asked.seed}: {failed} differ between simulation and real daemons")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
