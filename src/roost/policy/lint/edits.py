"""Applies corrections to texts; every other byte stays unchanged.

Edits name line, column and the text to replace. An edit that does not find that text, or overlaps an earlier one, is
skipped: the file has changed, or another correction was applied there.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff

from roost.policy.lint.findings import Edit, Finding


def corrected(text: str, edits: Iterable[Edit]) -> tuple[str, int]:
    """The text with the edits made, and how many could be made."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    spans = []
    for edit in dict.fromkeys(edits):
        if not 0 < edit.line < len(starts):
            continue
        start = starts[edit.line - 1] + edit.column - 1
        if text[start : start + len(edit.old)] == edit.old:
            spans.append((start, start + len(edit.old), edit.new))
    done, limit = 0, len(text) + 1
    for start, end, new in sorted(spans, reverse=True):
        if end <= limit:
            text = text[:start] + new + text[end:]
            limit = start
            done += 1
    return text, done


def edits_by_file(findings: Iterable[Finding]) -> dict[str, list[Edit]]:
    """The edits of all findings that have a correction, by file."""
    found: dict[str, list[Edit]] = {}
    for finding in findings:
        for edit in finding.fix.edits if finding.fix is not None else ():
            found.setdefault(edit.file, []).append(edit)
    return found


def difference(file: str, before: str, after: str) -> str:
    """The change as a unified diff."""
    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), file, file)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)
