"""The defragmentation daemon: what a round does with a pool, and what comes of many rounds."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any, Final

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from roost.classad import ClassAd, parse_expression
from roost.config import Config, MemoryHost, load_text
from roost.defrag.figures import Figures, average_costs, daemon_ad
from roost.defrag.machine import DefragStep, begin, check_expression, step
from roost.defrag.policy import DefragPolicy, configured_policy
from roost.defrag.rate import Rate
from roost.defrag.state import (
    DefragState,
    DefragTimer,
    DefragTimerFired,
    DrainAnswered,
    PoolNotSeen,
    PoolSeen,
    PublishDefragAd,
    QueryPool,
    RequestCancellation,
    RequestDrain,
    SetDefragTimer,
    persisted,
    restored,
)
from roost.defrag.view import machines_of
from roost.model.events import DrainSchedule
from roost.model.plain import PlainError

#: Noon of a day of the epoch.
NOON: Final = 20_000 * 86_400 + 43_200.0


def slot(name: str, cpus: int = 1, **attributes: Any) -> ClassAd:
    """A partitionable slot with `cpus` of 8 cores left."""
    found = {
        "Name": f"slot1@{name}",
        "Machine": name,
        "MyAddress": f"<{name}>",
        "SlotID": 1,
        "PartitionableSlot": True,
        "Cpus": cpus,
        "TotalSlotCpus": 8,
        "TotalCpus": 8,
        "LastHeardFrom": NOON - 10,
        "DaemonStartTime": NOON - 10_010,
        "ExpectedMachineGracefulDrainingBadput": 100,
        "ExpectedMachineGracefulDrainingCompletion": int(NOON) + 600,
        "ExpectedMachineQuickDrainingBadput": 40,
        "ExpectedMachineQuickDrainingCompletion": int(NOON) + 60,
    }
    return ClassAd({**found, **attributes})


def draining(name: str, cpus: int = 1, reason: str = "Defrag defrag", **attributes: Any) -> ClassAd:
    return slot(name, cpus, Draining=True, DrainReason=reason, DrainingRequestId="7", **attributes)


#: 6 drains a round.
BUSY: Final = DefragPolicy(machines_per_hour=36)


def seen(
    ads: Sequence[ClassAd], policy: DefragPolicy = BUSY, state: DefragState | None = None, **more: Any
) -> DefragStep:
    state = DefragState(last_round_at=NOON - 600) if state is None else state
    asked = step(state, DefragTimerFired(timer=DefragTimer.ROUND), NOON, policy, "central")
    return step(asked.state, PoolSeen(ads=tuple(ads), **more), NOON, policy, "central")


def drained(found: DefragStep) -> list[str]:
    return [effect.machine for effect in found.effects if isinstance(effect, RequestDrain)]


def cancelled(found: DefragStep) -> list[str]:
    return [effect.machine for effect in found.effects if isinstance(effect, RequestCancellation)]


# -- a round ---------------------------------------------------------------------------------------


def test_fragmented_machines_are_drained_the_cheapest_first() -> None:
    ads = [slot(name, ExpectedMachineGracefulDrainingBadput=cost) for name, cost in (("a", 9), ("b", 3), ("c", 5))]
    assert drained(seen(ads, DefragPolicy(machines_per_hour=12))) == ["b", "c"]


@pytest.mark.parametrize(
    "ad",
    [
        slot("a", 8),
        slot("a", Offline=True),
        slot("a", PartitionableSlot=False),
        draining("a"),
        draining("a", reason="upgrade"),
    ],
    ids=["whole", "asleep", "static", "ours", "somebody else's"],
)
def test_what_is_whole_asleep_static_or_draining_is_not_drained(ad: ClassAd) -> None:
    assert drained(seen([ad])) == []


@pytest.mark.parametrize(("text", "found"), [("Gpus > 0", ["a"]), ("Unset", []), ('"text"', []), ("error", [])])
def test_requirements_have_to_be_true(text: str, found: list[str]) -> None:
    policy = DefragPolicy(machines_per_hour=36, requirements=parse_expression(text))
    assert drained(seen([slot("a", Gpus=1), slot("b", Gpus=0)], policy)) == found


def test_a_rank_that_is_no_number_counts_as_0() -> None:
    policy = DefragPolicy(machines_per_hour=12, rank=parse_expression("Worth"))
    ads = [slot("a", Worth=-1), slot("b", Worth="much"), slot("c", Worth=1), slot("d", Worth=float("nan"))]
    assert drained(seen(ads, policy))[0] == "c"
    assert "a" not in drained(seen(ads, policy))


def test_equal_ranks_are_shuffled_by_what_is_handed_in() -> None:
    ads = [slot(name) for name in "abcdefgh"]
    one = DefragPolicy(machines_per_hour=6)
    firsts = {drained(seen(ads, one, chance=chance))[0] for chance in range(40)}
    assert len(firsts) > 4
    assert drained(seen(ads, chance=3)) == drained(seen(ads[::-1], chance=3))


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({}, 4),
        ({"max_whole": 2}, 0),
        ({"max_whole": 3}, 4),
        ({"max_whole": 0}, 0),
        ({"max_draining": 3}, 1),
        ({"max_draining": 2}, 0),
        ({"max_draining": 0}, 0),
        ({"machines_per_hour": 0}, 0),
        ({"machines_per_hour": 6}, 1),
    ],
)
def test_limits_are_kept(limits: dict[str, Any], count: int) -> None:
    ads = [slot("w1", 8), slot("w2", 8), draining("d1"), draining("d2"), *(slot(name) for name in "abcd")]
    policy = DefragPolicy(**{"machines_per_hour": 36, **limits})
    assert len(drained(seen(ads, policy))) == count


def test_only_its_own_drains_are_cancelled_and_counted() -> None:
    ads = [draining("a", 8), draining("b", 8, reason="upgrade"), draining("c"), draining("d", 8)]
    del ads[3]["DrainReason"]
    found = seen(ads)
    assert cancelled(found) == ["a", "d"]
    assert {effect.request_id for effect in found.effects if isinstance(effect, RequestCancellation)} == {"7"}
    assert found.state.figures.machines_draining == 3


def test_drains_are_cancelled_even_where_none_may_begin() -> None:
    assert cancelled(seen([draining("a", 8)], DefragPolicy(machines_per_hour=0))) == ["a"]


def test_a_machine_with_several_slots_is_drained_once() -> None:
    ads = [slot("a"), slot("a", Name="slot2@a", SlotID=2), slot("b", Name="slot1@x@b"), slot("b", Name="slot1@y@b")]
    assert sorted(drained(seen(ads))) == ["a", "x@b", "y@b"]


def test_a_drain_is_asked_for_as_configured() -> None:
    start = parse_expression("TARGET.Short =?= true")
    policy = DefragPolicy(machines_per_hour=36, name="d@central", schedule=DrainSchedule.QUICK, draining_start=start)
    (effect,) = seen([slot("a")], policy).effects
    assert effect == RequestDrain(
        machine="a",
        address="<a>",
        schedule=DrainSchedule.QUICK,
        check=parse_expression(
            f"ExpectedMachineQuickDrainingCompletion <= {int(NOON) + 1260}"
            " && ExpectedMachineQuickDrainingBadput <= 1250"
        ),
        start=start,
        reason="Defrag d@central",
    )


def test_a_drain_may_end_twenty_minutes_later_and_cost_a_quarter_and_twenty_minutes_more() -> None:
    check = check_expression(slot("a"), DrainSchedule.GRACEFUL)
    assert check is not None
    for later, dearer, passes in ((1200, 1225, True), (1201, 0, False), (0, 1226, False)):
        ad = slot(
            "a",
            ExpectedMachineGracefulDrainingBadput=100 + dearer,
            ExpectedMachineGracefulDrainingCompletion=int(NOON) + 600 + later,
        )
        assert ad.eval_expr(check) is passes
    assert check_expression(ClassAd({"SlotID": 1}), DrainSchedule.GRACEFUL) is None


def test_a_round_can_be_explained() -> None:
    (view,) = seen([slot("a")]).seen
    explanation = view.decisions["DEFRAG_WHOLE_MACHINE_EXPR"].explain()
    assert explanation is not None and not view.whole


# -- requests and their answers ------------------------------------------------------------------


def test_a_machine_that_was_asked_is_not_asked_again_until_a_younger_ad_comes() -> None:
    first = seen([slot("a")])
    later = {"last_round_at": NOON}
    stale = seen([slot("a")], state=first.state)
    assert drained(stale) == []
    assert stale.state.figures.machines_draining == 1
    assert drained(seen([slot("a", LastHeardFrom=NOON + 1)], state=first.state)) == ["a"], later


def test_a_machine_that_is_being_asked_takes_a_place() -> None:
    policy = DefragPolicy(machines_per_hour=36, max_draining=2)
    first = seen([slot("a"), slot("b")], policy)
    assert len(drained(first)) == 2
    assert drained(seen([slot("a"), slot("b"), slot("c")], policy, state=first.state)) == []


def test_a_machine_that_refuses_gives_its_place_back() -> None:
    first = seen([slot("a")])
    after = step(first.state, DrainAnswered(machine="a", refusal="check failed"), NOON, BUSY, "central").state
    assert after.figures.drain_failures == 1
    assert drained(seen([slot("a")], state=after)) == ["a"]


def test_a_machine_that_accepts_counts_as_success_and_one_that_is_whole_afterwards_as_drained() -> None:
    first = seen([slot("a")])
    state = step(first.state, DrainAnswered(machine="a"), NOON, BUSY, "central").state
    assert state.figures.drain_successes == 1
    during = seen([draining("a", 4, LastHeardFrom=NOON + 1)], state=state).state
    assert during.figures.drained_machines == 0
    for ad in (draining("a", 8, LastHeardFrom=NOON + 1), slot("a", 8, LastHeardFrom=NOON + 1)):
        after = seen([ad], state=during).state
        assert after.figures.drained_machines == 1
        assert seen([ad], state=after).state.figures.drained_machines == 1


def test_an_answer_of_the_collector_that_nobody_waits_for_means_nothing() -> None:
    state = DefragState()
    assert step(state, PoolSeen(ads=(slot("a"),)), NOON, BUSY, "central") == DefragStep(state=state)
    asked = step(state, DefragTimerFired(timer=DefragTimer.ROUND), NOON, BUSY, "central").state
    missed = step(asked, PoolNotSeen(), NOON, BUSY, "central").state
    assert missed == state


# -- time ------------------------------------------------------------------------------------------


def test_the_daemon_begins_with_a_round_and_goes_on_by_its_interval() -> None:
    first = begin(DefragState(), NOON, BUSY, "central")
    assert first.effects[:2] == (
        SetDefragTimer(timer=DefragTimer.ROUND, at=NOON),
        SetDefragTimer(timer=DefragTimer.UPDATE, at=NOON + 300),
    )
    again = step(first.state, DefragTimerFired(timer=DefragTimer.ROUND), NOON, BUSY, "central")
    assert again.effects[0] == SetDefragTimer(timer=DefragTimer.ROUND, at=NOON + 600)
    assert isinstance(again.effects[1], QueryPool)
    assert again.effects[1].constraint.tree and slot("a").eval_expr(again.effects[1].constraint) is True


def test_a_daemon_that_is_started_again_keeps_its_interval() -> None:
    state = restored(json.loads(json.dumps(persisted(DefragState(last_round_at=NOON - 100, asking=True)))))
    assert begin(state, NOON, BUSY, "c").effects[0] == SetDefragTimer(timer=DefragTimer.ROUND, at=NOON + 500)
    assert not begin(state, NOON, BUSY, "c").state.asking
    late = DefragState(last_round_at=NOON - 10_000)
    assert begin(late, NOON, BUSY, "c").effects[0] == SetDefragTimer(timer=DefragTimer.ROUND, at=NOON)


@pytest.mark.parametrize(
    ("per_hour", "interval", "rate"),
    [
        (0, 600, (0, 0, 0)),
        (1.0, 3600, (1, 0, 0)),
        (1.0, 600, (0, 1, 0)),
        (10, 600, (1, 4, 0)),
        (0.5, 600, (0, 0, 12)),
        (1 / 3, 600, (0, 0, 8)),
        (7.75, 600, (1, 1, 18)),
        (1.0, 5400, (1, 0, 8)),
        (0.4, 90_000, (10, 0, 0)),
        (-5, 600, (0, 0, 0)),
    ],
)
def test_the_rate_is_spread_over_rounds_hours_and_days(
    per_hour: float, interval: int, rate: tuple[int, int, int]
) -> None:
    found = Rate.of(per_hour, interval)
    assert (found.per_round, found.per_hour, found.per_day) == rate


@given(
    per_hour=st.floats(0, 50),
    interval=st.sampled_from([60, 300, 600, 900, 1200, 1800, 3600, 7200, 43_200]),
    offset=st.integers(0, 86_399),
)
def test_a_day_of_rounds_is_worth_what_is_configured(per_hour: float, interval: int, offset: int) -> None:
    rate = Rate.of(per_hour, interval)
    at = 20_000.0 * 86_400 + offset
    begun, last = 0, at
    for _ in range(86_400 // interval):
        begun += rate.allowance(last, last + interval)
        last += interval
    assert abs(begun - per_hour * 24) <= 0.51


def test_a_first_round_begins_no_hour() -> None:
    rate = Rate.of(1.0, 600)
    assert rate.allowance(None, NOON) == 0
    assert [rate.allowance(NOON - 1, NOON), rate.allowance(NOON, NOON + 600)] == [1, 0]


# -- many rounds -----------------------------------------------------------------------------------


ADS: Final = st.lists(
    st.builds(
        lambda number, cpus, state, rank, age: (slot if state == 0 else draining)(
            f"m{number}",
            cpus,
            **({"reason": "upgrade"} if state == 2 else {}),
            Worth=rank,
            LastHeardFrom=NOON - age,
        ),
        st.integers(0, 9),
        st.sampled_from((1, 8)),
        st.sampled_from((0, 0, 0, 1, 2)),
        st.integers(0, 3),
        st.integers(0, 900),
    ),
    max_size=12,
    unique_by=lambda ad: ad["Name"],
)


@settings(max_examples=150)
@given(
    ads=ADS,
    begun=st.dictionaries(st.sampled_from([f"m{number}" for number in range(10)]), st.just(NOON - 300), max_size=4),
    rate=st.sampled_from((0.0, 6.0, 24.0)),
    max_whole=st.one_of(st.none(), st.integers(0, 4)),
    max_draining=st.one_of(st.none(), st.integers(0, 4)),
    chance=st.integers(0, 3),
)
def test_no_round_begins_too_much(
    ads: list[ClassAd],
    begun: dict[str, float],
    rate: float,
    max_whole: int | None,
    max_draining: int | None,
    chance: int,
) -> None:
    policy = DefragPolicy(
        machines_per_hour=rate, max_whole=max_whole, max_draining=max_draining, rank=parse_expression("Worth")
    )
    state = DefragState(last_round_at=NOON - 600, begun=begun)
    found = seen(ads, policy, state, chance=chance)
    asked, views = drained(found), {one.name: one for one in machines_of(ads, policy, NOON)}
    assert len(set(asked)) == len(asked) <= rate / 6
    waiting = {name for name in begun if name in views and views[name].heard_at <= begun[name]}
    assert not any(views[name].draining or views[name].whole or name in waiting for name in asked)
    if asked:
        assert max_whole is None or sum(one.whole for one in views.values()) < max_whole
        now_draining = {one.name for one in views.values() if one.ours} | waiting | set(asked)
        assert max_draining is None or len(now_draining) <= max_draining
        lowest = min(views[name].rank for name in asked)
        free = [one for one in views.values() if not (one.draining or one.whole or one.name in waiting)]
        assert all(one.rank <= lowest for one in free if one.name not in asked)
    assert set(cancelled(found)) == {one.name for one in views.values() if one.ours and one.whole}
    assert restored(json.loads(json.dumps(persisted(found.state), allow_nan=False))) == found.state


@pytest.mark.parametrize(("limit", "per_hour"), [(12, 10.0), (4, 4.0)])
def test_in_the_long_run_the_rate_and_the_limit_are_what_the_pool_gets(limit: int, per_hour: float) -> None:
    """40 machines; a drain takes 50 minutes; a machine is taken to pieces again at once; ads are 5 minutes old."""
    policy = DefragPolicy(machines_per_hour=10.0, max_draining=limit)
    state = begin(DefragState(), NOON, policy, "c").state
    until: dict[str, float] = {}
    most, total = 0, 0
    for number in range(144):
        now = NOON + number * 600
        ads = []
        for index in range(40):
            name, shown_at = f"m{index}", now - 300
            busy = name in until and until[name] - 3000 <= shown_at < until[name]
            ads.append((draining if busy else slot)(name, LastHeardFrom=shown_at))
        asked = step(state, DefragTimerFired(timer=DefragTimer.ROUND), now, policy, "c").state
        found = step(asked, PoolSeen(ads=tuple(ads), chance=number), now, policy, "c")
        state = found.state
        for name in drained(found):
            assert until.get(name, 0.0) <= now
            until[name] = now + 3000
            state = step(state, DrainAnswered(machine=name), now, policy, "c").state
        most = max(most, sum(1 for at in until.values() if at > now))
        total += len(drained(found))
    assert most <= limit
    assert per_hour * 0.9 <= total / 24 <= per_hour * 1.1
    assert state.figures.drain_successes == total


# -- figures -----------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1e5), min_size=2, max_size=20))
def test_mean_and_deviation_of_arrivals_are_those_of_statistics(gaps: list[float]) -> None:
    figures, now = Figures().arrived(1, NOON), NOON
    for gap in gaps:
        now += gap
        figures = figures.arrived(1, now)
    exact = [later - earlier for earlier, later in zip(_sums(gaps), _sums(gaps)[1:], strict=False)]
    assert figures.mean_interval_s == pytest.approx(statistics.fmean(exact), abs=1e-3)
    assert figures.deviation_s == pytest.approx(statistics.stdev(exact), abs=1e-2)


def _sums(gaps: Sequence[float]) -> list[float]:
    sums = [NOON]
    for gap in gaps:
        sums.append(sums[-1] + gap)
    return sums


def test_costs_are_averaged_over_machines_by_their_cores_and_ages() -> None:
    first = slot("a", TotalMachineDrainingBadput=8_000, TotalMachineDrainingUnclaimedTime=400)
    second = slot("b", TotalCpus=32)
    other = slot("a", Name="slot2@a", SlotID=2, TotalMachineDrainingBadput=8_000)
    dynamic = slot("a", Name="slot1_1@a", DynamicSlot=True, TotalMachineDrainingBadput=8_000)
    badput, unclaimed = average_costs([first, second, other, dynamic, slot("c", DaemonStartTime=NOON)])
    assert badput == pytest.approx(8_000 / 10_000 / 40)
    assert unclaimed == pytest.approx(400 / 10_000 / 40)
    assert average_costs([]) == (0.0, 0.0)


def test_the_ad_tells_all_figures() -> None:
    found = seen([slot("w", 8), draining("a"), slot("b")])
    update = step(found.state, DefragTimerFired(timer=DefragTimer.UPDATE), NOON, BUSY, "central")
    ad = next(effect.ad for effect in update.effects if isinstance(effect, PublishDefragAd))
    assert ad == daemon_ad(found.state.figures, "defrag", "central", NOON)
    assert (ad["MyType"], ad["Name"], ad["WholeMachines"], ad["MachinesDraining"]) == ("Defrag", "defrag", 1, 1)
    peak = seen([], state=found.state).state.figures
    assert (peak.whole_machines, peak.whole_machines_peak, peak.machines_draining_peak) == (0, 1, 1)


# -- configuration and record --------------------------------------------------------------------------


def configured(text: str) -> DefragPolicy:
    config: Config = load_text(text, MemoryHost())
    return configured_policy(config, host="central")


def test_by_default_nothing_is_drained() -> None:
    policy = configured("")
    assert policy == DefragPolicy(name="central")
    assert policy.rate == Rate(per_round=0, per_hour=0, per_day=0)


def test_the_example_of_the_manual() -> None:
    policy = configured(
        "DEFRAG_INTERVAL = 3600\nDEFRAG_DRAINING_MACHINES_PER_HOUR = 1.0\n"
        "DEFRAG_MAX_WHOLE_MACHINES = 20\nDEFRAG_MAX_CONCURRENT_DRAINING = 10\n"
    )
    assert policy.rate == Rate(per_round=1, per_hour=0, per_day=0)
    assert (policy.max_whole, policy.max_draining, policy.interval_s) == (20, 10, 3600)


def test_everything_can_be_configured() -> None:
    policy = configured(
        "DEFRAG_NAME = tidy\nDEFRAG_WHOLE_MACHINE_EXPR = Cpus >= 4\nDEFRAG_REQUIREMENTS = Rack == 3\n"
        "DEFRAG_RANK = Worth\nDEFRAG_DRAINING_START_EXPR = TARGET.Short\nDEFRAG_SCHEDULE = Quick\n"
    )
    assert policy.name == "tidy@central"
    assert str(policy.cancel) == str(policy.whole) == "Cpus >= 4"
    assert (str(policy.requirements), str(policy.rank)) == ("Rack == 3", "Worth")
    assert str(policy.draining_start) == "TARGET.Short"
    assert policy.schedule is DrainSchedule.QUICK
    assert configured("DEFRAG_SCHEDULE = quick\nDEFRAG_DRAINING_SCHEDULE = fast\n").schedule is DrainSchedule.FAST


def test_a_record_that_is_none_is_refused() -> None:
    for record in (None, {}, {"format": "roost defrag", "version": 2}, {**persisted(DefragState()), "content": {}}):  # type: ignore[dict-item]
        with pytest.raises(PlainError):
            restored(record)
