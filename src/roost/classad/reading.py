"""Numbers in ads that others wrote: an attribute may be missing, or of another type. Booleans are not numbers."""

from __future__ import annotations

from roost.classad.ad import ClassAd


def number_in(ad: ClassAd, name: str) -> float | None:
    """The value of an attribute; None if it is not a number."""
    value = ad.eval(name) if name in ad else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def amount_in(ad: ClassAd, name: str) -> float:
    """The value of an attribute; 0 if it is not a number."""
    return number_in(ad, name) or 0.0


def whole_in(ad: ClassAd, name: str, otherwise: int = 0) -> int:
    """The value of an attribute; `otherwise` if it is not an integer."""
    value = ad.eval(name) if name in ad else None
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
