"""Changes of the queue's durable state, each a frozen value.

All changes of one step are committed together or not at all, before any message about the step is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias

from roost.base.fast_records import record
from roost.classad import ClassAd
from roost.model.audit import AuditRecord
from roost.model.cell_accounting import AccountingRecord
from roost.model.cell_reporting import Report
from roost.model.cell_usage import Owner, Used
from roost.schedd.identifiers import JobId
from roost.schedd.status import JobStatus


@record
class PutCluster:
    """A cluster, new or changed."""

    cluster: int
    owner: str
    submitted_at: int
    count: int
    ad: ClassAd
    #: How its jobs differ, as JSON; None if they do not.
    plan: Any = None
    #: The factory that makes its jobs, as `PutFactory` has it; "" where all are in the queue from the start.
    factory: str = ""


@record
class PutFactory:
    """How far the factory of a cluster has come, as `Factory.read` takes it."""

    cluster: int
    factory: str


@record
class PutGone:
    """Which jobs of a cluster have left the queue: ranges of numbers."""

    cluster: int
    gone: str


@record
class PutTold:
    """Which jobs of a cluster have their submission recorded in the event logs: ranges of numbers; "" for all."""

    cluster: int
    told: str


@record
class DropCluster:
    """All jobs of a cluster have left."""

    cluster: int


@record
class PutJob:
    """Everything that has changed in a job since it was submitted."""

    job: JobId
    status: JobStatus
    attributes: ClassAd


@record
class DropJob:
    """A job has left the queue, or is back in its submitted state."""

    job: JobId


#: Maximum number of jobs of one `AddHistory`.
TOGETHER_MAX: Final = 10_000


@record
class AddHistory:
    """Jobs that have left the queue: one, or consecutive jobs of one cluster that differ in nothing else."""

    job: JobId
    owner: str
    status: JobStatus
    ended_at: int
    #: The job's final ad; for several jobs, only what has happened to each, without its parents.
    ad: ClassAd
    #: The cluster of the jobs; None if only the ad is known.
    cluster: PastCluster | None = None
    #: Number of the last of several; None for one job.
    last: int | None = None

    def ads(self) -> Iterator[ClassAd]:
        """The whole ad of each job, in order."""
        if self.last is None:
            yield self.ad
            return
        assert self.cluster is not None
        for proc in range(self.job.proc, self.last + 1):
            yield whole_ad(self.cluster, proc, self.ad)

    @property
    def jobs(self) -> Iterator[JobId]:
        """All jobs, in order."""
        last = self.job.proc if self.last is None else self.last
        return (JobId(self.job.cluster, proc) for proc in range(self.job.proc, last + 1))


@record
class AddEpoch:
    """A run of a job is over. This goes to the epoch history only, not to the database."""

    #: The job's ad after the run.
    ad: ClassAd


class PastCluster(Protocol):
    """The data of a cluster that the history needs."""

    @property
    def owner(self) -> str:
        """The owner of the jobs."""

    @property
    def number(self) -> int:
        """ClusterId."""

    @property
    def ad(self) -> ClassAd:
        """The ad that all its jobs have in common."""

    @property
    def plan(self) -> Any:
        """How the jobs differ."""

    @property
    def count(self) -> int:
        """Number of jobs at submission."""

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


@record
class PutClaim:
    """A claim that the queue holds."""

    claim_id: str
    node: str
    slot: str
    submitter: str
    #: The job that runs on it, or is about to, and the name of the run; None and "" if there is none.
    job: JobId | None
    run: str
    #: Whether a command wants that job suspended; None if there is no command, or once it is carried out.
    still: bool | None = None


@record
class DropClaim:
    """A claim that the queue no longer holds."""

    claim_id: str


@record
class AppendLog:
    """A piece of a user's event log. It is kept until it is known to be written to the file."""

    path: str
    text: str
    #: The owner of the file.
    owner: str


@record
class PutErrors:
    """All queue instances of the cell that are in the error state, each with the reason."""

    errors: Mapping[str, str]


@record
class PutUsage:
    """CellUsage of users of the cell that have changed."""

    accounts: Mapping[Owner, Used]


@record
class ClearUsage:
    """Clear all accounts of users of the cell."""


@record
class AddAccounting:
    """A run in a queue instance of the cell is over."""

    record: AccountingRecord
    #: The part that the reporting file did not report at midnight; None if that is all of it.
    rest: AccountingRecord | None = None


@record
class AddReports:
    """Entries for the reporting file of the cell. They are kept until they are known to be written to the file."""

    reports: tuple[Report, ...]


@record
class AddAudit:
    """A decision for the audit record. It is kept until the central manager has it."""

    record: AuditRecord


Change: TypeAlias = (
    PutCluster
    | PutFactory
    | PutGone
    | PutTold
    | DropCluster
    | PutJob
    | DropJob
    | AddHistory
    | AddEpoch
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
