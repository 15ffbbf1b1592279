"""The ads of daemons in the pool: those of a queue, and of the master of a machine.

They are published when their contents change, and periodically, since the pool drops expired ads.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from roost import __version__
from roost.model.compatible import CONDOR_VERSION
from roost.schedd.status import ON_MACHINE, JobStatus

if TYPE_CHECKING:
    from roost.schedd.queue import Queue

#: Maximum interval between two ads of a daemon, s; CLASSAD_LIFETIME is 900 s by default.
REFRESH_S: Final = 300.0


def place_of(urls: Sequence[str]) -> str:
    """IP address and port of the first message server in these URLs."""
    host, _, port = (urls[0] if urls else "").rpartition("//")[2].rpartition("@")[2].rpartition(":")
    found = _ip(host.strip("[]"))
    return f"[{found}]:{port or 0}" if ":" in found else f"{found}:{port or 0}"


@lru_cache(maxsize=64)
def _ip(host: str) -> str:
    """The IP address of a host; the loopback address if its name is unknown."""
    try:
        return str(socket.getaddrinfo(host or "localhost", None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return "127.0.0.1"


class DutyCycle:
    """The fraction of time that a process has been busy since the last call."""

    def __init__(self) -> None:
        self._worked_s, self._at_s = time.process_time(), time.monotonic()

    def read(self) -> dict[str, float]:
        """Its attribute, from 0 to 1."""
        worked_s, at_s = time.process_time(), time.monotonic()
        past_s = at_s - self._at_s
        part = (worked_s - self._worked_s) / past_s if past_s > 0 else 0.0
        self._worked_s, self._at_s = worked_s, at_s
        return {"RecentDaemonCoreDutyCycle": round(min(1.0, max(0.0, part)), 6)}


def scheduler_ad(name: str, queue: Queue, *, address: str, started_at: float) -> dict[str, Any]:
    """The ad of a queue."""
    clusters = queue.book.clusters.values()

    def count(*states: JobStatus) -> int:
        return sum(cluster.statuses.count(int(state)) for cluster in clusters for state in states)

    return {
        "MyType": "Scheduler",
        "Name": name,
        "Machine": name,
        "MyAddress": address,
        "ScheddIpAddr": address,
        "CondorVersion": CONDOR_VERSION,
        "RoostVersion": __version__,
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


def master_ad(name: str, *, address: str, started_at: float) -> dict[str, Any]:
    """The ad of the master of a machine."""
    return {
        "MyType": "DaemonMaster",
        "Name": name,
        "Machine": name,
        "MyAddress": address,
        "CondorVersion": CONDOR_VERSION,
        "RoostVersion": __version__,
        "DaemonStartTime": int(started_at),
        "MasterPid": os.getppid(),
    }


def central_identity(name: str, *, address: str, started_at: float) -> dict[str, Any]:
    """The attributes of the ads of the collector and of the negotiator, ``central@HOST``, besides their statistics."""
    return {
        "Machine": name.rpartition("@")[2],
        "MyAddress": address,
        "CondorVersion": CONDOR_VERSION,
        "RoostVersion": __version__,
        "DaemonStartTime": int(started_at),
    }
