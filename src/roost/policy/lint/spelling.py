"""The known name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

#: Names shorter than this have no near misses.
LENGTH_MIN = 4


def distance(a: str, b: str, limit: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours from `a` to `b`; more than `limit` is not counted."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i] + [0] * len(b)
        for j, y in enumerate(b, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > limit:
            return limit + 1
    return row[-1]


def _letters(key: str) -> int:
    """The set of letters of a name, as bits."""
    found = 0
    for letter in key:
        found |= 1 << (ord(letter) & 63)
    return found


@lru_cache(maxsize=4096)
def _plain(name: str) -> tuple[str, int]:
    """A name without case and underscores, and its letters."""
    key = name.lower().replace("_", "")
    return key, _letters(key)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name nearest to `name`, case and underscores aside; None if none is near."""
    key = name.lower().replace("_", "")
    if len(key) < LENGTH_MIN:
        return None
    limit = 1 if len(key) < 9 else 2
    letters = _letters(key)
    best: tuple[int, str] | None = None
    for one in known:
        other, its_letters = _plain(one)
        if other[:1] != key[:1] and other[1:2] != key[1:2]:
            continue
        # A change of one letter changes at most two members of the set of letters.
        if (letters ^ its_letters).bit_count() > 2 * limit:
            continue
        found = distance(key, other, limit)
        if found <= limit and (best is None or (found, one) < best):
            best = (found, one)
    return best[1] if best is not None else None
