"""Which events are handled in which states, as a table; and the function that handles each.

Each kind of event has the pairs in which it is handled, and what happens to it in any other pair. An event that is
ignored or refused changes nothing; a refused request is answered. A handler may still find that an event has no effect:
a timer that was set again, an outdated claim id, the end of something that has already ended. Messages can be late and
can be duplicated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost.base.records import dataclass
from roost.model import events as ev
from roost.model.reasons import Refusal
from roost.startd import claiming, commands, jobs, own_work, timers
from roost.startd import states as at
from roost.startd.states import PAIRS, WITH_STARTER, Pair, State
from roost.startd.work import Work

Handler = Callable[[Work, Any], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """How one kind of event is handled."""

    handler: Handler
    handled_in: frozenset[Pair]
    #: The refusal in any other pair; None if it is ignored there.
    refusal: Refusal | None = None

    def refusal_in(self, pair: Pair) -> Refusal | None:
        """Why the event is refused in a pair in which it is not handled; None if it is ignored."""
        if self.refusal is Refusal.WRONG_STATE and pair.state is State.PREEMPTING:
            return Refusal.PREEMPTING
        return self.refusal


def _in(*wanted: State | Pair) -> frozenset[Pair]:
    return frozenset(pair for pair in PAIRS if pair in wanted or pair.state in wanted)


_EVERYWHERE: Final = frozenset(PAIRS)
_HELD: Final = _in(State.CLAIMED, State.PREEMPTING)
_FREE: Final = (State.OWNER, State.UNCLAIMED)


def _row(handler: Handler, pairs: frozenset[Pair], refusal: Refusal | None = None) -> Reception:
    return Reception(handler=handler, handled_in=pairs, refusal=refusal)


RECEPTIONS: Final[Mapping[type[ev.Event], Reception]] = {
    ev.Polled: _row(timers.polled, _EVERYWHERE),
    ev.TimerFired: _row(timers.timer_fired, _EVERYWHERE),
    ev.MatchReceived: _row(claiming.match_received, _in(*_FREE, State.CLAIMED, State.BACKFILL)),
    ev.ClaimRequested: _row(claiming.claim_requested, _EVERYWHERE, Refusal.WRONG_STATE),
    ev.ClaimReleased: _row(
        claiming.claim_released, _in(State.MATCHED, State.CLAIMED, State.PREEMPTING, State.BACKFILL)
    ),
    ev.ClaimMoved: _row(claiming.claim_moved, _in(*_FREE, State.MATCHED, State.BACKFILL, State.DRAINED)),
    ev.AliveReceived: _row(claiming.alive_received, _in(State.CLAIMED, at.VACATING), Refusal.UNKNOWN_CLAIM),
    ev.ActivationRequested: _row(jobs.activation_requested, _in(at.CLAIMED), Refusal.WRONG_STATE),
    ev.DeactivationRequested: _row(jobs.deactivation_requested, _HELD, Refusal.WRONG_STATE),
    ev.SuspendRequested: _row(jobs.suspend_requested, _in(at.BUSY, at.SUSPENDED, at.RETIRING)),
    ev.ContinueRequested: _row(jobs.continue_requested, _in(at.SUSPENDED)),
    ev.SuspendersChanged: _row(jobs.suspenders_changed, _in(State.CLAIMED)),
    ev.JobUpdated: _row(jobs.job_updated, WITH_STARTER),
    ev.JobExited: _row(jobs.job_exited, WITH_STARTER),
    ev.StarterEvicted: _row(jobs.starter_evicted, WITH_STARTER),
    ev.StarterExited: _row(jobs.starter_exited, WITH_STARTER),
    ev.StarterUnreachable: _row(jobs.starter_unreachable, WITH_STARTER),
    ev.VacateRequested: _row(
        commands.vacate_requested, _in(State.MATCHED, State.CLAIMED, State.PREEMPTING, State.BACKFILL)
    ),
    ev.SlotBroken: _row(commands.slot_broken, _EVERYWHERE),
    ev.SlotMended: _row(commands.slot_mended, _EVERYWHERE),
    ev.SlotLeaves: _row(commands.slot_leaves, _EVERYWHERE),
    ev.SlotStays: _row(commands.slot_stays, _EVERYWHERE),
    ev.SlotRemoved: _row(commands.slot_removed, _in(*_FREE)),
    ev.CheckpointRequested: _row(jobs.checkpoint_requested, _in(at.BUSY, at.RETIRING)),
    ev.ShutdownRequested: _row(commands.shutdown_requested, _EVERYWHERE),
    ev.DrainRequested: _row(commands.drain_requested, _EVERYWHERE),
    ev.DrainOriginalsGone: _row(commands.drain_originals_gone, _EVERYWHERE),
    ev.DrainCancelled: _row(commands.drain_cancelled, _EVERYWHERE),
    ev.BenchmarksFinished: _row(own_work.benchmarks_finished, _EVERYWHERE),
    ev.BackfillStarted: _row(own_work.backfill_started, _in(State.BACKFILL)),
    ev.BackfillExited: _row(own_work.backfill_exited, _in(State.BACKFILL)),
    ev.FetchedWorkOffered: _row(own_work.fetched_work_offered, _EVERYWHERE),
}
