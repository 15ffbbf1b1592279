"""A queue keeps to the pool's policy where the matchmaker is not asked."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd, Expr
from roost.schedd.pool_policy import kept, permits

SLOT = ClassAd(Name="slot1", Memory=4000, Class="new")


def slot(**imposed: str) -> ClassAd:
    ad = SLOT.copy()
    for name, text in imposed.items():
        ad[f"PoolPolicy{name}"] = Expr.parse(text)
    return ad


@pytest.mark.parametrize(
    ("imposed", "job", "permitted"),
    [
        ({}, {"Owner": "smith", "TARGET": 1}, True),
        ({"JobExpr": 'Owner == "smith"'}, {"Owner": "smith", "TARGET": 1}, True),
        ({"ResourceExpr": 'TARGET.Owner == "smith"'}, {"Owner": "smith", "TARGET": 1}, False),
        ({"ResourceExpr": 'TARGET.Owner != "smith"'}, {"Owner": "smith"}, False),
        ({"ResourceExpr": 'TARGET.Owner != "smith"'}, {"Owner": "ann"}, True),
        ({"ResourceExpr": 'TARGET.Owner != "smith"'}, {}, False),
        ({"ResourceExpr": "Memory / 0"}, {}, False),
        ({"JobExpr": 'MY.Group =!= "students" || TARGET.Class == "old"'}, {"Group": "students"}, False),
        ({"JobExpr": 'MY.Group =!= "students" || TARGET.Class == "old"'}, {"Group": "students", "Class": "old"}, False),
        ({"JobExpr": 'MY.Group =!= "students"'}, {"Group": "students", "MY": "=[Group = 1]"}, False),
        ({"JobOnlyExpr": "NumJobStarts > 10"}, {"NumJobStarts": 11}, False),
        ({"JobOnlyExpr": "NumJobStarts > 10"}, {"NumJobStarts": 10}, True),
        ({"JobOnlyExpr": "NumJobStarts > 10"}, {}, True),
        ({"JobOnlyExpr": "NumJobStarts > 10", "JobExpr": "2"}, {}, True),
    ],
)
def test_the_rules_are_the_matchmakers(imposed: dict[str, str], job: dict[str, object], permitted: bool) -> None:
    ad = ClassAd()
    for name, value in job.items():
        expression = isinstance(value, str) and value.startswith("=")
        ad[name] = Expr.parse(value[1:]) if expression else value  # type: ignore[index, assignment]
    assert permits(ad, slot(**imposed)) is permitted


def test_what_a_machine_says_later_changes_nothing_of_the_policy() -> None:
    fresh = slot(ResourceExpr="true", JobExpr="Memory > 5")
    fresh["Memory"] = 10
    found = kept(fresh, slot(ResourceExpr="false"))
    assert found.get("PoolPolicyResourceExpr") is False
    assert "PoolPolicyJobExpr" not in found
    assert found["Memory"] == 10
    assert "PoolPolicyResourceExpr" not in kept(fresh, None)
    assert kept(SLOT, SLOT) is SLOT
