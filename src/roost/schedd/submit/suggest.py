"""Which command a name without effect was meant to be."""

from __future__ import annotations

from roost.schedd.submit.commands import ALL, SYNONYMS

#: Minimum similarity of two names, from 0 to 1.
_ALIKE = 0.8


def near(name: str) -> str | None:
    """The command that was probably meant; None if there is none."""
    key = name.lower()
    if key in SYNONYMS:
        return SYNONYMS[key]
    bare = key.replace("_", "").replace("-", "")
    for known in sorted(ALL):
        if known.replace("_", "") == bare:
            return known
    from difflib import get_close_matches

    return next(iter(get_close_matches(key, sorted(ALL), n=1, cutoff=_ALIKE)), None)
