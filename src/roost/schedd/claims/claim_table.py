"""The queue's state besides its jobs: claims, and the administrator's settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr
from roost.config import Diagnostic
from roost.model.audit import InForce
from roost.model.cell_reporting import Reporting
from roost.model.cell_usage import CellUsage
from roost.model.pool_policy import IDENTITY
from roost.schedd.admission.limits import Limits, Present, Starts
from roost.schedd.admission.rules import Admission
from roost.schedd.claims.held_claims import HeldClaim
from roost.schedd.claims.pacing import Pauses
from roost.schedd.job_policy.expressions import SystemPolicy
from roost.schedd.job_policy.vetoes import Vetoes
from roost.schedd.jobs.book import Job
from roost.schedd.jobs.local import LocalPolicy

#: From this many claims below MAX_JOBS_RUNNING, the relevant claims are counted one by one.
_NEAR: Final = 1_000
#: How long a match of a cell is valid, and further jobs may use its claim, s; shorter than the time after which the
#: central manager takes a match back.
GRANTED_S: Final = 10.0
#: The interval of periodic checks, and their maximum rate, however small PERIODIC_EXPR_INTERVAL is, s.
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
    #: MAX_CLAIM_ALIVES_MISSED: keepalives without an answer, for a job without a lease.
    alives_missed_max: int = 6
    #: REQUEST_CLAIM_TIMEOUT, s.
    request_timeout_s: float = 1800.0
    #: PERIODIC_EXPR_INTERVAL, s.
    periodic_interval_s: float = 60.0
    #: SCHEDD_INTERVAL, s: deferred jobs may be matched that much earlier.
    interval_s: int = 300
    #: The time zone of crontabs.
    zone: tzinfo = UTC
    limits: Limits = field(default_factory=Limits)
    #: SCHEDD_ALLOW_LATE_MATERIALIZE.
    late_materialization: bool = True
    #: SIGNIFICANT_ATTRIBUTES, which replace those of the negotiator; ADD_SIGNIFICANT_ATTRIBUTES, which add to them.
    significant: frozenset[str] = frozenset()
    significant_too: frozenset[str] = frozenset()
    #: The user maps of userMap().
    user_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Defaults for jobs that do not set them: MaxTransferInputMB, MaxTransferOutputMB.
    defaults: Mapping[str, Expr] = field(default_factory=dict)
    #: QUEUE_SUPER_USERS.
    superusers: frozenset[str] = frozenset(("root", "condor"))
    policy: SystemPolicy = field(default_factory=SystemPolicy)
    #: The node that runs jobs on the queue's machine; "" for none.
    local_node: str = ""
    local_policy: LocalPolicy = field(default_factory=LocalPolicy)
    #: The rules for jobs at submission.
    admission: Admission = field(default_factory=Admission)
    #: Folded names of attributes that users, or even administrators, cannot change once a job is in the queue.
    protected: frozenset[str] = frozenset()
    immutable: frozenset[str] = frozenset()
    #: Folded names of attributes that a submission by a user may not set at all.
    secure: frozenset[str] = frozenset()
    #: The problems in the administrator's policy; the affected parts are left out.
    problems: tuple[Diagnostic, ...] = ()
    #: Configuration identifier, for the audit record.
    in_force: InForce = field(default_factory=InForce)

    @property
    def tick_s(self) -> float:
        """The interval of periodic checks, s: job policies may be evaluated more often than everything else."""
        return min(TICK_S, max(TICK_S_MIN, self.periodic_interval_s))


@dataclass(slots=True)
class ClaimTable:
    """The claims of a queue by id."""

    settings: QueueSettings
    claims: dict[str, HeldClaim] = field(default_factory=dict)
    #: Machines from which slots were requested, in the order of the first request.
    nodes: dict[str, None] = field(default_factory=dict)
    #: Number of the last question to machines about claims. Grows across restarts, too.
    asks: int = 0
    #: Matches that the pool's policy prevented at the queue.
    vetoes: Vetoes = field(default_factory=Vetoes)
    #: Identifier of the pool policy in force; None before it is reported.
    pool_policy: str | None = None
    #: Revision of the pool's Grid Engine cell, 0 for none: matches of other revisions are rejected, and each claim is
    #: for one job.
    cell: int = 0
    #: Queue instances of the cell that are in the error state, each with the reason.
    errors: dict[str, str] = field(default_factory=dict)
    #: Identifier of the administrative states of queue instances, and those that accept no jobs because of them.
    cell_states: str = ""
    closed: frozenset[str] = frozenset()
    #: Usage of the cell by user.
    usage: CellUsage = field(default_factory=CellUsage)
    #: Settings of the cell's reporting file; None for no reporting.
    reporting: Reporting | None = None
    #: Clusters whose jobs get slots and do not begin.
    pauses: Pauses = field(default_factory=Pauses)
    #: Jobs counted for the limits of submissions.
    present: Present = field(default_factory=Present)
    #: Slots that were requested.
    starts: Starts = field(default_factory=Starts)
    #: Jobs wait until more claims are allowed.
    is_full: bool = False

    def is_local(self, node: str) -> bool:
        """Whether a machine is the one that runs on the queue's machine."""
        return bool(node) and node == self.settings.local_node

    def is_outdated(self, claim: HeldClaim) -> bool:
        """Whether a claim came under an earlier policy of the pool: no further job begins on it."""
        if self.pool_policy is None or claim.slot_ad is None or self.is_local(claim.node):
            return False
        return bool(claim.slot_ad.get(IDENTITY, "") != self.pool_policy)

    def is_of_other_cell(self, node: str, task: ClassAd | None, now: float) -> bool:
        """Whether a match is void: made by another revision of the cell or by none, too old, or for a queue instance
        that was closed meanwhile.

        The central manager takes back a match that a queue has not accepted in time, and gives its consumables to
        others.
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
        """How many slots of the pool may be requested now: MAX_JOBS_RUNNING, JOB_START_COUNT."""
        limits = self.settings.limits
        found = self.starts.left(limits, now)
        # Claims on the queue's machine do not count, but their number matters only near the limit.
        room = limits.running_max - len(self.claims)
        if room < _NEAR:
            room = max(0, limits.running_max - self._in_pool())
        found = min(found, room)
        self.is_full = self.is_full or not found
        return found

    def full_by(self, now: float) -> tuple[str, int] | None:
        """The knob because of which no slot of the pool is requested now, and its value; None if slots are
        requested.
        """
        limits = self.settings.limits
        if self._in_pool() >= limits.running_max:
            return "MAX_JOBS_RUNNING", limits.running_max
        return None if self.starts.left(limits, now) else ("JOB_START_COUNT", limits.start_count)

    @property
    def exceeds(self) -> bool:
        """Whether the queue holds more claims on the pool than allowed, because the limit was lowered."""
        most = self.settings.limits.running_max
        return len(self.claims) > most and self._in_pool() > most

    def _in_pool(self) -> int:
        return sum(not self.is_local(claim.node) and not claim.is_part for claim in self.claims.values())

    def let_go(self, job: Job) -> None:
        """Release a job for which a slot is being requested; another job may use the slot."""
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
