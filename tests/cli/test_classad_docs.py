"""The examples of the command's page run and print what the page says; every option is on it."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roost.cli.classad import command as classad

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/cli-classad.md").read_text(encoding="utf-8")
EXAMPLES = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]
#: Explained once for all commands.
COMMON = {"--file", "--old"}
FILES = {command.split()[1]: output for command, output in EXAMPLES if command.startswith("cat ")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files of the examples and a command ``roost``."""
    path = tmp_path_factory.mktemp("examples")
    for name, text in FILES.items():
        (path / name).write_text(text)
    command = path / "roost"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m roost.cli "$@"\n')
    command.chmod(0o755)
    return path


@pytest.mark.parametrize(("command", "output"), [example for example in EXAMPLES if "roost" in example[0]])
def test_examples(place: Path, command: str, output: str) -> None:
    environment = {**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"), "TZ": "UTC"}
    environment.pop("COLUMNS", None)
    done = subprocess.run(
        command, shell=True, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
    )
    assert done.stdout.decode() == output


def options(parser: argparse.ArgumentParser) -> dict[str, set[str]]:
    """The long options of each subcommand."""
    found: dict[str, set[str]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                found[name] = {option for a in inner._actions for option in a.option_strings if option.startswith("--")}
                found.update(options(inner))
    return found


def test_every_command_and_option_is_on_the_page() -> None:
    parser = argparse.ArgumentParser()
    classad.add_parser(parser.add_subparsers())
    for command, names in options(parser).items():
        if command != "classad":
            section = PAGE.split(f"\n## {command}\n")[1].split("\n## ")[0]
            assert {name for name in names - {"--help"} if name not in section and name not in COMMON} == set()
