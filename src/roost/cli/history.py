"""``roost history``: jobs that have left the queue, newest first."""

from __future__ import annotations

import argparse
import time
from typing import Any, Final

from roost.cli.listing import arguments, duration, print_json, table
from roost.cli.pool_connection import add_pool_options, with_pool
from roost.cli.queue import print_ads
from roost.cli.terminal import Exit
from roost.model.cell_requests import LIMIT_EXCEEDED
from roost.wire.requests import queue

_SHOWN: Final = (
    "ClusterId",
    "ProcId",
    "Owner",
    "QDate",
    "JobStatus",
    "Cmd",
    "Arguments",
    "Args",
    "RemoteWallClockTime",
    "CompletionDate",
    "EnteredCurrentStatus",
    "ExitCode",
    "ExitSignal",
    "ExitBySignal",
    "RemoveReason",
    "CellFailed",
    "CellFailedReason",
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``history``."""
    parser = subparsers.add_parser(
        "history",
        help="list jobs that have left the queue",
        description="List jobs that have left the queue, latest first.",
    )
    add_pool_options(parser)
    parser.add_argument("job", metavar="JOB", nargs="*", help="job (12.0) or cluster (12) (default: all jobs)")
    parser.add_argument("--constraint", metavar="EXPR", help="only jobs for which EXPR is true")
    parser.add_argument("--long", action="store_true", help="whole ads")
    parser.add_argument(
        "-n", "--limit", metavar="N", type=int, default=100, help="at most N jobs; 0 for all (default: 100)"
    )


def run(args: argparse.Namespace) -> int:
    """Run ``history``."""

    projection = () if args.long else tuple(_SHOWN)
    request = queue.History(jobs=tuple(args.job), constraint=args.constraint, projection=projection, limit=args.limit)
    rows = with_pool(args, lambda pool: pool.ask(request))
    if args.json:
        print_json(rows)
    elif args.long:
        print_ads(rows)
    else:
        lines = [
            [
                f"{row.get('ClusterId')}.{row.get('ProcId')}",
                str(row.get("Owner", "")),
                _date(row.get("QDate")),
                duration(float(row.get("RemoteWallClockTime", 0.0))),
                _date(row.get("CompletionDate") or row.get("EnteredCurrentStatus")),
                _end(row),
                f"{str(row.get('Cmd', '')).rpartition('/')[2]} {arguments(row)}".rstrip(),
            ]
            for row in rows
        ]
        table(lines, ["ID", "OWNER", "SUBMITTED", "RUN TIME", "ENDED", "HOW", "CMD"], frozenset({0, 3}))
    return Exit.OK


def _date(at: Any) -> str:
    return time.strftime("%m-%d %H:%M", time.localtime(float(at))) if at else ""


def _end(row: dict[str, Any]) -> str:
    if row.get("JobStatus") == 3:
        return "removed"
    if row.get("CellFailed") == LIMIT_EXCEEDED:
        return f"limit {str(row.get('CellFailedReason', '')).rpartition(': ')[2].partition('=')[0]}"
    if row.get("ExitBySignal"):
        return f"signal {row.get('ExitSignal')}"
    return f"status {row.get('ExitCode', '?')}"
