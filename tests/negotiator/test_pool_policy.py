from __future__ import annotations

import pytest

from roost.classad import ClassAd, Expr
from roost.model.audit import InForce, Source
from roost.negotiator.pool_policy import Act, Finding, lines, restricted
from roost.negotiator.scoping import scoped
from roost.negotiator.settings import NegotiatorSettings, PolicySettings
from roost.policy.model import AdKind
from tests.negotiator.kit import claimed, demand, given, job, plan, slot


def policy(**texts: str | bool) -> NegotiatorSettings:
    return NegotiatorSettings(
        policy=PolicySettings(
            **{name: Expr.parse(text) if isinstance(text, str) else text for name, text in texts.items()}  # type: ignore[arg-type]
        )
    )


def told(found) -> list[str]:
    return [line.removeprefix("PE 1.0 ") for line in lines(found.findings, "1.0")]


def test_slots_are_discarded_where_the_expression_is_true_and_kept_where_it_is_undefined():
    slots = [slot("small", Memory=100), slot("slow", KFlops=5), slot("never-measured"), slot("fast", KFlops=900_000)]
    found = plan(slots, demand("ann@x", (job(), 9)), settings=policy(startd_only="Memory < 128 || KFlops < 100000"))
    assert sorted(given(found)["ann@x"]) == ["fast", "never-measured"]
    assert told(found) == [
        "DISCARD startd small NEGOTIATOR_PE_STARTD_ONLY_EXPR",
        "DISCARD startd slow NEGOTIATOR_PE_STARTD_ONLY_EXPR",
    ]
    assert found.record["weight"] == 2.0
    assert found.rejected["queue", 1].causes["pool-policy"] == 2


def test_a_discarded_slot_in_use_still_counts_as_use_of_its_user():
    slots = [claimed("busy", "ann@x", Secret=True), slot("a"), slot("b"), slot("c")]
    found = plan(
        slots, demand("ann@x", (job(), 9)), demand("bob@x", (job(), 9), first=2), settings=policy(startd_only="Secret")
    )
    assert {user: len(each) for user, each in given(found).items()} == {"ann@x": 1, "bob@x": 2}


def test_a_user_whose_slots_are_discarded_while_they_are_used_still_gets_what_else_is_free():
    slots = [claimed(f"busy{n}", "ann@x", Secret=True) for n in range(5)] + [slot("a"), slot("b")]
    found = plan(slots, demand("ann@x", (job(), 9)), settings=policy(startd_only="Secret"))
    assert sorted(given(found)["ann@x"]) == ["a", "b"]


def test_a_discarded_submitter_has_no_share_and_none_of_its_jobs_is_asked_about():
    out = demand("ann@x", (job(), 9))
    out = type(out)(schedd="q", submitter="ann@x", requests=out.requests, ad=ClassAd(Machine="laptop.example.org"))
    settings = policy(schedd_only='Machine == "laptop.example.org"')
    found = plan([slot("a"), slot("b")], out, demand("bob@x", (job(), 9)), settings=settings)
    assert given(found) == {"bob@x": ["a", "b"]}
    assert told(found) == ["DISCARD schedd ann@x NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"]
    assert [each.user for each in found.findings] == ["ann@x"], "whoever asks the audit trail about ann finds it"


def test_a_discarded_job_is_rejected_by_name_of_the_knob():
    settings = policy(job_only='Owner == "smith" && NumJobStarts > 10')
    found = plan(
        [slot("a")],
        demand("smith@x", (job(Owner="smith", NumJobStarts=11), 1), (job(Owner="smith", NumJobStarts=3), 1)),
        settings=settings,
    )
    assert found.rejected["queue", 1].text == "pool policy: NEGOTIATOR_PE_JOB_ONLY_EXPR"
    assert [match.autocluster for match in found.matches] == [2]
    assert told(found) == ["DISCARD job 1.0 NEGOTIATOR_PE_JOB_ONLY_EXPR"]


def test_resource_and_job_expressions_permit_only_where_they_are_true():
    settings = policy(
        resource='TARGET.Group =!= "students" || MY.KFlops < 500000',
        job='MY.Group =!= "x" || TARGET.Machine != "y.cs" || stringListMember(MY.Cmd, "/opt/a,/opt/b")',
    )
    slots = [slot("fast", KFlops=900_000, Machine="z.cs"), slot("slow", KFlops=1000, Machine="y.cs")]
    students = demand("ann@x", (job(Group="students"), 9))
    found = plan(slots, students, settings=settings)
    assert given(found) == {"ann@x": ["slow"]}
    assert found.rejected["queue", 1].causes["pool-policy-resource"] == 1
    assert "VETO match job=1.0 user=ann@x slot=fast count=1 by=NEGOTIATOR_PE_RESOURCE_EXPR" in told(found)
    others = demand("bob@x", (job(Group="x", Cmd="/bin/sh"), 9))
    assert given(plan(slots, others, settings=settings)) == {"bob@x": ["fast"]}
    listed = demand("bob@x", (job(Group="x", Cmd="/opt/b"), 9))
    assert sorted(given(plan(slots, listed, settings=settings))["bob@x"]) == ["fast", "slow"]


def test_undefined_blocks_and_error_blocks_and_is_told():
    found = plan([slot("a")], demand("ann@x", (job(), 1)), settings=policy(resource="MY.Nothing"))
    assert not found.matches
    found = plan([slot("a")], demand("ann@x", (job(), 1)), settings=policy(resource="MY.Name / 0"))
    assert not found.matches
    assert [each.act for each in found.findings] == [Act.VETO, Act.ERROR]
    discarding = plan([slot("a")], demand("ann@x", (job(), 1)), settings=policy(startd_only="MY.Name / 0"))
    assert len(discarding.matches) == 1
    assert [each.act for each in discarding.findings] == [Act.ERROR]


@pytest.mark.parametrize("bypass", [{"MY": '=[Owner = "root"]'}, {"Requirements": "=true || MY.Owner"}])
def test_an_ad_cannot_change_what_the_policys_names_mean(bypass):
    settings = policy(job='MY.Owner != "smith"', resource='TARGET.Owner != "smith"')
    found = plan([slot("a")], demand("smith@x", (job(Owner="smith", **bypass), 1)), settings=settings)
    assert not found.matches
    shadowing = slot("b", TARGET='=[Owner = "other"]')
    found = plan([shadowing], demand("smith@x", (job(Owner="smith"), 1)), settings=settings)
    assert not found.matches
    assert "the ad has an attribute TARGET" in told(found)[0]


def test_missing_requirements_count_as_true_before_a_policy_is_added():
    ad, want = slot("a"), job()
    del ad["Requirements"]
    del want["Requirements"]
    assert not plan([ad], demand("ann@x", (want, 1))).matches
    settings = policy(resource="true", job="true")
    assert plan([ad], demand("ann@x", (want, 1)), settings=settings).matches


def test_a_policy_that_only_takes_notes_prevents_nothing():
    settings = policy(resource="false", startd_only="true", job_only="true", log_only=True)
    found = plan([slot("a")], demand("ann@x", (job(), 1)), settings=settings)
    assert len(found.matches) == 1
    assert [each.act for each in found.findings] == [Act.DISCARD, Act.DISCARD, Act.VETO]
    assert all(each.log_only for each in found.findings)


def test_the_policy_applies_to_preempting_matches():
    slots = [claimed("busy", "bob@x", Rank="=5")]
    assert plan(slots, demand("ann@x", (job(), 1))).matches
    assert not plan(slots, demand("ann@x", (job(), 1)), settings=policy(resource="false")).matches


def test_matches_that_the_audit_expression_names_are_noted():
    settings = policy(audit='TARGET.Owner == "ann"')
    found = plan([slot("a")], demand("ann@x", (job(), 1)), settings=settings)
    assert told(found) == ["MATCH job=1.0 user=ann@x slot=a by=NEGOTIATOR_PE_AUDIT_EXPR"]


def test_the_ad_handed_out_with_a_match_has_the_policy_and_nothing_that_the_machine_says_of_it():
    settings = policy(resource='TARGET.Owner != "smith"', job_only="NumJobStarts > 3").policy
    places = InForce(sources={"NEGOTIATOR_PE_RESOURCE_EXPR": Source(text="…", place="/etc/central:7:1")})
    lies = {"PoolPolicyJobExpr": "=true", "PoolPolicyResourceExpr": "=true", "PoolPolicyJobExprPlace": "x:1"}
    ad = restricted(slot("a", **lies), settings, places)
    assert ad["PoolPolicyResourceExprPlace"] == "/etc/central:7:1"
    assert "PoolPolicyJobExprPlace" not in ad and "PoolPolicyJobOnlyExprPlace" not in ad
    assert str(ad["PoolPolicyResourceExpr"]) == 'TARGET.Owner != "smith"'
    assert str(ad["PoolPolicyJobOnlyExpr"]) == "NumJobStarts > 3"
    assert "PoolPolicyJobExpr" not in ad
    bare = slot("b")
    assert restricted(bare, PolicySettings()) is bare
    assert "PoolPolicyJobExpr" not in restricted(slot("c", PoolPolicyJobExpr="=true"), PolicySettings())
    noted = policy(resource="false", log_only=True).policy
    assert restricted(bare, noted) is bare


# -- ads that mean harm -------------------------------------------------------------------------------------------

POLICY = {
    "startd_only": "Memory < 500",
    "job_only": 'MY.Owner == "smith" && MY.NumJobStarts > 10',
    "resource": 'TARGET.Owner != "smith" || MY.Memory < 2000',
    "job": 'MY.Group =!= "students" || TARGET.Class == "old"',
}
#: What an owner may try: attributes of a slot of 4000 MB and Class "new", with the slots that smith and students get.
SLOT_LIES = (
    {"NEGOTIATOR_PE_RESOURCE_EXPR": True, "PoolPolicyResourceExpr": True},
    {"Requirements": "=true || (TARGET.Owner == MY.Owner) || true"},
    {"Requirements": "=1"},
    {"TARGET": "=[Owner = \"ann\"; Group = \"staff\"]"},
    {"MY": "=[Memory = 10]"},
    {"Owner": "ann", "Group": "staff"},
    {"Memory": "=error"},
    {"Memory": "=Memory"},
    {"Memory": "=TARGET.Owner"},
    {"Memory": "=1 / 0"},
    {"Memory": "=\"4000\""},
    {"Class": "=error"},
    {"Class": "=TARGET.Class"},
    {"Parent": "=[Memory = 10]", "Self": "=[Memory = 10]", "Root": 1, "CurrentTime": 0},
)  # fmt: skip
JOB_LIES = (
    {"NEGOTIATOR_PE_JOB_EXPR": True, "NEGOTIATOR_PE_LOG_ONLY": True},
    {"Requirements": "=true || TARGET.Memory < 2000 || true"},
    {"Requirements": 1},
    {"TARGET": '=[Memory = 10; Class = "old"]'},
    {"MY": '=[Owner = "ann"; Group = "staff"]'},
    {"Memory": 10, "Class": "old"},
    {"NumJobStarts": "=error"},
    {"Self": '=[Owner = "ann"]', "Toplevel": 1},
)


@pytest.mark.parametrize("slot_lie", range(len(SLOT_LIES)))
def test_no_slot_gets_a_job_that_the_policy_forbids_it(slot_lie):
    ads = [slot("liar", **{"Memory": 4000, "Class": "new", **SLOT_LIES[slot_lie]})]
    smith = demand("smith@x", (job(Owner="smith", NumJobStarts=0), 1))
    student = demand("eve@x", (job(Owner="eve", Group="students"), 1))
    assert not plan(ads, smith, student, settings=policy(**POLICY)).matches


@pytest.mark.parametrize("job_lie", range(len(JOB_LIES)))
def test_no_job_gets_a_slot_that_the_policy_forbids_it(job_lie):
    ads = [slot("new", Memory=4000, Class="new")]
    lie = JOB_LIES[job_lie]
    smith = demand("smith@x", (job(**{"Owner": "smith", "NumJobStarts": 0, **lie}), 1))
    student = demand("eve@x", (job(**{"Owner": "eve", "Group": "students", **lie}), 1))
    assert not plan(ads, smith, student, settings=policy(**POLICY)).matches


#: The same without scopes; as the matchmaker reads it from a configuration, names of the catalogue have theirs.
UNSCOPED = {
    "resource": 'Owner != "smith" || Memory < 2000',
    "job": 'AccountingGroup =!= "students.eve" || KFlops < 1000',
}
UNSCOPED_LIES = (
    ({}, {}),
    ({"Owner": "ann", "AccountingGroup": "staff.eve"}, {}),
    ({"Owner": "=undefined", "AccountingGroup": "=undefined"}, {}),
    ({}, {"Memory": 10, "KFlops": 1}),
    ({"Memory": "=undefined"}, {"Memory": 10, "KFlops": 1}),
    ({"KFlops": "=error"}, {"Memory": 10, "kflops": 1}),
)


@pytest.mark.parametrize(("slot_lie", "job_lie"), UNSCOPED_LIES)
def test_a_name_of_the_catalogue_is_asked_of_the_ad_that_it_belongs_to(slot_lie, job_lie):
    settings = NegotiatorSettings(
        policy=PolicySettings(
            resource=scoped(Expr.parse(UNSCOPED["resource"]), AdKind.MACHINE),
            job=scoped(Expr.parse(UNSCOPED["job"]), AdKind.JOB),
        )
    )
    ads = [slot("liar", **{"Memory": 4000, "KFlops": 9000, **slot_lie})]
    smith = demand("smith@x", (job(**{"Owner": "smith", **job_lie}), 1))
    student = demand("eve@x", (job(**{"Owner": "eve", "AccountingGroup": "students.eve", **job_lie}), 1))
    assert not plan(ads, smith, student, settings=settings).matches
    assert plan([slot("a", Memory=10, KFlops=1)], smith, student, settings=settings).matches


@pytest.mark.parametrize(
    ("text", "mine", "wanted"),
    [
        ('Owner == "a" && KFlops > 1', AdKind.MACHINE, 'TARGET.Owner == "a" && MY.KFlops > 1'),
        ('Owner == "a" && KFlops > 1', AdKind.JOB, 'MY.Owner == "a" && TARGET.KFlops > 1'),
        ("AccountingGroup is undefined", AdKind.MACHINE, "TARGET.AccountingGroup is undefined"),
        ("AccountingGroup is undefined", AdKind.JOB, "MY.AccountingGroup is undefined"),
        ("Rank > 1 && MY.Owner != TARGET.Owner", AdKind.MACHINE, "MY.Rank > 1 && MY.Owner != TARGET.Owner"),
        ("Class == 1 && CurrentTime > 2 && .Owner == 3", AdKind.MACHINE,
         "Class == 1 && CurrentTime > 2 && .Owner == 3"),
        ("[Owner = 1; a = Owner].a == 1", AdKind.MACHINE, "[Owner = 1; a = Owner].a == 1"),
        ("(cpus ?: 1) > -{Memory, 2}[0] ? f(Cmd) : x.y", AdKind.MACHINE,
         "(MY.cpus ?: 1) > -{MY.Memory, 2}[0] ? f(TARGET.Cmd) : x.y"),
    ],
)  # fmt: skip
def test_names_without_scope_get_the_one_of_their_ad(text, mine, wanted):
    found = scoped(Expr.parse(text), mine)
    assert found is not None
    assert str(found) == str(Expr.parse(wanted))


def test_a_submitters_ad_cannot_change_what_the_policys_names_mean():
    out = demand("ann@x", (job(), 1))
    ad = ClassAd({"ScheddName": "laptop", "MY": Expr.parse('[ScheddName = "server"]')})
    out = type(out)(schedd="laptop", submitter="ann@x", requests=out.requests, ad=ad)
    found = plan([slot("a")], out, settings=policy(schedd_only='MY.ScheddName == "laptop"'))
    assert not found.matches
    assert all(each.act is Act.DISCARD for each in found.findings)


@pytest.mark.parametrize("name", ["x\nPE 1.0 MATCH job=1.0 user=root slot=y by=nobody", "two words", 'a"b', ""])
def test_names_from_outside_are_one_word_of_one_line(name):
    finding = Finding(act=Act.VETO, knob="K", kind="job", name=name, user=name, slots=(name, "slot1"))
    (line,) = lines([finding], "1.0")
    assert len(line.splitlines()) == 1
    assert line.startswith("PE 1.0 VETO match job=")
    assert line.endswith(",slot1 count=1 by=K")
    assert f"slot={name}," not in line
