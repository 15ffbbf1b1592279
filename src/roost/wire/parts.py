"""What does not fit into one message, cut into parts that do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from roost.wire.codec import MESSAGE_BYTES_MAX

_Item = TypeVar("_Item")

#: How many bytes of items one message has, unless an item alone is larger.
PART_BYTES: Final = MESSAGE_BYTES_MAX // 4


def in_parts(items: Sequence[_Item]) -> list[list[_Item]]:
    """Items as they fit into messages, in their order; at least one part, which may be empty."""
    if len(items) < 2:
        # What is alone cannot be cut, and most messages are about one thing.
        return [list(items)]
    parts: list[list[_Item]] = [[]]
    size = 0
    for item in items:
        own = size_of(item)
        if parts[-1] and size + own > PART_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += own
    return parts


def size_of(item: object) -> int:
    """Bytes of an item in a message."""
    return len(msgspec.json.encode(item))
