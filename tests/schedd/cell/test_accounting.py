"""Each run of a job in a cell has one record, however it ends and whatever is said twice."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from roost.classad import ClassAd
from roost.model.cell_accounting import AccountingRecord, TaskUse
from roost.model.cell_usage import UsageRules
from roost.schedd import changes as ch
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.status import JobStatus
from tests.schedd.cell.test_usage import begun, queue_of_a_cell, said
from tests.schedd.kit import Driven, ad_of_slot, source


def records(queue: Driven, event: ev.Event) -> list[AccountingRecord]:
    step = queue.feed(event)
    return [each.record for each in step.changes if isinstance(each, ch.AddAccounting)]


def test_a_run_that_ended_has_its_use_and_status_once() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1, CellJobName="x", CellAccount="a")), Category="-l h=a", Groups="g,h")
    used = ClassAd(ru_utime=3.5, ru_stime=0.5, ru_maxrss=7.0)
    more = ClassAd({**said(4.0, 1.5), "CellFailed": 100, "CellResourcesUsed": used, "ImageSize": 3})
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="exit", started=True, exit_signal=11,
        attributes=more,
    )  # fmt: skip
    started = int(queue.now)
    (record,) = records(queue, end)
    assert record == AccountingRecord(
        queue="all.q", host="a", group="g", owner="ann", job_name="x", job=job.id.cluster, account="a",
        submitted=record.submitted, started=started, ended=started + 9, failed=100, exit_status=139, wallclock_s=9,
        resources={"ru_utime": 3.5, "ru_stime": 0.5, "ru_maxrss": 7.0}, project="p", department="d", slots=2,
        cpu_s=4.0, mem=1.5, maxvmem=3072.0, category="-l h=a",
    )  # fmt: skip
    assert records(queue, end) == []


def test_what_was_reserved_counts_where_the_cell_wants_that() -> None:
    queue = queue_of_a_cell()
    queue.feed(ev.UsageRuled(rules=UsageRules(accounts_reserved=True)))
    # As Grid Engine 8.1.9 counts: 4 s of 2 slots, each with h_vmem=512M.
    job = begun(queue, queue.submit(source(1)))
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 4, ending="exit", started=True, exit_code=0,
        attributes=said(0.007, 0.0),
    )  # fmt: skip
    (record,) = records(queue, end)
    assert (record.cpu_s, record.mem, record.maxvmem) == (8.0, 4.0, 2.0**30)


def test_a_run_whose_program_was_not_started_has_no_times() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1)))
    queue.job(job.id.cluster).ad["JobCurrentStartExecutingDate"] = None
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="hold", started=False,
        attributes=ClassAd(CellFailed=28),
    )  # fmt: skip
    (record,) = records(queue, end)
    assert (record.failed, record.started, record.ended, record.wallclock_s) == (28, 0, 0, 0)


def test_a_run_that_is_rescheduled_and_the_next_one_have_a_record_each() -> None:
    queue = queue_of_a_cell()
    cluster = queue.submit(source(1))
    job = begun(queue, cluster)
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="evict", started=True, exit_signal=9,
        attributes=ClassAd({**said(1.0), "CellFailed": 25}),
    )  # fmt: skip
    (first,) = records(queue, end)
    assert (first.failed, first.exit_status, first.cpu_s) == (25, 0, 1.0)
    job = begun(queue, cluster)
    lost = ev.ClaimLost(claim_id=job.claim_id, reason="machine lost")
    (second,) = records(queue, lost)
    assert (second.failed, second.submitted, second.started, second.ended) == (19, 0, 0, 0)
    assert records(queue, lost) == []


def test_a_job_that_is_deleted_at_once_is_accounted_then() -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1)))
    claim, run = job.claim_id, job.run
    queue.feed(ev.RunMeasured(claim_id=claim, run=run, at=queue.now, attributes=said(4.0, 1.0)))
    away = ev.Acted(action=ev.Action.REMOVE_AT_ONCE, jobs=(job.id,), user="ann", reply_to="", superuser=True)
    (record,) = records(queue, away)
    assert (record.failed, record.exit_status, record.cpu_s) == (100, 137, 4.0)
    late = ev.RunEnded(node="a", claim_id=claim, run=run, at=queue.now + 9, ending="remove", started=True)
    assert records(queue, late) == []


@pytest.mark.parametrize("ending", ["evict", "hold", "remove"])
def test_only_a_run_that_came_to_its_own_end_ended_well(ending: str) -> None:
    queue = queue_of_a_cell()
    job = begun(queue, queue.submit(source(1)))
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending=ending, started=True, exit_code=0,
        attributes=ClassAd({**said(1.0), "CellFailed": 0}),
    )  # fmt: skip
    (record,) = records(queue, end)
    assert record.failed == (25 if ending == "evict" else 100)


class Machine:
    """A machine that is killed now and then: its words come late, twice, or after others."""

    def __init__(self, queue: Driven, rng: random.Random) -> None:
        self.queue, self.rng = queue, rng
        self.number = 0
        #: What it has said, all of which it may say again.
        self.said: list[ev.Event] = []
        #: Runs that were accounted, each with its record.
        self.accounted: list[tuple[str, AccountingRecord]] = []

    def says(self, event: ev.RunBegan | ev.RunEnded | ev.ClaimLost) -> None:
        """The queue hears a word about a claim and its run."""
        self.said.append(event)
        claim = self.queue.queue.claim_table.claims.get(event.claim_id)
        run = event.run if isinstance(event, ev.RunEnded) else "" if claim is None else claim.run
        self.accounted += [(run, each) for each in records(self.queue, event)]

    def gives_a_slot(self) -> None:
        group = next((group for groups in self.queue.queue.book.waiting().values() for group in groups), None)
        if group is None:
            return
        self.number += 1
        slot, claim = f"slot{self.number}@a", f"<a>#{self.number}"
        task = ClassAd(Instance="all.q@a", Slots=1, Revision=3, Granted=self.queue.now, User="ann", Memory=1.0)
        given = ev.MatchGiven(
            submitter=group.submitter, autocluster=group.autocluster, slot=slot, node="a", claim_id=claim,
            slot_ad=ad_of_slot(slot), task=task,
        )  # fmt: skip
        for asked in self.queue.feed(given).effects:
            if isinstance(asked, ef.AskForSlot):
                self.queue.answer(asked, "no" if self.rng.random() < 0.1 else "")

    def acts(self) -> None:
        """Something happens to one of the runs, or is said again."""
        what = self.rng.choice(["begins", "exit", "evict", "hold", "lost", "lost, and reported", "again", "again"])
        claims = [each for each in self.queue.queue.claim_table.claims.values() if each.run]
        if what == "again":
            for event in self.rng.sample(self.said, min(len(self.said), 3)):
                self.says(event)
            return
        if not claims:
            return
        claim = self.rng.choice(claims)
        if what == "begins":
            self.says(ev.RunBegan(claim_id=claim.id, run=claim.run, at=self.queue.now, slot=claim.slot))
        elif what.startswith("lost"):
            reported = claim.run if what.endswith("reported") else ""
            self.says(ev.ClaimLost(claim_id=claim.id, reason="the machine was started again", reported=reported))
        else:
            end = ev.RunEnded(
                node="a", claim_id=claim.id, run=claim.run, at=self.queue.now, ending=what, started=True,
                exit_code=0, attributes=ClassAd(CellFailed=0), closing=True, text=what, code=1001,
            )  # fmt: skip
            self.says(end)


@pytest.mark.parametrize("seed", range(30))
def test_no_run_is_accounted_twice_whatever_a_machine_says_late_or_again(seed: int) -> None:
    rng, queue = random.Random(seed), queue_of_a_cell()
    cluster, machine = queue.submit(source(6)), Machine(queue, random.Random(-seed))
    while (found := queue.queue.book.clusters.get(cluster)) is not None:
        assert machine.number < 1000
        queue.now += 1
        if rng.random() < 0.03:
            queue.restart()
            queue.queue.claim_table.cell = 3
        machine.gives_a_slot()
        machine.acts()
        for job in [each for each in found.jobs.values() if each.status is JobStatus.HELD]:
            queue.act(ev.Action.RELEASE, job.id)
    runs = Counter(run for run, _ in machine.accounted)
    assert set(runs.values()) == {1} and "" not in runs
    well = Counter(record.task for _, record in machine.accounted if record.failed == 0)
    assert well == dict.fromkeys(range(1, 7), 1)


TASKS = (
    TaskUse(name="1.b", queue="all.q", host="b", began=5.5, ended=8.0, exit_code=3, user_cpu_s=2.0, system_cpu_s=1.0,
            mem=4.0, maxvmem=9e9, resources={"ru_utime": 2.0, "ru_maxrss": 9.0}),
    TaskUse(name="2.b", queue="b.q", host="b", began=6.0, ended=9.0, signal=9, resources={"ru_utime": 0.5}),
)  # fmt: skip


def ended_with_tasks(queue: Driven, **task: bool) -> tuple[list[AccountingRecord], ClassAd]:
    job = begun(queue, queue.submit(source(1)), **task)
    end = ev.RunEnded(
        node="a", claim_id=job.claim_id, run=job.run, at=queue.now + 9, ending="exit", started=True, exit_code=0,
        attributes=ClassAd({**said(4.0, 1.5), "CellResourcesUsed": ClassAd(ru_utime=4.0, ru_maxrss=7.0)}), tasks=TASKS,
    )  # fmt: skip
    found = records(queue, end)
    return found, job.ad


def test_slave_tasks_have_records_before_that_of_their_job_which_tells_of_itself() -> None:
    (first, second, whole), ad = ended_with_tasks(queue_of_a_cell())
    assert (first.part, first.queue, first.host, first.failed, first.exit_status) == ("1.b", "all.q", "b", 0, 3)
    assert (first.submitted, first.started, first.ended, first.wallclock_s) == (5, 5, 8, 3)
    assert (first.cpu_s, first.mem, first.maxvmem, first.resources) == (3.0, 4.0, 9e9, TASKS[0].resources)
    assert (second.part, second.queue, second.failed, second.exit_status) == ("2.b", "b.q", 100, 137)
    assert (whole.part, whole.host, whole.cpu_s, whole.mem) == ("NONE", "a", 4.0, 1.5)
    assert {(one.job, one.owner, one.slots) for one in (first, second)} == {(whole.job, whole.owner, whole.slots)}
    # The ad of the job has it all.
    assert ad.eval("RemoteUserCpu") + ad.eval("RemoteSysCpu") == 7.0


def test_a_summary_adds_up_what_slave_tasks_have_used() -> None:
    (whole,), _ = ended_with_tasks(queue_of_a_cell(), Summary=True)
    assert (whole.part, whole.host, whole.exit_status) == ("NONE", "a", 0)
    assert whole.resources == {"ru_utime": 6.5, "ru_maxrss": 9.0}
    assert (whole.cpu_s, whole.mem, whole.maxvmem) == (7.5, 5.5, 9e9)
