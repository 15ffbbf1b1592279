"""From logical lines to statements.

One pass, no look-ahead beyond a line except for `@=` blocks. Words that introduce statements are keywords only in the
right form: ``use``, ``include``, ``error`` and ``warning`` need a colon before any ``=``, so that ``error = 3`` is an
assignment; ``if``, ``elif``, ``else`` and ``endif`` are keywords whenever they are the first word.

Mistakes are reported and skipped; no text makes it raise. Nothing is expanded or executed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Span
from roost.config.diagnostics import Code, Diagnostics
from roost.config.limits import Limits
from roost.config.lines import LineReader, LogicalLine, Segment
from roost.config.not_text import nature
from roost.config.references import parentheses
from roost.config.statements import (
    Assign,
    Broken,
    Elif,
    Else,
    Endif,
    If,
    Include,
    Message,
    Operator,
    Statement,
    Use,
    Value,
)

#: the shape of nearly every line: a plain name, an operator without surprises, a value
_PLAIN = re.compile(r"([A-Za-z0-9_./]+)\s*(=)\s*(.*)", re.DOTALL)
_BRANCH = re.compile(r"(if|elif|else|endif)(?:\s+|$)", re.IGNORECASE)
_KEYWORD = re.compile(r"@?(use|include|error|warning)\b", re.IGNORECASE)
_OPERATOR = re.compile(r"[=:]|\$\(")
#: words for `elif` in other languages
_ELSE_IF = ("elseif", "elsif", "else_if")
#: the correct form of a line that begins with the word but has no colon
_FORMS = {
    "use": "Write `use CATEGORY : Name`.",
    "include": "Write `include : FILE`.",
    "error": "Write `error : TEXT`.",
    "warning": "Write `warning : TEXT`.",
}
_HASH = re.compile(r"\s#")


def parse(text: str, file: str, log: Diagnostics, limits: Limits, via: Span | None = None) -> list[Statement]:
    """The statements of one source; what is wrong with it goes to ``log``."""
    if len(text) > limits.file_chars_max:
        log.report(
            Code.SOURCE_TOO_LARGE,
            f"{file} has {len(text)} characters, more than file_chars_max = {limits.file_chars_max}",
            Span(file, via=via),
        )
        return []
    binary = nature(text)
    if binary:
        log.report(Code.NOT_TEXT, f"{file} is {binary}, not a configuration file", Span(file, via=via))
        return []
    return Parser(LineReader(text, file, via, log, limits), log, limits).statements()


class Parser:
    """The parser of one source. The submit language, which has one more statement, is read by a subclass."""

    def __init__(self, reader: LineReader, log: Diagnostics, limits: Limits) -> None:
        self.reader = reader
        self.lines: Iterator[LogicalLine] = iter(reader)
        self.log = log
        self.limits = limits

    def statements(self) -> list[Statement]:
        """All statements."""
        found = []
        for line in self.lines:
            statement = self.statement(line)
            if statement is not None:
                found.append(statement)
        return found

    def _span(self, line: LogicalLine) -> Span:
        _, number, column = line.segments[0]
        return self.reader.span(number, column)

    def statement(self, line: LogicalLine) -> Statement | None:
        """The statement in one logical line; None for none."""
        text = line.text
        branch = _BRANCH.match(text)
        if branch:
            return self._branch(line, branch.group(1).lower(), text[branch.end() :].strip())
        plain = _PLAIN.match(text)
        if plain:
            return Assign(
                span=self._span(line),
                name=plain.group(1),
                operator=Operator.ASSIGN,
                value=self._value(line, plain.start(3)),
            )
        position = operator_position(text)
        if position < 0:
            return self._without_operator(line)
        if text[position] == ":" and _KEYWORD.match(text):
            return self._keyword(line, position)
        return self._assignment(line, position)

    def _without_operator(self, line: LogicalLine) -> Statement | None:
        if line.text[0] == "[":
            return None
        word = line.text.split(None, 1)[0].lower()
        reason = f"{shorten(line.text)!r} is not a statement"
        if word in _ELSE_IF:
            # Reported here, because a statement in a skipped branch is never executed.
            self.log.report(Code.MISSING_OPERATOR, reason, self._span(line), remedy="Write `elif`.")
            return None
        return Broken(span=self._span(line), reason=reason, remedy=_FORMS.get(word.lstrip("@")))

    def _branch(self, line: LogicalLine, word: str, rest: str) -> Statement:
        span = self._span(line)
        if word == "if":
            return If(span=span, condition=rest)
        if word == "elif":
            return Elif(span=span, condition=rest)
        if rest:
            self.log.report(Code.JUNK_AFTER_KEYWORD, f"{shorten(rest)!r} after {word} is ignored", span)
        return Else(span=span) if word == "else" else Endif(span=span)

    def _keyword(self, line: LogicalLine, colon: int) -> Statement | None:
        span, text = self._span(line), line.text
        match = _KEYWORD.match(text)
        assert match is not None
        word, between, rest = (
            match.group(1).lower(),
            text[match.end() : colon].strip(),
            text[colon + 1 :].strip(),
        )
        if word == "use":
            return Use(span=span, category=between, options=rest)
        if word == "include":
            return self._include(span, between, rest)
        return Message(span=span, fatal=word == "error", text=rest)

    def _include(self, span: Span, between: str, what: str) -> Statement | None:
        words = between.split()
        optional = command = False
        cache: str | None = None
        while words:
            word = words.pop(0)
            match word.lower():
                case "ifexist":
                    optional = True
                case "command":
                    command = True
                case "into" if command and words and cache is None:
                    cache = words.pop(0)
                case _:
                    return Broken(span=span, reason=f"unexpected word {shorten(word)!r} after include")
        if what.endswith("|") and not command:
            command, what = True, what[:-1].strip()
        return Include(span=span, what=what, optional=optional, command=command, cache=cache)

    def _assignment(self, line: LogicalLine, position: int) -> Statement | None:
        span, left = self._span(line), line.text[:position]
        operator = Operator.ASSIGN
        if line.text[position] == "=" and left.endswith(("+", "@")):
            operator = Operator.APPEND if left[-1] == "+" else Operator.BLOCK
            left = left[:-1]
        elif line.text[position] == ":":
            self.log.report(Code.COLON_ASSIGNMENT, "':' used for an assignment", span)
        name, junk = first_word(left.strip())
        if junk:
            self.log.report(Code.JUNK_BEFORE_OPERATOR, f"{shorten(junk)!r} between name and operator is ignored", span)
        if operator is Operator.BLOCK:
            tag = line.text[position + 1 :].strip()
            return Assign(span=span, name=name, operator=operator, value=self._block(span, tag))
        start = position + 1
        while start < len(line.text) and line.text[start].isspace():
            start += 1
        return Assign(span=span, name=name, operator=operator, value=self._value(line, start))

    def _value(self, line: LogicalLine, start: int) -> Value:
        """The rest of ``line`` from ``start``, with its segments shifted."""
        text = line.text[start:]
        number, column = line.place(start)
        later = tuple((offset - start, at, col) for offset, at, col in line.segments if offset > start)
        if "#" in text and '"' not in text and _HASH.search(text):
            self.log.report(
                Code.HASH_IN_VALUE,
                "'#' after other text is part of the value",
                self.reader.span(number, column),
            )
        return Value(text, ((0, number, column), *later))

    def _block(self, span: Span, tag: str) -> Value:
        """The lines up to ``@tag``, joined with newlines."""
        end, length = "@" + tag, 0
        pieces: list[str] = []
        segments: list[Segment] = []
        for line in self.lines:
            if line.text == end:
                return Value("\n".join(pieces), tuple(segments))
            segments.extend((length + offset, number, column) for offset, number, column in line.segments)
            pieces.append(line.text)
            length += len(line.text) + 1
        self.log.report(Code.UNTERMINATED_BLOCK, f"no line {end!r} ends the block that begins here", span)
        return Value("\n".join(pieces), tuple(segments))


def operator_position(text: str) -> int:
    """Offset of the first ``=`` or ``:`` outside macro references, or -1."""
    position = 0
    pairs: dict[int, int] | None = None
    while match := _OPERATOR.search(text, position):
        if match.group() != "$(":
            return match.start()
        if pairs is None:
            pairs = parentheses(text)
        position = pairs.get(match.end() - 1, match.end() - 1) + 1
    return -1


def first_word(text: str) -> tuple[str, str]:
    """Split a name, which may hold macro references with blanks in them, from what follows it."""
    pairs = parentheses(text) if "$(" in text else {}
    position = 0
    while position < len(text) and not text[position].isspace():
        end = pairs.get(position + 1, position) if text.startswith("$(", position) else position
        position = end + 1
    return text[:position], text[position:].strip()


def shorten(text: str, chars_max: int = 60) -> str:
    """The beginning of a text, for messages."""
    return text if len(text) <= chars_max else text[: chars_max - 1] + "…"
