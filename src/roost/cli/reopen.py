"""``roost reopen``: reopen slots that a failed prolog or epilog has closed."""

from __future__ import annotations

import argparse

from roost.cli.listing import print_json
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.terminal import Exit, say
from roost.wire.requests.machine import Reopen


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``reopen``."""
    parser = subparsers.add_parser(
        "reopen",
        help="reopen slots that a failed prolog or epilog has closed",
        description="Reopen slots that were closed because their prolog or epilog failed, so that they accept "
        "jobs again.",
    )
    add_pool_options(parser)
    parser.add_argument(
        "slot", metavar="SLOT", help="slot (slot1@host, or slot1 for this machine), or a machine for all of its slots"
    )


def run(args: argparse.Namespace) -> int:
    """Run ``reopen``."""

    def ask(pool: Pool) -> list[str]:
        own = str(pool.contact["node"])
        name, at, machine = args.slot.partition("@")
        if not at and not name.lower().startswith("slot"):
            name, machine = "", name
        machine = machine or own
        return list(pool.ask(Reopen(slot=f"{name}@{machine}" if name else ""), machine=machine).slots)

    opened = with_pool(args, ask)
    if args.json:
        print_json({"slots": opened})
    else:
        say("\n".join(f"{name} accepts jobs again" for name in opened) or "none of these slots is closed")
    return Exit.OK if opened else Exit.NO
