"""The command ``roost``: finds the subcommand and runs it.

A subcommand is a module of this package with ``add_parser(subparsers)`` and ``run(args) -> int``. Only the
module of the command that is asked for is imported, for a command must start at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from roost import __version__
from roost.cli.terminal import Exit, guarded

#: Subcommands in the order of the help, and the modules that they are in.
COMMANDS: Final = {
    "up": "up",
    "down": "down",
    "status": "status",
    "submit": "submit",
    "queue": "queue",
    "wait": "wait",
    "rm": "acting",
    "hold": "acting",
    "release": "acting",
    "suspend": "acting",
    "continue": "acting",
    "vacate": "acting",
    "edit": "acting",
    "history": "history",
    "story": "story",
    "audit": "audit",
    "dag": "dag",
    "drain": "drain",
    "reopen": "reopen",
    "reconfig": "reconfig",
    "userprio": "userprio",
    "advertise": "advertise",
    "classad": "classad",
    "cell": "cell",
    "config": "config",
    "explain": "explain",
    "hook": "hook",
    "lab": "lab",
    "policy": "policy",
    "shims": "shims",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: of this process); the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(arguments))


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="roost", description="A workload manager whose heart is policy.")
    parser.add_argument("--version", action="version", version=f"roost {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    modules = _modules(arguments)
    for module in dict.fromkeys(modules.values()):
        module.add_parser(subparsers)
    try:
        args, unknown = parser.parse_known_args(arguments)
        if unknown:
            # The usage of the command helps more than that of all of them.
            subparsers.choices.get(args.command, parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    except SystemExit as end:
        # argparse has said what there is to say.
        return Exit.OK if not end.code else Exit.BAD
    if args.command is None:
        parser.print_help(sys.stderr)
        return Exit.BAD
    code = modules[args.command].run(args)
    assert isinstance(code, int)
    return code


def _modules(arguments: list[str]) -> dict[str, ModuleType]:
    """The module of the command that is asked for; all of them where it is not clear."""
    asked = [argument for argument in arguments[:1] if argument in COMMANDS]
    return {name: import_module(f"roost.cli.{COMMANDS[name]}") for name in asked or COMMANDS}


if __name__ == "__main__":
    sys.exit(main())
