"""``roost logs``: the output of jobs: of running ones from their machines, otherwise from their files."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any, Final

from roost.cli.colour import painted, wanted
from roost.cli.listing import job_name, no_such_job, print_json
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, complain
from roost.runtime.asking.output import STANDING, OutputReader
from roost.schedd.status import JobStatus
from roost.wire.requests import queue
from roost.wire.requests.verb import Stream

#: Maximum number of jobs that are read at once.
JOBS_MAX: Final = 100
#: Minimum and maximum pause between checks for new output, s.
_FIRST_S: Final = 0.1
_LONGEST_S: Final = 1.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``logs``."""
    parser = subparsers.add_parser(
        "logs",
        help="print the output of jobs",
        description="Print the standard output of jobs on standard output and their standard error on standard error. "
        "For a job that runs, both are read on its machine.",
    )
    add_pool_options(parser)
    parser.add_argument("job", metavar="JOB", nargs="+", help=f"job (12.0) or cluster (12) of at most {JOBS_MAX} jobs")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the jobs have ended")
    parser.add_argument("-n", "--limit", metavar="N", type=int, help="begin with the last N lines")
    parser.add_argument("--stream", choices=("out", "err"), help="standard output or standard error only")


def run(args: argparse.Namespace) -> int:
    """Run ``logs``."""
    if args.limit is not None and args.limit < 0:
        raise CommandError(f"--limit {args.limit} is negative: it is a number of lines")
    return with_pool(args, lambda pool: _logs(pool, args))


def _logs(pool: Pool, args: argparse.Namespace) -> int:
    streams: tuple[Stream, ...] = (args.stream,) if args.stream else ("out", "err")
    rows = named_jobs(pool, args.job)
    readers = [OutputReader(pool, name, stream, row) for name, row in rows.items() for stream in streams]
    if args.limit is not None:
        for reader in readers:
            reader.skip_to_last(args.limit)
    printer = _Printer(as_json=args.json, many=len(rows) > 1, follow=args.follow)
    if args.follow:
        _follow(readers, printer)
    else:
        for reader in readers:
            while data := reader.next():
                printer.printed(reader, data)
    printer.end(readers)
    if not any(reader.path for reader in readers):
        raise CommandError("; ".join(dict.fromkeys(reader.missing for reader in readers)))
    return Exit.OK


def named_jobs(pool: Pool, names: list[str]) -> dict[str, dict[str, Any]]:
    """The named jobs, or jobs of named clusters, with their standing. Raises CommandError."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        if not name.replace(".", "", 1).isdecimal():
            raise CommandError(f"{name!r} is not a job: write 12.0, or 12 for all jobs of a cluster")
        limit = JOBS_MAX + 1
        there = pool.ask(queue.Query(jobs=(name,), projection=STANDING, limit=limit))
        rows = {job_name(row): row for row in there}
        if "." not in name or not rows:
            past = pool.ask(queue.History(jobs=(name,), projection=("ClusterId", "ProcId"), limit=limit))
            rows = {**{job_name(row): {} for row in past}, **rows}
            rows = {job: rows[job] for job in sorted(rows, key=lambda job: tuple(map(int, job.split("."))))}
        if not rows:
            raise no_such_job(name)
        found.update(rows)
    if len(found) > JOBS_MAX:
        raise CommandError(f"these are more than {JOBS_MAX} jobs: name some of them, such as {next(iter(found))}")
    return found


def _follow(readers: list[OutputReader], printer: _Printer) -> None:
    """Print new output until all jobs have ended."""
    pause_s, left = _FIRST_S, list(readers)
    while left:
        any_new = False
        for reader in left:
            data = reader.next()
            if data:
                printer.printed(reader, data)
                any_new = True
            else:
                printer.waits(reader)
        left = [reader for reader in left if not reader.ended]
        if not any_new and left:
            sys.stdout.flush()
            time.sleep(pause_s)
        pause_s = _FIRST_S if any_new else min(1.5 * pause_s, _LONGEST_S)


class _Printer:
    """Prints streams of jobs."""

    def __init__(self, *, as_json: bool, many: bool, follow: bool) -> None:
        self._as_json = as_json
        self._many = many
        self._follow = follow
        self._last: tuple[str, str] | None = None
        self._texts: dict[tuple[str, str], bytearray] = {}
        #: Job to the last message about its waiting; how often each stream started over.
        self._shown_waits: dict[str, str] = {}
        self._began: dict[tuple[str, str], int] = {}

    def printed(self, reader: OutputReader, data: bytes) -> None:
        """Print more of a stream."""
        key = reader.job, reader.stream
        if reader.began_again != self._began.get(key, 0):
            self._began[key] = reader.began_again
            complain(f"job {reader.job} has begun again: its output follows from the beginning")
        if self._as_json:
            if self._follow:
                row = {"job": reader.job, "stream": reader.stream, "text": data.decode("utf-8", "replace")}
                sys.stdout.write(json.dumps(row) + "\n")
                sys.stdout.flush()
            else:
                self._texts.setdefault(key, bytearray()).extend(data)
            return
        stream = sys.stderr if reader.stream == "err" else sys.stdout
        if self._many and self._last != key:
            title = f"==> {reader.job}{' standard error' if reader.stream == 'err' else ''} <=="
            gap = "\n" if self._last is not None else ""
            stream.write(f"{gap}{painted(title, 'bold', on=wanted(stream))}\n")
        self._last = key
        sys.stdout.flush()
        stream.write(data.decode("utf-8", "surrogateescape"))
        stream.flush()

    def waits(self, reader: OutputReader) -> None:
        """Report once why a stream has nothing new, if its job does not run."""
        status = reader.row.get("JobStatus")
        told = ""
        if status == JobStatus.HELD:
            told = f"job {reader.job} is on hold: {reader.row.get('HoldReason', '')}"
        elif status == JobStatus.IDLE:
            told = f"job {reader.job} waits for a machine"
        if told and told != self._shown_waits.get(reader.job) and not self._as_json:
            complain(told)
        self._shown_waits[reader.job] = told

    def end(self, readers: list[OutputReader]) -> None:
        """Finish after everything has been read."""
        if self._as_json and not self._follow:
            print_json(
                [
                    {
                        "job": reader.job,
                        "stream": reader.stream,
                        "path": reader.path,
                        "text": bytes(self._texts.get((reader.job, reader.stream), b"")).decode("utf-8", "replace"),
                        "missing": reader.missing,
                    }
                    for reader in readers
                ]
            )
        if self._many and not self._as_json:
            printed = {reader.job for reader in readers if reader.path}
            silent = {reader.job: reader.missing for reader in reversed(readers) if reader.job not in printed}
            for job, why in reversed(silent.items()):
                complain(f"job {job}: {why}")
