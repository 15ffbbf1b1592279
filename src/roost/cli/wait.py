"""``roost wait``: wait until jobs have left the queue, or have reached some state."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Final

from roost.cli.pool import Pool, add_pool_options, print_json, with_pool
from roost.cli.terminal import CommandError, Exit, say

#: First and longest pause between two questions, s.
_FIRST_S: Final = 0.05
_LONGEST_S: Final = 1.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``wait``."""
    parser = subparsers.add_parser(
        "wait",
        help="wait for jobs to finish",
        description="Wait until jobs have left the queue. Exit status 0 if all of them ended with status 0, 1 if one "
        "did not, was removed, or is on hold, 2 if the time was over before.",
    )
    add_pool_options(parser)
    parser.add_argument("job", nargs="*", help="job (12.0) or cluster (12); all jobs where none is named")
    parser.add_argument("--timeout", metavar="S", type=float, help="wait no longer than this")
    parser.add_argument("--held", action="store_true", help="go on waiting for jobs on hold")


def run(args: argparse.Namespace) -> int:
    """Run ``wait``."""
    data = with_pool(args, lambda pool: _wait(pool, args))
    if args.json:
        print_json(data)
    elif not data["finished"]:
        raise CommandError(f"{data['left']} jobs are still in the queue after {args.timeout:g} s")
    if not data["finished"]:
        return Exit.BAD
    for job, reason in data["held"].items():
        if not args.json:
            say(f"job {job} is on hold: {reason}")
    return Exit.NO if data["held"] or data["failed"] else Exit.OK


def _wait(pool: Pool, args: argparse.Namespace) -> dict[str, Any]:
    until = None if args.timeout is None else time.monotonic() + args.timeout
    pause_s = _FIRST_S
    while True:
        rows = pool.schedd(
            "query", jobs=args.job, projection=["ClusterId", "ProcId", "JobStatus", "HoldReason"], constraint=None
        )
        waited = [row for row in rows if args.held or row.get("JobStatus") != 5]
        held = {
            f"{row['ClusterId']}.{row['ProcId']}": row.get("HoldReason", "")
            for row in rows
            if row.get("JobStatus") == 5
        }
        _progress(len(waited), args)
        if not waited:
            failed = _failed(pool, args)
            return {"finished": True, "left": 0, "held": held, "failed": failed}
        if until is not None and time.monotonic() > until:
            return {"finished": False, "left": len(waited), "held": held, "failed": []}
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_S)


def _progress(left: int, args: argparse.Namespace) -> None:
    if sys.stderr.isatty() and not args.json:
        text = f"\r{left} left" if left else "\r"
        sys.stderr.write(f"{text:<24}" + ("\r" if not left else ""))
        sys.stderr.flush()


def _failed(pool: Pool, args: argparse.Namespace) -> list[str]:
    if not args.job:
        return []
    rows = pool.schedd(
        "history", jobs=args.job, projection=["ClusterId", "ProcId", "JobStatus", "ExitCode", "ExitBySignal"], limit=0
    )
    return [
        f"{row['ClusterId']}.{row['ProcId']}"
        for row in rows
        if row.get("JobStatus") != 4 or row.get("ExitBySignal") or row.get("ExitCode")
    ]
