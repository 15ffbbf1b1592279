"""Durations as people write them: ``90``, ``90s``, ``5m``, ``1h30m``, ``2d``."""

from __future__ import annotations

import re
from typing import Final

_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([dhms])")
_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def seconds_of(text: object) -> float | None:
    """The seconds of a duration; None if it is invalid."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int | float):
        return float(text)
    if not isinstance(text, str):
        return None
    if text.strip().isdigit():
        return float(text)
    if not text.strip() or _PART.sub("", text).strip():
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def shown(seconds: float) -> str:
    """The shortest text of a duration."""
    if seconds < 0:
        return f"-{shown(-seconds)}"
    whole = int(seconds)
    parts = []
    for unit, length in _UNITS.items():
        if whole >= length:
            parts.append(f"{whole // length}{unit}")
            whole %= length
    fraction = seconds - int(seconds)
    if fraction >= 0.05 and seconds < 3600:
        parts = [each for each in parts if not each.endswith("s")]
        parts.append(f"{int(seconds) % 60 + fraction:.1f}s")
    return "".join(parts) or "0s"
