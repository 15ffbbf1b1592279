"""The page of `roost help` and `roost completion`: its examples are real."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from roost.cli.__main__ import main
from roost.cli.help import completion
from roost.cli.help.topics import TOPICS

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/cli-help.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\$ roost (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("arguments", "output"), EXAMPLES, ids=[arguments for arguments, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(
    arguments: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    main(shlex.split(arguments))
    out, err = capsys.readouterr()
    assert out + err == output


@pytest.mark.parametrize("line", re.findall(r"`roost (help [\w ]+)`", PAGE))
def test_a_topic_that_the_page_names_is_explained(line: str) -> None:
    assert main(line.split()) == 0


def test_the_page_names_all_topics_and_shells() -> None:
    assert set(re.findall(r"^\| (`pools`.*?) \|", PAGE, re.MULTILINE)[0].replace("`", "").split(", ")) == set(TOPICS)
    assert set(re.findall(r"^\| (\w+) \| `", PAGE, re.MULTILINE)) == set(completion.SHELLS)
