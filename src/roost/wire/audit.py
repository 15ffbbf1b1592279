"""Records of decisions as JSON, and back. What is empty is left out."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import msgspec

from roost.model.audit import SAMPLES_MAX, AuditKind, AuditRecord, Effect, clipped
from roost.wire.errors import WireError

#: Bytes of what a record has in detail.
DETAIL_MAX: Final = 32_000

_FIELDS: Final = tuple(each for each in dataclasses.fields(AuditRecord))
_TEXTS: Final = tuple(each.name for each in _FIELDS if each.type == "str")
_DEFAULTS: Final = dict.fromkeys(_TEXTS, "") | {"effect": Effect.DONE, "count": 1, "samples": (), "detail": {}}


def audit_data(record: AuditRecord) -> dict[str, Any]:
    """A record as JSON."""
    found: dict[str, Any] = {}
    for each in _FIELDS:
        value = getattr(record, each.name)
        if each.name not in _DEFAULTS or value != _DEFAULTS[each.name]:
            found[each.name] = [_clean(name) for name in value] if each.name == "samples" else _clean(value)
    if record.detail:
        found["detail"] = dict(record.detail)
    return found


def _clean(value: Any) -> Any:
    """A text that any database takes: some come from users, and may be cut in the middle of a character."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")


def audit_from(data: Any) -> AuditRecord:
    """A record from JSON. Raises WireError."""
    if not isinstance(data, dict):
        raise WireError("a record of a decision is an object")
    try:
        values: dict[str, Any] = {name: clipped(_text(data, name)) for name in _TEXTS if name in data}
        detail = data.get("detail", {})
        if not isinstance(detail, dict) or len(msgspec.json.encode(detail)) > DETAIL_MAX:
            raise WireError(f"the detail of a record is an object of at most {DETAIL_MAX} bytes")
        return AuditRecord(
            **{"id": "", **values},
            kind=AuditKind(data["kind"]),
            effect=Effect(data.get("effect", Effect.DONE)),
            at=float(data["at"]),
            until=float(data["until"]),
            count=int(data.get("count", 1)),
            samples=tuple(str(each)[:200] for each in data.get("samples", ())[:SAMPLES_MAX]),
            detail=detail,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise WireError(f"a record of a decision cannot be read: {error}") from None


def _text(data: dict[str, Any], name: str) -> str:
    value = data[name]
    if not isinstance(value, str):
        raise WireError(f"{name} of a record is a text")
    return value
