"""The two answers to a case, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.conformance import differences, forms, ours
from tests.conformance.cases import Answer, Case
from tests.conformance.oracle import CRASHED, Oracle

#: What is said of an observation that only one side made.
ABSENT = "!absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A case on which the libraries disagree, and the first observation that differs."""

    case: Case
    observation: str
    ours: str
    theirs: str


def compare(case: Case, mine: Answer, theirs: Answer) -> Mismatch | None:
    """The first difference between two answers that is not an intended one."""
    if theirs == CRASHED:
        return None
    names = [*mine, *(name for name in theirs if name not in mine)] if forms.COMPLETE else list(mine)
    for name in names:
        x, y = mine.get(name, ABSENT), theirs.get(name, ABSENT)
        if x != y and differences.find(case, name, x, y) is None:
            return Mismatch(case=case, observation=name, ours=x, theirs=y)
    return None


def compare_all(cases: Sequence[Case], oracle: Oracle) -> list[Mismatch | None]:
    """Compare a batch."""
    oracle.ask(cases)
    mine = [_answer(case) for case in cases]
    return [compare(*triple) for triple in zip(cases, mine, oracle.answers(), strict=True)]


def _answer(case: Case) -> Answer:
    try:
        return ours.answer(case)
    except Exception as error:
        return {"raised": f"{type(error).__name__}: {error}"}


def batches(seeds: range, size: int, make: Callable[[int], Case]) -> Iterator[list[Case]]:
    """The cases of `seeds`, `size` at a time."""
    for start in range(0, len(seeds), size):
        yield [make(seed) for seed in seeds[start : start + size]]
