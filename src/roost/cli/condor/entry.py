"""From the name of a command to its module, with the handling of streams, messages and exit statuses."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from roost.cli.condor.errors import ToolError
from roost.cli.condor.names import COMMANDS, SYNOPSES
from roost.cli.leaving import leave_with

if TYPE_CHECKING:
    from types import ModuleType

    from roost.cli.condor.options import Option


def main(name: str, arguments: Sequence[str]) -> int:
    """Run a command of HTCondor's; its exit status."""
    if name not in COMMANDS:
        sys.stderr.write(f"roost has no command {name or '(none)'}; the commands are {', '.join(COMMANDS)}\n")
        return 1
    if name == "condor_version":
        from roost.cli.condor import version

        return version.run(name, list(arguments))
    from roost.cli.terminal import guarded

    return guarded(lambda: _run(name, list(arguments)), prefix="ERROR", bad=1)


def run_and_leave(name: str, arguments: Sequence[str]) -> NoReturn:
    """Run a command as a separate process, and exit at once."""
    leave_with(main, name, arguments)


def options_of(name: str, module: ModuleType) -> Sequence[Option]:
    """The options of a command."""
    found: Sequence[Option] = getattr(module, "OPTIONS_OF", {}).get(name, getattr(module, "OPTIONS", ()))
    return found


def _run(name: str, arguments: list[str]) -> int:
    if name != "htcondor" and any(each in ("-version", "--version") for each in arguments):
        from roost.cli.condor import version

        return version.run(name, [])
    module = import_module(f"roost.cli.condor.{COMMANDS[name]}")
    if name != "htcondor" and any(each in ("-help", "--help", "-h") for each in arguments):
        from roost.cli.condor.options import usage

        sys.stdout.write(usage(name, SYNOPSES[name][0], options_of(name, module)))
        return 0
    run: Callable[[str, list[str]], int] = module.run
    try:
        return run(name, arguments)
    except ToolError as error:
        sys.stdout.flush()
        if str(error):
            sys.stderr.write(f"{str(error).rstrip(os.linesep)}\n")
        return error.status
