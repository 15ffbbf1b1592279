"""Audit records of a machine's decisions about its slots and their jobs: which transitions are evictions, and why.

An eviction is recorded when it is decided: when a running or suspended job must leave, and when it is killed for not
leaving. Steps that follow from that, such as the end of retirement, are in the slot's story only. A user's command is
recorded whether it was carried out or refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from roost.base.structs import replaced
from roost.classad import ClassAd
from roost.model.audit import AuditKind, AuditRecord, Detail, Effect, clipped, some
from roost.model.claims import ClaimKind
from roost.model.digests import digest
from roost.model.reasons import Reason
from roost.model.starter import StarterReason
from roost.policy.decision import Decision
from roost.startd.entries import cause_of
from roost.startd.slot_state import SlotState
from roost.startd.states import BUSY, KILLING, RETIRING, SUSPENDED, VACATING
from roost.startd.work import Taken
from roost.starter.work import StarterTaken

_RUNS: Final = frozenset((BUSY, SUSPENDED))
_GOES: Final = frozenset((RETIRING, VACATING, KILLING))
#: Transitions that evict a job but are not decisions of that moment.
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


class Recorder(NamedTuple):
    """The machine that writes a record, and its configuration."""

    machine: str
    #: Digest of the configuration.
    configuration: str


def is_eviction(taken: Taken) -> bool:
    """Whether a transition decides that a job must leave, or how."""
    if taken.reason in _NO_DECISION:
        return False
    killed = taken.source == VACATING and taken.target == KILLING
    return killed or (taken.source in _RUNS and taken.target in _GOES)


def is_starter_eviction(taken: StarterTaken) -> bool:
    """Whether a starter's transition evicts its job by the starter's own policy."""
    return taken.reason in _STARTER


def of_slot(
    before: SlotState,
    after: SlotState,
    taken: Taken,
    by: Recorder,
    *,
    place: str,
    rank: tuple[str, str] = ("", ""),
) -> AuditRecord | None:
    """The record of a slot's transition; None for one that evicts no job.

    `place` says where its expression was set. `rank` is the slot's RANK and its place, for a preferred job that a hook
    fetched: there is no match record with the RANK then.
    """
    activation = before.claim.activation or after.claim.activation
    if activation is None or not is_eviction(taken):
        return None
    ad, kind = activation.job_ad, (after if before.claim.activation is None else before).claim.kind
    name, program = job_name(ad, kind), fetched_program(ad, kind)
    waiting = after.waiting or before.waiting
    winner = None if waiting is None or taken.reason is not Reason.BETTER_MATCH else waiting.job_ad
    preferred = "" if winner is None or waiting is None else fetched_program(winner, waiting.kind)
    cause = taken.cause or cause_of(after)
    said = f"{taken.source} to {taken.target}: {taken.reason}"
    if program:
        said = f"{_fetched(program, ad)}: {said}"
    if winner is not None and waiting is not None and preferred:
        said += (
            f", for the {_fetched(preferred, winner)}, whose rank is {waiting.rank:g} (its own: {before.claim.rank:g})"
        )
    record = AuditRecord(
        id=f"eviction/{digest(before.claim.id.text, name)}/{taken.number}/{round(taken.at * 1000)}",
        kind=AuditKind.EVICTION,
        at=taken.at,
        until=taken.at,
        user="" if winner is None else _user(winner),
        loser=_user(ad),
        machine=by.machine,
        slot=before.name,
        job=name,
        configuration=by.configuration,
        reason=said if cause is None else f"{said} ({cause.text})",
        detail=Detail(fetched=program, for_=preferred),
    )
    if taken.reason is Reason.BETTER_MATCH:
        # The policy of the evicted job was not evaluated.
        return replaced(record, knob="RANK", expression=clipped(rank[0]), place=rank[1]) if preferred else record
    return _by(record, taken.decision, place)


def of_starter(
    slot: str,
    job_ad: ClassAd,
    run: str,
    taken: StarterTaken,
    by: Recorder,
    *,
    kind: ClaimKind | None,
    place: str,
) -> AuditRecord | None:
    """The record of a starter's transition; None for one that does not evict its job by its own policy."""
    if not is_starter_eviction(taken):
        return None
    said, program = f"{taken.source} to {taken.target}: {taken.reason}", fetched_program(job_ad, kind)
    record = AuditRecord(
        id=f"eviction/{digest(slot, run)}/starter {taken.number}/{round(taken.at * 1000)}",
        kind=AuditKind.EVICTION,
        at=taken.at,
        until=taken.at,
        loser=_user(job_ad),
        machine=by.machine,
        slot=slot,
        job=job_name(job_ad, kind),
        configuration=by.configuration,
        reason=f"{_fetched(program, job_ad)}: {said}" if program else said,
        detail=Detail(fetched=program),
    )
    return _by(record, taken.decision, place)


def ordered(
    kind: AuditKind,
    what: str,
    by: Recorder,
    *,
    actor: str,
    now: float,
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
        machine=by.machine,
        slot=slots[0] if len(slots) == 1 else "",
        configuration=by.configuration,
        reason=clipped(f"{what}: {refusal}" if refusal else what),
        count=max(1, len(slots)),
        samples=some(slots),
    )


def _by(record: AuditRecord, decision: Decision | None, place: str) -> AuditRecord:
    if decision is None:
        return record
    text = clipped(str(decision.expression or ""))
    return replaced(record, knob=decision.name, expression=text, place=place)


def _user(ad: ClassAd) -> str:
    """The user of a job; a fetched job may have only an Owner."""
    user = ad.get("User")
    if not isinstance(user, str):
        user = ad.get("Owner")
    return user if isinstance(user, str) else ""


def fetched_program(ad: ClassAd, kind: ClaimKind | None) -> str:
    """The program of a fetched job, with the number that its source may have given it; "" for a job of a queue."""
    if kind is not ClaimKind.FETCHED:
        return ""
    number = _number(ad)
    return f"{ad.get('Cmd')} ({number})" if number else f"{ad.get('Cmd')}"


def job_name(ad: ClassAd, kind: ClaimKind | None) -> str:
    """The name of a queue's job; "" for a fetched one: its source's number may coincide with that of a job in the
    queue."""
    return "" if kind is ClaimKind.FETCHED else _number(ad)


def _fetched(program: str, ad: ClassAd) -> str:
    return f"fetched job {program} of {_user(ad) or 'no owner'}"


def _number(ad: ClassAd) -> str:
    cluster, proc = ad.get("ClusterId"), ad.get("ProcId")
    return f"{cluster}.{proc}" if isinstance(cluster, int) and isinstance(proc, int) else ""
