"""``roost explain job ID`` and ``roost explain slot NAME``: why a job waits, and why a slot is in its state."""

from __future__ import annotations

import argparse

from roost.cli.explain import job as explain_job
from roost.cli.explain import slot as explain_slot
from roost.cli.pool_connection import Pool, add_pool_options, with_pool


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare ``explain job`` and ``explain slot``."""
    job = commands.add_parser(
        "job", help="explain why a job is waiting or held", description="Explain why a job is waiting or held."
    )
    job.add_argument("name", metavar="JOB", help="job (12.0), or cluster (12) of one job")
    slot = commands.add_parser(
        "slot",
        help="explain why a slot is in its state",
        description="Explain why a slot is in its state, and what would change it.",
    )
    slot.add_argument("name", metavar="SLOT", help="slot (slot1@host, or slot1 for this machine)")
    slot.add_argument(
        "--job", metavar="JOB", help="explain the slot for this job instead of the one that it is running"
    )
    for each in (job, slot):
        add_pool_options(each)


def run(args: argparse.Namespace) -> int:
    """Carry out either command."""
    if args.explain_command == "slot":
        return with_pool(args, lambda pool: explain_slot.run(pool, args))
    return with_pool(args, lambda pool: explain_job.run(pool, args))


def tell_job(pool: Pool, name: str) -> int:
    """Print why a job waits, or what it does; return the exit status."""
    return explain_job.run(pool, argparse.Namespace(name=name, json=False))
