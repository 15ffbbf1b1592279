"""Markdown as text for a terminal."""

from __future__ import annotations

import re
from textwrap import fill, wrap
from typing import Final

from roost.cli.terminal import width

_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")
_CODE_BLOCK: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"(#+) (.+)")
_CELLS: Final = re.compile(r"(?<!\\)\|")
#: Prefixes of blocks whose lines stay unchanged: empty, a list, indented text.
_LAID_OUT: Final = re.compile(r"\s*$|\s*(?:[*-]|\d+\.) |\n| {4}")
#: The last column of a table is at least so wide, whatever the others take.
_LAST_MIN: Final = 24


def columns() -> int:
    """How wide text is set."""
    return max(40, min(width(), 100))


def readable(page: str) -> str:
    """Markdown for a terminal: links become their texts, headings are underlined, tables have columns, and paragraphs
    are wrapped; lists and code stay.
    """
    pieces = _CODE_BLOCK.split(page)
    return "".join(piece if piece.startswith("```") else _prose(piece) for piece in pieces)


def _prose(text: str) -> str:
    return "\n\n".join(map(_block, _LINK.sub(r"\1", text).split("\n\n")))


def _block(block: str) -> str:
    if heading := _HEADING.fullmatch(block.strip()):
        return f"{heading[2]}\n{('=' if heading[1] == '#' else '-') * len(heading[2])}"
    if block.startswith("|"):
        return _table(block)
    return block if _LAID_OUT.match(block) else fill(block, columns(), break_on_hyphens=False)


def _table(block: str) -> str:
    rows = [[cell.strip().replace("\\|", "|") for cell in _CELLS.split(line)[1:-1]] for line in block.splitlines()]
    rows = [row for row in rows if not all(set(cell) <= {"-", ":"} for cell in row)]
    *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    before = sum(widths) + 2 * len(widths)
    lines: list[str] = []
    for row in rows:
        first, *more = wrap(row[-1], max(_LAST_MIN, columns() - before), break_on_hyphens=False) or [""]
        lines.append("".join(f"{cell:<{wide + 2}}" for cell, wide in zip(row, widths, strict=False)) + first)
        lines += [" " * before + line for line in more]
    return "\n".join(line.rstrip() for line in lines)
