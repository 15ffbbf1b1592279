"""``python -m tests.conformance --cases N --seed S``: compare N generated cases with the reference library."""

from __future__ import annotations

import argparse
import sys
import time

from tests.conformance.cases import Case
from tests.conformance.differences import too_frequent
from tests.conformance.oracle import Oracle, available
from tests.conformance.run import Report, chunk, run_in_zones, smallest


def main() -> int:
    """Run, print a chunk for each disagreement, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, metavar="N", help="how many cases")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the first case")
    parser.add_argument("--jobs", type=int, default=None, metavar="J", help="processes; default: one a core")
    parser.add_argument("--show", type=int, default=20, metavar="K", help="disagreements to print")
    parser.add_argument("--shrink", action=argparse.BooleanOptionalAction, default=True, help="make them small")
    options = parser.parse_args()
    reason = available()
    if reason is not None:
        print(f"skipped: {reason}")
        return 0
    started = time.monotonic()
    report = Report()
    try:
        for part in run_in_zones(range(options.seed, options.seed + options.cases), jobs=options.jobs):
            report.add(part)
            for seed, found in part.mismatches:
                print(f"\rseed {seed} differs in {found.observation}", file=sys.stderr)
            print(f"\r{report.cases} cases, {len(report.mismatches)} differ", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(" stopped", end="", file=sys.stderr)
    print(file=sys.stderr)
    # Where the zone matters, a case found in the other one is shown as it is.
    with Oracle() as oracle:
        shown: set[Case] = set()
        for seed, mismatch in sorted(report.mismatches, key=lambda found: found[0]):
            if len(shown) >= options.show:
                break
            found = smallest(mismatch, oracle) if options.shrink else mismatch
            if found.case not in shown:
                shown.add(found.case)
                print(chunk(seed, found))
    print(
        f"{report.cases} cases in {time.monotonic() - started:.0f} s: {len(report.mismatches)} differ, "
        f"{len(report.crashes)} crashed the reference"
    )
    for name, count in sorted(report.explained.items()):
        print(f"    {count} explained by {name}, {count / report.cases:.3%}")
    frequent = too_frequent(report.explained, report.cases)
    for complaint in frequent:
        print(f"    too often: {complaint}")
    return 1 if report.mismatches or frequent else 0


if __name__ == "__main__":
    sys.exit(main())
