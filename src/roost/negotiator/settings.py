"""The matchmaker's settings, read from the configuration once and kept as one value.

All defaults are HTCondor's, so that ``NegotiatorSettings()`` is the matchmaker of a pool that configures nothing.
An expression that is not set is None. `settings_from` raises the configuration's own `ConfigError`, which names the
place of a bad value: a running daemon keeps its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass, field, replace
from roost.classad import Expr, parse_expression
from roost.config import Code, Config, ConfigError
from roost.config.diagnostics import diagnostic
from roost.config.in_force import in_force
from roost.config.lookup import View
from roost.model.audit import InForce
from roost.negotiator.scoping import scoped
from roost.negotiator.timing import Intervals, TimeLimits
from roost.policy.model import AdKind

#: Name of the group of users who are in no other group.
ROOT: Final = "<none>"
#: Most accounting groups.
GROUPS_MAX: Final = 10_000

#: Field of the policy to the part of its knob's name between NEGOTIATOR_PE_ and _EXPR.
POLICY_KNOBS: Final = {
    "schedd_only": "SCHEDD_ONLY",
    "startd_only": "STARTD_ONLY",
    "job_only": "JOB_ONLY",
    "resource": "RESOURCE",
    "job": "JOB",
}
#: Knobs whose expressions are named in records.
AUDITED: Final = (
    *(f"NEGOTIATOR_PE_{word}_EXPR" for word in POLICY_KNOBS.values()),
    *(f"NEGOTIATOR_PE_DRYRUN_{word}_EXPR" for word in POLICY_KNOBS.values()),
    "NEGOTIATOR_PE_AUDIT_EXPR",
    "PREEMPTION_REQUIREMENTS",
    "NEGOTIATOR_SLOT_CONSTRAINT",
    "NEGOTIATOR_SUBMITTER_CONSTRAINT",
    "NEGOTIATOR_JOB_CONSTRAINT",
    "USER_CEILINGS",
)

_PRE: Final = parse_expression(
    "(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory"
)
_POST: Final = parse_expression(
    "(RemoteOwner =?= UNDEFINED) * (ifthenElse(isUndefined(KFlops), 1000, Kflops) - SlotID - 1.0e10*(Offline=?=True))"
)
_PREEMPTION_RANK: Final = parse_expression(
    "(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRuntime), 0, TotalJobRuntime)"
)
_NEVER: Final = parse_expression("false")
_MODIFY: Final = {
    name.lower(): parse_expression(f"quantize(Request{name},{{{least}}})")
    for name, least in (("Cpus", 1), ("Memory", 128), ("Disk", 1024))
}
_GROUP_SORT: Final = parse_expression(
    'ifThenElse(AccountingGroup=?="<none>",3.4e+38,ifThenElse(GroupQuota>0,GroupResourcesInUse/GroupQuota,3.3e+38))'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """One accounting group. Its name determines its parent: ``physics.hep`` is in ``physics``."""

    name: str
    #: Weight of slots; None without GROUP_QUOTA.
    quota: float | None = None
    #: Fraction of the parent's; None without GROUP_QUOTA_DYNAMIC. A static quota takes precedence.
    fraction: float | None = None
    #: 0 if the group has no factor of its own.
    prio_factor: float = 0.0
    accept_surplus: bool = False
    autoregroup: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityFactors:
    """The priority factors by user."""

    default: float = 1000.0
    nice: float = 1e10
    remote: float = 1e7
    nice_name: str = "nice-user"
    #: Users of other domains get the remote factor; "" for no difference.
    local_domain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """Maxima of concurrency limits, names folded."""

    default: float = 2_308_032.0
    named: Mapping[str, float] = field(default_factory=dict)
    #: Prefix to the maximum of each limit below it.
    below: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """The pool-wide policy, NEGOTIATOR_PE_*; None where nothing is set."""

    schedd_only: Expr | None = None
    startd_only: Expr | None = None
    job_only: Expr | None = None
    resource: Expr | None = None
    job: Expr | None = None
    audit: Expr | None = None
    log_only: bool = False

    @property
    def any(self) -> bool:
        """Whether there is a policy at all."""
        return any((self.schedd_only, self.startd_only, self.job_only, self.resource, self.job, self.audit))


@dataclass(frozen=True, slots=True, kw_only=True)
class NegotiatorSettings:
    """All settings of the matchmaker."""

    slot_constraint: Expr | None = None
    submitter_constraint: Expr | None = None
    job_constraint: Expr | None = None
    pool_size_constraint: Expr | None = None
    consider_preemption: bool = True
    consider_early_preemption: bool = False
    ignore_priorities: bool = False
    use_weights: bool = True
    pre_job_rank: Expr | None = _PRE
    post_job_rank: Expr | None = _POST
    #: None: the users' priorities are the only condition.
    preemption_requirements: Expr | None = _NEVER
    preemption_rank: Expr | None = _PREEMPTION_RANK
    #: s.
    halflife_s: float = 86_400.0
    factors: PriorityFactors = field(default_factory=PriorityFactors)
    groups: tuple[GroupSettings, ...] = ()
    group_sort: Expr = _GROUP_SORT
    allocation_rounds: int = 3
    oversubscription: bool = True
    accept_surplus: bool = False
    autoregroup: bool = False
    limits: LimitSettings = field(default_factory=LimitSettings)
    times: TimeLimits = field(default_factory=TimeLimits)
    #: Folded user, with or without the domain, to its ceiling, as weight.
    ceilings: Mapping[str, float] = field(default_factory=dict)
    #: Folded resource to how machines round requests for it, MODIFY_REQUEST_EXPR_*; MY is the job, TARGET the slot.
    modify: Mapping[str, Expr] = field(default_factory=lambda: _MODIFY)
    policy: PolicySettings = field(default_factory=PolicySettings)
    #: The policy on trial: the one in force, with the expressions set in NEGOTIATOR_PE_DRYRUN_* replaced; None if none
    #: is set.
    dry_run: PolicySettings | None = None
    #: For records only; no decision depends on it.
    in_force: InForce = field(default_factory=InForce, compare=False)


def settings_from(config: Config) -> NegotiatorSettings:
    """The settings of a configuration. Raises `ConfigError` for a value that cannot be read."""
    return _settings(config.view(subsys="NEGOTIATOR"))


def _settings(config: View) -> NegotiatorSettings:
    return NegotiatorSettings(
        slot_constraint=_expr(config, "NEGOTIATOR_SLOT_CONSTRAINT"),
        submitter_constraint=_expr(config, "NEGOTIATOR_SUBMITTER_CONSTRAINT"),
        job_constraint=_expr(config, "NEGOTIATOR_JOB_CONSTRAINT"),
        pool_size_constraint=_expr(config, "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"),
        consider_preemption=config.get_bool("NEGOTIATOR_CONSIDER_PREEMPTION", True),
        consider_early_preemption=config.get_bool("NEGOTIATOR_CONSIDER_EARLY_PREEMPTION", False),
        ignore_priorities=config.get_bool("NEGOTIATOR_IGNORE_USER_PRIORITIES", False),
        use_weights=config.get_bool("NEGOTIATOR_USE_SLOT_WEIGHTS", True),
        pre_job_rank=_expr(config, "NEGOTIATOR_PRE_JOB_RANK"),
        post_job_rank=_expr(config, "NEGOTIATOR_POST_JOB_RANK"),
        preemption_requirements=_expr(config, "PREEMPTION_REQUIREMENTS"),
        preemption_rank=_expr(config, "PREEMPTION_RANK"),
        halflife_s=config.get_float("PRIORITY_HALFLIFE", 86_400.0),
        factors=_factors(config),
        groups=_groups(config),
        group_sort=_expr(config, "GROUP_SORT_EXPR") or _GROUP_SORT,
        allocation_rounds=config.get_int("GROUP_QUOTA_MAX_ALLOCATION_ROUNDS", 3),
        oversubscription=config.get_bool("NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION", True),
        accept_surplus=config.get_bool("GROUP_ACCEPT_SURPLUS", False),
        autoregroup=config.get_bool("GROUP_AUTOREGROUP", False),
        limits=_limits(config),
        times=_times(config),
        ceilings=_ceilings(config),
        modify=_modify(config),
        policy=_policy(config),
        dry_run=_dry_run(config),
        in_force=in_force(config.config, AUDITED, "NEGOTIATOR"),
    )


def _modify(config: View) -> dict[str, Expr]:
    found = {name: _expr(config, f"MODIFY_REQUEST_EXPR_REQUEST{name.upper()}") for name in _MODIFY}
    return {name: expression for name, expression in found.items() if expression is not None}


def _expr(config: View, name: str) -> Expr | None:
    text = config.get_expr(name)
    return None if text is None else parse_expression(text)


def _optional(config: View, name: str) -> float | None:
    return None if config.get(name) is None else config.get_float(name)


def _factors(config: View) -> PriorityFactors:
    return PriorityFactors(
        default=config.get_float("DEFAULT_PRIO_FACTOR", 1000.0),
        nice=config.get_float("NICE_USER_PRIO_FACTOR", 1e10),
        remote=config.get_float("REMOTE_PRIO_FACTOR", 1e7),
        nice_name=(config.get("NICE_USER_ACCOUNTING_GROUP_NAME") or "nice-user").lower(),
        local_domain=(config.get("ACCOUNTANT_LOCAL_DOMAIN") or "").lower(),
    )


def _groups(config: View) -> tuple[GroupSettings, ...]:
    surplus = config.get_bool("GROUP_ACCEPT_SURPLUS", False)
    regroup = config.get_bool("GROUP_AUTOREGROUP", False)
    found: dict[str, GroupSettings] = {}
    for name in config.get_list("GROUP_NAMES")[:GROUPS_MAX]:
        key = name.lower()
        if key != ROOT and key not in found:
            found[key] = GroupSettings(
                name=name,
                quota=_optional(config, f"GROUP_QUOTA_{name}"),
                fraction=_optional(config, f"GROUP_QUOTA_DYNAMIC_{name}"),
                prio_factor=config.get_float(f"GROUP_PRIO_FACTOR_{name}", 0.0),
                accept_surplus=config.get_bool(f"GROUP_ACCEPT_SURPLUS_{name}", surplus),
                autoregroup=config.get_bool(f"GROUP_AUTOREGROUP_{name}", regroup),
            )
    return tuple(found.values())


def _limits(config: View) -> LimitSettings:
    named, below = {}, {}
    for name in config.config.names():
        key = name.lower().rpartition("negotiator.")[2]
        if key.endswith("_limit") and len(key) > len("_limit") and _is_number(config, name):
            named[key.removesuffix("_limit")] = config.get_float(name)
        elif key.startswith("concurrency_limit_default_"):
            below[key.removeprefix("concurrency_limit_default_")] = config.get_float(name)
    return LimitSettings(default=config.get_float("CONCURRENCY_LIMIT_DEFAULT", 2_308_032.0), named=named, below=below)


def _ceilings(config: View) -> dict[str, float]:
    found = {}
    for item in config.get_list("USER_CEILINGS"):
        user, equals, weight = item.partition("=")
        try:
            value = float(weight)
        except ValueError:
            value = -1.0
        if not (user and equals and 0 <= value < float("inf")):
            place = config.find("USER_CEILINGS")
            assert place is not None
            text = f"USER_CEILINGS: {item!r} is not a user and a weight: write it as in ann=10"
            raise ConfigError(diagnostic(Code.BAD_REAL, text, place.span, name="USER_CEILINGS"))
        found[user.strip().lower()] = value
    return found


def _times(config: View) -> TimeLimits:
    return TimeLimits(
        cycle_s=config.get_float("NEGOTIATOR_MAX_TIME_PER_CYCLE", 1200.0),
        schedd_s=config.get_float("NEGOTIATOR_MAX_TIME_PER_SCHEDD", 120.0),
        submitter_s=config.get_float("NEGOTIATOR_MAX_TIME_PER_SUBMITTER", 60.0),
        piespin_s=config.get_float("NEGOTIATOR_MAX_TIME_PER_PIESPIN", 120.0),
    )


def intervals_from(config: Config) -> Intervals:
    """The times between cycles of a configuration. Raises `ConfigError` for a value that cannot be read."""
    view = config.view(subsys="NEGOTIATOR")
    return Intervals(
        interval_s=view.get_float("NEGOTIATOR_INTERVAL", 60.0),
        min_interval_s=view.get_float("NEGOTIATOR_MIN_INTERVAL", 5.0),
        cycle_delay_s=view.get_float("NEGOTIATOR_CYCLE_DELAY", 20.0),
    )


def _is_number(config: View, name: str) -> bool:
    """Whether the knob is a concurrency limit: other knob names end in _LIMIT, too, and need not be numbers."""
    try:
        float(config.get(name) or "")
    except ValueError:
        return False
    return True


#: For each expression about a slot and a job, the kind of ad that MY is.
_MINE: Final = {"resource": AdKind.MACHINE, "job": AdKind.JOB}


def _policy(config: View) -> PolicySettings:
    return PolicySettings(
        schedd_only=_expr(config, "NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"),
        startd_only=_expr(config, "NEGOTIATOR_PE_STARTD_ONLY_EXPR"),
        job_only=_expr(config, "NEGOTIATOR_PE_JOB_ONLY_EXPR"),
        resource=scoped(_expr(config, "NEGOTIATOR_PE_RESOURCE_EXPR"), _MINE["resource"]),
        job=scoped(_expr(config, "NEGOTIATOR_PE_JOB_EXPR"), _MINE["job"]),
        audit=scoped(_expr(config, "NEGOTIATOR_PE_AUDIT_EXPR"), AdKind.MACHINE),
        log_only=config.get_bool("NEGOTIATOR_PE_LOG_ONLY", False),
    )


def _dry_run(config: View) -> PolicySettings | None:
    twins = {field: _expr(config, f"NEGOTIATOR_PE_DRYRUN_{word}_EXPR") for field, word in POLICY_KNOBS.items()}
    given = {
        field: scoped(expression, _MINE[field]) if field in _MINE else expression
        for field, expression in twins.items()
        if expression is not None
    }
    return replace(_policy(config), audit=None, log_only=False, **given) if given else None
