"""Transcripts: what users typed on the hosts of a cell, and what they saw.

A line ``USER@HOST# COMMAND`` (``$`` for users other than root) is a command; it goes on over further lines while the
shell waits for more (an open quote, a here-document). Then comes what it printed, standard error included, and
``[exit status N]`` if that was not 0. Lines that begin with ``# `` after an empty line are for the reader.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

RECORDED: Final = Path(__file__).parent / "recorded"
_PROMPT: Final = re.compile(r"([a-z]+)@([a-z0-9]+)[#$] (.*)")
_HERE: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")


class Command(NamedTuple):
    """One command of a transcript."""

    #: Counted from 1.
    number: int
    user: str
    host: str
    text: str
    #: What it printed, without empty lines at its end.
    output: tuple[str, ...]
    #: Whether a comment stands before it.
    begins_section: bool


def names() -> list[str]:
    """The transcripts that there are, in order."""
    return sorted(path.stem for path in RECORDED.glob("*.txt"))


def read(name: str) -> list[Command]:
    """The commands of a transcript."""
    lines = (RECORDED / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    found: list[Command] = []
    commented = False
    at = 0
    while at < len(lines):
        prompt = _PROMPT.fullmatch(lines[at])
        if prompt is None:
            commented = commented or lines[at].startswith("# ")
            at += 1
            continue
        end = next((number for number in range(at + 1, len(lines)) if _PROMPT.fullmatch(lines[number])), len(lines))
        text, output, comments = _parts(prompt[3], lines[at + 1 : end])
        found.append(Command(len(found) + 1, prompt[1], prompt[2], text, tuple(output), commented))
        commented, at = comments, end
    return found


def _parts(first: str, rest: list[str]) -> tuple[str, list[str], bool]:
    """The whole command that begins with a line, what it printed, and whether comments follow."""
    text = first
    here = _HERE.search(first)
    if here is not None:
        length = next((number for number, line in enumerate(rest) if line.strip() == here[2]), -1) + 1
        # What follows the text is on the same command line.
        length += 1 if length < len(rest) and rest[length].strip() and rest[length][0] not in "[#" else 0
        text, rest = "\n".join([text, *rest[:length]]), rest[length:]
    while rest and _is_open(text):
        text, rest = f"{text}\n{rest[0]}", rest[1:]
    # Comments are the last paragraphs, each line of which begins with a sign.
    end = len(rest)
    while end and (rest[end - 1].startswith("# ") or not rest[end - 1]):
        end -= 1
    comments = rest[end:]
    if comments and comments[0]:
        # Lines of a comment's form right behind the output belong to it, up to the first empty line.
        own = comments.index("") if "" in comments else len(comments)
        end, comments = end + own, comments[own:]
    return text, rest[:end], any(comments)


def _is_open(text: str) -> bool:
    """Whether a shell would read another line."""
    if text.endswith("\\"):
        return True
    done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    return done.returncode != 0 and ("EOF" in done.stderr or "end of file" in done.stderr)


def steps(name: str) -> tuple[bool, dict[int, list[str]]]:
    """What was done while a transcript was recorded and does not stand in it.

    Whether jobs that are not named again were deleted at the beginning of each section, and the steps before commands,
    by their number: ``clean`` (all jobs are deleted), ``keep`` (none are, though a section begins), ``sleep S``,
    ``start HOST`` (its daemons), ``run USER COMMAND``.
    """
    path = RECORDED / f"{name}.steps"
    found: dict[int, list[str]] = {}
    deletes = False
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line == "auto":
            deletes = True
        elif line and not line.startswith("#"):
            number, _, action = line.partition(" ")
            found.setdefault(int(number), []).append(action)
    return deletes, found


def numbers(lines: Iterator[str] | tuple[str, ...] | list[str]) -> set[str]:
    """All numbers in a text."""
    return set(re.findall(r"\d+", "\n".join(lines)))
