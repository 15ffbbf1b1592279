"""The command executed for a job of `qsub`: its script, which was sent with it, or its command, run by a shell.

A script is put into the scratch directory. The queue's shell start mode determines how it is started:

* posix_compliant: the shell gets its path and the arguments. The shell is that of `-S`, else the queue's.
* unix_behavior: the interpreter that its first line names, with the options there, as the kernel does it; /bin/sh if it
  names none. Neither `-S` nor the queue's shell counts.
* script_from_stdin: the shell reads it from its standard input.

A shell that is listed as a login shell is started as one: its name has a `-` before it. A command (`-b y`) and its
arguments are one line for the shell, as in Grid Engine; with `-shell n` the command is executed as it is.

With a starter method, the queue's program is executed instead, with the arguments of the shell.

For `qrsh` and `qlogin` the shell is the login shell of the job's user, and without a command it is started as one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.cell_requests import ACCOUNT, DIRECT, INTERACTIVE, NAME, SCRIPT, SHELL, Interaction
from roost.model.command_line import arguments_of
from roost.model.path_lists import path_for
from roost.model.queue_context import QueueContext
from roost.model.scripts import unpacked_script

#: The script in the scratch directory.
SCRIPT_FILE: Final = ".job_script"
_SHELL: Final = "/bin/sh"
#: Number of characters of a script's first line that the kernel reads.
_FIRST_LINE_MAX: Final = 255
#: The settings of jobs without a queue instance.
_NO_QUEUE: Final = QueueContext(queue="", host="")


class Start(NamedTuple):
    """The program, its arguments beginning with its own name, and a standard input that replaces the job's."""

    path: Path
    arguments: tuple[str, ...]
    stdin: Path | None = None


def is_cell_job(ad: ClassAd) -> bool:
    """Whether a job was submitted by `qsub`."""
    return isinstance(ad.cell(fold(NAME)), str)


def script_of(ad: ClassAd) -> bytes | None:
    """The script of a job; None for one without."""
    text = ad.cell(fold(SCRIPT))
    return unpacked_script(text) if isinstance(text, str) and is_cell_job(ad) else None


def has_script(ad: ClassAd) -> bool:
    """Whether a job has a script."""
    return is_cell_job(ad) and isinstance(ad.cell(fold(SCRIPT)), str)


def interaction_of(ad: ClassAd) -> Interaction | None:
    """How a user is connected to a job; None for any other job."""
    found = ad.cell(fold(INTERACTIVE))
    return Interaction(found) if isinstance(found, str) and found in tuple(Interaction) else None


def cell_program(
    ad: ClassAd,
    sandbox: Path,
    directory: Path,
    context: QueueContext | None,
    login_shell: str = "",
    search: str = os.defpath,
) -> Start:
    """The command of a `qsub` job in a queue instance; the login shell is that of its user, "" for none.

    `search` is the job's PATH, used to find a command that is run without a shell. Raises CommandLineError.
    """
    given, command, words = ad.cell(fold(SHELL)), str(ad.cell("cmd")), arguments_of(ad)
    queue, interaction = context or _NO_QUEUE, interaction_of(ad)
    shell = _shell(given, queue)
    if interaction is not None:
        shell = login_shell or _SHELL
    name = shell.rpartition("/")[2]
    name = f"-{name}" if name in queue.login_shells and interaction is not Interaction.COMMAND else name
    text, path = script_of(ad), sandbox / SCRIPT_FILE
    if interaction is Interaction.LOGIN:
        method = queue.starter_method
        return Start(Path(method), (method, shell)) if method else Start(Path(shell), (f"-{shell.rpartition('/')[2]}",))
    if queue.starter_method:
        return _by_method(queue, None if text is None else path, command, words)
    if text is not None:
        if queue.shell_start_mode == "script_from_stdin":
            return Start(Path(shell), (name, "-s", *words), path)
        if queue.shell_start_mode == "unix_behavior":
            interpreter = _interpreter(text)
            return Start(Path(interpreter[0]), (*interpreter, str(path), *words))
        return Start(Path(shell), (name, str(path), *words))
    if ad.cell(fold(DIRECT)) is True:
        return Start(_searched(command, directory, search), (command, *words))
    return Start(Path(shell), (name, "-c", " ".join((command, *words))))


def _shell(given: object, queue: QueueContext) -> str:
    """The shell of `-S` for this host, otherwise the queue's."""
    try:
        found = path_for(given, queue.host) if isinstance(given, str) else None
    except ValueError:
        # Only one that the queue has not checked: executing it fails, and the job gets that error.
        found = str(given)
    return found or queue.shell


def _searched(command: str, directory: Path, search: str) -> Path:
    """The file of a command, as found by execvp; a name without a directory is not looked up in the job's directory."""
    if "/" in command:
        return directory / command
    places = [directory / place for place in search.split(":")]
    found = shutil.which(command, path=":".join(map(str, places)))
    # A missing command is reported with the last location where it was looked up.
    return Path(found) if found else places[-1] / command


def _by_method(queue: QueueContext, script: Path | None, command: str, words: tuple[str, ...]) -> Start:
    method = queue.starter_method
    if script is not None and queue.shell_start_mode == "script_from_stdin":
        return Start(Path(method), (method, "-s", *words), script)
    return Start(Path(method), (method, command if script is None else str(script), *words))


def program_environment(ad: ClassAd, context: QueueContext, directory: Path) -> dict[str, str]:
    """The variables of a `qsub` job that describe its program."""
    account = ad.eval(ACCOUNT)
    told = {"SGE_ACCOUNT": account if isinstance(account, str) and account else "sge", "SGE_CWD_PATH": str(directory)}
    if interaction_of(ad) is None:
        # Regardless of the submission, and even if the kernel chooses another one from the first line of a script.
        told["SHELL"] = _shell(ad.cell(fold(SHELL)), context)
    if context.starter_method:
        told |= _method_environment(ad, context)
    return told


def _method_environment(ad: ClassAd, context: QueueContext) -> dict[str, str]:
    """The variables of a starter method that describe the shell it replaces."""
    shell = _shell(ad.cell(fold(SHELL)), context)
    return {
        "SGE_STARTER_SHELL_PATH": shell,
        "SGE_STARTER_SHELL_START_MODE": context.shell_start_mode,
        "SGE_STARTER_USE_LOGIN_SHELL": "true" if shell.rpartition("/")[2] in context.login_shells else "false",
    }


def _interpreter(script: bytes) -> tuple[str, ...]:
    """The interpreter in the first line of a script, and its argument: at most one word, as in the kernel."""
    line = os.fsdecode(script[:_FIRST_LINE_MAX].partition(b"\n")[0])
    words = line[2:].strip().split(None, 1) if line.startswith("#!") else []
    return tuple(words) or (_SHELL,)
