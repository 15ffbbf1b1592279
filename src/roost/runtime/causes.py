"""What brought a job about, as the logs of all daemons name it: the id of the request that submitted it.

The id travels in the job's ad, so each daemon that has the ad can name it, and one job's lines are found in all logs.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd

#: Attribute of a job's ad.
REQUEST: Final = "SubmitRequestId"
_KEY: Final = REQUEST.lower()


def cause_id(ad: ClassAd | None) -> str:
    """The id of the request that submitted a job; "" if it is not known."""
    found = None if ad is None else ad.cell(_KEY)
    return found if isinstance(found, str) else ""


def bracketed(cause: str) -> str:
    """An id at the end of a line of the log."""
    return f" [{cause}]" if cause else ""
