"""From the name of a command to its module, with the handling of streams, messages and exit statuses."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from roost.cli.gridengine.names import COMMANDS
from roost.cli.leaving import leave_with
from roost.gridengine.commands.errors import Failure


def main(name: str, arguments: Sequence[str]) -> int:
    """Run a command of Grid Engine's; its exit status."""
    if name not in COMMANDS:
        sys.stderr.write(f"roost has no command {name or '(none)'}; the commands are {', '.join(COMMANDS)}\n")
        return 1
    from roost.cli.terminal import guarded

    return guarded(lambda: _run(name, list(arguments)), prefix=name, bad=1)


def run_and_leave(name: str, arguments: Sequence[str]) -> NoReturn:
    """Run a command as a separate process, and exit at once."""
    leave_with(main, name, arguments)


def _run(name: str, arguments: list[str]) -> int:
    module = import_module(f"roost.cli.gridengine.{COMMANDS[name]}")
    if arguments[:1] == ["-help"]:
        from roost.gridengine.commands.options import usage

        sys.stdout.write(usage(name, getattr(module, "OPTIONS_OF", {}).get(name, module.OPTIONS)))
        return 0
    run: Callable[[str, list[str]], int] = module.run
    try:
        return run(name, arguments)
    except Failure as failure:
        sys.stdout.flush()
        if text := str(failure):
            sys.stderr.write(f"{text.rstrip(os.linesep)}\n")
        return failure.status
