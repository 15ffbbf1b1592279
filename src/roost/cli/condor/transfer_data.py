"""``condor_transfer_data``: let go of jobs that were submitted with ``-spool`` and are done.

Their output is where the description wants it already; all that is left is that they leave the queue.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from roost.cli.condor.asking import PLACE_OPTIONS, Place
from roost.cli.condor.choosing import Choice, job_id, owner
from roost.cli.condor.editing import edit
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.cli.pool import Pool
from roost.wire.requests import queue

OPTIONS: Final = (
    Option("all", "all jobs", least=1),
    Option("constraint", "jobs for which this is true", takes="EXPR", least=1),
    *PLACE_OPTIONS,
    Option("addr", "accepted, without effect", takes="ADDRESS", least=2),
    Option("debug", "accepted, without effect", least=1),
)


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_transfer_data``."""
    place, choices = Place(), []
    for option in given(arguments, OPTIONS):
        if place.take(option):
            continue
        if option.name == "constraint":
            choices.append(Choice(constraint=option.value))
        elif option.name == "all":
            choices.append(Choice())
        elif option.name == "":
            job = job_id(option.value)
            choices.append(Choice(owners=(owner(option.value),)) if job is None else Choice(jobs=(job,)))
    if not choices:
        raise UsageError("You did not specify any jobs\nUsage: condor_transfer_data [options] JOB...")
    sys.stdout.write("Fetching data files...\n")
    return place.ask(lambda pool: max(_fetched(pool, choice) for choice in choices))


def _fetched(pool: Pool, choice: Choice) -> int:
    done = edit(pool, choice.but("JobStatus == 4"), {"StageOutFinish": str(int(time.time()))})
    if not done.counts.get("ok") and not pool.ask(queue.Query(projection=("ClusterId",), limit=1, **choice.asked())):
        raise ToolError("ERROR: Failed to spool job files: no such job is in the queue")
    return 0
