"""The documented exceptions of the ClassAd room.

Evaluation raises none of them: UNDEFINED and ERROR are values. Only reading text and misusing the
Python interface raise.
"""

from __future__ import annotations

from roost.base.records import dataclass


class ClassAdError(Exception):
    """Base of all errors of this room. `code` is stable and has a page in docs/errors."""

    code: str = "classad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in a source text."""

    #: 1-based line.
    line: int
    #: 1-based column, in characters.
    column: int
    #: The whole line, without its end.
    text: str


def place_of(source: str, offset: int) -> Place:
    """The line, column and text of character `offset` (clamped to the text)."""
    offset = max(0, min(offset, len(source)))
    start = source.rfind("\n", 0, offset) + 1
    end = source.find("\n", offset)
    return Place(
        line=source.count("\n", 0, offset) + 1,
        column=offset - start + 1,
        text=source[start : end if end >= 0 else len(source)],
    )


class ParseError(ClassAdError):
    """A text is not a ClassAd expression or ad.

    `code` names the kind of mistake, `start`/`end` are character offsets into `source`, `message` says
    what was expected, `hint` (or None) the likely remedy. `str()` returns all of it with the line and a caret.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "syntax",
        source: str = "",
        start: int = 0,
        end: int | None = None,
        hint: str | None = None,
        origin: str | None = None,
    ) -> None:
        self.message = message
        self.code = code
        self.source = source
        self.start = start
        self.end = start + 1 if end is None else end
        self.hint = hint
        #: File name or the like, or None for text handed in directly.
        self.origin = origin
        super().__init__(message)

    @property
    def place(self) -> Place:
        """Line, column and text of the offending line."""
        return place_of(self.source, self.start)

    def __str__(self) -> str:
        place = self.place
        where = f"{self.origin}:" if self.origin else ""
        text, column = _window(place.text, place.column)
        width = max(1, min(self.end - self.start, len(text) - column + 1))
        lead = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
        lines = [f"{where}{place.line}:{place.column}: {self.message}", f"    {text}", f"    {lead}{'^' * width}"]
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        return "\n".join(lines)


#: Characters of the offending line that a message shows.
_SHOWN_CHARS = 120


def _window(text: str, column: int) -> tuple[str, int]:
    """The part of a long line around `column`, and the column within that part."""
    if len(text) <= _SHOWN_CHARS:
        return text, column
    start = max(0, min(column - _SHOWN_CHARS // 2, len(text) - _SHOWN_CHARS))
    return text[start : start + _SHOWN_CHARS], column - start
