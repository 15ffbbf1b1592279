"""Records of a Grid Engine cell's reporting file: the life of jobs, ended runs, advance reservations.

Source: reporting(5), and what Grid Engine 8.1.9 writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol, TypeAlias

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.cell_accounting import ACCOUNT, AccountingRecord

#: The user name for actions that no user requested.
MASTER: Final = "master"
EXECUTION_DAEMON: Final = "execution daemon"
SCHEDULER: Final = "scheduler"
#: Stands for all tasks of a job.
ALL_TASKS: Final = -1
#: The priority of `-p 0`.
BASE_PRIORITY: Final = 1024


class ConsumableReports(Protocol):
    """Reports consumables as jobs take and release them (`roost.gridengine.pool.host_reports`)."""

    def lines(self, task: ClassAd, others: Iterable[ClassAd], at: int, *, begins: bool) -> Iterator[PlainReport]:
        """The lines for a job that begins or ends, given what the others have."""


class Reporting(NamedTuple):
    """What a cell wants reported."""

    #: The machine of the queue.
    host: str
    #: Whether job events are reported, in addition to submissions and ended runs.
    joblog: bool
    #: None if consumables are not reported.
    consumables: ConsumableReports | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """An event of a job, or of one of its tasks."""

    #: Epoch s.
    at: int
    #: "" for `new_job`, otherwise the event of `job_log`.
    event: str = ""
    job: int
    task: int = ALL_TASKS
    #: "" for a waiting job, t, r, T
    state: str = ""
    user: str = ""
    host: str = ""
    priority: int = BASE_PRIORITY
    #: Epoch s.
    submitted: int
    name: str
    owner: str
    #: "" if only the system knows.
    group: str = ""
    project: str = ""
    #: "" if only the cell knows.
    department: str = ""
    account: str = ACCOUNT
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run has ended."""

    at: int
    record: AccountingRecord


class PlainReport(NamedTuple):
    """A line given by its fields."""

    #: Epoch s.
    at: int
    kind: str
    fields: tuple[str | int, ...]


Report: TypeAlias = JobReport | RunReport | PlainReport
