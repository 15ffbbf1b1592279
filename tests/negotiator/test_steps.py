"""Expressions that take too long are told of, and keep no other request waiting."""

from __future__ import annotations

import pytest

from roost.classad.allowance import IN_FORCE
from roost.classad.vector import Table
from roost.negotiator.cycle import negotiation
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.snapshot import Request, Snapshot, SubmitterDemand
from tests.negotiator.kit import NOW, demand, job, plan, slot

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


def test_requests_of_an_autocluster_without_slots_are_not_visited_again() -> None:
    names = ["slot1@n", "slot2@n"]
    wide, narrow = job(Requirements="=TARGET.Cpus >= 2"), job()
    requests = tuple(
        Request(autocluster=number, ad=ad, count=1, job=f"{place}.0")
        for place, (number, ad) in enumerate([(1, wide), (2, narrow), (1, wide), (2, narrow), (1, wide)])
    )
    snapshot = Snapshot(
        slots=Table((name, slot(name)) for name in names),
        claims={name: f"claim-{name}" for name in names},
        nodes=dict.fromkeys(names, "node"),
        demands=(SubmitterDemand(schedd="queue", submitter="ann@here", requests=requests),),
        now=NOW,
    )
    # All slots lack what the first asks for, so that the third and the fifth need no visit.
    settings = NegotiatorSettings(consider_preemption=False)
    visits, steps = 0, negotiation(snapshot, settings=settings)
    try:
        while True:
            next(steps) if not visits else steps.send(0.0)
            visits += 1
    except StopIteration as end:
        found = end.value
    assert visits == 3
    assert [match.job for match in found.matches] == ["1.0", "3.0"]
    assert {key: (each.text, each.causes) for key, each in found.rejected.items()} == {
        ("queue", 1): ("no match found", {"job-requirements": 2})
    }


def test_an_ordinary_rejection_says_nothing_of_steps() -> None:
    found = plan([slot("slot1@n")], demand("ann@here", (job(Requirements='=regexp("^x", TARGET.Name)'), 1)))
    (rejection,) = found.rejected.values()
    assert rejection.text == "no match found" and "evaluation-steps" not in rejection.causes
