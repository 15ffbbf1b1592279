"""The two answers to a case, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.conformance import differences, ours
from tests.conformance.cases import CRASHED, Answer, Case
from tests.conformance.oracle import Oracle

#: What is said of an observation that only one side made.
ABSENT = "!absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A case on which the libraries disagree, and the first observation that differs."""

    case: Case
    observation: str
    ours: str
    theirs: str


def compare(case: Case, mine: Answer, theirs: Answer, explained: Counter[str] | None = None) -> Mismatch | None:
    """The first difference between two answers that is not an intended one; the latter are counted."""
    if CRASHED in theirs:
        # It says nothing of our answer; but it must have its reason.
        mine = {CRASHED: ABSENT}
    for name in [*mine, *(name for name in theirs if name not in mine)]:
        x, y = mine.get(name, ABSENT), theirs.get(name, ABSENT)
        if x != y:
            difference = differences.find(case, name, x, y)
            if difference is None:
                return Mismatch(case=case, observation=name, ours=x, theirs=y)
            if explained is not None:
                explained[difference.id] += 1
    return None


def compare_all(cases: Sequence[Case], oracle: Oracle, explained: Counter[str] | None = None) -> list[Mismatch | None]:
    """Compare a batch, and hold our library's answers against its own properties."""
    oracle.ask(cases)
    mine = [_answer(case) for case in cases]
    broken = [_broken_property(case, answer) for case, answer in zip(cases, mine, strict=True)]
    theirs = oracle.answers()
    return [
        bad or compare(case, own, other, explained)
        for bad, case, own, other in zip(broken, cases, mine, theirs, strict=True)
    ]


def _broken_property(case: Case, mine: Answer) -> Mismatch | None:
    """What our library says in another way must be what it says."""
    if "value" not in mine:
        return None
    try:
        properties = ours.properties(case)
    except Exception as error:
        return Mismatch(case=case, observation="raised", ours=f"{type(error).__name__}: {error}", theirs="")
    for name, value in properties.items():
        # What stands in a list or an ad is not evaluated: flattening rewrites it.
        if value != mine["value"] and not (name == "flatten" and value[:2] == mine["value"][:2] in ("l:", "c:")):
            return Mismatch(case=case, observation=name, ours=value, theirs=mine["value"])
    return None


def _answer(case: Case) -> Answer:
    try:
        return ours.answer(case)
    except Exception as error:
        return {"raised": f"{type(error).__name__}: {error}"}


def batches(seeds: range, size: int, make: Callable[[int], Case]) -> Iterator[list[Case]]:
    """The cases of `seeds`, `size` at a time."""
    for start in range(0, len(seeds), size):
        yield [make(seed) for seed in seeds[start : start + size]]
