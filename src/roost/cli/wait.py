"""``roost wait``: wait until jobs have left the queue, or have reached a status."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Final

from roost.cli.ended import Summary, summary_of, told
from roost.cli.listing import counted, job_name, no_such_job, print_json
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, say
from roost.schedd.status import JobStatus
from roost.wire.requests import queue

#: Minimum and maximum pause between requests, s.
_FIRST_S: Final = 0.05
_LONGEST_S: Final = 1.0
#: Maximum number of jobs that are tracked individually; more are only counted.
_ROWS_MAX: Final = 200
#: Maximum number of jobs named at the end.
_TOLD_MAX: Final = 10
_WORDS: Final = {1: "idle", 2: "running", 3: "removed", 4: "completed", 5: "held", 6: "running", 7: "suspended"}
#: Columns of a cluster's row to the words for them.
_COLUMNS: Final = {JobStatus(number).word: word for number, word in _WORDS.items()}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``wait``."""
    parser = subparsers.add_parser(
        "wait",
        help="wait for jobs to finish",
        description="Wait until jobs have left the queue. Exit status 0 if all of them ended with status 0, 1 if one "
        "did not, was removed, or is on hold, 2 if the time ran out first.",
    )
    add_pool_options(parser)
    parser.add_argument("job", metavar="JOB", nargs="*", help="job (12.0) or cluster (12) (default: all jobs)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="wait at most this long")
    parser.add_argument("--held", action="store_true", help="go on waiting for jobs on hold")


def run(args: argparse.Namespace) -> int:
    """Run ``wait``."""
    data, summary = with_pool(args, lambda pool: _wait(pool, args))
    if args.json:
        print_json(data)
    elif not data["finished"]:
        raise CommandError(f"{counted(data['left'], 'job')} still in the queue after {args.timeout:g} s")
    if not data["finished"]:
        return Exit.BAD
    if not args.json:
        for line in told(summary, data["held"], _TOLD_MAX):
            say(line)
    return Exit.NO if data["held"] or data["failed"] else Exit.OK


def _wait(pool: Pool, args: argparse.Namespace) -> tuple[dict[str, Any], Summary]:
    until = None if args.timeout is None else time.monotonic() + args.timeout
    pause_s = _FIRST_S
    _known(pool, args.job)
    progress = WaitProgress(on=not args.json)
    try:
        while True:
            counts = _counts(pool, args.job)
            waited = sum(counts.values()) - (0 if args.held else counts.get("held", 0))
            progress.show(counts, waited)
            if not waited:
                held = _held(pool, args) if counts.get("held") else {}
                summary = summary_of(pool, args.job) if args.job else Summary()
                more = {"failed": summary.failed, "ended": summary.ended, "last_lines": summary.last_lines}
                return {"finished": True, "left": 0, "held": held, **more}, summary
            if until is not None and time.monotonic() > until:
                return {"finished": False, "left": waited, "held": {}, "failed": {}}, Summary()
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LONGEST_S)
    finally:
        progress.end()


#: What jobs are called that enter the queue later (max_materialize, max_idle).
_LATER: Final = "to come"


def _known(pool: Pool, jobs: list[str]) -> None:
    """Check that the jobs exist or existed. Raises CommandError otherwise."""
    for name in jobs:
        rows = pool.ask(queue.Query(jobs=(name,), projection=("ClusterId",), limit=1))
        if not rows and "." not in name:
            rows = pool.ask(queue.Query(jobs=(name,), projection=("ClusterId",), factories=True))
        if not rows and not pool.ask(queue.History(jobs=(name,), projection=("ClusterId",), limit=1)):
            raise no_such_job(name)


def _counts(pool: Pool, jobs: list[str]) -> dict[str, int]:
    """State to number of the jobs that are waited for. Large numbers of jobs are only counted."""
    from roost.schedd.jobs.factories import FactoryPause

    found = pool.ask(queue.Overview(jobs=tuple(jobs), projection=("JobStatus",), rows_max=_ROWS_MAX))
    counts: dict[str, int] = {}
    if isinstance(found, queue.Clusters):
        for cluster in found.clusters:
            for name, word in _COLUMNS.items():
                counts[word] = counts.get(word, 0) + cluster.counts.get(name, 0)
    else:
        for row in found:
            word = _WORDS.get(row.get("JobStatus", 1), "idle")
            counts[word] = counts.get(word, 0) + 1
    whole = tuple(job for job in jobs if "." not in job)
    if not jobs or whole:
        names = ("TotalSubmitProcs", "JobMaterializeNextProcId", "JobMaterializePaused")
        for row in pool.ask(queue.Query(jobs=whole, projection=names, factories=True)):
            if row.get("JobMaterializePaused") != FactoryPause.REMOVED:
                later = int(row.get("TotalSubmitProcs", 0)) - int(row.get("JobMaterializeNextProcId", 0))
                counts[_LATER] = counts.get(_LATER, 0) + later
    return {word: number for word, number in counts.items() if number}


class WaitProgress:
    """A progress line on the terminal; nothing if there is no terminal."""

    def __init__(self, *, on: bool) -> None:
        self._on = on and sys.stderr.isatty()
        self._most = 0
        self._wide = 0

    def show(self, counts: dict[str, int], waited: int) -> None:
        """Update the line."""
        self._most = max(self._most, waited)
        if not self._on or not waited:
            return
        states = [f"{number} {word}" for word, number in counts.items() if number]
        text = f"{self._most - waited} of {self._most} done; {', '.join(states)}"
        sys.stderr.write(f"\r{text:<{self._wide}}")
        sys.stderr.flush()
        self._wide = len(text)

    def end(self) -> None:
        """Remove the line."""
        if self._on and self._wide:
            sys.stderr.write(f"\r{'':<{self._wide}}\r")
            sys.stderr.flush()


def _held(pool: Pool, args: argparse.Namespace) -> dict[str, str]:
    names = ("ClusterId", "ProcId", "HoldReason")
    rows = pool.ask(queue.Query(jobs=tuple(args.job), projection=names, constraint="JobStatus == 5"))
    return {job_name(row): row.get("HoldReason", "") for row in rows}
