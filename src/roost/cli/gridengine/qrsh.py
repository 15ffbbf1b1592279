"""``qrsh -inherit``: start a task of a parallel job on a host of the job, from within the job.

The words of the command are one line for the login shell of the user there, with `-noshell` a program with its
arguments. What the task prints comes back as it prints it, standard input goes to it, and its exit status is that of
the command. The task begins in the directory of the job, with `-cwd` in that of the command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from roost.cli.gridengine.option_tables import options
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import is_yes, taken

OPTIONS: Final = options(
    """
inherit | start a task of the parallel job that this process is of
nostdin | the task reads nothing
noshell | execute the command itself instead of having the login shell do it
cwd | begin in this directory
wd working_directory | begin in that directory
v variable_list | give the task these variables
V | give the task the whole environment
verbose | say what is done
b y[es]|n[o] | y: the command is executed as it is
pty y[es]|n[o] | a terminal for the task
"""
)
_USAGE: Final = 'error: usage with "-inherit" option: "qrsh -inherit ... <host> <command> [args]"'


def run(name: str, arguments: list[str]) -> int:
    """Run ``qrsh``."""
    try:
        given, rest = taken(name, arguments, OPTIONS)
    except Failure as failure:
        raise Failure(f"error: {str(failure).removeprefix(f'{name}: ')}") from None
    names = {each.name for each in given}
    if "inherit" not in names:
        raise Failure(
            "qrsh: only -inherit is possible in a Roost pool yet: it starts tasks from within a parallel job; "
            "use qsub -b y -sync y to run a command and wait for it"
        )
    if len(rest) < 2:
        raise Failure(_USAGE)
    for each in given:
        if each.name == "pty" and is_yes(name, each):
            raise Failure("qrsh: -pty y is not possible in a Roost pool: tasks have no terminal", FAILED)
        if each.name == "b" and not is_yes(name, each):
            raise Failure("qrsh: -b n is not possible with -inherit: a task is a command", FAILED)
    from roost.cli.gridengine.description import environment_of
    from roost.cli.gridengine.inheriting import inherit
    from roost.gridengine.commands.qsub import Asked

    asked = Asked()
    asked.take([each for each in given if each.name in ("v", "V", "cwd", "wd")])
    return inherit(
        rest[0],
        rest[1:],
        exported=environment_of(asked),
        directory=str(Path(asked.texts.get("wd", ".")).absolute()) if names & {"cwd", "wd"} else "",
        shell="noshell" not in names,
        stdin="nostdin" not in names,
        verbose="verbose" in names,
    )
