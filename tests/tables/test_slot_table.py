"""The table of transitions: every row has a case that takes it, and every event is tried in every pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, get_args

import pytest

from roost.classad import ClassAd, parse_expression
from roost.model import effects as ef
from roost.model import events as ev
from roost.model.claims import ClaimRequest
from roost.model.reasons import Leaving, Reason
from roost.model.slots import SlotKind
from roost.policy.catalogue.machine import STARTD
from roost.startd import states as at
from roost.startd.machine import Outcome
from roost.startd.receptions import RECEPTIONS
from roost.startd.slot_state import Eviction
from roost.startd.states import PAIRS, Pair
from roost.startd.transitions import EVALUATED_AT_ONCE, TRANSITIONS, Entry, Transition
from roost.startd.validation import violations
from tests.startd.kit import STRANGE, Hand, in_pair, job, policy

R = Reason


@dataclass(frozen=True)
class Case:
    """From a pair, what is done, and the rows that this takes."""

    start: Pair
    act: Callable[[Hand], object]
    rows: list[tuple[str, Reason]]
    #: The policy while it is done.
    expressions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    kind: SlotKind = SlotKind.STATIC


def poll(hand: Hand) -> object:
    return hand.poll(1)


def release(hand: Hand) -> object:
    return hand.feed(ev.ClaimReleased(claim_id=hand.state.claim.id))


def vacate(hand: Hand) -> object:
    return hand.feed(ev.VacateRequested())


def vacate_fast(hand: Hand) -> object:
    return hand.feed(ev.VacateRequested(fast=True))


def by_cell(*causes: str) -> Callable[[Hand], object]:
    return lambda hand: hand.suspenders(*causes)


def suspend(hand: Hand) -> object:
    return hand.feed(ev.SuspendRequested(claim_id=hand.state.claim.id))


def resume(hand: Hand) -> object:
    return hand.feed(ev.ContinueRequested(claim_id=hand.state.claim.id))


def cancel_drain(hand: Hand) -> object:
    hand.machine = ev.MachineFacts()
    return hand.feed(ev.DrainCancelled())


def gone(hand: Hand) -> object:
    return hand.gone()


def backfill_gone(hand: Hand) -> object:
    return hand.feed(ev.BackfillExited())


def then(*acts: Callable[[Hand], object]) -> Callable[[Hand], object]:
    """Do all; only the last step counts."""

    def run(hand: Hand) -> object:
        return [act(hand) for act in acts][-1]

    return run


def preempt(hand: Hand) -> object:
    return hand.preempt()


def fetch(ad: ClassAd | None) -> Callable[[Hand], object]:
    def run(hand: Hand) -> object:
        hand.poll(1000)
        return hand.feed(ev.FetchedWorkOffered(job_ad=ad))

    return run


def unspawned(hand: Hand) -> object:
    return hand.feed(ev.StarterExited(spawned=False))


def set_policy(**expressions: str) -> Callable[[Hand], object]:
    def run(hand: Hand) -> object:
        hand.policy = policy(expressions, backfill=True)
        return None

    return run


FETCHING: Final = {"fetches_work": True}
LONG: Final = {"MAXJOBRETIREMENTTIME": "10000"}
FETCHED: Final = then(fetch(job()), poll)

CASES: Final = [
    Case(at.OWNER, poll, [("1", R.OWNER_ABSENT)]),
    Case(at.OWNER, lambda h: h.match(), [("6", R.MATCH)]),
    Case(at.OWNER, lambda h: h.request(), [("5", R.CLAIM_ACCEPTED)]),
    Case(at.OWNER, lambda h: h.drain(), [("36", R.DRAINING)]),
    Case(at.UNCLAIMED, lambda h: h.match(), [("6", R.MATCH)]),
    Case(at.UNCLAIMED, lambda h: h.request(), [("5", R.CLAIM_ACCEPTED)]),
    Case(at.UNCLAIMED, lambda h: h.drain(), [("37", R.DRAINING)]),
    Case(at.UNCLAIMED, poll, [("2", R.OWNER_PRESENT)], {"IS_OWNER": "true"}),
    Case(at.UNCLAIMED, poll, [("7", R.BACKFILL_WANTED)], {"START_BACKFILL": "1"}, {"backfill": True}),
    Case(at.UNCLAIMED, poll, [("3", R.BENCHMARKS_DUE)], {"RunBenchmarks": "LastBenchmark == 0"}),
    Case(at.BENCHMARKING, lambda h: h.match(), [("6", R.MATCH)]),
    Case(at.BENCHMARKING, lambda h: h.request(), [("5", R.CLAIM_ACCEPTED)]),
    Case(at.BENCHMARKING, lambda h: h.feed(ev.BenchmarksFinished(mips=9)), [("4", R.BENCHMARKS_DONE)]),
    Case(at.BENCHMARKING, lambda h: h.drain(), [("37", R.DRAINING)]),
    Case(at.BENCHMARKING, poll, [("2", R.OWNER_PRESENT)], {"IS_OWNER": "true"}),
    Case(at.BENCHMARKING, poll, [("7", R.BACKFILL_WANTED)], {"START_BACKFILL": "1"}, {"backfill": True}),
    Case(at.MATCHED, lambda h: h.request(), [("9", R.CLAIM_ACCEPTED)]),
    Case(at.MATCHED, lambda h: h.request(), [("8", R.CLAIM_REFUSED), ("1", R.OWNER_ABSENT)], {"START": "false"}),
    Case(at.MATCHED, release, [("8", R.CLAIM_RELEASED), ("1", R.OWNER_ABSENT)]),
    Case(
        at.MATCHED,
        lambda h: h.feed(ev.ClaimMoved(claim_id=h.state.claim.id)),
        [("8", R.CLAIM_MOVED), ("1", R.OWNER_ABSENT)],
        kind=SlotKind.PARTITIONABLE,
    ),
    Case(at.MATCHED, vacate, [("8", R.EVICTION_ORDERED), ("1", R.OWNER_ABSENT)]),
    Case(at.MATCHED, lambda h: h.fire(ev.Timer.MATCH, 120), [("8", R.MATCH_TIMEOUT), ("1", R.OWNER_ABSENT)]),
    Case(at.MATCHED, poll, [("8", R.START_FALSE)], {"START": "false", "IS_OWNER": "true"}),
    Case(at.CLAIMED, lambda h: h.activate(), [("11", R.ACTIVATION)]),
    Case(
        at.UNCLAIMED,
        fetch(job()),
        [("5", R.CLAIM_ACCEPTED), ("11", R.FETCHED_WORK)],
        settings=FETCHING,
    ),
    Case(
        at.UNCLAIMED,
        then(fetch(job()), gone, fetch(None)),
        [("10", R.NO_MORE_WORK), ("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)],
        {"FetchWorkDelay": "0"},
        FETCHING,
    ),
    Case(
        at.UNCLAIMED,
        then(fetch(job()), unspawned),
        [("13", R.NO_MORE_WORK), ("18", R.JOB_ENDED), ("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)],
        settings=FETCHING,
    ),
    Case(at.CLAIMED, release, [("10", R.HARD_KILL_ORDERED), ("25", R.STARTER_GONE), ("1", R.OWNER_ABSENT)]),
    Case(at.CLAIMED, vacate, [("10", R.EVICTION_ORDERED), ("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)]),
    Case(at.CLAIMED, preempt, [("10", R.BETTER_MATCH), ("23", R.SUCCESSOR)]),
    Case(
        at.CLAIMED,
        lambda h: h.drain(),
        [("10", R.RETIREMENT_OVER), ("22", R.STARTER_GONE), ("36", R.DRAINING)],
    ),
    Case(
        at.CLAIMED,
        then(lambda h: h.drain(drain_remaining_s=500.0), lambda h: h.poll(20)),
        [("10", R.DRAINING), ("22", R.STARTER_GONE), ("36", R.DRAINING)],
    ),
    Case(
        at.UNCLAIMED,
        then(lambda h: h.drain(start=parse_expression("true"), drain_remaining_s=5000.0), lambda h: h.request()),
        [("5", R.CLAIM_ACCEPTED)],
    ),
    Case(at.CLAIMED, poll, [("10", R.OWNER_PRESENT), ("22", R.STARTER_GONE)], {"IS_OWNER": "true"}),
    Case(
        at.CLAIMED,
        lambda h: h.feed(ev.SlotLeaves(reason=Leaving.SURPLUS)),
        [("10", R.LEAVING), ("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)],
    ),
    Case(
        at.BUSY,
        then(gone, lambda h: h.poll(100)),
        [("10", R.WORKLIFE_OVER), ("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)],
        {"CLAIM_WORKLIFE": "50"},
    ),
    Case(at.BUSY, gone, [("12", R.JOB_ENDED)]),
    Case(at.BUSY, lambda h: h.feed(ev.JobExited()), [("12", R.FINAL_UPDATE)]),
    Case(at.BUSY, vacate_fast, [("13", R.HARD_KILL_ORDERED), ("18", R.HARD_KILL_ORDERED)]),
    Case(at.BUSY, vacate, [("13", R.EVICTION_ORDERED), ("18", R.RETIREMENT_OVER)]),
    Case(at.BUSY, suspend, [("14", R.SUSPENSION_ORDERED)]),
    Case(at.BUSY, by_cell("threshold"), [("14", R.CELL_SUSPENSION)]),
    Case(
        at.CLAIMED, then(by_cell("calendar"), lambda h: h.activate()), [("11", R.ACTIVATION), ("14", R.CELL_SUSPENSION)]
    ),
    Case(at.RETIRING, by_cell("threshold"), [("20", R.CELL_SUSPENSION)], LONG),
    Case(at.BUSY, then(by_cell("threshold"), by_cell()), [("15", R.CELL_CONTINUATION)]),
    Case(at.RETIRING, then(by_cell("threshold"), by_cell()), [("16", R.CELL_CONTINUATION)], LONG),
    Case(at.BUSY, poll, [("13", R.PREEMPTION), ("18", R.RETIREMENT_OVER)], {"PREEMPT": "true"}),
    Case(
        at.BUSY,
        poll,
        [("13", R.PREEMPTION), ("18", R.RETIREMENT_OVER)],
        {"PREEMPT": "true", "WANT_VACATE": "false"},
    ),
    Case(at.BUSY, poll, [("14", R.SUSPENSION)], {"WANT_SUSPEND": "true", "SUSPEND": "true"}),
    Case(at.BUSY, preempt, [("13", R.BETTER_MATCH), ("18", R.RETIREMENT_OVER)]),
    Case(at.BUSY, preempt, [("13", R.BETTER_MATCH)], LONG),
    Case(
        at.CLAIMED,
        then(
            lambda h: h.drain(start=parse_expression("true"), drain_remaining_s=500.0),
            lambda h: h.activate(),
            lambda h: h.poll(501),
        ),
        [("13", R.RETIREMENT_OVER), ("18", R.RETIREMENT_OVER)],
        {"MAXJOBRETIREMENTTIME": "0", "MachineMaxVacateTime": "60"},
    ),
    Case(at.SUSPENDED, gone, [("15", R.JOB_ENDED), ("12", R.JOB_ENDED)]),
    Case(
        at.RETIRING,
        then(suspend, gone),
        [("16", R.JOB_ENDED), ("18", R.JOB_ENDED), ("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)],
        LONG,
    ),
    Case(at.SUSPENDED, vacate_fast, [("17", R.HARD_KILL_ORDERED)]),
    Case(at.SUSPENDED, vacate, [("16", R.EVICTION_ORDERED)], LONG),
    Case(at.RETIRING, then(suspend, resume), [("16", R.CONTINUATION_ORDERED)], LONG),
    Case(at.SUSPENDED, resume, [("15", R.CONTINUATION_ORDERED)]),
    Case(at.SUSPENDED, preempt, [("17", R.RETIREMENT_OVER)]),
    Case(
        at.SUSPENDED,
        preempt,
        [("17", R.RETIREMENT_OVER)],
        {"PREEMPT": "true", "WANT_VACATE": "false"},
    ),
    Case(at.SUSPENDED, poll, [("16", R.PREEMPTION)], {**LONG, "PREEMPT": "true"}),
    Case(
        at.RETIRING,
        then(poll, set_policy(**LONG), poll),
        [("16", R.CONTINUATION)],
        {**LONG, "WANT_SUSPEND": "true", "SUSPEND": "true"},
    ),
    Case(
        at.BUSY,
        then(poll, poll),
        [("15", R.CONTINUATION)],
        {"WANT_SUSPEND": "true", "SUSPEND": "true", "CONTINUE": "true"},
    ),
    Case(at.RETIRING, gone, [("18", R.JOB_ENDED), ("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)]),
    Case(at.RETIRING, vacate_fast, [("18", R.HARD_KILL_ORDERED)]),
    Case(at.RETIRING, suspend, [("20", R.SUSPENSION_ORDERED)], LONG),
    Case(at.RETIRING, poll, [("18", R.RETIREMENT_OVER)]),
    Case(at.RETIRING, poll, [("20", R.SUSPENSION)], {**LONG, "WANT_SUSPEND": "true", "SUSPEND": "true"}),
    Case(
        at.BUSY,
        then(preempt, lambda h: h.feed(ev.ClaimReleased(claim_id=h.state.preempting.id))),  # type: ignore[union-attr]
        [("19", R.CAUSE_GONE)],
        LONG,
    ),
    Case(at.CLEANING, gone, [("12a", R.JOB_ENDED)]),
    Case(
        at.CLEANING,
        then(vacate, gone),
        [("12b", R.JOB_ENDED), ("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)],
    ),
    Case(at.VACATING, gone, [("22", R.STARTER_GONE), ("1", R.OWNER_ABSENT)]),
    Case(at.BUSY, then(preempt, gone), [("23", R.SUCCESSOR)]),
    Case(at.VACATING, vacate_fast, [("21", R.HARD_KILL_ORDERED)]),
    Case(at.VACATING, lambda h: h.fire(ev.Timer.VACATE, 600), [("21", R.VACATE_TIME_OVER)]),
    Case(at.VACATING, poll, [("21", R.KILL)], {"KILL": "true"}),
    Case(at.KILLING, gone, [("25", R.STARTER_GONE), ("1", R.OWNER_ABSENT)]),
    Case(at.BUSY, then(preempt, vacate_fast, gone), [("24", R.SUCCESSOR)]),
    Case(at.BACKFILL, lambda h: h.request(), [("31", R.CLAIM_ACCEPTED)]),
    Case(at.BACKFILL, lambda h: h.match(), [("32", R.MATCH)]),
    Case(at.BACKFILL, vacate, [("30", R.BACKFILL_DISPLACED), ("1", R.OWNER_ABSENT)]),
    Case(at.BACKFILL, poll, [("30", R.BACKFILL_UNWANTED)], {"EVICT_BACKFILL": "true", "IS_OWNER": "true"}),
    Case(at.BACKFILL, lambda h: h.feed(ev.BackfillStarted()), [("26", R.BACKFILL_RUNNING)]),
    Case(at.BACKFILL_BUSY, backfill_gone, [("27", R.BACKFILL_ENDED)]),
    Case(at.BACKFILL_BUSY, lambda h: h.request(), [("28", R.BACKFILL_DISPLACED)]),
    Case(at.BACKFILL_BUSY, poll, [("28", R.BACKFILL_UNWANTED)], {"EVICT_BACKFILL": "true"}),
    Case(at.BACKFILL_KILLING, backfill_gone, [("29", R.BACKFILL_ENDED), ("32", R.MATCH)]),
    Case(at.DRAINED_RETIRING, cancel_drain, [("35", R.DRAIN_OVER), ("1", R.OWNER_ABSENT)]),
    Case(at.DRAINED, cancel_drain, [("34", R.DRAIN_OVER), ("1", R.OWNER_ABSENT)]),
    Case(
        at.DRAINED_RETIRING,
        then(lambda h: setattr(h, "machine", ev.MachineFacts(all_drained=True)), poll),
        [("33", R.ALL_SLOTS_DRAINED)],
    ),
]


def taken_by(case: Case) -> Hand:
    hand = in_pair(case.start, kind=case.kind)
    hand.policy = policy(case.expressions, **case.settings)
    case.act(hand)
    return hand


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.start}-{'-'.join(row[0] for row in case.rows)}")
def test_a_case_takes_its_rows(case: Case) -> None:
    hand = taken_by(case)
    assert [(taken.number, taken.reason) for taken in hand.last.transitions] == case.rows


def test_every_row_is_taken_by_some_case() -> None:
    taken = {
        (row.number, row.source, row.target, row.reason) for case in CASES for row in taken_by(case).last.transitions
    }
    assert {(row.number, row.source, row.target, row.reason) for row in TRANSITIONS} == taken


def test_the_table_has_every_number_of_the_manual() -> None:
    numbers = {row.number for row in TRANSITIONS}
    assert numbers - {"12a", "12b"} == {str(number) for number in range(1, 38)}


def test_the_table_has_every_letter_of_the_manual() -> None:
    assert {row.letter for row in TRANSITIONS} - {""} == set("ABCDEFGHIJKLMNOP")


def test_the_slot_receives_every_event() -> None:
    assert set(RECEPTIONS) == set(get_args(ev.Event))


def test_evaluation_at_once_is_for_idle_and_retiring() -> None:
    assert {str(pair) for pair in EVALUATED_AT_ONCE} == {
        "Owner/Idle",
        "Unclaimed/Idle",
        "Matched/Idle",
        "Claimed/Idle",
        "Claimed/Retiring",
        "Drained/Retiring",
        "Drained/Idle",
    }


# -- what rows order ---------------------------------------------------------------------------------------

#: What an entry orders without any condition; with several kinds, one of them.
ORDERED: Final[dict[Entry, tuple[type[Any], ...]]] = {
    Entry.START_JOB: (ef.ActivateStarter,),
    Entry.SUSPEND_JOB: (ef.SuspendJob,),
    Entry.SUSPEND_BY_COMMAND: (ef.SuspendJob,),
    Entry.SUSPEND_BY_CELL: (ef.SuspendJob,),
    Entry.CONTINUE_JOB: (ef.ContinueJob,),
    Entry.SOFT_KILL: (ef.SoftKill,),
    Entry.HARD_KILL: (ef.HardKill,),
    Entry.RUN_BENCHMARKS: (ef.RunBenchmarks,),
    Entry.STOP_BENCHMARKS: (ef.CancelBenchmarks,),
    Entry.KILL_BACKFILL: (ef.KillBackfill,),
    Entry.END_CLAIM: (ef.TellSchedd, ef.EvictFetched),
}

#: Entries that change what the slot knows, and order nothing of themselves or not always.
QUIET_ENTRIES: Final = {
    Entry.RENEW_CLAIM,
    Entry.START_MATCH_TIMER,
    Entry.STOP_MATCH_TIMER,
    Entry.GRANT_CLAIM,
    Entry.SUCCEED,
    Entry.DROP_JOB,
    Entry.PREEMPTED,
    Entry.UNRETIRE,
    Entry.START_BACKFILL,
    Entry.HEAD_FOR_OWNER,
    Entry.ARRIVE,
}


def rows_of(hand: Hand) -> list[Transition]:
    """The rows of the table that the last step took."""
    return [
        next(row for row in TRANSITIONS if (row.number, row.source, row.target, row.reason) == key)
        for key in ((one.number, one.source, one.target, one.reason) for one in hand.last.transitions)
    ]


def test_every_entry_is_known_to_order_something_or_not() -> None:
    assert set(ORDERED) | QUIET_ENTRIES == set(Entry) and not set(ORDERED) & QUIET_ENTRIES


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.start}-{'-'.join(row[0] for row in case.rows)}")
def test_a_row_orders_what_its_entries_say_and_nothing_else(case: Case) -> None:
    hand = taken_by(case)
    rows = rows_of(hand)
    entries = {entry for row in rows for entry in row.entry}
    kinds = {type(effect) for effect in hand.last.effects}
    for entry in entries & set(ORDERED):
        told = entry is not Entry.END_CLAIM or not holder_knows(hand, rows)
        again = entry is Entry.HARD_KILL and hand.state.claim.activation is None
        assert kinds & set(ORDERED[entry]) or not told or again, entry
    for entry, ordered in ORDERED.items():
        others = {kind for one in entries for kind in ORDERED.get(one, ())}
        assert not (kinds & set(ordered)) - others, entry
    assert ef.PublishAd in kinds


def holder_knows(hand: Hand, rows: list[Transition]) -> bool:
    """The holder ended the claim itself: it gave it back, or is taken for dead."""
    return not any(isinstance(effect, ef.TellSchedd | ef.EvictFetched) for effect in hand.last.effects) and (
        rows[0].reason in (R.HARD_KILL_ORDERED, R.NO_MORE_WORK, R.STARTER_GONE)
    )


def test_a_granted_claim_has_a_lease_a_reply_and_the_id_of_a_successor() -> None:
    for pair in (at.OWNER, at.UNCLAIMED, at.MATCHED, at.BENCHMARKING, at.BACKFILL):
        hand = in_pair(pair)
        before = hand.state.claim.id
        hand.request(job(JobLeaseDuration=77))
        assert hand.state.claim.id == before and hand.state.claim.lease_until == hand.now + 77
        assert [reply.accepted for reply in hand.ordered(ef.SendClaimReply)] == [True]
        assert hand.state.preempting is not None and hand.state.preempting.id != before
        assert hand.state.match_until is None


@pytest.mark.parametrize("case", [case for case in CASES if len(case.rows) > 0], ids=lambda case: str(case.start))
def test_leaving_a_claim_leaves_nothing_of_it(case: Case) -> None:
    hand = taken_by(case)
    if not any(Entry.RENEW_CLAIM in row.entry for row in rows_of(hand)) or hand.pair in (at.CLAIMED, at.BUSY):
        return
    fresh = hand.state
    assert fresh.claim.request is None and fresh.claim.granted_at is None and fresh.preempting is None
    assert fresh.eviction == Eviction() and fresh.destination is None
    assert (fresh.match_until, fresh.vacate_until, fresh.kill_again_at) == (None, None, None)


# -- every event in every pair ----------------------------------------------------------------------------


def events(hand: Hand) -> list[ev.Event]:
    """Every kind of event, with what makes a difference to it."""
    own = hand.state.claim.id
    asked = ClaimRequest(job_ad=job(), schedd="s", reply_to="other")
    found: list[ev.Event] = [
        ev.Polled(ad=ClassAd({"State": "Nonsense", "KeyboardIdle": 3})),
        *(ev.TimerFired(timer=timer) for timer in ev.Timer),
        *(
            ev.SuspendersChanged(claim=claim, suspenders=causes)
            for claim in (own.public, STRANGE.public)
            for causes in ({}, {"threshold": "it is exceeded"})
        ),
        ev.JobUpdated(attributes=ClassAd({"ImageSize": 5})),
        ev.JobExited(),
        ev.StarterEvicted(job_state="Vacating"),
        *(ev.StarterExited(spawned=spawned) for spawned in (True, False)),
        ev.StarterUnreachable(),
        *(ev.VacateRequested(fast=fast) for fast in (True, False)),
        ev.CheckpointRequested(),
        ev.SlotBroken(text="the prolog exited with status 1"),
        ev.SlotMended(),
        *(ev.SlotLeaves(reason=reason) for reason in Leaving),
        ev.SlotStays(),
        ev.SlotRemoved(),
        *(ev.ShutdownRequested(kind=kind) for kind in ev.ShutdownKind),
        *(ev.DrainRequested(request_id="9", schedule=schedule) for schedule in ev.DrainSchedule),
        ev.DrainOriginalsGone(),
        ev.DrainCancelled(),
        ev.BenchmarksFinished(mips=1, kflops=2),
        ev.BackfillStarted(),
        ev.BackfillExited(),
        ev.FetchedWorkOffered(),
        ev.FetchedWorkOffered(job_ad=job()),
    ]
    ids = [own, STRANGE] + ([] if hand.state.preempting is None else [hand.state.preempting.id])
    for claim_id in ids:
        found += [
            ev.MatchReceived(claim_id=claim_id),
            ev.ClaimRequested(claim_id=claim_id, request=asked),
            ev.ClaimReleased(claim_id=claim_id),
            ev.ClaimMoved(claim_id=claim_id),
            ev.AliveReceived(claim_id=claim_id, reply_to="x"),
            ev.ActivationRequested(claim_id=claim_id, job_ad=job(), reply_to="x"),
            *(
                ev.DeactivationRequested(claim_id=claim_id, forcible=forcible, reply_to="x")
                for forcible in (True, False)
            ),
            ev.SuspendRequested(claim_id=claim_id),
            ev.ContinueRequested(claim_id=claim_id),
        ]
    assert {type(event) for event in found} == set(get_args(ev.Event))
    return found


STARTD_NAMES: Final = tuple(row.name for row in STARTD)

#: Policies under which much or nothing happens.
POLICIES: Final = [
    policy(backfill=True),
    policy({"IS_OWNER": "true", "START": "false", "PREEMPT": "true", "EVICT_BACKFILL": "true", "KILL": "true"}),
    policy(
        {
            "WANT_SUSPEND": "true",
            "SUSPEND": "true",
            "START_BACKFILL": "true",
            "RunBenchmarks": "true",
            **LONG,
        },
        backfill=True,
        fetches_work=True,
    ),
    policy(dict.fromkeys(STARTD_NAMES, "error"), backfill=True, fetches_work=True),
]

LISTED: Final = {(row.number, row.source, row.target, row.reason) for row in TRANSITIONS}


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("rules", POLICIES, ids=["quiet", "owner", "busy", "error"])
def test_every_event_takes_listed_rows_or_changes_nothing(pair: Pair, rules: Any) -> None:
    for event in events(in_pair(pair)):
        for later in (0.0, 5.0, 100_000.0):
            hand = in_pair(pair)
            hand.policy = rules
            before = hand.state
            hand.now += later
            step = hand.feed(event)
            handled = pair in RECEPTIONS[type(event)].handled_in
            if step.outcome is Outcome.IGNORED or not handled:
                assert step.state is before and not step.transitions, event
            if step.outcome is Outcome.REFUSED:
                assert step.refusal is not None
            assert handled or step.outcome is not Outcome.HANDLED
            assert violations(step.state) == []
            here = pair
            for taken in step.transitions:
                assert taken.source == here
                assert (taken.number, taken.source, taken.target, taken.reason) in LISTED
                here = taken.target
            assert here == step.state.pair


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_step_is_a_function_of_its_arguments(pair: Pair) -> None:
    hand = in_pair(pair)
    for event in events(hand):
        before = hand.state
        first = in_pair(pair).feed(event)
        second = in_pair(pair).feed(event)
        assert first == second
        assert hand.state is before


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_an_unknown_claim_id_moves_nothing(pair: Pair) -> None:
    hand = in_pair(pair)
    for event in events(hand):
        if getattr(event, "claim_id", None) == STRANGE:
            assert not in_pair(pair).feed(event).transitions, event
