"""Each option that Grid Engine's `-help` lists acts, or is refused with the reason: `data/options.toml` has the list.

An option that acts has a test that types it; this module looks for these tests, and types each option itself in a form
that cannot act, to see that it is known. Options that Grid Engine lists, and does not take, are not taken here either.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest
from tests.cli.gridengine.kit import Desk

from roost.cli.gridengine.names import COMMANDS
from roost.gridengine.commands.options import Option

_TESTS: Final = Path(__file__).parents[2]
LISTED: Final = tomllib.loads((Path(__file__).parent / "data/options.toml").read_text("utf-8"))
#: Commands that read the same options, and do the same with them, as another one.
_ALIKE: Final = {"qlogin": ("qrsh", "qsub"), "qsh": ("qrsh", "qsub"), "qrsh": ("qsub", "qlogin"), "qrls": ("qhold",)}
_OPTION: Final = re.compile(r"-[A-Za-z@_]+")


def options_of(command: str) -> dict[str, Option]:
    """The options of a command, by name."""
    module = import_module(f"roost.cli.gridengine.{COMMANDS[command]}")
    options = getattr(module, "OPTIONS_OF", {}).get(command) or module.OPTIONS
    return {option.name: option for option in options}


def test_all_commands_are_there() -> None:
    assert set(LISTED) == set(COMMANDS)


@pytest.mark.parametrize("command", LISTED)
def test_every_option_is_known_and_says_what_it_does(command: str) -> None:
    options = options_of(command)
    listed = set(LISTED[command]["options"]) - {"help"}
    assert listed <= set(options)
    assert set(LISTED[command].get("refused", ())).isdisjoint(options)
    for option in options.values():
        assert len(option.refused or option.help) > 5


@pytest.mark.parametrize("command", LISTED)
def test_every_option_that_acts_has_a_test_that_types_it(command: str) -> None:
    typed = _typed(command).union(*(_typed(other) for other in _ALIKE.get(command, ())))
    acting = {f"-{option.name}" for option in options_of(command).values() if not option.refused}
    assert not acting - typed


@pytest.mark.parametrize("command", LISTED)
def test_help_lists_theoptions_of(desk: Desk, command: str) -> None:
    shown = set(re.findall(r"^   \[-([^] ]+)", desk(command, "-help").out, re.MULTILINE))
    assert shown == set(options_of(command))


def test_options_that_cannot_act_are_refused_with_the_reason(desk: Desk) -> None:
    refused = [(command, option) for command in LISTED for option in options_of(command).values() if option.refused]
    assert refused
    for command, option in refused:
        done = desk(command, f"-{option.name}", *["x"] * len(option.takes.split()), status=None)
        assert done.status and option.refused in done.err, (command, option.name, done)


def test_options_that_grid_engine_does_not_take_are_not_taken(desk: Desk) -> None:
    for command, lists in LISTED.items():
        for name in lists.get("refused", ()):
            done = desk(command, f"-{name}", "x", status=None)
            assert done.status and re.search(r"usage|Usage|nvalid option|Unknown option", done.err + done.out), done


@cache
def _typed(command: str) -> frozenset[str]:
    """The options in tests of a command: in functions and tables that name it, in steps and in transcripts."""
    found: set[str] = set()
    for path in (_TESTS / "cli/gridengine", _TESTS / "integration", _TESTS / "clients"):
        for file in path.rglob("test_*.py"):
            if file.name != Path(__file__).name:
                found.update(_typed_in(ast.parse(file.read_text("utf-8")), command))
    steps = (_TESTS / "cli/gridengine/data/qconf.json").read_text("utf-8")
    recorded = [path.read_text("utf-8") for path in (_TESTS / "transcripts/recorded").glob("*.txt")]
    for text in (steps, *recorded):
        for words in re.findall(rf"\b{command} ([^;|\n]*)", text):
            found.update(_OPTION.findall(words))
    return frozenset(found)


def _typed_in(module: ast.Module, command: str) -> Iterator[str]:
    for node in module.body:
        names = [each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)]
        constants = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
        words = [each for each in constants if isinstance(each, str)]
        if any(re.search(rf"\b{command}\b", word) for word in (*names, *words)):
            yield from (option for word in words for option in _OPTION.findall(word))
