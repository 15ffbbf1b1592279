"""The ClassAd room answers like the reference library, but for the differences that differences.md lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance import adtest, differences, oracle, ours
from tests.conformance.cases import CRASHED, REFUSED, Answer, Case, Kind
from tests.conformance.comparison import compare_all
from tests.conformance.drawing import Settings
from tests.conformance.generators import Generator, case_of, unstable
from tests.conformance.oracle import Oracle
from tests.conformance.run import Report, chunk, run_in_zones, smallest

#: Cases of the ordinary test run; ``python -m tests.conformance`` does more.
CASES = int(os.environ.get("ROOST_CONFORMANCE_CASES", "20000"))
SEED = int(os.environ.get("ROOST_CONFORMANCE_SEED", "1"))

_HERE = Path(__file__).parent
_UNAVAILABLE = oracle.available()
needs_reference = pytest.mark.skipif(_UNAVAILABLE is not None, reason=_UNAVAILABLE or "")


@pytest.fixture(scope="module")
def reference() -> Iterator[Oracle]:
    with Oracle() as service:
        yield service


@needs_reference
@pytest.mark.slow
def test_generated_cases_have_the_same_answers(reference: Oracle) -> None:
    report = Report()
    for part in run_in_zones(range(SEED, SEED + CASES), jobs=2):
        report.add(part)
    chunks = [chunk(seed, smallest(found, reference)) for seed, found in report.mismatches[:5]]
    assert not chunks, f"{len(report.mismatches)} of {report.cases} cases differ\n" + "\n".join(chunks)
    assert report.cases == CASES
    assert differences.too_frequent(report.explained, report.cases) == []


@needs_reference
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False))
def test_hypothesis_finds_no_difference(reference: Oracle, rng: object) -> None:
    case = Generator(rng, Settings(depth_max=3, attributes_max=4)).case()  # type: ignore[arg-type]
    if not unstable(case):
        assert compare_all([case], reference) == [None]


@needs_reference
def test_the_language_tests_hold_for_the_reference_too(reference: Oracle) -> None:
    chunks = [one for path in sorted((_HERE.parent / "language").glob("*.adtest")) for one in adtest.read(path)]
    asked = [one for one in chunks if "expr" in one.fields and "differs" not in one.fields]
    wanted = [Case(kind=Kind.EXPRESSION, text=one.fields.get("want", "true"), my="[]") for one in asked]
    answers = reference.answer([one.case() for one in asked])
    wrong = [
        f"{one.place}: {one.rule}: {answer}"
        for one, answer, want in zip(asked, answers, reference.answer(wanted), strict=True)
        if not _agrees(one, answer, want)
    ]
    assert not wrong, "\n".join(wrong)


def _agrees(one: adtest.Chunk, answer: Answer, want: Answer) -> bool:
    if "parse-error" in one.fields:
        return answer["text"] == REFUSED
    if "text" in one.fields and answer["text"].strip() != one.fields["text"]:
        return False
    return "want" not in one.fields or answer["value"] == want["value"]


def test_one_seed_makes_one_case() -> None:
    assert [case_of(seed) for seed in range(200)] == [case_of(seed) for seed in range(200)]


def test_every_intended_difference_has_its_reason() -> None:
    headings = re.findall(r"^## (.+)$", (_HERE / "differences.md").read_text("utf-8"), re.M)
    assert headings == [difference.id for difference in differences.DIFFERENCES]
    assert all(difference.examples for difference in differences.DIFFERENCES)


@needs_reference
@pytest.mark.parametrize("difference", differences.DIFFERENCES, ids=lambda difference: difference.id)
def test_an_intended_difference_still_exists_and_is_explained(
    difference: differences.Difference, reference: Oracle
) -> None:
    for case in difference.examples:
        mine, theirs = ours.answer(case), reference.answer([case])[0]
        if CRASHED in theirs:
            mine = {}
        differing = {name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name)}
        assert differing, f"no difference any more: {case}"
        for name in differing:
            assert difference.explains(case, name, mine.get(name, ""), theirs.get(name, "")), (name, mine, theirs)
