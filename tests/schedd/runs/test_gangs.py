"""Parallel jobs in the queue: they have all their claims or none, whatever machines answer and whoever starts again."""

from __future__ import annotations

import random

import pytest

from roost.classad import ClassAd
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.claims.held_claims import Stage
from roost.schedd.identifiers import JobId
from roost.schedd.periodic import ASK_AGAIN_S
from roost.schedd.status import JobStatus
from tests.schedd.kit import Driven, ad_of_slot, source

NODES = ("a", "b", "c")


class Gangs(Driven):
    """A queue in a pool with a cell, whose jobs get a slot on each of three machines."""

    def __init__(self) -> None:
        super().__init__()
        self.queue.claim_table.cell = 3
        self.serial = 0

    def restart(self) -> None:
        super().restart()
        self.queue.claim_table.cell = 3

    def give(self) -> list[ef.AskForSlot]:
        """Three slots for the first job that waits; what machines are asked."""
        group = next((group for groups in self.queue.book.waiting().values() for group in groups), None)
        if group is None:
            return []
        self.serial += 1
        parts = [
            ev.GivenPart(
                slot=f"slot{self.serial}@{node}",
                node=node,
                claim_id=f"<{node}>#{self.serial}",
                slot_ad=ad_of_slot(f"slot{self.serial}@{node}"),
                task=self.task(part, node),
            )
            for part, node in enumerate(NODES)
        ]
        first = parts[0]
        step = self.feed(
            ev.MatchGiven(
                submitter=group.submitter,
                autocluster=group.autocluster,
                slot=first.slot,
                node=first.node,
                claim_id=first.claim_id,
                slot_ad=first.slot_ad,
                task=first.task,
                parts=tuple(parts[1:]),
            )
        )
        return [each for each in step.effects if isinstance(each, ef.AskForSlot)]

    def task(self, part: int, node: str) -> ClassAd:
        ad = ClassAd(Instance=f"all.q@{node}", Slots=2, Revision=3, Granted=self.now, Gang=f"g{self.serial}", Part=part)
        if part == 0:
            ad["Parts"] = len(NODES)
        return ad

    def grant(self, asked: ef.AskForSlot, *, accepted: bool = True) -> list[ef.Effect]:
        """A machine answers; what it grants is a part of the slot, with a claim of its own."""
        answer = ev.ClaimAnswered(
            node=asked.node,
            asked_id=asked.claim_id,
            accepted=accepted,
            refusal="" if accepted else "busy",
            claim_id=f"{asked.claim_id}.1",
            slot=f"{asked.slot}.1",
            slot_ad=ad_of_slot(asked.slot) if accepted else None,
        )
        return list(self.feed(answer).effects)

    def begin(self, cluster: int) -> None:
        for asked in self.give():
            self.grant(asked)
        self.begun(self.job(cluster))

    def tick(self, seconds: float) -> list[ef.Effect]:
        self.now += seconds
        return list(self.feed(ev.Ticked()).effects)


def given_back(effects: list[ef.Effect]) -> set[str]:
    return {each.claim_id for each in effects if isinstance(each, ef.GiveBack)}


def test_a_gang_begins_once_it_has_all_claims_and_gives_them_back_together() -> None:
    queue = Gangs()
    cluster = queue.submit(source(1))
    asked = queue.give()
    assert [(each.node, each.job_ad["CellTask"]["Part"], each.job_ad["RequestCpus"]) for each in asked] == [
        ("a", 0, 2), ("b", 1, 2), ("c", 2, 2),
    ]  # fmt: skip
    for each in asked[::-1][:2]:
        assert not [effect for effect in queue.grant(each) if isinstance(effect, ef.StartRun)]
        queue.check()
    (start,) = [each for each in queue.grant(asked[0]) if isinstance(each, ef.StartRun)]
    assert (start.node, start.job_ad["CellTask"]["Parts"]) == ("a", 3)
    queue.check()
    assert len(queue.disk.claims) == 3
    job = queue.job(cluster)
    queue.begun(job)
    assert given_back(list(queue.end(job).effects)) == {"<a>#1.1", "<b>#1.1", "<c>#1.1"}
    assert not queue.queue.claim_table.claims
    queue.check()


@pytest.mark.parametrize("refusing", [0, 1, 2])
def test_a_refusal_gives_all_back_and_the_job_waits(refusing: int) -> None:
    queue = Gangs()
    cluster = queue.submit(source(1))
    asked = queue.give()
    effects: list[ef.Effect] = []
    for at, each in enumerate(asked):
        effects += queue.grant(each, accepted=at != refusing)
    # Those that were asked and had not answered are told, too; what they grant afterwards is given back.
    assert {claim.partition(".")[0] for claim in given_back(effects)} == {
        each.claim_id for at, each in enumerate(asked) if at != refusing
    }
    assert not queue.queue.claim_table.claims and not [each for each in effects if isinstance(each, ef.StartRun)]
    job = queue.job(cluster)
    assert job.status is JobStatus.IDLE and not job.claim_id
    assert "busy" in job.text("lastrejmatchreason")
    queue.check()


def test_a_machine_that_does_not_answer_keeps_the_others_for_a_while_only() -> None:
    queue = Gangs()
    cluster = queue.submit(source(1))
    first, second, _ = queue.give()
    queue.grant(first)
    queue.grant(second)
    effects: list[ef.Effect] = []
    for _ in range(int(2 * ASK_AGAIN_S / 5) + 1):
        effects += queue.tick(5)
    assert given_back(effects) == {"<a>#1.1", "<b>#1.1", "<c>#1"}
    assert queue.queue.book.clusters[cluster].is_idle(0)
    queue.check()


@pytest.mark.parametrize("action", [ev.Action.REMOVE, ev.Action.HOLD])
def test_a_job_that_does_not_want_its_claims_any_more_gives_them_back(action: ev.Action) -> None:
    queue = Gangs()
    cluster = queue.submit(source(1))
    first, *others = queue.give()
    queue.grant(first)
    queue.act(action, JobId(cluster, 0))
    effects = [effect for each in others for effect in queue.grant(each)]
    assert given_back(effects) == {"<a>#1.1", "<b>#1.1", "<c>#1.1"}
    assert not queue.queue.claim_table.claims
    queue.check()


def test_a_part_that_is_lost_ends_the_run_and_all_are_given_back() -> None:
    queue = Gangs()
    cluster = queue.submit(source(1))
    queue.begin(cluster)
    lost = queue.feed(ev.ClaimLost(claim_id="<b>#1.1", reason="the machine is gone"))
    (order,) = [each for each in lost.effects if isinstance(each, ef.EndRun)]
    assert (order.node, order.ending) == ("a", "evict") and "the machine is gone (slot1@b.1)" in order.text
    # The order is repeated until the machine reports the end.
    assert [each for each in queue.tick(ASK_AGAIN_S + 1) if isinstance(each, ef.EndRun)]
    job = queue.job(cluster)
    assert given_back(list(queue.end(job, "evict").effects)) == {"<a>#1.1", "<c>#1.1"}
    assert job.status is JobStatus.IDLE and not queue.queue.claim_table.claims
    queue.check()


@pytest.mark.parametrize("lost", ["<a>#1.1", "<c>#1.1", None])
def test_a_queue_that_starts_again_has_all_claims_of_a_gang(lost: str | None) -> None:
    queue = Gangs()
    cluster = queue.submit(source(1))
    queue.begin(cluster)
    queue.restart()
    queue.check()
    claims, job = queue.queue.claim_table.claims, queue.job(cluster)
    assert {claim.id: claim.stage for claim in claims.values()} == dict.fromkeys(claims, Stage.UNSURE)
    for node in NODES:
        known = {claim.id: claim.run for claim in claims.values() if claim.node == node and claim.id != lost}
        unknown = tuple(claim for claim in claims if claim == lost and f"<{node}>" in claim)
        queue.feed(ev.ClaimsHeard(node=node, known=known, unknown=unknown, serial=queue.queue.claim_table.asks))
        queue.check()
    match lost:
        case None:
            assert len(claims) == 3 and job.status is JobStatus.RUNNING
            assert not [each for each in queue.ordered if isinstance(each, ef.GiveBack)]
            assert len(given_back(list(queue.end(job).effects))) == 3
        case "<a>#1.1":
            assert not claims and job.status is JobStatus.IDLE
        case _:
            assert len(claims) == 2
            assert [each for each in queue.ordered if isinstance(each, ef.EndRun)]
            queue.end(job, "evict")
    assert not queue.queue.claim_table.claims
    queue.check()


def test_a_queue_that_starts_again_between_a_loss_and_the_end_of_the_run_ends_it() -> None:
    queue = Gangs()
    cluster = queue.submit(source(1))
    queue.begin(cluster)
    queue.feed(ev.ClaimLost(claim_id="<b>#1.1", reason="the machine is gone"))
    queue.restart()
    queue.ordered.clear()
    job = queue.job(cluster)
    known = {job.claim_id: job.run}
    queue.feed(ev.ClaimsHeard(node="a", known=known, unknown=(), serial=queue.queue.claim_table.asks))
    (order,) = [each for each in queue.ordered if isinstance(each, ef.EndRun)]
    assert "no claim" in order.text
    queue.check()


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_no_claim_is_left_and_no_job_runs_on_a_part(seed: int) -> None:
    """Machines answer, refuse, lose claims and hear nothing; jobs are removed and held; the queue starts again."""
    dice, queue = random.Random(seed), Gangs()
    queue.submit(source(4))
    asked: list[ef.AskForSlot] = []
    runs: dict[str, str] = {}
    for _ in range(120):
        queue.ordered.clear()
        claims = queue.queue.claim_table.claims
        match dice.choice(
            ("give", "answer", "answer", "answer", "answer", "begin", "end", "lose", "act", "tick", "kill")
        ):
            case "give":
                asked += queue.give()
            case "answer" if asked:
                queue.grant(asked.pop(dice.randrange(len(asked))), accepted=dice.random() < 0.9)
            case "begin" if runs:
                claim = dice.choice(sorted(runs))
                queue.feed(ev.RunBegan(claim_id=claim, run=runs[claim], at=queue.now))
            case "end" if runs:
                claim = dice.choice(sorted(runs))
                end(queue, claim, runs.pop(claim), dice.choice(("exit", "evict")))
            case "lose" if claims:
                claim = dice.choice(sorted(claims))
                runs.pop(claim, None)
                queue.feed(ev.ClaimLost(claim_id=claim, reason="lost"))
            case "act":
                jobs = sorted(queue.queue.book.ids())
                if jobs:
                    action = dice.choice((ev.Action.REMOVE, ev.Action.HOLD, ev.Action.RELEASE))
                    queue.act(action, dice.choice(jobs))
            case "tick":
                queue.tick(dice.choice((1.0, 6.0, 25.0)))
            case "kill" if dice.random() < 0.3:
                queue.restart()
                asked.clear()
        for order in queue.ordered:
            if isinstance(order, ef.StartRun):
                assert order.node == NODES[0]
                gang = queue.queue.claim_table.claims[order.claim_id].gang
                assert gang is not None and len(gang.claims) == len(NODES)
                runs[order.claim_id] = order.run
            elif isinstance(order, ef.GiveBack):
                runs.pop(order.claim_id, None)
        queue.check()
    for claim, run in runs.items():
        end(queue, claim, run, "exit")
    # A queue that has started again hears from the machines that they know nothing of its claims.
    for claim_id, held in list(queue.queue.claim_table.claims.items()):
        if held.stage is Stage.UNSURE:
            queue.feed(ev.ClaimLost(claim_id=claim_id, reason="the machine does not know the claim"))
    for _ in range(12):
        queue.tick(ASK_AGAIN_S)
    assert not queue.queue.claim_table.claims
    queue.check()


def end(queue: Gangs, claim: str, run: str, ending: str) -> None:
    queue.feed(
        ev.RunEnded(
            node=NODES[0],
            claim_id=claim,
            run=run,
            at=queue.now,
            ending=ending,
            started=True,
            code=0 if ending == "exit" else 1001,
            exit_code=0 if ending == "exit" else None,
            attributes=ClassAd(),
        )
    )
