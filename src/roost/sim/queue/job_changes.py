"""Status changes of jobs over time, from the queue's side: the same values in the simulation and on real daemons."""

from __future__ import annotations

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.schedd.status import JobStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """A job has another status."""

    #: The job's name in the workload.
    job: str
    #: Epoch s.
    at: float
    status: JobStatus
    #: HoldReasonCode of a job that is held; 0 for any other.
    code: int = 0

    def __str__(self) -> str:
        return f"{self.status.name.lower()} ({self.code})" if self.code else self.status.name.lower()


def job_change(job: str, at: float, status: JobStatus, ad: ClassAd | None) -> JobChange:
    """A change of the job with that ad; None for one that has left the queue."""
    code = 0 if ad is None or status is not JobStatus.HELD else ad.get("HoldReasonCode")
    return JobChange(job=job, at=at, status=status, code=code if isinstance(code, int) else 0)
