"""Records of decisions come back from JSON as they were."""

from __future__ import annotations

from roost.model.audit import AuditKind, AuditRecord, Effect
from roost.wire.audit import audit_data, audit_from

RECORD = AuditRecord(
    id="a", kind=AuditKind.COMMAND, at=1.0, until=2.0, effect=Effect.REFUSED, actor="ann", user="bob", machine="m",
    slot="slot1@m", job="1.0", knob="K", expression="TRUE", place="p:1", reason="because", count=3, samples=("x", "y"),
)  # fmt: skip


def test_no_text_of_a_record_is_lost() -> None:
    assert audit_from(audit_data(RECORD)) == RECORD


def test_what_is_empty_is_left_out() -> None:
    record = AuditRecord(id="a", kind=AuditKind.COMMAND, at=1.0, until=1.0)
    assert set(audit_data(record)) == {"id", "kind", "at", "until"}
    assert audit_from(audit_data(record)) == record
