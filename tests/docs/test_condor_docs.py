"""The pages for users of HTCondor: what they name is there, what is there is named, and links lead somewhere."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from roost.cli.condor.entry import options_of
from roost.cli.condor.names import COMMANDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE = (DOCS / "guides/condor-users.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference/condor-commands.md").read_text(encoding="utf-8")


def options(name: str) -> set[str]:
    """The options of a command."""
    return {option.name for option in options_of(name, import_module(f"roost.cli.condor.{COMMANDS[name]}"))}


def test_every_command_has_its_section() -> None:
    assert re.findall(r"^## ((?:condor|classad)_\w+|htcondor)$", REFERENCE, re.MULTILINE) == list(COMMANDS)
    assert f"{len(COMMANDS)} of them" in GUIDE


@pytest.mark.parametrize("text", [GUIDE, REFERENCE], ids=["guide", "reference"])
def test_no_page_names_a_command_that_is_not_there(text: str) -> None:
    assert set(re.findall(r"\bcondor_[a-z_]+\b", text)) <= set(COMMANDS)


def test_options_that_the_guide_names_with_a_command_are_its_options() -> None:
    for name, words in re.findall(r"`((?:condor|classad)_\w+) ([^`]*)`", GUIDE):
        for word in re.findall(r"(?<!\S)-([a-z][\w-]*)", words):
            assert any(option.startswith(word) for option in options(name)), (name, word)


@pytest.mark.parametrize("page", ["guides/condor-users.md", "reference/condor-commands.md"])
def test_links_lead_somewhere(page: str) -> None:
    place = DOCS / page
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", place.read_text(encoding="utf-8")):
        assert (place.parent / target).exists(), target
