"""The pages about a pool: the commands in them can be typed, their links lead somewhere, examples can be submitted."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest
from website.manual import pool_page

from roost.cli.__main__ import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "docs/tutorial/first-pool.md",
    "docs/guides/operations.md",
    "docs/reference/cli-pool.md",
    "docs/guides/several-machines.md",
    "README.md",
    "examples/README.md",
    "docs/guides/fetched-work.md",
    "docs/reference/hooks.md",
    "examples/fetch-sqlite/README.md",
    "examples/fetch-http/README.md",
]
LINES = sorted(
    {
        line
        for page in [*PAGES[:5], *PAGES[6:], *(f"examples/{path.name}" for path in (ROOT / "examples").glob("*.sub"))]
        for line in re.findall(
            r"^(?:\$|#  ) (roost [^…\n]*?)(?:   .*)?$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE
        )
    }
)


def parser() -> argparse.ArgumentParser:
    """All of `roost`."""
    from importlib import import_module

    top = argparse.ArgumentParser(prog="roost", exit_on_error=False)
    subparsers = top.add_subparsers(dest="command")
    for module in dict.fromkeys(COMMANDS.values()):
        import_module(f"roost.cli.{module}").add_parser(subparsers)
    return top


PARSER = parser()


@pytest.mark.parametrize("line", LINES)
def test_a_command_on_a_page_can_be_typed(line: str) -> None:
    try:
        PARSER.parse_args(shlex.split(line)[1:])
    except (SystemExit, argparse.ArgumentError) as problem:
        pytest.fail(f"{line}: {problem}")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    place = ROOT / page
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", place.read_text(encoding="utf-8")):
        assert (place.parent / target).exists(), target


def test_every_command_that_needs_a_pool_is_on_the_page() -> None:
    rest = {"cell", "classad", "completion", "config", "explain", "help", "hook", "lab", "policy", "shims"}
    assert {name.split()[0] for name in pool_page.POOL_COMMANDS} - {"explain"} == set(COMMANDS) - rest


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.sub")), ids=lambda path: path.name)
def test_an_example_makes_jobs(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    assert main(["submit", "--dry-run", path.name]) == 0
    assert "would be submitted in" in (out := capsys.readouterr()).out
    assert out.err == ""


def test_the_policy_of_the_demonstration_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    config = str(ROOT / "demo/desktop.config")
    assert main(["config", "check", "--no-environment", "--strict", "-c", config]) == 0
    assert main(["policy", "lint", config]) == 0
