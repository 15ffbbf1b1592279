r"""Functions with regular expressions: regexp, regexps, replace, replaceAll and their kin.

Patterns are PCRE2's on bytes; `pcre` compiles and runs them. It is imported when the first pattern occurs, because most
policies have none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roost.classad.functions.match_limit import MatchLimit
from roost.classad.functions.registry import builtin
from roost.classad.functions.stringlists import USUAL_DELIMITERS, items_of
from roost.classad.limits import REGEX_STEPS_MAX, STRING_BYTES_MAX
from roost.classad.values import ERROR, UNDEFINED, Exceptional, ListValue, Value, from_bytes, to_bytes

if TYPE_CHECKING:
    from roost.classad.functions.pcre.regex import Regex, Spans
    from roost.classad.state import State

#: Steps of fuel charged for an abandoned match, which took some tenths of a second.
_LIMIT_STEPS: Final = REGEX_STEPS_MAX // 8


def compiled(pattern: str, letters: str) -> Regex | None:
    """The compiled pattern with options given as lower-case letters, None if it is invalid."""
    from roost.classad.functions.pcre.regex import Options, compile_pattern

    options = Options(
        any_case="i" in letters, multiline="m" in letters, dot_all="s" in letters, extended="x" in letters
    )
    return compile_pattern(to_bytes(pattern), options)


def search(ctx: State, pattern: str, subject: str, letters: str, *, empty: bool = True) -> bool | Exceptional:
    """Whether `pattern` is found in `subject`; ERROR if the pattern is wrong or takes too long.

    An empty match counts only with `empty`.
    """
    regex = compiled(pattern, letters)
    if regex is None:
        return ERROR
    try:
        return regex.search(ctx, to_bytes(subject), empty=empty) is not None
    except MatchLimit:
        ctx.spend(_LIMIT_STEPS)
        return ERROR


def _exceptional(arguments: tuple[Value, ...]) -> Value | None:
    """ERROR if an argument is, else UNDEFINED if one is, else None."""
    if any(argument is ERROR for argument in arguments):
        return ERROR
    return UNDEFINED if any(argument is UNDEFINED for argument in arguments) else None


@builtin("regexp", least=2, most=3)
def regexp(ctx: State, pattern: Value, subject: Value, letters: Value = "") -> Value:
    """regexp(pattern, s[, options]): whether the pattern is found in s; options i, m, s, x."""
    stand_in = _exceptional((pattern, subject, letters))
    if stand_in is not None:
        return stand_in
    if not isinstance(pattern, str) or not isinstance(subject, str) or not isinstance(letters, str):
        return ERROR
    return search(ctx, pattern, subject, letters)


@builtin("regexpMember", least=2, most=3)
def regexp_member(ctx: State, pattern: Value, among: Value, letters: Value = "") -> Value:
    """regexpMember(pattern, list[, options]): whether an item matches; a wrong pattern matches nothing."""
    stand_in = _exceptional((pattern, among, letters))
    if stand_in is not None:
        return stand_in
    if not isinstance(pattern, str) or not isinstance(among, ListValue) or not isinstance(letters, str):
        return ERROR
    otherwise: Value = False
    for item in ctx.items_here(among):
        if isinstance(item, str):
            if search(ctx, pattern, item, letters) is True:
                return True
        elif item is UNDEFINED:
            otherwise = UNDEFINED
        else:
            return ERROR
    return otherwise


@builtin("stringList_regexpMember", least=2, most=4)
def string_list_regexp_member(
    ctx: State, pattern: Value, text: Value, delimiters: Value = USUAL_DELIMITERS, letters: Value = ""
) -> Value:
    """stringList_regexpMember(pattern, l[, d[, options]]): options in either case."""
    if not isinstance(pattern, str) or not isinstance(text, str):
        return ERROR
    if not isinstance(delimiters, str) or not isinstance(letters, str):
        return ERROR
    if compiled(pattern, letters.lower()) is None:
        return ERROR
    items = items_of(ctx, text, delimiters)
    if not items:
        return UNDEFINED
    return any(search(ctx, pattern, item, letters.lower()) is True for item in items)


# -- substitution --------------------------------------------------------------------------------


def _substitution(name: str, extra: str) -> None:
    @builtin(name, least=3, most=4)
    def run(ctx: State, pattern: Value, subject: Value, by: Value, letters: Value = "") -> Value:
        stand_in = _exceptional((pattern, subject, by, letters))
        if stand_in is not None:
            return stand_in
        if not isinstance(pattern, str) or not isinstance(subject, str):
            return ERROR
        if not isinstance(by, str) or not isinstance(letters, str):
            return ERROR
        letters += extra
        regex = compiled(pattern, letters)
        if regex is None:
            return ERROR
        try:
            result = _substitute(
                ctx, regex, to_bytes(subject), to_bytes(by), whole="f" in letters, every="g" in letters
            )
        except MatchLimit:
            ctx.spend(_LIMIT_STEPS)
            return ERROR
        return ERROR if result is None else from_bytes(result)


_substitution("regexps", "")
_substitution("replace", "f")
_substitution("replaceAll", "fg")


def _substitute(ctx: State, regex: Regex, subject: bytes, by: bytes, *, whole: bool, every: bool) -> bytes | None:
    """The subject with matches replaced (`whole`), or only the replacements; None where that is ERROR.

    As in the reference library: after an empty match, a non-empty one is tried at the same place, and then at its end,
    until there is none; then one byte is skipped, which is copied to the result in either case. At the end of the
    subject there is no byte to skip, and the result is ERROR.
    """
    template = _template(by)
    out = bytearray()
    at = 0
    empty = False
    while True:
        ctx.spend(1)
        spans = regex.search(ctx, subject, at, here=empty, empty=not empty)
        if spans is None:
            if not empty:
                break
            if at >= len(subject):
                return None
            out.append(subject[at])
            at += 1
            empty = False
            continue
        start, end = spans[0], spans[1]
        if whole:
            out += subject[at : max(at, start)]
        if start > end and every and end == at:
            return None  # \\K behind the end: the reference library goes on forever
        if not _expand(template, spans, subject, out) or len(out) > STRING_BYTES_MAX:
            return None
        at, empty = end, empty or start == end
        if not every:
            break
    if whole:
        out += subject[at:]
    return bytes(out) if len(out) <= STRING_BYTES_MAX else None


def _template(by: bytes) -> list[bytes | int]:
    r"""The pieces of a replacement: text, and the numbers of groups for ``\0`` to ``\9``."""
    pieces: list[bytes | int] = []
    for at, piece in enumerate(re.split(rb"\\([0-9])", by)):
        pieces.append(int(piece) if at % 2 else piece)
    return pieces


def _expand(template: list[bytes | int], spans: Spans, subject: bytes, out: bytearray) -> bool:
    """Append the replacement; False if it names a group beyond the last that matched."""
    last = max(number for number in range(len(spans) // 2) if spans[2 * number + 1] >= 0)
    for piece in template:
        if isinstance(piece, bytes):
            out += piece
        elif piece > last:
            return False
        else:
            start, end = spans[2 * piece], spans[2 * piece + 1]
            out += subject[start:end] if end >= 0 else b""
    return True
