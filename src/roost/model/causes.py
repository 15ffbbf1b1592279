"""Request ids, by which records and the logs of all daemons name the cause of an action.

Each request of a user to a daemon has an id. A job's ad keeps the id of its submission for life, so that each daemon
with the ad can log it, and one id traces the job through all logs. An action on a job ordered by another request (a
hold, a removal, a vacated machine) names both: the job's submission, and the request that ordered it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.classad import ClassAd

#: Attribute of a job's ad.
SUBMISSION: Final = "SubmitRequestId"
_KEY: Final = SUBMISSION.lower()


class CauseIds(NamedTuple):
    """The request ids behind an action; "" for none or unknown."""

    #: The request that submitted the job concerned.
    submission: str = ""
    #: The request that led to it: the one that ordered it, otherwise the submission.
    request: str = ""

    def bracketed(self) -> str:
        """The ids at the end of a line of the log: `` [submission, by request]``, or the only one."""
        if self.submission and self.request != self.submission:
            return f" [{self.submission}, by {self.request}]"
        return f" [{self.request}]" if self.request else ""


def submission_of(ad: ClassAd | None) -> str:
    """The id of the request that submitted a job; "" if unknown."""
    found = None if ad is None else ad.cell(_KEY)
    return found if isinstance(found, str) else ""


def causes_of(ad: ClassAd | None, request: str = "") -> CauseIds:
    """The ids for an action on a job, ordered by a request, "" for none."""
    submission = submission_of(ad)
    return CauseIds(submission, request or submission)
