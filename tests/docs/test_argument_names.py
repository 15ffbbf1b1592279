"""Arguments of `roost` are named alike: an option takes the same thing in each command, and each thing has one name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from roost.cli.__main__ import parser_of_all
from roost.cli.parsing import subparsers_of

#: What an option or argument takes is called one of these; units are in the plural.
KNOWN = frozenset(
    (
        "AD", "ADS", "CLUSTER", "CODE", "CODES", "COMMAND", "DAYS", "DIGEST", "DIR", "DURATION", "EPOCH", "EXPR",
        "FILE", "HOOK", "ID", "INSTANCE", "JOB", "KIND", "LINE", "MACHINE", "MB", "N", "NAME", "NAMES", "NAME=EXPR",
        "NAME=VALUE", "NEW", "OLD", "P", "PATH", "PERCENT", "SECONDS", "SLOT", "STATEMENT", "TEXT", "TIME", "TOPIC",
        "TYPE", "USER", "WORD", "X.Y.Z",
    )
)  # fmt: skip
#: Arguments of one meaning to their name: whatever the command, a machine is a MACHINE.
MEANINGS = {
    "job": {"JOB", "AD"}, "machine": {"MACHINE"}, "slot": {"SLOT", "N"}, "user": {"USER"}, "constraint": {"EXPR"},
    "limit": {"N"}, "home": {"DIR"}, "request_id": {"ID"}, "reason": {"TEXT"}, "file": {"FILE"}, "seed": {"N"},
    "config": {"PATH"}, "since": {"TIME"}, "until": {"TIME"}, "count": {"N"},
}  # fmt: skip


def arguments(parser: argparse.ArgumentParser, command: str = "roost") -> Iterator[tuple[str, argparse.Action]]:
    inner = subparsers_of(parser)
    for action in parser._actions:
        if action is not inner and not isinstance(action, argparse._HelpAction) and action.nargs != 0:
            yield command, action
    for name, each in inner.choices.items() if inner is not None else ():
        yield from arguments(each, f"{command} {name}")


ALL = list(arguments(parser_of_all()))


def test_each_argument_is_called_by_a_known_name() -> None:
    wrong = [
        (command, action.dest, action.metavar)
        for command, action in ALL
        if action.choices is None and action.metavar not in KNOWN
    ]
    assert wrong == []


def test_an_option_takes_the_same_in_each_command() -> None:
    found: dict[str, dict[str, list[str]]] = {}
    for command, action in ALL:
        for option in action.option_strings:
            found.setdefault(option, {}).setdefault(str(action.metavar or action.choices), []).append(command)
    # A scenario may take hours, and says so with a unit; commands wait for seconds.
    del found["--timeout"]
    assert {option: kinds for option, kinds in found.items() if len(kinds) > 1} == {}


def test_arguments_of_one_meaning_have_one_name() -> None:
    wrong = [
        (command, action.dest, action.metavar)
        for command, action in ALL
        if action.choices is None and action.metavar not in MEANINGS.get(action.dest, {action.metavar})
    ]
    assert wrong == []
