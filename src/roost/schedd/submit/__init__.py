"""The submit description language: from a text to plans of clusters.

`read_submission` reads a description with the help of a `SubmitHost` and gives a `Submission`: its clusters as
`ClusterPlan`, each with the common attributes of its jobs and how each differs, and all problems, with place and
remedy. `fill` is what the queue adds to a job's ad; `listing` shows the ads without submitting them.

The stages, each a module: `script` (lines to definitions and queue statements, on the reader of `roost.config`),
`queue_statement` (items), `macros` and `job` (values of commands for one job), `sections` and the modules it names
(commands to attributes), `planning`, `batch` and `plan` (what differs from job to job), `submission` (all together).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.base.late import late

if TYPE_CHECKING:
    from roost.schedd.submit.diagnostics import CODES, SubmitCode
    from roost.schedd.submit.host import FileKind, MemorySubmitHost, SubmitHost
    from roost.schedd.submit.plan import ClusterPlan, PlanError, fill
    from roost.schedd.submit.submission import Submission, SubmitContext, listing, read_submission

__getattr__ = late(
    __name__,
    {
        "diagnostics": ("CODES", "SubmitCode"),
        "host": ("FileKind", "MemorySubmitHost", "SubmitHost"),
        "plan": ("ClusterPlan", "PlanError", "fill"),
        "submission": ("Submission", "SubmitContext", "listing", "read_submission"),
    },
)


__all__ = [
    "CODES",
    "ClusterPlan",
    "FileKind",
    "MemorySubmitHost",
    "PlanError",
    "Submission",
    "SubmitCode",
    "SubmitContext",
    "SubmitHost",
    "fill",
    "listing",
    "read_submission",
]
