"""Splitting long answers: no piece has too many rows, and none is too large for a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from roost.wire.codec import MESSAGE_BYTES_MAX, encode
from roost.wire.errors import WireError
from roost.wire.messages import Answer

#: Maximum number of rows in one piece of an answer.
ROWS_PER_ANSWER: Final = 2000


def pieces(answer: Answer) -> Iterator[bytes]:
    """The messages of an answer. Raises WireError for one that is too large and has no rows.

    A row that is too large for a message by itself is left out, and the answer says so.
    """
    rows = answer.data
    if not isinstance(rows, list):
        yield encode(answer)
        return
    left_out = 0
    parts = [rows[first : first + ROWS_PER_ANSWER] for first in range(0, len(rows), ROWS_PER_ANSWER)] or [rows]
    while parts:
        part = parts.pop(0)
        try:
            data = encode(Answer(data=part, more=True) if parts else _last(answer, part, left_out))
        except WireError:
            if len(part) > 1:
                half = len(part) // 2
                parts[:0] = [part[:half], part[half:]]
            elif part and _is_too_large(part):
                left_out += 1
                # The end has not been sent yet.
                parts = parts or [[]]
            else:
                raise
        else:
            yield data


def _last(answer: Answer, rows: list[Any], left_out: int) -> Answer:
    if not left_out:
        return msgspec.structs.replace(answer, data=rows)
    text = f"{left_out} omitted, larger than a message can be; request fewer attributes"
    return msgspec.structs.replace(answer, data=rows, text=f"{answer.text}; {text}" if answer.text else text)


def _is_too_large(part: list[Any]) -> bool:
    """Whether rows cannot be sent because of their size, not their content."""
    try:
        return len(msgspec.json.encode(part)) > MESSAGE_BYTES_MAX // 2
    except (TypeError, UnicodeEncodeError):
        return False
