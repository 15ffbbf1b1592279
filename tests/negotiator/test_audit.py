"""What a cycle decided, for the record; and what a policy on trial would have changed."""

from __future__ import annotations

import pytest

from roost.base.structs import replaced
from roost.classad import ClassAd
from roost.classad.vector import Table
from roost.config import MemoryHost, load_text
from roost.model.audit import SAMPLES_MAX, AuditKind, AuditRecord, Detail, Effect
from roost.negotiator.accountant import Accountant
from roost.negotiator.audit import CAUSES_MAX, QUIET_S, TOLD_EVERY_S, Recurrence, recurring, single
from roost.negotiator.cycle import negotiate
from roost.negotiator.memory import Memory
from roost.negotiator.pool_policy import FINDINGS_MAX
from roost.negotiator.rehearsal import rehearse
from roost.negotiator.settings import NegotiatorSettings, settings_from
from roost.negotiator.snapshot import Plan, Snapshot, SubmitterDemand
from tests.negotiator.kit import NOW, claimed, demand, job, slot


def configured(text: str) -> NegotiatorSettings:
    return settings_from(load_text(text, MemoryHost(), file="pool.config"))


def cycle(
    text: str, slots: list[ClassAd], *demands: SubmitterDemand, accounts: Accountant | None = None
) -> tuple[Plan, Snapshot, NegotiatorSettings, Memory]:
    names = [str(ad["Name"]) for ad in slots]
    snapshot = Snapshot(
        slots=Table(zip(names, slots, strict=True)),
        claims={name: f"secret-{name}" for name in names},
        nodes=dict.fromkeys(names, "node"),
        demands=demands,
        now=NOW,
    )
    settings, memory = configured(text), Memory()
    return negotiate(snapshot, settings=settings, accounts=accounts, memory=memory), snapshot, settings, memory


def recurred(text: str, slots: list[ClassAd], *demands: SubmitterDemand) -> list[AuditRecord]:
    plan, _, settings, _ = cycle(text, slots, *demands)
    return recurring(plan.causes.items(), settings, NOW)


def test_discarded_ads_are_one_record_a_cause_with_its_expression_and_place() -> None:
    text = "A = 1\nNEGOTIATOR_PE_STARTD_ONLY_EXPR = Memory < 500\n"
    slots = [slot(f"slot{n}@a", Memory=100 if n < FINDINGS_MAX + 7 else 900) for n in range(FINDINGS_MAX + 10)]
    (record,) = recurred(text, slots, demand("ann@x", (job(), 1)))
    assert (record.kind, record.effect, record.count) == (AuditKind.DISCARD, Effect.DONE, FINDINGS_MAX + 7)
    assert (record.knob, record.expression) == ("NEGOTIATOR_PE_STARTD_ONLY_EXPR", "Memory < 500")
    assert record.place == "pool.config:2:1"
    assert record.samples == tuple(f"slot{n}@a" for n in range(SAMPLES_MAX))
    assert record.configuration == configured(text).in_force.configuration != configured("A = 2").in_force.configuration


def test_discarded_jobs_are_counted_and_not_requests() -> None:
    (record,) = recurred("NEGOTIATOR_PE_JOB_ONLY_EXPR = true", [slot("slot1")], demand("ann@x", (job(), 7)))
    assert (record.count, record.reason, record.samples) == (7, "jobs kept out of matchmaking", ("1.0",))


def test_prevented_matches_are_counted_by_user() -> None:
    text = 'NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.Owner == "bob"\n'
    wants = [demand("ann@x", (job(), 5)), demand("bob@x", (job(Owner="bob"), 1))]
    (record,) = recurred(text, [slot("slot1"), slot("slot2")], *wants)
    assert (record.kind, record.user, record.count) == (AuditKind.VETO, "ann@x", 2)
    assert record.samples == ("1.0 slot1", "1.0 slot2")


def test_what_a_policy_that_only_logs_would_have_done_is_told_as_that() -> None:
    text = "NEGOTIATOR_PE_JOB_ONLY_EXPR = true\nNEGOTIATOR_PE_LOG_ONLY = true\n"
    (record,) = recurred(text, [slot("slot1")], demand("ann@x", (job(), 1)))
    assert record.effect is Effect.WOULD_DISCARD


def test_an_expression_that_is_an_error_is_on_record() -> None:
    (record,) = recurred('NEGOTIATOR_PE_JOB_ONLY_EXPR = 1 + "a" > 2', [slot("slot1")], demand("ann@x", (job(), 1)))
    assert (record.kind, record.user) == (AuditKind.POLICY_ERROR, "ann@x")


def test_a_match_that_takes_a_slot_names_both_users_and_no_secret() -> None:
    accounts = Accountant()
    accounts.user("ann@x").priority, accounts.user("bob@x").priority = 1.0, 50.0
    found = cycle("PREEMPTION_REQUIREMENTS = RemoteUserPrio > SubmitterUserPrio * 1.2\n", [claimed("slot1", "bob@x")],
                  demand("ann@x", (job(), 1)), accounts=accounts)  # fmt: skip
    (record,) = single(found[0], found[1], found[2], accounts)
    assert (record.kind, record.user, record.loser) == (AuditKind.PREEMPTION, "ann@x", "bob@x")
    assert (record.slot, record.machine, record.job) == ("slot1", "node", "1.0")
    assert record.expression == "RemoteUserPrio > SubmitterUserPrio * 1.2"
    assert record.reason == "ann@x is given slot1, which bob@x uses: its priority is 1000, that of bob@x 50000"
    assert "secret" not in str(record)
    assert single(found[0], found[1], found[2], accounts) == [record], "the same decision is the same record"


def test_a_match_for_rank_names_the_slots_rank() -> None:
    found = cycle("", [claimed("slot1", "bob@x", Rank="=TARGET.Good")], demand("ann@x", (job(Good=5), 1)))
    (record,) = single(found[0], found[1], found[2], Accountant())
    assert (record.knob, record.expression) == ("RANK", "TARGET.Good")


def test_matches_that_the_administrator_wants_to_see_are_on_record() -> None:
    found = cycle('NEGOTIATOR_PE_AUDIT_EXPR = TARGET.Owner == "ann"', [slot("slot1"), slot("slot2")],
                  demand("ann@x", (job(), 1)), demand("bob@x", (job(Owner="bob"), 1), first=2))  # fmt: skip
    (record,) = single(found[0], found[1], found[2], Accountant())
    assert (record.kind, record.user, record.knob) == (AuditKind.MATCH, "ann@x", "NEGOTIATOR_PE_AUDIT_EXPR")


# -- what comes again --------------------------------------------------------------------------------------------


def cause(number: int = 0, **more: object) -> AuditRecord:
    found = AuditRecord(id=f"veto/{number}", kind=AuditKind.VETO, at=0.0, until=0.0)
    return replaced(found, **more)


def test_a_cause_that_goes_on_is_one_record_told_seldom() -> None:
    recurrence, told = Recurrence(), []
    for second in range(200):
        told += recurrence.fresh([cause(at=float(second), until=float(second), count=3)], float(second))
    assert {record.id for record in told} == {"veto/0/0"}
    assert [record.until for record in told] == [0.0, TOLD_EVERY_S, 2 * TOLD_EVERY_S, 3 * TOLD_EVERY_S]
    assert told[-1].at == 0.0
    assert told[-1].detail == Detail(cycles=181)


def test_a_cause_that_grows_is_told_at_once() -> None:
    recurrence = Recurrence()
    assert [each.count for each in recurrence.fresh([cause(count=3)], 0.0)] == [3]
    assert [each.count for each in recurrence.fresh([cause(count=5)], 1.0)] == [5]
    assert recurrence.fresh([cause(count=4)], 2.0) == []


def test_matches_are_others_each_time_and_add_up_with_their_names() -> None:
    recurrence, told = Recurrence(), []
    for now, name in ((1.0, "1.0 slot1"), (2.0, "2.0 slot1"), (3.0, "2.0 slot1")):
        told += recurrence.fresh([cause(kind=AuditKind.MATCH, at=now, until=now, samples=(name,))], now)
    both = ("1.0 slot1", "2.0 slot1")
    assert [(each.count, each.samples) for each in told] == [(1, both[:1]), (2, both), (3, both)]


def test_a_cause_that_was_gone_for_long_is_another_record_and_so_is_one_of_another_configuration() -> None:
    recurrence = Recurrence()
    first = recurrence.fresh([cause()], 0.0)
    again = recurrence.fresh([cause(at=QUIET_S + 1)], QUIET_S + 1)
    other = recurrence.fresh([cause(configuration="b")], QUIET_S + 2)
    assert len({each.id for each in (*first, *again, *other)}) == 3


def test_causes_that_go_on_are_limited() -> None:
    recurrence = Recurrence()
    recurrence.fresh([cause(number) for number in range(CAUSES_MAX + 10)], 0.0)
    assert recurrence.fresh([cause(CAUSES_MAX + 9)], 1.0) == []
    assert len(recurrence.fresh([cause(0)], 1.0)) == 1


# -- policies on trial -------------------------------------------------------------------------------------------


def differences(text: str, slots: list[ClassAd], *demands: SubmitterDemand) -> dict[tuple[str, str, str], int]:
    """(effect, knob, what) to number."""
    plan, snapshot, settings, memory = cycle(text, slots, *demands)
    found = rehearse(snapshot, settings, plan, memory)
    return {(str(each.effect), each.knob.removeprefix("NEGOTIATOR_PE_"), each.reason): each.count for each in found}


PAIRS, MADE = "pairs of job and slot that accept each other", "matches that were made"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("NEGOTIATOR_PE_JOB_ONLY_EXPR = false", {}),
        (
            "NEGOTIATOR_PE_DRYRUN_STARTD_ONLY_EXPR = Memory < 500",
            {
                ("would-discard", "DRYRUN_STARTD_ONLY_EXPR", "slots"): 1,
                ("would-prevent", "DRYRUN_STARTD_ONLY_EXPR", MADE): 1,
            },
        ),
        (
            "NEGOTIATOR_PE_STARTD_ONLY_EXPR = Memory < 500\nNEGOTIATOR_PE_DRYRUN_STARTD_ONLY_EXPR = false",
            {("would-admit", "DRYRUN_STARTD_ONLY_EXPR", "slots"): 1},
        ),
        (
            'NEGOTIATOR_PE_DRYRUN_JOB_ONLY_EXPR = Owner == "bob"',
            {
                ("would-discard", "DRYRUN_JOB_ONLY_EXPR", "jobs"): 4,
                ("would-prevent", "DRYRUN_JOB_ONLY_EXPR", MADE): 1,
            },
        ),
        (
            'NEGOTIATOR_PE_DRYRUN_SCHEDD_ONLY_EXPR = Name == "bob@x"',
            {
                ("would-discard", "DRYRUN_SCHEDD_ONLY_EXPR", "submitters"): 1,
                ("would-prevent", "DRYRUN_SCHEDD_ONLY_EXPR", MADE): 1,
            },
        ),
        (
            'NEGOTIATOR_PE_DRYRUN_RESOURCE_EXPR = TARGET.Owner != "ann"',
            {
                ("would-prevent", "DRYRUN_RESOURCE_EXPR", PAIRS): 3,
                ("would-prevent", "DRYRUN_RESOURCE_EXPR", MADE): 2,
            },
        ),
        (
            'NEGOTIATOR_PE_JOB_EXPR = MY.Owner != "ann"\nNEGOTIATOR_PE_DRYRUN_JOB_EXPR = TARGET.Memory > 500',
            {
                ("would-allow", "DRYRUN_JOB_EXPR", PAIRS): 2,
                ("would-prevent", "DRYRUN_JOB_EXPR", PAIRS): 1,
                ("would-prevent", "DRYRUN_JOB_EXPR", MADE): 1,
            },
        ),
    ],
)
def test_a_policy_on_trial_changes_nothing_and_tells_what_it_would(
    text: str, wanted: dict[tuple[str, str, str], int]
) -> None:
    slots = [slot("slot1"), slot("slot2"), slot("small", Memory=100)]
    for each in slots:
        each.set("Requirements", "true")
    wants = [demand("ann@x", (job(), 2)), demand("bob@x", (job(Owner="bob"), 4), first=2)]
    for each, name in zip(wants, ("ann@x", "bob@x"), strict=True):
        each.ad["Name"] = name
    in_force = "\n".join(line for line in text.splitlines() if "DRYRUN" not in line)
    assert cycle(text, slots, *wants)[0].matches == cycle(in_force, slots, *wants)[0].matches
    assert differences(text, slots, *wants) == wanted


def test_where_there_are_too_many_pairs_requests_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.negotiator.rehearsal.PAIRS_MAX", 4)
    wants = [demand(f"u{n}@x", (job(Owner=f"u{n}"), 1), first=n + 1) for n in range(3)]
    slots = [slot("slot1"), slot("slot2"), slot("slot3")]
    plan, snapshot, settings, memory = cycle("NEGOTIATOR_PE_DRYRUN_RESOURCE_EXPR = false", slots, *wants)
    seen = []
    for turn in range(4):
        found = rehearse(snapshot, settings, plan, memory, turn=turn)
        seen += [each.user for each in found if each.reason == PAIRS]
    assert seen == ["u0@x", "u1@x", "u2@x", "u0@x"]


@pytest.mark.parametrize("count", [1, 4])
def test_a_match_of_one_of_several_jobs_names_none_of_them(count: int) -> None:
    slots = [slot(f"s{number}") for number in range(4)]
    plan, snapshot, settings, _ = cycle("NEGOTIATOR_PE_AUDIT_EXPR = True", slots, demand("ann@x", (job(), count)))
    records = single(plan, snapshot, settings, Accountant())
    assert len(records) == count
    if count == 1:
        assert [(each.job, each.reason) for each in records] == [("1.0", f"ann@x is given {records[0].slot}")]
    else:
        assert {each.job for each in records} == {""}
        assert all("a job of ann@x, of the kind of 1.0, is given" in each.reason for each in records)
        assert [each.detail for each in records] == [Detail(like="1.0", among=4)] * 4


@pytest.mark.parametrize("count", [1, 2])
def test_a_preemption_for_one_of_several_jobs_names_none_of_them(count: int) -> None:
    slots = [claimed(f"s{number}", "bob@x", Rank='=TARGET.Owner == "ann" ? 1.0 : 0.0') for number in range(2)]
    plan, snapshot, settings, _ = cycle("", slots, demand("ann@x", (job(), count)))
    records = single(plan, snapshot, settings, Accountant())
    assert [each.job for each in records] == (["1.0"] if count == 1 else ["", ""])
    assert {each.loser for each in records} == {"bob@x"}


def test_an_error_in_a_matching_expression_counts_pairs() -> None:
    slots = [slot(f"s{number}") for number in range(4)]
    text = 'NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.RequestMemory < "x"'
    plan, _, settings, _ = cycle(
        text, slots, demand("ann@x", (job(), 1)), demand("bob@x", (job(RequestMemory=3), 1), first=2)
    )
    wrong = [each for each in recurring(plan.causes.items(), settings, NOW) if each.kind is AuditKind.POLICY_ERROR]
    assert {each.reason for each in wrong} == {"pairs of a job and a slot for which the expression is ERROR"}
    assert [(each.user, each.count) for each in wrong] == [("ann@x", 4), ("bob@x", 4)]
