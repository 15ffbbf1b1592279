"""Work that the machine starts itself: benchmarks, backfill, and work that a hook fetches.

Each handler handles one event: it changes data, emits effects and raises triggers, and returns whether the event had
any effect. The table decides state and activity.

Fetched work goes through the same states as a queue's. Its claim has no lease and no queue to notify; a hook is
notified instead. It preempts only by a strictly higher RANK, since no negotiator has ranked it.
"""

from __future__ import annotations

from typing import Final

from roost.base.records import replace
from roost.classad import ClassAd, unparse_value
from roost.model.claims import ClaimKind, ClaimRequest
from roost.model.effects import FetchWork, ReplyFetch, SplitSlot
from roost.model.events import BackfillExited, BackfillStarted, BenchmarksFinished, FetchedWorkOffered
from roost.model.slots import SlotKind
from roost.startd.claiming import drain_refuses, let_wait, take_request
from roost.startd.policy_inputs import whole
from roost.startd.slot_state import Benchmarks, Fetching
from roost.startd.states import BACKFILL, BACKFILL_BUSY, BENCHMARKING, CLAIMED, CLEANING, SUSPENDED, State
from roost.startd.transitions import On
from roost.startd.work import Work

#: FetchWorkDelay where that is not a number, s.
FETCH_DELAY_S: Final = 300
#: Pause after a fetched job that could not be started, s: it doubles with each further failure in a row, up to the
#: maximum.
FAILURE_PAUSE_S: Final = 5.0
FAILURE_PAUSE_MAX_S: Final = 300.0


def benchmarks_finished(work: Work, event: BenchmarksFinished) -> bool:
    """Average new results into the old ones, weighted three to one. Results belong to the machine, so every slot
    receives them.
    """
    old = work.state.benchmarks
    results = Benchmarks(
        last_at=int(work.now), mips=_weighed(old.mips, event.mips), kflops=_weighed(old.kflops, event.kflops)
    )
    work.update(benchmarks=results)
    if work.state.pair == BENCHMARKING:
        work.raised.add(On.BENCHMARKS_DONE)
    return True


def _weighed(old: int | None, new: int | None) -> int | None:
    if old is None or new is None:
        return old if new is None else new
    return (3 * old + new) // 4


def backfill_started(work: Work, event: BackfillStarted) -> bool:
    """Note that the machine's client serves this slot too."""
    if work.state.machine.backfill_running:
        return False
    work.update(machine=replace(work.state.machine, backfill_running=True))
    return True


def backfill_exited(work: Work, event: BackfillExited) -> bool:
    """Note the client's end, by itself or because it was killed."""
    if not work.state.machine.backfill_running and work.state.pair == BACKFILL:
        return False
    work.update(machine=replace(work.state.machine, backfill_running=False))
    work.raised.add(On.BACKFILL_EXITED)
    return True


# -- fetched work --------------------------------------------------------------------------------------


def try_fetch(work: Work) -> None:
    """Run the hook, unless it is running, has nothing to run for, or the interval between runs is not over."""
    state = work.state
    if not work.policy.fetches_work or state.fetching.running or state.shutdown is not None:
        return
    if not _may_fetch(work):
        return
    delay_s = _delay_s(work)
    last_at = state.fetching.completed_at
    if delay_s > 0 and last_at is not None and work.now - last_at < delay_s:
        _retry(work, last_at + delay_s)
    elif work.now < paused_until(state.fetching):
        _retry(work, paused_until(state.fetching))
    elif work.inputs.decide("START").truth is False:
        _retry(work, work.now + max(1, delay_s))
    else:
        work.update(fetching=replace(state.fetching, running=True, spawned_at=work.now, retry_at=None))
        work.order(FetchWork())


def paused_until(fetching: Fetching) -> float:
    """The end of the pause after fetched jobs that could not be started, epoch s; 0.0 for none."""
    if not fetching.failures:
        return 0.0
    return fetching.failed_at + min(FAILURE_PAUSE_MAX_S, FAILURE_PAUSE_S * 2.0 ** min(fetching.failures - 1, 10))


def note_start(work: Work, *, started: bool) -> None:
    """Note whether a fetched job was started; after a failure the slot fetches the next one after a growing pause."""
    fetching = work.state.fetching
    if started and fetching.failures:
        work.update(fetching=replace(fetching, failures=0))
    elif not started:
        work.update(fetching=replace(fetching, failures=fetching.failures + 1, failed_at=work.now))


def _may_fetch(work: Work) -> bool:
    match work.state.state:
        case State.OWNER | State.UNCLAIMED:
            return work.state.kind is not SlotKind.DYNAMIC
        case State.BACKFILL:
            return work.state.pair in (BACKFILL, BACKFILL_BUSY)
        case State.CLAIMED:
            return work.state.pair not in (SUSPENDED, CLEANING)
    return False


def _delay_s(work: Work) -> int:
    return whole(work.inputs.decide("FetchWorkDelay", work.state.claim.job_ad).value, FETCH_DELAY_S)


def _retry(work: Work, at: float) -> None:
    if work.state.fetching.retry_at != at:
        work.update(fetching=replace(work.state.fetching, retry_at=at))


def fetched_work_offered(work: Work, event: FetchedWorkOffered) -> bool:
    """Handle the hook's end. Its job is accepted, kept waiting, or rejected."""
    if not work.state.fetching.running:
        return False
    job = event.job_ad
    rejection = "" if job is None else _rejection(work, job)
    problem = f"the job that it brought was rejected: {rejection}" if rejection else event.problem
    work.update(fetching=replace(work.state.fetching, running=False, completed_at=work.now, problem=problem))
    _retry(work, work.now + max(1, _delay_s(work)))
    if job is None:
        _end_idle_fetch(work)
    elif rejection:
        work.order(ReplyFetch(accepted=False, job_ad=job, rejection=rejection))
        _end_idle_fetch(work)
    else:
        _take(work, job)
    return True


def _is_idle_fetch(work: Work) -> bool:
    """Whether the slot holds a fetched claim without a job."""
    return work.state.pair == CLAIMED and work.state.claim.kind is ClaimKind.FETCHED


def _end_idle_fetch(work: Work) -> None:
    if _is_idle_fetch(work):
        work.raised.add(On.NO_WORK)


def _rejection(work: Work, job: ClassAd) -> str:
    """Why a fetched job is rejected; "" if it is accepted."""
    state = work.state
    if state.state in (State.PREEMPTING, State.DRAINED) or state.deleted:
        return f"the slot is now {state.state}"
    if state.shutdown is not None:
        return "the daemon shuts down"
    if state.leaving is not None:
        return "the slot is leaving"
    if drain_refuses(work, job):
        return "the slot is draining"
    accepted, decision = work.inputs.accepts(job)
    if not accepted:
        return f"{decision.name} is {unparse_value(decision.value)} for it"
    if state.state is State.CLAIMED and not _is_idle_fetch(work):
        rank = work.inputs.rank(job)
        if rank <= state.claim.rank:
            return f"its RANK {rank:g} is not higher than {state.claim.rank:g} of the job that has the slot"
        if state.waiting is not None and rank <= state.waiting.rank:
            return f"its RANK {rank:g} is not higher than {state.waiting.rank:g} of the job that waits for the slot"
        return ""
    return "" if state.claim.request is None or state.state is State.CLAIMED else "the slot has been claimed"


def _take(work: Work, job: ClassAd) -> None:
    state = work.state
    request = ClaimRequest(job_ad=job, kind=ClaimKind.FETCHED)
    if _is_idle_fetch(work):
        work.update_claim(request=request, rank=work.inputs.rank(job), job_waiting=True)
        work.order(ReplyFetch(accepted=True, job_ad=job, claim_id=state.claim.id))
    elif state.state is State.CLAIMED:
        seat = state.preempting if state.waiting is None else state.pre_preempting
        assert seat is not None
        let_wait(work, seat, request, work.inputs.rank(job))
        work.order(ReplyFetch(accepted=True, job_ad=job, claim_id=seat.id))
    elif state.kind is SlotKind.PARTITIONABLE:
        work.order(ReplyFetch(accepted=True, job_ad=job, claim_id=state.claim.id))
        work.order(SplitSlot(claim_id=state.claim.id, request=request))
    else:
        take_request(work, request)
        work.order(ReplyFetch(accepted=True, job_ad=job, claim_id=state.claim.id))
