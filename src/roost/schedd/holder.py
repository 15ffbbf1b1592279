"""What a queue holds beside its jobs: claims, and the rules that the administrator gave it."""

from __future__ import annotations

from dataclasses import dataclass, field

from roost.schedd.claims import HeldClaim
from roost.schedd.job_policy import SystemPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """The configuration of a queue."""

    #: ``schedd@host``.
    name: str
    uid_domain: str = ""
    #: ALIVE_INTERVAL, s.
    alive_interval_s: float = 300.0
    #: PERIODIC_EXPR_INTERVAL, s.
    periodic_interval_s: float = 60.0
    #: MAX_JOBS_SUBMITTED, MAX_JOBS_PER_SUBMISSION.
    jobs_max: int = 2**31 - 1
    jobs_per_submission_max: int = 2**31 - 1
    #: QUEUE_SUPER_USERS.
    superusers: frozenset[str] = frozenset(("root", "condor"))
    policy: SystemPolicy = field(default_factory=SystemPolicy)


@dataclass(slots=True)
class Holder:
    """The claims of a queue by their ids."""

    settings: QueueSettings
    claims: dict[str, HeldClaim] = field(default_factory=dict)

    @property
    def system_policy(self) -> SystemPolicy:
        """The administrator's policy for all jobs."""
        return self.settings.policy
