"""Claims: a slot held by a queue, or by work that a hook fetched, for one job after another.

`ClaimRequest` is what was asked for, `Claim` what the slot keeps, `Activation` the one job that runs now. A slot always
has one claim: while the slot is unclaimed, that is only the id under which it may be requested.

The ads in here are shared, never changed: an update makes a new one.
"""

from __future__ import annotations

from enum import StrEnum

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.identifiers import ClaimId
from roost.model.reasons import VacateReason


class ClaimKind(StrEnum):
    """The kind of party that holds a claim."""

    SCHEDD = "schedd"
    #: A hook of the execute machine brought the work; no queue knows of it.
    FETCHED = "fetched"


class Standing(StrEnum):
    """What a machine says of a run that could be suspended or continued."""

    RUNNING = "running"
    #: The machine's policy or a cell suspends it.
    SUSPENDED = "suspended"
    #: A command does, whatever else suspends it too.
    SUSPENDED_BY_COMMAND = "suspended by command"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """A request for a slot: by whom and for which job."""

    job_ad: ClassAd
    kind: ClaimKind = ClaimKind.SCHEDD
    #: Where the queue is reached; "" for fetched work.
    schedd: str = ""
    #: The queue's machine, published as ClientMachine; "" if unknown.
    client_machine: str = ""
    #: How often the queue says that it is alive, s.
    alive_interval_s: float = 300.0
    #: What the reply is sent to; "" for fetched work.
    reply_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """A job on a claim, from the spawning of its starter until that is gone."""

    job_ad: ClassAd
    #: JobStart, epoch s.
    started_at: float
    #: MachineMaxVacateTime as it was when the job started, s.
    vacate_pledge_s: int
    #: JobUniverse; 5 where the ad does not say.
    universe: int = 5
    #: Since when it runs; None while it is suspended.
    running_since: float | None
    #: Since when it is suspended; None while it runs.
    suspended_since: float | None = None
    #: Time run and suspended before the present stretch, s.
    run_s: float = 0.0
    suspended_s: float = 0.0
    #: Suspended by command: only a command lets it go on.
    held_still: bool = False
    #: When the starter was asked to end it softly or hard; None while it was not.
    soft_killed_at: float | None = None
    hard_killed_at: float | None = None
    #: Its starter has sent the final update and is only waited for.
    ended: bool = False
    #: State that the starter reported for a job that it evicts itself: Vacating, Killing; "" otherwise.
    starter_state: str = ""
    #: When it last was asked to save its state, epoch s; None before.
    checkpointed_at: float | None = None
    #: It began during a drain that allowed it.
    accepted_while_draining: bool = False

    def run_time_s(self, now: float) -> float:
        """TotalJobRunTime: time in which it was not suspended."""
        return self.run_s + (0.0 if self.running_since is None else max(0.0, now - self.running_since))

    def suspended_time_s(self, now: float) -> float:
        """TotalJobSuspendTime."""
        return self.suspended_s + (0.0 if self.suspended_since is None else max(0.0, now - self.suspended_since))


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim on a slot."""

    id: ClaimId
    #: None while it has not been requested.
    request: ClaimRequest | None = None
    #: The machine's RANK of its job.
    rank: float = 0.0
    #: When it was granted, epoch s; None before.
    granted_at: float | None = None
    #: How long it lasts without a sign of life, s, and when it then ends, epoch s; None for fetched work.
    lease_s: float | None = None
    lease_until: float | None = None
    #: The negotiator has said that a queue will request it.
    matched: bool = False
    #: For one that waits to take over: what its taking over is to the job that has to go.
    displaces_for: VacateReason | None = None
    #: It is fetched work that has not been started yet.
    job_waiting: bool = False
    #: It has a job, or had one that did not come to its own end.
    carries_job: bool = False
    #: Jobs begun on it.
    jobs_begun: int = 0
    activation: Activation | None = None
    #: Time that ended jobs ran and were suspended, s.
    run_s: float = 0.0
    suspended_s: float = 0.0

    @property
    def kind(self) -> ClaimKind | None:
        """The kind of party that holds or requests it; None while there is none."""
        return None if self.request is None else self.request.kind

    @property
    def job_ad(self) -> ClassAd | None:
        """The ad of the job that runs, else of the one it was requested for; None without a request."""
        if self.activation is not None:
            return self.activation.job_ad
        return None if self.request is None else self.request.job_ad
