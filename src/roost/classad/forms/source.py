"""Text that is read piece by piece: a stream seen through a window, and errors placed within the whole of it.

A `Source` holds the unprocessed part of the text, from `at` on. `fill` reads more, and drops what precedes `at` except
for its line count; it reads as much as it already holds, so that a long ad takes time in proportion to its length.
`check_length` keeps one ad from filling the memory.

Streams may give text or bytes; bytes that are not UTF-8 become surrogate escapes, as in every ClassAd string.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol, TypeAlias

from roost.base.records import dataclass
from roost.classad.errors import ParseError, Place, place_of
from roost.classad.limits import SOURCE_CHARS_MAX

#: Characters (or bytes) asked for at a time.
CHUNK: Final = 64 * 1024

#: Characters of a line before an error that are kept to be shown.
_CONTEXT_CHARS: Final = 120


class Stream(Protocol):
    """A file open for reading, text or binary."""

    def read(self, size: int, /) -> Any:
        """Up to `size` characters or bytes; none at the end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWarning:
    """A warning about a text that was read, but perhaps not as intended."""

    #: ``junk``: text after an expression; ``name``: a name that expressions must quote; ``line``: a line that
    #: cannot be read, with which the ad ended (only where reading is not strict).
    code: str
    message: str
    #: 1-based.
    line: int
    #: 1-based, in characters.
    column: int
    #: The text in question.
    text: str
    #: File name or the like; None for text handed in directly.
    origin: str | None = None

    def __str__(self) -> str:
        where = f"{self.origin}:" if self.origin else ""
        return f"{where}{self.line}:{self.column}: {self.message}"


Warn: TypeAlias = "Callable[[ReadWarning], None]"


class FormError(ParseError):
    """A mistake in a text that was read piece by piece: `source` is only the piece around it."""

    #: Lines before `source`.
    lines_before: int = 0
    #: Characters before `source` in the line it begins in.
    columns_before: int = 0

    @property
    def place(self) -> Place:
        """Line and column within the whole text; the part of the line that is still at hand."""
        local = place_of(self.source, self.start)
        column = local.column + (self.columns_before if local.line == 1 else 0)
        return Place(line=local.line + self.lines_before, column=column, text=local.text)

    def __str__(self) -> str:
        local = ParseError(self.message, source=self.source, start=self.start, end=self.end, hint=self.hint)
        place = self.place
        where = f"{self.origin}:" if self.origin else ""
        return f"{where}{place.line}:{place.column}: {self.message}\n{str(local).partition(chr(10))[2]}"


def placed(
    error: ParseError, piece: str, offset: int, *, lines: int, columns: int = 0, origin: str | None = None
) -> FormError:
    """`error`, found in a text that stands at `offset` of `piece`, seen from the whole text."""
    if len(piece) > 8 * _CONTEXT_CHARS:
        # An error must not keep a whole file in memory.
        at = offset + error.start
        start = max(piece.rfind("\n", 0, at) + 1, at - _CONTEXT_CHARS)
        end = piece.find("\n", at)
        end = min(end if end >= 0 else len(piece), at + _CONTEXT_CHARS)
        before = piece.count("\n", 0, start)
        columns = start - piece.rfind("\n", 0, start) - 1 + (0 if before else columns)
        lines += before
        piece, offset = piece[start:end], offset - start
    found = FormError(
        error.message,
        code=error.code,
        source=piece,
        start=error.start + offset,
        end=error.end + offset,
        hint=error.hint,
        origin=origin if origin is not None else error.origin,
    )
    found.lines_before, found.columns_before = lines, columns
    return found


class Source:
    """A text seen through a window."""

    __slots__ = ("_decode", "_read", "at", "columns", "ended", "lines", "origin", "text")

    def __init__(self, stream: Stream | str, origin: str | None = None) -> None:
        # Do not wait for more than a pipe has so far: its writer may wait for the result.
        self._read = None if isinstance(stream, str) else getattr(stream, "read1", stream.read)
        self._decode = _decoder()
        #: The available part of the text.
        self.text = stream if isinstance(stream, str) else ""
        #: Offset in `text` of the unprocessed part.
        self.at = 0
        #: Lines before `text`, and characters before it in the line it begins in.
        self.lines = 0
        self.columns = 0
        #: Whether the stream is at its end.
        self.ended = self._read is None
        self.origin = origin

    def fill(self) -> bool:
        """Read more; False if there is no more. Offsets into `text` change: everything before `at` is dropped."""
        if self._read is None or self.ended:
            return False
        if self.at:
            done = self.text[: self.at]
            breaks = done.count("\n")
            self.lines += breaks
            self.columns = len(done) - done.rfind("\n") - 1 + (0 if breaks else self.columns)
            self.text = self.text[self.at :]
            self.at = 0
        more = self._decode(self._read(max(CHUNK, len(self.text))))
        if more is None:
            self.ended = True
            return False
        self.text += more
        return True

    def peek(self, blanks: re.Pattern[str]) -> str:
        """What is at hand; if possible with two characters beyond what `blanks` matches that are not blanks."""
        while len(self.text) <= CHUNK:
            found = blanks.match(self.text, self.at)
            at = found.end() if found else self.at
            if len("".join(self.text[at:].split())) >= 2 or not self.fill():
                break
        return self.text[self.at :]

    def error(
        self, message: str, start: int, end: int | None = None, *, code: str = "form", hint: str | None = None
    ) -> FormError:
        """An error at an offset of `text`."""
        found = ParseError(message, code=code, start=start, end=end, hint=hint)
        return placed(found, self.text, 0, lines=self.lines, columns=self.columns, origin=self.origin)

    def placed(self, error: ParseError, offset: int) -> FormError:
        """An error found in a text cut out of `text` at `offset`."""
        return placed(error, self.text, offset, lines=self.lines, columns=self.columns, origin=self.origin)

    def check_length(self, start: int) -> None:
        """Refuse an ad that began at `start` and has not ended yet."""
        if len(self.text) - start > SOURCE_CHARS_MAX:
            raise self.error(f"the ad is longer than {SOURCE_CHARS_MAX} characters", start, code="limit")


def _decoder() -> Callable[[str | bytes], str | None]:
    """A function from what a stream gives to text; None at the end."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    first = True

    def decode(data: str | bytes) -> str | None:
        nonlocal first
        if not data:
            rest = decoder.decode(b"", True)
            return rest or None
        text = data if isinstance(data, str) else decoder.decode(data)
        if first and text:
            first = False
            text = text.removeprefix("\ufeff")
        return text

    return decode


def lines_of(source: Source) -> Iterator[str]:
    """The lines of a source, without their ends."""
    while True:
        text = source.text
        start, end = source.at, text.rfind("\n")
        if end >= start:
            source.text = text[end + 1 :]
            source.at = 0
            lines = text[start:end].split("\n")
            source.lines += len(lines)
            yield from lines
        source.check_length(0)
        if not source.fill():
            break
    if source.text[source.at :]:
        yield source.text[source.at :]


def lines_of_iterable(lines: Iterable[str]) -> Iterator[str]:
    """Lines handed in one by one, without their ends."""
    for line in lines:
        yield line[:-1] if line.endswith("\n") else line
