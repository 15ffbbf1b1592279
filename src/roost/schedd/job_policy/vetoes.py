"""Matches that the pool's policy prevented at the queue, for the audit record: of other jobs on a claim, or of changed
jobs.

They are counted by knob and user. A continuing cause is one record, sent at the next tick and then at most once in
TOLD_EVERY_S, so that a claim that runs many short jobs causes no writes for those that it may not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.records import dataclass, field
from roost.base.structs import replaced
from roost.model.audit import AuditKind, AuditRecord, InForce, Source, clipped, some
from roost.model.digests import digest

#: A cause that recurs after this time is a new record, s.
QUIET_S: Final = 600.0
#: The interval at which a continuing record is repeated, s.
TOLD_EVERY_S: Final = 60.0
#: Maximum number of causes in progress at a time, and of counted pairs of job and slot for each.
CAUSES_MAX: Final = 200
PAIRS_MAX: Final = 1_000


@dataclass(slots=True)
class _Going:
    record: AuditRecord
    #: ``job slot``, the form of samples.
    pairs: dict[str, None] = field(default_factory=dict)
    #: None if it was not sent yet.
    told_at: float | None = None
    changed: bool = True


@dataclass(slots=True)
class Vetoes:
    """The causes in progress."""

    #: Knob, user and configuration to the cause, most recently met last.
    _going: dict[tuple[str, str, str], _Going] = field(default_factory=dict)

    def note(self, knob: str, rule: Source, job: str, user: str, slot: str, in_force: InForce, now: float) -> None:
        """Note that a job was not given a slot that both sides accept, because of a knob of the pool's policy in the
        match.
        """
        key = (knob, user, in_force.configuration)
        known = self._going.pop(key, None)
        if known is None or now - known.record.until > QUIET_S or now < known.record.at:
            known = _Going(_record(knob, rule, user, in_force, now))
        known.changed = True
        known.record = replaced(known.record, until=now)
        if len(known.pairs) < PAIRS_MAX:
            known.pairs[f"{job} {slot}"] = None
        self._going[key] = known
        while len(self._going) > CAUSES_MAX:
            del self._going[next(iter(self._going))]

    def due(self, now: float) -> Iterator[AuditRecord]:
        """The records to send now."""
        for each in self._going.values():
            if each.changed and (each.told_at is None or now - each.told_at >= TOLD_EVERY_S):
                each.changed, each.told_at = False, now
                each.record = replaced(each.record, count=len(each.pairs), samples=some(each.pairs))
                yield each.record


def _record(knob: str, rule: Source, user: str, in_force: InForce, now: float) -> AuditRecord:
    return AuditRecord(
        id=f"veto/{digest(knob, user)}/{round(now * 1000)}",
        kind=AuditKind.VETO,
        at=now,
        until=now,
        user=user,
        knob=knob,
        expression=clipped(rule.text),
        place=rule.place,
        configuration=in_force.configuration,
        reason="matches prevented by the queue on which job and slot agree",
    )
