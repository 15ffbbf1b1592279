"""The reporting file tells of jobs what Grid Engine 8.1.9 tells, in its words and order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from roost.classad import ClassAd
from roost.gridengine.reporting_lines import line_of
from roost.model.cell_reporting import JobReport, PlainReport, Reporting
from roost.schedd import changes as ch
from roost.schedd import events as ev
from roost.schedd.events import Action
from roost.schedd.identifiers import JobId
from tests.schedd.cell.test_usage import begun, measured, queue_of_a_cell, said
from tests.schedd.kit import Driven, source

SENT = [("sent", "t", "master", "sent to execd"), ("delivered", "r", "master", "job received by execd")]
WAITS = [
    ("finished", "r", "master", "job waits for scheduler's deletion"),
    ("deleted", "T", "scheduler", "job deleted by scheduler"),
]


class Told(Driven):
    """A queue whose reports are collected."""

    def __init__(self, *, joblog: bool = True) -> None:
        super().__init__()
        self.queue.claim_table.cell = 3
        self.queue.claim_table.reporting = Reporting(host="hub", joblog=joblog)
        self.lines: list[list[str]] = []

    def feed(self, event: ev.Event):  # type: ignore[no-untyped-def]
        step = super().feed(event)
        for change in step.changes:
            if isinstance(change, ch.AddReports):
                self.lines += [line_of(each).split(":") for each in change.reports]
        return step

    def news(self) -> list[tuple[str, ...]]:
        """Event, state, user and message of the last lines of `job_log`; "acct" of one that tells of a run."""
        found = [("acct",) if line[1] == "acct" else (line[3], *line[7:9], line[-1]) for line in self.lines]
        found = [each for each, line in zip(found, self.lines, strict=True) if line[1] != "new_job"]
        self.lines.clear()
        return found


def test_a_job_that_ends_by_itself() -> None:
    queue = Told()
    number = queue.submit(source(1, CellJobName="x", CellAccount="a", JobPrio=-10))
    at = str(int(queue.now))
    person = ["x", "ann", "", "", "defaultdepartment", "a"]
    assert queue.lines == [
        [at, "new_job", at, str(number), "-1", "NONE", *person, "1014"],
        [
            at,
            "job_log",
            at,
            "pending",
            str(number),
            "-1",
            "NONE",
            "",
            "ann",
            "hub",
            "0",
            "1014",
            at,
            *person,
            "new job",
        ],
    ]
    queue.lines.clear()
    job = begun(queue, number, Groups="g,h")
    person = ["x", "ann", "g", "p", "d", "a"]
    head = [at, "job_log", at, "sent", str(number), "0", "NONE", "t", "master", "hub", "0", "1014", at]
    assert queue.lines[0] == [*head, *person, "sent to execd"]
    assert queue.news() == SENT
    queue.end(job, attributes=said(1.0))
    assert {line[9] for line in queue.lines if line[8] == "execution daemon"} == {"a"}
    assert queue.news() == [("acct",), ("finished", "r", "execution daemon", "job exited"), *WAITS]


class Counted:
    """Tells how many jobs have something after each that begins or is over."""

    def lines(self, task: ClassAd, others: Iterable[ClassAd], at: int, *, begins: bool) -> Iterator[PlainReport]:
        yield PlainReport(at, "consumable", (sum(1 for _ in others) + begins,))


@pytest.mark.parametrize("joblog", [True, False])
def test_consumables_are_told_of_as_jobs_take_and_leave_them(joblog: bool) -> None:
    queue = Told(joblog=joblog)
    queue.queue.claim_table.reporting = Reporting(host="hub", joblog=joblog, consumables=Counted())

    def news() -> list[str]:
        at = {"consumable": 2, "job_log": 3}
        kinds = [line[at.get(line[1], 1)] for line in queue.lines]
        queue.lines.clear()
        return [kind for kind in kinds if joblog or kind != "new_job"]

    number = queue.submit(source(1))
    job = begun(queue, number)
    assert news() == (["new_job", "pending", "sent", "1", "delivered"] if joblog else ["1"])
    queue.end(job, attributes=said(1.0))
    assert news() == (["acct", "finished", "finished", "0", "deleted"] if joblog else ["acct", "0"])
    job = begun(queue, queue.submit(source(1)))
    news()
    queue.end(job, "evict", attributes=said(1.0))
    assert news() == (["acct", "restart", "restart", "0"] if joblog else ["acct", "0"])


def test_a_job_that_is_deleted_while_it_runs() -> None:
    queue = Told()
    job = begun(queue, queue.submit(source(1)))
    queue.news()
    queue.act(Action.REMOVE, job.id)
    assert queue.news() == [("deleted", "r", "ann", "job deleted")]
    queue.end(job, "remove")
    assert queue.news() == [("acct",), ("deleted", "r", "execution daemon", "job removed "), *WAITS]


def test_a_job_that_runs_again_and_is_deleted_while_it_waits() -> None:
    queue = Told()
    job = begun(queue, queue.submit(source(1)))
    made = str(int(queue.now))
    queue.news()
    queue.now += 5
    queue.end(job, "evict")
    assert {line[12] for line in queue.lines if line[1] == "job_log"} == {made}
    assert queue.news() == [
        ("acct",),
        ("restart", "r", "execution daemon", "job didn't get resources -> schedule it again"),
        ("restart", "r", "master", f"rescheduling job {job.id.cluster}.1"),
    ]
    queue.act(Action.REMOVE, job.id)
    assert queue.lines[0][12] == str(int(queue.now))
    assert queue.news() == [("deleted", "", "ann", "job deleted"), ("finished", "", *WAITS[0][2:]), WAITS[1]]


def test_a_job_that_its_machine_holds_is_in_the_error_state() -> None:
    queue = Told()
    job = begun(queue, queue.submit(source(1)))
    queue.news()
    queue.end(job, "hold", code=21, text="no directory")
    assert queue.news() == [
        ("acct",),
        ("error", "r", "execution daemon", "job set in error state "),
        ("restart", "r", "master", f"rescheduling job {job.id.cluster}.1"),
    ]


@pytest.mark.parametrize("tasks", [3, 300])
def test_tasks_that_are_deleted_before_they_run(tasks: int) -> None:
    queue = Told()
    number = queue.submit(source(tasks))
    assert [line[1] for line in queue.lines] == ["new_job", "job_log"]
    queue.lines.clear()
    queue.act(Action.REMOVE, *(JobId(number, proc) for proc in range(tasks)))
    told = [(int(line[5]), line[3], line[8], line[-1]) for line in queue.lines]
    wanted = [
        (task, event, user, words)
        for task in range(1, tasks + 1)
        for event, user, words in (("deleted", "ann", "job deleted"), ("finished", "master", "job exited"))
    ]
    assert told == wanted


def test_without_joblog_only_submissions_and_ended_runs_are_told() -> None:
    queue = Told(joblog=False)
    job = begun(queue, queue.submit(source(1)))
    queue.end(job)
    assert [line[1] for line in queue.lines] == ["new_job", "acct"]


def test_a_cell_that_wants_no_reports_is_told_nothing() -> None:
    queue = queue_of_a_cell()
    step = queue.feed(ev.Submitted(clusters=(source(1),), owner="ann", reply_to="r"))
    assert not any(isinstance(each, ch.AddReports) for each in step.changes)


def test_a_text_with_a_colon_stays_in_its_field() -> None:
    one = JobReport(at=5, event="pending", job=1, submitted=5, name="a:b\n", owner="ann", message="new job")
    line = "5:job_log:5:pending:1:-1:NONE::::0:1024:5:a_b_:ann:::defaultdepartment:sge:new job"
    assert line_of(one) == line


def test_at_midnight_runs_that_go_on_are_told_of_and_at_their_end_the_rest() -> None:
    queue = Told(joblog=False)
    queue.feed(ev.DayBegan())
    number = queue.submit(source(1))
    job = begun(queue, number)
    began = int(queue.now)
    queue.lines.clear()

    def fields() -> list[list[str]]:
        """Submission, start, end, failed, exit status, wall clock; CPU time, memory."""
        found = [[*line[10:16], line[-9], line[-8]] for line in queue.lines if line[1] == "acct"]
        queue.lines.clear()
        return found

    queue.now += 100.0
    measured(queue, job, 4.0, 1.5)
    queue.feed(ev.DayBegan())
    # As Grid Engine 8.1.9: no wall clock and no resources, and an exit status of -1.
    first = str(began + 100)
    assert fields() == [[str(began), str(began), first, "0", "-1", "0", "4.000000", "1.500000"]]
    queue.now += 86_400.0
    measured(queue, job, 6.0, 1.5)
    queue.feed(ev.DayBegan())
    second = str(began + 86_500)
    assert fields() == [[str(began), first, second, "0", "-1", "0", "2.000000", "0.000000"]]
    step = queue.end(job, attributes=said(7.0, 2.0))
    assert fields() == [[str(began), second, str(int(queue.now)), "0", "0", "86500", "1.000000", "0.500000"]]
    # The accounting file has the run whole.
    (record,) = [each.record for each in step.changes if isinstance(each, ch.AddAccounting)]
    assert (record.started, record.cpu_s, record.mem) == (began, 7.0, 2.0)
