"""Records of decisions as JSON, and back. What is empty is left out."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from roost.base.structs import data_of, replaced
from roost.model.audit import SAMPLES_MAX, AuditRecord, clipped
from roost.wire.errors import WireError
from roost.wire.structs import read

#: Bytes of what a record has in detail.
DETAIL_MAX: Final = 32_000
#: Characters of a sample.
_SAMPLE_MAX: Final = 200


def audit_data(record: AuditRecord) -> dict[str, Any]:
    """A record as JSON."""
    found = {name: _clean(value) for name, value in data_of(record).items()}
    if record.samples:
        found["samples"] = [_clean(each) for each in record.samples]
    return found


def _clean(value: object) -> object:
    """A text that any database takes: some come from users, and may be cut in the middle of a character."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")


def audit_from(data: object) -> AuditRecord:
    """A record from JSON; texts that are too long are cut. Raises WireError."""
    record = read(AuditRecord, data, "a record of a decision", strict=False)
    if len(msgspec.json.encode(data_of(record.detail))) > DETAIL_MAX:
        raise WireError(f"the detail of a record of a decision is an object of at most {DETAIL_MAX} bytes")
    cut = {name: clipped(value) for name, value in record.__dict__.items() if type(value) is str}
    return replaced(record, **cut, samples=tuple(each[:_SAMPLE_MAX] for each in record.samples[:SAMPLES_MAX]))
