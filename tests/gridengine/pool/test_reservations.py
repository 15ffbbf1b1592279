"""Advance reservations of a pool: their letters, who may use them, and what may be changed under them."""

from __future__ import annotations

import pytest

from roost.base.structs import replaced
from roost.classad import ClassAd
from roost.gridengine.pool.requests import Reader
from roost.gridengine.pool.reservations import (
    broken,
    complaints,
    duration_of,
    granted,
    may_reserve,
    may_use,
    slots_now,
    state_of,
    troubles,
)
from roost.model.cell_reservations import AdvanceReservation, Granted, digest_names
from tests.gridengine.scheduling.cells import NOW, cell, running, snapshot

LISTS = {"usersets/staff": "name staff\ntype ACL\nfshare 0\noticket 0\nentries bob,@physics\n"}


def reservation(number: int = 1, slots: int = 2, start: float = NOW, **more: object) -> AdvanceReservation:
    values = {
        "grants": (Granted(instance="all.q@node1", slots=slots),),
        "parallel": "make 2",
        "environment": "make",
        **more,
    }
    return AdvanceReservation(number=number, owner="alice", submitted=NOW, start=start, end=start + 60, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("letters", "hosts", "words"),
    [
        ("", ("node1",), ()),
        ("d", ("node1",), ("reserved queue all.q@node1 is disabled",)),
        ("s", ("node1",), ("reserved queue all.q@node1 is suspended",)),
        ("E", ("node1",), ("reserved queue all.q@node1 is in error state",)),
        ("", ("node2",), ("reserved queue all.q@node1 is unknown",)),
        ("aSCDo", ("node1",), ()),
    ],
)
def test_what_is_trouble(letters: str, hosts: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert troubles(reservation(), {"all.q@node1": letters}, hosts) == words


def test_its_letter_follows_time_trouble_and_deletion() -> None:
    one = reservation(start=NOW + 10)
    letters = [state_of(one, NOW + after, in_trouble=trouble) for after in (0, 10) for trouble in (False, True)]
    assert letters == ["w", "W", "r", "E"]
    assert state_of(replaced(one, deleted=True), NOW, in_trouble=True) == "d"
    assert slots_now((one, reservation(2, 1)), NOW + 10) == {"all.q@node1": 3}
    names = digest_names((one, replaced(one, begun=True), replaced(one, number=2, begun=True, deleted=True)))
    assert names == {"advance reservation 1": "r", "advance reservation 2": "rd"}


def test_who_may_use_it_and_who_may_make_one() -> None:
    one = cell(files=LISTS)
    assert may_use(reservation(), one, "alice", ()) and not may_use(reservation(), one, "bob", ())
    listed = reservation(users=("carol", "@staff"))
    found = {user: may_use(listed, one, user, groups) for user, groups in (
        ("carol", ()), ("bob", ()), ("dan", ("physics",)), ("alice", ()), ("eve", ()),
    )}  # fmt: skip
    assert found == {"carol": True, "bob": True, "dan": True, "alice": False, "eve": False}
    assert not may_reserve(one, "alice", ())
    arusers = {"usersets/arusers": "name arusers\ntype ACL\nfshare 0\noticket 0\nentries alice\n"}
    assert may_reserve(cell(files=arusers), "alice", ()) and not may_reserve(cell(files=arusers), "bob", ())


def test_only_instances_that_all_of_its_users_may_use_are_taken() -> None:
    one = cell("cqueues/all.q: user_lists NONE,[node1=staff]\nhostgroups/@allhosts: hostlist node1 node2", files=LISTS)
    for users, instance in (((), "all.q@node2"), (("bob",), "all.q@node2"), (("bob", "alice"), "all.q@node2")):
        found = granted(reservation(users=users, parallel=""), snapshot(one), lambda _: ())
        assert isinstance(found, AdvanceReservation)
        assert found.pairs == ((instance, 1),), users
    everywhere = cell("hostgroups/@allhosts: hostlist node1")
    full = snapshot(everywhere, running=tuple(running(90 + at, "all.q@node1") for at in range(3)))
    refused = granted(reservation(parallel="make 9"), full, lambda _: ())
    assert not isinstance(refused, AdvanceReservation)
    assert [reason.sentence() for reason in refused] == ['cannot run in PE "make" because it only offers 1 slots']


def test_changes_that_would_break_it() -> None:
    before, two = cell("cqueues/all.q: slots 4"), (reservation(), reservation(2, 1, start=NOW + 30))
    words = "denied: 3 slots are already reserved in all.q@node1 by an advance reservation"
    assert broken(two, before, cell("cqueues/all.q: slots 2")) == words
    assert broken(two, before, cell("cqueues/all.q: slots 3")) == ""
    # At different times they need two slots at most.
    apart = (reservation(), reservation(2, 1, start=NOW + 60))
    assert broken(apart, before, cell("cqueues/all.q: slots 2")) == ""
    assert broken(two, before, cell("cqueues/all.q: slots 4\ncqueues/all.q: pe_list NONE")) == (
        'denied: removing "make" from pe_list would break advance reservation 1'
    )
    assert broken(two, before, cell("cqueues/all.q: slots 4\nhostgroups/@allhosts: hostlist node2")) == ""


def test_complaints_are_in_the_words_for_reservations() -> None:
    one = cell()
    wrong = reservation(resources="slots=2", checkpoint="x", users=("@nosuch",), parallel="")
    assert list(complaints(wrong, one, Reader(one, lambda _: ()))) == [
        '"advance_reservation" denied: use parallel environments instead of requesting slots explicitly',
        'job rejected: the requested checkpointing environment "x" does not exist',
        'Userset "nosuch" does not exist',
    ]


@pytest.mark.parametrize(("asked", "seconds"), [("", 0), ("h_rt=0:2:0", 120), ("h_rt=90,s_rt=60,lic=1", 60)])
def test_how_long_a_job_may_run(asked: str, seconds: float) -> None:
    assert duration_of(ClassAd(CellResources=asked)) == seconds
