"""Transforms and conditions of the administrator, as jobs are submitted; attributes that users cannot change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd, parse_expression
from roost.config import MemoryHost, load_text
from roost.model.codes import HoldCode
from roost.schedd import events as ev
from roost.schedd.admission.limits import NAMES_MAX
from roost.schedd.admission.rules import JOB_CHARS_MAX, ONE_BY_ONE_MAX, admission, size_of, too_large
from roost.schedd.changes import PutCluster, PutJob
from roost.schedd.configured import queue_settings
from roost.schedd.effects import Reply
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue, Step
from roost.schedd.status import ON_MACHINE, STATUSES, JobStatus
from roost.schedd.submit import planning
from tests.schedd.kit import Driven, source
from tests.schedd.submit.machine import with_items


def queue(text: str) -> Queue:
    """A queue with that configuration."""
    return Queue(queue_settings(load_text(text, MemoryHost(), subsystem="SCHEDD"), name="q@here"), 1000.0)


def submit(target: Queue, *sources: Any, owner: str = "ann") -> tuple[Reply, Step]:
    """Hand in jobs."""
    step = target.step(ev.Submitted(clusters=sources, owner=owner, reply_to="r"), 1000.0)
    (reply,) = [each for each in step.effects if isinstance(each, Reply)]
    return reply, step


def edited(target: Queue, user: str, *, superuser: bool = False, **attributes: Any) -> Reply:
    """Change attributes of job 1.0."""
    ad = ClassAd()
    for name, cell in attributes.items():
        ad.put(name, cell)
    event = ev.Acted(
        action=ev.Action.EDIT, jobs=(JobId(1, 0),), user=user, superuser=superuser, reply_to="r", attributes=ad
    )
    (reply,) = [each for each in target.step(event, 1001.0).effects if isinstance(each, Reply)]
    return reply


def value(target: Queue, name: str, proc: int = 0, cluster: int = 1) -> object:
    """What an attribute of a job is."""
    return target.book.clusters[cluster].ad_of(proc).eval(name)


TRANSFORMS = """
SITE = lab
JOB_TRANSFORM_NAMES = big, named
JOB_TRANSFORM_big @=end
  NAME big jobs
  REQUIREMENTS RequestMemory > 1000
  factor = 2
  SET BigJob true
  EVALSET Twice RequestMemory * $(factor)
  DEFAULT Project "$(SITE)"
  COPY RequestMemory OriginalMemory
  RENAME Old New
  DELETE Scratch
  UNIVERSE local
@end
JOB_TRANSFORM_named = SET WasBig BigJob =?= true
"""


def test_transforms_change_jobs_in_their_order_before_they_are_kept() -> None:
    target = queue(TRANSFORMS)
    reply, step = submit(target, source(2, RequestMemory=2000, Old=7, Scratch=1))
    assert reply.ok
    (kept,) = [each for each in step.changes if isinstance(each, PutCluster)]
    assert {name: kept.ad.eval(name) for name in ("BigJob", "Twice", "Project", "OriginalMemory", "New", "WasBig")} == {
        "BigJob": True, "Twice": 4000, "Project": "lab", "OriginalMemory": 2000, "New": 7, "WasBig": True,
    }  # fmt: skip
    assert "Old" not in kept.ad
    assert "Scratch" not in kept.ad
    assert kept.ad.eval("JobUniverse") == 12
    submit(target, source(1, RequestMemory=10, Old=7))
    assert (value(target, "Old", cluster=2), value(target, "WasBig", cluster=2)) == (7, False)


def test_what_differs_from_job_to_job_is_changed_job_by_job_and_kept() -> None:
    target = queue(TRANSFORMS)
    _, step = submit(target, source(3, own={"RequestMemory": (10, 2000, 3000)}))
    assert [value(target, "BigJob", proc) is True for proc in range(3)] == [False, True, True]
    assert [value(target, "Twice", proc) for proc in (1, 2)] == [4000, 6000]
    again = Queue(target.claim_table.settings, 1000.0)
    for change in step.changes:
        if isinstance(change, PutCluster):
            plan = source(3, own={"RequestMemory": (10, 2000, 3000)})
            again.restore_cluster(change, plan, gone="")
    for change in step.changes:
        if isinstance(change, PutJob):
            again.restore_job(change)
    assert value(again, "Twice", 2) == 6000


def test_a_transform_does_not_change_whose_job_it_is() -> None:
    target = queue('JOB_TRANSFORM_NAMES = x\nJOB_TRANSFORM_x = SET Owner "root"\n')
    submit(target, source(1))
    assert value(target, "Owner") == "ann"


REQUIREMENTS = """
SUBMIT_REQUIREMENT_NAMES = memory, notbob, project
SUBMIT_REQUIREMENT_memory = RequestMemory > 512
SUBMIT_REQUIREMENT_memory_REASON = strcat("asks for ", RequestMemory, " MB, and 512 are the least")
SUBMIT_REQUIREMENT_notbob = JOB.Owner != "bob"
SUBMIT_REQUIREMENT_project = TARGET.Project =!= undefined
SUBMIT_REQUIREMENT_project_IS_WARNING = true
"""


def test_a_submission_that_does_not_meet_a_condition_is_refused_as_a_whole_with_the_rule_and_its_reason() -> None:
    target = queue(REQUIREMENTS)
    reply, step = submit(target, source(1, RequestMemory=1000), source(1, RequestMemory=100))
    assert (reply.ok, reply.code) == (False, "not-admitted")
    assert reply.text == "SUBMIT_REQUIREMENT_memory: asks for 100 MB, and 512 are the least"
    assert step.changes == ()
    assert not target.book.clusters
    reply, _ = submit(target, source(1, RequestMemory=1000), owner="bob")
    assert reply.text == 'SUBMIT_REQUIREMENT_notbob is false: JOB.Owner != "bob"'


def test_a_warning_takes_the_job_and_says_so() -> None:
    reply, _ = submit(queue(REQUIREMENTS), source(2, RequestMemory=1000))
    assert reply.data == [
        {
            "cluster": 1,
            "jobs": 2,
            "warnings": ["SUBMIT_REQUIREMENT_project is false: TARGET.Project =!= undefined"],
        }
    ]


def test_conditions_are_asked_of_every_job_that_they_tell_apart_up_to_a_limit() -> None:
    reply, _ = submit(queue(REQUIREMENTS), source(3, own={"RequestMemory": (600, 600, 100)}))
    assert reply.text.endswith("asks for 100 MB, and 512 are the least (job 2)")
    reply, _ = submit(queue(REQUIREMENTS), source(ONE_BY_ONE_MAX + 1, own={"RequestMemory": (600,)}))
    assert f"evaluated for at most {ONE_BY_ONE_MAX}" in reply.text
    reply, _ = submit(queue(REQUIREMENTS), source(ONE_BY_ONE_MAX + 1, own={"Args": ("x", "y")}, RequestMemory=600))
    assert reply.ok


def test_conditions_see_jobs_as_transforms_have_made_them() -> None:
    target = queue("JOB_TRANSFORM_NAMES = m\nJOB_TRANSFORM_m = SET RequestMemory 1024\n" + REQUIREMENTS)
    assert submit(target, source(1, RequestMemory=1))[0].ok


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("JOB_TRANSFORM_NAMES = a", "JOB_TRANSFORM_a: it is listed in JOB_TRANSFORM_NAMES"),
        (
            "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a = [ set_X = 1; ]",
            "transform rules in ClassAd syntax are not supported",
        ),
        ("JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a = FROB x", "neither a statement"),
        ("JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a = UNIVERSE moon", "UNIVERSE moon"),
        ("SUBMIT_REQUIREMENT_NAMES = a", "SUBMIT_REQUIREMENT_a: it is listed in SUBMIT_REQUIREMENT_NAMES"),
        ("SUBMIT_REQUIREMENT_NAMES = a\nSUBMIT_REQUIREMENT_a = 1 +", "SUBMIT_REQUIREMENT_a: "),
    ],
)
def test_rules_that_cant_be_read_are_left_out_and_named(text: str, said: str) -> None:
    rules, (wrong,) = admission(load_text(text + "\n", MemoryHost(), subsystem="SCHEDD"), name="q")
    assert said in str(wrong)
    assert (rules.transforms, rules.requirements) == ((), ())


def test_a_transform_that_fails_refuses_the_submission() -> None:
    target = queue("JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a = SET X $(MY.RequestMemory) +\n")
    reply, _ = submit(target, source(1))
    assert reply.text.startswith("JOB_TRANSFORM_a cannot be applied: JOB_TRANSFORM_a:1:")


def test_rules_are_those_of_the_last_configuration() -> None:
    target = queue("")
    assert submit(target, source(1))[0].ok
    target.claim_table.settings = queue(REQUIREMENTS).claim_table.settings
    assert not submit(target, source(1))[0].ok


@pytest.mark.parametrize(
    ("name", "superuser", "refused"),
    [("Rank", False, None), ("Site", False, "immutable"), ("Site", True, "immutable"), ("Tag", False, "protected"),
     ("Tag", True, None), ("Token", True, "immutable")],
)  # fmt: skip
def test_attributes_that_the_administrator_keeps_are_not_edited(
    name: str, superuser: bool, refused: str | None
) -> None:
    target = queue("IMMUTABLE_JOB_ATTRS = Site\nPROTECTED_JOB_ATTRS = Tag\nSECURE_JOB_ATTRS = Token\n")
    submit(target, source(1, Site="x", Token="mine"))
    assert "Token" not in target.book.clusters[1].ad
    reply = edited(target, "ann", superuser=superuser, **{name: "y"})
    assert reply.data["refused"] == ({} if refused is None else {"1.0": refused})
    assert replace(reply).ok is (refused is None)


def test_what_policies_rely_on_is_not_submitted() -> None:
    target = queue("")
    submit(target, source(2, NumJobStarts=-50, own={"NumShadowStarts": (-7, -8)}))
    assert [value(target, name, 1) for name in ("NumJobStarts", "NumShadowStarts", "JobRunCount")] == [0, 0, 0]


@pytest.mark.parametrize("cell", ['ifThenElse(TARGET.Cpus is undefined, "students", "staff")', "error", "5"])
def test_a_group_is_the_same_to_everybody(cell: str) -> None:
    target = queue("")
    refused, step = submit(target, source(1, AccountingGroup=f"={cell}"))
    assert (refused.ok, refused.text, step.changes) == (False, "AccountingGroup is not a string", ())
    own = {"AcctGroup": ("a", parse_expression(cell))}
    refused, _ = submit(target, source(2, own=own))
    assert (refused.ok, refused.text) == (False, "AcctGroup is not a string (job 1)")
    submit(target, source(1))
    reply = edited(target, "ann", AccountingGroup=parse_expression(cell))
    assert reply.data["refused"] == {"1.0": "not-a-text"}


@pytest.mark.parametrize("name", ["two words", "a=b", "9", "é", "a\nb"])
def test_an_attribute_has_a_name_that_files_can_hold(name: str) -> None:
    target = queue("")
    submit(target, source(1))
    assert edited(target, "ann", **{name: 1}).data["refused"] == {"1.0": "bad-name"}


def test_jobs_compete_in_the_name_that_policies_see() -> None:
    target = queue("")
    submit(target, source(3, own={"AccountingGroup": ("a.ann", "b.ann", "a.ann")}), source(1))
    waiting = {name: sum(group.count for group in groups) for name, groups in target.book.waiting().items()}
    assert waiting == {"a.ann@q@here": 2, "b.ann@q@here": 1, "ann@q@here": 1}
    edited(target, "ann", AccountingGroup="b.ann")
    ads = {name: ad["IdleJobs"] for name, ad in target.submitter_ads().items()}
    assert ads == {"a.ann@q@here": 1, "b.ann@q@here": 2, "ann@q@here": 1}


def test_a_user_is_in_a_thousand_accounting_groups_at_most() -> None:
    """More of them filled the queue's word to the matchmaker, and nobody's jobs began any more."""
    target = queue("")
    many = tuple(f"g{number}" for number in range(NAMES_MAX))
    assert submit(target, source(NAMES_MAX, own={"AccountingGroup": many}))[0].ok
    reply, _ = submit(target, source(1, AccountingGroup="one.more"))
    assert not reply.ok and reply.text == "the jobs of ann would use more than 1000 accounting groups"
    assert submit(target, source(1))[0].ok
    assert submit(target, source(2, own={"AccountingGroup": ("g7", "g8")}))[0].ok
    assert submit(target, source(1), owner="bob")[0].ok
    assert edited(target, "ann", AccountingGroup="another").data["refused"] == {"1.0": "too-many-groups"}
    assert edited(target, "ann", AccountingGroup="g7").ok
    # Those whose jobs have left count no longer.
    jobs = tuple(JobId(1, proc) for proc in range(10, 20))
    target.step(ev.Acted(action=ev.Action.REMOVE, jobs=jobs, user="ann", superuser=False, reply_to="r"), 1002.0)
    assert submit(target, source(1, AccountingGroup="one.more"))[0].ok


def test_groups_counted_anew_are_those_of_all_jobs_of_a_cluster() -> None:
    target = queue("")
    submit(target, source(2, AccountingGroup="g"), source(1))
    assert edited(target, "ann", AccountingGroup="h").ok
    present = target.claim_table.present
    present.names.clear()
    assert present.takes_names(target.book, "ann", set())
    assert present.names["ann"] == {"g@q@here", "h@q@here"}


def test_the_name_of_a_group_has_a_length() -> None:
    target = queue("")
    for each in (source(1, AccountingGroup="g" * 257), source(2, own={"AccountingGroup": ("g", "g" * 257)})):
        reply, _ = submit(target, each)
        assert not reply.ok and "AccountingGroup has 257 characters" in reply.text
    assert submit(target, source(1, AccountingGroup="g" * 256))[0].ok
    assert edited(target, "ann", AccountingGroup="g" * 257).data["refused"] == {"1.0": "group-too-long"}


def test_the_ad_of_a_job_finds_room_in_messages() -> None:
    target = queue("")
    large = {f"A{number}": "x" * 999_000 for number in range(3)}
    assert submit(target, source(1, **large))[0].ok
    reply, _ = submit(target, source(1, **large, B="x" * 10_000))
    assert not reply.ok and "its ad has 30" in reply.text and "the limit is 3000000" in reply.text
    assert edited(target, "ann", B="x" * 20_000).data["refused"] == {"1.0": "too-large"}
    assert edited(target, "ann", B="x" * 200).ok


def test_the_job_with_the_longest_item_counts_not_the_first_alone() -> None:
    lines = "".join(f'+B{number} = "$(x)"\n' for number in range(8))
    reply, _ = submit(queue(""), with_items(lines, "a", "b" * 900_000, "c"))
    assert not reply.ok
    assert "its ad has 72" in reply.text and "(job 1 of the cluster)" in reply.text


def test_a_job_that_nobody_looked_at_is_held_when_it_would_start_with_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "TRIED_MAX", 1)
    driven = Driven()
    number = driven.submit(with_items('arguments = "$(x)"', "first", "'one", "longer one"))
    assert driven.start().id.proc == 0
    asked = driven.match()
    assert asked is not None
    driven.answer(asked)
    assert driven.start().id.proc == 2
    ad = driven.queue.book.clusters[number].ad_of(1)
    assert (ad["JobStatus"], ad["HoldReasonCode"]) == (JobStatus.HELD, HoldCode.JOB_POLICY_UNDEFINED)
    assert "does not match its description" in str(ad["HoldReason"]) and "arguments" in str(ad["HoldReason"])


def test_a_job_that_small_edits_have_made_too_large_is_held_when_it_would_start() -> None:
    driven = Driven()
    number = driven.submit(source(1))
    for each in range(310):
        driven.act(ev.Action.EDIT, JobId(number, 0), **{f"A{each}": "x" * 9_900})
    asked = driven.match()
    assert asked is not None
    driven.answer(asked)
    ad = driven.queue.book.clusters[number].ad_of(0)
    assert ad["JobStatus"] == JobStatus.HELD and "the limit is 3000000" in str(ad["HoldReason"])


def test_a_job_that_is_not_what_its_description_says_is_not_taken() -> None:
    taken = with_items("request_memory = $(x)", "2", "3", "4")
    (batch,) = taken.batches
    # As a client may write it that looks at nothing.
    wrong = replace(taken, batches=(replace(batch, rows=(("2",), ("3 0",), ("4",)), _forms=None),))
    reply, _ = submit(queue(""), wrong)
    assert not reply.ok and "RequestMemory = 3 0" in reply.text and "(job 1 of the cluster)" in reply.text


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(list(STATUSES)[1:])), min_size=1, max_size=12))
def test_submitters_are_told_how_many_jobs_they_have(jobs: list[tuple[str, JobStatus]]) -> None:
    target = queue("")
    submit(target, source(len(jobs), own={"AccountingGroup": tuple(name for name, _ in jobs)}))
    target.book.waiting()
    target.book.clusters[1].statuses[:] = bytes(int(status) for _, status in jobs)
    words = {JobStatus.IDLE: "IdleJobs", JobStatus.HELD: "HeldJobs"} | dict.fromkeys(ON_MACHINE, "RunningJobs")
    wanted: dict[str, dict[str, int]] = {}
    for name, status in jobs:
        if status in words:
            ad = wanted.setdefault(f"{name}@q@here", dict.fromkeys(("IdleJobs", "RunningJobs", "HeldJobs"), 0))
            ad[words[status]] += 1
    assert target.submitter_ads() == wanted


def test_what_the_queue_counts_is_changed_by_its_super_users_only() -> None:
    target = queue("")
    submit(target, source(1))
    assert edited(target, "ann", NumJobStarts=-9).data["refused"] == {"1.0": "protected"}
    assert value(target, "NumJobStarts") == 0
    edited(target, "root", superuser=True, NumJobStarts=3)
    assert value(target, "NumJobStarts") == 3


def test_the_template_for_accounts_refuses_jobs_that_are_charged_to_others() -> None:
    own = [
        {"Owner": "ann"}, {"NiceUser": True}, {"AccountingGroup": "ann", "AcctGroupUser": "ann"},
        {"AccountingGroup": "chem.ann", "AcctGroup": "chem", "AcctGroupUser": "ann"},
    ]  # fmt: skip
    for attributes in own:
        assert submit(queue("use POLICY : Own_Accounts\n"), source(1, **attributes))[0].ok, attributes
    of_others = [
        {"AccountingGroup": "bob", "AcctGroupUser": "bob"}, {"AccountingGroup": "bob@here"},
        {"AccountingGroup": "chem.bob", "AcctGroup": "chem", "AcctGroupUser": "bob"},
        {"AccountingGroup": "chem.bob", "AcctGroup": "chem", "AcctGroupUser": "ann"}, {"AcctGroupUser": "bob"},
    ]  # fmt: skip
    for attributes in of_others:
        reply, _ = submit(queue("use POLICY : Own_Accounts\n"), source(1, **attributes))
        assert not reply.ok, attributes
        assert "which is not an account of ann" in str(reply)
    target = queue("use POLICY : Own_Accounts\n")
    submit(target, source(1))
    assert not edited(target, "ann", AccountingGroup="bob").ok
    assert edited(target, "root", superuser=True, AccountingGroup="bob").ok


def test_an_ad_is_too_large_from_one_character_over_the_limit_on_numbers_included() -> None:
    numbers = {f"N{number}": number * 10**9 for number in range(100)}
    under = ClassAd({**numbers, "R": 1 / 3, "B": True, "E": parse_expression("a + b"), "Text": ""})
    job = ClassAd({"Other": -(2**63)})
    job.chain_to(under)
    under["Text"] = "x" * (JOB_CHARS_MAX - size_of(under) - size_of(job))
    assert too_large(job) == ""
    under["Text"] += "x"
    assert too_large(job) == f"its ad has {JOB_CHARS_MAX + 1} characters; the limit is {JOB_CHARS_MAX}"


@pytest.mark.parametrize(
    "text", ["", "1", "1.", ".0", "1.0.0", "1.-1", "a.0", "1234567890.0", "1.1234567890", "1_0.0", "².0"]
)
def test_what_is_not_a_name_of_a_job_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a job; write CLUSTER"):
        JobId.read(text)


def test_names_of_jobs_are_read() -> None:
    assert (JobId.read("12.0"), JobId.read(" 999999999.7 ")) == (JobId(12, 0), JobId(999_999_999, 7))
