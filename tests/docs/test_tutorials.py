"""The tutorials for owners and policy engineers: files are written, commands typed, and print what is shown."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from roost.cli.__main__ import main, parser_of_all

TUTORIALS = Path(__file__).resolve().parents[2] / "docs/tutorial"
#: A file with its name in the sentence before it, or commands with their output.
STEP = re.compile(r"`(?P<name>[\w.]+)`[^`\n]*:\n\n```\w*\n(?P<text>.*?)```|```console\n(?P<session>.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ roost (?P<words>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
#: Where the page says the reader is.
HOME = "/home/ann"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["your-machine.md", "a-tested-policy.md"])
def test_a_tutorial_does_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for step in STEP.finditer((TUTORIALS / name).read_text(encoding="utf-8")):
        if step["name"]:
            (tmp_path / step["name"]).write_text(step["text"], encoding="utf-8")
            continue
        for command in COMMAND.finditer(step["session"]):
            main(shlex.split(command["words"]))
            out, err = capsys.readouterr()
            printed, shown = (out + err).replace(str(tmp_path), HOME), command["output"]
            if shown.endswith("…\n"):
                shown = shown.removesuffix("…\n")
                printed = printed[: len(shown)]
            assert printed == shown, command["words"]


@pytest.mark.parametrize("page", sorted(TUTORIALS.glob("*.md")), ids=lambda page: page.stem)
def test_every_command_of_a_tutorial_can_be_typed(page: Path) -> None:
    for line in re.findall(r"^\$ roost (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        try:
            parser_of_all().parse_args(shlex.split(line))
        except (SystemExit, argparse.ArgumentError) as problem:
            pytest.fail(f"{line}: {problem}")
