"""What a machine decided about its slots and their jobs, for the record: which transitions are evictions, and why.

An eviction is on record where it is decided: when a job that runs or is suspended has to go, and when it is killed for
not going. That its retirement is over, and similar steps, follow from that, and are in the slot's story. A user's
command is on record whether it was done or refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from roost.classad import ClassAd
from roost.model.audit import AuditKind, AuditRecord, Effect, clipped, some
from roost.model.digests import digest
from roost.model.reasons import Reason
from roost.model.starter import StarterReason
from roost.policy.decision import Decision
from roost.startd.entries import cause_of
from roost.startd.slot_state import SlotState
from roost.startd.states import BUSY, KILLING, RETIRING, SUSPENDED, VACATING
from roost.startd.work import Taken
from roost.starter.work import Taken as StarterTaken

_RUNS: Final = frozenset((BUSY, SUSPENDED))
_GOES: Final = frozenset((RETIRING, VACATING, KILLING))
#: Ways to where a job goes that nobody decided then.
_NO_DECISION: Final = frozenset(
    (
        Reason.JOB_ENDED,
        Reason.CONTINUATION,
        Reason.CONTINUATION_ORDERED,
        Reason.CELL_CONTINUATION,
        Reason.NO_MORE_WORK,
    )
)
_STARTER: Final = frozenset((StarterReason.EVICTION, StarterReason.KILL))


def is_eviction(taken: Taken) -> bool:
    """Whether a transition decides that a job has to go, or how."""
    if taken.reason in _NO_DECISION:
        return False
    killed = taken.source == VACATING and taken.target == KILLING
    return killed or (taken.source in _RUNS and taken.target in _GOES)


def is_starter_eviction(taken: StarterTaken) -> bool:
    """Whether a starter's transition gets rid of its job by the starter's own policy."""
    return taken.reason in _STARTER


def of_slot(
    before: SlotState, after: SlotState, taken: Taken, *, machine: str, place: str, configuration: str
) -> AuditRecord | None:
    """The record of a slot's transition; None for one that evicts no job. `place`: where its expression was set."""
    activation = before.claim.activation or after.claim.activation
    if activation is None or not is_eviction(taken):
        return None
    ad = activation.job_ad
    waiting = after.waiting or before.waiting
    winner = None if waiting is None or taken.reason is not Reason.BETTER_MATCH else waiting.job_ad
    cause = taken.cause or cause_of(after)
    said = f"{taken.source} to {taken.target}: {taken.reason}"
    if _fetched(ad):
        said = f"{_fetched(ad)}: {said}"
    if winner is not None and _fetched(winner):
        said += f", for the {_fetched(winner)}"
    record = AuditRecord(
        id=f"eviction/{digest(before.claim.id.text, _job(ad))}/{taken.number}/{round(taken.at * 1000)}",
        kind=AuditKind.EVICTION,
        at=taken.at,
        until=taken.at,
        user="" if winner is None else _user(winner),
        loser=_user(ad),
        machine=machine,
        slot=before.name,
        job=_job(ad),
        configuration=configuration,
        reason=said if cause is None else f"{said} ({cause.text})",
        detail={"cmd": str(ad.get("Cmd"))} if _fetched(ad) else {},
    )
    return _by(record, taken.decision, place, better=taken.reason is Reason.BETTER_MATCH)


def of_starter(
    slot: str, job_ad: ClassAd, run: str, taken: StarterTaken, *, machine: str, place: str, configuration: str
) -> AuditRecord | None:
    """The record of a starter's transition; None for one that does not get rid of its job by its own policy."""
    if not is_starter_eviction(taken):
        return None
    said = f"{taken.source} to {taken.target}: {taken.reason}"
    record = AuditRecord(
        id=f"eviction/{digest(slot, run)}/starter {taken.number}/{round(taken.at * 1000)}",
        kind=AuditKind.EVICTION,
        at=taken.at,
        until=taken.at,
        loser=_user(job_ad),
        machine=machine,
        slot=slot,
        job=_job(job_ad),
        configuration=configuration,
        reason=f"{_fetched(job_ad)}: {said}" if _fetched(job_ad) else said,
        detail={"cmd": str(job_ad.get("Cmd"))} if _fetched(job_ad) else {},
    )
    return _by(record, taken.decision, place)


def ordered(
    kind: AuditKind,
    what: str,
    *,
    machine: str,
    actor: str,
    now: float,
    configuration: str,
    refusal: str = "",
    slots: Sequence[str] = (),
) -> AuditRecord:
    """The record of a user's command to a machine."""
    return AuditRecord(
        id=f"{kind}/{digest(actor, what)}/{round(now * 1000)}",
        kind=kind,
        at=now,
        until=now,
        effect=Effect.REFUSED if refusal else Effect.DONE,
        actor=actor,
        machine=machine,
        slot=slots[0] if len(slots) == 1 else "",
        configuration=configuration,
        reason=clipped(f"{what}: {refusal}" if refusal else what),
        count=max(1, len(slots)),
        samples=some(slots),
    )


def _by(record: AuditRecord, decision: Decision | None, place: str, *, better: bool = False) -> AuditRecord:
    # Who prefers another job has not asked this one's policy: RANK is the slot's, and the record of the match has it.
    if decision is None or better:
        return record
    text = clipped(str(decision.expression or ""))
    return replace(record, knob=decision.name, expression=text, place=place)


def _user(ad: ClassAd) -> str:
    """Whose job it is; a fetched one may name an Owner only."""
    user = ad.get("User")
    if not isinstance(user, str):
        user = ad.get("Owner")
    return user if isinstance(user, str) else ""


def _fetched(ad: ClassAd) -> str:
    """A job that has no number, in words: a hook fetched it; "" for one of a queue."""
    return "" if _job(ad) else f"fetched job {ad.get('Cmd')} of {_user(ad) or 'no owner'}"


def _job(ad: ClassAd) -> str:
    cluster, proc = ad.get("ClusterId"), ad.get("ProcId")
    return f"{cluster}.{proc}" if isinstance(cluster, int) and isinstance(proc, int) else ""
