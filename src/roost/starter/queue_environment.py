"""The environment of a job in a Grid Engine queue instance, under Grid Engine's names.

Values that describe where the job was submitted from yield to what the submission sets itself, as with `qsub`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from roost.classad import ClassAd
from roost.model.cell_requests import CHECKPOINTED
from roost.model.queue_context import QueueContext

#: PATH of a job whose submission sets none, after its TMPDIR and Grid Engine's commands.
PATH: Final = "/usr/local/bin:/bin:/usr/bin"
UNDEFINED: Final = "undefined"
_TASKS: Final = re.compile(r"(\d+)-(\d+):(\d+)")


class Task(NamedTuple):
    """A task of an array: its number, and the array's first, last and step."""

    number: str
    first: str
    last: str
    step: str


_NONE: Final = Task(UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED)


def task_of(job_ad: ClassAd) -> Task:
    """The array task of a job: of `qsub -t`, or one of several jobs of a cluster; `undefined` for any other job."""
    number, tasks = job_ad.eval("CellTaskNumber"), _TASKS.fullmatch(_text(job_ad, "CellTasks"))
    if isinstance(number, int) and tasks:
        return Task(str(number), *tasks.groups())
    proc, several = job_ad.eval("ProcId"), job_ad.eval("TotalSubmitProcs")
    if isinstance(proc, int) and isinstance(several, int) and several > 1:
        return Task(str(proc + 1), "1", str(several), "1")
    return _NONE


def cell_path(tmpdir: object, told: Mapping[str, str]) -> str:
    """PATH of a job whose submission sets none. Launchers look for `qrsh` there first, so they find the pool's own."""
    return ":".join(filter(None, (str(tmpdir), told.get("SGE_BINARY_PATH", ""), PATH)))


def tmpdir_name(job_ad: ClassAd, context: QueueContext) -> str:
    """The name of a job's TMPDIR: job, task (1 for a job outside an array) and queue."""
    number = task_of(job_ad).number
    return f"{job_ad.eval('ClusterId')}.{'1' if number == UNDEFINED else number}.{context.queue}"


def submission_environment(job_ad: ClassAd) -> dict[str, str]:
    """Where the job was submitted from, as recorded in its ad."""
    found = {
        "SGE_O_LOGNAME": _text(job_ad, "Owner"),
        "SGE_O_WORKDIR": _text(job_ad, "Iwd"),
        "SGE_O_HOST": _text(job_ad, "GlobalJobId").partition("#")[0].rpartition("@")[2],
    }
    return {name: value for name, value in found.items() if value}


def queue_environment(job_ad: ClassAd, context: QueueContext, values: Mapping[str, str]) -> dict[str, str]:
    """The variables that describe a job and its queue instance; `values` are the pseudo-variables (`scripts`)."""
    task, starts = task_of(job_ad), job_ad.eval("NumJobStarts")
    return {
        "ENVIRONMENT": "BATCH",
        "JOB_ID": values["job_id"],
        "JOB_NAME": values["job_name"],
        "REQUEST": values["job_name"],
        "REQNAME": values["job_name"],
        "QUEUE": context.queue,
        "HOSTNAME": context.host,
        **_parallel(context),
        **checkpoint_environment(context),
        "RESTARTED": _restarted(job_ad, context) if isinstance(starts, int) and starts > 0 else "0",
        "SGE_TASK_ID": task.number,
        "SGE_TASK_FIRST": task.first,
        "SGE_TASK_LAST": task.last,
        "SGE_TASK_STEPSIZE": task.step,
        "SGE_STDIN_PATH": values["stdin_path"],
        "SGE_STDOUT_PATH": values["stdout_path"],
        "SGE_STDERR_PATH": values["stderr_path"],
    }


def is_restored(job_ad: ClassAd, context: QueueContext) -> bool:
    """Whether commands of the checkpointing interface saved the job in an earlier run."""
    interface = context.checkpoint
    return interface is not None and interface.has_commands and isinstance(job_ad.eval(CHECKPOINTED), int)


def _restarted(job_ad: ClassAd, context: QueueContext) -> str:
    return "2" if is_restored(job_ad, context) else "1"


def checkpoint_environment(context: QueueContext) -> dict[str, str]:
    """The variables that describe the job's checkpointing interface."""
    interface = context.checkpoint
    return {} if interface is None else {"SGE_CKPT_ENV": interface.name, "SGE_CKPT_DIR": interface.directory}


def _parallel(context: QueueContext) -> dict[str, str]:
    told = context.parallel
    if told is None:
        return {"NSLOTS": str(context.slots), "NHOSTS": "1", "NQUEUES": "1"}
    counts = {"NSLOTS": str(told.slots), "NHOSTS": str(told.hosts), "NQUEUES": str(told.instances)}
    return {**counts, "PE": told.environment}


def _text(ad: ClassAd, name: str) -> str:
    value = ad.eval(name)
    return value if isinstance(value, str) else ""
