"""What a job's policy wants done with it."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd, Expr, FixedWorld, Syntax, parse_expression
from roost.classad.forms import parse_ad
from roost.classad.unparse import unparse
from roost.config import MemoryHost, load_text
from roost.model.codes import HoldCode, VacateCode
from roost.schedd.job_policy.expressions import (
    PERIODIC_ATTRIBUTES,
    Occasion,
    Outcome,
    SystemPolicy,
    SystemRule,
    Verdict,
    decide,
    raised_request,
)
from roost.schedd.job_policy.system_policy import system_policy

NOW = 10_000.0
NOBODY = SystemPolicy()
#: Expressions that never fire, and those that do.
SILENT = ("false", "0", "0.0", "undefined", "error", '"true"', '""', "Nowhere", "1 / 0", "{1}")
FIRING = ("true", "1", "-1", "0.5", 'Owner == "me"', "time() == 10000")


def job(status: int = 1, /, **expressions: str) -> ClassAd:
    ad = ClassAd({"JobStatus": status, "Owner": "me"})
    for name, text in expressions.items():
        ad.set(name, text, Syntax.OLD)
    return ad


def judged(ad: ClassAd, occasion: Occasion = Occasion.PERIODIC, system: SystemPolicy = NOBODY) -> Verdict:
    return decide(ad, system, FixedWorld(instant=NOW), occasion)


def rule(knob: str, condition: str = "true") -> tuple[SystemRule, ...]:
    return (SystemRule(knob=knob, condition=parse_expression(condition)),)


def test_a_job_without_policy_stays_and_at_its_end_leaves() -> None:
    assert judged(job()).outcome is Outcome.STAY
    assert judged(job(2), Occasion.EXIT).outcome is Outcome.LEAVE


@pytest.mark.parametrize("text", FIRING)
@pytest.mark.parametrize(
    ("name", "status", "outcome", "code"),
    [
        ("PeriodicHold", 1, Outcome.HOLD, HoldCode.JOB_POLICY),
        ("PeriodicHold", 2, Outcome.HOLD, HoldCode.JOB_POLICY),
        ("PeriodicRemove", 1, Outcome.REMOVE, 0),
        ("PeriodicRemove", 5, Outcome.REMOVE, 0),
        ("PeriodicRelease", 5, Outcome.RELEASE, 0),
        ("PeriodicVacate", 2, Outcome.VACATE, VacateCode.JOB_POLICY),
        ("PeriodicVacate", 7, Outcome.VACATE, VacateCode.JOB_POLICY),
    ],
)
def test_what_fires_is_done_and_named(text: str, name: str, status: int, outcome: Outcome, code: int) -> None:
    verdict = judged(job(status, **{name: text}))
    assert (verdict.outcome, verdict.code, verdict.source) == (outcome, code, name)
    assert verdict.expression is not None
    assert verdict.reason == f"The job attribute {name} expression '{shown(verdict.expression)}' evaluated to TRUE"


def shown(expression: Expr) -> str:
    return unparse(expression.tree, old=True)


#: Expressions that fire, each with its text in HTCondor's reasons: `ClassAd.printOld` of its library.
SHOWN = {
    "JobStatus isnt 9": "JobStatus =!= 9",
    "JobStatus =!= 9 && X is undefined": "JobStatus =!= 9 && X =?= undefined",
    '!(Cmd is "a")': ' !(Cmd =?= "a")',
    "ifThenElse(A is 1, {1,2.5}, [x = 1 isnt 2]) isnt 5": "ifThenElse(A =?= 1,{ 1,2.5 },[ x = 1 =!= 2 ]) =!= 5",
    "1e3 < 2000.0 ? true : false": "1000.0 < 2000.0 ? true : false",
}


@pytest.mark.parametrize("text", SHOWN)
def test_reasons_show_expressions_as_htcondor_prints_them(text: str) -> None:
    assert judged(job(1, PeriodicHold=text)).reason.partition("'")[2].rpartition("'")[0] == SHOWN[text]
    system = SystemPolicy(hold=rule("SYSTEM_PERIODIC_HOLD", text))
    assert f"expression '{SHOWN[text]}' evaluated to TRUE" in judged(job(), system=system).reason
    leaves = judged(job(2, OnExitRemove=text), Occasion.EXIT).reason
    assert f"OnExitRemove expression '{SHOWN[text]}' evaluated to TRUE" in leaves


@pytest.mark.skipif(importlib.util.find_spec("classad2") is None, reason="the reference library is not installed")
@pytest.mark.parametrize("text", SHOWN)
def test_the_reference_prints_them_so(text: str) -> None:
    from classad2 import ClassAd as Reference  # type: ignore[import-untyped]
    from classad2 import ExprTree

    assert Reference({"P": ExprTree(text)}).printOld() == f"P = {SHOWN[text]}\n"


@pytest.mark.parametrize("text", SILENT)
def test_nothing_but_truth_fires(text: str) -> None:
    for status in (1, 2, 5):
        ad = job(status, PeriodicHold=text, PeriodicRemove=text, PeriodicRelease=text, PeriodicVacate=text)
        assert judged(ad).outcome is Outcome.STAY
    assert judged(job(2, OnExitHold=text), Occasion.EXIT).outcome is Outcome.LEAVE


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("false", Outcome.REQUEUE),
        ("0", Outcome.REQUEUE),
        ("0.0", Outcome.REQUEUE),
        ("ExitCode =?= 0", Outcome.REQUEUE),
        ("true", Outcome.LEAVE),
        ("2", Outcome.LEAVE),
        ("undefined", Outcome.LEAVE),
        ("ExitCode == 0", Outcome.LEAVE),
        ("error", Outcome.LEAVE),
        ('"false"', Outcome.LEAVE),
    ],
)
def test_only_false_has_a_job_run_again(text: str, outcome: Outcome) -> None:
    verdict = judged(job(2, OnExitRemove=text), Occasion.EXIT)
    assert (verdict.outcome, verdict.source) == (outcome, "OnExitRemove")


def test_the_first_in_order_decides() -> None:
    everything = dict.fromkeys(
        ("PeriodicVacate", "PeriodicHold", "PeriodicRelease", "PeriodicRemove", "OnExitHold", "OnExitRemove"), "true"
    )
    everything |= {"AllowedJobDuration": "5", "ShadowBday": "0", "AllowedExecuteDuration": "5",
                   "JobCurrentStartExecutingDate": "0", "TimerRemove": "5"}  # fmt: skip
    order = ["AllowedJobDuration", "AllowedExecuteDuration", "PeriodicVacate", "TimerRemove", "PeriodicHold",
             "PeriodicRemove"]  # fmt: skip
    for name in order:
        assert judged(job(2, **everything)).source == name
        del everything[name]
    assert judged(job(2, **everything)).outcome is Outcome.STAY
    assert judged(job(2, **everything), Occasion.EXIT).source == "OnExitHold"
    del everything["OnExitHold"]
    assert judged(job(2, **everything), Occasion.EXIT).source == "OnExitRemove"


def test_a_removed_job_is_left_alone() -> None:
    ad = job(3, PeriodicHold="true", PeriodicRemove="true", OnExitHold="true")
    assert judged(ad).outcome is Outcome.STAY
    assert judged(ad, Occasion.EXIT).outcome is Outcome.STAY


def test_a_held_or_complete_job_is_not_held_again() -> None:
    for status in (4, 5):
        assert judged(job(status, PeriodicHold="true")).outcome is Outcome.STAY


def test_the_job_goes_before_the_system_and_the_codes_differ() -> None:
    system = SystemPolicy(hold=rule("SYSTEM_PERIODIC_HOLD"), vacate=rule("SYSTEM_PERIODIC_VACATE", "false"))
    assert judged(job(1, PeriodicHold="true"), system=system).source == "PeriodicHold"
    verdict = judged(job(), system=system)
    assert (verdict.outcome, verdict.code) == (Outcome.HOLD, HoldCode.SYSTEM_POLICY)
    assert verdict.reason == "The system macro SYSTEM_PERIODIC_HOLD expression 'true' evaluated to TRUE"
    assert judged(job(2), system=SystemPolicy(vacate=rule("V"))).code == VacateCode.SYSTEM_POLICY


def test_reason_and_subcode_are_the_users() -> None:
    ad = job(1, PeriodicHold="true", PeriodicHoldReason='strcat("a", 1)', PeriodicHoldSubCode="3 + 4")
    assert (judged(ad).reason, judged(ad).subcode) == ("a1", 7)
    ad.set("PeriodicHoldReason", "undefined")
    assert judged(ad).reason.startswith("The job attribute")


def test_what_a_user_held_policy_does_not_release() -> None:
    ad = job(5, PeriodicRelease="true", HoldReasonCode="1")
    assert judged(ad).outcome is Outcome.STAY
    ad["HoldReasonCode"] = 13
    assert judged(ad).outcome is Outcome.RELEASE


def test_releases_have_a_limit() -> None:
    # On its fourth hold, a job has been released three times.
    ad = job(5, PeriodicRelease="true", HoldReasonCode="13", NumHolds="4")
    assert judged(ad, system=SystemPolicy(releases_max=3)).outcome is Outcome.STAY
    assert judged(ad, system=SystemPolicy(releases_max=4)).outcome is Outcome.RELEASE


def test_durations_are_reached_or_passed() -> None:
    reached = job(2, AllowedJobDuration="100", ShadowBday=str(int(NOW) - 100))
    assert judged(reached).code == HoldCode.JOB_DURATION_EXCEEDED
    assert "0+00:01:40" in judged(reached).reason
    ran = job(2, AllowedExecuteDuration="100", JobCurrentStartExecutingDate=str(int(NOW) - 100))
    assert judged(ran).outcome is Outcome.STAY
    ran.set("AllowedExecuteDuration", "99")
    assert judged(ran).code == HoldCode.JOB_EXECUTE_EXCEEDED
    assert judged(job(1, AllowedJobDuration="1", ShadowBday="0")).outcome is Outcome.STAY
    saves = job(
        2,
        AllowedExecuteDuration="100",
        JobCurrentStartExecutingDate=str(int(NOW) - 500),
        SuccessCheckpointExitCode="17",
    )
    assert judged(saves).code == HoldCode.JOB_EXECUTE_EXCEEDED
    saves["LastCkptTime"] = int(NOW) - 100
    assert judged(saves).outcome is Outcome.STAY
    saves["LastCkptTime"] = int(NOW) - 101
    assert judged(saves).code == HoldCode.JOB_EXECUTE_EXCEEDED
    del saves["SuccessCheckpointExitCode"]
    saves["LastCkptTime"] = int(NOW) - 1
    assert judged(saves).code == HoldCode.JOB_EXECUTE_EXCEEDED


def test_vacating_is_for_jobs_on_machines_and_not_for_their_end() -> None:
    assert judged(job(1, PeriodicVacate="true")).outcome is Outcome.STAY
    assert judged(job(2, PeriodicVacate="true"), Occasion.EXIT).outcome is Outcome.LEAVE


def test_retries_end_when_they_are_used_up() -> None:
    text = "NumJobCompletions > JobMaxRetries || ExitCode =?= 0"
    runs = 0
    for completions in range(1, 10):
        runs += 1
        ad = job(2, OnExitRemove=text, OnExitHold="false", JobMaxRetries="3", NumJobCompletions=str(completions))
        if judged(ad, Occasion.EXIT).outcome is Outcome.LEAVE:
            break
    assert runs == 4


_TEXTS = st.sampled_from((*SILENT, *FIRING))
_NAMES = st.sampled_from(
    ("PeriodicHold", "PeriodicRelease", "PeriodicRemove", "PeriodicVacate", "OnExitHold", "OnExitRemove", "TimerRemove",
     "AllowedJobDuration", "AllowedExecuteDuration", "ShadowBday", "PeriodicHoldReason", "PeriodicHoldSubCode")
)  # fmt: skip


@given(st.integers(0, 8), st.dictionaries(_NAMES, _TEXTS, max_size=6), st.sampled_from(Occasion))
def test_whatever_a_job_says_there_is_a_verdict(status: int, texts: dict[str, str], occasion: Occasion) -> None:
    ad = job(status, **texts)
    verdict = judged(ad, occasion)
    assert (
        (verdict.outcome is Outcome.STAY) or occasion is Occasion.EXIT or verdict.source.lower() in PERIODIC_ATTRIBUTES
    )
    chained = ClassAd({"ProcId": 1})
    chained.chain_to(ad)
    assert judged(chained, occasion) == verdict


def test_the_systems_policy_is_read_from_the_configuration() -> None:
    text = """
        SYSTEM_PERIODIC_HOLD = NumJobStarts > 3
        SYSTEM_PERIODIC_HOLD_REASON = "often"
        SYSTEM_PERIODIC_HOLD_NAMES = disk, memory
        SYSTEM_PERIODIC_HOLD_disk = DiskUsage > 10
        SYSTEM_PERIODIC_HOLD_disk_SUBCODE = 104
        SYSTEM_PERIODIC_REMOVE = ((
        SYSTEM_MAX_RELEASES = 5
        GRACEFULLY_REMOVE_JOBS = false
    """
    policy, problems = system_policy(load_text(text, MemoryHost(), file="policy"))
    assert [one.knob for one in policy.hold] == ["SYSTEM_PERIODIC_HOLD", "SYSTEM_PERIODIC_HOLD_disk"]
    assert (policy.releases_max, policy.removes_gracefully, policy.remove) == (5, False, ())
    assert [(problem.name, problem.span.line) for problem in problems] == [("SYSTEM_PERIODIC_REMOVE", 7)]
    assert judged(job(1, NumJobStarts="4"), system=policy).reason == "often"
    assert judged(job(1, DiskUsage="11"), system=policy).subcode == 104


@pytest.mark.parametrize(
    ("ad", "code", "subcode", "raised"),
    [
        ("RequestMemory = 10; RetryRequestMemory = 20", 21, 102, 20),
        ("RequestMemory = 20; RetryRequestMemory = 20", 21, 102, None),
        ("RequestMemory = 15; RetryRequestMemory = { 10, 20, 40 }", 34, 102, 20),
        ("RequestMemory = 20; RetryRequestMemory = { 10, 20, MY.RequestMemory * 2 }", 34, 102, 40),
        ("RequestMemory = 40; RetryRequestMemory = { 10, 20, 40 }", 34, 102, None),
        ('RequestMemory = 15; RetryRequestMemory = "10, 20, 40"', 34, 102, 20),
        ("RequestMemory = 15; RetryRequestMemory = RequestMemory * 2", 34, 102, 30),
        ("RequestMemory = 15; RetryRequestMemory = { 20, 40 }; MaxRequestMemory = 18", 34, 102, 18),
        ("RequestMemory = 15; NextRequestMemory = RequestMemory + 5", 34, 102, 20),
        ("RequestMemory = 15; NextRequestMemory = RequestMemory * 1.01", 34, 102, 16),
        ("RequestMemory = 15; NextRequestMemory = 100; MaxRequestMemory = 50", 34, 102, 50),
        ("RequestMemory = 50; NextRequestMemory = 100; MaxRequestMemory = 50", 34, 102, None),
        ("RequestMemory = 15; NextRequestMemory = undefined; MaxRequestMemory = 50", 34, 102, None),
        ("RequestMemory = 15; NextRequestMemory = 1e300", 34, 102, None),
        ("RequestMemory = 15; MaxRequestMemory = 50", 34, 102, 50),
        ("RequestMemory = 50; MaxRequestMemory = 50", 34, 102, None),
        ("RequestMemory = 10; RetryRequestMemory = 20", 21, 104, None),
        ("RequestDisk = 10; RetryRequestDisk = 20", 21, 104, 20),
        ("RequestMemory = 10; RetryRequestMemory = 20", 12, 102, None),
        ("RequestMemory = 10", 21, 102, None),
    ],
)
def test_more_memory_or_disk_instead_of_a_hold(ad: str, code: int, subcode: int, raised: int | None) -> None:
    found = raised_request(parse_ad(f"[{ad}]"), code, subcode, FixedWorld(instant=NOW))
    assert (found and found.amount) == raised
    assert found is None or found.attribute == {102: "RequestMemory", 104: "RequestDisk"}[subcode]
