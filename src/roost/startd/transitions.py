"""The transitions of a slot, as a table.

Theory of operation
-------------------
A step hands one event to the slot. Its handler (`receptions`) changes the slot's data and *raises* triggers (`On`); it
changes neither state nor activity. Then the rows of the current pair are tried in the order of this table, and the
first whose trigger was raised and whose guards all hold is taken. After it the search begins again in the new pair,
with these triggers:

* ``COUPLED`` always: such rows follow from the data alone (a starter that is gone, a drain in progress);
* ``POLL`` if the slot has been entered in an activity that is evaluated at once: any Idle but that of Backfill, and any
  Retiring. Otherwise only a poll raises it;
* those that the handler raised, for the first row only.

A step therefore never calls itself. At most one row is taken for the event, and its consequences are followed to the
end: the chain is bounded by `CHAIN_MAX`, and a longer one is a bug in this table.

The order of rows within a pair is the order of evaluation. `number` and `letter` are those of the manual's two
diagrams; 12a and 12b belong to Claimed/Cleaning, which the manual lacks.

Rules that do not fit the table
-------------------------------
They are in `machine`, each in a separate function:

* `delete_when_free`: a dynamic slot that reaches Owner or Unclaimed is deleted instead of being evaluated, but only
  after a hook that still fetches work for it has ended. A row cannot express that, because there is no target pair.
* `note_preemption`: PREEMPT turning TRUE in Claimed/Retiring changes nothing visible, but the retirement can then no
  longer be called off. It is evaluated after the row for the end of retirement and before the row back to Busy.
* `note_owner`: a job that the cell or a command suspends may also be suspended by SUSPEND and resumed by CONTINUE,
  which has a visible effect only when nothing else suspends the job.
* `periodic`: what a poll does when no row is taken (fetch work, save the job's state, start the backfill client).
* `repeat_killing` and `harden`: timers of Preempting and of a deactivated job that order a kill and change no state.
"""

# Each row is one line: it is a table.
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.model.reasons import Reason
from roost.startd import states as at
from roost.startd.states import PAIRS, Activity, Pair, State
from roost.tables.rows import by_source


class On(StrEnum):
    """The triggers of a row."""

    POLL = "poll"
    COUPLED = "follows"
    MATCHED = "match accepted"
    MATCH_LATE = "match timer"
    CLAIMED = "claim request accepted"
    CLAIM_REFUSED = "claim request refused"
    RELEASED = "claim released"
    MOVED = "claim moved"
    ACTIVATED = "activation accepted"
    FINAL_UPDATE = "final update"
    SUSPEND_ORDER = "suspend command"
    CONTINUE_ORDER = "continue command"
    #: The claim is to end, with retirement.
    RETIRE_ORDER = "order to retire"
    #: The claim is to end at once.
    KILL_ORDER = "order to kill"
    #: The slot is to be free of whatever is not a job.
    CLEAR_ORDER = "order to clear"
    VACATE_LATE = "vacate timer"
    BENCHMARKS_DONE = "benchmarks finished"
    BACKFILL_EXITED = "backfill client exited"
    NO_WORK = "no work fetched"


class Guard(StrEnum):
    """A condition of a row; `guards.GUARDS` has the functions."""

    OWNER_PRESENT = "IS_OWNER is TRUE"
    OWNER_ABSENT = "IS_OWNER is not TRUE"
    START_LOCALLY_FALSE = "START is FALSE without a job"
    RUN_BENCHMARKS = "RunBenchmarks is TRUE"
    START_BACKFILL = "START_BACKFILL is TRUE"
    EVICT_BACKFILL = "EVICT_BACKFILL is TRUE"
    DRAINING = "the machine is draining"
    NOT_DRAINING = "the machine is not draining"
    ALL_DRAINED = "every slot of the machine is drained"
    NO_STARTER = "no starter is alive"
    RETIREMENT_OVER = "the claim is to end and its retirement is over"
    IN_RETIREMENT = "the claim is to end"
    MAY_UNRETIRE = "there is no longer a reason to end the claim"
    WANT_SUSPEND = "WANT_SUSPEND is TRUE"
    NOT_WANT_SUSPEND = "WANT_SUSPEND is not TRUE"
    SUSPEND = "SUSPEND is TRUE"
    CONTINUE = "CONTINUE is TRUE, and neither a command nor the cell suspends the job"
    CELL_SUSPENDS = "the cell suspends the job, which has not been told to end"
    CELL_LETS_GO_ON = "only the cell had suspended the job, and it no longer does"
    PREEMPT = "PREEMPT is TRUE"
    NOT_PREEMPT_SEEN = "PREEMPT has not been TRUE before"
    HARD = "no time is granted"
    PREEMPT_HARD = "PREEMPT is the cause and WANT_VACATE is FALSE"
    KILL = "KILL is TRUE"
    EVICTION_REMEMBERED = "an order to end the claim is remembered"
    SUCCESSOR_WAITING = "a preempting claim is waiting"
    SUCCESSOR_ACCEPTED = "a preempting claim is waiting and START is not FALSE for its job"
    LEAVING = "the slot is to be deleted"
    WORKLIFE_OVER = "the claim has run a job and is older than CLAIM_WORKLIFE"
    DRAIN_GRACE_OVER = "the machine is draining and the claim is older than MAX_DRAINING_ACTIVATION_DELAY"
    FETCHED_JOB_WAITING = "fetched work waits for its starter"
    MATCH_EXPIRED = "MATCH_TIMEOUT is over"
    VACATE_EXPIRED = "the vacate time is over"
    BACKFILL_RUNNING = "the backfill client runs"
    TO_OWNER = "the destination is Owner"
    TO_MATCHED = "the destination is Matched"
    TO_CLAIMED = "the destination is Claimed and the request still there"
    HEADING_AWAY = "there is a destination"


class Entry(StrEnum):
    """An effect of taking a row; `entries.ENTRIES` has the functions."""

    RENEW_CLAIM = "drop the claim, make a fresh claim id"
    START_MATCH_TIMER = "start the match timer"
    STOP_MATCH_TIMER = "stop the match timer"
    GRANT_CLAIM = "grant the claim, start its lease, make the id of a preempting claim"
    START_JOB = "spawn the starter"
    DROP_JOB = "forget the job and whatever was planned for it"
    SUSPEND_JOB = "suspend the job"
    SUSPEND_BY_COMMAND = "suspend the job until the command to continue"
    SUSPEND_BY_CELL = "suspend the job until the cell resumes it"
    CONTINUE_JOB = "resume the job"
    PREEMPTED = "note that PREEMPT was TRUE: there is no way back"
    UNRETIRE = "forget the reason for retiring"
    SOFT_KILL = "end the job softly, start the vacate timer"
    HARD_KILL = "kill the job, start the killing timer"
    END_CLAIM = "tell the holder that the claim is over"
    SUCCEED = "the preempting claim becomes the present one"
    RUN_BENCHMARKS = "run the benchmarks"
    STOP_BENCHMARKS = "stop the benchmarks"
    START_BACKFILL = "start the backfill client"
    KILL_BACKFILL = "kill the backfill client"
    HEAD_FOR_OWNER = "the destination is Owner"
    ARRIVE = "clear the destination"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row."""

    #: As in the manual's diagram of states and activities.
    number: str
    #: As in its diagram of states; "" within a state.
    letter: str
    source: Pair
    target: Pair
    on: tuple[On, ...]
    when: tuple[Guard, ...]
    reason: Reason
    entry: tuple[Entry, ...]


#: Maximum number of rows taken in one step.
CHAIN_MAX: Final = 12

_LETTERS: Final[Mapping[tuple[State, State], str]] = {
    (State.OWNER, State.UNCLAIMED): "A",
    (State.UNCLAIMED, State.OWNER): "B",
    (State.UNCLAIMED, State.MATCHED): "C",
    (State.OWNER, State.MATCHED): "C",
    (State.UNCLAIMED, State.CLAIMED): "D",
    (State.OWNER, State.CLAIMED): "D",
    (State.UNCLAIMED, State.BACKFILL): "E",
    (State.MATCHED, State.OWNER): "F",
    (State.MATCHED, State.CLAIMED): "G",
    (State.CLAIMED, State.PREEMPTING): "H",
    (State.PREEMPTING, State.CLAIMED): "I",
    (State.PREEMPTING, State.OWNER): "J",
    (State.BACKFILL, State.OWNER): "K",
    (State.BACKFILL, State.MATCHED): "L",
    (State.BACKFILL, State.CLAIMED): "M",
    (State.OWNER, State.DRAINED): "N",
    (State.DRAINED, State.OWNER): "O",
    (State.DRAINED, State.CLAIMED): "D",
    (State.UNCLAIMED, State.DRAINED): "P",
}


def _row(
    number: str,
    source: Pair,
    target: Pair,
    on: On | tuple[On, ...],
    when: Guard | tuple[Guard, ...],
    reason: Reason,
    *entry: Entry,
) -> Transition:
    return Transition(
        number=number,
        letter=_LETTERS[source.state, target.state] if source.state is not target.state else "",
        source=source,
        target=target,
        on=on if isinstance(on, tuple) else (on,),
        when=when if isinstance(when, tuple) else (when,),
        reason=reason,
        entry=entry,
    )


def _from_idle_claim(target: Pair, on: On | tuple[On, ...], when: Guard | tuple[Guard, ...], why: Reason) -> Transition:
    """The rows of number 10: there is no starter, so the slot only passes through."""
    return _row("10", at.CLAIMED, target, on, when, why)


_BOTH = (On.POLL, On.COUPLED)

_OWNER: Final = (
    _row("6", at.OWNER, at.MATCHED, On.MATCHED, (), Reason.MATCH, Entry.START_MATCH_TIMER),
    _row("5", at.OWNER, at.CLAIMED, On.CLAIMED, (), Reason.CLAIM_ACCEPTED, Entry.GRANT_CLAIM),
    _row("36", at.OWNER, at.DRAINED_RETIRING, _BOTH, Guard.DRAINING, Reason.DRAINING),
    _row("1", at.OWNER, at.UNCLAIMED, On.POLL, Guard.OWNER_ABSENT, Reason.OWNER_ABSENT),
)

_UNCLAIMED: Final = (
    _row("6", at.UNCLAIMED, at.MATCHED, On.MATCHED, (), Reason.MATCH, Entry.START_MATCH_TIMER),
    _row("5", at.UNCLAIMED, at.CLAIMED, On.CLAIMED, (), Reason.CLAIM_ACCEPTED, Entry.GRANT_CLAIM),
    _row("37", at.UNCLAIMED, at.DRAINED_RETIRING, _BOTH, Guard.DRAINING, Reason.DRAINING, Entry.RENEW_CLAIM),
    _row("2", at.UNCLAIMED, at.OWNER, On.POLL, Guard.OWNER_PRESENT, Reason.OWNER_PRESENT, Entry.RENEW_CLAIM),
    _row("7", at.UNCLAIMED, at.BACKFILL, On.POLL, Guard.START_BACKFILL, Reason.BACKFILL_WANTED, Entry.START_BACKFILL),
    _row("3", at.UNCLAIMED, at.BENCHMARKING, On.POLL, Guard.RUN_BENCHMARKS, Reason.BENCHMARKS_DUE, Entry.RUN_BENCHMARKS),
)

_STOP = Entry.STOP_BENCHMARKS

_BENCHMARKING: Final = (
    _row("6", at.BENCHMARKING, at.MATCHED, On.MATCHED, (), Reason.MATCH, _STOP, Entry.START_MATCH_TIMER),
    _row("5", at.BENCHMARKING, at.CLAIMED, On.CLAIMED, (), Reason.CLAIM_ACCEPTED, _STOP, Entry.GRANT_CLAIM),
    _row("4", at.BENCHMARKING, at.UNCLAIMED, On.BENCHMARKS_DONE, (), Reason.BENCHMARKS_DONE),
    _row("37", at.BENCHMARKING, at.DRAINED_RETIRING, _BOTH, Guard.DRAINING, Reason.DRAINING, _STOP, Entry.RENEW_CLAIM),
    _row("2", at.BENCHMARKING, at.OWNER, On.POLL, Guard.OWNER_PRESENT, Reason.OWNER_PRESENT, _STOP, Entry.RENEW_CLAIM),
    _row("7", at.BENCHMARKING, at.BACKFILL, On.POLL, Guard.START_BACKFILL, Reason.BACKFILL_WANTED, _STOP, Entry.START_BACKFILL),
)

_NOT_ON_OFFER = (Guard.START_LOCALLY_FALSE, Guard.OWNER_PRESENT)
_LEAVE_MATCH = (Entry.STOP_MATCH_TIMER, Entry.RENEW_CLAIM)

_MATCHED: Final = (
    _row("9", at.MATCHED, at.CLAIMED, On.CLAIMED, (), Reason.CLAIM_ACCEPTED, Entry.STOP_MATCH_TIMER, Entry.GRANT_CLAIM),
    _row("8", at.MATCHED, at.OWNER, On.CLAIM_REFUSED, (), Reason.CLAIM_REFUSED, *_LEAVE_MATCH),
    _row("8", at.MATCHED, at.OWNER, On.RELEASED, (), Reason.CLAIM_RELEASED, *_LEAVE_MATCH),
    _row("8", at.MATCHED, at.OWNER, On.MOVED, (), Reason.CLAIM_MOVED, *_LEAVE_MATCH),
    _row("8", at.MATCHED, at.OWNER, On.CLEAR_ORDER, (), Reason.EVICTION_ORDERED, *_LEAVE_MATCH),
    _row("8", at.MATCHED, at.OWNER, (On.MATCH_LATE, On.POLL), Guard.MATCH_EXPIRED, Reason.MATCH_TIMEOUT, *_LEAVE_MATCH),
    # START alone does not say that: a START that requires something of a job is FALSE without one, and the slot is on
    # offer.
    _row("8", at.MATCHED, at.OWNER, On.POLL, _NOT_ON_OFFER, Reason.START_FALSE, *_LEAVE_MATCH),
)

_CLAIMED: Final = (
    _row("11", at.CLAIMED, at.BUSY, On.ACTIVATED, (), Reason.ACTIVATION, Entry.START_JOB),
    _row("11", at.CLAIMED, at.BUSY, On.COUPLED, Guard.FETCHED_JOB_WAITING, Reason.FETCHED_WORK, Entry.START_JOB),
    _from_idle_claim(at.KILLING, On.KILL_ORDER, (), Reason.HARD_KILL_ORDERED),
    _from_idle_claim(at.VACATING, On.RETIRE_ORDER, (), Reason.EVICTION_ORDERED),
    _from_idle_claim(at.VACATING, On.NO_WORK, (), Reason.NO_MORE_WORK),
    _from_idle_claim(at.VACATING, On.POLL, Guard.SUCCESSOR_WAITING, Reason.BETTER_MATCH),
    _from_idle_claim(at.VACATING, On.POLL, Guard.RETIREMENT_OVER, Reason.RETIREMENT_OVER),
    _from_idle_claim(at.VACATING, On.POLL, Guard.OWNER_PRESENT, Reason.OWNER_PRESENT),
    _from_idle_claim(at.VACATING, On.POLL, Guard.LEAVING, Reason.LEAVING),
    _from_idle_claim(at.VACATING, On.POLL, Guard.WORKLIFE_OVER, Reason.WORKLIFE_OVER),
    _from_idle_claim(at.VACATING, On.POLL, Guard.DRAIN_GRACE_OVER, Reason.DRAINING),
)

_BUSY: Final = (
    _row("13", at.BUSY, at.RETIRING, On.NO_WORK, (), Reason.NO_MORE_WORK),
    _row("12", at.BUSY, at.CLAIMED, On.COUPLED, Guard.NO_STARTER, Reason.JOB_ENDED, Entry.DROP_JOB),
    _row("12", at.BUSY, at.CLEANING, On.FINAL_UPDATE, (), Reason.FINAL_UPDATE),
    _row("13", at.BUSY, at.RETIRING, On.KILL_ORDER, (), Reason.HARD_KILL_ORDERED),
    _row("13", at.BUSY, at.RETIRING, On.RETIRE_ORDER, (), Reason.EVICTION_ORDERED),
    _row("14", at.BUSY, at.SUSPENDED, On.SUSPEND_ORDER, (), Reason.SUSPENSION_ORDERED, Entry.SUSPEND_BY_COMMAND),
    _row("14", at.BUSY, at.SUSPENDED, On.COUPLED, Guard.CELL_SUSPENDS, Reason.CELL_SUSPENSION, Entry.SUSPEND_BY_CELL),
    _row("13", at.BUSY, at.RETIRING, On.POLL, (Guard.SUCCESSOR_WAITING, Guard.RETIREMENT_OVER), Reason.BETTER_MATCH),
    _row("13", at.BUSY, at.RETIRING, On.POLL, Guard.RETIREMENT_OVER, Reason.RETIREMENT_OVER),
    _row("13", at.BUSY, at.RETIRING, On.POLL, (Guard.NOT_WANT_SUSPEND, Guard.PREEMPT), Reason.PREEMPTION, Entry.PREEMPTED),
    _row("14", at.BUSY, at.SUSPENDED, On.POLL, (Guard.WANT_SUSPEND, Guard.SUSPEND), Reason.SUSPENSION, Entry.SUSPEND_JOB),
    _row("13", at.BUSY, at.RETIRING, On.POLL, Guard.SUCCESSOR_WAITING, Reason.BETTER_MATCH),
)

_GO_ON = Entry.CONTINUE_JOB

_SUSPENDED: Final = (
    _row("16", at.SUSPENDED, at.RETIRING, On.COUPLED, (Guard.NO_STARTER, Guard.IN_RETIREMENT), Reason.JOB_ENDED),
    _row("15", at.SUSPENDED, at.BUSY, On.COUPLED, Guard.NO_STARTER, Reason.JOB_ENDED),
    _row("17", at.SUSPENDED, at.KILLING, On.KILL_ORDER, (), Reason.HARD_KILL_ORDERED, _GO_ON, Entry.HARD_KILL),
    _row("16", at.SUSPENDED, at.RETIRING, On.RETIRE_ORDER, (), Reason.EVICTION_ORDERED, _GO_ON),
    _row("16", at.SUSPENDED, at.RETIRING, On.CONTINUE_ORDER, Guard.IN_RETIREMENT, Reason.CONTINUATION_ORDERED, _GO_ON),
    _row("15", at.SUSPENDED, at.BUSY, On.CONTINUE_ORDER, (), Reason.CONTINUATION_ORDERED, _GO_ON),
    _row("16", at.SUSPENDED, at.RETIRING, On.COUPLED, (Guard.CELL_LETS_GO_ON, Guard.IN_RETIREMENT), Reason.CELL_CONTINUATION, _GO_ON),
    _row("15", at.SUSPENDED, at.BUSY, On.COUPLED, Guard.CELL_LETS_GO_ON, Reason.CELL_CONTINUATION, _GO_ON),
    _row("17", at.SUSPENDED, at.KILLING, On.POLL, (Guard.RETIREMENT_OVER, Guard.PREEMPT_HARD), Reason.RETIREMENT_OVER, _GO_ON, Entry.HARD_KILL),
    _row("17", at.SUSPENDED, at.VACATING, On.POLL, Guard.RETIREMENT_OVER, Reason.RETIREMENT_OVER, _GO_ON, Entry.SOFT_KILL),
    _row("16", at.SUSPENDED, at.RETIRING, On.POLL, (Guard.NOT_PREEMPT_SEEN, Guard.PREEMPT), Reason.PREEMPTION, _GO_ON, Entry.PREEMPTED),
    _row("16", at.SUSPENDED, at.RETIRING, On.POLL, (Guard.CONTINUE, Guard.IN_RETIREMENT), Reason.CONTINUATION, _GO_ON),
    _row("15", at.SUSPENDED, at.BUSY, On.POLL, Guard.CONTINUE, Reason.CONTINUATION, _GO_ON),
)

_RETIRING: Final = (
    _row("18", at.RETIRING, at.VACATING, On.COUPLED, Guard.NO_STARTER, Reason.JOB_ENDED),
    _row("18", at.RETIRING, at.KILLING, On.COUPLED, Guard.HARD, Reason.HARD_KILL_ORDERED, Entry.HARD_KILL),
    _row("20", at.RETIRING, at.SUSPENDED, On.SUSPEND_ORDER, (), Reason.SUSPENSION_ORDERED, Entry.SUSPEND_BY_COMMAND),
    _row("18", at.RETIRING, at.KILLING, On.POLL, (Guard.RETIREMENT_OVER, Guard.PREEMPT_HARD), Reason.RETIREMENT_OVER, Entry.HARD_KILL),
    _row("18", at.RETIRING, at.VACATING, On.POLL, Guard.RETIREMENT_OVER, Reason.RETIREMENT_OVER, Entry.SOFT_KILL),
    _row("19", at.RETIRING, at.BUSY, On.POLL, Guard.MAY_UNRETIRE, Reason.CAUSE_GONE, Entry.UNRETIRE),
    _row("20", at.RETIRING, at.SUSPENDED, On.POLL, (Guard.WANT_SUSPEND, Guard.SUSPEND), Reason.SUSPENSION, Entry.SUSPEND_JOB),
    _row("20", at.RETIRING, at.SUSPENDED, On.COUPLED, Guard.CELL_SUSPENDS, Reason.CELL_SUSPENSION, Entry.SUSPEND_BY_CELL),
)

_CLEANING: Final = (
    _row("12b", at.CLEANING, at.VACATING, On.COUPLED, (Guard.NO_STARTER, Guard.EVICTION_REMEMBERED), Reason.JOB_ENDED),
    _row("12a", at.CLEANING, at.CLAIMED, On.COUPLED, Guard.NO_STARTER, Reason.JOB_ENDED, Entry.DROP_JOB),
)

_SUCCESSION = (Guard.NO_STARTER, Guard.SUCCESSOR_ACCEPTED)
_SUCCEED = (Entry.END_CLAIM, Entry.SUCCEED)
_END = (Entry.END_CLAIM, Entry.RENEW_CLAIM)

_PREEMPTING: Final = (
    _row("23", at.VACATING, at.CLAIMED, On.COUPLED, _SUCCESSION, Reason.SUCCESSOR, *_SUCCEED),
    _row("22", at.VACATING, at.OWNER, On.COUPLED, Guard.NO_STARTER, Reason.STARTER_GONE, *_END),
    _row("21", at.VACATING, at.KILLING, On.KILL_ORDER, (), Reason.HARD_KILL_ORDERED, Entry.HARD_KILL),
    _row("21", at.VACATING, at.KILLING, (On.VACATE_LATE, On.POLL), Guard.VACATE_EXPIRED, Reason.VACATE_TIME_OVER, Entry.HARD_KILL),
    _row("21", at.VACATING, at.KILLING, On.POLL, Guard.KILL, Reason.KILL, Entry.HARD_KILL),
    _row("24", at.KILLING, at.CLAIMED, On.COUPLED, _SUCCESSION, Reason.SUCCESSOR, *_SUCCEED),
    _row("25", at.KILLING, at.OWNER, On.COUPLED, Guard.NO_STARTER, Reason.STARTER_GONE, *_END),
)

_KILL_CLIENT = Entry.KILL_BACKFILL

_BACKFILL: Final = (
    _row("31", at.BACKFILL, at.CLAIMED, On.COUPLED, Guard.TO_CLAIMED, Reason.CLAIM_ACCEPTED, Entry.GRANT_CLAIM),
    _row("32", at.BACKFILL, at.MATCHED, On.COUPLED, Guard.TO_MATCHED, Reason.MATCH, Entry.ARRIVE),
    _row("30", at.BACKFILL, at.OWNER, On.COUPLED, Guard.TO_OWNER, Reason.BACKFILL_DISPLACED, Entry.RENEW_CLAIM),
    _row("30", at.BACKFILL, at.OWNER, On.POLL, Guard.EVICT_BACKFILL, Reason.BACKFILL_UNWANTED, Entry.RENEW_CLAIM),
    _row("26", at.BACKFILL, at.BACKFILL_BUSY, On.COUPLED, Guard.BACKFILL_RUNNING, Reason.BACKFILL_RUNNING),
    _row("27", at.BACKFILL_BUSY, at.BACKFILL, On.BACKFILL_EXITED, (), Reason.BACKFILL_ENDED),
    _row("28", at.BACKFILL_BUSY, at.BACKFILL_KILLING, On.COUPLED, Guard.HEADING_AWAY, Reason.BACKFILL_DISPLACED, _KILL_CLIENT),
    _row("28", at.BACKFILL_BUSY, at.BACKFILL_KILLING, On.POLL, Guard.EVICT_BACKFILL, Reason.BACKFILL_UNWANTED, Entry.HEAD_FOR_OWNER, _KILL_CLIENT),
    _row("29", at.BACKFILL_KILLING, at.BACKFILL, On.BACKFILL_EXITED, (), Reason.BACKFILL_ENDED),
)

_DRAINED: Final = (
    # A drain with a START expression keeps offering the empty slots.
    _row("5", at.DRAINED_RETIRING, at.CLAIMED, On.CLAIMED, (), Reason.CLAIM_ACCEPTED, Entry.GRANT_CLAIM),
    _row("35", at.DRAINED_RETIRING, at.OWNER, _BOTH, Guard.NOT_DRAINING, Reason.DRAIN_OVER, Entry.RENEW_CLAIM),
    _row("33", at.DRAINED_RETIRING, at.DRAINED, On.POLL, Guard.ALL_DRAINED, Reason.ALL_SLOTS_DRAINED),
    _row("34", at.DRAINED, at.OWNER, _BOTH, Guard.NOT_DRAINING, Reason.DRAIN_OVER, Entry.RENEW_CLAIM),
)

#: All rows, in the order of evaluation.
TRANSITIONS: Final[tuple[Transition, ...]] = (
    *_OWNER,
    *_UNCLAIMED,
    *_BENCHMARKING,
    *_MATCHED,
    *_CLAIMED,
    *_BUSY,
    *_SUSPENDED,
    *_RETIRING,
    *_CLEANING,
    *_PREEMPTING,
    *_BACKFILL,
    *_DRAINED,
)

#: The rows of each pair.
ROWS: Final[Mapping[Pair, tuple[Transition, ...]]] = by_source(TRANSITIONS, PAIRS)

#: Pairs that are evaluated as soon as they are entered.
EVALUATED_AT_ONCE: Final = frozenset(
    pair for pair in PAIRS if pair.activity in (Activity.IDLE, Activity.RETIRING) and pair.state is not State.BACKFILL
)
