"""A queue keeps to the pool's policy where the matchmaker is not asked."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd, Expr
from roost.model.audit import AuditKind, InForce, Source
from roost.schedd.changes import AddAudit
from roost.schedd.effects import Decline
from roost.schedd.events import Action, MatchGiven, MatchRefused, RunMeasured, SignificantChanged, Ticked
from roost.schedd.identifiers import JobId
from roost.schedd.job_policy.pool_policy import forbids, kept
from roost.schedd.job_policy.vetoes import Vetoes
from tests.schedd.kit import Driven, source

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
        ({"StartdOnlyExpr": "Memory > 1000"}, {}, False),
        ({"StartdOnlyExpr": "Memory < 1000"}, {}, True),
        ({"StartdOnlyExpr": "1 / 0 > 2"}, {}, True),
    ],
)
def test_the_rules_are_the_matchmakers(imposed: dict[str, str], job: dict[str, object], permitted: bool) -> None:
    ad = ClassAd()
    for name, value in job.items():
        expression = isinstance(value, str) and value.startswith("=")
        ad[name] = Expr.parse(value[1:]) if expression else value  # type: ignore[index, assignment]
    assert (forbids(ad, slot(**imposed)) == "") is permitted


def test_what_a_machine_says_later_changes_nothing_of_the_policy() -> None:
    fresh = slot(ResourceExpr="true", JobExpr="Memory > 5")
    fresh["Memory"] = 10
    found = kept(fresh, slot(ResourceExpr="false"))
    assert found.get("PoolPolicyResourceExpr") is False
    assert "PoolPolicyJobExpr" not in found
    assert found["Memory"] == 10
    assert "PoolPolicyResourceExpr" not in kept(fresh, None)
    placed = slot(ResourceExpr="false", ResourceExprPlace='"central:3"')
    fresh["PoolPolicyResourceExprPlace"] = "nowhere:1"
    assert kept(fresh, placed).get("PoolPolicyResourceExprPlace") == "central:3"
    assert kept(SLOT, SLOT) is SLOT


def test_prevented_matches_are_one_record_a_cause_told_seldom() -> None:
    vetoes, in_force = Vetoes(), InForce(configuration="c")

    def note(job: str, now: float) -> list[tuple[int, tuple[str, ...], float]]:
        vetoes.note("NEGOTIATOR_PE_JOB_EXPR", Source(text="MY.A"), job, "ann@x", "slot1", in_force, now)
        return [(each.count, each.samples, each.at) for each in vetoes.due(now)]

    assert note("1.0", 10.0) == [(1, ("1.0 slot1",), 10.0)]
    assert note("2.0", 11.0) == note("2.0", 12.0) == []
    assert note("2.0", 70.0) == [(2, ("1.0 slot1", "2.0 slot1"), 10.0)]
    assert list(vetoes.due(700.0)) == []
    assert note("3.0", 700.0) == [(1, ("3.0 slot1",), 700.0)]


def test_a_job_that_may_not_have_a_claim_is_on_record_and_the_next_one_runs() -> None:
    driven = Driven()
    barred, fine = driven.submit(source(1, Kind="no", JobPrio=5)), driven.submit(source(1))
    job = driven.queue.book.clusters[barred].job(0)
    group = next(iter(driven.queue.book.clusters[fine].groups.values()))
    assert driven.queue.book.autoclusters.of(job.ad) == group.autocluster, "the matchmaker was not told of Kind"
    step = driven.queue.step(
        MatchGiven(
            submitter=group.submitter, autocluster=group.autocluster, slot="slot1", node="a", claim_id="c",
            slot_ad=slot(JobExpr='MY.Kind =!= "no"', JobExprPlace='"/etc/central:7:1"'),
        ),
        driven.now,
    )  # fmt: skip
    assert any(isinstance(each, Decline) for each in step.effects)
    (record,) = [each.record for each in driven.queue.step(Ticked(), driven.now).changes if isinstance(each, AddAudit)]
    assert (record.kind, record.knob, record.expression, record.place, record.user, record.samples) == (
        AuditKind.VETO, "NEGOTIATOR_PE_JOB_EXPR", 'MY.Kind isnt "no"', "/etc/central:7:1", group.submitter,
        (f"{barred}.0 slot1",),
    )  # fmt: skip


# -- claims that came under another policy -------------------------------------------------------------------------


def at_work(jobs: int = 2) -> tuple[Driven, int]:
    """A queue whose first job runs on a claim that could serve the others."""
    driven = Driven()
    cluster = driven.submit(source(jobs))
    driven.start()
    assert running(driven, cluster) == [0]
    return driven, cluster


def running(driven: Driven, cluster: int) -> list[int]:
    found = driven.queue.book.clusters[cluster]
    return [proc for proc in range(found.count) if found.statuses[proc] == 2]


def ended(driven: Driven) -> None:
    """The run that there is comes to its end, and the queue hears of it."""
    (job,) = (job for each in driven.queue.book.clusters.values() for job in each.jobs.values() if job.run)
    driven.end(job)


def test_a_claim_serves_the_next_job_as_long_as_the_policy_stays() -> None:
    driven, cluster = at_work()
    driven.feed(SignificantChanged(attributes=(), policy=""))
    ended(driven)
    assert running(driven, cluster) == [1]


def test_no_job_begins_on_a_claim_that_came_under_another_policy() -> None:
    driven, cluster = at_work()
    driven.feed(SignificantChanged(attributes=(), policy="0123"))
    assert running(driven, cluster) == [0], "what runs goes on"
    ended(driven)
    assert running(driven, cluster) == []
    assert not driven.queue.claim_table.claims


def test_a_policy_that_changes_while_a_machine_is_asked_counts_for_the_job_that_it_is_asked_for() -> None:
    driven = Driven()
    cluster = driven.submit(source(1))
    asked = driven.match()
    assert asked is not None
    driven.feed(SignificantChanged(attributes=(), policy="0123"))
    driven.answer(asked)
    assert running(driven, cluster) == []
    assert not driven.queue.claim_table.claims
    assert driven.queue.book.waiting(), "it is offered again"


def test_a_job_that_is_edited_while_a_machine_is_asked_keeps_to_the_policy() -> None:
    driven = Driven()
    cluster = driven.submit(source(1))
    bound = slot(JobExpr='MY.Cmd =!= "/bin/sh"')
    asked = driven.match(bound)
    assert asked is not None
    driven.act(Action.EDIT, JobId(cluster, 0), Cmd="/bin/sh")
    driven.answer(asked)
    assert running(driven, cluster) == []


def test_the_policy_is_asked_about_a_partitionable_slot_and_not_about_what_is_cut_for_the_job() -> None:
    driven = Driven()
    cluster = driven.submit(source(2))
    whole = slot(StartdOnlyExpr="Memory < 2000", ResourceExpr="MY.Memory > 2000 || TARGET.ProcId == 1")
    asked = driven.match(whole)
    assert asked is not None
    # The machine's answer has an ad with 1000 MB.
    driven.answer(asked)
    assert running(driven, cluster) == [0]
    ended(driven)
    assert running(driven, cluster) == [1], "whether slots take part is asked of the whole for the next one, too"


def test_a_submitter_that_the_policy_keeps_out_uses_its_claims_for_no_further_job() -> None:
    driven, cluster = at_work()
    (waiting,) = (group for groups in driven.queue.book.waiting().values() for group in groups)
    driven.feed(MatchRefused(autocluster=waiting.autocluster, text="no match found"))
    driven.feed(MatchRefused(autocluster=waiting.autocluster, text="pool policy: NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"))
    ended(driven)
    assert running(driven, cluster) == []


def test_jobs_that_a_policy_tells_apart_by_their_number_are_asked_about_one_by_one() -> None:
    driven = Driven()
    driven.submit(source(3))
    assert len([group for groups in driven.queue.book.waiting().values() for group in groups]) == 1
    driven.feed(SignificantChanged(attributes=("ProcId",), policy=""))
    assert len([group for groups in driven.queue.book.waiting().values() for group in groups]) == 3


def test_a_machine_does_not_say_for_whom_a_job_counts_nor_when_it_began_first() -> None:
    driven, cluster = at_work()
    job = driven.queue.book.clusters[cluster].job(0)
    first = job.ad["JobStartDate"]
    told = ClassAd(AccountingGroup="free", AcctGroup="free", JobStartDate=first + 7, ImageSize=5)
    driven.feed(RunMeasured(claim_id=job.claim_id, run=job.run, at=driven.now, attributes=told))
    assert (job.ad["JobStartDate"], job.ad["ImageSize"]) == (first, 5)
    assert "AcctGroup" not in job.ad
