"""Limits of a queue: how many jobs a submission may add, and how many slots the queue may request now.

* MAX_JOBS_PER_SUBMISSION, MAX_JOBS_PER_OWNER and MAX_JOBS_SUBMITTED refuse submissions, in HTCondor's words. The owner
  is the authenticated user, whatever accounting group or name the jobs give.
  Jobs that enter the queue a few at a time count when they do, and wait until there is room for them.
* MAX_JOBS_RUNNING limits the claims that the queue holds on machines of the pool. A claim serves one job after
  another, so there are never more running jobs than claims.
* JOB_START_COUNT slots may be requested within JOB_START_DELAY seconds. A job that follows another on the same claim
  starts at once, as in HTCondor, where it needs no new shadow.

Jobs that run on the queue's machine count for neither of the last two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from roost.base.records import dataclass, field
from roost.schedd.jobs.book import Book, Cluster

#: No limit.
UNLIMITED: Final = 2**31 - 1
#: Maximum number of names (accounting groups) in which the jobs of one owner compete: each name adds to every demand
#: that is sent to the negotiator.
NAMES_MAX: Final = 1000


@dataclass(slots=True)
class Present:
    """An upper bound of the number of jobs in the queue.

    Submissions are added, jobs that leave are not subtracted. Only when a limit seems to be exceeded are the jobs
    counted: counting at every submission would take long in a queue of many clusters.
    """

    #: By owner; None before the first count.
    of: Counter[str] | None = None
    #: Owner to the names in which the jobs compete, possibly including names no longer in use.
    names: dict[str, set[str]] = field(default_factory=dict)

    def takes_names(self, book: Book, owner: str, names: set[str]) -> bool:
        """Whether jobs of an owner may also compete in these names; if so, the names are recorded.

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
        """Count the jobs again."""
        found: Counter[str] = Counter()
        for cluster in clusters:
            found[cluster.owner] += cluster.present
        self.of = found
        return found

    def made(self, owner: str, jobs: int) -> None:
        """A factory has made jobs of an owner."""
        if self.of is not None:
            self.of[owner] += jobs


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

    def room(self, present: Present, clusters: Iterable[Cluster], owner: str) -> int:
        """How many jobs of an owner may come into the queue now."""
        if self.jobs_per_owner_max >= UNLIMITED and self.jobs_max >= UNLIMITED:
            return UNLIMITED
        known = present.count(clusters)
        return max(0, min(self.jobs_per_owner_max - known[owner], self.jobs_max - known.total()))

    def refusal(self, present: Present, clusters: Iterable[Cluster], owner: str, jobs: int, later: int = 0) -> str:
        """Why a user's submission of that many jobs is refused; "" if it is accepted, and then the jobs are counted.

        `later`: how many of them come into the queue only when there is room for them.
        """
        if jobs > self.jobs_per_submission_max:
            return _exceeds("MAX_JOBS_PER_SUBMISSION", self.jobs_per_submission_max, f"the submission has {jobs} jobs")
        jobs -= later
        known = present.of
        if known is None or known[owner] + jobs > self.jobs_per_owner_max or known.total() + jobs > self.jobs_max:
            known = present.count(clusters)
        mine = known[owner]
        if mine + jobs > self.jobs_per_owner_max:
            about = f"{owner} already has {mine} jobs in the queue and is submitting {jobs}"
            return _exceeds("MAX_JOBS_PER_OWNER", self.jobs_per_owner_max, about)
        if (there := known.total()) + jobs > self.jobs_max:
            about = f"the queue already has {there} jobs and {jobs} are being submitted"
            return _exceeds("MAX_JOBS_SUBMITTED", self.jobs_max, about)
        known[owner] += jobs
        return ""


def _exceeds(knob: str, most: int, about: str) -> str:
    return f"Number of submitted jobs would exceed {knob} = {most}: {about}"


@dataclass(slots=True)
class Starts:
    """The slots requested in the current interval of JOB_START_DELAY."""

    #: When it began, epoch s.
    began_at: float = 0.0
    count: int = 0

    def left(self, limits: Limits, now: float) -> int:
        """How many more slots may be requested now."""
        if not limits.start_delay_s or not 0 <= now - self.began_at < limits.start_delay_s:
            return limits.start_count if limits.start_delay_s else UNLIMITED
        return max(0, limits.start_count - self.count)

    def asked(self, limits: Limits, now: float) -> None:
        """Count a request for a slot."""
        if not 0 <= now - self.began_at < limits.start_delay_s:
            self.began_at, self.count = now, 0
        self.count += 1
