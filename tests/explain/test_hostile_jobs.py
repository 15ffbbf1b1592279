"""A job whose expressions take forever stops no explanation, and is told as what it is."""

from __future__ import annotations

import time

import pytest
from tests.explain.test_edits import SLOT, ad, found

#: Doubling 60 times: 2**60 references; and a function whose steps are not nodes of the expression.
_DOUBLING = {f"A{level}": f"A{level - 1} + A{level - 1}" for level in range(1, 61)} | {"A0": "time()"}
_LONG = {"Words": 'strcat("' + "a," * 5_000 + '")', "A60": " + ".join(["size(split(Words))"] * 200)}


@pytest.mark.parametrize("names", [_DOUBLING, _LONG], ids=["doubling", "long"])
def test_the_explanation_ends_and_says_that_it_is_too_much(names: dict[str, str]) -> None:
    job = ad("A60 < 0 && TARGET.Memory > 10")
    for name, text in names.items():
        job.set(name, text)
    slots = [ad("true", **SLOT | {"Name": f"slot{number}@m"}) for number in range(1, 301)]
    began = time.process_time()
    groups = found(job, *slots).groups
    assert time.process_time() - began < 30
    assert sum(each.count for each in groups) == 300
    clauses = {each.clause for each in groups}
    assert clauses <= {"too many evaluation steps, in A60 < 0 && TARGET.Memory > 10", "not analyzed"}
    assert len(clauses) == 2
