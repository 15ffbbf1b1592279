"""``roost ssh``: a shell, or a command, alongside a running job. No ssh is involved."""

from __future__ import annotations

import argparse
import os

from roost.cli.pool_connection import add_pool_options, with_pool
from roost.cli.terminal import CommandError
from roost.runtime.asking.story import job_ad
from roost.runtime.home import Home


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``ssh``."""
    parser = subparsers.add_parser(
        "ssh",
        help="open a shell alongside a running job",
        description="Open a shell on the machine of a running job, in its scratch directory, with its environment and "
        "within its limits; or run a command there. The exit status is that of the shell or command.",
    )
    add_pool_options(parser, as_json=False)
    parser.add_argument("--wait-for-start", action="store_true", help="wait for a job that does not run yet")
    parser.add_argument("job", metavar="JOB", help="job (12.0), or cluster (12) of one job")
    parser.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER, help="command (default: a shell)")


def run(args: argparse.Namespace) -> int:
    """Run ``ssh``."""
    from roost.cli.condor.asking import DaemonLocation
    from roost.cli.condor.errors import ToolError
    from roost.cli.condor.ssh_to_job import SshRequest, own_shells, session

    job, _ = with_pool(args, lambda pool: job_ad(pool, args.job))
    # The process that ends the session together with this command finds the pool by it, too.
    os.environ["ROOST_HOME"] = str(Home.find(args.home).path)
    words = tuple(args.words[1:] if args.words[:1] == ["--"] else args.words)
    try:
        return session(DaemonLocation(), SshRequest(job, words, shells=own_shells(), auto_retry=args.wait_for_start))
    except ToolError as error:
        raise CommandError(str(error).removeprefix("ERROR: ")) from None
