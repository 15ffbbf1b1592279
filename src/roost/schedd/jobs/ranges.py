"""A set of job numbers, stored as ranges: the jobs that have left a cluster of 100,000 usually form only a few."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator


class Ranges:
    """Whole numbers from 0, as sorted ranges that neither touch nor overlap."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        #: One after the last of each range.
        self._ends: list[int] = []

    @classmethod
    def read(cls, text: str) -> Ranges:
        """The set whose `str` is `text`. Raises ValueError."""
        found = cls()
        for part in text.split(",") if text else ():
            first, dash, last = part.partition("-")
            start, end = int(first), int(last if dash else first) + 1
            if end <= start or (found._ends and start <= found._ends[-1]):
                raise ValueError(f"{part!r} is not a range that starts after the previous one")
            found._starts.append(start)
            found._ends.append(end)
        return found

    def add(self, number: int) -> None:
        """Put a number into the set."""
        at = bisect_right(self._starts, number)
        if at and number < self._ends[at - 1]:
            return
        joins_left = at > 0 and self._ends[at - 1] == number
        joins_right = at < len(self._starts) and self._starts[at] == number + 1
        if joins_left and joins_right:
            self._ends[at - 1] = self._ends.pop(at)
            del self._starts[at]
        elif joins_left:
            self._ends[at - 1] = number + 1
        elif joins_right:
            self._starts[at] = number
        else:
            self._starts.insert(at, number)
            self._ends.insert(at, number + 1)

    @property
    def first_absent(self) -> int:
        """The smallest number that is not in the set."""
        return self._ends[0] if self._starts and self._starts[0] == 0 else 0

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number)
        return at > 0 and number < self._ends[at - 1]

    def __iter__(self) -> Iterator[int]:
        for start, end in zip(self._starts, self._ends, strict=True):
            yield from range(start, end)

    def __len__(self) -> int:
        return sum(self._ends) - sum(self._starts)

    def __str__(self) -> str:
        pairs = zip(self._starts, self._ends, strict=True)
        return ",".join(str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in pairs)
