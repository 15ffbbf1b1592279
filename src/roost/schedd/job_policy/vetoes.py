"""Matches that the pool's policy prevented at the queue, for the record: of other jobs on a claim, or of changed ones.

They are counted by knob and user. A cause that goes on is one record, told at the next tick and then once in
TOLD_EVERY_S at most, so that a claim which is used for many short jobs costs no writing for those that it may not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.records import dataclass, field
from roost.base.structs import replaced
from roost.model.audit import AuditKind, AuditRecord, InForce, Source, clipped, some
from roost.model.digests import digest

#: A cause that is met again after this time is a new record, s.
QUIET_S: Final = 600.0
#: A record that goes on is told again so often, s.
TOLD_EVERY_S: Final = 60.0
#: Causes that go on at the same time, and pairs of job and slot that are counted of each.
CAUSES_MAX: Final = 200
PAIRS_MAX: Final = 1_000


@dataclass(slots=True)
class _Going:
    record: AuditRecord
    #: ``job slot``, as samples are.
    pairs: dict[str, None] = field(default_factory=dict)
    #: None if it was not told yet.
    told_at: float | None = None
    changed: bool = True


@dataclass(slots=True)
class Vetoes:
    """What goes on."""

    #: Knob, user and configuration to it, what was met last at the end.
    _going: dict[tuple[str, str, str], _Going] = field(default_factory=dict)

    def note(self, knob: str, rule: Source, job: str, user: str, slot: str, in_force: InForce, now: float) -> None:
        """A job was not given a slot that it agrees with, for a knob of the pool's policy as the match brought it."""
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
        """What is to be told now."""
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
