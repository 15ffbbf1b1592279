"""The pages of `roost config`, `roost explain` and `roost policy`: every command and option is there, examples run."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from roost.cli import config, policy
from roost.cli.__main__ import main
from roost.cli.cell import command as cell
from roost.cli.explain import command as explain

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {"cell": cell, "config": config, "explain": explain, "policy": policy}
PAGES = {name: (ROOT / f"docs/reference/cli-{name}.md").read_text(encoding="utf-8") for name in COMMANDS}
EXAMPLES = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", PAGES["config"], re.DOTALL)
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]
FILES = {command.split()[1]: output for command, output in EXAMPLES if command.startswith("cat ")}


def parsers(module: ModuleType) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command of a module."""
    top = argparse.ArgumentParser()
    module.add_parser(top.add_subparsers())
    found: dict[str, argparse.ArgumentParser] = {}
    work = [top]
    while work:
        for action in work.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                # What asks a pool is on the page of those commands.
                choices = {name: each for name, each in action.choices.items() if name not in ("job", "slot")}
                found |= choices
                work += choices.values()
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_on_its_page(name: str) -> None:
    page = PAGES[name]
    for command, parser in parsers(COMMANDS[name]).items():
        if command != name:
            assert re.search(rf"^#+ .*\b{command}\b", page, re.MULTILINE), command
        for action in parser._actions:
            for option in action.option_strings:
                if option not in ("-h", "--help"):
                    assert re.search(rf"^\|.*`{option}[` ]", page, re.MULTILINE), (command, option)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_names_no_option_that_is_not_there(name: str) -> None:
    known = {
        option for parser in parsers(COMMANDS[name]).values() for a in parser._actions for option in a.option_strings
    }
    assert set(re.findall(r"(?<=[`\[ ])--[a-z-]+", PAGES[name])) <= known


@pytest.mark.parametrize(("command", "output"), [example for example in EXAMPLES if example[0].startswith("roost ")])
def test_an_example_prints_what_the_page_says(
    command: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    main(shlex.split(command)[1:])
    out, err = capsys.readouterr()
    assert out + err == output
