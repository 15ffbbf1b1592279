"""``qrsh -inherit``: start a task of a parallel job on a host of the job, from within the job.

The words of the command are one line for the login shell of the user there, with `-noshell` a program with its
arguments. What the task prints comes back as it prints it, standard input goes to it, and its exit status is that of
the command. The task begins in the directory of the job, with `-cwd` in that of the command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from roost.cli.gridengine.errors import FAILED, Failure
from roost.cli.gridengine.options import Option, is_yes, taken

OPTIONS: Final = (
    Option("inherit", "start a task of the parallel job that this process is of"),
    Option("nostdin", "the task reads nothing"),
    Option("noshell", "execute the command itself instead of having the login shell do it"),
    Option("cwd", "begin in this directory"),
    Option("wd", "begin in that directory", "working_directory"),
    Option("v", "give the task these variables", "variable_list"),
    Option("V", "give the task the whole environment"),
    Option("verbose", "say what is done"),
    Option("b", "y: the command is executed as it is", "y[es]|n[o]"),
    Option("pty", "a terminal for the task", "y[es]|n[o]"),
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
    from roost.cli.gridengine.qsub_options import Asked

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
