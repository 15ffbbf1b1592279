"""A user's text handed to a privileged command.

What: A prolog, epilog or command of a parallel environment runs as another user (`root@…`) and gets $job_name.

Why: The name of a job is any text that its owner likes. A script that puts it into a shell command runs the owner's
text as the other user.

Example::

    cqueues/low.q: prolog root@/usr/local/bin/mount $job_name

Instead::

    cqueues/low.q: prolog root@/usr/local/bin/mount $job_id
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.gridengine.lint.registry import CellHit, cell_rule
from roost.gridengine.lint.site import CheckedCell


@cell_rule("RGE603", Severity.WARNING, "G11")
def check(site: CheckedCell) -> Iterator[CellHit]:
    environments = site.cell.parallel_environments.values()
    commands = [
        *site.commands("prolog", "epilog"),
        *((f"pe/{one.name}", "start_proc_args", one.start_proc_args) for one in environments),
        *((f"pe/{one.name}", "stop_proc_args", one.stop_proc_args) for one in environments),
    ]
    for file, attribute, text in commands:
        if re.match(r"[^/\s]+@/", text) and "$job_name" in text:
            yield CellHit(
                message=f"{attribute} runs as {text.partition('@')[0]} and gets the name that the job's owner chose",
                remedy="Pass $job_id, and look the name up with qstat if it is needed.",
                file=file,
                attribute=attribute,
            )
