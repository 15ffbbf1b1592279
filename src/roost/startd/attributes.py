"""What the state machine knows of a slot, as attributes of its ad.

`overlay` is the ad that policy expressions see: these attributes, then the policy, and behind both the ad that was
polled. `published` is what goes into the ad that the pool sees. The machine owns the names in `OWNED`: where it has
nothing to say under one of them, a polled ad has nothing to say either.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from roost.classad import ClassAd, Expr, parse_expression
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.startd.slot_state import SlotState
from roost.startd.states import PAIRS, State

if TYPE_CHECKING:
    from roost.model.claims import Activation, Claim

#: Attributes of the job that are always copied into the ad of a claimed slot.
COPIED_ALWAYS: Final = ("JobUniverse", "NiceUser", "ImageSize", "ExecutableSize")

#: Names that only the state machine sets.
OWNED: Final = frozenset(
    fold(name)
    for name in (
        *COPIED_ALWAYS,
        "State",
        "Activity",
        "EnteredCurrentState",
        "EnteredCurrentActivity",
        "RemoteOwner",
        "RemoteUser",
        "RemoteScheddName",
        "ClientMachine",
        "ConcurrencyLimits",
        "AccountingGroup",
        "RemoteGroup",
        "JobId",
        "GlobalJobId",
        "JobStart",
        "CurrentRank",
        "TotalJobRunTime",
        "TotalJobSuspendTime",
        "TotalClaimRunTime",
        "TotalClaimSuspendTime",
        "LastPeriodicCheckpoint",
        "PreemptingOwner",
        "PreemptingUser",
        "PreemptingRank",
        "PreemptingAccountingGroup",
        "PreemptingConcurrencyLimits",
        "Draining",
        "DrainReason",
        "DrainingRequestId",
        "AcceptedWhileDraining",
        "LastBenchmark",
        "Mips",
        "KFlops",
        "StarterJobState",
        "LastFetchWorkSpawned",
        "LastFetchWorkCompleted",
        "PublicClaimId",
        "RetirementTimeRemaining",
    )
)

_FALSE: Final = parse_expression("false")
_REQUIREMENTS: Final = parse_expression("START && WithinResourceLimits")
_REQUIREMENTS_BARE: Final = parse_expression("START")


def sensed(ad: ClassAd) -> ClassAd:
    """A polled ad without what the state machine owns; the ad itself if there is nothing of that in it."""
    if OWNED.isdisjoint(ad.cells):
        return ad
    ad = ad.copy()
    for key in OWNED.intersection(ad.cells):
        del ad.cells[key]
    return ad


def overlay(state: SlotState, policy: ClassAd, job_attributes: Iterable[str], now: float) -> ClassAd:
    """The slot's ad as its expressions see it. It shares the polled ad and must not be changed."""
    ad = ClassAd(policy)
    for name, value in known(state, now).items():
        ad.put(name, value)
    if state.draining is not None:
        start = None if state.draining.originals_gone else state.draining.start
        ad.put("START", _FALSE if start is None else start)
    job = state.claim.job_ad
    if job is not None and state.state in (State.CLAIMED, State.PREEMPTING):
        for name in (*COPIED_ALWAYS, *job_attributes):
            cell = job.cell(fold(name))
            if cell is not MISSING:
                ad.put(name, cell)
    ad.chain_to(state.ad)
    return ad


def known(state: SlotState, now: float) -> dict[str, Any]:
    """The attributes of the slot's own state and of its claims."""
    found: dict[str, Any] = {
        "State": state.state.value,
        "Activity": state.activity.value,
        "EnteredCurrentState": int(state.entered_state_at),
        "EnteredCurrentActivity": int(state.entered_activity_at),
        "LastBenchmark": state.benchmarks.last_at,
    }
    if state.benchmarks.mips is not None:
        found["Mips"] = state.benchmarks.mips
    if state.benchmarks.kflops is not None:
        found["KFlops"] = state.benchmarks.kflops
    if state.state in (State.CLAIMED, State.PREEMPTING):
        found |= _of_claim(state.claim, now)
        if state.waiting is not None:
            found |= _of_successor(state.waiting)
    if state.draining is not None:
        found |= {
            "Draining": True,
            "DrainReason": state.draining.reason,
            "DrainingRequestId": state.draining.request_id,
        }
    fetching = state.fetching
    if fetching.spawned_at is not None:
        found["LastFetchWorkSpawned"] = int(fetching.spawned_at)
    if fetching.completed_at is not None:
        found["LastFetchWorkCompleted"] = int(fetching.completed_at)
    return found


def _of_claim(claim: Claim, now: float) -> dict[str, Any]:
    request = claim.request
    if request is None:
        return {}
    found: dict[str, Any] = {"CurrentRank": claim.rank, "PublicClaimId": claim.id.public}
    if request.client_machine:
        found["ClientMachine"] = request.client_machine
    _copy(claim.job_ad, _REMOTE, found)
    activation = claim.activation
    run_s, suspended_s = claim.run_s, claim.suspended_s
    if activation is not None:
        run_s += activation.run_time_s(now)
        suspended_s += activation.suspended_time_s(now)
        found |= _of_activation(activation, now)
    if run_s >= 1:
        found["TotalClaimRunTime"] = int(run_s)
    if suspended_s >= 1:
        found["TotalClaimSuspendTime"] = int(suspended_s)
    return found


def _of_activation(activation: Activation, now: float) -> dict[str, Any]:
    found: dict[str, Any] = {"JobStart": int(activation.started_at)}
    job = activation.job_ad
    cluster, proc = job.eval("ClusterId"), job.eval("ProcId")
    if isinstance(cluster, int) and isinstance(proc, int):
        found["JobId"] = f"{cluster}.{proc}"
    _copy(job, (("GlobalJobId", ("GlobalJobId",)),), found)
    if (run_s := int(activation.run_time_s(now))) > 0:
        found["TotalJobRunTime"] = run_s
    if (suspended_s := int(activation.suspended_time_s(now))) > 0:
        found["TotalJobSuspendTime"] = suspended_s
    # A job that never saved its state is measured from its start, as a fresh checkpoint would be.
    found["LastPeriodicCheckpoint"] = int(activation.checkpointed_at or activation.started_at)
    if activation.accepted_while_draining:
        found["AcceptedWhileDraining"] = True
    if activation.starter_state:
        found["StarterJobState"] = activation.starter_state
    return found


def _of_successor(claim: Claim) -> dict[str, Any]:
    found: dict[str, Any] = {"PreemptingRank": claim.rank}
    _copy(claim.job_ad, _PREEMPTING, found)
    return found


#: Attribute of the slot's ad, and attributes of the job it comes from: the first that is a string.
_REMOTE: Final = (
    ("RemoteUser", ("User", "Owner")),
    ("RemoteOwner", ("User", "Owner")),
    ("RemoteScheddName", ("ScheddName",)),
    ("AccountingGroup", ("AccountingGroup",)),
    ("ConcurrencyLimits", ("ConcurrencyLimits",)),
)
_PREEMPTING: Final = (
    ("PreemptingUser", ("User", "Owner")),
    ("PreemptingOwner", ("User", "Owner")),
    ("PreemptingAccountingGroup", ("AccountingGroup",)),
    ("PreemptingConcurrencyLimits", ("ConcurrencyLimits",)),
)


def _copy(job: ClassAd | None, names: Iterable[tuple[str, tuple[str, ...]]], found: dict[str, Any]) -> None:
    if job is None:
        return
    for name, sources in names:
        for source in sources:
            value = job.eval(source)
            if isinstance(value, str):
                found[name] = value
                break


def spent(state: SlotState, now: float) -> dict[str, int]:
    """TotalTime<State><Activity> of every pair that the slot has been in, s."""
    found = {}
    for pair, seconds in zip(PAIRS, state.spent_s, strict=True):
        if pair == state.pair:
            seconds += max(0.0, now - state.entered_activity_at)
        if seconds >= 1:
            found[f"TotalTime{pair.state}{pair.activity}"] = int(seconds)
    return found


def is_offered(state: SlotState) -> bool:
    """Whether the slot offers itself to jobs; otherwise its Requirements are FALSE."""
    return not (
        state.state in (State.MATCHED, State.PREEMPTING)
        or (state.preempting is not None and state.preempting.matched)
        or state.shutdown is not None
        or (state.draining is not None and (state.draining.start is None or state.draining.originals_gone))
    )


def requirements(state: SlotState) -> Expr:
    """What the slot advertises as its Requirements."""
    if not is_offered(state):
        return _FALSE
    return _REQUIREMENTS_BARE if state.ad.cell("withinresourcelimits") is MISSING else _REQUIREMENTS


def published(state: SlotState, policy: ClassAd, job_attributes: Iterable[str], now: float) -> ClassAd:
    """The attributes that this machine adds to the slot's ad for the pool: state, claim, policy, Requirements."""
    ad = overlay(state, policy, job_attributes, now)
    ad.chain_to(None)
    for name, seconds in spent(state, now).items():
        ad.put(name, seconds)
    ad.put("Requirements", requirements(state))
    if state.draining is not None and state.draining.start is None:
        del ad.cells["start"]
    if ad.cell("rank") is MISSING:
        ad.put("Rank", 0.0)
    return ad
