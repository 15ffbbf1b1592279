"""``roost top``: the usage of running jobs compared with their requests, heaviest first, redrawn repeatedly."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from roost.cli.colour import painted, wanted
from roost.cli.listing import arguments, counted, duration, job_name, print_json
from roost.cli.pool_connection import add_pool_options, with_pool
from roost.cli.queue import chosen
from roost.cli.redrawing import Redrawing
from roost.cli.terminal import CommandError, Exit, say, width
from roost.wire.requests import queue

_SHOWN: Final = (
    "ClusterId", "ProcId", "Owner", "JobStatus", "ShadowBday", "RemoteHost", "Cmd", "Arguments", "Args", "JobBatchName",
    "CpusUsage", "RequestCpus", "MemoryUsage", "RequestMemory", "DiskUsage", "RequestDisk", "RemoteUserCpu",
    "RemoteSysCpu",
)  # fmt: skip
_RUNNING: Final = "JobStatus == 2 || JobStatus == 6 || JobStatus == 7"
_TITLES: Final = ("ID", "OWNER", "TIME", "CPU", "OF", "MEMORY", "OF", "DISK", "HOST", "NAME")
_RIGHT: Final = frozenset((0, 2, 3, 4, 5, 6, 7))
#: The fraction of a request from which on it is shown in red.
_NEAR: Final = 0.9
_SORTS: Final[dict[str, Callable[[dict[str, Any]], float]]] = {
    "cpu": lambda row: _number(row, "CpusUsage"),
    "memory": lambda row: _number(row, "MemoryUsage"),
    "disk": lambda row: _number(row, "DiskUsage"),
    "time": lambda row: -_number(row, "ShadowBday"),
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``top``."""
    parser = subparsers.add_parser(
        "top",
        help="show what running jobs use",
        description="Show what running jobs use of the processors, memory (MB) and disk (MB) that they requested, as "
        "their machines reported it last (STARTER_UPDATE_INTERVAL). On a terminal this is drawn again until Ctrl-C.",
    )
    add_pool_options(parser)
    parser.add_argument("job", metavar="JOB", nargs="*", help="job (12.0), cluster (12) or user (default: all jobs)")
    parser.add_argument("--sort", choices=tuple(_SORTS), default="cpu", help="what comes first (default: cpu)")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=0, help="at most N jobs")
    parser.add_argument("--once", action="store_true", help="show it once")
    parser.add_argument("--interval", metavar="SECONDS", type=float, help="time between updates (default: 2)")


def run(args: argparse.Namespace) -> int:
    """Run ``top``."""
    if args.interval is not None and (args.once or args.json):
        raise CommandError("--interval goes with neither --once nor --json, which show the jobs once")
    interval_s = 2.0 if args.interval is None else args.interval
    if not 0.1 <= interval_s <= 3600:
        raise CommandError(f"--interval {interval_s:g} is not between 0.1 and 3600 s")
    request = queue.Query(projection=_SHOWN, **chosen(args.job, _RUNNING))
    screen = Redrawing()
    while True:
        rows = with_pool(args, lambda pool: pool.ask(request))
        rows.sort(key=_SORTS[args.sort], reverse=True)
        shown = rows[: args.limit] if args.limit else rows
        if args.json:
            print_json(shown)
            return Exit.OK
        lines = [*_table(shown, time.time()), "", _total(rows)]
        if args.once or not screen.is_terminal:
            for line in lines:
                say(line)
            return Exit.OK
        screen.show(lines)
        sys.stdout.flush()
        time.sleep(interval_s)


def _table(rows: list[dict[str, Any]], now: float) -> list[str]:
    cells = [_row(row, now) for row in rows]
    widths = [max(map(len, column)) for column in zip(_TITLES, *cells, strict=True)]
    room = max(12, width() - sum(widths[:-1]) - 2 * len(widths))
    on, lines = wanted(), []
    for row, cell in [(None, list(_TITLES)), *zip(rows, cells, strict=True)]:
        cell[-1] = cell[-1] if len(cell[-1]) <= room else cell[-1][: room - 1] + "…"
        padded = [f"{text:{'>' if at in _RIGHT else '<'}{widths[at]}}" for at, text in enumerate(cell)]
        if row is not None and _share(row, "MemoryUsage", "RequestMemory") >= _NEAR:
            padded[5] = painted(padded[5], "red", on=on)
        lines.append("  ".join(padded).rstrip())
    return lines


def _row(row: dict[str, Any], now: float) -> list[str]:
    since = row.get("ShadowBday")
    name = str(row.get("JobBatchName") or f"{str(row.get('Cmd', '')).rpartition('/')[2]} {arguments(row)}").strip()
    return [
        job_name(row),
        str(row.get("Owner", "")),
        duration(now - float(since)) if since else "-",
        f"{row['CpusUsage']:.2f}" if isinstance(row.get("CpusUsage"), int | float) else "-",
        _whole(row, "RequestCpus"),
        _whole(row, "MemoryUsage"),
        _whole(row, "RequestMemory"),
        str(int(_number(row, "DiskUsage")) // 1024),
        str(row.get("RemoteHost", "")),
        name,
    ]


def _total(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "no jobs are running"
    used, asked = sum(_number(row, "CpusUsage") for row in rows), sum(_number(row, "RequestCpus") for row in rows)
    memory, requested = (sum(_number(row, name) for row in rows) for name in ("MemoryUsage", "RequestMemory"))
    return (
        f"{counted(len(rows), 'job')}: {used:.1f} of {asked:.0f} requested cores, "
        f"{memory:.0f} of {requested:.0f} MB requested memory in use"
    )


def _share(row: dict[str, Any], used: str, asked: str) -> float:
    most = _number(row, asked)
    return _number(row, used) / most if most > 0 else 0.0


def _whole(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    return str(int(value)) if isinstance(value, int | float) else "-"


def _number(row: dict[str, Any], name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
