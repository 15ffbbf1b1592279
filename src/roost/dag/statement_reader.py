"""The words of one line of a DAG file, taken one after another, each with its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from roost.config import Span
from roost.dag.problems import DagCode, Problems

_WORD: Final = re.compile(r"\S+")
_NAME: Final = re.compile(r"\+?[A-Za-z_][A-Za-z0-9_.]*")
_SIGN: Final = re.compile(r"\s*=\s*")
_QUOTES: Final = ("'", '"')
#: Reserved names.
RESERVED: Final = frozenset(("PARENT", "CHILD", "ALL_NODES"))


class Malformed(Exception):
    """The line cannot be read any further; what is wrong has been reported."""


class StatementReader:
    """Reads the words of a line."""

    def __init__(self, text: str, place: Callable[[int], Span], problems: Problems) -> None:
        self.text = text
        self._place = place
        self.problems = problems
        self.at = 0
        #: Start of the last word.
        self.began = 0

    @property
    def span(self) -> Span:
        """The place of the last word."""
        return self._place(self.began)

    @property
    def left(self) -> bool:
        """Whether there are more words."""
        return bool(self.text[self.at :].strip())

    def fail(self, code: DagCode, message: str, remedy: str = "") -> Malformed:
        """Report a mistake at the last word; the caller raises the result."""
        self.problems.report(code, message, self.span, remedy)
        return Malformed()

    def peek(self) -> str:
        """The next word; "" at the end."""
        match = _WORD.search(self.text, self.at)
        return match[0] if match else ""

    def word(self, what: str) -> str:
        """The next word, which is required."""
        match = _WORD.search(self.text, self.at)
        if match is None:
            self.began = len(self.text)
            raise self.fail(DagCode.ARGUMENTS, f"{what} is missing at the end of the line")
        self.began, self.at = match.span()
        return match[0]

    def maybe(self, *words: str) -> str:
        """The next word, in upper case and with - for _, if it is one of these."""
        found = self.peek().upper().replace("_", "-")
        if found not in words:
            return ""
        self.word(found)
        return found

    def path(self, what: str) -> str:
        """The next word, which may be quoted."""
        if self.peek()[:1] not in _QUOTES:
            return self.word(what)
        match = _WORD.search(self.text, self.at)
        assert match is not None
        self.began = match.start()
        self.at = self.began + 1
        return self._quoted(what, match[0][0], DagCode.ARGUMENTS)

    def rest(self, what: str) -> str:
        """The rest of the line, which must not be empty."""
        self.word(what)
        found = self.text[self.began :].strip()
        self.at = len(self.text)
        return found

    def number(self, what: str) -> int:
        """A whole number."""
        word = self.word(what)
        if not re.fullmatch(r"[+-]?\d{1,9}", word):
            raise self.fail(DagCode.NUMBER, f"{what} is {word[:40]!r}, which is not a whole number")
        return int(word)

    def count(self, what: str) -> int:
        """A whole number of 0 or more."""
        number = self.number(what)
        if number < 0:
            raise self.fail(DagCode.NUMBER, f"{what} is {number}, which is below 0")
        return number

    def new_name(self) -> str:
        """The name of a node that is being defined."""
        name = self.word("the node's name")
        if name.upper() in RESERVED or "+" in name:
            raise self.fail(DagCode.NODE_NAME, f"{name} is not a valid node name")
        return name

    def end(self) -> None:
        """Check that the line ends here."""
        if self.left:
            word = self.word("nothing")
            raise self.fail(DagCode.ARGUMENTS, f"{word[:40]!r} is not expected here")

    # -- NAME=VALUE --------------------------------------------------------------------------------------

    def assignment(self) -> tuple[str, str]:
        """``NAME=VALUE``, with blanks allowed around the sign, and quotes of either kind around the value."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        self.began = self.at
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise self.fail(DagCode.VARIABLE, f"{self.text[self.at :][:40]!r} does not begin with the name of a macro")
        sign = _SIGN.match(self.text, match.end())
        if sign is None:
            raise self.fail(DagCode.VARIABLE, f"{match[0]} is not followed by =")
        self.at = sign.end()
        return match[0], self._value(match[0])

    def _value(self, name: str) -> str:
        quote = self.text[self.at : self.at + 1]
        if quote in _QUOTES:
            self.at += 1
            return self._quoted(f"the value of {name}", quote, DagCode.VARIABLE)
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise self.fail(DagCode.VARIABLE, f"{name} has no value")
        if match[0][0] == "=":
            raise self.fail(DagCode.VARIABLE, f"{name} is followed by more than one =")
        if any(each in match[0] for each in _QUOTES):
            raise self.fail(DagCode.VARIABLE, f"the value of {name} has a quote inside, but does not begin with one")
        self.at = match.end()
        return match[0]

    def _quoted(self, what: str, quote: str, code: DagCode) -> str:
        """The text up to the closing quote, which must be followed by a blank or the end of the line."""
        found: list[str] = []
        while self.at < len(self.text):
            sign = self.text[self.at]
            self.at += 1
            if sign == quote:
                if not self.text[self.at : self.at + 1].strip():
                    return "".join(found)
                raise self.fail(code, f"{what} is followed by text without a space in between")
            if sign == "\\":
                following = self.text[self.at : self.at + 1]
                if following not in (*_QUOTES, "\\"):
                    raise self.fail(code, f"{what} has a single backslash")
                sign = following
                self.at += 1
            found.append(sign)
        raise self.fail(code, f"{what} has no closing quote")
