"""``roost queue``: the jobs in the queue, batch by batch or one by one."""

from __future__ import annotations

import argparse
import time
from typing import Any, Final

from roost.cli.batches import batches_of, formatted, lines_of
from roost.cli.listing import arguments, duration, print_json, table
from roost.cli.pool_connection import add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, say, width
from roost.schedd.status import JobStatus
from roost.wire.requests import queue

_LETTERS: Final = "?IRXCH>S"
#: Maximum number of jobs listed individually, unless all are requested.
ROWS_MAX: Final = 200
#: The attributes that the listing needs of each job.
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
)
#: Statuses that the last line counts.
_SUMMED: Final = range(1, 8)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``queue``."""
    parser = subparsers.add_parser(
        "queue",
        help="list the jobs in the queue",
        description="List the jobs in the queue batch by batch, with the progress of each. Jobs that are named, or "
        f"chosen by an option, are listed one by one if they are at most {ROWS_MAX}.",
    )
    add_pool_options(parser)
    parser.add_argument("job", metavar="JOB", nargs="*", help="job (12.0), cluster (12) or user (default: all jobs)")
    parser.add_argument("--constraint", metavar="EXPR", help="only jobs for which EXPR is true")
    parser.add_argument("--held", action="store_true", help="only held jobs, with their hold reasons")
    parser.add_argument("--running", action="store_true", help="only running jobs, with their machines")
    parser.add_argument("--all", action="store_true", help="list jobs individually, however many there are")
    parser.add_argument("--batches", action="store_true", help="batches in any case, also as JSON")
    parser.add_argument("--long", action="store_true", help="whole ads")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=0, help="at most N jobs")
    parser.add_argument("--attributes", metavar="NAMES", help="print only these attributes, separated by commas")


def run(args: argparse.Namespace) -> int:
    """Run ``queue``."""
    named = [name.strip() for name in args.attributes.split(",") if name.strip()] if args.attributes else []
    choice = _choice(args)
    if args.batches and (args.all or args.long or named or args.limit or args.held or args.running or args.constraint):
        raise CommandError("--batches shows whole batches: it goes with JOB and --json only")
    whole = args.all or args.long or bool(named) or bool(args.limit) or (args.json and not args.batches)
    is_chosen = args.held or args.running or args.constraint is not None or bool(choice.get("jobs"))
    rows_max = -1 if args.batches or not is_chosen else ROWS_MAX
    projection = () if args.long else tuple(named or _SHOWN)
    request: queue.Query | queue.Overview
    if whole:
        request = queue.Query(projection=projection, limit=args.limit, **choice)
    else:
        request = queue.Overview(projection=projection, rows_max=rows_max, **choice)
    found, name = with_pool(args, lambda pool: (pool.ask(request), pool.contact["schedd"]))
    if isinstance(found, queue.Clusters) and args.json:
        print_json([batch.data() for batch in batches_of(found.clusters)])
    elif isinstance(found, queue.Clusters):
        _print_batches(found.clusters, name)
    elif args.json:
        print_json(found)
    elif args.long or named:
        print_ads(found)
    else:
        _list(found, name, args)
    return Exit.OK


def _choice(args: argparse.Namespace) -> queue.ChosenFields:
    constraint = args.constraint
    if args.held:
        constraint = f"JobStatus == 5 && ({constraint or 'true'})"
    if args.running:
        constraint = f"(JobStatus == 2 || JobStatus == 6 || JobStatus == 7) && ({constraint or 'true'})"
    return chosen(args.job, constraint)


def chosen(names: list[str], constraint: str | None) -> queue.ChosenFields:
    """The fields of a request about jobs, clusters and users with these names."""
    return {
        "jobs": tuple(each for each in names if each[:1].isdigit()),
        "owners": tuple(each for each in names if not each[:1].isdigit()),
        "constraint": constraint,
    }


def print_ads(rows: list[dict[str, Any]]) -> None:
    """Print ads in old form, separated by empty lines."""
    from roost.classad.forms import Form, format_ad
    from roost.wire.ads import ad_from

    for number, row in enumerate(rows):
        if number:
            say("")
        say(format_ad(ad_from(row), Form.OLD).rstrip("\n"))


# -- jobs --------------------------------------------------------------------------------------------------------


def _list(rows: list[dict[str, Any]], name: str, args: argparse.Namespace) -> None:
    now = time.time()
    if args.held:
        titles, right = ["ID", "OWNER", "SUBMITTED", "REASON"], frozenset({0})
        lines = [[_id(row), row.get("Owner", ""), _date(row), str(row.get("HoldReason", ""))] for row in rows]
    elif args.running:
        titles, right = ["ID", "OWNER", "SUBMITTED", "RUN TIME", "HOST"], frozenset({0, 3})
        lines = [
            [_id(row), row.get("Owner", ""), _date(row), duration(_run_s(row, now)), str(row.get("RemoteHost", ""))]
            for row in rows
        ]
    else:
        titles, right = ["ID", "OWNER", "SUBMITTED", "RUN TIME", "ST", "PRI", "CMD"], frozenset({0, 3, 5})
        room = max(20, width() - 60)
        lines = [
            [
                _id(row),
                str(row.get("Owner", "")),
                _date(row),
                duration(_run_s(row, now)),
                _LETTERS[int(row.get("JobStatus", 0))],
                str(row.get("JobPrio", 0)),
                _command(row, room),
            ]
            for row in rows
        ]
    if lines:
        table(lines, titles, right, coloured=frozenset({titles.index("ST")}) if "ST" in titles else frozenset())
        say("")
    say(_summary(rows, name))


def _summary(rows: list[dict[str, Any]], name: str) -> str:
    counts = [0] * 8
    for row in rows:
        counts[int(row.get("JobStatus", 0))] += 1
    return _sums(name, len(rows), dict(enumerate(counts)))


def _sums(name: str, jobs: int, counts: dict[int, int]) -> str:
    parts = [f"{counts.get(1, 0)} idle", f"{counts.get(2, 0) + counts.get(6, 0)} running"]
    for number, word in ((7, "suspended"), (5, "held"), (4, "completed"), (3, "removed")):
        if counts.get(number):
            parts.append(f"{counts[number]} {word}")
    return f"{name}: {'1 job' if jobs == 1 else f'{jobs} jobs'}; {', '.join(parts)}"


def _id(row: dict[str, Any]) -> str:
    return f"{row.get('ClusterId', '?')}.{row.get('ProcId', '?')}"


#: Minutes since the epoch to text: jobs of one cluster have the same.
_DATES: dict[int, str] = {}


def _date(row: dict[str, Any]) -> str:
    minute = int(row.get("QDate", 0)) // 60
    text = _DATES.get(minute)
    if text is None:
        text = _DATES[minute] = time.strftime("%m-%d %H:%M", time.localtime(minute * 60))
    return text


def _run_s(row: dict[str, Any], now: float) -> float:
    run_s = float(row.get("RemoteWallClockTime", 0.0))
    since = row.get("ShadowBday")
    return run_s + (max(0.0, now - float(since)) if since and row.get("JobStatus") in (2, 6, 7) else 0.0)


def _command(row: dict[str, Any], room: int) -> str:
    batch = f"{row['JobBatchName']}: " if row.get("JobBatchName") else ""
    text = f"{batch}{str(row.get('Cmd', '')).rpartition('/')[2]} {arguments(row)}".rstrip()
    return text if len(text) <= room else text[: room - 1] + "…"


# -- batches -----------------------------------------------------------------------------------------------------


def _print_batches(rows: list[queue.ClusterRow], name: str) -> None:
    batches = batches_of(rows)
    if batches:
        for line in formatted(*lines_of(batches)):
            say(line)
        say("")
    numbers = {JobStatus(number).word: number for number in JobStatus if number in _SUMMED}
    counts = {int(number): sum(row.counts.get(word, 0) for row in rows) for word, number in numbers.items()}
    left = sum(row.left for row in rows)
    say(_sums(name, left, counts) + (" (`roost queue --all` lists them individually)" if left > 1 else ""))
