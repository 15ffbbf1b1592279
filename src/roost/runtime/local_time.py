"""Times of Grid Engine's commands: ``[[CC]YY]MMDDhhmm[.SS]`` in the local time of this machine."""

from __future__ import annotations

import time

from roost.gridengine.commands.errors import BAD_VALUE, Failure


def date_time(at: int) -> str:
    """An instant, epoch s, as ``CCYYMMDDhhmm.SS``."""
    return time.strftime("%Y%m%d%H%M.%S", time.localtime(at))


def instant(text: str, option: str = "a", command: str = "qsub") -> int:
    """The instant of ``[[CC]YY]MMDDhhmm[.SS]``, epoch s. Raises Failure."""
    digits, dot, seconds = text.partition(".")
    form = {8: "%m%d%H%M", 10: "%y%m%d%H%M", 12: "%Y%m%d%H%M"}.get(len(digits))
    try:
        if form is None or not digits.isdecimal() or (dot and len(seconds) != 2):
            raise ValueError(text)
        year = str(time.localtime().tm_year) if len(digits) == 8 else ""
        year_form = "%Y" if year else ""
        return int(time.mktime(time.strptime(year + digits + (seconds or "00"), year_form + form + "%S")))
    except ValueError:
        problem = f'{command}: Wrong date/time format "{text}" specified to -{option} option'
        raise Failure(f"\nInvalid format of date/hour-minute field.\n{problem}", BAD_VALUE) from None
