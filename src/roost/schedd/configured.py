"""The settings of a queue as the configuration has them."""

from __future__ import annotations

import re

from roost.config import Config
from roost.config.in_force import in_force
from roost.schedd.holder import QueueSettings
from roost.schedd.job_policy import SystemPolicy
from roost.schedd.job_policy_config import system_policy

_SUBSYSTEM = "SCHEDD"
_SUPERUSERS = "root, condor"


def queue_settings(config: Config, *, name: str) -> QueueSettings:
    """The settings of the queue of that name. Raises ConfigError."""
    policy, problems = system_policy(config)
    superusers = config.get("QUEUE_SUPER_USERS", subsys=_SUBSYSTEM) or _SUPERUSERS
    return QueueSettings(
        name=name,
        uid_domain=config.get("UID_DOMAIN") or name,
        alive_interval_s=config.get_float("ALIVE_INTERVAL", 300.0, subsys=_SUBSYSTEM),
        periodic_interval_s=config.get_float("PERIODIC_EXPR_INTERVAL", 60.0, subsys=_SUBSYSTEM),
        jobs_max=config.get_int("MAX_JOBS_SUBMITTED", 2**31 - 1, subsys=_SUBSYSTEM),
        jobs_per_submission_max=config.get_int("MAX_JOBS_PER_SUBMISSION", 2**31 - 1, subsys=_SUBSYSTEM),
        superusers=frozenset(word for word in re.split(r"[,\s]+", superusers) if word),
        policy=policy,
        problems=tuple(str(each) for each in problems),
        in_force=in_force(config, _knobs(policy), _SUBSYSTEM),
    )


def _knobs(policy: SystemPolicy) -> list[str]:
    """The knobs that records may name."""
    return [rule.knob for rules in (policy.vacate, policy.hold, policy.release, policy.remove) for rule in rules]
