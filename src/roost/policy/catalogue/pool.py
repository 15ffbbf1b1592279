"""Policy of the pool: how the negotiator chooses, what it enforces, and which machines are drained."""

from __future__ import annotations

from roost.base.records import replace
from roost.policy.catalogue.rows import ENFORCEMENT, KNOBS, MATCHING, NO_MATCH, ExpressionRows
from roost.policy.model import AdKind, PolicyExpression, ValueKind

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
_match = ExpressionRows("negotiator", AdKind.MACHINE, AdKind.JOB, set_by="administrator", source=MATCHING)
_CHOICE = "in matchmaking, for each slot that matches"
_LAST = "counts as minus infinity"

NEGOTIATOR: tuple[PolicyExpression, ...] = (
    _match("PREEMPTION_REQUIREMENTS", when="in matchmaking, for each claimed slot of another user", undefined="no preemption"),
    _match("PREEMPTION_RANK", kind=ValueKind.NUMBER, when="in matchmaking, between slots whose jobs would be preempted", undefined=_LAST),
    _match("NEGOTIATOR_PRE_JOB_RANK", kind=ValueKind.NUMBER, when=_CHOICE, undefined=_LAST),
    _match("NEGOTIATOR_POST_JOB_RANK", kind=ValueKind.NUMBER, when=_CHOICE, undefined=_LAST),
    _match("NEGOTIATOR_SLOT_CONSTRAINT", target=AdKind.NONE, when="at the start of a cycle", undefined="the slot takes no part"),
    _match("NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", target=AdKind.NONE, when="at the start of a cycle", undefined="the slot does not count"),
)

_submitter = ExpressionRows("negotiator", AdKind.SUBMITTER, AdKind.NONE, set_by="administrator", source=MATCHING)
_job = ExpressionRows("negotiator", AdKind.JOB, AdKind.NONE, set_by="administrator", source=MATCHING)
_group = ExpressionRows("negotiator", AdKind.NEGOTIATOR, AdKind.NONE, set_by="administrator", source=MATCHING)

OTHERS: tuple[PolicyExpression, ...] = (
    _submitter("NEGOTIATOR_SUBMITTER_CONSTRAINT", when="at the start of a cycle", undefined="the submitter takes no part"),
    _job("NEGOTIATOR_JOB_CONSTRAINT", when="when a queue offers the job", undefined="the job takes no part"),
    _group("GROUP_SORT_EXPR", kind=ValueKind.NUMBER, when="at the start of a cycle", undefined="the group comes last"),
)

_slot_only = ExpressionRows("negotiator", AdKind.MACHINE, AdKind.NONE, set_by="administrator", source=ENFORCEMENT)
_schedd_only = ExpressionRows("negotiator", AdKind.SCHEDD, AdKind.NONE, set_by="administrator", source=ENFORCEMENT)
_job_only = ExpressionRows("negotiator", AdKind.JOB, AdKind.NONE, set_by="administrator", source=ENFORCEMENT)
_slot_match = ExpressionRows("negotiator", AdKind.MACHINE, AdKind.JOB, set_by="administrator", source=ENFORCEMENT)
_job_match = ExpressionRows("negotiator", AdKind.JOB, AdKind.MACHINE, set_by="administrator", source=ENFORCEMENT)
_KEPT = "does not apply: the ad takes part"
_KEPT_LOGGED = "does not apply: the ad takes part, and the mistake is recorded"

ENFORCED: tuple[PolicyExpression, ...] = (
    _schedd_only("NEGOTIATOR_PE_SCHEDD_ONLY_EXPR", when="at the start of a cycle", undefined=_KEPT, error=_KEPT_LOGGED),
    _slot_only("NEGOTIATOR_PE_STARTD_ONLY_EXPR", when="at the start of a cycle", undefined=_KEPT, error=_KEPT_LOGGED),
    _job_only("NEGOTIATOR_PE_JOB_ONLY_EXPR", when="when a queue offers the job", undefined=_KEPT, error=_KEPT_LOGGED),
    _slot_match("NEGOTIATOR_PE_RESOURCE_EXPR", when="as part of the slot's Requirements", undefined=NO_MATCH),
    _job_match("NEGOTIATOR_PE_JOB_EXPR", when="as part of the job's Requirements", undefined=NO_MATCH),
    _slot_match("NEGOTIATOR_PE_AUDIT_EXPR", when="for each match made", undefined="not recorded"),
)

#: The same expressions on trial, which are not enforced.
TRIED: tuple[PolicyExpression, ...] = tuple(
    replace(row, name=name, meaning=KNOBS[name].meaning, when="after each cycle")
    for row in ENFORCED
    if (name := row.name.replace("NEGOTIATOR_PE_", "NEGOTIATOR_PE_DRYRUN_")) in KNOBS
)

_drain = ExpressionRows("defrag", AdKind.MACHINE, AdKind.NONE, set_by="administrator", source=MATCHING)
_EACH = "every DEFRAG_INTERVAL"

DEFRAG: tuple[PolicyExpression, ...] = (
    _drain("DEFRAG_WHOLE_MACHINE_EXPR", when=_EACH, undefined="not whole"),
    _drain("DEFRAG_REQUIREMENTS", when=_EACH, undefined="the machine is not drained"),
    _drain("DEFRAG_CANCEL_REQUIREMENTS", when=_EACH, undefined="the drain continues"),
    _drain("DEFRAG_RANK", kind=ValueKind.NUMBER, when=_EACH, undefined="counts as 0.0"),
    _drain("DEFRAG_DRAINING_START_EXPR", target=AdKind.JOB, when="in place of START while draining", undefined=NO_MATCH),
)

TABLE: tuple[PolicyExpression, ...] = (*NEGOTIATOR, *OTHERS, *ENFORCED, *TRIED, *DEFRAG)
