"""``roost queue``: the jobs in the queue; of very many jobs, a line for each cluster."""

from __future__ import annotations

import argparse
import time
from typing import Any, Final

from roost.cli.pool import add_pool_options, arguments, duration, print_json, table, with_pool
from roost.cli.terminal import Exit, say, width
from roost.wire.requests import queue

_LETTERS: Final = "?IRXCH>S"
#: More jobs than this are shown as clusters, unless all are asked for.
ROWS_MAX: Final = 200
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
)
#: Columns of clusters: title to the names in a row that count for it.
_STATES: Final = {
    "IDLE": ("Idle",),
    "RUN": ("Running", "TransferringOutput"),
    "SUSP": ("Suspended",),
    "HELD": ("Held",),
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``queue``."""
    parser = subparsers.add_parser(
        "queue",
        help="list the jobs in the queue",
        description=f"List the jobs in the queue; more than {ROWS_MAX} of them cluster by cluster.",
    )
    add_pool_options(parser)
    parser.add_argument("job", metavar="JOB", nargs="*", help="job (12.0), cluster (12) or user (default: all jobs)")
    parser.add_argument("--constraint", metavar="EXPR", help="jobs for which this is true")
    parser.add_argument("--held", action="store_true", help="held jobs with the reasons")
    parser.add_argument("--running", action="store_true", help="running jobs with their machines")
    parser.add_argument("--all", action="store_true", help="one line per job, however many there are")
    parser.add_argument("--long", action="store_true", help="whole ads")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=0, help="at most N jobs")
    parser.add_argument("--attributes", metavar="NAMES", help="only these attributes, separated by commas")


def run(args: argparse.Namespace) -> int:
    """Run ``queue``."""
    named = [name.strip() for name in args.attributes.split(",") if name.strip()] if args.attributes else []
    choice = _choice(args)
    whole = args.all or args.long or args.json or bool(named) or bool(args.limit)
    projection = () if args.long else tuple(named or _SHOWN)
    request: queue.Query | queue.Overview
    if whole:
        request = queue.Query(projection=projection, limit=args.limit, **choice)
    else:
        request = queue.Overview(projection=projection, rows_max=ROWS_MAX, **choice)
    found, name = with_pool(args, lambda pool: (pool.ask(request), pool.contact["schedd"]))
    if isinstance(found, queue.Clusters):
        _clusters(found.clusters, name)
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
    return {
        "jobs": tuple(each for each in args.job if each[:1].isdigit()),
        "owners": tuple(each for each in args.job if not each[:1].isdigit()),
        "constraint": constraint,
    }


def print_ads(rows: list[dict[str, Any]]) -> None:
    """Print ads in old form, an empty line between two."""
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


#: Minutes since the epoch to text: jobs of one cluster share theirs.
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


# -- clusters ----------------------------------------------------------------------------------------------------


def _clusters(rows: list[dict[str, Any]], name: str) -> None:
    room = max(20, width() - 72)
    lines = []
    for row in rows:
        states = [str(sum(row.get(each, 0) for each in names) or "_") for names in _STATES.values()]
        done = row["Total"] - row["Left"] + row.get("Completed", 0)
        lines.append(
            [
                str(row["ClusterId"]),
                str(row.get("Owner", "")),
                _date(row),
                str(done or "_"),
                *states,
                str(row["Total"]),
                _command(row, room),
            ]
        )
    table(lines, ["ID", "OWNER", "SUBMITTED", "DONE", *_STATES, "TOTAL", "CMD"], frozenset({0, 3, 4, 5, 6, 7, 8}))
    say("")
    counts = {
        number: sum(row.get(word, 0) for row in rows)
        for number, word in enumerate(
            ("", "Idle", "Running", "Removed", "Completed", "Held", "TransferringOutput", "Suspended")
        )
    }
    say(_sums(name, sum(row["Left"] for row in rows), counts) + " (`roost queue --all` lists them one by one)")
