"""Policy on jobs in the queue: expressions in users' submit descriptions, and those of the queue's administrator."""

from __future__ import annotations

from roost.policy.catalogue.rows import NO_MATCH, USER_POLICY, ExpressionRows
from roost.policy.model import AdKind, PolicyExpression, Unit, ValueKind

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
_user = ExpressionRows("schedd", AdKind.JOB, AdKind.NONE, set_by="user", source=USER_POLICY)
_NOTHING = "nothing happens"
_PERIODIC = "every PERIODIC_EXPR_INTERVAL, and when the job ends"
_HELD = "every PERIODIC_EXPR_INTERVAL while the job is held, but not by its user"
_OWN_TEXT = "a text that quotes the expression"

USER: tuple[PolicyExpression, ...] = (
    _user("PeriodicHold", "Whether the job goes on hold now.", when=f"{_PERIODIC}; not for held and completed jobs", undefined=_NOTHING),
    _user("PeriodicHoldReason", "Text of that hold reason.", kind=ValueKind.STRING, when="when PeriodicHold is TRUE", undefined=_OWN_TEXT),
    _user("PeriodicHoldSubCode", "Number of that hold reason.", kind=ValueKind.INTEGER, submit_command="periodic_hold_subcode", when="when PeriodicHold is TRUE", undefined="counts as 0"),
    _user("PeriodicRelease", "Whether the held job is released now.", when=_HELD, undefined=_NOTHING),
    _user("PeriodicRemove", "Whether the job is removed now.", when=_PERIODIC, undefined=_NOTHING),
    _user("PeriodicVacate", "Whether the running job is vacated now.", when="every PERIODIC_EXPR_INTERVAL while the job runs", undefined=_NOTHING),
    _user("OnExitHold", "Whether the job that has ended goes on hold.", when="when the job has ended by itself", undefined=_NOTHING),
    _user("OnExitHoldReason", "Text of that hold reason.", kind=ValueKind.STRING, when="when OnExitHold is TRUE", undefined=_OWN_TEXT),
    _user("OnExitHoldSubCode", "Number of that hold reason.", kind=ValueKind.INTEGER, submit_command="on_exit_hold_subcode", when="when OnExitHold is TRUE", undefined="counts as 0"),
    _user("OnExitRemove", "Whether the job that has ended leaves the queue; FALSE runs it again.", when="when the job has ended by itself, after OnExitHold", undefined="counts as TRUE: the job leaves the queue"),
    _user("LeaveJobInQueue", "Whether a job that has ended or was removed stays in the queue.", submit_command="leave_in_queue", default="False", when="when the job would leave the queue, and regularly after that"),
    _user("TimerRemove", "When the job is removed.", kind=ValueKind.INTEGER, unit=Unit.INSTANT, when=_PERIODIC, undefined="never"),
    _user("AllowedJobDuration", "Longest time from start to end; then the job is held.", kind=ValueKind.INTEGER, unit=Unit.SECONDS, when=_PERIODIC, undefined="no limit"),
    _user("AllowedExecuteDuration", "Longest time of execution; then the job is held.", kind=ValueKind.INTEGER, unit=Unit.SECONDS, when=_PERIODIC, undefined="no limit"),
)

_match = ExpressionRows("negotiator", AdKind.JOB, AdKind.MACHINE, set_by="user", source=USER_POLICY)
_vacate = ExpressionRows("startd", AdKind.JOB, AdKind.MACHINE, set_by="user", source=USER_POLICY)

MATCH: tuple[PolicyExpression, ...] = (
    _match("Requirements", "Which machines the job accepts; submission adds the conditions that follow from the requests.", when="in matchmaking, and when a claim is used again", undefined=NO_MATCH),
    _match("Rank", "How much the job prefers a machine; larger is better.", kind=ValueKind.NUMBER, default="0.0", when="in matchmaking, between matching machines", undefined="counts as 0.0"),
    _match("ConcurrencyLimits", "Limits that the job counts against.", kind=ValueKind.STRING_LIST, when="in matchmaking", undefined="no limit"),
    _vacate("MaxJobRetirementTime", "Longest retirement that the job requests; the machine's MAXJOBRETIREMENTTIME can be shorter.", kind=ValueKind.INTEGER, unit=Unit.SECONDS, when="at each poll while the claim is to end", undefined="only the machine's value counts"),
    _vacate("JobMaxVacateTime", "Time between soft and hard kill that the job requests; more than the machine's value only within retirement.", kind=ValueKind.INTEGER, unit=Unit.SECONDS, when="when the job is vacated", undefined="counts as 0 if it is set, else the machine's value"),
)

_system = ExpressionRows("schedd", AdKind.JOB, AdKind.NONE, set_by="administrator", source=USER_POLICY)

SYSTEM: tuple[PolicyExpression, ...] = (
    _system("SYSTEM_PERIODIC_HOLD", when=f"{_PERIODIC}; not for held and completed jobs", undefined=_NOTHING),
    _system("SYSTEM_PERIODIC_HOLD_REASON", kind=ValueKind.STRING, when="when SYSTEM_PERIODIC_HOLD is TRUE", undefined=_OWN_TEXT),
    _system("SYSTEM_PERIODIC_HOLD_SUBCODE", kind=ValueKind.INTEGER, when="when SYSTEM_PERIODIC_HOLD is TRUE", undefined="counts as 0"),
    _system("SYSTEM_PERIODIC_RELEASE", when=_HELD, undefined=_NOTHING),
    _system("SYSTEM_PERIODIC_RELEASE_REASON", kind=ValueKind.STRING, when="when SYSTEM_PERIODIC_RELEASE is TRUE", undefined=_OWN_TEXT),
    _system("SYSTEM_PERIODIC_RELEASE_SUBCODE", kind=ValueKind.INTEGER, when="when SYSTEM_PERIODIC_RELEASE is TRUE", undefined="counts as 0"),
    _system("SYSTEM_PERIODIC_REMOVE", when=_PERIODIC, undefined=_NOTHING),
    _system("SYSTEM_PERIODIC_REMOVE_REASON", kind=ValueKind.STRING, when="when SYSTEM_PERIODIC_REMOVE is TRUE", undefined=_OWN_TEXT),
    _system("SYSTEM_PERIODIC_REMOVE_SUBCODE", kind=ValueKind.INTEGER, when="when SYSTEM_PERIODIC_REMOVE is TRUE", undefined="counts as 0"),
    _system("SYSTEM_PERIODIC_VACATE", when="every PERIODIC_EXPR_INTERVAL while the job runs", undefined=_NOTHING),
    _system("SYSTEM_PERIODIC_VACATE_REASON", kind=ValueKind.STRING, when="when SYSTEM_PERIODIC_VACATE is TRUE", undefined=_OWN_TEXT),
    _system("SYSTEM_PERIODIC_VACATE_SUBCODE", kind=ValueKind.INTEGER, when="when SYSTEM_PERIODIC_VACATE is TRUE", undefined="counts as 0"),
    _system("APPEND_REQUIREMENTS", when="as part of Requirements", target=AdKind.MACHINE, undefined=NO_MATCH),
    _system("APPEND_RANK", kind=ValueKind.NUMBER, when="as part of Rank", target=AdKind.MACHINE, undefined="the whole Rank counts as 0.0"),
    _system("DEFAULT_RANK", kind=ValueKind.NUMBER, when="as Rank", target=AdKind.MACHINE, undefined="counts as 0.0"),
    _system("JOB_DEFAULT_REQUESTCPUS", kind=ValueKind.INTEGER, unit=Unit.CORES, when="as RequestCpus", undefined=NO_MATCH),
    _system("JOB_DEFAULT_REQUESTMEMORY", kind=ValueKind.INTEGER, unit=Unit.MIB, when="as RequestMemory", undefined=NO_MATCH),
    _system("JOB_DEFAULT_REQUESTDISK", kind=ValueKind.INTEGER, unit=Unit.KIB, when="as RequestDisk", undefined=NO_MATCH),
)

#: Further conditions of the administrator; the lists SYSTEM_PERIODIC_…_NAMES name them.
SYSTEM_NAMED: tuple[PolicyExpression, ...] = (
    _system("SYSTEM_PERIODIC_HOLD_<NAME>_REASON", "Text of the hold reason of the condition <NAME>.", kind=ValueKind.STRING, when="when SYSTEM_PERIODIC_HOLD_<NAME> is TRUE", undefined=_OWN_TEXT),
    _system("SYSTEM_PERIODIC_HOLD_<NAME>_SUBCODE", "Number of the hold reason of the condition <NAME>.", kind=ValueKind.INTEGER, when="when SYSTEM_PERIODIC_HOLD_<NAME> is TRUE", undefined="counts as 0"),
    _system("SYSTEM_PERIODIC_HOLD_<NAME>", when=f"{_PERIODIC}; not for held and completed jobs", undefined=_NOTHING),
    _system("SYSTEM_PERIODIC_RELEASE_<NAME>", when=_HELD, undefined=_NOTHING),
    _system("SYSTEM_PERIODIC_REMOVE_<NAME>", when=_PERIODIC, undefined=_NOTHING),
    _system("SUBMIT_REQUIREMENT_<NAME>_REASON", "What the user is told when the condition <NAME> is not met.", kind=ValueKind.STRING, when="when SUBMIT_REQUIREMENT_<NAME> is not TRUE", undefined="a text that names the condition"),
    _system("SUBMIT_REQUIREMENT_<NAME>", when="when a job is submitted", undefined="the submission is refused"),
)

_queue = ExpressionRows("schedd", AdKind.SCHEDD, AdKind.JOB, set_by="administrator", source=USER_POLICY)

QUEUE: tuple[PolicyExpression, ...] = (
    _queue("START_LOCAL_UNIVERSE", when="when such a job is idle", undefined="the job waits"),
    _queue("START_SCHEDULER_UNIVERSE", when="when such a job is idle", undefined="the job waits"),
)

TABLE: tuple[PolicyExpression, ...] = (*USER, *MATCH, *SYSTEM, *QUEUE)
