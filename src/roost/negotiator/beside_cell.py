"""Knobs of the matchmaker that do nothing in a pool with a Grid Engine cell, whose scheduling run takes its place."""

from __future__ import annotations

from typing import Final

from roost.config import Config

_NAMES: Final = frozenset(
    (
        "NEGOTIATOR_SLOT_CONSTRAINT",
        "NEGOTIATOR_SUBMITTER_CONSTRAINT",
        "NEGOTIATOR_JOB_CONSTRAINT",
        "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT",
        "NEGOTIATOR_CONSIDER_PREEMPTION",
        "NEGOTIATOR_CONSIDER_EARLY_PREEMPTION",
        "NEGOTIATOR_IGNORE_USER_PRIORITIES",
        "NEGOTIATOR_PRE_JOB_RANK",
        "NEGOTIATOR_POST_JOB_RANK",
        "NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION",
        "NEGOTIATOR_MAX_TIME_PER_CYCLE",
        "NEGOTIATOR_MAX_TIME_PER_SCHEDD",
        "NEGOTIATOR_MAX_TIME_PER_SUBMITTER",
        "NEGOTIATOR_MAX_TIME_PER_PIESPIN",
        "PREEMPTION_REQUIREMENTS",
        "PREEMPTION_RANK",
        "GROUP_NAMES",
        "GROUP_SORT_EXPR",
        "USER_CEILINGS",
    )
)
_SUBSYSTEM: Final = "NEGOTIATOR."


def without_effect(config: Config) -> tuple[str, ...]:
    """The names of those that a configuration sets."""
    names = (name.upper() for name in config.names())
    return tuple(sorted(name for name in names if name.removeprefix(_SUBSYSTEM) in _NAMES))


def warning(config: Config) -> str:
    """The warning for a pool with a cell; "" for none."""
    found = without_effect(config)
    if not found:
        return ""
    verb = "has" if len(found) == 1 else "have"
    return f"the pool runs by a Grid Engine cell, in which {', '.join(found)} {verb} no effect"
