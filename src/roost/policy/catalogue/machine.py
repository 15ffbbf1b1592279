"""Policy of an execute machine: the expressions that its daemon and the starters of jobs evaluate."""

from __future__ import annotations

from roost.policy.catalogue.rows import HOOKS, MANUAL, NO_MATCH, STARTER_RFC, ExpressionRows
from roost.policy.model import AdKind, PolicyExpression, Unit, ValueKind

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
_slot = ExpressionRows("startd", AdKind.MACHINE, AdKind.JOB, set_by="owner", source=MANUAL)
_POLL = "at each poll"
_NOTHING = "nothing happens"
_RETIREMENT = "counts as 0"

STARTD: tuple[PolicyExpression, ...] = (
    _slot("START", attribute="START", when="against each job in matchmaking, when a claim is asked for, when a job is to start; without a job, to determine whether the slot belongs to its owner", undefined="with a job: no match; without one: not FALSE, so the slot stays unclaimed", error="with a job: no match; without one: not FALSE"),
    _slot("IS_OWNER", attribute="IsOwner", target=AdKind.NONE, when=f"{_POLL} in Owner, Unclaimed, Claimed/Idle", undefined="counts as FALSE, with a warning", error="counts as FALSE, with a warning"),
    _slot("WANT_SUSPEND", variants=True, attribute="WANT_SUSPEND", when=f"{_POLL} while a job runs"),
    _slot("SUSPEND", variants=True, attribute="SUSPEND", when=f"{_POLL} in Claimed/Busy and Claimed/Retiring while WANT_SUSPEND is TRUE", undefined=_NOTHING),
    _slot("CONTINUE", variants=True, attribute="CONTINUE", when=f"{_POLL} in Claimed/Suspended, after PREEMPT; not for a job suspended by command", undefined="the job stays suspended"),
    _slot("PREEMPT", variants=True, attribute="PREEMPT", when=f"{_POLL} in Claimed/Busy while WANT_SUSPEND is not TRUE, and in Claimed/Suspended before CONTINUE", undefined=_NOTHING),
    _slot("WANT_VACATE", variants=True, attribute="WANT_VACATE", when="when the slot enters Preempting because PREEMPT is TRUE", undefined="counts as TRUE, with a warning"),
    _slot("KILL", variants=True, attribute="KILL", when=f"{_POLL} in Preempting/Vacating", undefined=_NOTHING),
    _slot("WANT_HOLD", attribute="WANT_HOLD", when="when the slot enters Preempting because PREEMPT is TRUE"),
    _slot("WANT_HOLD_REASON", kind=ValueKind.STRING, attribute="WANT_HOLD_REASON", when="when WANT_HOLD is TRUE", undefined="a text that quotes WANT_HOLD"),
    _slot("WANT_HOLD_SUBCODE", kind=ValueKind.INTEGER, attribute="WANT_HOLD_SUBCODE", when="when WANT_HOLD is TRUE", undefined="counts as 0"),
    _slot("RANK", kind=ValueKind.NUMBER, default="0", attribute="Rank", when="in matchmaking, when a claim is asked for, when a job starts", undefined="counts as 0.0"),
    _slot("MAXJOBRETIREMENTTIME", kind=ValueKind.INTEGER, unit=Unit.SECONDS, attribute="MaxJobRetirementTime", when=f"{_POLL} while the claim is to end", undefined=_RETIREMENT),
    _slot("MachineMaxVacateTime", kind=ValueKind.INTEGER, unit=Unit.SECONDS, attribute="MachineMaxVacateTime", when="once, when the job starts", undefined="counts as 0"),
    _slot("CLAIM_WORKLIFE", kind=ValueKind.INTEGER, unit=Unit.SECONDS, attribute="CLAIM_WORKLIFE", target=AdKind.NONE, when=f"{_POLL} in Claimed/Idle once the claim has run a job", undefined="no limit"),
    _slot("RunBenchmarks", attribute="RunBenchmarks", target=AdKind.NONE, when=f"{_POLL} in Unclaimed/Idle"),
    _slot("START_BACKFILL", attribute="START_BACKFILL", target=AdKind.NONE, when=f"{_POLL} in Unclaimed, where ENABLE_BACKFILL is TRUE"),
    _slot("EVICT_BACKFILL", attribute="EVICT_BACKFILL", target=AdKind.NONE, when=f"{_POLL} in Backfill"),
    _slot("PERIODIC_CHECKPOINT", attribute="PERIODIC_CHECKPOINT", when=f"{_POLL} in Claimed/Busy and Claimed/Retiring"),
    _slot("IS_VALID_CHECKPOINT_PLATFORM", attribute="IsValidCheckpointPlatform", when="with START, whenever that is asked about a job", undefined=NO_MATCH),
    _slot("CpuBusy", attribute="CpuBusy", target=AdKind.NONE, when=f"{_POLL}, before the other expressions"),
    _slot("CPU_BUSY", target=AdKind.NONE, when=f"{_POLL}, before the other expressions"),
    _slot("SLOT_WEIGHT", kind=ValueKind.NUMBER, attribute="SlotWeight", target=AdKind.NONE, when="in matchmaking and accounting", undefined="counts as 1"),
    _slot("FetchWorkDelay", kind=ValueKind.INTEGER, unit=Unit.SECONDS, attribute="FetchWorkDelay", source=HOOKS, when=f"{_POLL} of a slot with that hook", undefined="counts as 300"),
    _slot("DEFAULT_DRAINING_START_EXPR", when="in place of START while draining", undefined=NO_MATCH),
    _slot("HIBERNATE", kind=ValueKind.STRING, target=AdKind.NONE, when="every HIBERNATE_CHECK_INTERVAL", undefined="counts as NONE"),
)

_request = ExpressionRows("startd", AdKind.JOB, AdKind.MACHINE, set_by="owner", source=MANUAL)
_CUT = "when a dynamic slot is cut from a partitionable one"
_KEPT = "the request stays as it is"

REQUESTS: tuple[PolicyExpression, ...] = (
    _request("MODIFY_REQUEST_EXPR_REQUESTCPUS", kind=ValueKind.INTEGER, unit=Unit.CORES, when=_CUT, undefined=_KEPT),
    _request("MODIFY_REQUEST_EXPR_REQUESTMEMORY", kind=ValueKind.INTEGER, unit=Unit.MIB, when=_CUT, undefined=_KEPT),
    _request("MODIFY_REQUEST_EXPR_REQUESTDISK", kind=ValueKind.INTEGER, unit=Unit.KIB, when=_CUT, undefined=_KEPT),
)

_starter = ExpressionRows("starter", AdKind.STARTER, AdKind.JOB, set_by="owner", source=STARTER_RFC)
_LOOK = "at each poll of the starter, after each sample of the job's use, after each change of its state"

STARTER: tuple[PolicyExpression, ...] = (
    _starter("STARTER_EVICT", when=f"{_LOOK}, while it is Running or Suspended"),
    _starter("STARTER_WANT_VACATE", when="at the moment when STARTER_EVICT is TRUE", undefined="counts as TRUE"),
    _starter("STARTER_KILL", when=f"{_LOOK}, while it is Vacating"),
    _starter("JOB_RENICE_INCREMENT", kind=ValueKind.INTEGER, source=MANUAL, when="when the job starts", undefined="counts as 0"),
)

#: How much of each resource of a partitionable slot a job takes, with CONSUMPTION_POLICY.
NAMED: tuple[PolicyExpression, ...] = (
    _slot("CONSUMPTION_<NAME>", kind=ValueKind.NUMBER, when="when a match is made, and when a slot is cut for the job", undefined="the job does not fit"),
)

TABLE: tuple[PolicyExpression, ...] = (*STARTD, *REQUESTS, *STARTER)
