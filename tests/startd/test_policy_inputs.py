"""How policy expressions are evaluated: variants, truth, names, chance."""

from __future__ import annotations

import pytest

from roost.classad import UNDEFINED, ClassAd
from roost.model import events as ev
from roost.model.effects import CheckpointJob, SoftKill, WarnOfExpression
from roost.startd import states as at
from roost.startd.policy_inputs import Decision, Inputs, SlotPolicy, attribute_of
from tests.startd.kit import Hand, in_pair, job, policy


def inputs(expressions: dict[str, str], **sensors: object) -> Inputs:
    hand = Hand(policy=policy(expressions), sensors=dict(sensors))
    return Inputs(hand.state, hand.policy, hand.now)


@pytest.mark.parametrize(
    ("universe", "variant", "expected"),
    [
        (5, "true", "SUSPEND_VANILLA"),
        (5, "0", "SUSPEND_VANILLA"),
        (5, "undefined", "SUSPEND"),
        (5, '"true"', "SUSPEND"),
        (9, "true", "SUSPEND"),
    ],
)
def test_a_variant_counts_for_its_universe_if_it_has_a_truth(universe: int, variant: str, expected: str) -> None:
    decision = inputs({"SUSPEND": "false", "SUSPEND_VANILLA": variant}).decide_for_job(
        "SUSPEND", job(JobUniverse=universe)
    )
    assert decision.name == expected


def test_virtual_machines_have_a_variant_of_their_own() -> None:
    rules = {"PREEMPT": "false", "PREEMPT_VM": "true", "PREEMPT_VANILLA": "false"}
    assert inputs(rules).decide_for_job("PREEMPT", job(JobUniverse=13)).truth is True


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("true", True),
        ("2", True),
        ("0.5", True),
        ("0", False),
        ("false", False),
        ('"true"', None),
        ("undefined", None),
        ("error", None),
        ("{true}", None),
        ("[a = true]", None),
    ],
)
def test_numbers_are_true_unless_0_and_the_rest_has_no_truth(text: str, truth: bool | None) -> None:
    assert inputs({"SUSPEND": text}).decide("SUSPEND").truth is truth


def test_expressions_see_each_other_by_name() -> None:
    found = inputs({"PREEMPT": "suspend && (Want_Suspend == false)", "SUSPEND": "true", "WANT_SUSPEND": "false"})
    assert found.with_job("PREEMPT").truth is True


def test_the_policy_goes_before_a_polled_attribute_of_the_same_name() -> None:
    assert inputs({"SUSPEND": "true"}, SUSPEND=False).decide("SUSPEND").truth is True


def test_a_name_that_only_the_job_has_is_looked_up_there() -> None:
    decision = inputs({}, Limit=3).decide("OwnRule", ClassAd("[OwnRule = TARGET.Limit == 3; Limit = 9]"))
    assert decision.truth is True


def test_time_in_expressions_is_the_time_of_the_step() -> None:
    hand = Hand(policy=policy({"Clock": "time() - CurrentTime", "Now": "CurrentTime"}))
    hand.now += 0.7
    found = Inputs(hand.state, hand.policy, hand.now)
    assert (found.decide("Clock").value, found.decide("Now").value) == (0, 1_000_000)


def test_chance_depends_on_seed_slot_and_instant_and_a_trace_sees_the_same() -> None:
    def dice(seed: str, instant: float) -> Decision:
        rules = policy({"Dice": "random() + 10 * random()"}, chance_seed=seed)
        return Inputs(Hand(policy=rules).state, rules, instant).decide("Dice")

    first = dice("s", 5.0)
    assert first.value == dice("s", 5.0).value
    assert len({first.value, dice("t", 5.0).value, dice("s", 6.0).value}) == 3
    trace = first.trace()
    assert trace is not None and trace.value == first.value


def test_a_missing_expression_is_undefined_and_has_nothing_to_explain() -> None:
    decision = inputs({}).decide("NoSuchExpression")
    assert (decision.value, decision.trace(), decision.explain()) == (UNDEFINED, None, None)


def test_a_plain_value_can_be_explained_too() -> None:
    why = inputs({}, WANT_IT=False).decide("WANT_IT").explain()
    assert why is not None and why.value is False


def test_an_unreadable_expression_never_matches() -> None:
    found = inputs({"START": "1 +"})
    assert found.accepts(job())[0] is False


@pytest.mark.parametrize(
    ("knob", "attribute"),
    [
        ("IS_OWNER", "IsOwner"),
        ("RANK", "Rank"),
        ("MAXJOBRETIREMENTTIME", "MaxJobRetirementTime"),
        ("suspend_vanilla", "SUSPEND_VANILLA"),
        ("MyAttribute", "MyAttribute"),
    ],
)
def test_knobs_stand_in_the_ad_under_their_attribute(knob: str, attribute: str) -> None:
    assert attribute_of(knob) == attribute


def test_the_defaults_are_those_of_the_catalogue() -> None:
    rules = SlotPolicy.of({})
    assert str(rules.expressions.lookup("RunBenchmarks")) == "LastBenchmark == 0"
    assert rules.expressions["START"] is True and rules.expressions["CLAIM_WORKLIFE"] == 1200


def test_undefined_want_vacate_is_vacating_and_a_warning() -> None:
    hand = Hand(policy=policy({"PREEMPT": "KeyboardIdle < 5", "WANT_VACATE": "undefined"}))
    hand.poll(1, KeyboardIdle=9)
    hand.run()
    hand.poll(1, KeyboardIdle=1)
    assert hand.ordered(SoftKill)
    assert [warning.expression for warning in hand.ordered(WarnOfExpression)] == ["WANT_VACATE"]


def test_an_undefined_is_owner_leaves_the_slot_to_the_pool() -> None:
    hand = Hand(policy=policy({"IS_OWNER": "undefined"}))
    hand.poll(1)
    assert hand.pair == at.UNCLAIMED


def test_undefined_suspend_preempt_continue_and_kill_do_nothing() -> None:
    nothing = dict.fromkeys(("SUSPEND", "CONTINUE", "PREEMPT", "KILL"), "undefined")
    for pair in (at.BUSY, at.SUSPENDED, at.VACATING):
        for wanted in ("true", "false", "undefined"):
            hand = in_pair(pair)
            hand.policy = policy({**nothing, "WANT_SUSPEND": wanted})
            hand.poll(5)
            assert hand.pair == pair


def test_a_checkpoint_is_ordered_by_policy_for_jobs_that_can_save_their_state() -> None:
    rules = {"PERIODIC_CHECKPOINT": "(CurrentTime - LastPeriodicCheckpoint) > 3600"}
    for attributes, expected in (({"JobUniverse": 13}, 1), ({}, 0), ({"WantCheckpointSignal": True}, 1)):
        hand = Hand(policy=policy(rules))
        hand.poll(1)
        hand.run(job(**attributes))
        hand.poll(3601)
        assert len(hand.ordered(CheckpointJob)) == expected
        hand.poll(5)
        assert not hand.ordered(CheckpointJob)
        hand.feed(ev.CheckpointRequested())
        assert hand.ordered(CheckpointJob)
