"""From the request of a parallel job's process to the process of its slave task.

The command is a line for the login shell of the job's user, as with `qrsh`, or a program with its arguments
(`-noshell`). A starter method is executed instead of the shell. The environment is that of the job, then the variables
exported by the requesting process, and finally those that describe the task, as in Grid Engine 8.1.9.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.config import Config
from roost.model.queue_context import QueueContext
from roost.runtime.cell_root import root_environment
from roost.runtime.files.input_files import initial_directory
from roost.runtime.home import Home
from roost.runtime.node.runs.job_environment import account_environment, lent_environment
from roost.runtime.node.runs.job_order import given_environment, niceness_in, rlimits
from roost.runtime.node.runs.job_tasks import DOOR
from roost.runtime.processes.accounts import Account, own_account
from roost.runtime.processes.memory_control import memory_limit
from roost.runtime.processes.spawn_order import RelayOrder, SpawnOrder
from roost.starter.queue_environment import cell_path, queue_environment, submission_environment
from roost.wire.messages import BeginTask

#: Variables for a task about the process that requested it.
TOLD: Final = ("SGE_STDIN_PATH", "SGE_STDOUT_PATH", "SGE_STDERR_PATH", "SGE_O_HOST", "SGE_O_PATH", "SGE_O_HOME",
               "SGE_O_SHELL")  # fmt: skip
_NAME: Final = "petask"
_SCRIPT: Final = "QRSH"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWork:
    """The inputs of a task."""

    job_ad: ClassAd
    slot_ad: ClassAd
    config: Config
    queue: QueueContext
    account: Account | None
    tmpdir: Path
    sandbox: Path
    #: The state directory of this machine.
    home: Home
    #: The address of this machine's socket for processes of the task, for tasks that they start.
    door: str


def task_environment(work: TaskWork, message: BeginTask) -> dict[str, str]:
    """The environment of a task. Raises BadJob."""
    config = work.config
    environment = {"PATH": os.defpath}
    environment.update(
        lent_environment(config.get("JOB_INHERITS_STARTER_ENVIRONMENT", subsys="STARTER") or "", os.environ)
    )
    environment.update(given_environment(config))
    environment.update(account_environment(work.account or own_account()))
    if environment["PATH"] == os.defpath:
        environment["PATH"] = cell_path(work.tmpdir, root_environment(work.home))
    environment.update(submission_environment(work.job_ad))
    environment.update({name: message.told[name] for name in TOLD if name in message.told})
    environment.update(message.exported)
    environment.update(_said(work, message.told))
    environment[DOOR] = work.door
    return {name: value for name, value in environment.items() if name and "\0" not in name + value}


def _said(work: TaskWork, told: Mapping[str, str]) -> dict[str, str]:
    paths = {
        f"{name}_path": told.get(f"SGE_{name.upper()}_PATH", "/dev/null") for name in ("stdin", "stdout", "stderr")
    }
    values = {"job_id": str(work.job_ad.eval("ClusterId")), "job_name": _NAME, **paths}
    directories = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(work.tmpdir))
    told = queue_environment(work.job_ad, work.queue, values)
    return {**told, **root_environment(work.home), "JOB_SCRIPT": _SCRIPT, **directories}


def task_program(work: TaskWork, message: BeginTask) -> tuple[Path, tuple[str, ...]]:
    """The command to execute: program, and arguments including its name."""
    words = tuple(message.words)
    if work.queue.starter_method:
        return Path(work.queue.starter_method), (work.queue.starter_method, *words)
    if message.shell:
        shell = (work.account or own_account()).shell or "/bin/sh"
        return Path(shell), (shell.rpartition("/")[2], "-c", " ".join(words))
    found = None if "/" in words[0] else shutil.which(words[0], path=os.defpath)
    return Path(found or words[0]), words


def task_directory(work: TaskWork, asked: str) -> Path:
    """The working directory of a task: as requested, otherwise that of the job, or its sandbox if that directory is not
    here.
    """
    if asked:
        return Path(asked)
    directory = initial_directory(work.job_ad)
    return directory if directory.is_dir() else work.sandbox


def task_order(work: TaskWork, message: BeginTask, *, key: str, record: Path, streams: Path) -> SpawnOrder:
    """The order to start a task, whose streams are stored in a directory. Raises BadJob."""
    program, arguments = task_program(work, message)
    return SpawnOrder(
        key=key,
        record=record,
        program=program,
        arguments=arguments,
        environment=task_environment(work, message),
        directory=task_directory(work, message.directory),
        relay=RelayOrder(
            directory=streams,
            terminal=(message.rows, message.columns) if message.rows and message.columns else None,
            reads=message.stdin,
        ),
        account=work.account,
        niceness=niceness_in(work.config, work.slot_ad, work.job_ad, work.queue),
        limits=rlimits({}, work.queue),
        memory=memory_limit(work.config, work.slot_ad, work.job_ad),
    )
