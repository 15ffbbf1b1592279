"""Expressions that take too long are told of, and keep no other request waiting."""

from __future__ import annotations

import pytest

from roost.classad.allowance import IN_FORCE
from tests.negotiator.kit import demand, job, plan, slot

HOSTILE = '=regexp("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")'
OF_SLOT = '=regexp("(a+)+$", strcat("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", TARGET.Name))'


@pytest.mark.parametrize("requirements", [HOSTILE, OF_SLOT])
def test_a_job_whose_requirements_take_too_many_steps_is_rejected_with_that_reason(requirements: str) -> None:
    found = plan(
        [slot(f"slot{number}@n") for number in range(3)],
        demand("ann@here", (job(Requirements=requirements), 2), (job(), 1)),
        demand("bob@here", (job(Owner="bob"), 1)),
    )
    assert sorted(match.submitter for match in found.matches) == ["ann@here", "bob@here"]
    (rejection,) = found.rejected.values()
    assert "more than 50000 evaluation steps" in rejection.text and rejection.causes["evaluation-steps"] == 1
    assert IN_FORCE.get() is None


def test_an_ordinary_rejection_says_nothing_of_steps() -> None:
    found = plan([slot("slot1@n")], demand("ann@here", (job(Requirements='=regexp("^x", TARGET.Name)'), 1)))
    (rejection,) = found.rejected.values()
    assert rejection.text == "no match found" and "evaluation-steps" not in rejection.causes
