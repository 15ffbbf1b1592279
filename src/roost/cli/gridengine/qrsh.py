"""``qrsh``, ``qlogin`` and ``qsh``: interactive jobs; and tasks of a parallel job.

`qrsh COMMAND` runs a command as a job, with the streams of this process and the exit status of the command; without a
command, and as `qlogin`, it is a login shell with a terminal. `qsh` opens a terminal emulator on the display. With
`-inherit`, a process of a parallel job starts a task of that job on one of its hosts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from roost.cli.gridengine.description import Work
from roost.cli.gridengine.interactive import Wish, interact
from roost.cli.gridengine.option_tables import options
from roost.cli.gridengine.qsub import options_of
from roost.cli.gridengine.request_files import request_files, words_of_file
from roost.gridengine.commands.binding import UNBOUND
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import Given, Option, is_yes, taken
from roost.gridengine.commands.qsub import OPTIONS as QSUB
from roost.gridengine.commands.qsub import Asked
from roost.model.cell_requests import Interaction

#: Options of `qsub` that do not apply to interactive jobs.
_NOT_OURS: Final = frozenset(
    ("a", "b", "C", "c", "clear", "dl", "e", "i", "j", "now", "o", "r", "S", "shell", "sync", "t", "tc", "terse")
)
_OF_QSUB: Final = tuple(each for each in QSUB if each.name not in _NOT_OURS)
_NOW: Final = options(
    """
now y[es]|n[o] | y, the default: start now or not at all, in an interactive queue
"""
)
_PTY: Final = options(
    """
pty y[es]|n[o] | a terminal for the job, or none; without a command it has one
"""
)
_WINDOW: Final = options(
    """
display display | the display that the terminal emulator opens its window on
S path_list | the shell that runs in the window
"""
)
_QRSH: Final = options(
    """
b y[es]|n[o] | n: the command is a script of this host
inherit | start a task of the parallel job that this process is of
nostdin | the command reads nothing
noshell | execute the command itself instead of having the login shell do it
verbose | say what is done
"""
)


_OWN: Final = frozenset(("b", "now", "pty", "nostdin", "noshell", "verbose", "S", "display"))


def _sorted(*tables: tuple[Option, ...]) -> tuple[Option, ...]:
    return tuple(sorted((each for table in tables for each in table), key=lambda each: each.name.casefold()))


OPTIONS_OF: Final = {
    "qrsh": _sorted(_OF_QSUB, _NOW, _PTY, _QRSH),
    "qlogin": _sorted(_OF_QSUB, _NOW, _PTY),
    "qsh": _sorted(_OF_QSUB, _NOW, _WINDOW),
}
OPTIONS: Final = OPTIONS_OF["qrsh"]
_USAGE: Final = 'error: usage with "-inherit" option: "qrsh -inherit ... <host> <command> [args]"'


def run(name: str, arguments: list[str]) -> int:
    """Run ``qrsh``, ``qlogin`` or ``qsh``."""
    try:
        given, rest = taken(name, arguments, OPTIONS_OF[name])
    except Failure as failure:
        raise Failure(f"error: {str(failure).removeprefix(f'{name}: ')}") from None
    if "inherit" in {each.name for each in given}:
        return _inherit(name, given, rest)
    if name != "qrsh" and rest:
        raise Failure("error: Unknown option script")
    return interact(_wish(name, given, rest))


def _wish(name: str, given: Sequence[Given], words: Sequence[str]) -> Wish:
    own = {each.name: each for each in given if each.name in _OWN}
    asked = _asked(given)
    asked.yes["now"] = now = "now" not in own or _is_yes(name, own["now"])
    asked.check()
    if "binding" in asked.texts:
        sys.stderr.write(f"{name}: {UNBOUND}\n")
    if name == "qsh":
        return _window(asked, own)
    is_script = "b" in own and not _is_yes(name, own["b"])
    if words and is_script:
        from roost.cli.gridengine.script import read_script

        work = Work(read_script(words[0]), "", tuple(words[1:]))
    else:
        work = Work(None, words[0] if words else "", tuple(words[1:]))
    first = next(iter(words[0].split()), "") if words else "QLOGIN" if name == "qlogin" else "QRLOGIN"
    asked.texts.setdefault("N", first.rpartition("/")[2])
    if "noshell" in own:
        asked.yes["shell"] = False
    terminal = _is_yes(name, own["pty"]) if "pty" in own else not words
    return Wish(
        called=name,
        asked=asked,
        work=work if words else Work(None, "/bin/sh", ()),
        interaction=Interaction.COMMAND if words else Interaction.LOGIN,
        now=now,
        terminal=terminal,
        stdin="nostdin" not in own,
        verbose="verbose" in own or name != "qrsh",
    )


def _asked(given: Sequence[Given]) -> Asked:
    """The options of request files and the command line."""
    asked, names = Asked(), {each.name for each in _OF_QSUB}
    for path in request_files():
        asked.take([each for each in options_of(words_of_file(path), str(path)) if each.name in names])
    asked.take([each for each in given if each.name in names])
    # The output of a prolog is discarded: the streams are those of the command.
    asked.texts["o"] = asked.texts["e"] = "/dev/null"
    asked.yes["r"] = False
    return asked


def _window(asked: Asked, own: dict[str, Given]) -> Wish:
    """A terminal emulator. Raises Failure if there is no display on which another host can open a window."""
    import os

    from roost.cli.gridengine.window import emulator

    given = own["display"].value if "display" in own else ""
    display = given or str(asked.variables.get("DISPLAY") or os.environ.get("DISPLAY", ""))
    if not display:
        raise Failure("error: no DISPLAY variable found with interactive job ")
    if display.startswith(":"):
        raise Failure(f'error: local DISPLAY variable "{display}" delivered with interactive job ')
    asked.variables["DISPLAY"] = display
    asked.texts.setdefault("N", "INTERACTIVE")
    asked.yes["shell"] = False
    return Wish(
        called="qsh",
        asked=asked,
        work=Work(None, *emulator(display, own["S"].value if "S" in own else "")),
        interaction=Interaction.WINDOW,
        now=asked.yes["now"],
        terminal=False,
        stdin=False,
        verbose=True,
    )


def _is_yes(name: str, given: Given) -> bool:
    try:
        return is_yes(name, given)
    except Failure as failure:
        raise Failure(f"error: {str(failure).removeprefix(f'{name}: ')}") from None


def _inherit(name: str, given: Sequence[Given], rest: Sequence[str]) -> int:
    if len(rest) < 2:
        raise Failure(_USAGE)
    names, terminal = {each.name for each in given}, False
    for each in given:
        if each.name == "pty":
            terminal = _is_yes(name, each)
        if each.name == "b" and not _is_yes(name, each):
            raise Failure("qrsh: -b n is not possible with -inherit: a task is a command", FAILED)
        if each.name not in ("inherit", "nostdin", "noshell", "cwd", "wd", "v", "V", "verbose", "b", "pty"):
            raise Failure(f"qrsh: -{each.name} is not possible with -inherit: the job has its slots already", FAILED)
    from roost.cli.gridengine.description import environment_of
    from roost.cli.gridengine.inheriting import Task, inherit

    asked = Asked()
    asked.take([each for each in given if each.name in ("v", "V", "cwd", "wd")])
    task = Task(
        words=rest[1:],
        exported=environment_of(asked),
        directory=str(Path(asked.texts.get("wd", ".")).absolute()) if names & {"cwd", "wd"} else "",
        shell="noshell" not in names,
        stdin="nostdin" not in names,
    )
    return inherit(rest[0], task, verbose="verbose" in names, terminal=terminal)
