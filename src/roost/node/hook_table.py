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
    "and what else is measured"
)
_ENDED: Final = (
    "what UPDATE_JOB_INFO is told but JobState and JobPid, ExitReason (text), JobDuration (s), and if the program ran "
    "to an end ExitBySignal with ExitCode or ExitSignal; if it did not come to its own end, HoldReason or VacateReason "
    "with …Code and …SubCode. All of it is of this run: what the queue knows of earlier ones is not in the ad"
)
_PREPARED: Final = (
    "0: go on. 1 to 299: the job is held (code 19, the status as subcode). 300 and more, or a signal: the job goes "
    "back to its queue. `HookStatusCode` in what it prints goes before the exit status"
)
_CHANGES: Final = (
    "attributes that go into the job's ad (Cmd, Arguments, Env and any other); `HookStatusMessage` is logged, or is "
    "the hold's reason"
)

HOOKS: Final = (
    HookRow(
        name="FETCH_WORK",
        by=RunBy.SLOT,
        when="the slot would take a job by START, and FetchWorkDelay is over since the last answer",
        has_job=False,
        prints="the ad of one job, or nothing: there is no work. What is not an ad, or two, counts as nothing",
        status="ignored; what it printed counts for nothing if a signal killed it",
        waits="the slot; it does not fetch again before. A dynamic slot is not given back before",
        late="it is killed, and there is no work",
        as_user=_DAEMON,
        note="Asked of slots that are Owner, Unclaimed, Backfill, and Claimed with a job that runs or without one.",
    ),
    HookRow(
        name="REPLY_FETCH",
        by=RunBy.SLOT,
        when="the slot has decided about a job that was fetched",
        argument="`accept` or `reject`",
        words=("accept", "reject"),
        has_claim=True,
        limit_s=300,
        as_user=_DAEMON,
        note="ClaimId is there with `accept` only. The job may have begun, or ended, before the hook has.",
    ),
    HookRow(
        name="EVICT_CLAIM",
        by=RunBy.SLOT,
        when="a fetched job is gone because its claim was taken from it",
        has_claim=True,
        limit_s=300,
        as_user=_DAEMON,
        note="Not run when a job ends by itself or when there is no more work.",
    ),
    HookRow(
        name=HookPoint.PREPARE_EARLY,
        by=RunBy.STARTER,
        when="the scratch directory is there, before input is moved",
        prints=_CHANGES,
        status=_PREPARED,
        waits="the job",
        late="it is killed, and the job is held",
    ),
    HookRow(
        name=HookPoint.PREPARE,
        by=RunBy.STARTER,
        when="input has been moved, before prolog and job",
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
        note="While one runs no other is begun. It is killed when the job's scratch directory is removed.",
    ),
    HookRow(
        name=HookPoint.VACATE,
        by=RunBy.STARTER,
        when="a job that runs or is suspended has to go, before its soft signal; not with a hard kill",
        argument="`evict`, `hold` or `remove`",
        words=("evict", "hold", "remove"),
        told="what UPDATE_JOB_INFO is told, ExitReason, HoldReason or VacateReason with …Code and …SubCode; and where "
        "the vacate time has a limit VacateUntil (epoch s) and VacateTimeLeft (s)",
        waits="the soft signal",
        late="it is killed, and the job gets its signal; after half of the vacate time where no time is configured",
        is_own=True,
        note="Here a job can be told to save its state, with a part of the vacate time to do so.",
    ),
    HookRow(
        name=HookPoint.FAILURE,
        by=RunBy.STARTER,
        when="the job could not be started: its ad is unusable, its program or user does not exist, or a prepare hook "
        "or the prolog refused it",
        argument="`hold` if it cannot be started as it is, `evict` if it might be elsewhere or later",
        words=("hold", "evict"),
        told="ExitReason, and HoldReason or VacateReason with …Code and …SubCode",
        waits="JOB_EXIT, where that is due as well",
        limit_s=30,
        as_user=_DAEMON,
        is_own=True,
    ),
    HookRow(
        name=HookPoint.EXIT,
        by=RunBy.STARTER,
        when="the job is gone, once; before output is moved and the scratch directory is removed. Also where only a "
        "prepare hook has run",
        argument="`exit`, `evict`, `hold` or `remove`",
        words=("exit", "evict", "hold", "remove"),
        told=_ENDED,
        waits="output, the report to the queue, the slot",
        limit_s=30,
    ),
)

HOOK_NAMED: Final = {row.name: row for row in HOOKS}
