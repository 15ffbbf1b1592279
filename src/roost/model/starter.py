"""Data that a starter, which runs one job on one slot, shares with others: its reasons, readings and reports.

Its events are in `starter_events`, its effects in `starter_effects`. Hold and vacate codes are HTCondor's.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final

from roost.base.fast_records import field, record
from roost.classad import ClassAd


class StarterReason(StrEnum):
    """Why a starter went from one state to another."""

    WORK_DONE = "work of the stage done"
    PREPARATION_FAILED = "preparation failed"
    DEFERRAL_MISSED = "time to start missed"
    JOB_STARTED = "job started"
    START_FAILED = "job could not be started"
    SUSPENSION_ORDERED = "suspension ordered"
    CONTINUATION_ORDERED = "continuation ordered"
    CHECKPOINT_BEGUN = "job ended to save its state"
    CHECKPOINT_SAVED = "state of the job saved"
    CHECKPOINT_FAILED = "state of the job could not be saved"
    SOFT_KILL_ORDERED = "soft kill ordered"
    HARD_KILL_ORDERED = "hard kill ordered"
    EVICTION = "STARTER_EVICT true"
    KILL = "STARTER_KILL true"
    SIGNAL_FAILED = "soft kill could not be delivered"
    VACATE_TIME_OVER = "vacate time over"
    JOB_ENDED = "job ended"
    TIME_OVER = "time of the stage over"
    HOOK_DONE = "the hook before the soft kill is done"
    HOOK_LATE = "time of the hook before the soft kill over"
    SANDBOX_REMOVED = "sandbox removed"


class Ending(StrEnum):
    """How a run ends; the words are the argument of the hook JOB_EXIT."""

    EXIT = "exit"
    EVICT = "evict"
    HOLD = "hold"
    REMOVE = "remove"


class OrderedBy(StrEnum):
    """The party that wants a job to end."""

    STARTD = "startd"
    QUEUE = "queue"
    STARTER = "starter"


class StarterHold(IntEnum):
    """Hold codes that a starter requests by itself."""

    #: The job's program itself reports an error; as with OnExitHold.
    APPLICATION_ERROR = 3
    FAILED_TO_CREATE_PROCESS = 6
    UNABLE_TO_OPEN_OUTPUT = 7
    UNABLE_TO_OPEN_INPUT = 8
    TRANSFER_OUTPUT_ERROR = 12
    TRANSFER_INPUT_ERROR = 13
    IWD_ERROR = 14
    HOOK_PREPARE_JOB_FAILURE = 19
    MISSED_DEFERRED_EXECUTION_TIME = 20
    NO_USER_ACCOUNT = 23
    INPUT_TOO_LARGE = 32
    OUTPUT_TOO_LARGE = 33
    OUT_OF_RESOURCES = 34
    INVALID_DOCKER_IMAGE = 35
    FAILED_TO_CHECKPOINT = 36
    #: HTCondor's codes for failed scripts before and after a job.
    PROLOG_FAILED = 43
    EPILOG_FAILED = 44


class StarterVacate(IntEnum):
    """Vacate codes that a starter decides by itself."""

    JOB_NOT_STARTED = 1003
    JOB_SHOULD_REQUEUE = 1005
    STARTER_ERROR = 1007
    #: The code of the startd's own policy, because it is also the machine's policy; `EVICT_SUBCODE` distinguishes them.
    EVICT_EXPRESSION = 1011
    SCRATCH_DIRECTORY = 1024


#: VacateReasonSubCode of an eviction by STARTER_EVICT.
EVICT_SUBCODE: Final = 1


@record
class Cause:
    """Why a job is ended before its program exits."""

    ending: Ending
    #: HoldReasonCode or VacateReasonCode, its subcode, and the text that goes with them.
    code: int
    subcode: int = 0
    text: str
    by: OrderedBy
    #: The id of the request that ordered it; "" if none did.
    request: str = field(default="", metadata={"added": True})


@record
class Usage:
    """One measurement of the usage of a job and all its descendants."""

    #: Virtual size, KiB.
    image_size_kib: int
    #: KiB.
    resident_kib: int
    user_cpu_s: float
    system_cpu_s: float
    process_count: int
    #: Bytes read and written through system calls.
    io_bytes: int = field(default=0, metadata={"added": True})
    #: Size of the sandbox, KiB; None if not measured.
    disk_usage_kib: int | None = None


class HookPoint(StrEnum):
    """Where a starter runs a hook; the names are those of the knobs."""

    PREPARE_EARLY = "PREPARE_JOB_BEFORE_TRANSFER"
    PREPARE = "PREPARE_JOB"
    UPDATE = "UPDATE_JOB_INFO"
    #: Before the soft signal of a job that must leave. HTCondor has no such hook.
    VACATE = "VACATE_JOB"
    #: The job could not be started. In HTCondor this hook is only an idea in the manual.
    FAILURE = "STARTER_FAILURE"
    EXIT = "JOB_EXIT"


class ScriptPoint(StrEnum):
    """Where a starter runs a program of the queue instance, or of the slot."""

    PROLOG = "prolog"
    #: Of the parallel environment: after the prolog and before the epilog.
    PE_START = "pe_start"
    PE_STOP = "pe_stop"
    #: Of the job's checkpointing interface: its checkpoint is no longer needed.
    CLEAN = "clean_command"
    EPILOG = "epilog"


class Method(StrEnum):
    """Methods that act on a job's processes; the values are attributes of queues and checkpointing interfaces."""

    SUSPEND = "suspend_method"
    RESUME = "resume_method"
    TERMINATE = "terminate_method"
    #: Of the job's checkpointing interface.
    CHECKPOINT = "ckpt_command"
    MIGRATE = "migr_command"


class Doing(StrEnum):
    """Work that a starter has ordered and waits for."""

    SANDBOX = "making the sandbox"
    HOOK = "a hook"
    SCRIPT = "prolog or epilog"
    INPUT = "moving input"
    CHECKPOINT = "moving the saved state"
    OUTPUT = "moving output"
    CLEANUP = "removing the sandbox"
    DEFERRAL = "waiting for the time at which the job is to start"


class StarterTimer(StrEnum):
    """The timers of a starter, each a deadline of its state."""

    POLL = "poll"
    UPDATE = "update"
    VACATE = "vacate"
    KILLING = "killing"
    HOOK = "hook"
    FINISH = "finish"
    DEFERRAL = "deferral"
    SOFT_LIMIT = "soft limit"
    HARD_LIMIT = "hard limit"
    METHOD = "method"
    CHECKPOINT = "checkpoint"


class Output(StrEnum):
    """The outcome of a job's output transfer."""

    NONE = "none"
    #: Transferred to its destination.
    DELIVERED = "delivered"
    #: Kept by the queue for the next run.
    KEPT = "kept"
    FAILED = "failed"
    #: Not transferred: no time was left.
    ABANDONED = "abandoned"


@record
class ScriptFailure:
    """A prolog or epilog that did not exit with status 0; the startd decides what that means for the slot."""

    point: ScriptPoint
    #: Below 0: the number of the signal that killed it. None if it could not be run.
    status: int | None


@record
class ExitReport:
    """How a run ended. A starter makes exactly one."""

    ending: Ending
    #: None if the program exited by itself.
    cause: Cause | None
    #: Whether the job's program was started in this run.
    started: bool
    #: How the program ended; both None if it was not started or its end was not observed.
    exit_code: int | None = None
    exit_signal: int | None = None
    core_dumped: bool = False
    output: Output = Output.NONE
    #: Checkpoints of the job in this run.
    checkpoints: int = 0
    script_failures: tuple[ScriptFailure, ...] = ()
    #: Updates for the job's ad: the last measurements, and ExitReason, ExitBySignal, ExitCode or ExitSignal,
    #: JobDuration.
    attributes: ClassAd
