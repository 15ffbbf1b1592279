"""An ended run of a job in a Grid Engine cell, as recorded by accounting.

Source: accounting(5). The order of the fields is that of the accounting file, the names are those of `qacct -j`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass, field

#: Attribute of a job's ad: the resources that the program of its last run used, an ad with the names of getrusage(2).
RESOURCES_USED: Final = "CellResourcesUsed"
#: Attribute of a job's ad: the usage of a continuing run already written to the reporting file, an ad with Run, At,
#: cpu, mem and io.
MIDNIGHT: Final = "CellMidnight"
#: The names of getrusage(2) in the accounting file, in its order.
RESOURCES: Final = (
    "ru_utime", "ru_stime", "ru_maxrss", "ru_ixrss", "ru_ismrss", "ru_idrss", "ru_isrss", "ru_minflt", "ru_majflt",
    "ru_nswap", "ru_inblock", "ru_oublock", "ru_msgsnd", "ru_msgrcv", "ru_nsignals", "ru_nvcsw", "ru_nivcsw",
)  # fmt: skip
NONE: Final = "NONE"
#: The account of a job without `-A`.
ACCOUNT: Final = "sge"
#: The department of a user whom no user list assigns to one.
DEPARTMENT: Final = "defaultdepartment"
#: ``failed`` of a run whose machine has lost it: it has no record of how the program ended.
UNOBSERVED: Final = 19
#: ``failed`` of a run after which the job migrates to another machine.
MIGRATING: Final = 24
#: ``failed`` of a run that ended because the job was rescheduled.
RESCHEDULED: Final = 25
#: ``failed`` of a run whose program was ended by a signal.
SIGNALLED: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUse:
    """An ended slave task of a parallel job, and its resource usage."""

    #: Number and host, as ``1.node2``.
    name: str
    queue: str
    host: str
    #: Epoch s.
    began: float
    ended: float
    exit_code: int | None = None
    signal: int | None = None
    user_cpu_s: float = 0.0
    system_cpu_s: float = 0.0
    #: memory times CPU time, GiB s
    mem: float = 0.0
    #: GiB
    io: float = 0.0
    #: Largest virtual memory, bytes.
    maxvmem: float = 0.0
    #: Keyed by the names of getrusage(2).
    resources: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingRecord:
    """One run of a job, or of a task of an array."""

    queue: str
    host: str
    group: str
    owner: str
    job_name: str
    job: int
    account: str = ACCOUNT
    #: nice value of the queue
    priority: int = 0
    #: Epoch s. For a rerun: when the job became pending again.
    submitted: int = 0
    #: Epoch s; 0 for a run whose program was not started.
    started: int = 0
    ended: int = 0
    failed: int = 0
    exit_status: int = 0
    wallclock_s: int = 0
    #: Keyed by the names of `RESOURCES`; missing ones are 0.
    resources: Mapping[str, float] = field(default_factory=dict)
    project: str = NONE
    department: str = DEPARTMENT
    environment: str = NONE
    slots: int = 1
    #: 0 for a job without tasks
    task: int = 0
    cpu_s: float = 0.0
    #: memory times CPU time, GiB s
    mem: float = 0.0
    #: GiB
    io: float = 0.0
    #: its requests, as options of `qsub`
    category: str = NONE
    #: s
    io_wait: float = 0.0
    #: the task of a parallel job, started by `qrsh -inherit`
    part: str = NONE
    #: bytes
    maxvmem: float = 0.0
    #: number of the advance reservation and its creation time; 0 for none
    reservation: int = 0
    reserved_at: int = 0
