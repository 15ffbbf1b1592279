"""A job that a recipe of the policy cookbook lets start begins on a slot with that policy, and stays there."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.node.machine import Machine
from roost.startd import states as at
from tests.node.kit import NOW, machine, request
from tests.policy.test_cookbook import JOB, SITUATIONS, Situation, code_in, my_ad, with_statements

#: What the slot itself says, whatever a row says.
_STATE = ("State", "Activity", "EnteredCurrentState", "EnteredCurrentActivity", "JobStart")
STARTING = [
    each
    for each in SITUATIONS
    if each.kind == "config" and "START = true" in each.cells["decided"] and each.cells["machine"].startswith("idle")
]
_JOB = f"RequestCpus = 1; RequestDisk = 10; {JOB}"


def look(made: Machine, situation: Situation, now: float) -> None:
    """Poll a machine in the conditions of a row."""
    sensed = my_ad(situation)
    for name in _STATE:
        if name in sensed:
            del sensed[name]

    def sense(slot: object) -> ClassAd:
        ad = made.slots[0].plan.ad.copy()
        ad.update(sensed)
        return ad

    made.host.poll(sense, now)


@pytest.mark.parametrize("situation", STARTING, ids=[f"{one.recipe}: {one.name}" for one in STARTING])
def test_a_job_that_a_recipe_lets_start_runs(situation: Situation) -> None:
    made = machine(situation.body + "RunBenchmarks = False\nNUM_SLOTS = 1\n", cores=1)
    (slot,) = made.slots
    cell = situation.cells["job"]
    job = with_statements(with_statements(ClassAd(), _JOB), code_in(cell))
    for after_s in (1800, 1805):
        look(made, situation, NOW + after_s)
    claim_id, now = slot.state.claim.id.text, NOW + 1806
    asked = request(claim_id, **{name: job[name] for name in job})
    outs = made.claim(slot.name, claim_id, asked, now)
    assert outs is not None
    assert [out.effect.accepted for out in outs if isinstance(out.effect, ef.SendClaimReply)] == [True]
    look(made, situation, now + 2)
    assert slot.state.pair == at.CLAIMED, "the claim is kept until its job comes"
    made.activate(claim_id, "1.0#1", asked.job_ad, now + 3)
    for after_s in (5, 10, 60, 120):
        look(made, situation, now + after_s)
        assert slot.state.pair == at.BUSY
