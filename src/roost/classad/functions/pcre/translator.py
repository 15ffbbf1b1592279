r"""Translates a parsed pattern for the standard library, if it means the same there and cannot take long.

Two questions are answered first: can it be expressed in `re` with the same result (`translate` returns None if not),
and in how many ways may a match be tried (`ways`), an upper bound that grows like the subject's length to the number of
repeats that can divide it between them. A pattern fails the first for captures inside repeats (their rules differ in
detail), references, recursion, conditions, ``\K``, ``\G``, atomic groups and possessive repeats.
"""

from __future__ import annotations

import re
from typing import Final

from roost.classad.functions.pcre.nodes import (
    UNBOUNDED,
    Anchor,
    At,
    Atomic,
    Bytes,
    Capture,
    Choice,
    Empty,
    Fail,
    Look,
    Mode,
    Part,
    Repeat,
    Sequence,
    shortest_length,
)
from roost.classad.functions.pcre.sets import NO_NEWLINE

_PLACES: Final = {
    Anchor.SUBJECT_START: rb"\A",
    Anchor.SUBJECT_END: rb"\Z",
    Anchor.SUBJECT_END_OR_LAST_NEWLINE: rb"(?=\n?\Z)",
    # Not behind a newline that is the last byte.
    Anchor.LINE_START: rb"(?:\A|(?<=\n)(?!\Z))",
    Anchor.LINE_END: rb"(?=\n|\Z)",
    Anchor.WORD_EDGE: rb"\b",
    Anchor.NO_WORD_EDGE: rb"(?!\b)",
}


class _CannotSay(Exception):
    """The pattern has no equivalent in `re`."""


def translate(body: Part) -> bytes | None:
    """The same pattern for the standard library's `re`, without flags; None if there is none."""
    try:
        return _text(body, repeated=False)
    except _CannotSay:
        return None


def set_text(among: frozenset[int]) -> bytes:
    """A set of bytes in the syntax of `re`."""
    if len(among) == 256:
        return rb"[\x00-\xff]"
    if len(among) == 1:
        return re.escape(bytes(among))
    complement = len(among) > 128
    found = sorted(frozenset(range(256)) - among if complement else among)
    out = bytearray(b"[^" if complement else b"[")
    start = previous = -2
    for byte in (*found, 999):
        if byte != previous + 1:
            if start >= 0:
                out += b"\\x%02x-\\x%02x" % (start, previous)
            start = byte
        previous = byte
    return bytes(out) + b"]" if found else b"(?!)"


def _text(part: Part, *, repeated: bool) -> bytes:
    match part:
        case Empty():
            return b""
        case Fail():
            return b"(?!)"
        case Bytes(among=among):
            return set_text(among)
        case Sequence(items=items):
            return b"".join(_text(item, repeated=repeated) for item in items)
        case Choice(branches=branches):
            return b"(?:" + b"|".join(_text(branch, repeated=repeated) for branch in branches) + b")"
        case Capture(body=body) if not repeated:
            return b"(" + _text(body, repeated=False) + b")"
        case Repeat(body=body, mode=mode) if mode is not Mode.POSSESSIVE and shortest_length(body):
            return b"(?:" + _text(body, repeated=True) + b")" + _bounds(part)
        case At(place=place) if place in _PLACES:
            return _PLACES[place]
        case Look():
            return _look_text(part)
    raise _CannotSay


def _bounds(part: Repeat) -> bytes:
    most = b"" if part.most == UNBOUNDED else b"%d" % part.most
    return b"{%d,%s}%s" % (part.least, most, b"?" if part.mode is Mode.LAZY else b"")


def _look_text(look: Look) -> bytes:
    if not look.behind:
        return (b"(?!" if look.negative else b"(?=") + _text(look.body, repeated=True) + b")"
    # `re` requires the branches of a lookbehind to have equal length.
    branches = look.body.branches if isinstance(look.body, Choice) else (look.body,)
    opener = b"(?<!" if look.negative else b"(?<="
    looks = [opener + _text(branch, repeated=True) + b")" for branch in branches]
    return b"".join(looks) if look.negative else b"(?:" + b"|".join(looks) + b")"


#: An upper bound beyond which the exact value does not matter.
WAYS_MAX: Final = 1e18


def ways(part: Part, length: int) -> float:
    """An upper bound of the ways in which `part` may be tried at one place of a subject of `length` bytes."""
    match part:
        case Sequence(items=items):
            product = 1.0
            for item in items:
                product = min(WAYS_MAX, product * ways(item, length))
            return product
        case Choice(branches=branches):
            return min(WAYS_MAX, sum(ways(branch, length) for branch in branches))
        case Capture(body=body):
            return ways(body, length)
        case Look(body=body):
            return ways(body, length) + 1
        case Repeat(body=body, most=most):
            times = length // max(1, shortest_length(body)) + 1
            if most != UNBOUNDED:
                times = min(times, most)
            one = ways(body, length)
            if one <= 1:
                # The bytes that a repeat passes are work too, even where their number is fixed.
                return float(min(times, length) + 1)
            return min(WAYS_MAX, one ** min(times, 64) * (times + 1.0))
    return 1.0


def begins_at_start(part: Part) -> bool:
    """Whether a match can only begin at the start of the subject."""
    match part:
        case At(place=place):
            return place is Anchor.SUBJECT_START
        case Sequence(items=items):
            return bool(items) and begins_at_start(items[0])
        case Choice(branches=branches):
            return all(map(begins_at_start, branches))
        case Capture(body=body):
            return begins_at_start(body)
    return False


def first_bytes(part: Part) -> frozenset[int] | None:
    """The bytes with which a match may begin; None if it may be empty or that is not known."""
    match part:
        case Bytes(among=among):
            return among
        case Capture(body=body):
            return first_bytes(body)
        case Sequence(items=items):
            for item in items:
                if isinstance(item, At | Look):
                    continue
                return first_bytes(item)
            return None
        case Choice(branches=branches):
            found: frozenset[int] = frozenset()
            for branch in branches:
                among_or_none = first_bytes(branch)
                if among_or_none is None:
                    return None
                found |= among_or_none
            return found
        case Repeat(body=body, least=least) if least > 0 and shortest_length(body):
            return first_bytes(body)
    return None


def begins_with_anything(part: Part) -> bool:
    """Whether `part` begins with ``.*``: if it does not match at one place of a line, it matches at no later one."""
    match part:
        case Repeat(body=Bytes(among=among), least=0, most=most, mode=mode):
            return most == UNBOUNDED and mode is not Mode.POSSESSIVE and among >= NO_NEWLINE
        case Sequence(items=items):
            return bool(items) and begins_with_anything(items[0])
        case Capture(body=body):
            return begins_with_anything(body)
        case Choice(branches=branches):
            return all(map(begins_with_anything, branches))
    return False


def required(part: Part) -> frozenset[frozenset[int]]:
    """Sets of bytes, each of which must occur in the subject for `part` to match; not necessarily all such sets."""
    match part:
        case Bytes(among=among):
            return frozenset((among,))
        case Sequence(items=items):
            return frozenset().union(*map(required, items))
        case Choice(branches=branches):
            return frozenset.intersection(*map(required, branches))
        case Capture(body=body) | Atomic(body=body):
            return required(body)
        case Repeat(body=body, least=least) if least > 0:
            return required(body)
    return frozenset()
