"""The commands of `roost` in groups, as `roost --help`, the man pages and the shells show them."""

from __future__ import annotations

import argparse
from typing import Final, NamedTuple

from roost.cli.parsing import subparsers_of


class Group(NamedTuple):
    """Commands that belong together."""

    title: str
    #: A command line that can be typed as it is.
    example: str
    commands: tuple[str, ...]


GROUPS: Final = (
    Group(
        "Run jobs",
        "roost submit hello.sub --wait",
        ("submit", "queue", "wait", "rm", "hold", "release", "suspend", "continue", "vacate", "edit", "history", "dag"),
    ),
    Group("Ask why", "roost explain job 12.0", ("explain", "story", "audit")),
    Group(
        "Run a pool",
        "roost up --detach",
        ("up", "down", "status", "drain", "reopen", "reconfig", "userprio", "advertise"),
    ),
    Group("Engineer policy", "roost policy lint roost.config", ("policy", "config", "lab", "classad", "hook", "cell")),
    Group("Help yourself", "roost help MAX_JOBS_RUNNING", ("help", "completion", "shims")),
)


def overview(parser: argparse.ArgumentParser) -> str:
    """The text of `roost --help`: the commands in their groups, each with an example."""
    inner = subparsers_of(parser)
    assert inner is not None
    about = {choice.dest: choice.help or "" for choice in inner._choices_actions}
    lines = ["usage: roost COMMAND …", "", parser.description or ""]
    for group in GROUPS:
        lines += ["", f"{group.title}, for example `{group.example}`"]
        lines += [f"  {name:<12}{about[name]}" for name in group.commands]
    lines += [
        "",
        "`roost help COMMAND` or `roost COMMAND --help` says what a command takes, and `roost help TOPIC` explains",
    ]
    lines += ["a knob, an attribute, a finding of the linter, or one of these: " + ", ".join(_topics()) + ".", ""]
    return "\n".join(lines)


def _topics() -> list[str]:
    from roost.cli.topics import TOPICS

    return list(TOPICS)
