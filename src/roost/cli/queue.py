"""``roost queue``: the jobs in the queue."""

from __future__ import annotations

import argparse
import time
from typing import Any, Final

from roost.cli.pool import Pool, add_pool_options, duration, print_json, table, with_pool
from roost.cli.terminal import Exit, say, width

_LETTERS: Final = "?IRXCH>S"
#: What the listing needs of each job.
_SHOWN: Final = (
    "ClusterId",
    "ProcId",
    "Owner",
    "QDate",
    "JobStatus",
    "JobPrio",
    "Cmd",
    "Arguments",
    "Args",
    "ShadowBday",
    "RemoteWallClockTime",
    "RemoteHost",
    "HoldReason",
    "JobBatchName",
    "ImageSize",
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``queue``."""
    parser = subparsers.add_parser(
        "queue", help="list the jobs in the queue", description="List the jobs in the queue."
    )
    add_pool_options(parser)
    parser.add_argument("job", nargs="*", help="job (12.0), cluster (12) or user; all jobs where none is named")
    parser.add_argument("--constraint", metavar="EXPR", help="jobs for which this is true")
    parser.add_argument("--held", action="store_true", help="held jobs with the reasons")
    parser.add_argument("--running", action="store_true", help="running jobs with their machines")
    parser.add_argument("--long", action="store_true", help="whole ads")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=0, help="no more than N jobs")
    parser.add_argument("--attributes", metavar="NAMES", help="only these attributes, separated by commas")


def run(args: argparse.Namespace) -> int:
    """Run ``queue``."""
    jobs = [each for each in args.job if each[:1].isdigit()]
    owners = [each for each in args.job if not each[:1].isdigit()]
    constraint = args.constraint
    if args.held:
        constraint = f"JobStatus == 5 && ({constraint or 'true'})"
    if args.running:
        constraint = f"(JobStatus == 2 || JobStatus == 6 || JobStatus == 7) && ({constraint or 'true'})"
    named = [name.strip() for name in args.attributes.split(",")] if args.attributes else []
    projection: list[str] = [] if args.long else named or list(_SHOWN)

    async def ask(pool: Pool) -> tuple[list[dict[str, Any]], str]:
        rows = await pool.schedd(
            "query", jobs=jobs, owners=owners, constraint=constraint, projection=projection, limit=args.limit
        )
        return rows, pool.contact["schedd"]

    rows, name = with_pool(args, ask)
    if args.json:
        print_json(rows)
    elif args.long or named:
        print_ads(rows)
    else:
        _list(rows, name, args)
    return Exit.OK


def print_ads(rows: list[dict[str, Any]]) -> None:
    """Print ads in old form, an empty line between two."""
    from roost.classad.forms import Form, format_ad
    from roost.wire.ads import ad_from

    for number, row in enumerate(rows):
        if number:
            say("")
        say(format_ad(ad_from(row), Form.OLD).rstrip("\n"))


def _list(rows: list[dict[str, Any]], name: str, args: argparse.Namespace) -> None:
    now = time.time()
    if args.held:
        titles, right = ["ID", "OWNER", "SINCE", "REASON"], frozenset({0})
        lines = [[_id(row), row.get("Owner", ""), _date(row), str(row.get("HoldReason", ""))] for row in rows]
    elif args.running:
        titles, right = ["ID", "OWNER", "SUBMITTED", "RUN TIME", "HOST"], frozenset({0, 3})
        lines = [
            [_id(row), row.get("Owner", ""), _date(row), duration(_run_s(row, now)), str(row.get("RemoteHost", ""))]
            for row in rows
        ]
    else:
        titles, right = ["ID", "OWNER", "SUBMITTED", "RUN TIME", "ST", "PRI", "CMD"], frozenset({0, 3, 5})
        lines = [
            [
                _id(row),
                str(row.get("Owner", "")),
                _date(row),
                duration(_run_s(row, now)),
                _LETTERS[int(row.get("JobStatus", 0))],
                str(row.get("JobPrio", 0)),
                _command(row),
            ]
            for row in rows
        ]
    if lines:
        table(lines, titles, right)
        say("")
    say(_summary(rows, name))


def _summary(rows: list[dict[str, Any]], name: str) -> str:
    counts = [0] * 8
    for row in rows:
        counts[int(row.get("JobStatus", 0))] += 1
    parts = [f"{counts[1]} idle", f"{counts[2] + counts[6]} running"]
    for number, word in ((7, "suspended"), (5, "held"), (4, "completed"), (3, "removed")):
        if counts[number]:
            parts.append(f"{counts[number]} {word}")
    jobs = "1 job" if len(rows) == 1 else f"{len(rows)} jobs"
    return f"{name}: {jobs}; {', '.join(parts)}"


def _id(row: dict[str, Any]) -> str:
    return f"{row.get('ClusterId', '?')}.{row.get('ProcId', '?')}"


def _date(row: dict[str, Any]) -> str:
    return time.strftime("%m-%d %H:%M", time.localtime(float(row.get("QDate", 0))))


def _run_s(row: dict[str, Any], now: float) -> float:
    run_s = float(row.get("RemoteWallClockTime", 0.0))
    since = row.get("ShadowBday")
    return run_s + (max(0.0, now - float(since)) if since and row.get("JobStatus") in (2, 6, 7) else 0.0)


def _command(row: dict[str, Any]) -> str:
    name = row.get("JobBatchName") or str(row.get("Cmd", "")).rpartition("/")[2]
    text = f"{name} {row.get('Arguments') or row.get('Args') or ''}".rstrip()
    room = max(20, width() - 60)
    return text if len(text) <= room else text[: room - 1] + "…"
