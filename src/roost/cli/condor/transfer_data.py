"""``condor_transfer_data``: fetch the output of jobs that were submitted with ``-spool`` or ``-remote``.

The files go where the description wanted them: into its directory, according to transfer_output_remaps. The jobs stay
in the queue until their LeaveJobInQueue is no longer true, or until they are removed.
"""

from __future__ import annotations

import sys
from typing import Final

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.choosing import JobSelection, job_id, owner
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.cli.pool_connection import Pool, Refused

OPTIONS: Final = (
    Option("all", "all jobs", least=1),
    Option("constraint", "only jobs for which EXPR is true", takes="EXPR", least=1),
    *PLACE_OPTIONS,
    Option("addr", "accepted, has no effect", takes="ADDRESS", least=2),
    Option("debug", "accepted, has no effect", least=1),
)


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_transfer_data``."""
    place, choices = DaemonLocation(), []
    for option in given(arguments, OPTIONS):
        if place.take(option):
            continue
        if option.name == "constraint":
            choices.append(JobSelection(constraint=option.value))
        elif option.name == "all":
            choices.append(JobSelection())
        elif option.name == "":
            job = job_id(option.value)
            choices.append(JobSelection(owners=(owner(option.value),)) if job is None else JobSelection(jobs=(job,)))
    if not choices:
        raise UsageError("You did not specify any jobs\nUsage: condor_transfer_data [options] JOB...")
    sys.stdout.write("Fetching data files...\n")
    sys.stdout.flush()
    return place.ask(lambda pool: max(_fetched(pool, choice) for choice in choices))


def _fetched(pool: Pool, choice: JobSelection) -> int:
    from roost.runtime.asking.spooling import SpoolingProblem, fetch_files

    try:
        count = fetch_files(pool, choice.asked())
    except (SpoolingProblem, Refused) as problem:
        raise ToolError(f"ERROR: Failed to spool job files.\n{problem}") from None
    if not count:
        raise ToolError("ERROR: Failed to spool job files: the queue has no such job that was submitted with -spool")
    return 0
