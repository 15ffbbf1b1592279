"""Make a failing case small: greedy deletion and simplification of tokens.

Works on text, so that it also shrinks what one side refuses to parse. Each round tries to empty whole fields,
to drop runs of tokens (long ones first), to replace a bracketed group by its contents or by ``1``, and to
replace tokens by simpler ones, and keeps every change after which the libraries still disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tests.conformance.cases import Case, Kind

#: Tries for one case; a bound against slow shrinking of huge cases.
TRIES_MAX: Final = 4000

_TOKEN = re.compile(
    r"""\s+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[A-Za-z_]\w*|\d+\.?\d*(?:[eE][-+]?\d+)?|>>>|=\?=|=!=|&&|\|\||==|!=|<=|>=|<<|>>|.""",
    re.DOTALL,
)
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
_SIMPLE: Final = ("1", "a", '""')

#: Whether a case still fails.
Fails = Callable[[Case], bool]


def shrink(case: Case, fails: Fails) -> Case:
    """The smallest case found that still fails; `case` itself must."""
    counter = _Counter(fails)
    while True:
        smaller = _round(case, counter)
        if smaller == case or counter.spent:
            return smaller
        case = smaller


class _Counter:
    """Counts tries, and remembers what was tried."""

    def __init__(self, fails: Fails) -> None:
        self._fails = fails
        self._tried: set[Case] = set()

    @property
    def spent(self) -> bool:
        return len(self._tried) >= TRIES_MAX

    def __call__(self, case: Case) -> bool:
        if case in self._tried or self.spent:
            return False
        self._tried.add(case)
        return self._fails(case)


def _round(case: Case, fails: Fails) -> Case:
    for smaller in _without_fields(case):
        if fails(smaller):
            case = smaller
    for field in ("target", "my", "text"):
        case = _shrink_field(case, field, fails)
    return case


def _without_fields(case: Case) -> Iterator[Case]:
    if case.target is not None and case.kind is not Kind.MATCH:
        yield replace(case, target=None)
    for field in ("target", "my"):
        if getattr(case, field) not in (None, "[]"):
            yield _with(case, field, "[]")


def _with(case: Case, field: str, text: str) -> Case:
    match field:
        case "text":
            return replace(case, text=text)
        case "my":
            return replace(case, my=text)
        case _:
            return replace(case, target=text)


def _shrink_field(case: Case, field: str, fails: Fails) -> Case:
    text = getattr(case, field)
    if not text:
        return case
    tokens = _TOKEN.findall(text)
    tokens = _drop_runs(tokens, lambda kept: fails(_with(case, field, "".join(kept))))
    tokens = _unwrap(tokens, lambda kept: fails(_with(case, field, "".join(kept))))
    tokens = _simplify(tokens, lambda kept: fails(_with(case, field, "".join(kept))))
    return _with(case, field, "".join(tokens))


_Keeps = Callable[[list[str]], bool]


def _drop_runs(tokens: list[str], keeps: _Keeps) -> list[str]:
    size = len(tokens) // 2
    while size:
        at = 0
        while at < len(tokens):
            shorter = tokens[:at] + tokens[at + size :]
            if shorter and keeps(shorter):
                tokens = shorter
            else:
                at += max(1, size // 2)
        size //= 2
    return tokens


def _unwrap(tokens: list[str], keeps: _Keeps) -> list[str]:
    at = 0
    while at < len(tokens):
        end = _closing(tokens, at)
        if end is not None:
            before = at - 1 if at and re.match(r"\w", tokens[at - 1]) else at
            inner = tokens[at + 1 : end]
            for middle in (inner, ["1"], ["a"]):
                for start in {before, at}:
                    shorter = tokens[:start] + middle + tokens[end + 1 :]
                    if len(shorter) < len(tokens) and keeps(shorter):
                        return _unwrap(shorter, keeps)
        at += 1
    return tokens


def _closing(tokens: list[str], at: int) -> int | None:
    opener = tokens[at]
    if opener not in _PAIRS:
        return None
    depth = 0
    for end in range(at, len(tokens)):
        if tokens[end] == opener:
            depth += 1
        elif tokens[end] == _PAIRS[opener]:
            depth -= 1
            if not depth:
                return end
    return None


def _simplify(tokens: list[str], keeps: _Keeps) -> list[str]:
    for at, token in enumerate(tokens):
        if token.isspace() and token != " ":
            candidates: tuple[str, ...] = (" ",)
        elif len(token) > 1 or (token.isalnum() and token not in "1a"):
            candidates = _SIMPLE
        else:
            continue
        for simple in candidates:
            if len(simple) <= len(token) and simple != token:
                changed = [*tokens[:at], simple, *tokens[at + 1 :]]
                if keeps(changed):
                    tokens = changed
                    break
    return tokens
