"""Policy of an execute machine: what its daemon and the starter of a job decide by."""
# One row a paragraph reads best.
# ruff: noqa: E501

from __future__ import annotations

from roost.policy.catalogue.rows import HOOKS, MANUAL, NO_MATCH, STARTER_RFC, Rows
from roost.policy.model import Kind, PolicyExpression, Side, Unit

_slot = Rows("startd", Side.MACHINE, Side.JOB, set_by="owner", source=MANUAL)
_POLL = "at each poll"
_NOTHING = "nothing happens"
_RETIREMENT = "counts as 0"

STARTD: tuple[PolicyExpression, ...] = (
    _slot(
        "START",
        "Whether the slot is willing to run a job. It is the heart of the slot's Requirements.",
        default="True",
        attribute="START",
        when="against each job in matchmaking, when a claim is asked for, when a job is to start; without a job to find out whether the slot belongs to its owner",
        undefined="with a job: no match; without one: not FALSE, so the slot stays unclaimed",
        error="with a job: no match; without one: not FALSE",
    ),
    _slot(
        "IS_OWNER",
        "Whether the slot belongs to the machine's owner for now (state Owner). It must be TRUE or FALSE without a job; "
        "a claimed slot asks it with the job of its claim. Older manuals of HTCondor describe the default "
        "`START =?= False`: set that for a slot that is to show as Owner while START keeps jobs away.",
        default="False",
        attribute="IsOwner",
        target=Side.NONE,
        when=f"{_POLL} in Owner, Unclaimed, Claimed/Idle",
        undefined="counts as FALSE, with a warning",
        error="counts as FALSE, with a warning",
    ),
    _slot(
        "WANT_SUSPEND",
        "Whether suspending is considered at all: while it is TRUE a busy slot looks at SUSPEND, otherwise at PREEMPT.",
        default="False",
        variants=True,
        attribute="WANT_SUSPEND",
        when=f"{_POLL} while a job runs",
    ),
    _slot(
        "SUSPEND",
        "Whether to suspend the running job.",
        default="False",
        variants=True,
        attribute="SUSPEND",
        when=f"{_POLL} in Claimed/Busy and Claimed/Retiring while WANT_SUSPEND is TRUE",
        undefined=_NOTHING,
    ),
    _slot(
        "CONTINUE",
        "Whether to let a suspended job go on.",
        default="True",
        variants=True,
        attribute="CONTINUE",
        when=f"{_POLL} in Claimed/Suspended, after PREEMPT; not for a job suspended by command",
        undefined="the job stays suspended",
    ),
    _slot(
        "PREEMPT",
        "Whether to begin getting rid of the job: first its retirement, then its eviction. There is no way back.",
        default="False",
        variants=True,
        attribute="PREEMPT",
        when=f"{_POLL} in Claimed/Busy while WANT_SUSPEND is not TRUE, and in Claimed/Suspended before CONTINUE",
        undefined=_NOTHING,
    ),
    _slot(
        "WANT_VACATE",
        "Whether a job that PREEMPT gets rid of has a soft kill and time to leave, rather than being killed at once.",
        default="True",
        variants=True,
        attribute="WANT_VACATE",
        when="when the slot enters Preempting because PREEMPT is TRUE",
        undefined="counts as TRUE, with a warning",
    ),
    _slot(
        "KILL",
        "Whether to stop waiting for a vacating job and kill it.",
        default="False",
        variants=True,
        attribute="KILL",
        when=f"{_POLL} in Preempting/Vacating",
        undefined=_NOTHING,
    ),
    _slot(
        "WANT_HOLD",
        "Whether a job that PREEMPT gets rid of goes on hold instead of back to the queue.",
        default="False",
        attribute="WANT_HOLD",
        when="when the slot enters Preempting because PREEMPT is TRUE",
    ),
    _slot(
        "WANT_HOLD_REASON",
        "Text of the hold reason.",
        kind=Kind.STRING,
        attribute="WANT_HOLD_REASON",
        when="when WANT_HOLD is TRUE",
        undefined="a text that quotes WANT_HOLD",
    ),
    _slot(
        "WANT_HOLD_SUBCODE",
        "Number that tells hold reasons apart.",
        kind=Kind.INTEGER,
        default="0",
        attribute="WANT_HOLD_SUBCODE",
        when="when WANT_HOLD is TRUE",
        undefined="counts as 0",
    ),
    _slot(
        "RANK",
        "How much the slot likes a job; larger is better. A job with a larger rank may preempt the one that runs, whatever PREEMPT says.",
        kind=Kind.NUMBER,
        attribute="Rank",
        when="in matchmaking, when a claim is asked for, when a job starts",
        undefined="counts as 0.0",
    ),
    _slot(
        "MAXJOBRETIREMENTTIME",
        "Time since its start that a job is granted before it may be evicted; -1 means none, even in a peaceful shutdown. The job may ask for less.",
        kind=Kind.INTEGER,
        unit=Unit.SECONDS,
        default="0",
        attribute="MaxJobRetirementTime",
        when=f"{_POLL} while the claim is to end",
        undefined=_RETIREMENT,
    ),
    _slot(
        "MachineMaxVacateTime",
        "Longest time between soft and hard kill.",
        kind=Kind.INTEGER,
        unit=Unit.SECONDS,
        default="600",
        attribute="MachineMaxVacateTime",
        when="once, when the job starts",
        undefined="counts as 0",
    ),
    _slot(
        "CLAIM_WORKLIFE",
        "Age at which a claim takes no further job; 0 for one job a claim, -1 for no limit.",
        kind=Kind.INTEGER,
        unit=Unit.SECONDS,
        default="1200",
        attribute="CLAIM_WORKLIFE",
        target=Side.NONE,
        when=f"{_POLL} in Claimed/Idle once the claim has run a job",
        undefined="no limit",
    ),
    _slot(
        "RunBenchmarks",
        "Whether to run benchmarks now.",
        default="LastBenchmark == 0",
        attribute="RunBenchmarks",
        target=Side.NONE,
        when=f"{_POLL} in Unclaimed/Idle",
    ),
    _slot(
        "START_BACKFILL",
        "Whether to turn to backfill work.",
        attribute="START_BACKFILL",
        target=Side.NONE,
        when=f"{_POLL} in Unclaimed, where ENABLE_BACKFILL is TRUE",
    ),
    _slot(
        "EVICT_BACKFILL",
        "Whether to stop backfill work.",
        attribute="EVICT_BACKFILL",
        target=Side.NONE,
        when=f"{_POLL} in Backfill",
    ),
    _slot(
        "PERIODIC_CHECKPOINT",
        "Whether to ask the job to save its state now.",
        attribute="PERIODIC_CHECKPOINT",
        when=f"{_POLL} in Claimed/Busy and Claimed/Retiring",
    ),
    _slot(
        "IS_VALID_CHECKPOINT_PLATFORM",
        "Whether a job's checkpoint can go on here; part of Requirements where standard-universe jobs exist, which is nowhere nowadays.",
        attribute="IsValidCheckpointPlatform",
        when="never",
        undefined=NO_MATCH,
    ),
    _slot(
        "CpuBusy",
        "Whether the processor is busy with the owner's work. CpuBusyTime counts the seconds for which it has been TRUE.",
        attribute="CpuBusy",
        target=Side.NONE,
        when=f"{_POLL}, before the other expressions",
    ),
    _slot(
        "CPU_BUSY",
        "The same as CpuBusy, read where that is not set.",
        target=Side.NONE,
        when=f"{_POLL}, before the other expressions",
    ),
    _slot(
        "SLOT_WEIGHT",
        "What the slot costs its user in fair share.",
        kind=Kind.NUMBER,
        default="Cpus",
        attribute="SlotWeight",
        target=Side.NONE,
        when="in matchmaking and accounting",
        undefined="counts as 1",
    ),
    _slot(
        "FetchWorkDelay",
        "Time between two tries to fetch work with a hook.",
        kind=Kind.INTEGER,
        unit=Unit.SECONDS,
        attribute="FetchWorkDelay",
        source=HOOKS,
        when=f"{_POLL} of a slot with that hook",
        undefined="counts as 300",
    ),
    _slot(
        "DEFAULT_DRAINING_START_EXPR",
        "START of the machine while it is drained, for drains that bring no other.",
        default="FALSE",
        when="in place of START while draining",
        undefined=NO_MATCH,
    ),
    _slot(
        "HIBERNATE",
        "Sleep state that the machine should be in: NONE, S1 to S5, RAM, DISK, SHUTDOWN.",
        kind=Kind.STRING,
        default='"NONE"',
        target=Side.NONE,
        when="every HIBERNATE_CHECK_INTERVAL",
        undefined="counts as NONE",
    ),
)

_request = Rows("startd", Side.JOB, Side.MACHINE, set_by="owner", source=MANUAL)
_CUT = "when a dynamic slot is cut from a partitionable one"
_KEPT = "the request stays as it is"

REQUESTS: tuple[PolicyExpression, ...] = (
    _request(
        "MODIFY_REQUEST_EXPR_REQUESTCPUS",
        "Cores that the dynamic slot gets.",
        kind=Kind.INTEGER,
        unit=Unit.CORES,
        default="quantize(RequestCpus,{1})",
        when=_CUT,
        undefined=_KEPT,
    ),
    _request(
        "MODIFY_REQUEST_EXPR_REQUESTMEMORY",
        "Memory that the dynamic slot gets.",
        kind=Kind.INTEGER,
        unit=Unit.MIB,
        default="quantize(RequestMemory,{128})",
        when=_CUT,
        undefined=_KEPT,
    ),
    _request(
        "MODIFY_REQUEST_EXPR_REQUESTDISK",
        "Scratch space that the dynamic slot gets.",
        kind=Kind.INTEGER,
        unit=Unit.KIB,
        default="quantize(RequestDisk,{1024})",
        when=_CUT,
        undefined=_KEPT,
    ),
)

_starter = Rows("starter", Side.STARTER, Side.JOB, set_by="owner", source=STARTER_RFC)
_LOOK = "at each poll of the starter, after each sample of the job's use, after each change of its state"

STARTER: tuple[PolicyExpression, ...] = (
    _starter(
        "STARTER_EVICT",
        "Whether the starter gets rid of its job, judged by what it knows of it, such as ImageSize (KiB) against Memory (MiB).",
        default="False",
        when=f"{_LOOK}, while it is Running or Suspended",
    ),
    _starter(
        "STARTER_WANT_VACATE",
        "Whether the starter's eviction begins with a soft kill; otherwise all processes are killed at once.",
        default="True",
        when="at the moment when STARTER_EVICT is TRUE",
        undefined="counts as TRUE",
    ),
    _starter(
        "STARTER_KILL",
        "Whether the starter's soft kill turns into a hard one.",
        default="False",
        when=f"{_LOOK}, while it is Vacating",
    ),
    _starter(
        "JOB_RENICE_INCREMENT",
        "Nice value that the job runs with, 0 to 19.",
        kind=Kind.INTEGER,
        default="0",
        source=MANUAL,
        when="when the job starts",
        undefined="counts as 0",
    ),
)

#: How much a job takes of each resource of a partitionable slot, where CONSUMPTION_POLICY says so.
NAMED: tuple[PolicyExpression, ...] = (
    _slot(
        "CONSUMPTION_<NAME>",
        "How much of the resource <NAME> a job takes from a partitionable slot, where CONSUMPTION_POLICY is set.",
        kind=Kind.NUMBER,
        when="when a match is made, and when a slot is cut for the job",
        undefined="the job does not fit",
    ),
)

TABLE: tuple[PolicyExpression, ...] = (*STARTD, *REQUESTS, *STARTER)
