"""Printing the lines of a story: the time of day, the subject, what happened, and why."""

from __future__ import annotations

import time
from collections.abc import Iterator

from roost.explain.happenings import Happening


def lines(told: Happening, *, wide: int = 12) -> Iterator[str]:
    """The printed lines."""
    yield f"{clock(told.at)}  {told.who:<{wide}}  {told.what}"
    for line in told.why:
        yield f"{'':10}{'':{wide}}  {line}"


def clock(at: float) -> str:
    """The time of day, with the date unless it is today."""
    then, today = time.localtime(at), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == today[:3] else "%m-%d %H:%M:%S", then)
