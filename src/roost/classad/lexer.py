"""Text to tokens.

One regular expression splits the whole text into contiguous parts, so the offset of a part follows from the lengths of
those before it; a table has the fixed signs, and the first character identifies the rest. There are a few context
rules: a minus sign belongs to the number after it unless the preceding token ends an operand; ``?`` and ``:`` with only
blanks between are ``?:``; adjacent strings are one string; two selection dots are one.

Strings have two spellings. New: backslash escapes (letters, octal). Old: a backslash is itself, except before
a quote that does not end the line.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, TypeAlias

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


class TokenKind(StrEnum):
    """Kinds of tokens. Punctuation and operators are tokens of kind `PUNCT`, distinguished by their text."""

    CONSTANT = "constant"
    NAME = "name"
    PUNCT = "punctuation"
    END = "end of text"


# Members of an enumeration are slow to look up.
_CONSTANT: Final = TokenKind.CONSTANT
_NAME: Final = TokenKind.NAME
_PUNCT: Final = TokenKind.PUNCT

#: One token: its kind; the constant, the name, the operator (`Op`) or the punctuation; where it starts and ends.
Token: TypeAlias = tuple[TokenKind, Exceptional | bool | int | float | str, int, int]

#: An unclosed token extends to the end, so that splitting takes linear time.
_PART: Final = r"""
      [ \t\n\r\f\v]+
    | //[^\n\0]* | /\*.*?\*/ | /\*.*
    | [A-Za-z_][A-Za-z0-9_]*
    | (?: [0-9]+ (?: \.[0-9]+ )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )?
    | STRINGS | ["'].*
    | =\?= | =!= | >>> | \|\| | && | == | != | <= | >= | << | >> | \?[ \t\n\r\f\v]*: | \.\.
    | .
    """
# There is one way to match each string, so none of these patterns can backtrack for long. They use neither possessive
# repeats nor atomic groups: `re` compiles them wrongly before Python 3.11.5 (tests/test_patterns.py).

#: Strings with only blanks between them are one.
_NEW_STRINGS: Final = r"""
      "[^"\\\0]*(?: \\[^\0] [^"\\\0]* )*"  (?: [ \t\n\r\f\v]* "[^"\\\0]*(?: \\[^\0] [^"\\\0]* )*" )*
    | '[^'\\\0]*(?: \\[^\0] [^'\\\0]* )*'  (?: [ \t\n\r\f\v]* '[^'\\\0]*(?: \\[^\0] [^'\\\0]* )*' )*
    """
#: A backslash makes the quote part of the string, except where the quote ends the line.
_OLD_STRINGS: Final = r"""
      "[^"\0]*(?: (?<=\\)"(?=[^\n]) [^"\0]* )*"(?: (?<!\\") | (?![^\n]) )
    | '[^'\0]*(?: (?<=\\)'(?=[^\n]) [^'\0]* )*'(?: (?<!\\') | (?![^\n]) )
    """
_STRINGS: Final = {
    syntax: re.compile(text, re.VERBOSE) for syntax, text in ((Syntax.NEW, _NEW_STRINGS), (Syntax.OLD, _OLD_STRINGS))
}
_PARTS: Final = {
    syntax: re.compile(_PART.replace("STRINGS", strings.pattern), re.VERBOSE | re.DOTALL)
    for syntax, strings in _STRINGS.items()
}

#: Reserved words.
_WORDS: Final[dict[str, tuple[TokenKind, Exceptional | bool | str]]] = {
    "true": (TokenKind.CONSTANT, True),
    "false": (TokenKind.CONSTANT, False),
    "undefined": (TokenKind.CONSTANT, UNDEFINED),
    "error": (TokenKind.CONSTANT, ERROR),
    "is": (TokenKind.PUNCT, Op.IS),
    "isnt": (TokenKind.PUNCT, Op.ISNT),
}
_WORD_LENGTHS: Final = frozenset(map(len, _WORDS))

#: Signs that are always the same token.
_SIGNS: Final[dict[str, str]] = {
    **{op.value: op for op in Op if op not in (Op.IS, Op.ISNT)},
    "=?=": Op.IS,
    "=!=": Op.ISNT,
    "..": ".",
    **{sign: sign for sign in ("?:", *"=?:,;()[]{}.")},
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
        """All tokens from offset `at`."""
        append = self.tokens.append
        for part in _PARTS[self.syntax].findall(self.text, at):
            if part == " ":
                at += 1
                continue
            start = at
            at += len(part)
            sign = _SIGNS.get(part)
            if sign is not None:
                append((_PUNCT, sign, start, at))
                continue
            first = part[0]
            if first in _LETTERS:
                word = _WORDS.get(part.lower()) if at - start in _WORD_LENGTHS else None
                append((_NAME, part, start, at) if word is None else (*word, start, at))
                if at - start > NAME_BYTES_MAX:
                    raise self._long_name(start, at)
            elif first in _NUMBER_STARTS:
                self._number(part, start, at)
            elif first in _QUOTES:
                self._string(part, start, at)
            elif first == "\0":
                at = start
                break
            elif first not in _BLANKS:
                self._other(part, start, at)
        append((TokenKind.END, "", at, at))
        return self.tokens

    def _other(self, part: str, start: int, after: int) -> None:
        """A comment, or a character that is invalid here."""
        first = part[0]
        if first == "?":
            self.tokens.append((_PUNCT, "?:", start, after))
        elif first != "/":
            raise self._unknown(start)
        elif part[1] == "*":
            if len(part) < 4 or not part.endswith("*/"):
                hint = "add the closing */"
                raise self._error("this comment is not closed", start, start + 2, code="comment", hint=hint)
        elif after == len(self.text):
            # The reference library finds no end to a comment that the text's end cuts off.
            hint = "use /* … */, or end the line"
            raise self._error("a // comment must end with a line end", start, after, code="comment", hint=hint)

    # -- numbers -------------------------------------------------------------------------------

    def _number(self, spelled: str, start: int, after: int) -> None:
        """Append a number, together with the minus sign that touches it, if that is not an operator."""
        tokens = self.tokens
        negative = bool(tokens) and tokens[-1][3] == start and tokens[-1][1] is Op.SUB and not self._after_operand(-2)
        if negative:
            start = tokens.pop()[2]
        following = self.text[after : after + 1]
        if following == "." and "." not in spelled and "e" not in spelled.lower():
            raise self._error("a real number needs a digit after the point", start, after + 1, code="number")
        if following in _LETTERS:
            self._check_suffix(start, after)
        if spelled.isdigit():
            if spelled[0] == "0" and len(spelled) > 1:
                hint = f"write {spelled.lstrip('0') or '0'}; octal and hexadecimal numbers do not exist here"
                if len(spelled) == 3 and self.text[max(0, start - 2) : start].strip("0123456789") == ",":
                    hint = "write numbers without commas"
                raise self._error("a number cannot begin with 0", start, after, code="number", hint=hint)
            number = 0 if len(spelled) > _INT_DIGITS else int(spelled)
            if negative:
                number = -number
            # The reference library reads an integer beyond 64 bits as 0.
            value: int | float = number if -INT_MAX - 1 <= number <= INT_MAX else 0
        else:
            value = float(self.text[start:after])
        tokens.append((_CONSTANT, value, start, after))

    def _after_operand(self, at: int) -> bool:
        """Whether the token with the (negative) index `at` ends an operand."""
        if len(self.tokens) < -at:
            return False
        kind, value, _, _ = self.tokens[at]
        return kind is not _PUNCT or value in _ENDS_OPERAND

    def _check_suffix(self, start: int, after: int) -> None:
        """Refuse letters that touch a number, unless they spell an operator."""
        word = _WORD.match(self.text, after)
        assert word is not None
        spelled = word.group().lower()
        if spelled in ("is", "isnt"):
            return
        hint = None
        if spelled in SIZE_FACTORS:
            hint = f"write the number out: {written_out(self.text[start:after], spelled)}"
        elif spelled.startswith("x"):
            hint = "write the number in decimal; hexadecimal numbers do not exist here"
        message = f"letters stand right after a number: {self.text[start : word.end()]}"
        raise self._error(message, start, word.end(), code="number", hint=hint)

    # -- strings -------------------------------------------------------------------------------

    def _string(self, part: str, start: int, after: int) -> None:
        """Append a string or a quoted name."""
        delimiter, value = part[0], part[1:-1]
        if after == len(self.text) and _STRINGS[self.syntax].fullmatch(part) is None:
            raise self._unclosed(start, delimiter)
        if "\\" not in value and delimiter not in value:
            pass
        elif self.syntax is Syntax.OLD:
            value = value.replace(f"\\{delimiter}", delimiter)
        else:
            value = "".join(
                [
                    self._unescape(found.group(1), start + found.start(1))
                    for found in _NEW_STRING[delimiter].finditer(part)
                ]
            )
        if delimiter == '"':
            self.tokens.append((_CONSTANT, value, start, after))
            return
        if len(value) > NAME_BYTES_MAX:
            raise self._long_name(start, after)
        self.tokens.append((_NAME, value, start, after))

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
                    end = place + len(code) + 1
                    raise self._error("a string cannot hold a NUL character", place, end, code="string")
                data.append(byte)
            else:
                data += to_bytes(_ESCAPES.get(code, code))
        data += to_bytes(body[at:])
        return from_bytes(bytes(data))

    def _unclosed(self, start: int, delimiter: str) -> ParseError:
        last = self.tokens[-1] if self.tokens else None
        if last is not None and self.syntax is Syntax.NEW and self.text[last[2]] == delimiter:
            # A string that is to be one with the one before it.
            start = start if self.text[last[3] : start].strip(_BLANKS) else last[2]
        what = "string" if delimiter == '"' else "quoted name"
        return self._error(
            f"this {what} is not closed", start, start + 1, code="string", hint=f"add the closing {delimiter}"
        )

    # -- errors --------------------------------------------------------------------------------

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
        elif not char.isprintable() and char > "\x7f":
            hint = "replace it by a blank, or remove it"
        shown = char if char.isprintable() else f"U+{ord(char):04X}"
        return self._error(f"the character {shown} has no meaning here", at, at + 1, code="token", hint=hint)

    def _long_name(self, start: int, after: int) -> ParseError:
        return self._error(f"a name is longer than {NAME_BYTES_MAX} bytes", start, after, code="limit")

    def _error(self, message: str, start: int, end: int, *, code: str, hint: str | None = None) -> ParseError:
        return ParseError(message, code=code, source=self.text, start=start, end=end, hint=hint)


_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER_STARTS: Final = frozenset(".0123456789")
_QUOTES: Final = frozenset("\"'")
_BLANKS: Final = " \t\n\r\f\v"
_OCTAL_DIGITS: Final = frozenset("01234567")
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "v": "\v"}
_NEW_STRING: Final = {
    delimiter: re.compile(rf"{delimiter}((?:[^{delimiter}\\\0]|\\[^\0])*){delimiter}", re.DOTALL) for delimiter in "\"'"
}


def written_out(number: object, unit: str) -> str:
    """A number with one of the units of `SIZE_FACTORS` as an expression; ``m`` may mean minutes, too."""
    minutes = f" if mebibytes are meant, {number} * 60 if minutes are" if unit == "m" else ""
    return f"{number} * {SIZE_FACTORS[unit]}{minutes}"


SIZE_FACTORS: Final = {"b": "1", "k": "1024", "kb": "1024", "m": "1024 * 1024", "mb": "1024 * 1024"} | {
    "g": "1024 * 1024 * 1024",
    "gb": "1024 * 1024 * 1024",
    "t": "1024 * 1024 * 1024 * 1024",
    "tb": "1024 * 1024 * 1024 * 1024",
}
#: Digits beyond which an integer cannot fit 64 bits.
_INT_DIGITS: Final = 19
