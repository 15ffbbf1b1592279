"""The command ``roost``: finds the subcommand and runs it.

A subcommand is a module of this package with ``add_parser(subparsers)`` and ``run(args) -> int``. Only the module of
the given command is imported, because a command must start quickly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Final

from roost import __version__
from roost.cli.parsing import Parser, deepest, refusal
from roost.cli.terminal import Exit, guarded

#: Subcommands and their modules; `groups` determines how the help shows them.
COMMANDS: Final = {
    "up": "up",
    "down": "down",
    "status": "status",
    "submit": "submit",
    "queue": "queue",
    "wait": "wait",
    "watch": "watch",
    "run": "run",
    "retry": "retry",
    "top": "top",
    "logs": "logs",
    "ssh": "ssh",
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
    "classad": "classad.command",
    "cell": "cell.command",
    "config": "config",
    "explain": "explain.command",
    "hook": "hook",
    "lab": "lab.command",
    "policy": "policy",
    "shims": "shims",
    "web": "web",
    "token": "web",
    "install-service": "install_service",
    "backup": "backup",
    "restore": "backup",
    "pool": "membership",
    "join": "membership",
    "help": "help.command",
    "completion": "help.completion",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: of this process); return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(arguments))


def _run(arguments: list[str]) -> int:
    modules = _modules(arguments)
    parser, subparsers = _top()
    for module in dict.fromkeys(modules.values()):
        module.add_parser(subparsers)
    if not modules:
        _add_names(subparsers)
    try:
        args, unknown = parser.parse_known_args(arguments)
    except SystemExit as end:
        # argparse has already printed the error.
        return Exit.OK if not end.code else Exit.BAD
    if unknown:
        raise refusal(deepest(parser, arguments), unknown)
    if args.command is None:
        parser.print_help(sys.stderr)
        return Exit.BAD
    code = modules[args.command].run(args)
    assert isinstance(code, int)
    return code


class _Top(Parser):
    """The parser of `roost` itself."""

    def format_help(self) -> str:
        from roost.cli.help.groups import overview

        return overview(self)


def _top() -> tuple[Parser, argparse._SubParsersAction[Parser]]:
    parser = _Top(prog="roost", description="A workload manager whose heart is policy.")
    parser.add_argument("--version", action="version", version=f"roost {__version__}", help="print the version")
    return parser, parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)


def parser_of_all() -> Parser:
    """The parser of `roost` with all commands."""
    parser, subparsers = _top()
    for module in dict.fromkeys(map(_module, COMMANDS)):
        module.add_parser(subparsers)
    return parser


def _modules(arguments: Sequence[str]) -> dict[str, ModuleType]:
    """The module of the given command; empty if there is none."""
    asked = next((argument for argument in arguments if not argument.startswith("-")), "")
    return {asked: _module(asked)} if asked in COMMANDS else {}


def _module(command: str) -> ModuleType:
    return import_module(f"roost.cli.{COMMANDS[command]}")


def _add_names(subparsers: argparse._SubParsersAction[Parser]) -> None:
    """Register the names of all commands, if one is misspelt or none is named; none of them is run."""
    for name in COMMANDS:
        subparsers.add_parser(name)


if __name__ == "__main__":
    sys.exit(main())
