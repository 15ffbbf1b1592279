"""Every hook that a machine runs, as a table: who runs it and when, its input, and the meaning of its output and exit
status.

The manual's page and `roost hook` are generated from it; a test compares it with the knobs and with the two rooms that
order hooks, `startd` and `starter`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.model.starter import HookPoint


class RunBy(StrEnum):
    """The party that runs a hook."""

    SLOT = "slot"
    STARTER = "starter"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRow:
    """One hook. The texts are the manual's."""

    #: Its knob is ``<KEYWORD>_HOOK_<name>``.
    name: str
    by: RunBy
    when: str
    #: Its argument; "" for none.
    argument: str = ""
    #: Possible arguments, for a trial by hand.
    words: tuple[str, ...] = ()
    #: What the job's ad contains besides the job's own attributes.
    told: str = ""
    #: Whether the job's ad precedes the slot's; otherwise there is only one ad.
    has_job: bool = True
    #: Whether its slot ad has the ClaimId.
    has_claim: bool = False
    prints: str = "ignored"
    status: str = "ignored"
    #: What waits until it ends.
    waits: str = "nothing"
    #: What happens when it takes too long, and the default time limit, s (None: no limit).
    late: str = "it is killed"
    limit_s: int | None = None
    as_user: str = "the job's user"
    #: Whether it is Roost's addition: HTCondor has no such hook.
    is_own: bool = False
    note: str = ""

    @property
    def knob(self) -> str:
        """The knob that names its program."""
        return f"<KEYWORD>_HOOK_{self.name}"


_DAEMON: Final = "the daemon's user"
_RUNNING: Final = (
    "JobState, JobPid, NumPids, JobStartDate, RemoteUserCpu, RemoteSysCpu, ImageSize, ResidentSetSize, MemoryUsage "
    "and other measured attributes"
)
_ENDED: Final = (
    "the attributes of UPDATE_JOB_INFO except JobState and JobPid; ExitReason (text); JobDuration (s); if the program "
    "ended by itself, ExitBySignal with ExitCode or ExitSignal; otherwise HoldReason or VacateReason with …Code and "
    "…SubCode. All of them describe this run: the ad has nothing that the queue knows of earlier runs"
)
_PREPARED: Final = (
    "0: the starter goes on. 1 to 299: the job is held (code 19, with the status as subcode). 300 and more, or a "
    "signal: the job goes back to its queue. A printed `HookStatusCode` overrides the exit status"
)
_CHANGES: Final = (
    "attributes to set in the job's ad (Cmd, Arguments, Env and any other); `HookStatusMessage` is logged, or becomes "
    "the hold reason"
)

HOOKS: Final = (
    HookRow(
        name="FETCH_WORK",
        by=RunBy.SLOT,
        when="START would accept a job, and FetchWorkDelay has passed since the last answer",
        has_job=False,
        prints="the ad of one job, or nothing if there is no work. Anything but one ad counts as nothing",
        status="ignored; if a signal killed the hook, its output is ignored, too",
        waits="the slot: it does not fetch again, and a dynamic slot is not given back, until the hook has ended",
        late="it is killed, and its output is ignored",
        as_user=_DAEMON,
        note="Slots run it in the states Owner, Unclaimed and Backfill, and in Claimed, with or without a running job.",
    ),
    HookRow(
        name="REPLY_FETCH",
        by=RunBy.SLOT,
        when="the slot has accepted or rejected a fetched job",
        argument="`accept` or `reject`",
        words=("accept", "reject"),
        has_claim=True,
        limit_s=300,
        as_user=_DAEMON,
        note="ClaimId is present only with `accept`. The job may start, or even end, before the hook does.",
    ),
    HookRow(
        name="EVICT_CLAIM",
        by=RunBy.SLOT,
        when="a fetched job has ended because its claim was taken from it",
        has_claim=True,
        limit_s=300,
        as_user=_DAEMON,
        note="Not run when a job ends by itself or when there is no more work.",
    ),
    HookRow(
        name=HookPoint.PREPARE_EARLY,
        by=RunBy.STARTER,
        when="the scratch directory has been made, before input is transferred",
        prints=_CHANGES,
        status=_PREPARED,
        waits="the job",
        late="it is killed, and the job is held",
    ),
    HookRow(
        name=HookPoint.PREPARE,
        by=RunBy.STARTER,
        when="input has been transferred, before prolog and job",
        argument="`<KEYWORD>_HOOK_PREPARE_JOB_ARGS`",
        prints=_CHANGES,
        status=_PREPARED,
        waits="the job",
        late="it is killed, and the job is held",
    ),
    HookRow(
        name=HookPoint.UPDATE,
        by=RunBy.STARTER,
        when="STARTER_INITIAL_UPDATE_INTERVAL after the job's start, then every STARTER_UPDATE_INTERVAL",
        told=_RUNNING,
        note="A new one is not started while one is running. It is killed when the job's scratch directory is removed.",
    ),
    HookRow(
        name=HookPoint.VACATE,
        by=RunBy.STARTER,
        when="a running or suspended job is told to end, before its soft signal; not before a hard kill",
        argument="`evict`, `hold` or `remove`",
        words=("evict", "hold", "remove"),
        told="the attributes of UPDATE_JOB_INFO; ExitReason; HoldReason or VacateReason with …Code and …SubCode; if "
        "the vacate time is limited, VacateUntil (epoch s) and VacateTimeLeft (s)",
        waits="the soft signal",
        late="it is killed, and the job gets its signal; if no timeout is configured, after half of the vacate time",
        is_own=True,
        note="The hook can tell the job to save its state, and has part of the vacate time for that.",
    ),
    HookRow(
        name=HookPoint.FAILURE,
        by=RunBy.STARTER,
        when="the job could not be started: its ad is unusable, its program or user does not exist, or a prepare hook "
        "or the prolog refused it",
        argument="`hold` if the job cannot start as it is, `evict` if it may be able to start elsewhere or later",
        words=("hold", "evict"),
        told="ExitReason, and HoldReason or VacateReason with …Code and …SubCode",
        waits="JOB_EXIT, if that is also due",
        limit_s=30,
        as_user=_DAEMON,
        is_own=True,
    ),
    HookRow(
        name=HookPoint.EXIT,
        by=RunBy.STARTER,
        when="the job has ended, once, before output is transferred and the scratch directory is removed; also if "
        "only a prepare hook has run",
        argument="`exit`, `evict`, `hold` or `remove`",
        words=("exit", "evict", "hold", "remove"),
        told=_ENDED,
        waits="output, the report to the queue, the slot",
        limit_s=30,
    ),
)

HOOK_NAMED: Final = {row.name: row for row in HOOKS}
