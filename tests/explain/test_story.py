"""Stories, from records and ads."""

from __future__ import annotations

from typing import Any

import pytest

from roost.classad import ClassAd
from roost.explain.story import job_story, submitter

KEPT_OUT = {"kind": "discard", "at": 5.0, "until": 20.0, "reason": "submitters kept out of matchmaking"}


def told(ad: dict[str, Any]) -> list[str]:
    story = job_story("1.0", ClassAd(ad), events=[], records=[], decisions=[], kept_out=[KEPT_OUT])
    return [each.what for each in story if each.who == "the pool's policy"]


def test_a_job_hears_of_a_decision_that_kept_its_submitter_out_while_it_was_there() -> None:
    assert told({"QDate": 10}) == ["1 submitter kept out of matchmaking of anybody"]
    assert told({"QDate": 30}) == []
    assert told({"QDate": 1, "CompletionDate": 4}) == []


@pytest.mark.parametrize(
    ("ad", "name"),
    [
        ({"User": "ann@x", "AccountingGroup": "chem.ann"}, "chem.ann@x"),
        ({"User": "ann@x", "AccountingGroup": "chem.ann@y"}, "chem.ann@y"),
        ({"User": "bob@x"}, "bob@x"),
    ],
)
def test_the_submitter_of_a_job_is_its_group_or_its_user(ad: dict[str, Any], name: str) -> None:
    assert submitter(ClassAd(ad)) == name
