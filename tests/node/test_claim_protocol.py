"""Queue and machine agree on who has a slot, however long a job takes to leave and whatever messages are lost."""

from __future__ import annotations

import os
from itertools import chain, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.schedd import events as qev
from roost.schedd.identifiers import JobId
from tests.node.claim_world import Fate, World

STATIC = "NUM_SLOTS = 1\n"
SPLIT = "SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1\n"
BY_RANK = "RANK = TARGET.Boss =?= True\n"
BY_PRIORITY = "RANK = 0\n"
LAYOUTS = pytest.mark.parametrize("layout", [STATIC, SPLIT], ids=["static", "partitionable"])
CAUSES = pytest.mark.parametrize("cause", [BY_RANK, BY_PRIORITY], ids=["rank", "priority"])

#: No message is lost more often than this in a row.
FATES = st.lists(
    st.one_of(
        st.just(Fate()),
        st.just(Fate(lost=True)),
        st.builds(Fate, again_s=st.sampled_from((0.0, 3.0, 30.0, 200.0))),
        st.builds(Fate, late_s=st.sampled_from((0.5, 4.0, 12.0))),
    ),
    max_size=60,
)
EXAMPLES = settings(max_examples=int(os.environ.get("ROOST_EXAMPLES", "60")), deadline=None)


def preempted(world: World, lease_s: int = 2400) -> tuple[str, str]:
    """A job that runs, and one that is preferred to it; the second one has been submitted."""
    old = world.submit(100_000, JobLeaseDuration=lease_s)
    assert world.run(600, lambda: world.starts.get(old) == 1)
    world.run(7)
    return old, world.submit(60, Boss=True)


def limited(fates: list[Fate]) -> chain[Fate]:
    """Fates of messages, of which at most three in a row are losses; all later messages arrive."""
    found: list[Fate] = []
    for each in fates:
        spared = each.lost and [one.lost for one in found[-3:]] == [True] * 3
        found.append(Fate() if spared else each)
    return chain(found, repeat(Fate()))


@LAYOUTS
@CAUSES
@pytest.mark.parametrize("farewell_s", [0.5, 8, 40, 130, 590, 2000])
def test_the_preferred_job_gets_the_slot_and_the_old_one_loses_its_run_once(
    layout: str, cause: str, farewell_s: float
) -> None:
    world = World(layout + cause, farewell_s=farewell_s)
    old, boss = preempted(world)
    assert world.run(farewell_s + 60, lambda: boss in world.starts)
    assert (world.starts, world.evictions) == ({old: 1, boss: 1}, {old: 1})
    assert world.numbers[-1] == "11" and set(world.numbers) & {"23", "24"}
    assert world.run(600, lambda: world.is_done(boss))
    assert world.run(600, lambda: world.starts[old] == 2)
    assert world.evictions == {old: 1}


@LAYOUTS
@CAUSES
@given(fates=FATES, farewell_s=st.sampled_from((0.5, 4.0, 6.0, 8.0, 21.0, 50.0, 150.0)))
@EXAMPLES
def test_messages_that_are_lost_or_doubled_or_late_change_nothing(
    layout: str, cause: str, fates: list[Fate], farewell_s: float
) -> None:
    world = World(layout + cause, farewell_s=farewell_s)
    old, boss = preempted(world)
    script = limited(fates)
    world.fate = lambda: next(script)
    assert world.run(3600, lambda: world.is_done(boss)), world.numbers
    assert world.evictions == {old: 1}
    assert world.starts[boss] == 1
    assert world.run(3600, lambda: world.starts[old] == 2)


@LAYOUTS
@given(fates=FATES, farewell_s=st.sampled_from((4.0, 21.0, 150.0)), killed_s=st.lists(st.integers(0, 60), max_size=3))
@EXAMPLES
def test_a_queue_that_is_killed_while_it_waits_starts_no_job_twice_at_a_time(
    layout: str, fates: list[Fate], farewell_s: float, killed_s: list[int]
) -> None:
    world = World(layout + BY_RANK, farewell_s=farewell_s)
    old, boss = preempted(world)
    script = limited(fates)
    world.fate = lambda: next(script)
    for seconds in killed_s:
        world.run(seconds)
        world.restart_queue()
    assert world.run(3600, lambda: world.is_done(boss)), world.numbers
    assert world.evictions.get(old, 0) <= 1 + len(killed_s)
    assert world.run(3600, lambda: world.starts[old] >= 2)
    assert len([job for job, _ in world.past.history]) == 1


def test_a_job_that_is_removed_while_it_waits_for_a_slot_spares_the_running_job() -> None:
    world = World(STATIC + BY_RANK + "MAXJOBRETIREMENTTIME = 3000\n")
    old, boss = preempted(world)
    assert world.run(30, lambda: world.numbers[-1] == "13")
    world.feed(qev.Acted(action=qev.Action.REMOVE, jobs=(JobId.read(boss),), user="ann", reply_to="r"))
    assert world.run(60, lambda: world.numbers[-1] == "19")
    world.run(4000)
    assert (world.starts, world.evictions) == ({old: 1}, {})


def test_a_queue_that_forgot_its_request_spares_the_running_job() -> None:
    world = World(STATIC + BY_RANK + "MAXJOBRETIREMENTTIME = 3000\n")
    old, boss = preempted(world)
    assert world.run(30, lambda: world.numbers[-1] == "13")
    world.feed(qev.Acted(action=qev.Action.HOLD, jobs=(JobId.read(boss),), user="ann", reply_to="r"))
    world.restart_queue()
    assert world.run(60, lambda: world.numbers[-1] == "19")
    world.run(4000)
    assert (world.starts, world.evictions) == ({old: 1}, {})


def test_a_request_is_given_up_after_request_claim_timeout() -> None:
    world = World(STATIC + BY_RANK + "MAXJOBRETIREMENTTIME = 100000\n")
    old, boss = preempted(world)
    assert world.run(30, lambda: world.numbers[-1] == "13")
    claim = next(each for each in world.queue.claim_table.claims.values() if str(each.job) == boss)
    assert not world.run(1800, lambda: claim.id not in world.queue.claim_table.claims)
    assert world.run(60, lambda: claim.id not in world.queue.claim_table.claims)
    assert (world.starts, world.evictions) == ({old: 1}, {})


# -- leases ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lease_s", [12, 20, 29, 31, 60, 600, 2400, 0])
def test_a_job_with_any_lease_keeps_its_claim(lease_s: int) -> None:
    world = World(STATIC)
    job = world.submit(5000, JobLeaseDuration=lease_s)
    assert world.run(6000, lambda: world.is_done(job))
    assert (world.starts, world.evictions) == ({job: 1}, {})


@given(fates=FATES, lease_s=st.sampled_from((60, 200)))
@EXAMPLES
def test_a_lease_outlives_three_lost_messages(fates: list[Fate], lease_s: int) -> None:
    world = World(STATIC)
    job = world.submit(1000, JobLeaseDuration=lease_s)
    assert world.run(60, lambda: job in world.starts)
    script = limited(fates)
    world.fate = lambda: next(script)
    assert world.run(3000, lambda: world.is_done(job)), world.numbers
    assert (world.starts, world.evictions) == ({job: 1}, {})


@pytest.mark.parametrize(("lease_s", "within_s"), [(60, 60), (600, 600), (0, 360)])
def test_without_a_sign_of_life_the_claim_ends_with_the_lease(lease_s: int, within_s: int) -> None:
    """Without a lease it ends after MAX_CLAIM_ALIVES_MISSED = 6 times the queue's 60 s."""
    world = World(STATIC + "MAX_CLAIM_ALIVES_MISSED = 6\n")
    job = world.submit(5000, JobLeaseDuration=lease_s)
    assert world.run(60, lambda: job in world.starts)
    world.run(within_s * 2)
    assert world.evictions == {}
    world.fate = lambda: Fate(lost=True)
    assert not world.run(within_s / 2 - 6, lambda: "25" in world.numbers)
    assert world.run(within_s / 2 + 12, lambda: "25" in world.numbers)
