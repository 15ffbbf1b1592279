"""Ranges of numbers in the options ``-t`` and ``-pe``, parsed as by Grid Engine 8.1.9.

It accepts more than its manual says: any character may separate two numbers, and ``-t`` accepts a list of ranges if
together they form one range with a step.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from roost.gridengine.commands.errors import BAD_VALUE, Failure, rejected

_NUMBER: Final = re.compile(r"\s*\+?(\d+)")
#: Numbers are kept in 32 bits.
_MASK: Final = 2**32 - 1


class Numbers(NamedTuple):
    """From a number to another one, inclusive; None for no upper bound."""

    low: int
    high: int | None
    step: int = 1


def task_range(text: str) -> tuple[int, int, int]:
    """First, last and step of ``-t``. Raises Failure."""
    found = sorted(_numbers(word, of_tasks=True) for word in text.split(",") if word)
    if not found:
        raise _no_number(text)
    whole = found[0]
    for each in found[1:]:
        joined = _joined(whole, each)
        if joined is None:
            raise Failure("qsub: -t option only allows one range specification", BAD_VALUE)
        whole = joined
    assert whole.high is not None, "_numbers refuses it"
    if not whole.low or not whole.high:
        raise rejected("job rejected: 0 is an invalid task id")
    return whole.low, whole.high, whole.step


def slot_range(text: str) -> str:
    """The amounts of ``-pe`` in the form of a job's ad. Raises Failure."""
    words = [word for word in text.split(",") if word]
    if not words:
        raise _no_number(text)
    found = [_numbers(word, of_tasks=False) for word in words]
    return ",".join(f"{low}-{'' if high is None else high}" if high != low else f"{low}" for low, high, _ in found)


def _numbers(word: str, *, of_tasks: bool) -> Numbers:
    if word.startswith("-"):
        if of_tasks:
            raise _trailing(word, word[1:])
        low, rest = 1, word
    else:
        low, rest = _number(word)
        if rest[:1].isspace():
            raise _trailing(word, rest)
    if not rest:
        return Numbers(low, low)
    after = rest[1:]
    if not after:
        if of_tasks:
            raise Failure(f'qsub: Range specifier "{word}" has no end', BAD_VALUE)
        return Numbers(low, None)
    high, more = _number(after)
    step = 1
    if more.startswith(":") and of_tasks:
        step, rest = _step(more[1:])
        if rest:
            raise _trailing(more[1:], rest)
        if step < 1:
            raise Failure("qsub: Negative or zero step in range is not allowed", BAD_VALUE)
    elif more:
        raise _trailing(after, more)
    return Numbers(min(low, high), max(low, high), step)


def _number(text: str) -> tuple[int, str]:
    found = _NUMBER.match(text)
    if found is None:
        raise _no_number(text)
    return min(int(found[1]), 2**64 - 1) & _MASK, text[found.end() :]


def _step(text: str) -> tuple[int, str]:
    if text.startswith("-") and _NUMBER.match(text[1:]):
        return 0, ""
    return _number(text)


def _no_number(text: str) -> Failure:
    return Failure(
        f'qsub: Numerical value invalid!\nThe initial portion of string "{text}" contains no decimal number', BAD_VALUE
    )


def _trailing(text: str, trailer: str) -> Failure:
    return Failure(f'qsub: Range specifier "{text}" has unknown trailer "{trailer}"', BAD_VALUE)


def _joined(one: Numbers, other: Numbers) -> Numbers | None:
    """Two ranges as one; None if they are not. The second begins no sooner."""
    assert one.high is not None and other.high is not None, "ranges of tasks have an end"
    gap = other.low - one.low
    if one.low == one.high:
        if other.low == other.high or gap == other.step:
            return Numbers(one.low, other.high, max(gap, 1) if other.low == other.high else other.step)
        return other if not gap else None
    step = one.step
    fits = other.step == step or other.low == other.high
    if fits and (other.low == one.high + step or (gap % step == 0 and other.low <= one.high + step)):
        return Numbers(one.low, max(one.high, other.high), step)
    return None
