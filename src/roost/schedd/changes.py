"""What is to be kept: changes of the queue's durable state, each a frozen value.

All changes of one step go to disk together or not at all, and before any message about the step is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.audit import AuditRecord
from roost.model.cell_accounting import AccountingRecord
from roost.model.cell_reporting import Report
from roost.model.cell_usage import Owner, Used
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class PutCluster:
    """A cluster, new or changed."""

    cluster: int
    owner: str
    submitted_at: int
    count: int
    ad: ClassAd
    #: How its jobs differ, as JSON; None where they don't.
    plan: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutGone:
    """Which jobs of a cluster have left the queue: ranges of numbers."""

    cluster: int
    gone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutTold:
    """Of which jobs of a cluster the logs know that they were submitted: ranges of numbers; "" for all."""

    cluster: int
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCluster:
    """All jobs of a cluster have left."""

    cluster: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PutJob:
    """What has changed in a job since it was submitted, all of it."""

    job: JobId
    status: JobStatus
    attributes: ClassAd


@dataclass(frozen=True, slots=True, kw_only=True)
class DropJob:
    """A job has left the queue, or is again as it was submitted."""

    job: JobId


#: Most jobs of one `AddHistory`.
TOGETHER_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AddHistory:
    """Jobs that have left the queue: one, or neighbours of one cluster that nothing else sets apart."""

    job: JobId
    owner: str
    status: JobStatus
    ended_at: int
    #: The job's ad as it was then; of several what has happened to each, chained to nothing.
    ad: ClassAd
    #: The cluster that they are of; None where the ad is all that is known.
    cluster: PastCluster | None = None
    #: Number of the last of several; None for one job.
    last: int | None = None

    def ads(self) -> Iterator[ClassAd]:
        """The whole ad of each, in order."""
        if self.last is None:
            yield self.ad
            return
        assert self.cluster is not None
        for proc in range(self.job.proc, self.last + 1):
            yield whole_ad(self.cluster, proc, self.ad)

    @property
    def jobs(self) -> Iterator[JobId]:
        """All of them, in order."""
        last = self.job.proc if self.last is None else self.last
        return (JobId(self.job.cluster, proc) for proc in range(self.job.proc, last + 1))


class PastCluster(Protocol):
    """What the history needs of a cluster."""

    @property
    def owner(self) -> str:
        """Whose jobs they are."""

    @property
    def number(self) -> int:
        """ClusterId."""

    @property
    def ad(self) -> ClassAd:
        """What is equal in all of its jobs."""

    @property
    def plan(self) -> Any:
        """How they differ."""

    @property
    def count(self) -> int:
        """Jobs that it was submitted with."""

    @property
    def submitted_at(self) -> int:
        """QDate, epoch s."""

    def submitted_ad(self, proc: int) -> ClassAd:
        """The ad of a job as it was submitted."""


def whole_ad(cluster: PastCluster, proc: int, own: ClassAd) -> ClassAd:
    """The ad of a job to which something has happened."""
    ad = own.copy()
    ad.chain_to(cluster.submitted_ad(proc))
    return ad


@dataclass(frozen=True, slots=True, kw_only=True)
class PutClaim:
    """A claim that the queue holds."""

    claim_id: str
    node: str
    slot: str
    submitter: str
    #: The job that runs on it, or is about to, and the name of the run; None and "" while there is none.
    job: JobId | None
    run: str
    #: Whether a command wants that job suspended; None while no command has said anything.
    still: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropClaim:
    """A claim that the queue no longer holds."""

    claim_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendLog:
    """A piece of a user's event log. It is kept until it is known to be in the file."""

    path: str
    text: str
    #: Whose file it is.
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutErrors:
    """All queue instances of the cell that are in the error state, each with the reason."""

    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutUsage:
    """Accounts of users of the cell that have changed."""

    accounts: Mapping[Owner, Used]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearUsage:
    """All accounts of users of the cell are forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAccounting:
    """A run in a queue instance of the cell is over."""

    record: AccountingRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReports:
    """Something for the reporting file of the cell. It is kept until it is known to be in the file."""

    reports: tuple[Report, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAudit:
    """A decision for the record. It is kept until the central manager has it."""

    record: AuditRecord


Change: TypeAlias = (
    PutCluster
    | PutGone
    | PutTold
    | DropCluster
    | PutJob
    | DropJob
    | AddHistory
    | PutClaim
    | DropClaim
    | AppendLog
    | PutErrors
    | PutUsage
    | ClearUsage
    | AddAccounting
    | AddReports
    | AddAudit
)
