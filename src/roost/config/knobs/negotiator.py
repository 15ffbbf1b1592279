"""Matchmaking: cycles, fair share, quotas, preemption, concurrency limits, pool-wide policy."""

from __future__ import annotations

from functools import partial

from roost.base.diagnostics import Severity
from roost.config.knob import Knob, KnobType, Members, Unread, knob

_k = partial(knob, subsystem="NEGOTIATOR", read_by="negotiator.settings")
_seconds = partial(knob, subsystem="NEGOTIATOR", type=KnobType.INTEGER, unit="s", low=0, read_by="negotiator.settings")

_N = Severity.NOTE

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _k("NEGOTIATOR_NAME", KnobType.STRING, None, "Name of the negotiator when a pool has several.", unread=Unread("A pool has one negotiator.")),
    _k("NEGOTIATOR_HOST", KnobType.STRING, None, "Kept for old configurations: the negotiator is found through the collector.", unread=Unread("Daemons find the pool through NATS_SERVERS.", _N)),
    _seconds("NEGOTIATOR_INTERVAL", default="60", meaning="Time from the start of one cycle to the next when no daemon asks for it earlier."),
    _seconds("NEGOTIATOR_CYCLE_DELAY", default="20", meaning="Shortest time from the end of a cycle to the next, if only measurements of slots have changed."),
    _seconds("NEGOTIATOR_MIN_INTERVAL", default="5", meaning="Shortest time from the start of a cycle to the next, if only measurements of slots have changed; the longest time that any other change waits for a cycle."),
    _seconds("NEGOTIATOR_MAX_TIME_PER_CYCLE", default="1200", meaning="Time in a cycle after which no more submitters are considered."),
    _seconds("NEGOTIATOR_MAX_TIME_PER_SCHEDD", default="120", meaning="Time in a cycle spent on one queue."),
    _seconds("NEGOTIATOR_MAX_TIME_PER_SUBMITTER", default="60", meaning="Time in a cycle spent on one submitter."),
    _seconds("NEGOTIATOR_MAX_TIME_PER_PIESPIN", default="120", meaning="Time spent on one visit to one submitter."),
    _seconds("NEGOTIATOR_TIMEOUT", default="30", meaning="How long a queue may take to answer.", unread=Unread("The negotiator does not query queues: they publish their requests.", _N)),
    _k("NEGOTIATOR_INFORM_STARTD", KnobType.BOOLEAN, "False", "Whether a matched slot is notified and enters the Matched state.", read_by="runtime.central.daemon"),
    _k("NEGOTIATOR_SLOT_CONSTRAINT", KnobType.EXPRESSION, None, "Condition on the slots that take part in matchmaking."),
    _k("NEGOTIATOR_SUBMITTER_CONSTRAINT", KnobType.EXPRESSION, None, "Condition on the submitters that take part in matchmaking."),
    _k("NEGOTIATOR_JOB_CONSTRAINT", KnobType.EXPRESSION, None, "Condition on the jobs that take part in matchmaking."),
    _k("NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", KnobType.EXPRESSION, None, "Condition on the slots that count for the size of the pool."),
    _k("NEGOTIATOR_CONSIDER_PREEMPTION", KnobType.BOOLEAN, "True", "Whether claimed slots take part in matchmaking."),
    _k("NEGOTIATOR_CONSIDER_EARLY_PREEMPTION", KnobType.BOOLEAN, "False", "Whether slots whose job still has retirement time take part."),
    _k("NEGOTIATOR_IGNORE_USER_PRIORITIES", KnobType.BOOLEAN, "False", "Whether submitters may take more than their share."),
    _k("NEGOTIATOR_USE_SLOT_WEIGHTS", KnobType.BOOLEAN, "True", "Whether slots count by weight."),
    _k("NEGOTIATOR_USE_WEIGHTED_DEMAND", KnobType.BOOLEAN, "True", "Whether idle jobs count by the weight that they request.", unread=Unread("Idle jobs count by the weight that they request.")),
    _k("NEGOTIATOR_CROSS_SLOT_PRIOS", KnobType.BOOLEAN, "False", "Whether a slot's ad also shows the users of the machine's other slots.", unread=Unread("A slot's ad shows only its own user.")),
    _k("NEGOTIATOR_MATCHLIST_CACHING", KnobType.BOOLEAN, "True", "Whether equal requests of one submitter share a sorted list of matches.", unread=Unread("Equal requests always share a list of matches.", _N)),
    _k("NEGOTIATOR_DEPTH_FIRST", KnobType.BOOLEAN, "False", "Whether slots of a machine are filled before another machine is used.", unread=Unread("Slots are filled in the order of the ranks: put a term for the machine into NEGOTIATOR_POST_JOB_RANK.")),
    _k("NEGOTIATOR_PRE_JOB_RANK", KnobType.EXPRESSION, "(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory", "Orders matching slots before the job's Rank does."),
    _k("NEGOTIATOR_POST_JOB_RANK", KnobType.EXPRESSION, "(RemoteOwner =?= UNDEFINED) * (ifthenElse(isUndefined(KFlops), 1000, Kflops) - SlotID - 1.0e10*(Offline=?=True))", "Orders matching slots that the job's Rank values equally."),
    _k("PREEMPTION_REQUIREMENTS", KnobType.EXPRESSION, "False", "Whether the running job may be preempted because of user priority. Preemption by the slot's RANK ignores it."),
    _k("PREEMPTION_RANK", KnobType.EXPRESSION, "(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRuntime), 0, TotalJobRuntime)", "Which of several running jobs is preempted: the one with the largest value."),
    _k("ALLOW_PSLOT_PREEMPTION", KnobType.BOOLEAN, "False", "Whether several dynamic slots may be preempted together for one job.", unread=Unread("Dynamic slots are preempted one at a time.")),
    _k("PRIORITY_HALFLIFE", KnobType.REAL, "86400", "Half-life of a user's past usage.", unit="s", low=1),
    _k("DEFAULT_PRIO_FACTOR", KnobType.REAL, "1000", "Factor of a user's priority.", low=1),
    _k("NICE_USER_PRIO_FACTOR", KnobType.REAL, "10000000000", "Factor of the priority of jobs submitted as nice.", low=1),
    _k("NICE_USER_ACCOUNTING_GROUP_NAME", KnobType.STRING, "nice-user", "Group that jobs with nice_user are charged to when they are submitted, and whose users have NICE_USER_PRIO_FACTOR."),
    _k("REMOTE_PRIO_FACTOR", KnobType.REAL, "10000000", "Factor of the priority of users from other domains.", low=1),
    _k("ACCOUNTANT_LOCAL_DOMAIN", KnobType.STRING, "$(UID_DOMAIN)", "Domain whose users are local for the priority factor."),
    _k("ACCOUNTANT_DATABASE_FILE", KnobType.PATH, "$(SPOOL)/Accountantnew.log", "Kept for old configurations: usage is kept in the database.", unread=Unread("Usage is kept in the database.", _N)),
    _k("GROUP_NAMES", KnobType.LIST, None, "Accounting groups, with dots between levels.", members=Members.GROUPS),
    _k("GROUP_QUOTA_<GROUP>", KnobType.REAL, None, "Slot weight that a group is entitled to.", low=0),
    _k("GROUP_QUOTA_DYNAMIC_<GROUP>", KnobType.REAL, None, "Fraction of the parent's quota that a group is entitled to.", low=0, high=1),
    _k("GROUP_PRIO_FACTOR_<GROUP>", KnobType.REAL, None, "Factor of the priority of users within a group.", low=1),
    _k("GROUP_ACCEPT_SURPLUS", KnobType.BOOLEAN, "False", "Whether groups may use what other groups do not use."),
    _k("GROUP_ACCEPT_SURPLUS_<GROUP>", KnobType.BOOLEAN, None, "GROUP_ACCEPT_SURPLUS for one group."),
    _k("GROUP_AUTOREGROUP", KnobType.BOOLEAN, "False", "Whether jobs that their group's quota leaves unmatched compete again outside the group."),
    _k("GROUP_AUTOREGROUP_<GROUP>", KnobType.BOOLEAN, None, "GROUP_AUTOREGROUP for one group."),
    _k("GROUP_SORT_EXPR", KnobType.EXPRESSION, 'ifThenElse(AccountingGroup=?="<none>",3.4e+38,ifThenElse(GroupQuota>0,GroupResourcesInUse/GroupQuota,3.3e+38))', "Order in which groups are served, smallest first."),
    _k("GROUP_QUOTA_MAX_ALLOCATION_ROUNDS", KnobType.INTEGER, "3", "Number of rounds in which unused quota is distributed.", low=1),
    _k("NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION", KnobType.BOOLEAN, "True", "Whether quotas may add up to more than the pool has."),
    _k("CONCURRENCY_LIMIT_DEFAULT", KnobType.REAL, "2308032", "Limit of concurrency limits that are not named.", low=0),
    _k("CONCURRENCY_LIMIT_DEFAULT_<NAME>", KnobType.REAL, None, "Limit of those concurrency limits below that prefix that are not named.", low=0),
    _k("<NAME>_LIMIT", KnobType.REAL, None, "Limit of the concurrency limit of that name.", low=0),
    _k("USER_CEILINGS", KnobType.LIST, None, "Ceilings on how much of the pool users may use at once: items user=weight, the user with or without the domain. The user is the job's owner as the queue knows it; all groups, accounts (accounting_group_user, nice_user) and queues count together."),
    _k("NEGOTIATOR_PE_SCHEDD_ONLY_EXPR", KnobType.EXPRESSION, None, "TRUE excludes the queue or submitter from this cycle: none of its jobs is matched. MY is the ad of the queue or submitter."),
    _k("NEGOTIATOR_PE_STARTD_ONLY_EXPR", KnobType.EXPRESSION, None, "Slots for whose ad this is TRUE are excluded from matchmaking."),
    _k("NEGOTIATOR_PE_JOB_ONLY_EXPR", KnobType.EXPRESSION, None, "Jobs for whose ad this is TRUE are not matched."),
    _k("NEGOTIATOR_PE_RESOURCE_EXPR", KnobType.EXPRESSION, None, "Condition added to the requirements of every slot; only TRUE permits a match."),
    _k("NEGOTIATOR_PE_JOB_EXPR", KnobType.EXPRESSION, None, "Condition added to the requirements of every job; only TRUE permits a match."),
    _k("NEGOTIATOR_PE_LOG", KnobType.PATH, "$(LOG)/PolicyLog", "Log of what the pool-wide policy decided.", read_by="runtime.central.policy_log"),
    _k("NEGOTIATOR_PE_AUDIT_EXPR", KnobType.EXPRESSION, None, "Matches for which it is TRUE are recorded in the policy log."),
    _k("NEGOTIATOR_PE_LOG_ONLY", KnobType.BOOLEAN, "False", "Whether the pool-wide policy is recorded without being enforced."),
    _k("NEGOTIATOR_PE_DRYRUN_SCHEDD_ONLY_EXPR", KnobType.EXPRESSION, None, "Queues and submitters that a policy on trial would exclude: what it would change is recorded, but not enforced. If unset, the knob in force applies."),
    _k("NEGOTIATOR_PE_DRYRUN_STARTD_ONLY_EXPR", KnobType.EXPRESSION, None, "Slots that a policy on trial would exclude: what it would change is recorded, but not enforced. If unset, the knob in force applies."),
    _k("NEGOTIATOR_PE_DRYRUN_JOB_ONLY_EXPR", KnobType.EXPRESSION, None, "Jobs that a policy on trial would exclude: what it would change is recorded, but not enforced. If unset, the knob in force applies."),
    _k("NEGOTIATOR_PE_DRYRUN_RESOURCE_EXPR", KnobType.EXPRESSION, None, "Condition that a policy on trial would add to the requirements of every slot: what it would change is recorded, but not enforced. If unset, the knob in force applies."),
    _k("NEGOTIATOR_PE_DRYRUN_JOB_EXPR", KnobType.EXPRESSION, None, "Condition that a policy on trial would add to the requirements of every job: what it would change is recorded, but not enforced. If unset, the knob in force applies."),
)
