"""What a Grid Engine cell's reporting file tells: the life of jobs, ended runs, advance reservations.

Source: reporting(5), and what Grid Engine 8.1.9 writes.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from roost.base.records import dataclass
from roost.model.cell_accounting import ACCOUNT, AccountingRecord

#: In whose name things happen that no user asked for.
MASTER: Final = "master"
EXECUTION_DAEMON: Final = "execution daemon"
SCHEDULER: Final = "scheduler"
#: Of all tasks of a job.
ALL_TASKS: Final = -1
#: The priority of `-p 0`.
BASE_PRIORITY: Final = 1024


class Reporting(NamedTuple):
    """What a cell wants to be told of."""

    #: The machine of the queue.
    host: str
    #: Beside submissions and ended runs what happens to jobs.
    joblog: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """Something that happened to a job, or to a task of it."""

    #: Epoch s.
    at: int
    #: "" for `new_job`, else the event of `job_log`.
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
    """A line that is known by its fields."""

    #: Epoch s.
    at: int
    kind: str
    fields: tuple[str | int, ...]


Report: TypeAlias = JobReport | RunReport | PlainReport
