"""Requests and answers as plain JSON, for commands: they must start quickly, and importing the message classes takes
time.

The bytes are those of `codec`; a test compares the two. An answer is checked for what a command relies on: its type,
the version, and the types of its fields. The requester must check the data of the answer.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from roost.wire.errors import WireError

#: As `messages.VERSION` and `codec.MESSAGE_BYTES_MAX`, which a test compares.
VERSION: Final = 1
MESSAGE_BYTES_MAX: Final = 8 * 1024 * 1024

_FIELDS: Final = {"ok": bool, "code": str, "text": str, "remedy": str, "more": bool}


class PlainAnswer(NamedTuple):
    """An `Answer`, or a piece of one."""

    ok: bool = True
    #: Stable code of the error; "" for none.
    code: str = ""
    text: str = ""
    remedy: str = ""
    data: Any = None
    more: bool = False


def ask_bytes(what: str, args: dict[str, Any], request_id: str = "") -> bytes:
    """The bytes of an `Ask`. Raises WireError for one that is too large or has a value that JSON cannot represent."""
    message: dict[str, Any] = {"type": "Ask", "v": VERSION, "what": what}
    if args:
        message["args"] = args
    if request_id:
        message["id"] = request_id
    try:
        data = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(f"Ask: {error}") from None
    if len(data) > MESSAGE_BYTES_MAX:
        raise WireError(f"Ask: {len(data)} bytes exceed MESSAGE_BYTES_MAX")
    return data


def answer_of(data: bytes) -> PlainAnswer:
    """The answer in `data`. Raises WireError."""
    if len(data) > MESSAGE_BYTES_MAX:
        raise WireError(f"{len(data)} bytes exceed MESSAGE_BYTES_MAX = {MESSAGE_BYTES_MAX}")
    try:
        message = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a message: {error}") from None
    if not isinstance(message, dict) or message.get("type") != "Answer":
        raise WireError("expected an answer, but received something else")
    version = message.get("v", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise WireError(f"Answer: version {version} of the protocol is newer than {VERSION}")
    found = {name: message[name] for name in _FIELDS if name in message}
    for name, value in found.items():
        if not isinstance(value, _FIELDS[name]):
            raise WireError(f"Answer: {name} cannot be {value!r}")
    return PlainAnswer(data=message.get("data"), **found)


__all__ = ["MESSAGE_BYTES_MAX", "VERSION", "PlainAnswer", "answer_of", "ask_bytes"]
