"""``roost retry``: rerun jobs that did not end successfully: submitted again as they were, or released."""

from __future__ import annotations

import argparse
from typing import Any, Final

from roost.cli.ended import ENDED_BADLY
from roost.cli.listing import counted, job_name, print_json
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.model.cell_requests import NAME
from roost.schedd.status import JobStatus
from roost.wire.ads import ad_from
from roost.wire.requests import queue

#: Maximum number of jobs that are submitted again at once.
JOBS_MAX: Final = 10_000
_WORKFLOW: Final = 7


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``retry``."""
    parser = subparsers.add_parser(
        "retry",
        help="run failed jobs again",
        description="Submit the jobs of a cluster that ended with a status other than 0, by a signal, or were removed, "
        "as a new cluster; release those that are on hold. Jobs run with what they were submitted with, and their "
        "files are read again. Jobs that ended with status 0 are left alone, unless they are named one by one or --all "
        "is given.",
    )
    add_pool_options(parser)
    parser.add_argument("job", metavar="JOB", nargs="+", help="job (12.0) or cluster (12)")
    parser.add_argument("--all", action="store_true", help="also those that ended with status 0")
    parser.add_argument("--memory", metavar="MB", type=int, help="request this much memory this time")


def run(args: argparse.Namespace) -> int:
    """Run ``retry``."""
    if args.memory is not None and args.memory <= 0:
        raise CommandError(f"--memory {args.memory} is not a positive number of MB")
    data = with_pool(args, lambda pool: _retry(pool, args))
    if args.json:
        print_json(data)
        return Exit.OK
    if data["released"]:
        say(f"{counted(len(data['released']), 'job')} released")
    if data["cluster"] is not None:
        say(f"{counted(len(data['of']), 'job')} submitted again to cluster {data['cluster']}")
    return Exit.OK


def _retry(pool: Pool, args: argparse.Namespace) -> dict[str, Any]:
    clusters = tuple(name for name in args.job if "." not in name)
    singles = tuple(name for name in args.job if "." in name)
    there = pool.ask(queue.Query(jobs=tuple(args.job), projection=("ClusterId", "ProcId", "JobStatus")))
    held = [job_name(row) for row in there if row.get("JobStatus") == JobStatus.HELD]
    ended: list[dict[str, Any]] = []
    if clusters:
        constraint = None if args.all else ENDED_BADLY
        ended += pool.ask(queue.History(jobs=clusters, constraint=constraint, limit=JOBS_MAX + 1))
    if singles:
        ended += pool.ask(queue.History(jobs=singles, limit=JOBS_MAX + 1))
    if len(ended) > JOBS_MAX:
        raise CommandError(f"these are more than {JOBS_MAX} jobs: name some of their clusters only")
    if not ended and not held:
        raise CommandError(_nothing(there, args))
    ended.sort(key=lambda row: (row["ClusterId"], row["ProcId"]))
    # Steps that may be refused come first: nothing is released if the rest is not submitted.
    cluster = _submitted(pool, ended, args.memory) if ended else None
    if held:
        if args.memory is not None:
            pool.ask(queue.Act(action="edit", jobs=tuple(held), attributes={"RequestMemory": args.memory}))
        pool.ask(queue.Act(action="release", jobs=tuple(held), reason="roost retry"))
    return {"cluster": cluster, "of": [job_name(row) for row in ended], "released": held}


def _nothing(there: list[dict[str, Any]], args: argparse.Namespace) -> str:
    names = " ".join(args.job)
    if there:
        return f"{names} has no failed jobs; {counted(len(there), 'job')} still idle or running"
    return f"{names} has no failed jobs; `roost history {names}` lists its jobs that have ended"


def _submitted(pool: Pool, rows: list[dict[str, Any]], memory_mb: int | None) -> int:
    """Submit copies of jobs; return the number of their cluster. Raises CommandError."""
    from roost.runtime.queue.descriptions import submit_context
    from roost.schedd.submit import read_submission
    from roost.schedd.submit.again import plan_of_ads

    for row in rows:
        if row.get("Owner") != pool.user:
            raise CommandError(f"job {job_name(row)} is {row.get('Owner')}'s: only its owner can submit it again")
        if NAME in row:
            raise CommandError(f"job {job_name(row)} was submitted by qsub: submit its script again")
        if row.get("JobUniverse") == _WORKFLOW:
            raise CommandError(
                f"job {job_name(row)} is a workflow: `roost dag submit` of its file goes on where it stopped"
            )
    ads = [ad_from(row) for row in rows]
    if memory_mb is not None:
        for ad in ads:
            ad["RequestMemory"] = memory_mb
    text = "executable = /bin/true\ntransfer_executable = false\n" + "queue\n" * len(rows)
    template = read_submission(text, "<template>", submit_context(None, {}, look_at_files=False))
    (plan,) = template.clusters
    (taken,) = pool.ask(queue.Submit(clusters=(plan_of_ads(plan, ads).to_data(),)))
    for warning in taken.warnings:
        complain(f"warning: {warning}")
    return int(taken.cluster)
