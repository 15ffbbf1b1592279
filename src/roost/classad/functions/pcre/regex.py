r"""Compiled regular expressions: PCRE2's language on bytes (`parser` lists the supported syntax).

A pattern whose cost is known to be small runs in the standard library's `re` (`translator`); the others run in a
matcher that counts its steps (`machine`), so that a hostile pattern ends with MatchLimit instead of hanging. The
reference library's limit is larger: 10 million of its own steps against `limits.REGEX_STEPS_MAX` of ours.

Compiled patterns are kept, the most recent `_KEPT_MAX`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from roost.classad.functions.match_limit import StepLimit
from roost.classad.functions.pcre.machine import Program, Spans
from roost.classad.functions.pcre.nodes import PatternError
from roost.classad.functions.pcre.parser import parse
from roost.classad.functions.pcre.sets import Options
from roost.classad.functions.pcre.translator import translate, ways
from roost.classad.limits import REGEX_STEPS_MAX

if TYPE_CHECKING:
    from roost.classad.state import State

#: Compiled patterns kept.
_KEPT_MAX: Final = 512
#: Largest number of ways that the standard library may try; it takes a few hundredths of a second for them.
_WAYS_MAX: Final = 3_000_000.0
#: Ways that the standard library tries in the time of one step.
_WAYS_A_STEP: Final = 64


class Regex:
    """A compiled pattern."""

    def __init__(self, pattern: bytes, options: Options) -> None:
        self._parsed = parse(pattern, options)
        self._program = Program(self._parsed)
        text = None if self._parsed.refers else translate(self._parsed.body)
        self._fast = None if text is None else re.compile(text)
        # The same, for patterns that need to be tried only at the start of the subject and of lines.
        self._fast_by_line = None
        if text is not None and self._program.by_line:
            self._fast_by_line = re.compile(rb"(?:\A|(?<=\n))" + text)

    def search(
        self, ctx: State, subject: bytes, start: int = 0, *, here: bool = False, empty: bool = True
    ) -> Spans | None:
        """Starts and ends of the match and its groups, None if there is none. Raises MatchLimit.

        With `here` only a match at `start` counts; an empty one counts only with `empty`.
        """
        ctx.spend(1)
        fast = self._fast if start else self._fast_by_line or self._fast
        if not here and fast is not None and (tried := self._ways(subject, start)) <= _WAYS_MAX:
            found = fast.search(subject, start)
            passed = (len(subject) if found is None else found.end()) - start
            ctx.spend(passed // 64 + int(tried) // _WAYS_A_STEP)
            if found is None:
                return None
            if empty or found.end() > found.start():
                return _spans(found)
            # If the first match is empty, there may be another: only the machine can continue from here.
        most = max(0, min(ctx.fuel, REGEX_STEPS_MAX))
        try:
            spans, steps = self._program.search(subject, start, here=here, empty=empty, most=most)
        except StepLimit:
            if most < REGEX_STEPS_MAX:
                # The evaluation has no steps left, which is not the pattern's own limit.
                ctx.spend(most + 1)
            raise
        ctx.spend(steps)
        return spans

    def _ways(self, subject: bytes, start: int) -> float:
        """An upper bound of the ways that the standard library may try."""
        length = len(subject) - start
        here = ways(self._parsed.body, length)
        if self._program.anchored:
            return here
        if self._program.by_line and start == 0:
            return here * (subject.count(b"\n") + 1)
        return here * (length + 1)


def _spans(found: re.Match[bytes]) -> Spans:
    return tuple(place for number in range(found.re.groups + 1) for place in found.span(number))


@lru_cache(maxsize=_KEPT_MAX)
def compile_pattern(pattern: bytes, options: Options) -> Regex | None:
    """The compiled pattern, None if it is invalid."""
    try:
        return Regex(pattern, options)
    except PatternError:
        return None


__all__ = ["Options", "Regex", "Spans", "compile_pattern"]
