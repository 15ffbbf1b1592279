"""A queue keeps to the pool's policy where the matchmaker is not asked."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd, Expr
from roost.model.audit import AuditKind, InForce, Source
from roost.schedd.changes import AddAudit
from roost.schedd.effects import Decline
from roost.schedd.events import MatchGiven, Ticked
from roost.schedd.pool_policy import forbids, kept
from roost.schedd.vetoes import Vetoes
from tests.schedd.queue_world import World, source

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
    world = World()
    barred, fine = world.submit(source(1, Kind="no", JobPrio=5)), world.submit(source(1))
    job = world.queue.book.clusters[barred].job(0)
    group = next(iter(world.queue.book.clusters[fine].groups.values()))
    assert world.queue.book.autoclusters.of(job.ad) == group.autocluster, "the matchmaker was not told of Kind"
    step = world.queue.step(
        MatchGiven(
            submitter=group.submitter, autocluster=group.autocluster, slot="slot1", node="a", claim_id="c",
            slot_ad=slot(JobExpr='MY.Kind =!= "no"', JobExprPlace='"/etc/central:7:1"'),
        ),
        world.now,
    )  # fmt: skip
    assert any(isinstance(each, Decline) for each in step.effects)
    (record,) = [each.record for each in world.queue.step(Ticked(), world.now).changes if isinstance(each, AddAudit)]
    assert (record.kind, record.knob, record.expression, record.place, record.user, record.samples) == (
        AuditKind.VETO, "NEGOTIATOR_PE_JOB_EXPR", 'MY.Kind isnt "no"', "/etc/central:7:1", group.submitter,
        (f"{barred}.0 slot1",),
    )  # fmt: skip
