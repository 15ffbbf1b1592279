"""What is said of limits and fair share, from a record of the matchmaker."""

from __future__ import annotations

from typing import Any

import pytest

from roost.cli.explain_job import share_table
from roost.explain.limits import fair_share, held_up, hints, limits


def row(submitter: str, **more: Any) -> dict[str, Any]:
    return {
        "submitter": submitter, "priority": 500.0, "used": 1.0, "got": 0.0, "share": 2.0, "wanted": 3, "left": 3,
        "group": "<none>", **more,
    }  # fmt: skip


def record(**more: Any) -> dict[str, Any]:
    return {
        "submitter": "ann@x", "served": [row("bob@x"), row("ann@x", priority=600.0)], "besides": {}, "limits": [],
        "group": None, "weight": 4.0, "knob": None,
        "sources": {"preemption": {"name": "PREEMPTION_REQUIREMENTS", "text": "False", "place": "c:3:1"}}, **more,
    }  # fmt: skip


def ceiling(limit: float, in_use: float) -> dict[str, Any]:
    return {"name": "ann@x", "limit": limit, "in_use": in_use, "set_by": "USER_CEILINGS"}


GROUP = {"name": "g", "quota": 2.0, "allocated": 1.0, "used": 1.0, "accepts": False}


@pytest.mark.parametrize(
    ("besides", "more", "words", "sentence"),
    [
        ({}, {}, "", ""),
        ({"submitter-limit": 1}, {}, "its user has its share", "The share of ann@x is 2 of the pool's 4; it has 1."),
        ({"submitter-limit": 1}, {"group": GROUP}, "its group g has its quota",
         "Group g has 1 of its quota of 2 (allocated in this cycle: 1)."),
        ({"ceiling": 1}, {"ceilings": [ceiling(3.0, 2.0)]},
         "its user has as much as it may have at most",
         "ann@x may have at most 3 at once (USER_CEILINGS), and has 2."),
        ({"concurrency-limit:m": 1}, {"limits": [{"name": "m", "limit": 1.0, "in_use": 1.0}]},
         "a concurrency limit is reached", "Concurrency limit m: 1 of 1 are in use."),
        ({"preemption-requirements": 1}, {},
         "is in use, and may not be taken: PREEMPTION_REQUIREMENTS is not TRUE [c:3:1]", ""),
        ({"own-slot": 2}, {}, "are in use by jobs of the same user", ""),
        ({"priority": 1}, {}, "is in use by somebody whose priority is as good", ""),
    ],
)  # fmt: skip
def test_what_is_in_the_way_is_said_in_words_and_in_figures(
    besides: dict[str, int], more: dict[str, Any], words: str, sentence: str
) -> None:
    found = record(besides=besides, **more)
    assert held_up(found) == words
    assert next(limits(found), "") == sentence
    assert bool(hints(found, set())) is bool(besides)


def test_a_quota_that_is_used_up_is_told_where_no_slot_was_free_to_ask_for_it() -> None:
    assert list(limits(record(group=GROUP))) == ["Group g has 1 of its quota of 2 (allocated in this cycle: 1)."]
    assert list(limits(record(group={**GROUP, "used": 0.0}))) == []


def test_a_ceiling_that_is_reached_is_told_where_no_slot_was_free_to_ask_for_it() -> None:
    full = record(ceilings=[ceiling(3.0, 3.0)])
    assert list(limits(full)) == ["ann@x may have at most 3 at once (USER_CEILINGS), and has 3."]
    assert hints(full, set()) == [
        "Wait until other jobs of ann@x are done, or have the ceiling raised (USER_CEILINGS)."
    ]
    assert list(limits(record(ceilings=[ceiling(3.0, 2.0)]))) == []


def test_who_is_ahead_is_a_table_that_ends_with_the_next_one() -> None:
    served = [row(f"u{n}@x") for n in range(12)] + [row("ann@x"), row("zoe@x")]
    share = fair_share(record(served=served))
    assert share is not None and (share.hidden, len(share.rows)) == (4, 10)
    title, hidden, head, *rows = share_table(share)
    assert title == "Fair share, the lower priority first:"
    assert hidden == "  4 others are ahead, too."
    assert head.split() == ["USER", "PRIORITY", "IN", "USE", "GOT", "SHARE", "WAITING"]
    assert [line.split()[0] for line in rows] == [*(f"u{n}@x" for n in range(4, 12)), "ann@x", "zoe@x"]
    assert rows[-2].endswith("this job's") and rows[-1].endswith("behind")


def test_somebody_who_is_alone_has_no_table() -> None:
    assert fair_share(record(served=[row("ann@x")])) is None


def test_what_the_pools_policy_keeps_out_nobody_but_the_administrator_can_help() -> None:
    (hint,) = hints(record(knob={"name": "NEGOTIATOR_PE_JOB_ONLY_EXPR", "text": "true", "place": ""}), set())
    assert "NEGOTIATOR_PE_JOB_ONLY_EXPR" in hint and "administrator" in hint


def test_a_change_of_the_job_is_advised_only_where_it_would_do() -> None:
    causes = {"slot-requirements"}
    (edit,) = hints(record(), causes, edit="slot1@desk")
    assert "`roost edit`" in edit and "slot1@desk" in edit
    (wait,) = hints(record(), causes, others=["slot2@desk", "slot3@desk"])
    assert "`roost edit`" not in wait and "slot2@desk and 1 more" in wait and "roost explain slot slot2@desk" in wait


def test_slots_that_several_causes_keep_from_a_job_are_told_apart() -> None:
    found = record(besides={"preemption-requirements": 3, "submitter-limit": 1}, group=GROUP)
    assert held_up(found) == (
        "3 are in use, and may not be taken: PREEMPTION_REQUIREMENTS is not TRUE [c:3:1]; "
        "for 1 its group g has its quota"
    )
    assert "Wait until other jobs of group g are done, or have GROUP_QUOTA_g raised." in hints(found, set())
