"""Every function with every kind of argument, against the reference library; skipped where there is none."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from tests.conformance.cases import Answer, Case, Kind
from tests.conformance.oracle import CRASHED, Oracle, available
from tests.conformance.ours import answer

from roost.classad.functions import FUNCTIONS

_REASON = available()
pytestmark = pytest.mark.skipif(_REASON is not None, reason=_REASON or "")

#: A value of each kind, as text.
VALUES = (
    "undefined",
    "error",
    "true",
    "3",
    "-7",
    "2.5",
    '"a,b"',
    '"12"',
    '{1,"a"}',
    "[a = 1]",
    "absTime(100,3600)",
    "relTime(90061.5)",
)
#: Functions whose value differs from call to call, or that other tests compare.
OTHERS = frozenset(
    [
        "time",
        "currenttime",
        "random",
        "daytime",
        "debug",
        "eval",
        "unparse",
        "unresolved",
        "ifthenelse",
        "evalineachcontext",
        "countmatches",
    ]
)
#: Combinations of three and four arguments of a function that are tried.
SAMPLE = {3: 60, 4: 20}


def _calls() -> Iterator[str]:
    chance = random.Random(20)
    for name in sorted(function.name for key, function in FUNCTIONS.items() if key not in OTHERS):
        for count in range(5):
            combinations = list(itertools.product(VALUES, repeat=count))
            for arguments in chance.sample(combinations, min(len(combinations), SAMPLE.get(count, 144))):
                text = f"{name}({','.join(arguments)})"
                if count or name not in ("absTime", "formatTime"):
                    yield text


def _compare(texts: list[str]) -> list[tuple[str, Answer, Answer]]:
    cases = [Case(kind=Kind.EXPRESSION, text=text, my="[]") for text in texts]
    with Oracle() as oracle:
        oracle.ask(cases)
        theirs = oracle.answers()
    found = [(case.text, answer(case), their) for case, their in zip(cases, theirs, strict=True)]
    return [(text, mine, their) for text, mine, their in found if mine != their and their != CRASHED]


@pytest.mark.slow
def test_every_function_with_every_kind_of_argument() -> None:
    texts = list(_calls())
    assert len(texts) > 10_000
    assert _compare(texts) == []


def _pattern(chance: random.Random, depth: int) -> str:
    def atom() -> str:
        kind = chance.random()
        if kind < 0.5 or depth == 0:
            return chance.choice(["a", "b", "1", "_", " ", ".", "[ab]", "[^a]", "\\d", "\\w", "\\s", "\\b", "^", "$"])
        opener = chance.choice(["(", "(", "(?:", "(?=", "(?!", "(?>", "(?i:", "(?|"])
        return f"{opener}{_pattern(chance, depth - 1)})"

    def branch() -> str:
        quantifiers = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?", "*+"]
        atoms = (atom() for _ in range(chance.choice([0, 1, 2, 3])))
        # A bare place cannot be repeated.
        return "".join(a + (chance.choice(quantifiers) if a not in ("^", "$", "\\b") else "") for a in atoms)

    return "|".join(branch() for _ in range(chance.choice([1, 1, 2])))


@pytest.mark.slow
def test_random_patterns_match_the_same() -> None:
    chance = random.Random(21)
    texts = []
    for _ in range(3000):
        pattern = _pattern(chance, 2).replace("\\", "\\\\")
        subject = "".join(chance.choice("aabbAB1 _") for _ in range(chance.randrange(7)))
        letters = chance.choice(["", "i", "m", "s", "x", "f", "g", "fg", "ifg"])
        by = "".join(f"<\\\\{number}>" for number in range(min(pattern.count("(") + 1, 3)))
        texts.append(f'regexps("{pattern}","{subject}","{by}","{letters}")')
        texts.append(f'regexp("{pattern}","{subject}","{letters}")')
    assert _compare(texts) == []


@pytest.mark.slow
def test_random_dates_are_read_the_same() -> None:
    chance = random.Random(22)
    texts = []
    for _ in range(1500):
        numbers = [chance.randrange(1, 9999), *(chance.randrange(70) for _ in range(5))]
        date = "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}".format(*numbers)
        date = date[: chance.randrange(3, 20)] + chance.choice(["", "Z", "+0100", "-05:30", " ", "x", "+1:00", " z "])
        texts.append(f'absTime("{date}")')
        pieces = ["1", "09", "30", ".", "+", ":", " ", "-", "d", "h", "m", "s"]
        duration = "".join(chance.choice(pieces) for _ in range(chance.randrange(7)))
        texts.append(f'relTime("{duration}")')
    found = [
        (text, mine, their)
        for text, mine, their in _compare(texts)
        # Texts that are refused are told apart by more than the observation compared here.
        if mine.get("value") != their.get("value")
    ]
    assert found == []
