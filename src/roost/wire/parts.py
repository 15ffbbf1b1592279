"""Splitting content that does not fit into one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from roost.wire.codec import MESSAGE_BYTES_MAX

_Item = TypeVar("_Item")

#: Maximum size of the items of one message, bytes, unless a single item is larger.
PART_BYTES: Final = MESSAGE_BYTES_MAX // 4


def in_parts(items: Sequence[_Item]) -> list[list[_Item]]:
    """Items grouped into messages, in order; at least one group, which may be empty."""
    if len(items) < 2:
        # A single item cannot be split, and most messages have one.
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
    """Size of an item in a message, bytes."""
    return len(msgspec.json.encode(item))
