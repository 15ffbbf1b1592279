"""From the text of a source to logical lines: continuations joined, comments and blank lines left out.

A `\\` at the end of a line joins the next line, whose leading blanks are dropped; the text before it is kept unchanged.
A comment line inside a continuation is skipped and does not end it; a blank line does. Each logical line
keeps, for every piece it was joined from, where that piece came from, so that an offset in it can be turned
back into line and column.

It does not interpret lines; the parser assembles `@=` blocks from logical lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from roost.base.diagnostics import Span
from roost.base.records import dataclass
from roost.config.diagnostics import Code, Diagnostics
from roost.config.limits import Limits

#: (offset in the logical line, physical line from 1, column from 1), ascending by offset
Segment = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """One statement's text without surrounding blanks, and the places of its pieces."""

    text: str
    segments: tuple[Segment, ...]

    @property
    def line(self) -> int:
        """Number of the first physical line."""
        return self.segments[0][1]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of the character at ``offset``."""
        index = bisect_right(self.segments, offset, key=lambda segment: segment[0]) - 1
        start, line, column = self.segments[max(index, 0)]
        return line, column + offset - start


class LineReader:
    """Iterates over the logical lines of one source, reporting problems."""

    def __init__(self, text: str, file: str, via: Span | None, log: Diagnostics, limits: Limits) -> None:
        self.file = file
        self.via = via
        self.log = log
        self.limits = limits
        # Some editors begin a file with a byte-order mark; a blank in its place keeps the columns unchanged.
        self.lines = (" " + text[1:] if text.startswith("\ufeff") else text).split("\n")
        self.last = len(self.lines)

    def span(self, line: int, column: int = 1) -> Span:
        """The place in this source."""
        return Span(self.file, line, column, self.via)

    def __iter__(self) -> Iterator[LogicalLine]:
        number = 0
        while number < len(self.lines):
            raw = self.lines[number]
            number += 1
            text = raw.strip()
            if not text or text[0] == "#":
                continue
            segments: list[Segment] = [(0, number, len(raw) - len(raw.lstrip()) + 1)]
            if text[-1] == "\\":
                text, number = self._continued(raw, text, number, segments)
            if len(text) > self.limits.line_chars_max:
                self.log.report(
                    Code.LIMIT_REACHED,
                    f"line is longer than line_chars_max = {self.limits.line_chars_max} characters",
                    self.span(segments[0][1]),
                )
                continue
            if text:
                yield LogicalLine(text, tuple(segments))

    def _continued(self, raw: str, text: str, number: int, segments: list[Segment]) -> tuple[str, int]:
        """Join the lines that follow ``text``; gives the joined text and the lines consumed so far."""
        self._blank_after(raw, number)
        pieces = [text[:-1]]
        length = len(text) - 1
        while True:
            if number >= len(self.lines):
                self.log.report(Code.BACKSLASH_AT_END, "source ends inside a continued line", self.span(number))
                break
            raw = self.lines[number]
            number += 1
            text = raw.strip()
            if text.startswith("#"):
                self.log.report(Code.COMMENT_IN_CONTINUATION, "comment inside a continued line", self.span(number))
                continue
            if not text:
                break
            segments.append((length, number, len(raw) - len(raw.lstrip()) + 1))
            more = text[-1] == "\\"
            piece = text[:-1] if more else text
            pieces.append(piece)
            length += len(piece)
            if not more:
                break
            self._blank_after(raw, number)
        return "".join(pieces).strip(), number

    def _blank_after(self, raw: str, number: int) -> None:
        if raw.rstrip("\r")[-1] != "\\":
            self.log.report(
                Code.BLANK_AFTER_BACKSLASH,
                "blanks after the backslash that continues this line",
                self.span(number, len(raw.rstrip())),
            )
