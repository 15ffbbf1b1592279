"""What a queue decides about jobs is on record: who or which expression, once, and together where it is about many."""

from __future__ import annotations

from roost.classad import ClassAd, parse_expression
from roost.config import MemoryHost, load_text
from roost.model.audit import AuditKind, AuditRecord, Effect
from roost.schedd import changes as ch
from roost.schedd import events as ev
from roost.schedd.configured import queue_settings
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue, Step
from tests.schedd.kit import SETTINGS, source


def queue(config: str = "", **attributes: object) -> Queue:
    found = SETTINGS
    if config:
        found = queue_settings(load_text(config, MemoryHost(), file="pool.config"), name="q@here")
    made = Queue(found, 0.0)
    made.step(ev.Submitted(clusters=(source(30, **attributes),), owner="ann", reply_to=""), 1.0)
    return made


def records(step: Step) -> list[AuditRecord]:
    return [change.record for change in step.changes if isinstance(change, ch.AddAudit)]


def act(made: Queue, action: ev.Action, *procs: int, user: str = "ann", **more: object) -> list[AuditRecord]:
    jobs = tuple(JobId(1, proc) for proc in procs)
    return records(made.step(ev.Acted(action=action, jobs=jobs, user=user, reply_to="", **more), 5.0))  # type: ignore[arg-type]


def test_a_command_is_on_record_with_who_gave_it_and_why() -> None:
    (record,) = act(queue(), ev.Action.HOLD, 3, reason="disk full")
    assert (record.kind, record.actor, record.user, record.job) == (AuditKind.HOLD, "ann", "ann@here", "1.3")
    assert (record.at, record.reason) == (5.0, "hold: disk full")


def test_each_command_has_its_kind() -> None:
    made = queue()
    kinds = [
        act(made, action, 0)[0].kind for action in (ev.Action.HOLD, ev.Action.RELEASE, ev.Action.EDIT, ev.Action.REMOVE)
    ]
    assert kinds == [AuditKind.HOLD, AuditKind.RELEASE, AuditKind.COMMAND, AuditKind.REMOVAL]


def test_a_command_that_changes_nothing_is_no_decision() -> None:
    made = queue()
    act(made, ev.Action.HOLD, 0)
    assert act(made, ev.Action.HOLD, 0) == []
    assert act(made, ev.Action.HOLD, 99) == []


def test_a_command_about_many_jobs_is_one_record_with_ranges() -> None:
    (record,) = act(queue(), ev.Action.REMOVE, *range(5), *range(10, 25))
    assert (record.count, record.samples, record.job) == (20, ("1.0-4", "1.10-24"), "")


def test_who_is_not_allowed_to_is_on_record() -> None:
    (record,) = act(queue(), ev.Action.REMOVE, 0, user="mallory")
    assert (record.kind, record.effect, record.actor) == (AuditKind.COMMAND, Effect.REFUSED, "mallory")
    assert record.user == "ann@here"


def test_an_edit_says_what_was_set() -> None:
    attributes = ClassAd({"JobPrio": 7})
    attributes["Rank"] = parse_expression("Memory * 2")
    (record,) = act(queue(), ev.Action.EDIT, 0, attributes=attributes)
    assert record.reason == "edit: JobPrio = 7, Rank = Memory * 2"


def test_a_policy_of_the_administrator_is_named_with_its_place() -> None:
    made = queue("A = 1\nSYSTEM_PERIODIC_HOLD = RequestMemory > 5\nPERIODIC_EXPR_INTERVAL = 1\n")
    (record,) = records(made.step(ev.Ticked(), 100.0))
    assert (record.kind, record.actor, record.count) == (AuditKind.HOLD, "", 30)
    assert (record.knob, record.expression, record.place) == (
        "SYSTEM_PERIODIC_HOLD", "RequestMemory > 5", "pool.config:2:1",
    )  # fmt: skip
    assert len(record.configuration) == 12
    assert records(made.step(ev.Ticked(), 200.0)) == [], "what is held is not held again"


def test_a_policy_of_the_job_is_named_as_its_own() -> None:
    made = queue(PeriodicRemove="=ProcId == 3")
    (record,) = records(made.step(ev.Ticked(), 100.0))
    assert (record.kind, record.job, record.knob, record.place) == (AuditKind.REMOVAL, "1.3", "PeriodicRemove", "")
