"""``roost story job ID`` and ``roost story slot NAME``: what has happened, in order, with the reasons.

`roost.runtime.asking` collects the data, `roost.explain.story` sorts it, and this module prints it.
"""

from __future__ import annotations

import argparse

from roost.cli.colour import painted
from roost.cli.happenings import lines
from roost.cli.listing import print_json
from roost.cli.pool_connection import add_pool_options, with_pool
from roost.cli.terminal import Exit, complain, say
from roost.runtime.asking.story import job_happenings, slot_happenings


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``story``."""
    parser = subparsers.add_parser(
        "story", help="show what happened to a job or a slot", description="Show what happened, in order, and why."
    )
    kinds = parser.add_subparsers(dest="kind", metavar="COMMAND", title="commands", required=True)
    job = kinds.add_parser("job", help="a job", description="Show what happened to a job, and why.")
    add_pool_options(job)
    job.add_argument("name", metavar="JOB", help="job (12.0), or cluster (12) of one job")
    slot = kinds.add_parser("slot", help="a slot", description="Show what happened to a slot, and why.")
    add_pool_options(slot)
    slot.add_argument("name", metavar="SLOT", help="slot (slot1@host, or slot1 for this machine), or a machine")
    for each in (job, slot):
        each.add_argument(
            "-n",
            "--limit",
            metavar="N",
            type=int,
            default=200,
            help="show only the last N events; 0 for all (default: 200)",
        )


def run(args: argparse.Namespace) -> int:
    """Run ``story``."""
    told = with_pool(
        args,
        lambda pool: (
            job_happenings(pool, args.name) if args.kind == "job" else slot_happenings(pool, args.name, args.limit)
        ),
    )
    found = told[-args.limit or None :]
    if args.json:
        print_json([each.data() for each in found])
        return Exit.OK if found else Exit.NO
    wide = max((len(each.who) for each in found), default=0)
    for each in found:
        first, *rest = lines(each, wide=wide)
        say(painted(first, "bold" if each.kind == "job" else ""))
        for line in rest:
            say(painted(line, "dim"))
    if not found:
        complain(f"nothing is on record about {args.kind} {args.name}")
    return Exit.OK if found else Exit.NO
