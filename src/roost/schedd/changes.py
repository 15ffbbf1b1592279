"""What is to be kept: changes of the queue's durable state, each a frozen value.

All changes of one step go to disk together or not at all, and before anybody is told what the step led to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from roost.classad import ClassAd
from roost.model.audit import AuditRecord
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AddHistory:
    """A job that has left the queue, its ad as it was then."""

    job: JobId
    owner: str
    status: JobStatus
    ended_at: int
    ad: ClassAd


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DropClaim:
    """A claim that the queue does not hold any more."""

    claim_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendLog:
    """A piece of a user's event log. It is kept until it is known to be in the file."""

    path: str
    text: str
    #: Whose file it is.
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAudit:
    """A decision for the record. It is kept until the central manager has it."""

    record: AuditRecord


Change: TypeAlias = (
    PutCluster | PutGone | DropCluster | PutJob | DropJob | AddHistory | PutClaim | DropClaim | AppendLog | AddAudit
)
