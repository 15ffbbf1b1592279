"""The pseudo-variables of prolog and epilog, and of all programs that a queue instance runs for a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.classad import ClassAd
from roost.model.queue_context import CELL
from roost.runtime.node.runs.job_environment import HOSTFILE
from roost.runtime.node.runs.local_run import LocalRun
from roost.runtime.processes.accounts import own_account
from roost.starter.queue_environment import task_of

if TYPE_CHECKING:
    from roost.model.queue_context import QueueContext
    from roost.runtime.node.runs.job_environment import Program

#: Grid Engine's value if no files are staged.
_STAGING: Final = {
    f"fs_{stream}_{name}": "0" if name == "file_staging" else '""'
    for stream in ("stdin", "stdout", "stderr")
    for name in ("host", "path", "tmp_path", "file_staging")
}
#: Maximum length of a pseudo-variable's value, characters: a job's user may choose any name.
VALUE_CHARS_MAX: Final = 4096


def script_values(runner: LocalRun, job_ad: ClassAd, program: Program | None) -> dict[str, str]:
    """The pseudo-variables of prolog and epilog."""

    def text(name: str, otherwise: str = "") -> str:
        value = job_ad.eval(name)
        known = isinstance(value, str | int) and not isinstance(value, bool)
        return str(value).replace("\0", "")[:VALUE_CHARS_MAX] if known else otherwise

    context = runner.around.context
    output, errors = ("", "") if program is None else (_path(program.stdout), _path(program.stderr))
    cpus = runner.slot_ad.cell("cpus")
    parallel = None if context is None else context.parallel
    of_environment = (
        {}
        if parallel is None or runner.sandbox is None
        else {
            "pe": parallel.environment,
            "pe_slots": str(parallel.slots),
            "pe_hostfile": str(runner.sandbox.path / HOSTFILE),
        }
    )
    return (
        of_environment
        | {
            "host": runner.around.name if context is None else context.host,
            "queue": runner.slot.partition("@")[0] if context is None else context.queue,
            "job_id": text("ClusterId", "0"),
            "ja_task_id": task_of(job_ad).number,
            "job_owner": text("Owner", own_account().name),
            "job_name": text("CellJobName") or text("JobBatchName") or Path(text("Cmd", "none")).name,
            "processors": str(cpus if isinstance(cpus, int) else 1) if context is None else context.processors,
            "stdin_path": "/dev/null" if program is None else _path(program.stdin),
            "stdout_path": output or "/dev/null",
            "stderr_path": errors or "/dev/null",
            "merge_stderr": "1" if output and output == errors else "0",
        }
        | _site(context)
    )


def _site(context: QueueContext | None) -> dict[str, str]:
    """Where the files of the cell are, and the values for commands of a checkpointing interface."""
    if context is None:
        return {}
    found = {"sge_root": context.sge_root, "sge_cell": CELL, **_STAGING}
    if (interface := context.checkpoint) is not None:
        found |= {"ckpt_dir": interface.directory, "ckpt_signal": interface.signal or "none"}
    return found


def _path(path: Path | None) -> str:
    return "/dev/null" if path is None else str(path)[:VALUE_CHARS_MAX]
