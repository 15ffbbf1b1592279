"""Compare a range of seeds, in several processes, and report what differs."""

from __future__ import annotations

import faulthandler
import os
import resource
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Final

from tests.conformance import adtest
from tests.conformance.cases import Case, Kind
from tests.conformance.comparison import Mismatch, batches, compare_all
from tests.conformance.drawing import DEFAULTS, Settings
from tests.conformance.generators import case_of, unstable
from tests.conformance.oracle import Oracle
from tests.conformance.ours import UTC, use_zone
from tests.conformance.shrink import shrink

#: A zone with summer time, west of UTC.
OTHER_ZONE: Final = "America/New_York"
#: Cases sent to the reference at a time.
BATCH_CASES: Final = 500
#: Cases of one task of a worker process.
TASK_CASES: Final = 10_000
#: Address space of a worker process.
MEMORY_BYTES_MAX: Final = 3 * 1024**3
#: Mismatches that one task keeps; one would do to fail.
KEPT_MAX: Final = 20


@dataclass(slots=True, kw_only=True)
class Report:
    """What a run found."""

    #: Cases compared.
    cases: int = 0
    #: Cases that crashed the reference.
    crashes: list[Case] = field(default_factory=list)
    #: Disagreements, by seed.
    mismatches: list[tuple[int, Mismatch]] = field(default_factory=list)
    #: How many observations each intended difference explained.
    explained: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        """Take up what another run found."""
        self.cases += other.cases
        self.crashes += other.crashes
        self.mismatches += other.mismatches
        self.explained += other.explained


def run(seeds: range, settings: Settings = DEFAULTS) -> Report:
    """Compare the cases of `seeds` in this process and one child."""
    report = Report()
    seed = iter(seeds)
    with Oracle() as oracle:
        for cases in batches(seeds, BATCH_CASES, lambda number: case_of(number, settings)):
            for found in compare_all(cases, oracle, report.explained):
                number = next(seed)
                if found is not None and len(report.mismatches) < KEPT_MAX:
                    report.mismatches.append((number, found))
            report.cases += len(cases)
        report.crashes += oracle.crashes
    return report


def run_parallel(
    seeds: range, settings: Settings = DEFAULTS, jobs: int | None = None, zone: str = UTC
) -> Iterator[Report]:
    """Compare the cases of `seeds` in `jobs` processes (None: one a core); yields a report for each part."""
    parts = [seeds[start : start + TASK_CASES] for start in range(0, len(seeds), TASK_CASES)]
    workers = jobs or os.cpu_count()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_prepare, initargs=(zone,)) as pool:
        futures = {pool.submit(run, part, settings): part for part in parts}
        for done in as_completed(futures):
            try:
                yield done.result()
            except BrokenProcessPool as error:
                unfinished = [part for future, part in futures.items() if not future.done() or future is done]
                raise RuntimeError(f"a case ended our own process; its seed is in one of {unfinished}") from error


def run_in_zones(seeds: range, jobs: int | None = None) -> Iterator[Report]:
    """Compare the cases of `seeds`, the last tenth of them in another zone than UTC."""
    border = len(seeds) - len(seeds) // 10
    yield from run_parallel(seeds[:border], jobs=jobs)
    yield from run_parallel(seeds[border:], jobs=jobs, zone=OTHER_ZONE)


def _prepare(zone: str) -> None:
    use_zone(zone)
    faulthandler.enable()
    # A case that needs more shows as a MemoryError with its seed, and does not stop the machine.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


def smallest(mismatch: Mismatch, oracle: Oracle) -> Mismatch:
    """The mismatch of the smallest case found that fails on the same kind of observation."""
    kind = mismatch.observation.split()[0]
    best = mismatch

    def fails(case: Case) -> bool:
        nonlocal best
        if unstable(case):
            return False
        found = compare_all([case], oracle)[0]
        if found is None or found.observation.split()[0] != kind:
            return False
        best = found
        return True

    shrink(mismatch.case, fails)
    return best


def chunk(seed: int, mismatch: Mismatch) -> str:
    """A mismatch as text: a comment and a chunk for tests/language, with the reference's answer."""
    rule = f"seed {seed}, {mismatch.case.kind.value}: {mismatch.observation}\nours:      {mismatch.ours}\n"
    rule += f"reference: {mismatch.theirs}"
    case = mismatch.case
    if case.kind is Kind.MATCH:
        rule += f"\nmy: {case.my}\ntarget: {case.target}"
        return adtest.write(Case(kind=Kind.EXPRESSION, text=""), rule)
    return adtest.write(case, rule)
