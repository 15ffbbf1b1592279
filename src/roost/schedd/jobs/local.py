"""Local jobs, those of the scheduler and local universes, which run on the queue's machine.

They are never offered to a negotiator. The queue treats the node that runs them like any other machine, with its own
name, so that claims, runs and ends are the same; only the source of their slots differs, and how many may run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr, parse_expression
from roost.schedd.status import JobStatus

if TYPE_CHECKING:
    from roost.schedd.jobs.book import Book
    from roost.schedd.jobs.idle import IdleGroup

SCHEDULER: Final = 7
LOCAL: Final = 12
#: Values of JobUniverse.
UNIVERSES: Final = (SCHEDULER, LOCAL)

#: Prefix of the local node's name, before the name of the queue's host.
PREFIX: Final = "local."
#: The configuration of the local node.
MACHINE_CONFIG: Final = """\
# The machine on the queue's machine, which runs jobs of the scheduler and local universes. It is written by the queue.
NUM_CPUS = 100000
MEMORY = 1000000000
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = True
START = TARGET.JobUniverse =?= 7 || TARGET.JobUniverse =?= 12
WANT_SUSPEND = False
SUSPEND = False
PREEMPT = False
KILL = False
RANK = 0
RunBenchmarks = False
CLAIM_WORKLIFE = 0
POLLING_INTERVAL = 60
"""

_START_SCHEDULER: Final = parse_expression("TotalSchedulerJobsRunning < 500")
_START_LOCAL: Final = parse_expression("TotalLocalJobsRunning < 200")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPolicy:
    """START_SCHEDULER_UNIVERSE and START_LOCAL_UNIVERSE; MY is the queue's ad, TARGET the job's."""

    start_scheduler: Expr = _START_SCHEDULER
    start_local: Expr = _START_LOCAL

    def allows(self, job_ad: ClassAd, running: dict[int, int]) -> bool:
        """Whether one more job may begin; `running` has the number of running jobs by universe."""
        queue = ClassAd(
            {"TotalSchedulerJobsRunning": running.get(SCHEDULER, 0), "TotalLocalJobsRunning": running.get(LOCAL, 0)}
        )
        scheduler = job_ad.cell("jobuniverse") == SCHEDULER
        value = queue.eval_expr(self.start_scheduler if scheduler else self.start_local, job_ad)
        return value is True or (isinstance(value, int | float) and not isinstance(value, bool) and value != 0)


def is_local(ad: ClassAd) -> bool:
    """Whether a job runs on the queue's machine."""
    return ad.cell("jobuniverse") in UNIVERSES


def running_of(clusters: Iterable[tuple[ClassAd, bytearray]]) -> dict[int, int]:
    """Universe to the number of its running jobs, from clusters' ads and statuses."""
    found = dict.fromkeys(UNIVERSES, 0)
    for ad, statuses in clusters:
        universe = ad.cell("jobuniverse")
        if universe in found:
            busy = (JobStatus.RUNNING, JobStatus.SUSPENDED, JobStatus.TRANSFERRING_OUTPUT)
            found[universe] += sum(statuses.count(int(status)) for status in busy)  # type: ignore[index]
    return found


def local_name(schedd: str) -> str:
    """The name of a queue's local node."""
    return PREFIX + schedd.rpartition("@")[2]


def next_beside(offered: Mapping[str, Sequence[IdleGroup]], book: Book, policy: LocalPolicy) -> tuple[str, int] | None:
    """Submitter and autocluster of the next job that may begin on the local node; None if there is none."""
    if not offered:
        return None
    running = running_of((cluster.ad, cluster.statuses) for cluster in book.clusters.values())
    for submitter, groups in offered.items():
        for group in groups:
            if policy.allows(book.autoclusters.sample(group.autocluster), running):
                return submitter, group.autocluster
    return None
