"""What a machine orders: values that a runtime carries out, in the order in which they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from roost.classad import ClassAd
from roost.model import effects as slot_effects
from roost.model.events import Timer
from roost.model.slots import SlotId
from roost.model.starter import ExitReport
from roost.model.starter_effects import StarterEffect
from roost.startd.draining import OnCompletion
from roost.startd.work import Taken as SlotTransition
from roost.starter.work import Taken as StarterTransition


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Tell the slot of a timer at that time, epoch s; None: not any more."""

    slot: SlotId
    timer: Timer
    at: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """The ad of a slot has changed; without a slot, all have."""

    slot: SlotId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdraw:
    """A slot is gone."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimReply:
    """Answer the request for a claim."""

    schedd: str
    reply_to: str
    accepted: bool
    refusal: str = ""
    #: Of the slot that was claimed.
    claim_id: str = ""
    slot: str = ""
    slot_ad: ClassAd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReply:
    """Answer the request to run a job."""

    schedd: str
    claim_id: str
    run: str
    accepted: bool
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOver:
    """Tell the holder that its claim is over."""

    schedd: str
    claim_id: str
    reason: str
    code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ForStarter:
    """An order of a starter about its job, its files or its hooks."""

    run: str
    effect: StarterEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOver:
    """Tell the queue how a run ended, until it has heard."""

    schedd: str
    claim_id: str
    run: str
    slot: str
    report: ExitReport
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMeasured:
    """Tell the queue what a job uses."""

    schedd: str
    claim_id: str
    run: str
    attributes: ClassAd
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """Tell the queue that the job's program runs."""

    schedd: str
    claim_id: str
    run: str
    slot: str
    pid: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStood:
    """Tell the queue that a job has been stopped, or goes on."""

    schedd: str
    claim_id: str
    run: str
    still: bool
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterDone:
    """Nothing is left to be done for a run: forget it."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KillRun:
    """A starter does not get its job killed: kill everything of the run."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWork:
    """An order about the machine's own work: benchmarks, the backfill client, hooks that fetch work."""

    slot: SlotId
    effect: slot_effects.Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something for the log and for `story`: a transition of a slot or a starter, or a warning."""

    slot: str
    what: SlotTransition | StarterTransition | str
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """What the daemon is to do with itself after a drain."""

    what: OnCompletion


Order: TypeAlias = (
    Wake
    | Publish
    | Withdraw
    | ClaimReply
    | RunReply
    | ClaimOver
    | ForStarter
    | RunOver
    | RunMeasured
    | RunStarted
    | RunStood
    | StarterDone
    | KillRun
    | OwnWork
    | Note
    | Daemon
)
