"""The man pages of `roost` and of each of its commands, made from the parsers.

`make docs` writes them into `share/man/man1`, and the package installs them from there.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Final

from website.manual.troff import head, plain, prose

from roost.cli.help.groups import GROUPS
from roost.cli.help.topics import TOPICS
from roost.cli.parsing import commands_of, subparsers_of

#: Topics that hold for every command, in the order of the page of `roost`.
_ON_TOP: Final = ("pools", "jobs", "json", "environment", "exit-status", "waiting")


def pages() -> dict[str, str]:
    """Name of a file to its text."""
    from roost.cli.__main__ import parser_of_all

    top = parser_of_all()
    commands = list(commands_of(top))
    found = {"roost.1": "\n".join(_top_page(top, {words[0]: about for words, _, about in commands if len(words) == 1}))}
    for words, parser, about in commands:
        if len(words) == 1:
            below = [each for each in commands if len(each[0]) > 1 and each[0][0] == words[0]]
            found[f"roost-{words[0]}.1"] = "\n".join(_command_page(words[0], parser, about, below))
    return found


def _top_page(top: argparse.ArgumentParser, about: dict[str, str]) -> Iterator[str]:
    yield from head("roost", "a workload manager whose heart is policy")
    yield from (".B roost", r".I COMMAND", "\\&...", ".SH DESCRIPTION")
    yield plain(
        "A pool is a set of machines whose owners share them. Users submit jobs, and expressions that owners and "
        "administrators write decide which job may use which machine, and when. Each command has a page of its own, "
        "such as roost-submit(1)."
    )
    for group in GROUPS:
        yield from (f".SH {plain(group.title.upper())}", f"For example: {plain(group.example)}")
        for name in group.commands:
            yield from (".TP", f".BR roost\\-{name} (1)", plain(about[name]))
    for name in _ON_TOP:
        yield f".SH {plain(TOPICS[name].title.upper())}"
        yield from prose(TOPICS[name].text)
    yield ""


def _command_page(
    name: str,
    parser: argparse.ArgumentParser,
    about: str,
    below: list[tuple[tuple[str, ...], argparse.ArgumentParser, str]],
) -> Iterator[str]:
    yield from head(f"roost-{name}", about)
    for at, each in enumerate([each for _, each, _ in below] or [parser]):
        yield from [".br"] if at else []
        yield from _synopsis(each)
    yield ".SH DESCRIPTION"
    yield plain(parser.description or f"{about[:1].upper()}{about[1:]}.")
    if below:
        yield ".SH COMMANDS"
    for words, each, told in below:
        yield f".SS roost {plain(' '.join(words))}"
        yield plain(each.description or f"{told[:1].upper()}{told[1:]}.")
        yield from _arguments(each)
    if not below:
        yield ".SH OPTIONS"
        yield from _arguments(parser)
    yield ".SH EXIT STATUS"
    yield from prose(TOPICS["exit-status"].text)
    yield from (".SH SEE ALSO", ".BR roost (1)", "")


def _synopsis(parser: argparse.ArgumentParser) -> Iterator[str]:
    usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage:")).strip()
    words = parser.prog
    yield f".B {plain(words)}"
    yield plain(usage.removeprefix(words).strip())


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    inner = subparsers_of(parser)
    for action in parser._actions:
        if action is inner or isinstance(action, argparse._HelpAction):
            continue
        metavar = action.metavar if isinstance(action.metavar, str) else None
        value = metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
        yield ".TP"
        if action.option_strings:
            names = ", ".join(f"\\fB{plain(each)}\\fR" for each in action.option_strings)
            yield names + (f" \\fI{plain(value)}\\fR" if action.nargs != 0 else "")
        else:
            yield f"\\fI{plain(value)}\\fR"
        yield plain(action.help or action.dest)
