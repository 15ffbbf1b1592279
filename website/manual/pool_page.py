"""The blocks of the manual's page of the commands that talk to a pool: what each is for, and all its options."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Final

from roost.cli.__main__ import COMMANDS
from roost.cli.help.topics import TOPICS

#: Commands of the page, in its order.
POOL_COMMANDS: Final = (
    "up", "down", "install-service", "backup", "restore", "status", "submit", "queue", "wait", "watch", "run", "logs",
    "ssh", "retry", "top",
    "rm", "hold", "release", "suspend", "continue", "vacate", "edit",
    "history", "story", "explain job", "explain slot", "audit", "drain", "reopen", "reconfig", "userprio", "advertise",
    "pool init", "pool invite", "join", "pool members", "pool remove", "pool renew", "pool check",
    "web", "token create", "token list", "token revoke", "dag check", "dag submit", "dag status", "dag run",
)  # fmt: skip


def blocks() -> dict[str, dict[str, Iterable[str]]]:
    """Page below docs/ to its blocks: name to lines."""
    parsers = dict(_parsers())
    found: dict[str, Iterable[str]] = {"topics": _topics()}
    for name in POOL_COMMANDS:
        found[name], found[f"{name} options"] = _section(name, parsers[name])
    return {"reference/cli-pool.md": found}


def _topics() -> Iterator[str]:
    for topic in TOPICS.values():
        yield from (f"**{topic.title}.**{_gap(topic.text)}{topic.text}", "")


def _gap(text: str) -> str:
    """What stands between a title and its text, which may be a table."""
    return "\n\n" if text.startswith("|") else " "


def _parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Name of a command, with its kind where it has some, to its parser."""
    top = argparse.ArgumentParser(prog="roost")
    subparsers = top.add_subparsers()
    for module in dict.fromkeys(COMMANDS[name.split()[0]] for name in POOL_COMMANDS):
        import_module(f"roost.cli.{module}").add_parser(subparsers)
    for name, parser in subparsers.choices.items():
        yield name, parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from ((f"{name} {kind}", each) for kind, each in action.choices.items())


def _section(name: str, parser: argparse.ArgumentParser) -> tuple[list[str], list[str]]:
    """What a command is for, and the table of its options."""
    lines = [parser.description or _help_of(name)]
    kinds = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if kinds:
        first = next(iter(kinds[0].choices.values()))
        shown = [f"`roost {name} {kind}`" for kind in kinds[0].choices]
        lines += ["", f"{' and '.join(shown)} have the same options:"]
        parser = first
    rows = [_row(action) for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    return lines, ["| argument | meaning |", "|---|---|", *rows]


def _help_of(name: str) -> str:
    """What the list of commands says of a subcommand without a description of its own."""
    above, _, last = name.rpartition(" ")
    inner = dict(_parsers())[above]._subparsers if above else None
    actions = inner._group_actions if inner is not None else []
    told = next((each.help for kind in actions for each in kind._choices_actions if each.dest == last), "")  # type: ignore[attr-defined]
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def _row(action: argparse.Action) -> str:
    metavar = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else "")
    if action.option_strings:
        takes = action.nargs != 0
        shown = ", ".join(
            f"`{each}{f' {metavar or action.dest.upper()}' if takes else ''}`" for each in action.option_strings
        )
    else:
        shown = f"`{metavar or action.dest.upper()}`"
    text = (action.help or "").replace("|", "\\|")
    return f"| {shown} | {text} |"
