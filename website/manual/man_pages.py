"""The man pages of `roost` and of each of its commands, made from the parsers.

`make docs` writes them into `share/man/man1`, and the package installs them from there.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Final

from roost import __version__
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
    yield from _head("roost", "a workload manager whose heart is policy")
    yield from (".B roost", r".I COMMAND", "\\&...", ".SH DESCRIPTION")
    yield _text(
        "A pool is a set of machines whose owners share them. Users submit jobs, and expressions that owners and "
        "administrators write decide which job may use which machine, and when. Each command has a page of its own, "
        "such as roost-submit(1)."
    )
    for group in GROUPS:
        yield from (f".SH {_text(group.title.upper())}", f"For example: {_text(group.example)}")
        for name in group.commands:
            yield from (".TP", f".BR roost\\-{name} (1)", _text(about[name]))
    for name in _ON_TOP:
        yield f".SH {_text(TOPICS[name].title.upper())}"
        yield from _paragraphs(TOPICS[name].text)
    yield ""


def _command_page(
    name: str,
    parser: argparse.ArgumentParser,
    about: str,
    below: list[tuple[tuple[str, ...], argparse.ArgumentParser, str]],
) -> Iterator[str]:
    yield from _head(f"roost-{name}", about)
    for at, each in enumerate([each for _, each, _ in below] or [parser]):
        yield from [".br"] if at else []
        yield from _synopsis(each)
    yield ".SH DESCRIPTION"
    yield _text(parser.description or f"{about[:1].upper()}{about[1:]}.")
    if below:
        yield ".SH COMMANDS"
    for words, each, told in below:
        yield f".SS roost {_text(' '.join(words))}"
        yield _text(each.description or f"{told[:1].upper()}{told[1:]}.")
        yield from _arguments(each)
    if not below:
        yield ".SH OPTIONS"
        yield from _arguments(parser)
    yield ".SH EXIT STATUS"
    yield from _paragraphs(TOPICS["exit-status"].text)
    yield from (".SH SEE ALSO", ".BR roost (1)", "")


def _head(name: str, about: str) -> Iterator[str]:
    yield '.\\" Generated from the parsers of roost; do not edit.'
    yield f'.TH {name.upper()} 1 "" "Roost {__version__}" "Roost"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(about)}"
    yield ".SH SYNOPSIS"


def _synopsis(parser: argparse.ArgumentParser) -> Iterator[str]:
    usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage:")).strip()
    words = parser.prog
    yield f".B {_text(words)}"
    yield _text(usage.removeprefix(words).strip())


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    inner = subparsers_of(parser)
    for action in parser._actions:
        if action is inner or isinstance(action, argparse._HelpAction):
            continue
        metavar = action.metavar if isinstance(action.metavar, str) else None
        value = metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
        yield ".TP"
        if action.option_strings:
            names = ", ".join(f"\\fB{_text(each)}\\fR" for each in action.option_strings)
            yield names + (f" \\fI{_text(value)}\\fR" if action.nargs != 0 else "")
        else:
            yield f"\\fI{_text(value)}\\fR"
        yield _text(action.help or action.dest)


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a topic; a table becomes a list of terms."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            yield _text(line)
        elif not line.startswith("|---") and cells[1] not in ("meaning", "effect"):
            yield from (".TP", f".B {_text(cells[0])}", _text(cells[1]))


def _text(text: str) -> str:
    """Text as troff takes it, without the marks of Markdown."""
    plain = text.replace("`", "").replace("\\", "\\e").replace("-", "\\-")
    plain = plain.replace("…", "...").replace("–", "\\(en").replace("·", "\\(bu")
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain
