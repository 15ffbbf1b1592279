"""What a queue does in single cases: who may do what, what is counted, what machines may say."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd, parse_expression
from roost.model.codes import VacateCode
from roost.model.one_run import OF_ONE_RUN
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.admission.limits import Limits, Present
from roost.schedd.changes import AppendLog
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.claims.pacing import FREE_TRIES, MISS_GAP_S, PAUSE_S_MAX, Pauses
from roost.schedd.identifiers import JobId
from roost.schedd.job_policy.expressions import SystemPolicy
from roost.schedd.jobs.idle import Autoclusters, IdleGroup
from roost.schedd.jobs.owned import RECORDED
from roost.schedd.jobs.ranges import Ranges
from roost.schedd.queue import Queue, Step
from roost.schedd.refused_logs import JOBS_A_STEP
from roost.schedd.runs import noop
from roost.schedd.runs.provisioned import provisioned
from roost.schedd.status import JobStatus
from tests.schedd.kit import SETTINGS, Driven, source


def running(driven: Driven) -> tuple[JobId, str, str]:
    """A job that runs: its name, claim and run."""
    driven.submit(source(1))
    job = driven.start()
    assert job.status is JobStatus.RUNNING
    return job.id, job.claim_id, job.run


# -- ranges, groups, autoclusters ---------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30)))
def test_ranges_are_sets_of_numbers(numbers: list[int]) -> None:
    found = Ranges()
    for number in numbers:
        found.add(number)
    wanted = sorted(set(numbers))
    assert list(found) == wanted
    assert len(found) == len(wanted)
    assert [n for n in range(31) if n in found] == wanted
    again = Ranges.read(str(found))
    assert list(again) == wanted
    assert str(again) == str(found)
    assert str(found).count(",") == max(0, sum(n - 1 not in set(wanted) for n in wanted) - 1)


@pytest.mark.parametrize("text", ["x", "3-1", "1,1", "1-5,3", "5,1", "1-2,3", "-1", "1-", ","])
def test_what_is_no_set_of_ranges_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Ranges.read(text)


@given(st.lists(st.sampled_from(("take", "put", "left")), max_size=30), st.integers(0, 5))
def test_a_group_gives_out_the_first_of_its_jobs(acts: list[str], fresh: int) -> None:
    idle = set(range(fresh))
    group = IdleGroup(1, 0, 1, lambda proc, _: proc in idle)
    group.put_fresh(0, fresh)
    away = set(range(fresh, 8))
    for act in acts:
        if act == "take":
            proc = group.take()
            assert proc == min(idle, default=None)
            if proc is not None:
                idle.discard(proc)
                away.add(proc)
        elif act == "put" and away:
            proc = max(away)
            away.discard(proc)
            idle.add(proc)
            group.put(proc)
        elif act == "left" and idle:
            proc = max(idle)
            idle.discard(proc)
            away.add(proc)
            group.left()
        assert group.count == len(idle)
        assert group.first() == min(idle, default=None)


def test_jobs_that_no_machine_tells_apart_are_one_autocluster() -> None:
    clusters = Autoclusters()
    plain = ClassAd({"Requirements": parse_expression("Memory > Wanted"), "Wanted": 5, "Args": "1"})
    other = ClassAd({"Requirements": parse_expression("Memory > Wanted"), "Wanted": 5, "Args": "2"})
    larger = ClassAd({"Requirements": parse_expression("Memory > Wanted"), "Wanted": 6, "Args": "1"})
    first = clusters.of(plain)
    assert clusters.of(other) == first
    assert clusters.of(larger) != first
    assert clusters.use(("args",))
    assert not clusters.use(("ARGS",))
    assert first not in (clusters.of(plain), clusters.of(other))
    assert clusters.of(plain) != clusters.of(other)


def test_what_running_changes_tells_jobs_apart_only_where_an_expression_asks_for_it() -> None:
    clusters = Autoclusters()
    fresh = ClassAd({"Requirements": True, "ImageSize": 5, "DiskUsage": 5, "RequestDisk": 1})
    again = ClassAd({"Requirements": True, "ImageSize": 9, "DiskUsage": 9, "RequestDisk": 1})
    assert clusters.of(fresh) == clusters.of(again)
    assert clusters.use(("imagesize",)), "a machine's START asks for it"
    assert clusters.of(fresh) != clusters.of(again)
    clusters = Autoclusters()
    for ad in (fresh, again):
        ad.set("RequestDisk", "DiskUsage")
    assert clusters.of(fresh) != clusters.of(again), "the jobs' own request reaches it"


def test_jobs_are_told_apart_by_what_their_requirements_reach() -> None:
    driven = Driven()
    driven.submit(source(4, own={"Args": ("1", "2")}, Requirements="=Wanted == 1", Wanted='=Args == "1" ? 1 : 2'))
    groups = [group for found in driven.queue.book.waiting().values() for group in found]
    assert [group.count for group in groups] == [2, 2]


# -- what machines may say ----------------------------------------------------------------------------------------


def test_a_run_ends_only_on_its_claim() -> None:
    driven = Driven()
    job, claim_id, run = running(driven)
    end = ev.RunEnded(node="b", claim_id="<b>#1", run=run, at=driven.now, ending="exit", started=True, exit_code=0)
    driven.feed(end)
    assert driven.queue.book.find(job) is not None
    lost = ev.RunEnded(node="a", claim_id=claim_id, run=run[:-1], at=driven.now, ending="exit", started=True)
    driven.feed(lost)
    assert driven.queue.book.find(job) is not None


def test_machines_change_neither_whose_a_job_is_nor_what() -> None:
    driven = Driven()
    job, claim_id, run = running(driven)
    lies = ClassAd({"Owner": "mallory", "User": "m@x", "JobStatus": 4, "ClusterId": 9, "ImageSize": 7, "À": 1})
    driven.feed(ev.RunMeasured(claim_id=claim_id, run=run, at=driven.now, attributes=lies))
    found = driven.queue.book.find(job)
    assert found is not None
    assert [found.ad.eval(name) for name in ("Owner", "JobStatus", "ClusterId", "ImageSize", "À")] == [
        "ann",
        2,
        1,
        7,
        1,
    ]


def test_an_answer_to_a_question_from_before_a_run_says_nothing_of_it() -> None:
    driven = Driven()
    job, claim_id, run = running(driven)
    asked = driven.queue.claim_table.claims[claim_id].asked
    driven.feed(ev.ClaimsHeard(node="a", known={claim_id: ""}, serial=asked))
    found = driven.queue.book.find(job)
    assert found is not None
    assert found.run == run
    driven.feed(ev.ClaimsHeard(node="a", known={claim_id: ""}, serial=asked + 1))
    assert found.run == ""
    assert found.status is JobStatus.IDLE


def test_the_end_of_a_claim_waits_for_the_report_of_its_run() -> None:
    driven = Driven()
    job, claim_id, run = running(driven)
    driven.feed(ev.ClaimLost(claim_id=claim_id, reason="gone", reported=run))
    found = driven.queue.book.find(job)
    assert found is not None
    assert found.status is JobStatus.RUNNING
    driven.feed(
        ev.RunEnded(node="a", claim_id=claim_id, run=run, at=driven.now, ending="exit", started=True, exit_code=3)
    )
    assert driven.past.history == [(job, JobStatus.COMPLETED)]


@pytest.mark.parametrize(
    ("code", "started", "closing", "stays"),
    [
        (VacateCode.USER_VACATE_JOB, True, False, True),
        (VacateCode.JOB_POLICY, True, False, True),
        (VacateCode.SYSTEM_POLICY, True, False, True),
        # By the starter's own policy, which would evict the same job again, and by PREEMPT.
        (VacateCode.STARTD_PREEMPT_EXPRESSION, True, False, False),
        (VacateCode.STARTD_PREEMPT_EXPRESSION, True, True, False),
        (VacateCode.USER_VACATE_JOB, True, True, False),
        (VacateCode.USER_VACATE_JOB, False, False, False),
        (VacateCode.STARTER_ERROR, True, False, False),
        (VacateCode.JOB_NOT_STARTED, True, False, False),
    ],
)
def test_a_claim_outlasts_an_eviction_that_is_about_the_job_only(
    code: VacateCode, started: bool, closing: bool, stays: bool
) -> None:
    driven = Driven()
    job, claim_id, run = running(driven)
    end = ev.RunEnded(node="a", claim_id=claim_id, run=run, at=driven.now, ending="evict", started=started, code=code,
                      closing=closing)  # fmt: skip
    driven.feed(end)
    found = driven.queue.book.find(job)
    assert found is not None
    assert (claim_id in driven.queue.claim_table.claims) is stays
    assert (found.status, found.claim_id) == ((JobStatus.RUNNING, claim_id) if stays else (JobStatus.IDLE, ""))


@pytest.mark.parametrize("closing", [True, False])
def test_a_claim_that_ends_with_its_job_is_given_back_and_not_tried_for_another(closing: bool) -> None:
    driven = Driven()
    _, claim_id, run = running(driven)
    waiting = JobId(driven.submit(source(1)), 0)
    end = ev.RunEnded(node="a", claim_id=claim_id, run=run, at=driven.now, ending="exit", started=True, exit_code=0,
                      closing=closing)  # fmt: skip
    driven.feed(end)
    other = driven.queue.book.find(waiting)
    assert other is not None
    assert (other.status, other.whole("numshadowstarts")) == (
        (JobStatus.IDLE, 0) if closing else (JobStatus.RUNNING, 1)
    )
    assert (claim_id in driven.queue.claim_table.claims) is not closing


def test_files_on_their_way_are_told_and_a_job_whose_output_is_moved_shows_it() -> None:
    driven = Driven()
    number = driven.submit(source(1, UserLog="/l"))
    driven.start()
    job = driven.queue.book.find(JobId(number, 0))
    assert job is not None
    seen = []
    for stage in ("input-started", "input-finished", "output-started", "output-finished", "nonsense"):
        moved = ev.FilesMoved(claim_id=job.claim_id, run=job.run, at=driven.now, stage=stage)
        changes = driven.queue.step(moved, driven.now).changes
        texts = [each.text.splitlines() for each in changes if isinstance(each, AppendLog)]
        seen.append((job.status, texts[0][0].split(" ", 4)[4] if texts else ""))
    assert seen == [
        (JobStatus.RUNNING, "Started transferring input files"),
        (JobStatus.RUNNING, "Finished transferring input files"),
        (JobStatus.TRANSFERRING_OUTPUT, "Started transferring output files"),
        (JobStatus.RUNNING, "Finished transferring output files"),
        (JobStatus.RUNNING, ""),
    ]


def test_the_log_tells_of_a_run_that_waits_for_its_turn_to_move_files_and_for_how_long() -> None:
    driven = Driven()
    number = driven.submit(source(1, UserLog="/l"))
    driven.start()
    job = driven.queue.book.find(JobId(number, 0))
    assert job is not None
    seen = []
    for stage in (
        "input-queued",
        "input-started",
        "input-finished",
        "output-started",
        "output-queued",
        "output-started",
    ):
        driven.now += 4
        moved = ev.FilesMoved(claim_id=job.claim_id, run=job.run, at=driven.now, stage=stage)
        changes = driven.queue.step(moved, driven.now).changes
        (text,) = [each.text for each in changes if isinstance(each, AppendLog)]
        first, *rest = text.splitlines()
        waits = job.ad.get("TransferQueued", False)
        seen.append((first.split(" ", 4)[4], [line.split(":")[0].strip() for line in rest[:-1]], waits, job.status))
        assert "spent in queue" not in text or "Seconds spent in queue: 4\n" in text
    running, going = JobStatus.RUNNING, JobStatus.TRANSFERRING_OUTPUT
    assert seen == [
        ("Entered queue to transfer input files", ["Transferring to host"], True, running),
        ("Started transferring input files", ["Seconds spent in queue"], False, running),
        ("Finished transferring input files", [], False, running),
        ("Started transferring output files", [], False, going),
        ("Entered queue to transfer output files", [], True, going),
        ("Started transferring output files", ["Seconds spent in queue"], False, going),
    ]


def test_what_runs_used_and_moved_is_summed_up_and_what_was_lost_is_not_committed() -> None:
    driven = Driven()
    job = None
    for ending in ("evict", "exit"):
        if job is None:
            number = driven.submit(source(1, LeaveJobInQueue=True))
        driven.start()
        job = driven.queue.book.find(JobId(number, 0))
        assert job is not None
        driven.now += 10
        used = ClassAd({"RemoteUserCpu": 2.0, "RemoteSysCpu": 1.0})
        end = ev.RunEnded(node="a", claim_id=job.claim_id, run=job.run, at=driven.now, ending=ending, started=True,
                          exit_code=0, attributes=used, bytes_sent=5, bytes_received=7)  # fmt: skip
        driven.feed(end)
    assert {name: job.ad.eval(name) for name in (
        "BytesSent", "BytesRecvd", "LastRunBytesSent", "CumulativeRemoteUserCpu", "CommittedTime", "CumulativeSlotTime",
    )} == {
        "BytesSent": 10.0, "BytesRecvd": 14.0, "LastRunBytesSent": 5, "CumulativeRemoteUserCpu": 4.0,
        "CommittedTime": 10, "CumulativeSlotTime": 20.0,
    }  # fmt: skip


def test_no_more_jobs_than_max_materialize_have_slots_and_the_next_follows_the_first_that_leaves() -> None:
    driven = Driven()
    # Of a node of a workflow all jobs are in the queue from the start.
    number = driven.submit(source(5, JobMaterializeLimit=2, DAGManNodesLog="/nodes"))
    cluster = driven.queue.book.clusters[number]
    assert cluster.room == 2
    for _ in range(2):
        driven.start()
    assert cluster.room == 0 and not driven.queue.book.waiting() and not driven.queue.offered(driven.now)
    first = cluster.job(0)
    assert first.status is JobStatus.RUNNING
    driven.feed(ev.RunEnded(node="a", claim_id=first.claim_id, run=first.run, at=driven.now, ending="exit",
                           started=True, exit_code=0))  # fmt: skip
    assert [int(cluster.status(proc)) for proc in range(5)] == [0, 2, 2, 1, 1]
    driven.act(ev.Action.HOLD, JobId(number, 4))
    assert cluster.room == 0


def test_a_run_is_told_nothing_of_the_one_before_it() -> None:
    driven = Driven()
    number = driven.submit(source(1, ExitReason="", Item="a"))
    asked = driven.match()
    assert asked is not None
    step = driven.answer(asked)
    for reason in ("", "ended"):
        (order,) = [each for each in step.effects if isinstance(each, ef.StartRun)]
        own = driven.job(number, 0)
        assert order.job_ad.eval("Item") == own.ad.eval("Item") == "a"
        assert own.ad.eval("ExitBySignal") is False and own.text("vacatereason") == reason
        assert not set(OF_ONE_RUN) & set(order.job_ad)
        driven.begun(own)
        # The claim stays, and the job starts again with it.
        step = driven.end(own, "evict")


def test_jobs_that_are_not_to_be_run_end_as_their_ads_say() -> None:
    driven = Driven()
    fine = driven.submit(source(2, IsNoopJob=True, NoopJobExitCode=3, UserLog="/l"))
    driven.submit(source(1, IsNoopJob=True, NoopJobExitSignal=9, OnExitHold="=ExitBySignal"))
    assert driven.past.history == [(JobId(fine, 0), JobStatus.COMPLETED), (JobId(fine, 1), JobStatus.COMPLETED)]
    held = JobId(fine + 1, 0)
    assert driven.queue.book.find(held).status is JobStatus.HELD  # type: ignore[union-attr]
    driven.act(ev.Action.EDIT, held, OnExitHold=False)
    driven.act(ev.Action.RELEASE, held)
    assert driven.past.history[-1] == (held, JobStatus.COMPLETED)


def test_a_large_cluster_is_asked_in_parts_which_jobs_are_not_to_be_run() -> None:
    driven = Driven()
    count = 3 * noop.JOBS_A_STEP
    number = driven.submit(source(count, IsNoopJob="=ProcId % 2 == 0", UserLog="/l"))
    assert len(driven.past.history) == noop.JOBS_A_STEP // 2
    assert not driven.queue.offered(driven.now)
    # One that is looked at waits again, and one that is not.
    driven.act(ev.Action.HOLD, JobId(number, 1), JobId(number, count - 1))
    driven.act(ev.Action.EDIT, JobId(number, 1), JobId(number, count - 1), IsNoopJob=True)
    driven.act(ev.Action.RELEASE, JobId(number, 1), JobId(number, count - 1))
    steps = 0
    while driven.queue.goes_on:
        driven.feed(ev.WentOn())
        steps += 1
    assert steps == 2
    ended = [*range(0, count, 2), 1, count - 1]
    assert sorted(driven.past.history) == sorted((JobId(number, proc), JobStatus.COMPLETED) for proc in ended)
    groups = [group for groups in driven.queue.offered(driven.now).values() for group in groups]
    assert sum(group.count for group in groups) == count - len(ended)


def test_an_order_to_end_a_run_is_repeated_until_it_ends() -> None:
    driven = Driven()
    job, _, run = running(driven)
    driven.act(ev.Action.HOLD, job)
    for _ in range(2):
        assert [order.run for order in driven.ordered if isinstance(order, ef.EndRun)] == [run]
        driven.ordered.clear()
        driven.now += 30
        driven.feed(ev.Ticked())
    found = driven.job(job.cluster)
    driven.end(found, "evict")
    assert found.run == ""
    driven.ordered.clear()
    driven.now += 30
    driven.feed(ev.Ticked())
    assert not [order for order in driven.ordered if isinstance(order, ef.EndRun)]


# -- what users may do --------------------------------------------------------------------------------------------


def orders_to_stand_still(driven: Driven, run: str) -> list[bool]:
    """What was ordered of a run since this was asked last."""
    found = [each.still for each in driven.ordered if isinstance(each, ef.StandStill) and each.run == run]
    driven.ordered.clear()
    return found


def test_an_order_to_suspend_or_continue_is_repeated_until_the_machine_agrees() -> None:
    driven = Driven()
    job, claim, run = running(driven)

    def told(standing: str) -> list[bool]:
        """The machine says how the run stands; what it is told."""
        driven.now += 15
        driven.feed(ev.ClaimsHeard(node="a", known={claim: run}, standings={claim: standing} if standing else {}))
        return orders_to_stand_still(driven, run)

    assert told("running") == told("suspended") == told("running") == []
    driven.act(ev.Action.SUSPEND, job)
    assert driven.reply.data["counts"] == {"ok": 1}
    assert orders_to_stand_still(driven, run) == [True]
    # The order is lost. The machine's policy may suspend the job for itself.
    assert told("") == []
    assert told("running") == told("suspended") == [True]
    driven.restart()
    driven.ordered.clear()
    assert told("running") == [True]
    assert told("suspended by command") == []
    assert driven.job(job.cluster).status is JobStatus.SUSPENDED
    driven.act(ev.Action.CONTINUE, job)
    assert orders_to_stand_still(driven, run) == [False]
    assert told("suspended by command") == [False]
    # An order that the machine has not carried out is taken back by its opposite.
    driven.act(ev.Action.SUSPEND, job)
    assert orders_to_stand_still(driven, run) == [True]
    driven.act(ev.Action.CONTINUE, job)
    assert orders_to_stand_still(driven, run) == [False]
    assert told("running") == []
    assert driven.job(job.cluster).status is JobStatus.RUNNING
    driven.act(ev.Action.CONTINUE, job)
    assert driven.reply.data["refused"] == {str(job): "bad-status"}
    driven.check()


@pytest.mark.parametrize("told", ["by the news", "by a keepalive"])
def test_an_order_to_suspend_that_was_carried_out_is_not_repeated(told: str) -> None:
    driven = Driven()
    job, claim, run = running(driven)
    driven.act(ev.Action.SUSPEND, job)
    if told == "by the news":
        driven.feed(ev.RunStoodStill(claim_id=claim, run=run, at=driven.now, still=True))
    else:
        driven.feed(ev.ClaimsHeard(node="a", known={claim: run}, standings={claim: "suspended by command"}))
    assert driven.job(job.cluster).status is JobStatus.SUSPENDED
    driven.restart()
    driven.ordered.clear()
    # PREEMPT has it go on and retire.
    driven.feed(ev.RunStoodStill(claim_id=claim, run=run, at=driven.now, still=False))
    driven.feed(ev.ClaimsHeard(node="a", known={claim: run}, standings={claim: "running"}))
    assert orders_to_stand_still(driven, run) == []
    assert driven.job(job.cluster).status is JobStatus.RUNNING
    driven.act(ev.Action.SUSPEND, job)
    assert orders_to_stand_still(driven, run) == [True]
    driven.check()


def test_what_a_command_wanted_of_a_run_is_not_wanted_of_the_next() -> None:
    driven = Driven()
    job, claim, run = running(driven)
    driven.act(ev.Action.SUSPEND, job)
    driven.feed(ev.RunEnded(node="a", claim_id=claim, run=run, at=driven.now, ending="evict", started=True, code=1))
    again = driven.start()
    assert again.id == job and again.run != run
    standings = {again.claim_id: "running"}
    driven.feed(ev.ClaimsHeard(node="a", known={again.claim_id: again.run}, standings=standings))
    assert orders_to_stand_still(driven, again.run) == []


def test_news_of_a_suspension_that_were_lost_are_made_up_for() -> None:
    driven = Driven()
    job, claim, run = running(driven)
    for standing, status in (("suspended", JobStatus.SUSPENDED), ("running", JobStatus.RUNNING)):
        driven.now += 10
        driven.feed(ev.ClaimsHeard(node="a", known={claim: run}, standings={claim: standing}))
        assert driven.job(job.cluster).status is status
    assert driven.job(job.cluster).ad["TotalSuspensions"] == 1
    assert driven.job(job.cluster).ad["CumulativeSuspensionTime"] == 10


def test_each_job_answers_for_itself() -> None:
    driven = Driven()
    number = driven.submit(source(3))
    driven.act(ev.Action.HOLD, JobId(number, 0))
    jobs = (JobId(number, 0), JobId(number, 1), JobId(number, 7), JobId(99, 0))
    driven.feed(ev.Acted(action=ev.Action.HOLD, jobs=jobs, user="ann", reply_to="r"))
    reply = driven.reply
    assert reply.ok
    assert reply.data["counts"] == {"already-done": 1, "ok": 1, "not-found": 2}
    driven.feed(ev.Acted(action=ev.Action.RELEASE, jobs=jobs[:2], user="eve", reply_to="r"))
    assert driven.reply.data["counts"] == {"permission-denied": 2}
    driven.feed(ev.Acted(action=ev.Action.RELEASE, jobs=jobs[:2], user="eve", superuser=True, reply_to="r"))
    assert driven.reply.data["counts"] == {"ok": 2}


@pytest.mark.parametrize("name", ["Owner", "ClusterId", "jobstatus", "QDate"])
def test_nobody_edits_what_a_job_is(name: str) -> None:
    driven = Driven()
    number = driven.submit(source(1))
    driven.act(ev.Action.EDIT, JobId(number, 0), **{name: 1})
    assert driven.reply.data["counts"] == {"immutable": 1}


@pytest.mark.parametrize("name", ["OsUser", "JobUniverse", "globaljobid", "MyType"])
def test_an_administrator_does_not_edit_what_a_job_is(name: str) -> None:
    driven = Driven()
    number = driven.submit(source(1))
    driven.act(ev.Action.EDIT, JobId(number, 0), superuser=True, **{name: 1})
    assert driven.reply.data["counts"] == {"immutable": 1}


@pytest.mark.parametrize("action", [ev.Action.EDIT, ev.Action.NOTE])
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_an_owner_does_not_edit_what_happened_to_a_job(name: str, action: ev.Action) -> None:
    driven = Driven()
    number = driven.submit(source(1))
    before = dict(driven.queue.book.clusters[number].ad_of(0).items())
    driven.act(action, JobId(number, 0), **{name: -5, "Mine": 1})
    assert driven.reply.data["counts"] == {"protected": 1}
    assert dict(driven.queue.book.clusters[number].ad_of(0).items()) == before
    driven.act(action, JobId(number, 0), superuser=True, **{name: 3})
    assert driven.queue.book.clusters[number].ad_of(0).eval(name) == 3


def test_a_submission_begins_with_nothing_that_happened() -> None:
    driven = Driven()
    plain = dict(driven.queue.book.clusters[driven.submit(source(2))].ad_of(0).items())
    forged = dict.fromkeys(sorted(RECORDED), 7)
    number = driven.submit(source(2, own=dict.fromkeys(("NumHolds", "OsUser", "RemoteHost"), (1, 2)), **forged))
    for proc in (0, 1):
        found = dict(driven.queue.book.clusters[number].ad_of(proc).items())
        apart = {"ClusterId", "ProcId", "GlobalJobId"}
        assert {name: found[name] for name in found if name not in apart} == {
            name: plain[name] for name in plain if name not in apart
        }
    held = driven.submit(source(1, JobStatus=5, HoldReason="mine", HoldReasonCode=15, HoldReasonSubCode=2, NumHolds=9))
    ad = driven.queue.book.clusters[held].ad_of(0)
    assert [ad.eval(name) for name in ("JobStatus", "HoldReason", "HoldReasonCode", "NumHolds")] == [5, "mine", 15, 0]


@pytest.mark.parametrize(("given", "taken"), [(7, 7), (-3, -3), (1e9, 10**9), ("=2 + 3", 5)])
def test_a_priority_is_a_whole_number(given: object, taken: int) -> None:
    driven = Driven()
    number = driven.submit(source(1, JobPrio=given))
    assert driven.queue.book.clusters[number].ad_of(0).cell("jobprio") == taken
    assert type(driven.queue.book.clusters[number].ad_of(0).cell("jobprio")) is int


@pytest.mark.parametrize("given", [1.5, 2**31, -1e10, True, "high", float("inf"), float("nan")])
def test_a_priority_that_is_not_a_whole_number_is_refused(given: object) -> None:
    driven = Driven()
    number = driven.submit(source(1, JobPrio=3))
    driven.act(ev.Action.EDIT, JobId(number, 0), JobPrio=given)
    assert driven.reply.data["counts"] == {"not-a-number": 1}
    driven.act(ev.Action.EDIT, JobId(number, 0), JobPrio=1e3)
    assert repr(driven.queue.book.clusters[number].ad_of(0).cell("jobprio")) == "1000"
    step = driven.queue.step(ev.Submitted(clusters=(source(1, JobPrio=given),), owner="ann", reply_to="r"), driven.now)
    (reply,) = [each for each in step.effects if isinstance(each, ef.Reply)]
    assert not reply.ok and "JobPrio is not a whole number" in reply.text


def test_a_submission_cannot_name_another_owner() -> None:
    driven = Driven()
    number = driven.submit(source(2, own={"Owner": ("root",), "User": ("root@here",), "ProcId": (7,)}, Owner="root"))
    ad = driven.queue.book.clusters[number].ad_of(1)
    assert [ad.eval(name) for name in ("Owner", "User", "ProcId")] == ["ann", "ann@here", 1]


def test_jobs_whose_log_cannot_be_written_are_held_if_they_have_not_begun() -> None:
    driven = Driven()
    job, _, _ = running(driven)
    waits, other, differ = (
        driven.submit(source(2)),
        driven.submit(source(1, UserLog="/other")),
        driven.submit(source(2, own={"UserLog": ("/log", "/other")})),
    )
    event = ev.LogRefused(path="/log", owner="ann", code=22, subcode=13, text="no")
    for owner in ("bob", "ann"):
        before = [each.number for each in driven.queue.book.clusters.values() if each.statuses.count(JobStatus.HELD)]
        assert not before
        step = driven.queue.step(replace(event, owner=owner), 1.0)
    assert not [change for change in step.changes if isinstance(change, AppendLog)], "the log is told nothing"
    found = {number: list(each.statuses) for number, each in driven.queue.book.clusters.items()}
    held, idle = JobStatus.HELD, JobStatus.IDLE
    assert found == {
        job.cluster: [JobStatus.RUNNING], waits: [held, held], other: [idle], differ: [held, idle]
    }  # fmt: skip
    ad = driven.queue.book.clusters[waits].ad_of(1)
    assert (ad["HoldReasonCode"], ad["HoldReasonSubCode"], ad["HoldReason"]) == (22, 13, "no")


def test_very_many_jobs_whose_log_cannot_be_written_are_held_in_parts() -> None:
    driven, count = Driven(), 2 * JOBS_A_STEP + 10
    many, other = driven.submit(source(count)), driven.submit(source(1, UserLog="/other"))
    queue = driven.queue
    queue.step(ev.LogRefused(path="/log", owner="ann", code=22, subcode=13, text="no"), 1.0)
    held = [queue.book.clusters[many].statuses.count(JobStatus.HELD)]
    while queue.goes_on:
        queue.step(ev.WentOn(), 1.0)
        held.append(queue.book.clusters[many].statuses.count(JobStatus.HELD))
    assert held[0] == JOBS_A_STEP and held[-1] == count
    assert max(after - before for before, after in pairwise(held)) == JOBS_A_STEP
    assert queue.book.clusters[other].statuses.count(JobStatus.HELD) == 0


def test_limits_hold_to_the_job() -> None:
    queue = Queue(QueueSettings(name="q", limits=Limits(jobs_max=5, jobs_per_submission_max=4)), 0.0)

    def answer(*counts: int) -> ef.Reply:
        clusters = tuple(source(count) for count in counts)
        step = queue.step(ev.Submitted(clusters=clusters, owner="ann", reply_to="r"), 1.0)
        return next(each for each in step.effects if isinstance(each, ef.Reply))

    assert "MAX_JOBS_PER_SUBMISSION" in answer(5).text
    assert answer(2, 2).ok
    assert "MAX_JOBS_SUBMITTED" in answer(2).text
    assert answer(1).ok
    assert not answer(1).ok


def test_a_user_s_limit_counts_the_user_and_not_the_name_in_the_jobs() -> None:
    queue = Queue(QueueSettings(name="q", uid_domain="d", limits=Limits(jobs_per_owner_max=3)), 0.0)

    def answer(count: int, owner: str, **attributes: Any) -> ef.Reply:
        step = queue.step(ev.Submitted(clusters=(source(count, **attributes),), owner=owner, reply_to="r"), 1.0)
        return next(each for each in step.effects if isinstance(each, ef.Reply))

    assert answer(2, "ann").ok
    refused = answer(2, "ann", Owner="bob", AccountingGroup="physics.bob", AcctGroupUser="bob")
    assert (refused.ok, refused.code) == (False, "too-many-jobs")
    assert refused.text == (
        "Number of submitted jobs would exceed MAX_JOBS_PER_OWNER = 3: ann already has 2 jobs in the queue "
        "and is submitting 2"
    )
    assert refused.remedy
    assert answer(3, "bob").ok, "others have limits of their own"
    assert answer(1, "ann").ok
    queue.step(ev.Acted(action=ev.Action.REMOVE, jobs=(JobId(1, 0),), user="ann", reply_to="r"), 2.0)
    assert answer(1, "ann").ok, "a job that has left does not count"


def test_jobs_are_counted_for_a_limit_only_where_it_may_be_exceeded() -> None:
    queue = Queue(QueueSettings(name="q", limits=Limits(jobs_per_owner_max=4)), 0.0)
    counted: list[int] = []

    class Counting(Present):
        def count(self, clusters: Any) -> Any:
            counted.append(len(list(clusters)))
            return super().count(clusters)

    queue.claim_table.present = Counting()

    def accepted(owner: str) -> bool:
        step = queue.step(ev.Submitted(clusters=(source(2),), owner=owner, reply_to="r"), 1.0)
        return next(each for each in step.effects if isinstance(each, ef.Reply)).ok

    assert [accepted("ann"), accepted("ann"), accepted("bob"), accepted("bob")] == [True] * 4
    assert counted == [0], "at first only"
    assert not accepted("ann") and counted == [0, 4]
    queue.step(ev.Acted(action=ev.Action.REMOVE, jobs=(JobId(1, 0), JobId(1, 1)), user="ann", reply_to="r"), 2.0)
    assert accepted("ann") and not accepted("ann")


def limited(**limits: Any) -> Driven:
    driven = Driven()
    driven.queue.claim_table.settings = replace(driven.queue.claim_table.settings, limits=Limits(**limits))
    return driven


def running_jobs(driven: Driven) -> int:
    return driven.queue.counts()["running"]


def test_no_more_jobs_run_than_the_limit_and_the_next_follows_as_one_ends() -> None:
    driven = limited(running_max=2)
    driven.submit(source(5))
    while asked := driven.match():
        driven.answer(asked)
    assert driven.queue.claim_table.is_full
    assert running_jobs(driven) == 2 and len(driven.queue.claim_table.claims) == 2
    assert not driven.queue.offered(driven.now), "nothing is asked for"
    driven.end(driven.job(1))
    assert running_jobs(driven) == 2 and len(driven.queue.claim_table.claims) == 2, (
        "the next job runs on the same claim"
    )
    claim = next(iter(driven.queue.claim_table.claims.values()))
    step = driven.queue.step(ev.ClaimLost(claim_id=claim.id, reason="gone"), driven.now)
    assert ef.OfferJobs(left=(("slot1@a", "<a>#..."),)) in step.effects and driven.queue.offered(driven.now)


@pytest.mark.parametrize(
    ("first", "second", "reused"),
    [("", "lic", False), ("lic", "", False), ("lic", "lic:2", False), ("lic", "LIC", True), ("", "", True)],
)
def test_a_claim_is_used_again_for_what_the_matchmaker_has_counted(first: str, second: str, reused: bool) -> None:
    driven = Driven()
    driven.submit(source(1, **({"ConcurrencyLimits": first} if first else {})))
    driven.start()
    driven.submit(source(1, **({"ConcurrencyLimits": second} if second else {})))
    driven.end(driven.job(1))
    assert running_jobs(driven) == len(driven.queue.claim_table.claims) == int(reused)
    driven.check()


def test_a_limit_that_is_lowered_is_reached_as_jobs_end() -> None:
    driven = limited(running_max=3)
    driven.submit(source(9))
    for _ in range(3):
        driven.start()
    assert running_jobs(driven) == 3
    driven.queue.claim_table.settings = replace(driven.queue.claim_table.settings, limits=Limits(running_max=1))
    for proc in range(3):
        driven.end(driven.job(1, proc))
    assert running_jobs(driven) == 1
    driven.check()


def test_slots_are_asked_for_as_fast_as_the_start_delay_allows() -> None:
    driven = limited(start_count=2, start_delay_s=10.0)
    driven.submit(source(4))
    for _ in range(2):
        driven.start()
    assert driven.match() is None
    assert running_jobs(driven) == 2 and not driven.queue.offered(driven.now)
    driven.now += 9.0
    assert ef.OfferJobs(later=False) not in driven.queue.step(ev.Ticked(), driven.now).effects
    driven.now += 1.0
    assert ef.OfferJobs(later=False) in driven.queue.step(ev.Ticked(), driven.now).effects
    assert driven.queue.offered(driven.now)
    for _ in range(2):
        driven.start()
    assert running_jobs(driven) == 4


def test_a_job_that_is_done_and_stays_has_one_end_when_it_is_removed() -> None:
    driven = Driven()
    number = driven.submit(source(1, LeaveJobInQueue=True))
    driven.end(driven.start())
    job = JobId(number, 0)
    found = driven.queue.book.find(job)
    assert found is not None
    assert found.status is JobStatus.COMPLETED
    driven.act(ev.Action.REMOVE, job)
    # Removed, it still stays for as long as it wants to, as in HTCondor.
    assert found.status is JobStatus.REMOVED and found.ad["RemoveReason"] == "via roost rm (by user ann)"
    assert found.ad["LastJobStatus"] == 4 and not driven.past.history
    driven.act(ev.Action.REMOVE, job)
    driven.feed(ev.Ticked())
    assert driven.queue.book.find(job) is not None
    driven.act(ev.Action.REMOVE_AT_ONCE, job)
    assert driven.past.history == [(job, JobStatus.REMOVED)]
    assert driven.past.ends[job] == 1


def test_a_job_that_stays_while_it_is_completed_leaves_when_it_is_removed() -> None:
    driven = Driven()
    number = driven.submit(source(1, LeaveJobInQueue=parse_expression("JobStatus == 4")))
    driven.end(driven.start())
    job = JobId(number, 0)
    driven.feed(ev.Ticked())
    assert driven.queue.book.find(job) is not None and not driven.past.history
    driven.act(ev.Action.REMOVE, job)
    assert driven.queue.book.find(job) is None and driven.past.history == [(job, JobStatus.REMOVED)]
    assert driven.past.ends[job] == 1
    driven.check()


def test_a_removed_job_stays_as_long_as_it_wants_to_and_has_one_end() -> None:
    driven = Driven()
    first, second = (JobId(driven.submit(source(1, LeaveJobInQueue=True)), 0) for _ in range(2))
    for job in (first, second):
        driven.act(ev.Action.REMOVE, job)
    driven.feed(ev.Ticked())
    driven.restart()
    driven.feed(ev.Ticked())
    for job in (first, second):
        found = driven.queue.book.find(job)
        assert found is not None and found.status is JobStatus.REMOVED
    driven.act(ev.Action.REMOVE_AT_ONCE, first)
    driven.act(ev.Action.EDIT, second, LeaveJobInQueue=False)
    driven.now += 1000
    driven.feed(ev.Ticked())
    assert sorted(driven.past.history) == [(first, JobStatus.REMOVED), (second, JobStatus.REMOVED)]
    assert (driven.past.ends[first], driven.past.ends[second]) == (1, 1)


def test_a_job_that_needs_what_the_machine_does_not_say_is_held_and_the_next_one_runs() -> None:
    driven = Driven()
    held = driven.submit(source(2, Args="$$(Missing)"))
    fine = driven.submit(source(1))
    driven.start()
    statuses = {str(job): driven.queue.book.clusters[job.cluster].status(job.proc) for job in driven.queue.book.ids()}
    assert statuses == {
        f"{held}.0": JobStatus.HELD,
        f"{held}.1": JobStatus.HELD,
        f"{fine}.0": JobStatus.RUNNING,
    }
    driven.check()


def test_the_next_job_on_a_claim_is_matched_at_the_time_of_the_event() -> None:
    driven = Driven()
    first, claim_id, _ = running(driven)
    late = f"=time() >= {int(driven.now) + 500}"
    number = driven.submit(source(1, Requirements=late, LeaveJobInQueue=f"=time() < {int(driven.now) + 900}"))
    driven.now += 600
    driven.end(driven.job(first.cluster))
    job = driven.queue.book.find(JobId(number, 0))
    assert job is not None
    assert (job.status, job.claim_id) == (JobStatus.RUNNING, claim_id)
    driven.begun(job)
    driven.end(job)
    assert driven.queue.counts()["completed"] == 1
    driven.now += 400
    driven.feed(ev.Ticked())
    assert driven.queue.counts()["completed"] == 0
    driven.check()


def test_a_job_says_what_its_slot_gave_it_and_forgets_what_an_earlier_one_gave() -> None:
    driven = Driven()
    job_id, claim_id, _ = running(driven)
    job = driven.queue.book.find(job_id)
    assert job is not None
    assert (job.ad.get("MemoryProvisioned"), job.ad.get("CpusProvisioned")) == (1000, None)
    claim = driven.queue.claim_table.claims[claim_id]
    resources = {"MachineResources": "Cpus Memory Swap GPUs", "Cpus": 2, "Memory": 500, "Swap": 9, "GPUs": 1}
    slot = ClassAd({**resources, "AssignedGPUs": "GPU-1"})
    first = provisioned(job.ad, slot)
    assert first == {"MemoryProvisioned": 500, "AssignedMemory": None, "CpusProvisioned": 2,
                     "GPUsProvisioned": 1, "AssignedGPUs": "GPU-1"}  # fmt: skip
    for name, value in first.items():
        if value is not None:
            job.ad[name] = value
    assert claim.slot_ad is not None
    again = {name: value for name, value in provisioned(job.ad, claim.slot_ad).items() if value is not None}
    assert again == {"MemoryProvisioned": 1000}
    assert set(provisioned(job.ad, claim.slot_ad)) >= {"GPUsProvisioned", "AssignedGPUs"}


def test_jobs_that_machines_refuse_over_and_over_are_offered_less_and_less_often_until_one_begins() -> None:
    driven = Driven()
    number = driven.submit(source(2))
    pauses = []
    for _ in range(FREE_TRIES + 7):
        assert driven.queue.offered(driven.now)
        asked = driven.match()
        assert asked is not None
        driven.answer(asked, refusal="no")
        pause = driven.queue.claim_table.pauses.of(number, driven.now)
        pauses.append(0.0 if pause is None else pause.until - driven.now)
        driven.now += 2 * MISS_GAP_S
        if pause is not None:
            driven.feed(ev.Ticked())
            driven.queue.claim_table.pauses.missed(JobId(number, 0), driven.now)
            assert not driven.queue.offered(driven.now)
            driven.now = pause.until
            assert any(isinstance(each, ef.OfferJobs) for each in driven.queue.step(ev.Ticked(), driven.now).effects)
    assert pauses == [0.0] * FREE_TRIES + [1.0, 2.0, 4.0, 8.0, 16.0, PAUSE_S_MAX, PAUSE_S_MAX]
    driven.start()
    assert driven.queue.counts()["running"] == 1
    driven.queue.claim_table.pauses.missed(JobId(number, 0), driven.now)
    assert driven.queue.claim_table.pauses.of(number, driven.now) is None
    driven.check()


def test_misses_of_several_jobs_at_once_count_once_and_tries_of_one_job_each() -> None:
    together, alone = Pauses(), Pauses()
    for number in range(FREE_TRIES + 1):
        together.missed(JobId(1, number), 100.0)
        alone.missed(JobId(1, 0), 100.0 + number * MISS_GAP_S / 10)
    assert together.of(1, 100.0) is None
    assert alone.of(1, 100.1) is not None


@pytest.mark.parametrize("lost", [False, True])
def test_a_run_that_ends_before_its_program_ran_counts_as_a_miss(lost: bool) -> None:
    driven = Driven()
    number = driven.submit(source(1))
    for _ in range(FREE_TRIES + 1):
        asked = driven.match()
        assert asked is not None
        driven.answer(asked)
        job = driven.job(number)
        if lost:
            driven.feed(ev.ClaimLost(claim_id=job.claim_id, reason="owner present"))
        else:
            driven.end(job, "evict", started=False, text="the machine could not start it")
        driven.now += 2 * MISS_GAP_S
    assert driven.queue.claim_table.pauses.of(number, driven.now) is not None
    if lost:
        ad = driven.job(number).ad
        assert str(ad.eval("LastRejMatchReason")).endswith(" ended the claim: owner present")
        assert ad.eval("LastRejMatchTime") == int(driven.now - 2 * MISS_GAP_S)


def test_jobs_submitted_on_hold_are_on_hold_after_a_restart() -> None:
    driven = Driven()
    number = driven.submit(source(2, JobStatus=5, HoldReasonCode=15))
    driven.restart()
    assert driven.queue.counts()["held"] == 2
    driven.act(ev.Action.RELEASE, JobId(number, 1))
    driven.check()
    assert driven.queue.counts() == {**dict.fromkeys(driven.queue.counts(), 0), "held": 1, "idle": 1}


def _matched() -> Queue:
    """A queue at 2 s that asks machine n for slot s, as claim c, for its only job."""
    queue = Queue(QueueSettings(name="q"), 0.0)
    queue.step(ev.Submitted(clusters=(source(1),), owner="ann", reply_to="r"), 1.0)
    (submitter,) = queue.book.waiting()
    (group,) = queue.book.waiting()[submitter]
    match = ev.MatchGiven(
        submitter=submitter, autocluster=group.autocluster, slot="s@n", node="n", claim_id="c", slot_ad=ClassAd()
    )
    assert [each for each in queue.step(match, 2.0).effects if isinstance(each, ef.AskForSlot)]
    return queue


def test_a_machine_whose_answer_was_lost_is_asked_again_though_it_says_that_it_holds_the_claim() -> None:
    queue = _matched()
    asked = 0
    for now in range(7, 60, 5):
        queue.step(ev.ClaimsHeard(node="n", known={"c": ""}, unknown=(), serial=0), float(now))
        asked += sum(isinstance(each, ef.AskForSlot) for each in queue.step(ev.Ticked(), float(now)).effects)
    assert asked == 4, "after 5, 10, 20 and 20 s"


def test_a_lost_order_to_run_a_job_is_found_out_and_repeated_and_given_up_in_the_end() -> None:
    queue = _matched()
    answer = ev.ClaimAnswered(
        asked_id="c", accepted=True, refusal="", claim_id="c", slot="s@n", slot_ad=ClassAd(), node="n"
    )
    (order,) = [each for each in queue.step(answer, 2.0).effects if isinstance(each, ef.StartRun)]
    assert not [each for each in queue.step(ev.Ticked(), 6.0).effects if isinstance(each, ef.SayAlive)], "a moment ago"
    for now in (7.0, 13.0, 19.0, 25.0, 31.0):
        assert queue.counts()["running"] == 1
        (asked,) = [each for each in queue.step(ev.Ticked(), now).effects if isinstance(each, ef.SayAlive)]
        heard = ev.ClaimsHeard(node="n", known={"c": ""}, unknown=(), serial=asked.serial)
        again = [each for each in queue.step(heard, now + 0.1).effects if isinstance(each, ef.StartRun)]
        assert [each.run for each in again] == ([] if now == 31.0 else [order.run]), (
            "the machine has the claim, and no run on it"
        )
        earlier = queue.step(replace(heard, serial=0), now + 0.2).effects
        assert now == 31.0 or not earlier, "the answer to a question from before the order says nothing"
    assert queue.counts()["idle"] == 1


# -- the clock and the lots of policies ----------------------------------------------------------------------------


def test_policies_of_jobs_mean_the_queues_zone() -> None:
    driven = Driven()
    driven.queue = Queue(replace(SETTINGS, zone=timezone(timedelta(hours=5))), driven.now)
    # It is 22:13 in UTC.
    number = driven.submit(source(1, PeriodicHold='=formatTime(time(), "%H") == "03"'))
    driven.now += 60
    driven.feed(ev.Ticked())
    assert driven.queue.book.clusters[number].status(0) is JobStatus.HELD


def test_policies_that_draw_lots_draw_for_each_job_and_each_time() -> None:
    driven = Driven()
    number = driven.submit(source(200, PeriodicHold="=random(10) < 2"))
    cluster, held = driven.queue.book.clusters[number], []
    for _ in range(3):
        driven.now += 60
        driven.feed(ev.Ticked())
        held.append(sum(cluster.status(proc) is JobStatus.HELD for proc in range(200)))
    assert 0 < held[0] < held[1] < held[2] < 200


def test_a_job_whose_machine_is_not_heard_of_any_more_waits_again_and_its_log_says_why() -> None:
    driven = Driven()
    job, _, _ = running(driven)
    texts: list[str] = []
    while not texts:
        driven.now += 20
        step = driven.queue.step(ev.Ticked(), driven.now)
        texts = [change.text for change in step.changes if isinstance(change, AppendLog)]
    (text,) = texts
    assert text.startswith(f"024 ({job.cluster:03}.000.000)")
    assert "Can not reconnect to slot" in text and ", rescheduling job" in text
    found = driven.queue.book.find(job)
    assert found is not None and found.status is JobStatus.IDLE
    assert (found.whole("vacatereasoncode"), found.whole("numvacates")) == (1008, 1)


def test_the_administrator_names_the_attributes_that_tell_jobs_apart() -> None:
    queue = Queue(QueueSettings(name="q"), 0.0)

    def autoclusters(*significant: str, **settings: Any) -> list[str]:
        """Those that are offered, by the colour and size of a job of each."""
        queue.claim_table.settings = QueueSettings(name="q", **settings)
        queue.step(ev.SignificantChanged(attributes=significant, policy=None), 2.0)
        queue.step(ev.Ticked(), 3.0)
        samples = [queue.book.autoclusters.sample(each.autocluster) for each in queue.offered(4.0)["ann"]]
        return sorted(f"{ad['Colour']} {ad['Size']}" for ad in samples)

    for colour in ("red", "blue"):
        for size in (1, 2):
            jobs = (source(1, Colour=colour, Size=size),)
            queue.step(ev.Submitted(clusters=jobs, owner="ann", reply_to="r"), 1.0)
    assert len(set(autoclusters("Colour"))) == 2
    assert len(set(autoclusters("Colour", significant_too=frozenset(("size",))))) == 4
    assert len(set(autoclusters("Colour", significant=frozenset(("size",))))) == 2
    assert {each.split()[1] for each in autoclusters("Colour", significant=frozenset(("size",)))} == {"1", "2"}
    assert len(set(autoclusters("Colour"))) == 2


def test_a_checkpoint_is_counted_and_logged_when_it_is_heard_of_and_not_again_as_its_run_ends() -> None:
    driven = Driven()
    number = driven.submit(source(1, UserLog="/l"))
    driven.start()
    job = driven.queue.book.find(JobId(number, 0))
    assert job is not None
    claim_id, run, seen = job.claim_id, job.run, []

    def feed(event: ev.Event) -> None:
        changes = driven.queue.step(event, driven.now).changes
        logged = [each.text.splitlines()[:2] for each in changes if isinstance(each, AppendLog)]
        saved = [lines[1].split(",")[0].strip() for lines in logged if lines[0].startswith("003 ")]
        seen.append((job.ad.eval("NumCkpts"), job.ad.eval("LastCkptTime") == int(driven.now), saved))

    # The word of the second is late, that of the third is lost.
    for count in (1, 2, 1, 4):
        driven.now += 10
        used = ClassAd({"RemoteUserCpu": 5.0 * count})
        feed(ev.RunSaved(claim_id=claim_id, run=run, at=driven.now, checkpoints=count, attributes=used))
    driven.now += 10
    end = ev.RunEnded(node="a", claim_id=claim_id, run=run, at=driven.now, ending="evict", started=True, checkpoints=5)
    feed(end)
    feed(ev.RunSaved(claim_id=claim_id, run=run, at=driven.now, checkpoints=6, attributes=ClassAd()))
    assert seen == [
        (1, True, ["Usr 0 00:00:05"]),
        (2, True, ["Usr 0 00:00:10"]),
        (2, False, []),
        (4, True, ["Usr 0 00:00:20"]),
        (5, True, ["Usr 0 00:00:20"]),
        (5, True, []),
    ]


def test_checkpoints_of_runs_are_counted() -> None:
    driven = Driven()
    driven.submit(source(1))
    found = driven.start()
    for taken in (2, 0, 1):
        driven.now += 100
        driven.end(found, "evict", checkpoints=taken)
        driven.begun(found)
    assert (found.ad["NumCkpts"], found.ad["LastCkptTime"]) == (3, int(driven.now))


def left_with_jobs(step: Step) -> list[tuple[str, str]]:
    """Slots that the matchmaker is told of together with jobs that wait."""
    return [slot for each in step.effects if isinstance(each, ef.OfferJobs) for slot in each.left]


def test_the_matchmaker_hears_which_slot_a_job_has_left_that_waits_again() -> None:
    driven = Driven()
    driven.submit(source(2))
    evicted, done = driven.start(), driven.start()
    assert left_with_jobs(driven.end(evicted, "evict", closing=True)) == [("slot1@a", "<a>#...")]
    assert left_with_jobs(driven.end(done, closing=True)) == [], "nobody waits who could not before"
    asked = driven.match()
    assert asked is not None
    assert left_with_jobs(driven.answer(asked, refusal="no")) == [], "it has not been the queue's"
    lost = driven.start()
    step = driven.feed(ev.ClaimLost(claim_id=lost.claim_id, reason="gone"))
    assert [name for name, _ in left_with_jobs(step)] == ["slot4@a"]


def test_a_job_is_released_as_often_as_the_pool_allows_but_by_super_users() -> None:
    driven = Driven(replace(SETTINGS, policy=SystemPolicy(releases_max=2)))
    job = JobId(driven.submit(source(1)), 0)
    for _ in range(2):
        driven.act(ev.Action.HOLD, job)
        driven.act(ev.Action.RELEASE, job)
        assert driven.job(1).status is JobStatus.IDLE
    driven.act(ev.Action.HOLD, job)
    driven.act(ev.Action.RELEASE, job)
    assert driven.reply.data == {"counts": {"released-too-often": 1}, "refused": {"1.0": "released-too-often"}}
    assert driven.job(1).status is JobStatus.HELD
    driven.act(ev.Action.RELEASE, job, superuser=True)
    assert driven.job(1).status is JobStatus.IDLE
