"""Audit records of the decisions of a cycle.

Discarded ads and prevented matches are counted by cause: knob, user, and whether they were only noted. A cause that
recurs from cycle to cycle is one record: it begins when the cause first occurs, grows while it recurs, and ends when
the cause has not occurred for QUIET_S. So a policy that keeps out a thousand jobs for a day leaves one line per user.

Matches that NEGOTIATOR_PE_AUDIT_EXPR asks for, and those that preempt a claim, get separate records.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.base.records import dataclass, field
from roost.base.structs import replaced
from roost.model.audit import AuditKind, AuditRecord, Detail, Effect, clipped, some
from roost.model.digests import digest
from roost.negotiator.accountant import Accountant
from roost.negotiator.pool_policy import JOB_ONLY, Act, Cause, Counted
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.snapshot import Match, Plan, Snapshot

#: A cause that recurs after this time starts a new record, s.
QUIET_S: Final = 600.0
#: How often a continuing record is written again, s.
TOLD_EVERY_S: Final = 60.0
#: Most causes tracked at the same time; beyond that, the least recent ones are ended.
CAUSES_MAX: Final = 5_000
#: Most records of single matches in a cycle.
MATCHES_MAX: Final = 1_000

_KINDS: Final = {Act.DISCARD: AuditKind.DISCARD, Act.VETO: AuditKind.VETO, Act.ERROR: AuditKind.POLICY_ERROR}
_NOTED: Final = {Act.DISCARD: Effect.WOULD_DISCARD, Act.VETO: Effect.WOULD_PREVENT}
_WORDS: Final = {"schedd": "submitters", "startd": "slots", "job": "jobs"}


def recurring(causes: Iterable[tuple[Cause, Counted]], settings: NegotiatorSettings, now: float) -> list[AuditRecord]:
    """One record per cause, without the id, which is assigned when the record proves to be new."""
    found = []
    for (act, knob, kind, user, log_only, text), counted in causes:
        if act is Act.MATCH:
            continue
        source = settings.in_force.of(knob)
        found.append(
            AuditRecord(
                id=f"{act.lower()}/{digest(knob, kind, user, str(log_only), text)}",
                kind=_KINDS[act],
                at=now,
                until=now,
                effect=_NOTED.get(act, Effect.DONE) if log_only else Effect.DONE,
                user=user,
                knob=knob,
                expression=source.text,
                place=source.place,
                configuration=settings.in_force.configuration,
                reason=_reason(act, knob, kind, text),
                count=counted.count,
                samples=some(counted.samples),
            )
        )
    return found


def _reason(act: Act, knob: str, kind: str, text: str) -> str:
    match act:
        case Act.DISCARD:
            return f"{_WORDS[kind]} kept out of matchmaking" + (f": {text}" if text else "")
        case Act.VETO:
            return "matches prevented on which job and slot agree"
    # An expression about a match is asked of each pair of a job and a slot.
    what = _WORDS[kind] if kind != "job" or knob == JOB_ONLY else "pairs of a job and a slot"
    return f"{what} for which the expression is ERROR"


def single(plan: Plan, snapshot: Snapshot, settings: NegotiatorSettings, accounts: Accountant) -> list[AuditRecord]:
    """Records of matches that preempt a claim or that the policy asks to audit."""
    found = [
        _preemption(match, snapshot, settings, accounts)
        for match in plan.matches[:MATCHES_MAX]
        if match.preempts != "none"
    ]
    found += [
        replaced(
            _about(match, snapshot, settings),
            kind=AuditKind.MATCH,
            knob=_AUDIT,
            expression=settings.in_force.of(_AUDIT).text,
            place=settings.in_force.of(_AUDIT).place,
            reason=f"{_whose(match)} is given {match.slot}",
        )
        for match in plan.noted[:MATCHES_MAX]
    ]
    return found


_AUDIT: Final = "NEGOTIATOR_PE_AUDIT_EXPR"


def _about(match: Match, snapshot: Snapshot, settings: NegotiatorSettings) -> AuditRecord:
    # A claim's id is a secret. The queue chooses which of several jobs gets the slot; it is not known here.
    return AuditRecord(
        id=f"match/{digest(match.claim_id, match.job, match.slot)}",
        kind=AuditKind.MATCH,
        at=snapshot.now,
        until=snapshot.now,
        user=match.submitter,
        machine=match.node,
        slot=match.slot,
        job=match.job if match.among == 1 else "",
        submission=match.submission if match.among == 1 else "",
        request=match.submission if match.among == 1 else "",
        configuration=settings.in_force.configuration,
        detail=Detail() if match.among == 1 else Detail(like=match.job, among=match.among),
    )


def _whose(match: Match) -> str:
    """The recipient of a slot. If a request has several jobs, none is named, because the queue chooses among them."""
    return match.submitter if match.among == 1 else f"a job of {match.submitter}, of the kind of {match.job},"


def _preemption(match: Match, snapshot: Snapshot, settings: NegotiatorSettings, accounts: Accountant) -> AuditRecord:
    about = _about(match, snapshot, settings)
    knob, text, place = "RANK", "", ""
    if match.preempts == "rank":
        cell = snapshot.slots.ad(match.slot).get("Rank")
        text, why = str(cell), "the slot's RANK prefers its job"
    else:
        knob = "PREEMPTION_REQUIREMENTS"
        source = settings.in_force.of(knob)
        text, place = source.text, source.place
        mine, other = (accounts.effective(user, settings) for user in (match.submitter, match.holder))
        why = f"its priority is {mine:.6g}, that of {match.holder} {other:.6g}"
    return replaced(
        about,
        id=about.id.replace("match", "preemption", 1),
        kind=AuditKind.PREEMPTION,
        loser=match.holder,
        knob=knob,
        expression=clipped(text),
        place=place,
        reason=f"{_whose(match)} is given {match.slot}, which {match.holder} uses: {why}",
    )


@dataclass(slots=True)
class _Going:
    record: AuditRecord
    told_at: float
    cycles: int = 1


@dataclass(slots=True)
class Recurrence:
    """Merges recurring records into one each."""

    #: Id without its start time to the continuing record, most recent last.
    _going: dict[str, _Going] = field(default_factory=dict)

    def fresh(self, records: Iterable[AuditRecord], now: float) -> list[AuditRecord]:
        """The records to write: causes that are new, have grown, or were not written for TOLD_EVERY_S."""
        told = []
        for record in records:
            key = f"{record.id}/{record.configuration}"
            known = self._going.pop(key, None)
            if known is None or now - known.record.until > QUIET_S or now < known.record.at:
                known = _Going(replaced(record, id=f"{record.id}/{round(now * 1000)}"), told_at=now)
                told.append(known.record)
            else:
                # Each cycle's matches are new ones; anything else may be the same as before.
                count, samples = record.count, record.samples
                if record.kind is AuditKind.MATCH:
                    count += known.record.count
                    samples = some(dict.fromkeys((*known.record.samples, *samples)))
                grown = count > known.record.count
                known.cycles += 1
                known.record = replaced(
                    known.record,
                    until=now,
                    count=max(count, known.record.count),
                    samples=samples if grown else known.record.samples,
                    detail=Detail(cycles=known.cycles),
                )
                if grown or now - known.told_at >= TOLD_EVERY_S:
                    known.told_at = now
                    told.append(known.record)
            self._going[key] = known
        while len(self._going) > CAUSES_MAX:
            del self._going[next(iter(self._going))]
        return told
