"""``roost drain``: drain a machine, or cancel a drain."""

from __future__ import annotations

import argparse
from typing import Final

from roost.cli.listing import print_json
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.terminal import Exit, say
from roost.wire.requests.machine import CancelDrain, Drain, Draining
from roost.wire.structs import data_of

#: The speed, as a number of the protocol.
_SCHEDULES: Final = {"graceful": 0, "quick": 10, "fast": 20}
#: What happens to the machine once it is empty.
_THEN: Final = {"nothing": 0, "resume": 1, "exit": 2, "restart": 3, "reconfig": 4}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``drain``."""
    parser = subparsers.add_parser(
        "drain",
        help="drain a machine: its jobs end, and no others start",
        description="Drain a machine: its jobs end, and no others start until --then or --cancel allows them.",
    )
    add_pool_options(parser)
    parser.add_argument("machine", metavar="MACHINE", nargs="?", default="", help="the machine (default: this one)")
    parser.add_argument("--cancel", action="store_true", help="cancel draining: jobs may start again")
    parser.add_argument(
        "--schedule",
        choices=list(_SCHEDULES),
        default="graceful",
        help="graceful: jobs get retirement and vacate time; quick: vacate time; fast: neither (default: graceful)",
    )
    parser.add_argument(
        "--then",
        choices=list(_THEN),
        default="nothing",
        help="what to do with the machine once it is empty (default: nothing)",
    )
    parser.add_argument("--check", metavar="EXPR", help="drain only if EXPR is true for every slot")
    parser.add_argument(
        "--start",
        metavar="EXPR",
        help="only jobs for which EXPR is true may start during the drain, on empty slots and free parts of "
        "others, until the jobs that ran before it have ended",
    )
    parser.add_argument("--reason", metavar="TEXT", default="", help="reason, shown with the machine")
    parser.add_argument("--request-id", metavar="ID", default="", help="cancel only the drain with this request id")


def run(args: argparse.Namespace) -> int:
    """Run ``drain``."""

    def ask(pool: Pool) -> tuple[Draining | None, str]:
        machine = args.machine or str(pool.contact["node"])
        if args.cancel:
            return pool.ask(CancelDrain(request_id=args.request_id), machine=machine), machine
        order = Drain(
            schedule=_SCHEDULES[args.schedule],
            on_completion=_THEN[args.then],
            check=args.check,
            start=args.start,
            reason=args.reason or f"drained by {pool.user}",
        )
        return pool.ask(order, machine=machine), machine

    draining, machine = with_pool(args, ask)
    if args.json:
        print_json({} if draining is None else data_of(draining))
    elif draining is None:
        say(f"{machine} is no longer draining")
    else:
        say(f"{machine} is being drained, request {draining.request_id}; `roost drain --cancel {machine}` stops it")
    return Exit.OK
