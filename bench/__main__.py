"""``python -m bench [--quick] [--json]``: every benchmark, as ratios within this run."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from bench import accounting, cell_pool, classad_scalar, classad_vector, gridengine, lab_simulate, negotiation, pool
from bench.measure import Row


def main() -> int:
    """Run, print, and exit with 1 if a wanted ratio was missed."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a look")
    parser.add_argument("--json", action="store_true", help="one JSON object per row")
    arguments = parser.parse_args()
    try:
        classad_scalar.reference()
    except ImportError:
        print("bench: the reference library (PyPI package htcondor) is not installed on this machine", file=sys.stderr)
        return 2
    missed = 0
    for room in (classad_scalar, classad_vector, lab_simulate, negotiation, gridengine, accounting, pool, cell_pool):
        for row in room.run(quick=arguments.quick):
            missed += not row.met
            print(json.dumps(asdict(row)) if arguments.json else _line(row), flush=True)
    return 1 if missed else 0


def _line(row: Row) -> str:
    ratio = "" if row.ratio is None else f"{row.ratio:,.2f} x" if row.ratio < 100 else f"{row.ratio:,.0f} x"
    wanted = "" if row.wanted is None else f"  (wanted {row.wanted:g} x: {'met' if row.met else 'MISSED'})"
    lines = [f"{row.name:<48} {ratio:>10}{wanted}", f"    {row.detail}"]
    if row.bound:
        lines.append(f"    bound: {row.bound}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
