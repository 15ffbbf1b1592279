"""Names that differ from a known one by a typing mistake.

Two names are near when deleting at most one letter from each makes them equal (which covers a letter too
many, too few, wrong, or two swapped), or when they are equal without underscores. Short names are not compared: too
many others are near them. Names of daemons are macros of every old configuration (``STARTD`` is the path of a program),
never mistakes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from roost.config.knob import KnobType
from roost.config.knobs import BY_NAME, SUBSYSTEMS

#: names shorter than this have no near misses, in characters
LENGTH_MIN = 5


def _shortened(key: str) -> set[str]:
    return {key[:index] + key[index + 1 :] for index in range(len(key))}


@lru_cache(maxsize=1)
def _index() -> dict[str, list[str]]:
    """Every known name, with and without underscores and with each letter left out, to the known names it
    came from."""
    index: dict[str, list[str]] = {}
    for key, row in BY_NAME.items():
        if len(key) >= LENGTH_MIN and row.type is not KnobType.MACRO:
            for form in {key, key.replace("_", ""), *_shortened(key)}:
                index.setdefault(form, []).append(row.name)
    return index


def near_among(name: str, candidates: Iterable[str], length_min: int = LENGTH_MIN) -> str | None:
    """The first of some names that was probably meant, or None."""
    key = name.lower()
    if len(key) < length_min:
        return None
    forms = {key, key.replace("_", ""), *_shortened(key)}
    for candidate in candidates:
        other = candidate.lower()
        if other != key and forms & {other, other.replace("_", ""), *_shortened(other)}:
            return candidate
    return None


def near(name: str) -> str | None:
    """The known name that was probably meant, or None."""
    key = name.lower()
    if len(key) < LENGTH_MIN or key in BY_NAME or key in SUBSYSTEMS:
        return None
    index = _index()
    for form in (key, key.replace("_", ""), *sorted(_shortened(key))):
        for known in index.get(form, ()):
            return known
    return None
