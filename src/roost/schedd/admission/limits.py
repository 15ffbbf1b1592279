"""How many jobs a queue takes and runs: what a submission may add to it, and how many slots it may ask for now.

* MAX_JOBS_PER_SUBMISSION, MAX_JOBS_PER_OWNER and MAX_JOBS_SUBMITTED refuse submissions, in HTCondor's words. The owner
  is the user whom the queue vouches for, whatever accounting group or name the jobs give.
* MAX_JOBS_RUNNING limits the claims that the queue holds on machines of the pool. A claim serves one job after
  another, so there are never more running jobs than claims.
* JOB_START_COUNT slots may be asked for within JOB_START_DELAY seconds. A job that follows another on the same claim
  starts at once, as it does in HTCondor, where it needs no shadow of its own.

Jobs that run beside the queue count for neither of the last two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from roost.base.records import dataclass, field
from roost.schedd.jobs.book import Book, Cluster

#: No limit.
UNLIMITED: Final = 2**31 - 1
#: In how many names (accounting groups) the jobs of one owner compete: the matchmaker is told of each with every word.
NAMES_MAX: Final = 1000


@dataclass(slots=True)
class Present:
    """How many jobs may be in the queue: never fewer than there are.

    Submissions are added, jobs that leave are not taken off. Where a limit seems to be exceeded the jobs are counted:
    to do that at every submission would take long in a queue of many clusters.
    """

    #: By owner; None before the first count.
    of: Counter[str] | None = None
    #: Owner to the names in which the jobs compete, never fewer than they do.
    names: dict[str, set[str]] = field(default_factory=dict)

    def takes_names(self, book: Book, owner: str, names: set[str]) -> bool:
        """Whether jobs of an owner may compete in these names as well; then they are among those present.

        The owner's own name does not count.
        """
        names = _of_groups(names, owner)
        known = self.names.get(owner)
        if known is None or len(known | names) > NAMES_MAX:
            mine = [cluster for cluster in book.clusters.values() if cluster.owner == owner]
            if known is None or not any(cluster.number in book.unplaced for cluster in mine):
                present: set[str] = set()
                for cluster in mine:
                    apart = [name for proc, name in cluster.others.items() if cluster.statuses[proc]]
                    present.update(apart)
                    if len(apart) < cluster.left:
                        present.add(cluster.submitter)
                known = self.names[owner] = _of_groups(present, owner)
        if len(known | names) > max(NAMES_MAX, len(known)):
            return False
        known |= names
        return True

    def count(self, clusters: Iterable[Cluster]) -> Counter[str]:
        """Count them anew."""
        found: Counter[str] = Counter()
        for cluster in clusters:
            found[cluster.owner] += cluster.left
        self.of = found
        return found


def _of_groups(names: set[str], owner: str) -> set[str]:
    return {name for name in names if name.partition("@")[0] != owner}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a queue."""

    #: MAX_JOBS_SUBMITTED, MAX_JOBS_PER_OWNER, MAX_JOBS_PER_SUBMISSION.
    jobs_max: int = UNLIMITED
    jobs_per_owner_max: int = UNLIMITED
    jobs_per_submission_max: int = UNLIMITED
    #: MAX_JOBS_RUNNING.
    running_max: int = UNLIMITED
    #: JOB_START_COUNT, and JOB_START_DELAY, s; 0 for no delay.
    start_count: int = 1
    start_delay_s: float = 0.0

    def refusal(self, present: Present, clusters: Iterable[Cluster], owner: str, jobs: int) -> str:
        """Why a user's submission of that many jobs is not taken; "" if it is: then they are among those present."""
        if jobs > self.jobs_per_submission_max:
            return _exceeds("MAX_JOBS_PER_SUBMISSION", self.jobs_per_submission_max, f"the submission has {jobs} jobs")
        known = present.of
        if known is None or known[owner] + jobs > self.jobs_per_owner_max or known.total() + jobs > self.jobs_max:
            known = present.count(clusters)
        mine = known[owner]
        if mine + jobs > self.jobs_per_owner_max:
            about = f"{owner} has {mine} jobs in the queue and submits {jobs}"
            return _exceeds("MAX_JOBS_PER_OWNER", self.jobs_per_owner_max, about)
        if (there := known.total()) + jobs > self.jobs_max:
            about = f"there are {there} jobs in the queue and {jobs} are submitted"
            return _exceeds("MAX_JOBS_SUBMITTED", self.jobs_max, about)
        known[owner] += jobs
        return ""


def _exceeds(knob: str, most: int, about: str) -> str:
    return f"Number of submitted jobs would exceed {knob} = {most}: {about}"


@dataclass(slots=True)
class Starts:
    """The slots that were asked for in the present interval of JOB_START_DELAY."""

    #: When it began, epoch s.
    began_at: float = 0.0
    count: int = 0

    def left(self, limits: Limits, now: float) -> int:
        """How many more may be asked for now."""
        if not limits.start_delay_s or not 0 <= now - self.began_at < limits.start_delay_s:
            return limits.start_count if limits.start_delay_s else UNLIMITED
        return max(0, limits.start_count - self.count)

    def asked(self, limits: Limits, now: float) -> None:
        """A slot was asked for."""
        if not 0 <= now - self.began_at < limits.start_delay_s:
            self.began_at, self.count = now, 0
        self.count += 1
