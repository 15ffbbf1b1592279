"""Comments that allow a finding: ``# roost: allow RST210 the reason``.

On a line of its own, such a comment covers the next statement, with all its continued lines. With ``allow-file`` it
covers the whole file. Several codes are separated by commas. A reason is required.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from roost.base.records import dataclass
from roost.policy.lint.findings import Finding

_COMMENT = re.compile(
    r"\s*#\s*roost:\s*(allow(?:-file)?)\s+([A-Za-z]+\d+(?:\s*,\s*[A-Za-z]+\d+)*)\s*[:,-]?\s*(.*)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One such comment, and the lines it covers."""

    file: str
    line: int
    codes: tuple[str, ...]
    reason: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Allowances:
    """All comments of the files read."""

    comments: tuple[Comment, ...]

    def cover(self, finding: Finding) -> bool:
        """Whether a comment allows the finding, at its place or at the statement it is about."""
        places = [finding.place, *(place for why, place in finding.related if why.startswith("in the value"))]
        return any(
            finding.code in one.codes
            and one.reason
            and any(place.file == one.file and one.first <= place.line <= one.last for place in places)
            for one in self.comments
        )


def allowances(texts: Mapping[str, str]) -> Allowances:
    """The comments in all texts."""
    return Allowances(
        tuple([one for file, text in texts.items() if "roost:" in text.lower() for one in _in(file, text)])
    )


def _in(file: str, text: str) -> list[Comment]:
    lines = text.split("\n")
    found = []
    for index, line in enumerate(lines):
        match = _COMMENT.match(line)
        if match is None:
            continue
        codes = tuple([code.strip().upper() for code in match.group(2).split(",")])
        first, last = (1, len(lines)) if match.group(1).lower() == "allow-file" else _statement(lines, index + 1)
        found.append(
            Comment(file=file, line=index + 1, codes=codes, reason=match.group(3).strip(), first=first, last=last)
        )
    return found


def _statement(lines: list[str], index: int) -> tuple[int, int]:
    """First and last line (from 1) of the statement that begins at or after a line (from 0)."""
    while index < len(lines) and (not lines[index].strip() or lines[index].lstrip().startswith("#")):
        index += 1
    first = index
    block = re.search(r"@=\s*(\S+)\s*$", lines[index]) if index < len(lines) else None
    if block is not None:
        while index < len(lines) and lines[index].strip() != f"@{block.group(1)}":
            index += 1
        return first + 1, index + 1
    while index < len(lines) and (lines[index].rstrip().endswith("\\") or lines[index].lstrip().startswith("#")):
        index += 1
    return first + 1, index + 1
