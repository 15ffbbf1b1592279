"""The errors of the parser: what is wrong with an expression, and the likely remedy.

The parser stops at the first unexpected token. A `Diagnosis` examines the tokens around it and the open brackets for
common mistakes: an operator of another language, a unit after a number, a bracket that is not closed. Nothing is
repaired here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.base.records import dataclass
from roost.classad.errors import ParseError
from roost.classad.frames import CLOSER, OPENED_BY, Frame, Open
from roost.classad.lexer import SIZE_FACTORS, Token, TokenKind, written_out
from roost.classad.syntax import Op
from roost.classad.values import fold

#: Characters of a token that a message shows.
_SHOWN_CHARS: Final = 40

_NO_TOKEN: Final[Token] = (TokenKind.END, "", -1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Where the parser stopped."""

    text: str
    tokens: Sequence[Token]
    #: Index of the next token.
    at: int
    frames: Sequence[Frame]

    def missing_operand(self, token: Token) -> ParseError:
        """`token`, just read, cannot begin an operand."""
        kind, value, start, end = token
        before = self._token(self.at - 2)
        if kind is TokenKind.END:
            if before is _NO_TOKEN:
                return self._error("the expression is empty", start, end, code="operand")
            opened = self._innermost()
            if opened is not None and before[2] == opened[2]:
                return self._unclosed(opened)
            return self._error(f"an operand is missing after {self._shown(before)}", *before[2:], code="operand")
        if value == ")" and self._innermost() is None:
            return self._error("this parenthesis closes nothing", start, end, code="bracket")
        message = f"an operand is expected, not {self._shown(token)}"
        return self._error(message, start, end, code="operand", hint=self._operand_hint(before, token))

    def _operand_hint(self, before: Token, token: Token) -> str | None:
        sign, value = before[1], token[1]
        joined = before[3] == token[2]
        if value == "=":
            if joined and sign == "==":
                return "write == to compare, or =?= for a comparison that is never UNDEFINED"
            return "write == to compare"
        if joined and sign == "<" and value == ">":
            return "write != for different"
        if sign == "," and value in (")", "}"):
            return "remove the comma before it"
        if self.frames and self.frames[-1][1] is Open.ELVIS:
            return "put the right operand of ?: in parentheses"
        if joined and sign == value and value in ("&&", "||"):
            return f"write {value} once"
        return _FOREIGN.get(f"{sign}{value}") if joined else None

    def unexpected_operator(self, token: Token) -> ParseError:
        """`token`, the next one, cannot follow the operand before it."""
        kind, value, start, end = token
        opened = self._innermost()
        if kind is TokenKind.END:
            assert opened is not None
            return self._unclosed(opened)
        shown = self._shown(token)
        if kind is not TokenKind.PUNCT:
            message, hint = f"an operator is missing before {shown}", self._word_hint(token)
            return self._error(message, start, end, code="operator", hint=hint)
        if value == "=":
            return self._error(
                "an expression cannot assign", start, end, code="operator", hint=self._foreign_operator(token)
            )
        if opened is None and value in (")", "]", "}"):
            return self._error(f"{value} closes nothing", start, end, code="bracket")
        hint = self._foreign_operator(token) or self._thousands(token)
        if opened is not None:
            wanted, opener = CLOSER[opened[1]], OPENED_BY[opened[1]]
            column = self._column(opened[2])
            message = f"{wanted} is expected for the {opener} at column {column} of the expression, not {shown}"
            return self._error(message, start, end, code="bracket", hint=hint)
        return self._error(f"the expression should end before {shown}", start, end, code="operator", hint=hint)

    def _word_hint(self, token: Token) -> str | None:
        """The probable meaning of a word between or after operands."""
        before = self._token(self.at - 1)
        for kind, word, _, _ in (token, before):
            if kind is TokenKind.NAME and (hint := _WORDS.get(fold(str(word)))) is not None:
                return hint
        if token[0] is TokenKind.NAME and before[1].__class__ in (int, float):
            unit = fold(str(token[1]))
            if unit in SIZE_FACTORS:
                return f"write the number out: {written_out(before[1], unit)}"
            if unit in _SECONDS:
                return f"write the time in seconds: {before[1]}{_SECONDS[unit]}"
        return None

    def _foreign_operator(self, token: Token) -> str | None:
        """The remedy for an operator of another language, which the lexer splits into several signs."""
        following = self._token(self.at + 1)
        spelled = f"{token[1]}{following[1]}" if following[2] == token[3] else str(token[1])
        return _FOREIGN.get(spelled, "write == to compare" if token[1] == "=" else None)

    def _thousands(self, token: Token) -> str | None:
        """The remedy for ``2,048``."""
        before, following = self._token(self.at - 1), self._token(self.at + 1)
        is_number = before[1].__class__ is int and following[1].__class__ is int
        joined = before[3] == token[2] and token[3] == following[2] and following[3] - following[2] == 3
        return "write numbers without commas" if token[1] == "," and is_number and joined else None

    def _unclosed(self, frame: Frame) -> ParseError:
        opened = frame[1]
        opener, closer = OPENED_BY[opened], CLOSER[opened]
        start = self.text.find(opener, frame[2])
        message = f"this {opener} is not closed"
        hint = f"add the missing {closer}"
        if opened is Open.THEN:
            message, hint = "this conditional lacks its second half", "write test ? value : other"
        return self._error(message, start, start + 1, code="bracket", hint=hint)

    def bad_attribute_name(self, token: Token) -> ParseError:
        """`token`, just read, cannot be the name of an ad's attribute."""
        kind, value, start, end = token
        if kind is TokenKind.END:
            return self._unclosed(self.frames[-1])
        hint = None
        if kind is TokenKind.CONSTANT and isinstance(value, str):
            hint = f"write the name without double quotes, or between single quotes: '{value}'"
        elif value == ",":
            hint = "attributes are separated by ;"
        elif kind is TokenKind.CONSTANT or value in (Op.IS, Op.ISNT):
            hint = f"put a reserved word between single quotes: '{self.text[start:end]}'"
        message = f"an attribute name is expected, not {self._shown(token)}"
        return self._error(message, start, end, code="ad", hint=hint)

    # -- context ------------------------------------------------------------------------

    def _token(self, index: int) -> Token:
        return self.tokens[index] if 0 <= index < len(self.tokens) else _NO_TOKEN

    def _innermost(self) -> Frame | None:
        """The innermost open bracket."""
        for frame in reversed(self.frames):
            if frame[0] == -1:
                return frame
        return None

    def _shown(self, token: Token) -> str:
        kind, _, start, end = token
        if kind is TokenKind.END:
            return "the end of the text"
        text = self.text[start:end]
        return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "…"

    def _column(self, offset: int) -> int:
        return offset - self.text.rfind("\n", 0, offset)

    def _error(self, message: str, start: int, end: int, *, code: str, hint: str | None = None) -> ParseError:
        return ParseError(message, code=code, source=self.text, start=start, end=max(end, start + 1), hint=hint)


#: Words that are operators in other languages.
_WORDS: Final = {
    "and": "write && for and",
    "or": "write || for or",
    "not": "write ! for not",
    "eq": "write == to compare",
    "ne": "write != to compare",
    "mod": "write % for mod",
    "in": "write member(value, list) or stringListMember(value, text)",
    "like": 'write regexp("pattern", text)',
    "matches": 'write regexp("pattern", text)',
}
#: Operators of other languages.
_FOREIGN: Final = {
    "=>": "write >= for at least",
    "=<": "write <= for at most",
    "=!": "write != for different",
    ":=": "write == to compare",
    "=~": 'write regexp("pattern", text)',
    "~=": 'write regexp("pattern", text)',
    "**": "write pow(base, exponent)",
}
#: Units of time, and the text that converts them to seconds.
_SECONDS: Final = {
    spelled: factor
    for unit, factor in {"second": "", "minute": " * 60", "hour": " * 60 * 60", "day": " * 24 * 60 * 60"}.items()
    for spelled in (unit, f"{unit}s")
} | {"s": "", "sec": "", "min": " * 60", "h": " * 60 * 60", "d": " * 24 * 60 * 60"}

__all__ = ["Diagnosis"]
