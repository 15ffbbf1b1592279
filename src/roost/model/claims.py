"""Claims: a slot held by a queue, or by work that a hook fetched, for one job after another.

`ClaimRequest` is the request, `Claim` the slot's state, `Activation` the one job that runs now. A slot always
has one claim: while the slot is unclaimed, that is only the id under which it may be requested.

The ads in here are shared and never modified: an update creates a new one.
"""

from __future__ import annotations

from enum import StrEnum

from roost.base.fast_records import record
from roost.classad import ClassAd
from roost.model.identifiers import ClaimId
from roost.model.reasons import VacateReason


class ClaimKind(StrEnum):
    """The kind of party that holds a claim."""

    SCHEDD = "schedd"
    #: A hook of the execute machine brought the work; no queue knows of it.
    FETCHED = "fetched"


class RunStanding(StrEnum):
    """A machine's report on whether a run is suspended."""

    RUNNING = "running"
    #: The machine's policy or a cell suspends it.
    SUSPENDED = "suspended"
    #: A command suspends it, whatever else does, too.
    SUSPENDED_BY_COMMAND = "suspended by command"


@record
class ClaimRequest:
    """A request for a slot: by whom and for which job."""

    job_ad: ClassAd
    kind: ClaimKind = ClaimKind.SCHEDD
    #: Address of the queue; "" for fetched work.
    schedd: str = ""
    #: The queue's machine, published as ClientMachine; "" if unknown.
    client_machine: str = ""
    #: Heartbeat interval of the queue, s.
    alive_interval_s: float = 300.0
    #: Address for the reply; "" for fetched work.
    reply_to: str = ""


@record
class Activation:
    """A job on a claim, from the spawning of its starter until the starter is gone."""

    job_ad: ClassAd
    #: JobStart, epoch s.
    started_at: float
    #: MachineMaxVacateTime as it was when the job started, s.
    vacate_pledge_s: int
    #: JobUniverse; 5 if the ad has none.
    universe: int = 5
    #: Since when it runs; None while it is suspended.
    running_since: float | None
    #: Since when it is suspended; None while it runs.
    suspended_since: float | None = None
    #: Time run and suspended before the current interval, s.
    run_s: float = 0.0
    suspended_s: float = 0.0
    #: Suspended by command: only a command continues it.
    held_still: bool = False
    #: When the starter was asked to end it softly or hard; None before.
    soft_killed_at: float | None = None
    hard_killed_at: float | None = None
    #: Whether its starter has sent the final update but has not exited yet.
    ended: bool = False
    #: State that the starter reported for a job that it evicts itself: Vacating, Killing; "" otherwise.
    starter_state: str = ""
    #: When it was last asked to save its state, epoch s; None before.
    checkpointed_at: float | None = None
    #: Whether it started during a drain that allowed it.
    accepted_while_draining: bool = False

    def run_time_s(self, now: float) -> float:
        """TotalJobRunTime: time in which it was not suspended."""
        return self.run_s + (0.0 if self.running_since is None else max(0.0, now - self.running_since))

    def suspended_time_s(self, now: float) -> float:
        """TotalJobSuspendTime."""
        return self.suspended_s + (0.0 if self.suspended_since is None else max(0.0, now - self.suspended_since))


@record
class Claim:
    """The claim on a slot."""

    id: ClaimId
    #: None until it is requested.
    request: ClaimRequest | None = None
    #: The machine's RANK of its job.
    rank: float = 0.0
    #: When it was granted, epoch s; None before.
    granted_at: float | None = None
    #: Lease duration without a heartbeat, s, and when the lease expires, epoch s; None for fetched work.
    lease_s: float | None = None
    lease_until: float | None = None
    #: Whether the negotiator has announced that a queue will request it.
    matched: bool = False
    #: For a preempting claim that waits: why the current job must leave.
    displaces_for: VacateReason | None = None
    #: Whether it is fetched work that has not been started yet.
    job_waiting: bool = False
    #: Whether it has a job, or had one that did not exit by itself.
    carries_job: bool = False
    #: Jobs begun on it.
    jobs_begun: int = 0
    activation: Activation | None = None
    #: Time that its ended jobs ran and were suspended, s.
    run_s: float = 0.0
    suspended_s: float = 0.0

    @property
    def kind(self) -> ClaimKind | None:
        """The kind of party that holds or requests it; None if there is none."""
        return None if self.request is None else self.request.kind

    @property
    def job_ad(self) -> ClassAd | None:
        """The ad of the job that runs, else of the one it was requested for; None without a request."""
        if self.activation is not None:
            return self.activation.job_ad
        return None if self.request is None else self.request.job_ad
