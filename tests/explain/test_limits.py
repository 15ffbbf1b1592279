"""What is said of limits and fair share, from a record of the matchmaker."""

from __future__ import annotations

from typing import Any

import pytest

from roost.cli.explain.job import share_table
from roost.explain.limits import fair_share, held_up, limits, remedies
from roost.explain.remedies import RemedyKind
from roost.model.cycle_answers import JobInCycle
from roost.wire.structs import read


def row(submitter: str, **more: Any) -> dict[str, Any]:
    return {
        "submitter": submitter, "priority": 500.0, "used": 1.0, "got": 0.0, "share": 2.0, "wanted": 3, "left": 3,
        "group": "<none>", **more,
    }  # fmt: skip


def record(**more: Any) -> JobInCycle:
    data = {
        "at": 0.0, "zone_offset_s": 0, "text": "", "slots": 3, "causes": [], "given": [], "ceilings": [],
        "submitter": "ann@x", "served": [row("bob@x"), row("ann@x", priority=600.0)], "besides": {}, "limits": [],
        "group": None, "weight": 4.0, "knob": None,
        "sources": {"preemption": {"name": "PREEMPTION_REQUIREMENTS", "text": "False", "place": "c:3:1"}}, **more,
    }  # fmt: skip
    return read(JobInCycle, data, "record", strict=True)


def ceiling(limit: float, in_use: float) -> dict[str, Any]:
    return {"name": "ann@x", "limit": limit, "in_use": in_use, "set_by": "USER_CEILINGS"}


GROUP = {"name": "g", "quota": 2.0, "allocated": 1.0, "used": 1.0, "accepts": False}


@pytest.mark.parametrize(
    ("besides", "more", "words", "sentence"),
    [
        ({}, {}, "", ""),
        ({"submitter-limit": 1}, {}, "its user has its fair share",
         "The share of ann@x is 2 of the pool's 4; it uses 1."),
        ({"submitter-limit": 1}, {"group": GROUP}, "its group g is at its quota",
         "Group g uses 1 of its quota of 2 (allocated in this cycle: 1)."),
        ({"ceiling": 1}, {"ceilings": [ceiling(3.0, 2.0)]}, "its user is at its ceiling",
         "ann@x is at its ceiling (USER_CEILINGS): it may use 3 at once, and uses 2."),
        ({"concurrency-limit:m": 1}, {"limits": [{"name": "m", "limit": 1.0, "in_use": 1.0, "wanted": 1.0}]},
         "a concurrency limit is reached", "Concurrency limit m: 1 of 1 are in use."),
        ({"preemption-requirements": 1}, {},
         "is in use, and PREEMPTION_REQUIREMENTS is not TRUE [c:3:1]", ""),
        ({"own-slot": 2}, {}, "are in use by jobs of the same user", ""),
        ({"priority": 1}, {}, "is in use by users whose priority is at least as good", ""),
    ],
)  # fmt: skip
def test_what_is_in_the_way_is_said_in_words_and_in_figures(
    besides: dict[str, int], more: dict[str, Any], words: str, sentence: str
) -> None:
    found = record(besides=besides, **more)
    assert held_up(found) == words
    assert next(limits(found), "") == sentence
    assert bool(remedies(found, set())) is bool(besides)


def test_a_quota_that_is_used_up_is_told_where_no_slot_was_free_to_ask_for_it() -> None:
    assert list(limits(record(group=GROUP))) == ["Group g uses 1 of its quota of 2 (allocated in this cycle: 1)."]
    assert list(limits(record(group={**GROUP, "used": 0.0}))) == []


def test_a_ceiling_that_is_reached_is_told_where_no_slot_was_free_to_ask_for_it() -> None:
    full = record(ceilings=[ceiling(3.0, 3.0)])
    assert list(limits(full)) == ["ann@x is at its ceiling (USER_CEILINGS): it may use 3 at once, and uses 3."]
    # Slots of other users would not help.
    remedy, among_own = remedies(full, {"occupied"})
    assert among_own.kind is RemedyKind.PRIORITY and "JobPrio" in among_own.text
    assert remedy.kind is RemedyKind.LIMIT
    assert (
        remedy.text
        == "Wait until other jobs of ann@x end, or ask the administrator to raise the ceiling (USER_CEILINGS)."
    )
    assert list(limits(record(ceilings=[ceiling(3.0, 2.0)]))) == []


def test_who_is_ahead_is_a_table_that_ends_with_the_next_one() -> None:
    served = [row(f"u{n}@x") for n in range(12)] + [row("ann@x"), row("zoe@x")]
    share = fair_share(record(served=served))
    assert share is not None and (share.hidden, len(share.rows)) == (4, 10)
    title, hidden, head, *rows = share_table(share)
    assert title == "Fair share, lowest priority value first:"
    assert hidden == "  4 others are also ahead."
    assert head.split() == ["USER", "PRIORITY", "IN", "USE", "GOT", "SHARE", "WAITING"]
    assert [line.split()[0] for line in rows] == [*(f"u{n}@x" for n in range(4, 12)), "ann@x", "zoe@x"]
    assert rows[-2].endswith("this job's") and rows[-1].endswith("behind")


def test_somebody_who_is_alone_has_no_table() -> None:
    assert fair_share(record(served=[row("ann@x")])) is None


def test_users_of_the_slots_and_the_order_of_users_are_named_where_slots_are_in_use() -> None:
    kinds = {each.kind: each.text for each in remedies(record(), {"occupied"})}
    assert list(kinds) == [RemedyKind.PRIORITY, RemedyKind.POLICY, RemedyKind.WAIT]
    assert (
        "bob@x is served before ann@x" in kinds[RemedyKind.PRIORITY] and "500 against 600" in kinds[RemedyKind.PRIORITY]
    )
    assert "PREEMPTION_REQUIREMENTS (False [c:3:1])" in kinds[RemedyKind.POLICY]
    alone = remedies(record(served=[row("ann@x")]), {"occupied"}, "7.0")
    assert "`roost edit 7.0 --set JobPrio=N`" in alone[0].text


def test_slots_that_several_causes_keep_from_a_job_are_told_apart() -> None:
    found = record(besides={"preemption-requirements": 3, "submitter-limit": 1}, group=GROUP)
    assert held_up(found) == (
        "3 are in use, and PREEMPTION_REQUIREMENTS is not TRUE [c:3:1]; for 1 its group g is at its quota"
    )
    said = [each.text for each in remedies(found, set())]
    assert "Wait until other jobs of group g end, or ask the administrator to raise GROUP_QUOTA_g." in said


@pytest.mark.parametrize(
    ("limit", "wanted", "said", "remedy"),
    [
        (
            3.0,
            5.0,
            "Concurrency limit m is 3, but this job needs 5.",
            "In concurrency_limits request at most 3 of m, or ",
        ),
        (0.0, 1.0, "Concurrency limit m is 0, but this job needs 1.", "In concurrency_limits leave m out, or "),
        (3.0, 2.0, "Concurrency limit m: 2 of 3 are in use.", "Wait until other jobs release it, or "),
    ],
)
def test_nobody_waits_for_more_than_a_concurrency_limit_allows(
    limit: float, wanted: float, said: str, remedy: str
) -> None:
    in_use = min(2.0, limit)
    each = {"name": "m", "limit": limit, "in_use": in_use, "wanted": wanted}
    found = record(besides={"concurrency-limit:m": 1}, limits=[each])
    assert list(limits(found)) == [said]
    told = remedies(found, set())
    assert told[0].text == f"{remedy}ask the administrator to raise M_LIMIT."
    # The order among one's own jobs matters only to those that can run.
    assert any("JobPrio" in each.text for each in told) is (wanted <= limit)


def test_nobody_waits_for_jobs_of_a_group_that_may_have_none() -> None:
    group = {"name": "g", "quota": 0.0, "allocated": 0.0, "used": 0.0, "accepts": False}
    told = remedies(record(group=group), {"occupied"})
    assert [each.text for each in told] == ["Ask the administrator to raise GROUP_QUOTA_g."]
