"""The transitions of a starter, as a table.

Theory of operation
-------------------
A step hands one event to the starter. Its handler (`receptions`) records what it means and *raises* triggers (`On`); it
changes neither state nor stage. Then the rows of the current pair are tried in the order of this table, and the first
whose trigger was raised and whose guards all hold is taken. The search goes on in the new pair with these triggers:

* ``COUPLED`` always: such rows follow from the data alone, above all from a stage's work being done. A stage that has
  nothing to do (no hook configured, no files to move) is entered and left in the same step;
* ``POLL`` where the policy is evaluated in the new state, so that it is evaluated on each change;
* those that the handler raised, for the first row only.

A step never calls itself; the chain is bounded by `CHAIN_MAX`. The order of rows within a pair is the order of
evaluation: what has happened to the job comes first, then orders, then what the machine decides by itself.

Once a job is leaving there is no way back, and STARTER_EVICT is not asked again. The starter never suspends or
continues a job by its own decision.

Rules that do not fit the table
-------------------------------
They are in `timers` and `machine`:

* `repeat_killing`: a hard kill is repeated until the job is gone; that changes no state.
* `report_usage`: the job's status is regularly reported to startd, queue and a hook, in all of a job's states.
* `arm_poll`: the policy is polled only where the expression that counts can change its value.

And in `receptions`: a second order to end the job that is under way is not carried out again, but may still turn an
eviction into a hold or a removal, and may only shorten the time the job has left.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.model.starter import StarterReason
from roost.starter import states as at
from roost.starter.states import PAIRS, Pair
from roost.tables.rows import by_source


class On(StrEnum):
    """The triggers of a row."""

    COUPLED = "follows"
    POLL = "poll"
    FAILED = "work failed"
    STARTED = "job started"
    NOT_STARTED = "job not started"
    ENDED = "job ended"
    SUSPEND_ORDER = "order to suspend"
    CONTINUE_ORDER = "order to continue"
    SOFT_ORDER = "order to kill softly"
    HARD_ORDER = "order to kill hard"
    SIGNAL_FAILED = "signal not delivered"
    VACATE_LATE = "vacate timer"
    HOOK_LATE = "hook timer"
    FINISH_LATE = "finish timer"


class Guard(StrEnum):
    """A condition of a row; `guards.GUARDS` has the functions."""

    WORK_DONE = "nothing is waited for"
    SUSPEND_WANTED = "the job must be suspended"
    MIGRATES = "its checkpointing interface has it migrate instead"
    STAYS = "no checkpointing interface has it migrate instead"
    UNDEFERRED = "the job has no start time"
    IN_TIME = "it is not too late to start the job"
    TOO_LATE = "the time at which the job was to start is past, and its window too, or is none"
    CHECKPOINT_EXIT = "it ended with the exit code of a checkpoint"
    EVICT = "STARTER_EVICT is TRUE"
    WANT_VACATE = "STARTER_WANT_VACATE is not FALSE"
    NOT_WANT_VACATE = "STARTER_WANT_VACATE is FALSE"
    KILL = "STARTER_KILL is TRUE"
    VACATE_EXPIRED = "the vacate time is over"
    VACATE_HOOK = "the hook VACATE_JOB is configured"
    NO_VACATE_HOOK = "no hook VACATE_JOB is configured"
    FAILURE_HOOK = "the job could not be started, and the hook STARTER_FAILURE is configured"
    NO_FAILURE_HOOK = "the job was started or sent away, or no hook STARTER_FAILURE is configured"


class Entry(StrEnum):
    """An effect of taking a row; `entries.ENTRIES` has the functions."""

    RUN_EARLY_HOOK = "run the hook PREPARE_JOB_BEFORE_TRANSFER"
    TRANSFER_INPUT = "move input"
    RUN_HOOK = "run the hook PREPARE_JOB"
    RUN_PROLOG = "run the prolog"
    DEFER = "wait for the time at which the job is to start"
    NOTE_MISSED = "the cause is the time that was missed"
    START_JOB = "start the job"
    SUSPEND = "stop the job's processes"
    CONTINUE = "resume the job's processes"
    SWEEP = "kill the job's remaining processes"
    TRANSFER_CHECKPOINT = "transfer the saved state"
    NOTE_EVICTION = "the cause is STARTER_EVICT"
    SOFT_KILL = "continue it if it is stopped, send the soft signal, start the vacate timer"
    RUN_VACATE_HOOK = "continue it if it is stopped, start the vacate timer, run the hook VACATE_JOB"
    SIGNAL = "send the soft signal"
    MIGRATE = "evict the job through its checkpointing interface, start the vacate timer"
    GRANT_VACATE = "start the vacate timer"
    HARD_KILL = "kill all processes, start the killing timer"
    ABANDON = "stop the work that is waited for"
    WIND_UP = "kill what is left, cancel the timers"
    RUN_EPILOG = "run the epilog"
    RUN_FAILURE_HOOK = "run the hook STARTER_FAILURE"
    RUN_EXIT_HOOK = "run the hook JOB_EXIT"
    TRANSFER_OUTPUT = "move output"
    REPORT_EXIT = "report how the run ended"
    REMOVE_SANDBOX = "remove the sandbox"
    QUIT = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row."""

    number: int
    source: Pair
    target: Pair
    on: tuple[On, ...]
    when: tuple[Guard, ...]
    reason: StarterReason
    entry: tuple[Entry, ...]


#: Maximum number of rows taken in one step: a run in which no stage has any work.
CHAIN_MAX: Final = 14


@dataclass(frozen=True, slots=True)
class _Row:
    """A row as written: one number for several pairs that behave alike."""

    number: int
    ways: tuple[tuple[Pair, Pair], ...]
    on: tuple[On, ...]
    when: tuple[Guard, ...]
    reason: StarterReason
    entry: tuple[Entry, ...]


def _row(
    number: int,
    source: Pair | tuple[Pair, ...],
    target: Pair,
    on: On | tuple[On, ...],
    when: Guard | tuple[Guard, ...],
    reason: StarterReason,
    *entry: Entry,
) -> _Row:
    sources = (source,) if isinstance(source, Pair) else source
    return _Row(
        number,
        tuple((each, target) for each in sources),
        on if isinstance(on, tuple) else (on,),
        when if isinstance(when, tuple) else (when,),
        reason,
        entry,
    )


# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
_R = StarterReason
_E = Entry
_DONE = (On.COUPLED, Guard.WORK_DONE, _R.WORK_DONE)
_BEFORE_START = (at.SANDBOX, at.EARLY_HOOK, at.INPUT, at.HOOK, at.PROLOG, at.DEFERRED)
_FINISH = (_E.WIND_UP, _E.RUN_EPILOG)
_SAVE = (_E.SWEEP, _E.TRANSFER_CHECKPOINT)

_PREPARING: Final = (
    _row(1, _BEFORE_START, at.EPILOG, On.FAILED, (), _R.PREPARATION_FAILED, *_FINISH),
    _row(2, _BEFORE_START, at.EPILOG, On.HARD_ORDER, (), _R.HARD_KILL_ORDERED, _E.ABANDON, *_FINISH),
    _row(3, _BEFORE_START, at.EPILOG, On.SOFT_ORDER, (), _R.SOFT_KILL_ORDERED, _E.ABANDON, *_FINISH),
    _row(4, at.SANDBOX, at.EARLY_HOOK, *_DONE, _E.RUN_EARLY_HOOK),
    _row(5, at.EARLY_HOOK, at.INPUT, *_DONE, _E.TRANSFER_INPUT),
    _row(6, at.INPUT, at.HOOK, *_DONE, _E.RUN_HOOK),
    _row(7, at.HOOK, at.PROLOG, *_DONE, _E.RUN_PROLOG),
    _row(8, at.DEFERRED, at.UNSTARTED, On.COUPLED, (Guard.WORK_DONE, Guard.UNDEFERRED, Guard.SUSPEND_WANTED), _R.SUSPENSION_ORDERED),
    _row(9, at.DEFERRED, at.START, On.COUPLED, (Guard.WORK_DONE, Guard.IN_TIME), _R.WORK_DONE, _E.START_JOB),
    _row(10, at.START, at.SUSPENDED, On.STARTED, (Guard.SUSPEND_WANTED, Guard.STAYS), _R.SUSPENSION_ORDERED, _E.SUSPEND),
    _row(11, at.START, at.RUNNING, On.STARTED, (), _R.JOB_STARTED),
    _row(12, at.START, at.EPILOG, On.NOT_STARTED, (), _R.START_FAILED, *_FINISH),
    _row(60, at.PROLOG, at.DEFERRED, *_DONE, _E.DEFER),
    _row(61, at.DEFERRED, at.EPILOG, On.COUPLED, (Guard.WORK_DONE, Guard.TOO_LATE), _R.DEFERRAL_MISSED, _E.NOTE_MISSED, *_FINISH),
)

_JOB_ENDS: Final = (
    _row(13, (at.START, at.RUNNING), at.CHECKPOINTING, On.ENDED, Guard.CHECKPOINT_EXIT, _R.CHECKPOINT_BEGUN, *_SAVE),
    _row(13, at.SUSPENDED, at.SUSPENDED_CHECKPOINTING, On.ENDED, Guard.CHECKPOINT_EXIT, _R.CHECKPOINT_BEGUN, *_SAVE),
    _row(13, at.VACATING, at.VACATING_CHECKPOINTING, On.ENDED, Guard.CHECKPOINT_EXIT, _R.CHECKPOINT_BEGUN, *_SAVE),
    _row(14, (at.START, at.RUNNING, at.SUSPENDED, at.VACATING, at.KILLING), at.EPILOG, On.ENDED, (), _R.JOB_ENDED, *_FINISH),
    _row(15, (at.VACATING, at.KILLING), at.EPILOG, On.NOT_STARTED, (), _R.START_FAILED, *_FINISH),
)

_CHECKPOINTS: Final = (
    _row(16, (at.CHECKPOINTING, at.SUSPENDED_CHECKPOINTING, at.VACATING_CHECKPOINTING), at.EPILOG, On.FAILED, (), _R.CHECKPOINT_FAILED, *_FINISH),
    _row(17, at.CHECKPOINTING, at.START, On.COUPLED, Guard.WORK_DONE, _R.CHECKPOINT_SAVED, _E.START_JOB),
    _row(18, at.SUSPENDED_CHECKPOINTING, at.UNSTARTED, On.COUPLED, Guard.WORK_DONE, _R.CHECKPOINT_SAVED),
    _row(19, at.VACATING_CHECKPOINTING, at.EPILOG, On.COUPLED, Guard.WORK_DONE, _R.CHECKPOINT_SAVED, *_FINISH),
)

_SUSPENSION: Final = (
    _row(20, at.RUNNING, at.SUSPENDED, On.SUSPEND_ORDER, Guard.STAYS, _R.SUSPENSION_ORDERED, _E.SUSPEND),
    _row(20, at.CHECKPOINTING, at.SUSPENDED_CHECKPOINTING, On.SUSPEND_ORDER, (), _R.SUSPENSION_ORDERED),
    _row(21, at.SUSPENDED, at.RUNNING, On.CONTINUE_ORDER, (), _R.CONTINUATION_ORDERED, _E.CONTINUE),
    _row(21, at.SUSPENDED_CHECKPOINTING, at.CHECKPOINTING, On.CONTINUE_ORDER, (), _R.CONTINUATION_ORDERED),
    _row(22, at.UNSTARTED, at.START, On.CONTINUE_ORDER, (), _R.CONTINUATION_ORDERED, _E.START_JOB),
)

_MIGRATION: Final = (
    _row(62, at.RUNNING, at.VACATING, On.COUPLED, (Guard.SUSPEND_WANTED, Guard.MIGRATES), _R.SUSPENSION_ORDERED, _E.MIGRATE),
)

_ALIVE = (at.RUNNING, at.SUSPENDED)
_SAVING = (at.CHECKPOINTING, at.SUSPENDED_CHECKPOINTING)
_NOTED = _E.NOTE_EVICTION
_BARE = Guard.NO_VACATE_HOOK

_ORDERED: Final = (
    _row(23, (at.START, *_ALIVE), at.KILLING, On.HARD_ORDER, (), _R.HARD_KILL_ORDERED, _E.HARD_KILL),
    _row(24, at.START, at.VACATING, On.SOFT_ORDER, (), _R.SOFT_KILL_ORDERED, _E.SOFT_KILL),
    _row(24, _ALIVE, at.VACATING, On.SOFT_ORDER, _BARE, _R.SOFT_KILL_ORDERED, _E.SOFT_KILL),
    _row(25, _SAVING, at.EPILOG, On.HARD_ORDER, (), _R.HARD_KILL_ORDERED, _E.ABANDON, *_FINISH),
    _row(26, _SAVING, at.VACATING_CHECKPOINTING, On.SOFT_ORDER, (), _R.SOFT_KILL_ORDERED, _E.GRANT_VACATE),
    _row(27, at.UNSTARTED, at.EPILOG, On.HARD_ORDER, (), _R.HARD_KILL_ORDERED, *_FINISH),
    _row(28, at.UNSTARTED, at.EPILOG, On.SOFT_ORDER, (), _R.SOFT_KILL_ORDERED, *_FINISH),
)

_HARD = (Guard.EVICT, Guard.NOT_WANT_VACATE)
_SOFT = (Guard.EVICT, Guard.WANT_VACATE)

_DECIDED: Final = (
    _row(29, _ALIVE, at.KILLING, On.POLL, _HARD, _R.EVICTION, _NOTED, _E.HARD_KILL),
    _row(30, _ALIVE, at.VACATING, On.POLL, (_BARE, *_SOFT), _R.EVICTION, _NOTED, _E.SOFT_KILL),
    _row(31, _SAVING, at.EPILOG, On.POLL, _HARD, _R.EVICTION, _NOTED, _E.ABANDON, *_FINISH),
    _row(32, _SAVING, at.VACATING_CHECKPOINTING, On.POLL, _SOFT, _R.EVICTION, _NOTED, _E.GRANT_VACATE),
    _row(33, at.UNSTARTED, at.EPILOG, On.POLL, Guard.EVICT, _R.EVICTION, _NOTED, *_FINISH),
)

_LATE = (On.VACATE_LATE, On.POLL)

_STOP: Final = (_E.ABANDON, _E.HARD_KILL)
_SAVED_HERE: Final = (On.ENDED, Guard.CHECKPOINT_EXIT, _R.CHECKPOINT_BEGUN)

_HOOKED = Guard.VACATE_HOOK
_WARN = _E.RUN_VACATE_HOOK

_BEFORE_SIGNAL: Final = (
    _row(48, _ALIVE, at.VACATE_HOOK, On.SOFT_ORDER, _HOOKED, _R.SOFT_KILL_ORDERED, _WARN),
    _row(49, _ALIVE, at.VACATE_HOOK, On.POLL, (_HOOKED, *_SOFT), _R.EVICTION, _NOTED, _WARN),
    _row(50, at.VACATE_HOOK, at.VACATING_CHECKPOINTING, *_SAVED_HERE, _E.ABANDON, *_SAVE),
    _row(51, at.VACATE_HOOK, at.EPILOG, On.ENDED, (), _R.JOB_ENDED, _E.ABANDON, *_FINISH),
    _row(52, at.VACATE_HOOK, at.KILLING, On.HARD_ORDER, (), _R.HARD_KILL_ORDERED, *_STOP),
    _row(53, at.VACATE_HOOK, at.KILLING, _LATE, Guard.VACATE_EXPIRED, _R.VACATE_TIME_OVER, *_STOP),
    _row(54, at.VACATE_HOOK, at.KILLING, On.POLL, Guard.KILL, _R.KILL, *_STOP),
    _row(55, at.VACATE_HOOK, at.VACATING, On.HOOK_LATE, (), _R.HOOK_LATE, _E.ABANDON, _E.SIGNAL),
    _row(56, at.VACATE_HOOK, at.VACATING, On.COUPLED, Guard.WORK_DONE, _R.HOOK_DONE, _E.SIGNAL),
)

_VACATING: Final = (
    _row(34, at.VACATING, at.KILLING, On.HARD_ORDER, (), _R.HARD_KILL_ORDERED, _E.HARD_KILL),
    _row(35, at.VACATING, at.KILLING, On.SIGNAL_FAILED, (), _R.SIGNAL_FAILED, _E.HARD_KILL),
    _row(36, at.VACATING, at.KILLING, _LATE, Guard.VACATE_EXPIRED, _R.VACATE_TIME_OVER, _E.HARD_KILL),
    _row(37, at.VACATING, at.KILLING, On.POLL, Guard.KILL, _R.KILL, _E.HARD_KILL),
    _row(38, at.VACATING_CHECKPOINTING, at.EPILOG, On.HARD_ORDER, (), _R.HARD_KILL_ORDERED, _E.ABANDON, *_FINISH),
    _row(39, at.VACATING_CHECKPOINTING, at.EPILOG, _LATE, Guard.VACATE_EXPIRED, _R.VACATE_TIME_OVER, _E.ABANDON, *_FINISH),
    _row(40, at.VACATING_CHECKPOINTING, at.EPILOG, On.POLL, Guard.KILL, _R.KILL, _E.ABANDON, *_FINISH),
)

_LEAVE = (_E.REPORT_EXIT, _E.REMOVE_SANDBOX)

_FINISHING: Final = (
    _row(41, at.EPILOG, at.EXIT_HOOK, On.COUPLED, (Guard.WORK_DONE, Guard.NO_FAILURE_HOOK), _R.WORK_DONE, _E.RUN_EXIT_HOOK),
    _row(42, at.EPILOG, at.EXIT_HOOK, On.FINISH_LATE, (), _R.TIME_OVER, _E.ABANDON, _E.RUN_EXIT_HOOK),
    _row(43, at.EXIT_HOOK, at.OUTPUT, *_DONE, _E.TRANSFER_OUTPUT),
    _row(44, at.EXIT_HOOK, at.OUTPUT, (On.HOOK_LATE, On.FINISH_LATE), (), _R.TIME_OVER, _E.ABANDON, _E.TRANSFER_OUTPUT),
    _row(45, at.OUTPUT, at.CLEANUP, *_DONE, *_LEAVE),
    _row(46, at.OUTPUT, at.CLEANUP, On.HARD_ORDER, (), _R.HARD_KILL_ORDERED, _E.ABANDON, *_LEAVE),
    _row(47, at.CLEANUP, at.DONE, On.COUPLED, Guard.WORK_DONE, _R.SANDBOX_REMOVED, _E.QUIT),
    _row(57, at.EPILOG, at.FAILURE_HOOK, On.COUPLED, (Guard.WORK_DONE, Guard.FAILURE_HOOK), _R.WORK_DONE, _E.RUN_FAILURE_HOOK),
    _row(58, at.FAILURE_HOOK, at.EXIT_HOOK, *_DONE, _E.RUN_EXIT_HOOK),
    _row(59, at.FAILURE_HOOK, at.EXIT_HOOK, (On.HOOK_LATE, On.FINISH_LATE), (), _R.TIME_OVER, _E.ABANDON, _E.RUN_EXIT_HOOK),
)

_WRITTEN: Final = (
    *_PREPARING,
    *_JOB_ENDS,
    *_CHECKPOINTS,
    *_SUSPENSION,
    *_ORDERED,
    *_DECIDED,
    *_BEFORE_SIGNAL,
    *_MIGRATION,
    *_VACATING,
    *_FINISHING,
)

# fmt: on
#: All rows, one per source pair, in the order of evaluation.
TRANSITIONS: Final[tuple[Transition, ...]] = tuple(
    Transition(
        number=row.number,
        source=source,
        target=target,
        on=row.on,
        when=row.when,
        reason=row.reason,
        entry=row.entry,
    )
    for row in _WRITTEN
    for source, target in row.ways
)

#: The rows of each pair.
ROWS: Final[Mapping[Pair, tuple[Transition, ...]]] = by_source(TRANSITIONS, PAIRS)
