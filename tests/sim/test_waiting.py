"""Idle jobs of the simulated queue: those that are offered, and those whose cluster has a pause."""

from __future__ import annotations

from roost.schedd.pacing import FREE_TRIES, PAUSE_S
from roost.sim.engine import Engine
from roost.sim.queue_entry import Entry
from roost.sim.waiting import Waiting
from roost.sim.workload import Truth, make_job


def _entry(number: int) -> Entry:
    job = make_job(number, "ada", 0.0, Truth(run_s=60.0), {}, "alike")
    return Entry(job=job, number=number)


def _missed(waiting: Waiting, entry: Entry, engine: Engine, times: int) -> None:
    """The job gets a slot so many times, a second apart, and never begins."""
    for _ in range(times):
        waiting.take(entry)
        waiting.missed(entry, engine.now)
        waiting.put(entry)
        engine.run(engine.now + 0.5)


def test_a_job_that_gets_slots_and_does_not_begin_is_offered_again_after_a_pause() -> None:
    engine = Engine(100.0)
    waiting, job, other = Waiting(engine), _entry(1), _entry(2)
    waiting.put(job)
    waiting.put(other)
    _missed(waiting, job, engine, FREE_TRIES)
    assert waiting.head("alike") is job
    _missed(waiting, job, engine, 1)
    assert (waiting.head("alike"), waiting.count) == (other, 1)
    engine.run(engine.now + PAUSE_S)
    assert (waiting.head("alike"), waiting.count) == (job, 2)


def test_a_pause_holds_up_nothing_on_a_claim_that_is_there_and_ends_with_what_leaves_the_queue() -> None:
    engine = Engine(100.0)
    waiting, job, other = Waiting(engine), _entry(1), _entry(2)
    waiting.put(job)
    _missed(waiting, job, engine, FREE_TRIES + 1)
    assert waiting.heads() == []
    assert waiting.next("alike") is job
    assert waiting.next("alike") is None
    waiting.put(job)
    waiting.put(other)
    waiting.take(job)
    engine.run(engine.now + PAUSE_S)
    assert waiting.heads() == [("alike", other)]


def test_misses_are_forgotten_when_a_program_runs() -> None:
    engine = Engine(100.0)
    waiting, job = Waiting(engine), _entry(1)
    waiting.put(job)
    _missed(waiting, job, engine, FREE_TRIES)
    waiting.began(job)
    _missed(waiting, job, engine, FREE_TRIES)
    assert waiting.head("alike") is job
