r"""Sets and single bytes in a pattern: ``[…]``, POSIX names, ``\d``, ``\p{Lu}``, ``\x41``, ``\Q…\E``.

The base class of the parser, which reads everything else.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from roost.base.records import dataclass
from roost.classad.functions.pcre.nodes import Bytes, PatternError

ANY_BYTE: Final = frozenset(range(256))
_DIGIT: Final = frozenset(b"0123456789")
_UPPER: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz")
_WORD: Final = _DIGIT | _UPPER | _LOWER | frozenset(b"_")
_SPACE: Final = frozenset(b" \t\n\v\f\r")
_PRINTING: Final = frozenset(range(32, 127))
_HORIZONTAL: Final = frozenset(b" \t\xa0")
VERTICAL: Final = frozenset(b"\n\v\f\r\x85")
NO_NEWLINE: Final = ANY_BYTE - {10}

_POSIX: Final[dict[bytes, frozenset[int]]] = {
    b"alnum": _DIGIT | _UPPER | _LOWER,
    b"alpha": _UPPER | _LOWER,
    b"ascii": frozenset(range(128)),
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset((*range(32), 127)),
    b"digit": _DIGIT,
    b"graph": _PRINTING - {32},
    b"lower": _LOWER,
    b"print": _PRINTING,
    b"punct": _PRINTING - _WORD - {32} | {95},
    b"space": _SPACE,
    b"upper": _UPPER,
    b"word": _WORD,
    b"xdigit": frozenset(b"0123456789abcdefABCDEF"),
}
_SETS: Final = {"d": _DIGIT, "w": _WORD, "s": _SPACE, "h": _HORIZONTAL, "v": VERTICAL}
_CONTROLS: Final = {"a": 7, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9}
_POSIX_SET: Final = re.compile(r"\[:(\^?)([a-z]+):\]")
_NUMBER_ESCAPE: Final = re.compile(r"x\{\s*([0-9a-fA-F]+)\s*\}|x(?!\{)([0-9a-fA-F]{0,2})|o\{\s*([0-7]+)\s*\}")


@dataclass(frozen=True, slots=True)
class Options:
    """The options in force at a place of the pattern."""

    any_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    extended: bool = False
    more_extended: bool = False
    no_capture: bool = False
    lazy: bool = False


class SetReader:
    """Reads sets and bytes at a place in the text of a pattern. One character is one byte."""

    def __init__(self, text: str, options: Options) -> None:
        self.text = text
        self.at = 0
        self.options = options

    def _skipped(self) -> bool:
        char = self.text[self.at]
        if char in " \t\n\v\f\r":
            self.at += 1
            return True
        if char == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end + 1
            return True
        return False

    def _next(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def _expect_close(self) -> None:
        if not self._next(")"):
            raise PatternError("a closing parenthesis is missing")

    def _char(self, byte: int) -> Bytes:
        return Bytes(self._cases(frozenset((byte,))))

    def _cases(self, among: frozenset[int]) -> frozenset[int]:
        if not self.options.any_case:
            return among
        upper = {byte - 32 for byte in among & _LOWER}
        return among | upper | {byte + 32 for byte in among & _UPPER}

    # -- escapes -------------------------------------------------------------------------------

    def _set_escape(self) -> frozenset[int] | None:
        r"""The set of ``\d`` and the like; None, having read nothing, for another escape."""
        char = self.text[self.at]
        if char in "pP":
            self.at += 1
            among = self._property()
            return ANY_BYTE - among if char == "P" else among
        if char.lower() not in _SETS:
            return None
        self.at += 1
        among = _SETS[char.lower()]
        return among if char.islower() else ANY_BYTE - among

    def _property(self) -> frozenset[int]:
        found = self._matched(re.compile(r"\{(\^?)([A-Za-z&]+)\}|([A-Z])"))
        if found is None:
            raise PatternError("wrong property")
        name = found[2] or found[3]
        if name == "Any":
            among = ANY_BYTE
        elif name in ("L&", "LC"):
            among = _of_category(("Lu", "Ll", "Lt"))
        elif name in ("Xan", "Xwd"):
            among = _of_category(("L", "N")) | (frozenset(b"_") if name == "Xwd" else frozenset())
        elif name in ("Xsp", "Xps"):
            among = _of_category(("Z",)) | _SPACE | VERTICAL
        else:
            if name not in _CATEGORIES:
                raise PatternError("unknown property")
            among = _of_category((name,))
        return ANY_BYTE - among if found[1] else among

    def _byte_escape(self) -> int:
        """The byte that the escape here names."""
        char = self.text[self.at]
        if char in _CONTROLS:
            self.at += 1
            return _CONTROLS[char]
        if char == "c":
            self.at += 2
            code = ord(self.text[self.at - 1]) if self.at <= len(self.text) else 0
            if not 32 <= code < 127:
                raise PatternError("wrong control character")
            return (code - 32 if code in _LOWER else code) ^ 64
        if char in "01234567":
            found = re.compile(r"[0-7]{1,3}").match(self.text, self.at)
            assert found is not None
            self.at = found.end()
            return _byte(int(found[0], 8))
        if char in "xo":
            found = self._matched(_NUMBER_ESCAPE)
            if found is None:
                raise PatternError("wrong character code")
            if found[2] is not None:
                return int(found[2] or "0", 16)
            return _byte(int(found[1][-8:], 16) if found[1] else int(found[3][-8:], 8))
        if char.isascii() and char.isalnum():
            raise PatternError("unknown escape")
        self.at += 1
        return ord(char)

    # -- sets ----------------------------------------------------------------------------------

    def _set(self) -> Bytes:
        self.at += 1
        negative = self._next("^")
        among: set[int] = set()
        first = True
        while True:
            if self.at >= len(self.text):
                raise PatternError("the set is not closed")
            if self.text[self.at] == "]" and not first:
                self.at += 1
                break
            if self._next("\\E") or self._skipped_in_set():
                continue
            if self._next("\\Q"):
                end = self.text.find("\\E", self.at)
                stop = len(self.text) if end < 0 else end
                among.update(ord(char) for char in self.text[self.at : stop])
                self.at = len(self.text) if end < 0 else end + 2
                first = first and stop == self.at
                continue
            first = False
            self._set_item(among)
        found = self._cases(frozenset(among))
        return Bytes(ANY_BYTE - found if negative else found)

    def _skipped_in_set(self) -> bool:
        if self.options.more_extended and self.text[self.at] in " \t":
            self.at += 1
            return True
        return False

    def _set_item(self, among: set[int]) -> None:
        low = self._set_member()
        dash = self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at)
        if not isinstance(low, int):
            if dash and self.at + 1 < len(self.text) and self.text[self.at + 1] != "[":
                raise PatternError("wrong range")
            among |= low
            return
        if not dash:
            among.add(low)
            return
        self.at += 1
        while self._next("\\E"):
            pass
        high = self._set_member()
        if not isinstance(high, int) or high < low:
            raise PatternError("wrong range")
        among.update(range(low, high + 1))

    def _set_member(self) -> int | frozenset[int]:
        if self.at >= len(self.text):
            raise PatternError("the set is not closed")
        char = self.text[self.at]
        if char == "[" and self.text[self.at + 1 : self.at + 2] in (":", ".", "="):
            found = self._matched(_POSIX_SET)
            if found is not None:
                named = _POSIX.get(found[2].encode())
                if named is None:
                    raise PatternError("unknown set")
                if self.options.any_case and found[2] in ("upper", "lower"):
                    named = _UPPER | _LOWER
                return ANY_BYTE - named if found[1] else named
            if re.compile(r"\[([.=])[^\]]*?\1\]").match(self.text, self.at):
                raise PatternError("collating elements are not supported")
        if char != "\\":
            self.at += 1
            return ord(char)
        self.at += 1
        if self.at >= len(self.text):
            raise PatternError("a backslash at the end")
        if self.text[self.at] == "b":
            self.at += 1
            return 8
        if self.text[self.at] in "BRXN":
            raise PatternError("not in a set")
        among = self._set_escape()
        return self._byte_escape() if among is None else among


_CATEGORIES: Final = frozenset(
    category[:letters]
    for letters in (1, 2)
    for category in (
        *("Cc", "Cf", "Cn", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl", "No"),
        *("Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"),
    )
)


def _of_category(names: tuple[str, ...]) -> frozenset[int]:
    return frozenset(byte for byte in range(256) if unicodedata.category(chr(byte)).startswith(names))


def _byte(code: int) -> int:
    if code > 255:
        raise PatternError("the character is beyond 255")
    return code
