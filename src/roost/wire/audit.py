"""Audit records as JSON, and back. Empty fields are left out."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from roost.base.structs import data_of, replaced
from roost.model.audit import SAMPLES_MAX, AuditRecord, clipped
from roost.wire.errors import WireError
from roost.wire.structs import read

#: Maximum size of a record's detail, bytes.
DETAIL_MAX: Final = 32_000
#: Maximum length of a sample, characters.
_SAMPLE_MAX: Final = 200


def audit_data(record: AuditRecord) -> dict[str, Any]:
    """A record as JSON."""
    found = {name: _clean(value) for name, value in data_of(record).items()}
    if record.samples:
        found["samples"] = [_clean(each) for each in record.samples]
    return found


def _clean(value: object) -> object:
    """A text that any database accepts: some come from users, and may be split in the middle of a character."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")


def audit_from(data: object) -> AuditRecord:
    """A record from JSON; texts that are too long are truncated. Raises WireError."""
    record = read(AuditRecord, data, "a record of a decision", strict=False)
    if len(msgspec.json.encode(data_of(record.detail))) > DETAIL_MAX:
        raise WireError(f"the detail of a record of a decision is an object of at most {DETAIL_MAX} bytes")
    cut = {name: clipped(value) for name, value in record.__dict__.items() if type(value) is str}
    return replaced(record, **cut, samples=tuple(each[:_SAMPLE_MAX] for each in record.samples[:SAMPLES_MAX]))
