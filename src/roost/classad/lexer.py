"""Text to tokens.

One regular expression cuts the whole text; the few context rules stand beside it: a minus sign belongs to
the number behind it unless the token before ends an operand; ``?`` and ``:`` with only blanks between are
``?:``; adjacent strings are one string; two selection dots are one.

Strings have two spellings. New: backslash escapes (letters, octal). Old: a backslash is itself, except before
a quote that does not end the line.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from roost.classad.errors import ParseError
from roost.classad.limits import NAME_BYTES_MAX, SOURCE_CHARS_MAX
from roost.classad.syntax import Op
from roost.classad.values import ERROR, INT_MAX, UNDEFINED, Exceptional, from_bytes, to_bytes


class Syntax(StrEnum):
    """The two spellings of ClassAd text."""

    #: ``[ a = 1; b = "x" ]``, strings with backslash escapes.
    NEW = "new"
    #: ``a = 1`` a line, strings in which only ``\\"`` is an escape.
    OLD = "old"


class Kind(StrEnum):
    """Kinds of tokens. Punctuation and operators are tokens of kind `PUNCT`, told apart by their text."""

    CONSTANT = "constant"
    NAME = "name"
    PUNCT = "punctuation"
    END = "end of text"


class Token(NamedTuple):
    """One token: `value` is the constant, the name, the operator (`Op`) or the punctuation."""

    kind: Kind
    value: Exceptional | bool | int | float | str
    start: int
    end: int


_TOKEN: Final = re.compile(
    r"""
      (?P<space>  [ \t\n\r\f\v]+ )
    | (?P<comment> //[^\n\0]* | /\*.*?\*/ )
    | (?P<name>   [A-Za-z_][A-Za-z0-9_]* )
    | (?P<number> (?: [0-9]+ (?: \.[0-9]+ )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? )
    | (?P<string> " )
    | (?P<quoted> ' )
    | (?P<punct>  =\?= | =!= | >>> | \|\| | && | == | != | <= | >= | << | >> | \?[ \t\n\r\f\v]*: | \.\.?
                | [-+*/%~!&|^<>=?:,;()\[\]{}] )
    """,
    re.VERBOSE | re.DOTALL,
)

_WORDS: Final[dict[str, tuple[Kind, Exceptional | bool | str]]] = {
    "true": (Kind.CONSTANT, True),
    "false": (Kind.CONSTANT, False),
    "undefined": (Kind.CONSTANT, UNDEFINED),
    "error": (Kind.CONSTANT, ERROR),
    "is": (Kind.PUNCT, Op.IS),
    "isnt": (Kind.PUNCT, Op.ISNT),
}

_PUNCTUATION: Final[dict[str, str]] = {
    **{op.value: op for op in Op if op not in (Op.IS, Op.ISNT)},
    "=?=": Op.IS,
    "=!=": Op.ISNT,
    "..": ".",
    **{sign: sign for sign in "=?:,;()[]{}."},
}

#: Punctuation after which a minus sign is an operator of its own.
_ENDS_OPERAND: Final = frozenset((")", "]", "}", "."))

_SMART: Final = {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "≤": "<=", "≥": ">=", "≠": "!="}


def tokenize(text: str, syntax: Syntax = Syntax.NEW, start: int = 0) -> list[Token]:
    """All tokens of `text` from character `start`, closed by one of kind `END`.

    Raises ParseError (codes ``token``, ``number``, ``string``, ``comment``, ``name``, ``limit``).
    """
    if len(text) > SOURCE_CHARS_MAX:
        raise ParseError(
            f"the text is longer than {SOURCE_CHARS_MAX} characters", code="limit", source=text, start=SOURCE_CHARS_MAX
        )
    return _Lexer(text, syntax).run(start)


class _Lexer:
    """The state of one pass over a text."""

    __slots__ = ("syntax", "text", "tokens")

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text = text
        self.syntax = syntax
        self.tokens: list[Token] = []

    def run(self, at: int) -> list[Token]:
        text, tokens = self.text, self.tokens
        match = _TOKEN.match
        end = len(text)
        while at < end:
            found = match(text, at)
            if found is None:
                if text[at] == "\0":
                    break
                raise self._unknown(at)
            group = found.lastgroup
            after = found.end()
            if group == "space":
                pass
            elif group == "name":
                word = found.group()
                if len(word) > NAME_BYTES_MAX:
                    raise self._error(f"a name is longer than {NAME_BYTES_MAX} bytes", at, after, code="limit")
                kind, value = _WORDS.get(word.lower(), _PLAIN_NAME)
                tokens.append(Token(kind, value if kind is not Kind.NAME else word, at, after))
            elif group == "punct":
                after = self._punctuation(found.group(), at, after)
            elif group == "number":
                self._number(at, at, after)
            elif group == "string" or group == "quoted":
                after = self._string(at)
            else:
                self._comment(at, after)
            at = after
        tokens.append(Token(Kind.END, "", at, at))
        return tokens

    # -- numbers -------------------------------------------------------------------------------

    def _number(self, start: int, digits: int, after: int) -> None:
        """Append the number whose sign stands at `start` and whose digits begin at `digits`."""
        text = self.text
        spelled = text[digits:after]
        following = text[after : after + 1]
        if following == "." and "." not in spelled and "e" not in spelled.lower():
            raise self._error("a real number needs a digit after the point", start, after + 1, code="number")
        if following in _LETTERS and following:
            self._check_suffix(start, after)
        if spelled.isdigit():
            if len(spelled) > 1 and spelled[0] == "0":
                hint = f"write {spelled.lstrip('0') or '0'}; octal and hexadecimal numbers do not exist here"
                raise self._error("a number can't begin with 0", start, after, code="number", hint=hint)
            number = 0 if len(spelled) > _INT_DIGITS else int(spelled)
            number = -number if start != digits else number
            # The reference library reads an integer beyond 64 bits as 0.
            value: int | float = number if -INT_MAX - 1 <= number <= INT_MAX else 0
        else:
            value = float(text[start:after])
        self.tokens.append(Token(Kind.CONSTANT, value, start, after))

    def _check_suffix(self, start: int, after: int) -> None:
        """Refuse letters that touch a number, unless they spell an operator."""
        word = _WORD.match(self.text, after)
        assert word is not None
        spelled = word.group().lower()
        if spelled in ("is", "isnt"):
            return
        hint = None
        if spelled in _SIZE_FACTORS:
            hint = f"write the number out: {self.text[start:after]} * {_SIZE_FACTORS[spelled]}"
        elif spelled.startswith("x"):
            hint = "write the number in decimal; hexadecimal numbers do not exist here"
        raise self._error(
            f"letters stand right after a number: {self.text[start:word.end()]}", start, word.end(), code="number", hint=hint
        )

    # -- strings -------------------------------------------------------------------------------

    def _string(self, start: int) -> int:
        """Append the string or quoted name that begins at `start`; return the offset after it."""
        delimiter = self.text[start]
        raw, after = (self._old_string if self.syntax is Syntax.OLD else self._new_string)(start, delimiter)
        if delimiter == '"':
            self.tokens.append(Token(Kind.CONSTANT, raw, start, after))
        else:
            if len(raw) > NAME_BYTES_MAX:
                raise self._error(f"a name is longer than {NAME_BYTES_MAX} bytes", start, after, code="limit")
            self.tokens.append(Token(Kind.NAME, raw, start, after))
        return after

    def _new_string(self, start: int, delimiter: str) -> tuple[str, int]:
        parts = []
        at = start
        pattern = _NEW_STRING[delimiter]
        while True:
            found = pattern.match(self.text, at)
            if found is None:
                raise self._unclosed(start, delimiter)
            body = found.group(1)
            parts.append(self._unescape(body, at + 1) if "\\" in body else body)
            at = found.end()
            # Strings with only blanks between them are one string.
            again = _BLANKS.match(self.text, at)
            if again is None or self.text[again.end() : again.end() + 1] != delimiter:
                return "".join(parts), at
            at = again.end()

    def _unescape(self, body: str, offset: int) -> str:
        data = bytearray()
        at = 0
        for found in _ESCAPE.finditer(body):
            data += to_bytes(body[at : found.start()])
            at = found.end()
            code = found.group(1)
            if code[0] in _OCTAL_DIGITS:
                byte = int(code, 8)
                if byte == 0:
                    place = offset + found.start()
                    raise self._error("a string can't hold a NUL character", place, place + len(code) + 1, code="string")
                data.append(byte)
            else:
                data += to_bytes(_ESCAPES.get(code, code))
        data += to_bytes(body[at:])
        return from_bytes(bytes(data))

    def _old_string(self, start: int, delimiter: str) -> tuple[str, int]:
        text = self.text
        at = start + 1
        parts = []
        while True:
            found = text.find(delimiter, at)
            if found < 0 or "\0" in text[at:found]:
                raise self._unclosed(start, delimiter)
            following = text[found + 1 : found + 2]
            # A backslash makes the quote part of the string, except where the quote ends the line.
            if text[found - 1] != "\\" or found == start + 1 or following in ("", "\n"):
                parts.append(text[at:found])
                return "".join(parts), found + 1
            parts.append(text[at : found - 1] + delimiter)
            at = found + 1

    def _unclosed(self, start: int, delimiter: str) -> ParseError:
        what = "string" if delimiter == '"' else "quoted name"
        return self._error(
            f"this {what} is not closed", start, start + 1, code="string", hint=f"add the closing {delimiter}"
        )

    # -- the rest ------------------------------------------------------------------------------

    def _punctuation(self, sign: str, start: int, after: int) -> int:
        """Append the operator `sign`, or a negative number; return the offset after it."""
        if sign == "-" and not self._after_operand():
            number = _TOKEN.match(self.text, after)
            if number is not None and number.lastgroup == "number":
                self._number(start, after, number.end())
                return number.end()
        elif sign == "/" and self.text.startswith("/*", start):
            raise self._error("this comment is not closed", start, start + 2, code="comment", hint="add the closing */")
        elif sign[0] == "?" and sign != "?":
            self.tokens.append(Token(Kind.PUNCT, "?:", start, after))
            return after
        self.tokens.append(Token(Kind.PUNCT, _PUNCTUATION[sign], start, after))
        return after

    def _after_operand(self) -> bool:
        if not self.tokens:
            return False
        last = self.tokens[-1]
        return last.kind is not Kind.PUNCT or last.value in _ENDS_OPERAND

    def _comment(self, start: int, after: int) -> None:
        if after == len(self.text) and self.text.startswith("//", start):
            # The reference library finds no end to a comment that the text's end cuts off.
            raise self._error(
                "a // comment must end with a line end", start, after, code="comment", hint="use /* … */, or end the line"
            )

    def _unknown(self, at: int) -> ParseError:
        char = self.text[at]
        hint = None
        if char in _SMART:
            hint = f"replace the typographic {char} by {_SMART[char]}"
        elif char == "$":
            hint = "macros like $(NAME) are replaced by the configuration; none is left in an expression"
        elif char == "#":
            hint = "comments in an expression are written /* … */"
        elif char == "`" or char == "´":
            hint = 'strings stand between double quotes: "…"'
        shown = char if char.isprintable() else f"U+{ord(char):04X}"
        return self._error(f"the character {shown} has no meaning here", at, at + 1, code="token", hint=hint)

    def _error(self, message: str, start: int, end: int, *, code: str, hint: str | None = None) -> ParseError:
        return ParseError(message, code=code, source=self.text, start=start, end=end, hint=hint)


_PLAIN_NAME: Final = (Kind.NAME, "")
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANKS: Final = re.compile(r"[ \t\n\r\f\v]*")
_OCTAL_DIGITS: Final = frozenset("01234567")
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "v": "\v"}
_NEW_STRING: Final = {
    delimiter: re.compile(rf"{delimiter}((?:[^{delimiter}\\\0]|\\[^\0])*){delimiter}", re.DOTALL) for delimiter in "\"'"
}
_SIZE_FACTORS: Final = {"b": "1", "k": "1024", "kb": "1024", "m": "1024 * 1024", "mb": "1024 * 1024"} | {
    "g": "1024 * 1024 * 1024",
    "gb": "1024 * 1024 * 1024",
    "t": "1024 * 1024 * 1024 * 1024",
    "tb": "1024 * 1024 * 1024 * 1024",
}
#: Digits beyond which an integer cannot fit 64 bits.
_INT_DIGITS: Final = 19
