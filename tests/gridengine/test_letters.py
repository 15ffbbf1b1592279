"""State letters: one table of each kind, in Grid Engine's order."""

from __future__ import annotations

from roost.gridengine import letters


def test_letters_are_written_in_order_and_those_of_jobs_once() -> None:
    assert letters.of_job("sTSs") == "STs"
    assert [letters.of_job(each) for each in ("wqh", "wqE", "rd", "rR", "qR", "sh")] == [
        "hqw", "Eqw", "dr", "Rr", "Rq", "hs",
    ]  # fmt: skip
    assert letters.of_instance("uaA") == "aAu"


def test_groups_are_about_letters_that_there_are() -> None:
    for group in (letters.CLOSED, letters.FOR_A_WHILE, letters.BY_HAND, letters.SELECTABLE):
        assert group <= letters.INSTANCE.keys()
    assert letters.JOB.keys() >= letters.SUSPENDED_JOB
