"""What a queue holds beside its jobs: claims, and the rules that the administrator gave it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr
from roost.config import Diagnostic
from roost.model.audit import InForce
from roost.model.cell_reporting import Reporting
from roost.model.cell_usage import Accounts
from roost.model.pool_policy import IDENTITY
from roost.schedd.admission.limits import Limits, Present, Starts
from roost.schedd.admission.rules import Admission
from roost.schedd.claims.held_claims import HeldClaim
from roost.schedd.job_policy.expressions import SystemPolicy
from roost.schedd.job_policy.vetoes import Vetoes
from roost.schedd.jobs.book import Job
from roost.schedd.runs.local import LocalPolicy
from roost.schedd.runs.pacing import Pauses

#: So many claims below MAX_JOBS_RUNNING those that count are counted one by one.
_NEAR: Final = 1_000
#: How long a match of a cell is good, s; less than the central manager waits until it takes it back.
GRANTED_S: Final = 10.0
#: How often what is due is looked for, and at most, however small PERIODIC_EXPR_INTERVAL is, s.
TICK_S: Final = 5.0
TICK_S_MIN: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """The configuration of a queue."""

    #: ``schedd@host``.
    name: str
    uid_domain: str = ""
    #: IP address and port of the message server, for addresses in event logs; "" for none.
    place: str = ""
    #: ALIVE_INTERVAL, s.
    alive_interval_s: float = 300.0
    #: MAX_CLAIM_ALIVES_MISSED: signs of life without an answer, for a job without a lease.
    alives_missed_max: int = 6
    #: REQUEST_CLAIM_TIMEOUT, s.
    request_timeout_s: float = 1800.0
    #: PERIODIC_EXPR_INTERVAL, s.
    periodic_interval_s: float = 60.0
    #: SCHEDD_INTERVAL, s: jobs that are to start at an instant may be matched that much earlier.
    interval_s: int = 300
    #: The time zone of crontabs.
    zone: tzinfo = UTC
    limits: Limits = field(default_factory=Limits)
    #: SIGNIFICANT_ATTRIBUTES, instead of what the matchmaker says; ADD_SIGNIFICANT_ATTRIBUTES, beside it.
    significant: frozenset[str] = frozenset()
    significant_too: frozenset[str] = frozenset()
    #: What userMap() looks users up in.
    user_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: What jobs get that do not say it themselves: MaxTransferInputMB, MaxTransferOutputMB.
    defaults: Mapping[str, Expr] = field(default_factory=dict)
    #: QUEUE_SUPER_USERS.
    superusers: frozenset[str] = frozenset(("root", "condor"))
    policy: SystemPolicy = field(default_factory=SystemPolicy)
    #: The machine that runs jobs beside the queue; "" for none.
    local_node: str = ""
    local_policy: LocalPolicy = field(default_factory=LocalPolicy)
    #: What becomes of jobs as they are submitted.
    admission: Admission = field(default_factory=Admission)
    #: Folded names of attributes that users, or even administrators, cannot change once a job is in the queue.
    protected: frozenset[str] = frozenset()
    immutable: frozenset[str] = frozenset()
    #: And of those that are not taken from users at all.
    secure: frozenset[str] = frozenset()
    #: What is wrong with the administrator's policy; that of it is left out.
    problems: tuple[Diagnostic, ...] = ()
    #: For the record.
    in_force: InForce = field(default_factory=InForce)

    @property
    def tick_s(self) -> float:
        """How often a queue looks for what is due, s: policies of jobs may be asked more often than all else."""
        return min(TICK_S, max(TICK_S_MIN, self.periodic_interval_s))


@dataclass(slots=True)
class ClaimTable:
    """The claims of a queue by their ids."""

    settings: QueueSettings
    claims: dict[str, HeldClaim] = field(default_factory=dict)
    #: Machines that were asked for slots, in the order in which they were first.
    nodes: dict[str, None] = field(default_factory=dict)
    #: Number of the last question to machines about claims. Grows over restarts, too.
    asks: int = 0
    #: Matches that the pool's policy prevented here.
    vetoes: Vetoes = field(default_factory=Vetoes)
    #: What tells the pool's policy in force from others; None before it is reported.
    pool_policy: str | None = None
    #: Revision of the Grid Engine cell of the pool, 0 for none: matches of other revisions are not taken, and each
    #: claim is for one job.
    cell: int = 0
    #: Queue instances of the cell that are in the error state, each with the reason.
    errors: dict[str, str] = field(default_factory=dict)
    #: What tells the states that queue instances were given from others, and those that take no jobs by them.
    cell_states: str = ""
    closed: frozenset[str] = frozenset()
    #: What users have used of the cell.
    usage: Accounts = field(default_factory=Accounts)
    #: What the reporting file of the cell is told; None for nothing.
    reporting: Reporting | None = None
    #: Of clusters whose jobs get slots and do not begin.
    pauses: Pauses = field(default_factory=Pauses)
    #: Jobs that limits of submissions count.
    present: Present = field(default_factory=Present)
    #: Slots that were asked for.
    starts: Starts = field(default_factory=Starts)
    #: Jobs wait until there may be more claims.
    is_full: bool = False

    def is_local(self, node: str) -> bool:
        """Whether a machine is the one beside the queue."""
        return bool(node) and node == self.settings.local_node

    def is_outdated(self, claim: HeldClaim) -> bool:
        """Whether a claim came under another policy of the pool than the present: no further job begins on it."""
        if self.pool_policy is None or claim.slot_ad is None or self.is_local(claim.node):
            return False
        return bool(claim.slot_ad.get(IDENTITY, "") != self.pool_policy)

    def is_of_other_cell(self, node: str, task: ClassAd | None, now: float) -> bool:
        """Whether a match is void: by another revision of the cell than the present, by none, too old, or for a queue
        instance that was closed meanwhile.

        The central manager takes back what a queue has not heard of in time, and gives consumables to others.
        """
        if self.is_local(node):
            return False
        if task is None:
            return self.cell != 0
        if task.get("Instance") in self.closed:
            return True
        granted = task.get("Granted", 0.0)
        return self.cell != task.get("Revision", 0) or not now - granted <= GRANTED_S

    def places(self, now: float) -> int:
        """How many slots of the pool may be asked for now: MAX_JOBS_RUNNING, JOB_START_COUNT."""
        limits = self.settings.limits
        found = self.starts.left(limits, now)
        # Claims beside the queue do not count, but only near the limit does it matter how many these are.
        room = limits.running_max - len(self.claims)
        if room < _NEAR:
            room = max(0, limits.running_max - self._in_pool())
        found = min(found, room)
        self.is_full = self.is_full or not found
        return found

    def full_by(self, now: float) -> tuple[str, int] | None:
        """The knob by which no slot of the pool is asked for now, and its value; None where slots are."""
        limits = self.settings.limits
        if self._in_pool() >= limits.running_max:
            return "MAX_JOBS_RUNNING", limits.running_max
        return None if self.starts.left(limits, now) else ("JOB_START_COUNT", limits.start_count)

    @property
    def exceeds(self) -> bool:
        """Whether there are more claims on the pool than may be, for the limit was lowered."""
        most = self.settings.limits.running_max
        return len(self.claims) > most and self._in_pool() > most

    def _in_pool(self) -> int:
        return sum(not self.is_local(claim.node) and not claim.is_part for claim in self.claims.values())

    def let_go(self, job: Job) -> None:
        """A job that a slot is being asked for does not want it any more; another may."""
        claim = self.claims.get(job.claim_id)
        if not job.run:
            job.claim_id = ""
            if claim is not None and claim.job == job.id:
                claim.job = None

    def by_node(self) -> dict[str, dict[str, str]]:
        """Machine to its claims: id to run, "" for none."""
        found: dict[str, dict[str, str]] = {}
        for claim in self.claims.values():
            found.setdefault(claim.node, {})[claim.id] = claim.run
        return found

    @property
    def system_policy(self) -> SystemPolicy:
        """The administrator's policy for all jobs."""
        return self.settings.policy
