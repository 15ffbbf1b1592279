"""Stories, from records and ads."""

from __future__ import annotations

from typing import Any

import pytest

from roost.classad import ClassAd
from roost.explain.happenings import Milestone, of_event
from roost.explain.story import job_story, submitter
from roost.model.audit import AuditKind, AuditRecord
from roost.model.slot_transition import SlotTransition
from roost.schedd.event_log import log
from roost.schedd.event_log.base import Event
from roost.schedd.event_log.log import LoggedEvent
from roost.schedd.event_log.parts import ProgramExit
from roost.wire.audit import audit_from
from roost.wire.structs import read

KEPT_OUT = AuditRecord(id="k", kind=AuditKind.DISCARD, at=5.0, until=20.0, reason="submitters kept out of matchmaking")


def told(ad: dict[str, Any]) -> list[str]:
    story = job_story("1.0", ClassAd(ad), events=[], records=[], decisions=[], kept_out=[KEPT_OUT])
    return [each.what for each in story if each.who == "the pool's policy"]


def test_a_job_hears_of_a_decision_that_kept_its_submitter_out_while_it_was_there() -> None:
    assert told({"QDate": 10}) == ["1 submitter kept out of matchmaking of any user"]
    assert told({"QDate": 30}) == []
    assert told({"QDate": 1, "CompletionDate": 4}) == []


@pytest.mark.parametrize(
    ("ad", "name"),
    [
        ({"User": "ann@x", "AccountingGroup": "chem.ann"}, "chem.ann@x"),
        ({"User": "ann@x", "AccountingGroup": "chem.ann@y"}, "chem.ann@y"),
        ({"User": "bob@x"}, "bob@x"),
    ],
)
def test_the_submitter_of_a_job_is_its_group_or_its_user(ad: dict[str, Any], name: str) -> None:
    assert submitter(ClassAd(ad)) == name


# -- order ---------------------------------------------------------------------------------------------------------


def logged(*events: tuple[int, Event]) -> list[LoggedEvent]:
    """A job's log, whose times are whole seconds."""
    return [LoggedEvent(event=event, number=event.NUMBER, cluster=1, proc=0, time=float(at)) for at, event in events]


def decision(at: float, kind: str, reason: str, **more: Any) -> AuditRecord:
    data = {"id": "d", "kind": kind, "at": at, "until": at, "reason": reason, "job": "1.0", "actor": "root", **more}
    return audit_from(data)


def slot(at: float, source: str, target: str, **more: Any) -> SlotTransition:
    data = {
        "at": at,
        "slot": "slot1@m",
        "from": source,
        "to": target,
        "number": "14",
        "reason": "r",
        "job": "1.0",
    }
    return read(SlotTransition, data | more, "record", strict=True)


def lines(
    events: list[LoggedEvent], *decisions: AuditRecord, records: tuple[SlotTransition, ...] = (), **ad: Any
) -> list[tuple[str, ...]]:
    story = job_story("1.0", ClassAd(ad), events=events, records=records, decisions=decisions, kept_out=[])
    assert [each.at for each in story] == sorted(each.at for each in story)
    return [(each.what, *each.why) for each in story]


SUBMITTED, STARTED = log.Submit(host="<q>"), log.Execute(host="<m>", slot_name="slot1@m")


def test_a_command_comes_before_a_later_one_of_the_same_second_and_each_effect_once() -> None:
    told = lines(
        logged((10, SUBMITTED), (10, log.JobHeld(reason="later", code=1)), (10, log.JobReleased(reason="now")),
               (10, log.JobAborted(reason="gone"))),
        decision(10.2, "command", "edit: JobPrio = 5"), decision(10.3, "hold", "hold: later"),
        decision(10.4, "release", "release: now"), decision(10.5, "command", "edit: JobPrio = 6"),
        decision(10.6, "removal", "remove: gone"),
    )  # fmt: skip
    assert told == [
        ("submitted",), ("edit: JobPrio = 5", "by root"), ("put on hold (code 1): later", "by root"),
        ("released: now", "by root"), ("edit: JobPrio = 6", "by root"), ("removed: gone", "by root"),
    ]  # fmt: skip


def test_two_equal_commands_of_one_second_stay_apart() -> None:
    hold, release = log.JobHeld(reason="x", code=1), log.JobReleased(reason="y")
    told = lines(
        logged((10, SUBMITTED), (11, hold), (11, release), (11, hold), (11, release)),
        decision(11.1, "hold", "hold: x"), decision(11.2, "release", "release: y"),
        decision(11.3, "hold", "hold: x"), decision(11.4, "release", "release: y"),
    )  # fmt: skip
    assert [each[0].split()[0] for each in told] == ["submitted", "put", "released:", "put", "released:"]
    assert all(each[1:] == ("by root",) for each in told[1:])


def test_a_suspension_is_told_once_with_the_person_who_ordered_it() -> None:
    told = lines(
        logged((10, SUBMITTED), (10, STARTED), (12, log.JobSuspended(processes=1)), (12, log.JobUnsuspended())),
        decision(12.1, "command", "suspend"), decision(12.5, "command", "continue"),
        records=(slot(10.4, "Claimed/Idle", "Claimed/Busy", number="12"),
                 slot(12.2, "Claimed/Busy", "Claimed/Suspended"), slot(12.6, "Claimed/Suspended", "Claimed/Busy")),
    )  # fmt: skip
    assert told == [
        ("submitted",), ("started on slot1@m",), ("suspended", "by root"), ("resumed", "by root"),
    ]  # fmt: skip


def test_the_machines_reason_comes_before_the_suspension_that_it_led_to() -> None:
    why = {"expression": "SUSPEND", "value": "TRUE", "why": []}
    told = lines(
        logged((10, SUBMITTED), (10, STARTED), (12, log.JobSuspended(processes=1))),
        records=(slot(12.4, "Claimed/Busy", "Claimed/Suspended", **why),),
    )
    assert told[-2:] == [("Claimed/Busy → Claimed/Suspended: r (job 1.0)", "SUSPEND is TRUE"), ("suspended",)]


def test_a_vacated_job_was_vacated_by_a_person_and_gave_its_slot_to_nobody() -> None:
    told = lines(
        logged((10, SUBMITTED), (10, STARTED), (12, log.JobEvicted(reason="vacated", code=1))),
        decision(12.1, "eviction", "vacate", user="root@m"),
    )
    assert told[-1] == ("evicted: vacated; it is idle again", "by root")
    assert not any("gets the slot" in line for each in told for line in each)


def test_a_job_without_a_log_tells_its_evictions_and_later_starts_from_the_slots_records() -> None:
    records = [
        slot(100.5, "Claimed/Idle", "Claimed/Busy"),
        slot(102.0, "Claimed/Busy", "Claimed/Cleaning"),
        slot(102.3, "Claimed/Idle", "Claimed/Busy"),
        slot(110.0, "Claimed/Busy", "Claimed/Cleaning"),
    ]
    ad = ClassAd({"QDate": 90, "JobStartDate": 100, "CompletionDate": 110, "JobStatus": 4})
    orders = [decision(101.9, "eviction", "vacate")]
    story = job_story("1.0", ad, events=[], records=records, decisions=orders, kept_out=[])
    assert [each.what for each in story if each.kind == "job"] == [
        "submitted",
        "started for the first time",
        "left slot1@m; it is idle again",
        "started again on slot1@m",
        "finished",
    ]
    assert next(each.why for each in story if each.what.startswith("left")) == ("by root",)


def test_a_job_without_a_log_that_was_tried_again_in_one_second_finishes_last_with_its_status() -> None:
    records = [
        slot(100.1, "Claimed/Idle", "Claimed/Busy"),
        slot(100.2, "Claimed/Busy", "Claimed/Cleaning"),
        slot(100.3, "Claimed/Idle", "Claimed/Busy"),
        slot(100.4, "Claimed/Busy", "Claimed/Cleaning"),
    ]
    ad = ClassAd({"QDate": 90, "JobStartDate": 100, "CompletionDate": 100, "JobStatus": 4, "ExitCode": 3})
    story = job_story("1.0", ad, events=[], records=records, decisions=[], kept_out=[])
    assert [each.what for each in story if each.kind == "job"] == [
        "submitted",
        "started for the first time",
        "left slot1@m; it is idle again",
        "started again on slot1@m",
        "finished with status 3",
    ]
    ad.update({"ExitBySignal": True, "ExitSignal": 9})
    story = job_story("1.0", ad, events=[], records=records, decisions=[], kept_out=[])
    assert [each.what for each in story if each.kind == "job"][-1] == "killed by signal 9"


def test_a_job_without_a_log_names_the_status_of_each_try_and_which_retry_of_how_many() -> None:
    runs = [
        (100.1, {"code": 3, "signal": None}),
        (100.3, {"code": None, "signal": 9}),
        (100.5, {"code": 3, "signal": None}),
    ]
    records = [
        each
        for at, end in runs
        for each in (
            slot(at, "Claimed/Idle", "Claimed/Busy"),
            slot(at + 0.1, "Claimed/Busy", "Claimed/Cleaning", exit=end),
        )
    ]
    ad = {"QDate": 90, "JobStartDate": 100, "CompletionDate": 100, "JobStatus": 4, "ExitCode": 3, "JobMaxRetries": 2}
    story = job_story("1.0", ClassAd(ad), events=[], records=records, decisions=[], kept_out=[])
    assert [each.what for each in story if each.kind == "job"] == [
        "submitted",
        "started for the first time",
        "ended with status 3; it waits for retry 1 of 2 (max_retries)",
        "started again on slot1@m",
        "ended with signal 9; it waits for retry 2 of 2 (max_retries)",
        "started again on slot1@m",
        "finished with status 3",
    ]


def test_a_run_ends_once_though_its_claim_ends_after_it() -> None:
    # CLAIM_WORKLIFE = 0: the claim is over when its first job is.
    records = (
        slot(10.1, "Claimed/Idle", "Claimed/Busy"),
        slot(13.5, "Claimed/Busy", "Claimed/Cleaning"),
        slot(13.5, "Claimed/Cleaning", "Claimed/Idle"),
        slot(13.5, "Claimed/Idle", "Preempting/Vacating"),
        slot(13.5, "Preempting/Vacating", "Owner/Idle", number="22"),
        slot(14.1, "Claimed/Idle", "Claimed/Busy"),
    )
    told = lines([], records=records, QDate=10, JobStartDate=10, JobStatus=2)
    assert [what for what, *_ in told if "left" in what] == ["left slot1@m; it is idle again"]


def test_a_job_without_a_log_that_was_held_and_released_did_not_wait_in_between() -> None:
    records = [
        slot(100.5, "Claimed/Idle", "Claimed/Busy"),
        slot(102.0, "Claimed/Busy", "Claimed/Cleaning"),
        slot(120.3, "Claimed/Idle", "Claimed/Busy"),
    ]
    ad = ClassAd({"QDate": 90, "JobStartDate": 100, "JobStatus": 2})
    orders = [decision(101.9, "hold", "hold"), decision(119.0, "command", "release: by ann")]
    story = job_story("1.0", ad, events=[], records=records, decisions=orders, kept_out=[])
    (left,) = [each for each in story if each.what.startswith("left")]
    assert left.what == "left slot1@m; it is on hold"


def test_a_job_that_takes_its_time_to_leave_has_the_order_before_the_eviction() -> None:
    told = lines(
        logged((10, SUBMITTED), (10, STARTED), (30, log.JobEvicted(reason="vacated"))),
        decision(12.1, "eviction", "vacate", user="root@m"),
    )
    assert told[-2:] == [("eviction ordered", "by root"), ("evicted: vacated; it is idle again",)]


def test_a_displaced_job_names_who_gets_its_slot() -> None:
    displaced = decision(12.1, "eviction", "Claimed/Busy to Preempting/Vacating: better match", actor="", user="bob@m")
    told = lines(logged((10, SUBMITTED), (10, STARTED), (12, log.JobEvicted(reason="rank"))), displaced)
    assert told[-1] == ("evicted: rank; it is idle again", "for bob@m, who gets the slot")


def test_a_job_that_a_fetched_one_displaces_names_it_and_the_rank() -> None:
    about = {"user": "ann", "slot": "slot1@m", "actor": "", "detail": {"for": "/bin/work (7.1)"}}
    about |= {"knob": "RANK", "expression": "TARGET.Worth", "place": "/etc/roost.config:7"}
    evicted = logged((10, SUBMITTED), (10, STARTED), (12, log.JobEvicted(reason="preempted")))
    (told,) = [why for what, *why in lines(evicted, decision(12.0, "eviction", "r", **about)) if "evicted" in what]
    assert told == [
        "for the fetched job /bin/work (7.1) of ann, who gets the slot",
        "by RANK = TARGET.Worth [/etc/roost.config:7]",
    ]


def test_a_job_that_is_held_does_not_wait_again() -> None:
    gone, held = log.JobEvicted(reason="later", code=1), log.JobHeld(reason="later", code=1)
    running = lines(logged((10, SUBMITTED), (10, STARTED), (12, gone), (12, held)))
    assert running[-2:] == [("left its machine in order to be held",), ("put on hold (code 1): later",)]
    never = lines(logged((10, SUBMITTED), (12, gone), (12, held)))
    assert never == [("submitted",), ("put on hold (code 1): later",)]


def test_a_job_that_never_started_was_not_evicted() -> None:
    told = lines(logged((10, SUBMITTED), (12, log.JobEvicted(reason="no such user"))))
    assert told[-1] == ("not started: no such user; it is idle again",)


def test_a_retry_names_the_status_and_which_retry_of_how_many() -> None:
    def end(number: int) -> Event:
        return log.JobEvicted(requeued=ProgramExit(code=number), reason="the job's policy requires it to run again")

    events = logged((10, SUBMITTED), (10, STARTED), (11, end(3)), (12, STARTED), (13, end(4)))
    told = lines(events, JobMaxRetries=5)
    assert [each[0] for each in told if "ended" in each[0]] == [
        "ended with status 3; it waits for retry 1 of 5 (max_retries)",
        "ended with status 4; it waits for retry 2 of 5 (max_retries)",
    ]
    assert lines(events)[2][0] == "ended with status 3; it waits to run again, as its policy requires"


def test_an_eviction_that_is_looked_at_by_itself_is_an_eviction() -> None:
    (evicted,) = logged((100, log.JobEvicted(reason="PREEMPT expression evaluated to True")))
    found = of_event(evicted)
    assert found is not None and found.milestone is Milestone.EVICTED
    assert found.what == "evicted: PREEMPT expression evaluated to True; it is idle again"
