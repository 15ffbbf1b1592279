"""What is made of the ad that a hook printed."""

from __future__ import annotations

from roost.classad import ClassAd
from roost.model.slots import SlotKind
from roost.startd.configured import dynamic_keywords, fetch_hook
from roost.startd.fetched_job import fetched_job
from tests.startd.layout_cases import configured


def test_what_a_hook_leaves_out_is_added() -> None:
    printed = ClassAd({"Cmd": "/bin/true"})
    job = fetched_job(printed, keyword="DB", kind=SlotKind.STATIC)
    assert job.ad == ClassAd(
        {
            "Cmd": "/bin/true",
            "HookKeyword": "DB",
            "JobUniverse": 5,
            "RequestCpus": 1,
            "RequestMemory": 1,
            "RequestDisk": 1,
        }
    )
    assert job.remarks == ("the fetched job has no JobUniverse; vanilla (5) is assumed",)
    assert "HookKeyword" not in printed


def test_what_a_hook_says_stays() -> None:
    printed = ClassAd({"HookKeyword": "WEB", "JobUniverse": 10, "RequestCpus": 3, "RequestMemory": 9, "RequestDisk": 8})
    assert fetched_job(printed, keyword="DB", kind=SlotKind.STATIC) == (printed, ())


def test_a_partitionable_slot_has_to_be_told_what_the_job_wants() -> None:
    job = fetched_job(ClassAd({"JobUniverse": 5, "RequestCpus": 1}), keyword="DB", kind=SlotKind.PARTITIONABLE)
    assert "RequestMemory" not in job.ad
    assert "RequestMemory, RequestDisk" in job.remarks[0]


def test_hooks_are_found_by_their_old_names_too_and_dynamic_slots_have_their_own() -> None:
    config = configured(
        "DB_HOOK_FETCH_JOB = /old\nDB_HOOK_REPLY_CLAIM = /older\nDB_HOOK_REPLY_FETCH = /new\n"
        "SLOT1_2_JOB_HOOK_KEYWORD = DB\n"
    )
    assert fetch_hook(config, "DB", "FETCH_WORK") == "/old"
    assert fetch_hook(config, "DB", "REPLY_FETCH") == "/new"
    assert fetch_hook(config, "DB", "EVICT_CLAIM") is None
    assert dynamic_keywords(config) == {(1, 2): "DB"}
