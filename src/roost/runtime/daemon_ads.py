"""The ads by which daemons are known to the pool: a queue's own, and that of the master of a machine.

They are told when what they say changes, and from time to time, since the pool forgets what it does not hear of.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from roost.model.compatible import CONDOR_VERSION
from roost.schedd.status import ON_MACHINE, JobStatus

if TYPE_CHECKING:
    from roost.schedd.queue import Queue

#: Longest time between two ads of a daemon, s; CLASSAD_LIFETIME is 900 s unless it is configured.
REFRESH_S: Final = 300.0


def scheduler_ad(name: str, queue: Queue, *, started_at: float) -> dict[str, Any]:
    """The ad of a queue."""
    clusters = queue.book.clusters.values()

    def count(*states: JobStatus) -> int:
        return sum(cluster.statuses.count(int(state)) for cluster in clusters for state in states)

    return {
        "MyType": "Scheduler",
        "Name": name,
        "Machine": name,
        "MyAddress": f"<{name}>",
        "ScheddIpAddr": f"<{name}>",
        "CondorVersion": CONDOR_VERSION,
        "DaemonStartTime": int(started_at),
        "TotalIdleJobs": count(JobStatus.IDLE),
        "TotalRunningJobs": count(*sorted(ON_MACHINE)),
        "TotalHeldJobs": count(JobStatus.HELD),
        "TotalRemovedJobs": count(JobStatus.REMOVED),
        "TotalJobAds": sum(cluster.left for cluster in clusters),
        "TotalFlockedJobs": 0,
        "TotalLocalJobsIdle": 0,
        "TotalLocalJobsRunning": 0,
        "TotalSchedulerJobsIdle": 0,
        "TotalSchedulerJobsRunning": 0,
        "NumUsers": len({cluster.owner for cluster in clusters}),
    }


def master_ad(name: str, *, started_at: float) -> dict[str, Any]:
    """The ad of the master of a machine."""
    return {
        "MyType": "DaemonMaster",
        "Name": name,
        "Machine": name,
        "MyAddress": f"<{name}>",
        "CondorVersion": CONDOR_VERSION,
        "DaemonStartTime": int(started_at),
        "MasterPid": os.getppid(),
    }


def central_identity(name: str, *, started_at: float) -> dict[str, Any]:
    """What the ads of the collector and of the matchmaker, ``central@HOST``, say beside their figures."""
    return {
        "Machine": name.rpartition("@")[2],
        "MyAddress": f"<{name}>",
        "CondorVersion": CONDOR_VERSION,
        "DaemonStartTime": int(started_at),
    }
