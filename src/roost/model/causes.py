"""What brought something about, as records and the logs of all daemons name it: ids of requests.

Each request of a user to a daemon has an id. A job has that of its submission for its whole life, in its ad, so that
each daemon that has the ad can name it, and a job is followed through all logs by one id. What another request orders
of a job (a hold, a removal, a vacated machine) names both: the job's submission, and the request that ordered it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roost.classad import ClassAd

#: Attribute of a job's ad.
SUBMISSION: Final = "SubmitRequestId"
_KEY: Final = SUBMISSION.lower()


class CauseIds(NamedTuple):
    """The ids of what brought something about; "" where there is none, or it is not known."""

    #: Of the request that submitted the job that it is about.
    submission: str = ""
    #: Of the request that led to it: the one that ordered it, otherwise the submission.
    request: str = ""

    def bracketed(self) -> str:
        """The ids at the end of a line of the log: `` [submission, by request]``, or the one that there is."""
        if self.submission and self.request != self.submission:
            return f" [{self.submission}, by {self.request}]"
        return f" [{self.request}]" if self.request else ""


def submission_of(ad: ClassAd | None) -> str:
    """The id of the request that submitted a job; "" if it is not known."""
    found = None if ad is None else ad.cell(_KEY)
    return found if isinstance(found, str) else ""


def causes_of(ad: ClassAd | None, request: str = "") -> CauseIds:
    """The ids of what is about a job, ordered by a request, "" for none."""
    submission = submission_of(ad)
    return CauseIds(submission, request or submission)
