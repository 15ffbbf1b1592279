"""The example of the proposal for starter-enforced eviction, as a script of events."""

from __future__ import annotations

from roost.config import MemoryHost, load_text
from roost.model import starter_events as ev
from roost.model.starter import EVICT_SUBCODE, Ending, StarterReason, StarterVacate
from roost.model.starter_effects import ContinueProcesses, KillProcesses, ReportEviction, SignalJob
from roost.starter.configured import configured_policy
from roost.starter.endings import EVICTED
from tests.starter.kit import Hand, job

EXAMPLE = """
STARTER_EVICT = ImageSize > (Memory * 1024)
STARTER_WANT_VACATE = True
STARTER_KILL = (CurrentTime - EnteredCurrentState) > 5 * $(MINUTE)
"""


def hand() -> Hand:
    return Hand(policy=configured_policy(load_text(EXAMPLE, MemoryHost())))


def test_a_job_as_large_as_the_memory_stays_and_one_kib_more_is_evicted_softly() -> None:
    one = hand().running().sample(524288)
    assert (one.at, one.orders) == ("Running/Job", [])
    one.wait(60).sample(524289)
    assert one.at == "Vacating/Job"
    assert one.orders == [SignalJob(signal="SIGTERM"), ReportEviction(job_state="Vacating", cause=EVICTED)]


def test_it_is_killed_when_more_than_five_minutes_have_passed_since_then() -> None:
    one = hand().running().wait(3600).sample(524289)
    vacating_since = one.now
    one.wait(300)
    assert one.at == "Vacating/Job"
    one.now += 1
    one.feed(ev.Reconfigured())
    assert one.at == "Killing/Job"
    assert one.orders == [KillProcesses(), ReportEviction(job_state="Killing", cause=EVICTED)]
    (taken,) = one.last.transitions
    assert (taken.reason, taken.at - vacating_since) == (StarterReason.KILL, 301)
    assert taken.decision is not None
    assert taken.decision.trace().value is True


def test_polling_finds_the_end_of_the_five_minutes_by_itself() -> None:
    one = hand().running().sample(524289).wait(306)
    assert one.at == "Killing/Job"
    assert one.taken[-1].at == one.taken[-2].at + 305


def test_the_job_is_reported_evicted_and_the_reason_explains_itself() -> None:
    one = hand().running().sample(600_000).ended(signal=15).feed(ev.SandboxRemoved())
    assert one.at == "Done"
    assert (one.report.ending, one.report.exit_signal) == (Ending.EVICT, 15)
    assert one.report.cause is not None
    assert (one.report.cause.code, one.report.cause.subcode) == (StarterVacate.EVICT_EXPRESSION, EVICT_SUBCODE)
    evicted = next(taken for taken in one.taken if taken.reason is StarterReason.EVICTION)
    assert [decision.name for decision in evicted.decisions] == ["STARTER_EVICT", "STARTER_WANT_VACATE"]
    assert evicted.decision is not None
    clauses = [clause.text for clause in evicted.decision.explain().clauses]
    assert clauses == ["ImageSize > (Memory * 1024)"]


def test_before_the_first_sample_the_size_in_the_submitted_ad_does_not_count() -> None:
    one = Hand(policy=hand().policy, job=job(ImageSize=10**9)).running().wait(60)
    assert one.at == "Running/Job"
    one.sample(1000)
    assert one.at == "Running/Job"


def test_a_suspended_job_is_evicted_as_well_and_goes_on_to_hear_the_signal() -> None:
    one = hand().running().feed(ev.SuspendOrdered()).sample(524289)
    assert one.at == "Vacating/Job"
    assert one.orders[:2] == [ContinueProcesses(), SignalJob(signal="SIGTERM")]
