"""The settings of a queue as configured."""

from __future__ import annotations

import re
from datetime import UTC, tzinfo

from roost.classad import Expr, ParseError, Syntax, parse_expression
from roost.classad.values import fold
from roost.config import Code, Config, Diagnostic
from roost.config.in_force import in_force
from roost.schedd.admission.limits import Limits
from roost.schedd.admission.rules import admission
from roost.schedd.admission.user_maps import user_maps
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.job_policy.expressions import SystemPolicy
from roost.schedd.job_policy.system_policy import system_policy
from roost.schedd.jobs.local import LocalPolicy

_SUBSYSTEM = "SCHEDD"
_SUPERUSERS = "root, roost"


def queue_settings(
    config: Config, *, name: str, place: str = "", local_node: str = "", zone: tzinfo = UTC
) -> QueueSettings:
    """The settings of the queue with that name; `local_node` runs its local jobs, crontabs use the time zone `zone`.

    `place` is the IP address and port of the message server.

    Raises ConfigError.
    """
    policy, problems = system_policy(config)
    rules, unread = admission(config, name=name)
    local_policy, wrong = _local_policy(config)
    maps, unmapped = user_maps(config)
    superusers = config.get("QUEUE_SUPER_USERS", subsys=_SUBSYSTEM) or _SUPERUSERS
    return QueueSettings(
        name=name,
        place=place,
        uid_domain=config.get("UID_DOMAIN") or name,
        alive_interval_s=config.get_float("ALIVE_INTERVAL", 300.0, subsys=_SUBSYSTEM),
        alives_missed_max=config.get_int("MAX_CLAIM_ALIVES_MISSED", 6, subsys=_SUBSYSTEM),
        request_timeout_s=config.get_float("REQUEST_CLAIM_TIMEOUT", 1800.0, subsys=_SUBSYSTEM),
        periodic_interval_s=config.get_float("PERIODIC_EXPR_INTERVAL", 60.0, subsys=_SUBSYSTEM),
        interval_s=config.get_int("SCHEDD_INTERVAL", 300, subsys=_SUBSYSTEM),
        zone=zone,
        limits=_limits(config),
        late_materialization=config.get_bool("SCHEDD_ALLOW_LATE_MATERIALIZE", subsys=_SUBSYSTEM),
        significant=_names(config, "SIGNIFICANT_ATTRIBUTES"),
        significant_too=_names(config, "ADD_SIGNIFICANT_ATTRIBUTES"),
        defaults=_defaults(config),
        user_maps=maps,
        superusers=frozenset(word for word in re.split(r"[,\s]+", superusers) if word),
        policy=policy,
        local_node=local_node,
        local_policy=local_policy,
        problems=(*problems, *wrong, *unread, *unmapped),
        admission=rules,
        protected=_names(config, "PROTECTED_JOB_ATTRS"),
        immutable=_names(config, "IMMUTABLE_JOB_ATTRS") | _names(config, "SECURE_JOB_ATTRS"),
        secure=_names(config, "SECURE_JOB_ATTRS"),
        in_force=in_force(config, _knobs(policy), _SUBSYSTEM),
    )


def _limits(config: Config) -> Limits:
    return Limits(
        jobs_max=config.get_int("MAX_JOBS_SUBMITTED", subsys=_SUBSYSTEM),
        jobs_per_owner_max=config.get_int("MAX_JOBS_PER_OWNER", subsys=_SUBSYSTEM),
        jobs_per_submission_max=config.get_int("MAX_JOBS_PER_SUBMISSION", subsys=_SUBSYSTEM),
        running_max=config.get_int("MAX_JOBS_RUNNING", subsys=_SUBSYSTEM),
        start_count=config.get_int("JOB_START_COUNT", subsys=_SUBSYSTEM),
        start_delay_s=config.get_float("JOB_START_DELAY", subsys=_SUBSYSTEM),
    )


def _defaults(config: Config) -> dict[str, Expr]:
    """Transfer limits for jobs that set none of their own."""
    knobs = {"MaxTransferInputMB": "MAX_TRANSFER_INPUT_MB", "MaxTransferOutputMB": "MAX_TRANSFER_OUTPUT_MB"}
    texts = {name: config.get_expr(knob, subsys=_SUBSYSTEM) or "-1" for name, knob in knobs.items()}
    return {name: parse_expression(text, Syntax.OLD) for name, text in texts.items() if text != "-1"}


def _names(config: Config, knob: str) -> frozenset[str]:
    """Attributes in a list, folded."""
    text = config.get(knob, subsys=_SUBSYSTEM) or ""
    return frozenset(fold(word) for word in re.split(r"[,\s]+", text) if word)


def _knobs(policy: SystemPolicy) -> list[str]:
    """The knobs that records may name."""
    return [rule.knob for rules in (policy.vacate, policy.hold, policy.release, policy.remove) for rule in rules]


def _local_policy(config: Config) -> tuple[LocalPolicy, list[Diagnostic]]:
    """What may run on the queue's machine, and the problems in that part of the configuration."""
    wrong: list[Diagnostic] = []

    def expression(name: str, default: Expr) -> Expr:
        text = config.get(name, subsys=_SUBSYSTEM)
        try:
            return parse_expression(text, Syntax.OLD) if text else default
        except ParseError as error:
            wrong.append(config.problem(Code.BAD_EXPRESSION, name, str(error), subsys=_SUBSYSTEM))
            return default

    default = LocalPolicy()
    return LocalPolicy(
        start_scheduler=expression("START_SCHEDULER_UNIVERSE", default.start_scheduler),
        start_local=expression("START_LOCAL_UNIVERSE", default.start_local),
    ), wrong
