"""Random contents of string literals: plain strings, patterns, versions, lists, command lines."""

from __future__ import annotations

from random import Random
from typing import Final

_LETTERS: Final = "aabABc12 .,-_"
_ODD_LETTERS: Final = "\\\"'\n\t=;:/%@[](){}*+?|^$&<>é\x7f"
_PATTERN_ATOMS: Final = (
    "a", "b", "A", "1", ".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\b", "\\B", "^", "$", "[ab]", "[^a]", "[a-c]",
    "[\\d.]", "[a-zA-Z_]", "[]a]", "[^]a]", "[a-]", "[[:alpha:]]", "[[:digit:][:space:]]", "\\.", "\\\\", "\\1",
    "\\x41", "\\Q.\\E",
    "\\n", "\\t", "\\A", "\\Z", "\\z", " ", "-", ",", "#", "é", "\\/", "{", "}", "a{2}", "\\h", "\\R", "\\K",
)  # fmt: skip
_QUANTIFIERS: Final = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,}", "{,2}", "{2,1}", "*+", "++", "{1,2}?")
_GROUPS: Final = (
    "({})",
    "(?:{})",
    "(?i){}",
    "(?={})",
    "(?!{})",
    "(?<={})",
    "(?<!{})",
    "(?i:{})",
    "(?P<n>{})",
    "(?>{})",
)


def quote(text: str) -> str:
    """A string literal in new form."""
    out = []
    for letter in text:
        if letter in '\\"':
            out.append("\\" + letter)
        elif letter == "\n":
            out.append("\\n")
        else:
            out.append(letter)
    return '"' + "".join(out) + '"'


def plain(rng: Random) -> str:
    """A short string, mostly of letters that meet again in other strings."""
    length = int(rng.random() * 7)
    letters = []
    for _ in range(length):
        pool = _LETTERS if rng.random() < 0.85 else _ODD_LETTERS
        letters.append(pool[int(rng.random() * len(pool))])
    return "".join(letters)


def pattern(rng: Random, depth: int = 2) -> str:
    """A regular expression, now and then a bad one."""
    parts = []
    for _ in range(1 + int(rng.random() * 3)):
        if depth and rng.random() < 0.3:
            group = _GROUPS[0] if rng.random() < 0.5 else _GROUPS[int(rng.random() * len(_GROUPS))]
            part = group.format(pattern(rng, depth - 1))
        else:
            part = _PATTERN_ATOMS[int(rng.random() ** 1.5 * len(_PATTERN_ATOMS))]
        if rng.random() < 0.35:
            part += _QUANTIFIERS[int(rng.random() ** 1.5 * len(_QUANTIFIERS))]
        parts.append(part)
    text = "".join(parts)
    if rng.random() < 0.15:
        text += "|" + pattern(rng, max(depth - 1, 0))
    if rng.random() < 0.02:
        text += "()[]"[int(rng.random() * 4)]
    return text


def substitute(rng: Random) -> str:
    """What a match is replaced by."""
    pieces = ("\\0", "\\1", "\\2", "x", "\\\\", "-", "\\9", "&", "$1", "\\a", "")
    return "".join(pieces[int(rng.random() * len(pieces))] for _ in range(int(rng.random() * 4)))


def version(rng: Random) -> str:
    """Something like a version number."""
    pieces = ("0", "1", "9", "10", "010", "8", "rc1", "a", "b", "", "1a", "00")
    return ".".join(pieces[int(rng.random() * len(pieces))] for _ in range(1 + int(rng.random() * 3)))


def number(rng: Random) -> str:
    """The text of a number, more or less."""
    signs = ("", "", "", "-", "+", " ", "--")
    bodies = ("0", "1", "12", "3.5", ".5", "1.", "1e3", "1E-2", "1e400", "0x1F", "010", "inf", "INF", "NaN", "nan(1)",
              "9223372036854775808", "99999999999999999999", "infinity", "1e", "1e+", "2147483648")  # fmt: skip
    tails = ("", "", "", " ", "abc", ".5", "K", "e", "\t1")
    return "".join(choices[int(rng.random() * len(choices))] for choices in (signs, bodies, tails))


def string_list(rng: Random) -> str:
    """Items with separators."""
    separators = (",", ", ", " ", ",,", ";", " , ", ":")
    separator = separators[int(rng.random() ** 2 * len(separators))]
    return separator.join((number(rng) if rng.random() < 0.4 else plain(rng)) for _ in range(int(rng.random() * 5)))


def command_line(rng: Random) -> str:
    """Arguments or an environment, with quotes."""
    pieces = (
        "a",
        "b=1",
        "A=2",
        "'x y'",
        "''",
        "'",
        '"',
        ";",
        " ",
        "  ",
        "\\",
        "=",
        "c='d e'",
        "a'b'c",
        "|",
        "\t",
        "\n",
        "1",
    )
    return "".join(pieces[int(rng.random() * len(pieces))] for _ in range(int(rng.random() * 7)))


_MAKERS: Final = (plain, plain, plain, string_list, string_list, number, version, pattern, command_line, substitute)


def string(rng: Random) -> str:
    """The contents of some string."""
    return _MAKERS[int(rng.random() * len(_MAKERS))](rng)
