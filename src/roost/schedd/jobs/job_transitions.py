"""The transitions of a job, as a table.

Theory of operation
-------------------
The state of a job is its `JobStatus`. Guards also consult whether a run of it is on a machine (`Job.run`). Each event
raises one trigger (`On`). `Work.move` takes the first row of the current status that has the trigger and whose guards
hold; nothing else changes the status of a job. A trigger without a row is an internal error, found before the job is
changed.

A job that is held or removed while a run of it is on a machine changes its status at once, and is *leaving* until the
machine says that the run is over (row 21 or 22): only then can it be released, or leave the queue.

Rules that do not fit the table
-------------------------------
* `queue.Queue` adds jobs to the queue: they begin as IDLE or HELD.
* `together` removes consecutive jobs to which nothing has happened by these rows, looked up once for all of them.
* A message about a run that is not the job's current one is outdated, and raises no trigger (`run_news.present`).
* LeaveJobInQueue keeps a job that is COMPLETED or REMOVED in its state for as long as it is TRUE.
* A slot may be being requested for an idle job: that is recorded in its claim (`claim_transitions`), not in its status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.schedd.jobs.book import Job
from roost.schedd.status import JobStatus as S
from roost.tables.finder import Verdict, plain, row_finder
from roost.tables.rows import by_source


class On(StrEnum):
    """The triggers of a row."""

    STARTED = "a run is ordered on a claim"
    SUSPENDED = "the machine has suspended the job"
    CONTINUED = "the machine has continued the job"
    OUTPUT_BEGAN = "the machine has begun to transfer the output"
    OUTPUT_MOVED = "the machine has transferred the output"
    NOT_BEGUN = "the run is over, and its program never started"
    EVICTED = "the run is over, and its program did not end by itself"
    RUN_UNKNOWN = "the queue has started again, and holds no claim with a run of the job"
    AGAIN = "the program has ended, and the job must run again"
    COMPLETED = "the program has ended, and the job is done"
    HOLD_COMMAND = "a user holds it"
    HOLD_POLICY = "policy holds it"
    HOLD_MACHINE = "the machine has ended the run to hold the job"
    HOLD_QUEUE = "the queue cannot start it, or cannot write its event log"
    RUN_OVER = "the run that had to end is over"
    RELEASE_COMMAND = "a user releases it"
    RELEASE_POLICY = "policy releases it"
    REMOVE_COMMAND = "a user removes it"
    REMOVE_POLICY = "policy removes it"
    LEFT = "it leaves the queue"


class Guard(StrEnum):
    """A condition of a row; `GUARDS` has the functions."""

    ON_MACHINE = "a run of it is on a machine"
    FREE = "no run of it is on a machine"


class Reason(StrEnum):
    """The reason of a transition."""

    MATCH = "match"
    USER = "user"
    POLICY = "policy"
    PROGRAM = "program"
    MACHINE = "machine"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row."""

    number: int
    source: S
    target: S
    on: tuple[On, ...]
    when: tuple[Guard, ...]
    reason: Reason


#: Tests of the name of a job's run; "" if no run of it is on a machine.
GUARDS: Final[Mapping[Guard, Callable[[str], Verdict]]] = {
    Guard.ON_MACHINE: lambda run: plain(bool(run)),
    Guard.FREE: lambda run: plain(not run),
}

_R, _FREE, _BUSY = Reason, (Guard.FREE,), (Guard.ON_MACHINE,)
_RUNS: Final = (S.RUNNING, S.TRANSFERRING_OUTPUT, S.SUSPENDED)
#: States of jobs in the queue that have not ended.
_ALIVE: Final = (S.IDLE, *_RUNS, S.HELD)

#: Number, sources, target, trigger, guards, reason.
_WRITTEN: Final[tuple[tuple[int, tuple[S, ...], S, On, tuple[Guard, ...], Reason], ...]] = (
    (1, (S.IDLE,), S.RUNNING, On.STARTED, (), _R.MATCH),
    (2, (S.RUNNING, S.TRANSFERRING_OUTPUT), S.SUSPENDED, On.SUSPENDED, _BUSY, _R.MACHINE),
    (3, (S.SUSPENDED,), S.RUNNING, On.CONTINUED, _BUSY, _R.MACHINE),
    (4, (S.RUNNING,), S.TRANSFERRING_OUTPUT, On.OUTPUT_BEGAN, _BUSY, _R.PROGRAM),
    (5, (S.TRANSFERRING_OUTPUT,), S.RUNNING, On.OUTPUT_MOVED, _BUSY, _R.PROGRAM),
    (6, _RUNS, S.IDLE, On.NOT_BEGUN, _FREE, _R.MACHINE),
    (7, _RUNS, S.IDLE, On.EVICTED, _FREE, _R.MACHINE),
    (8, _RUNS, S.IDLE, On.RUN_UNKNOWN, _FREE, _R.QUEUE),
    (9, _RUNS, S.IDLE, On.AGAIN, _FREE, _R.POLICY),
    # A job that completes without a run (noop_job) ends while idle.
    (10, (S.IDLE,), S.IDLE, On.AGAIN, _FREE, _R.POLICY),
    (11, (S.IDLE, *_RUNS), S.COMPLETED, On.COMPLETED, _FREE, _R.PROGRAM),
    (12, (S.IDLE, *_RUNS), S.HELD, On.HOLD_COMMAND, (), _R.USER),
    (13, (S.IDLE, *_RUNS), S.HELD, On.HOLD_POLICY, (), _R.POLICY),
    (14, _RUNS, S.HELD, On.HOLD_MACHINE, _FREE, _R.MACHINE),
    (15, (S.IDLE,), S.HELD, On.HOLD_QUEUE, _FREE, _R.QUEUE),
    (16, (S.HELD,), S.IDLE, On.RELEASE_COMMAND, _FREE, _R.USER),
    (17, (S.HELD,), S.IDLE, On.RELEASE_POLICY, _FREE, _R.POLICY),
    (18, (*_ALIVE, S.COMPLETED), S.REMOVED, On.REMOVE_COMMAND, (), _R.USER),
    (19, (*_ALIVE, S.COMPLETED), S.REMOVED, On.REMOVE_POLICY, (), _R.POLICY),
    (20, (S.COMPLETED, S.REMOVED), S.GONE, On.LEFT, _FREE, _R.QUEUE),
    (21, (S.HELD,), S.HELD, On.RUN_OVER, _BUSY, _R.MACHINE),
    (22, (S.REMOVED,), S.REMOVED, On.RUN_OVER, _BUSY, _R.MACHINE),
)

#: All rows.
TRANSITIONS: Final[tuple[Transition, ...]] = tuple(
    Transition(number=number, source=source, target=target, on=(on,), when=when, reason=reason)
    for number, sources, target, on, when, reason in _WRITTEN
    for source in sources
)

#: Initial states of a submitted job.
START: Final = frozenset((S.IDLE, S.HELD))

_first_row: Final = row_finder(by_source(TRANSITIONS, S), GUARDS)


def row_of(job: Job, on: On) -> Transition:
    """The row that a trigger leads to. Raises AssertionError if there is none: a bug in this room."""
    found = _first_row(job.run, job.status, (on,))
    if found is None:
        raise AssertionError(f"job {job.id} is {job.status.name}, run {job.run or 'none'}: no transition where {on}")
    return found[0]


def untouched_row(status: S, on: On) -> Transition:
    """The same for all jobs of a status to which nothing has happened, so that no run of them is on a machine."""
    found = _first_row("", status, (on,))
    assert found is not None, f"jobs that are {status.name}: no transition where {on}"
    return found[0]
