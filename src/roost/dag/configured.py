"""The settings of a DAG run from the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from roost.config import Config
from roost.dag.run import Settings


def configured_settings(config: Config | None, given: Mapping[str, int], *, always_post: bool = False) -> Settings:
    """The limits of a run: values given by knob name, else from the configuration. Raises ConfigError."""
    known = Settings()

    def number(name: str, default: int) -> int:
        if name in given:
            return given[name]
        return default if config is None else config.get_int(name, default)

    def truth(name: str) -> bool:
        return config is not None and config.get_bool(name, False)

    return Settings(
        jobs_max=number("DAGMAN_MAX_JOBS_SUBMITTED", known.jobs_max),
        idle_max=number("DAGMAN_MAX_JOBS_IDLE", known.idle_max),
        pre_max=number("DAGMAN_MAX_PRE_SCRIPTS", known.pre_max),
        post_max=number("DAGMAN_MAX_POST_SCRIPTS", known.post_max),
        held_max=number("DAGMAN_MAX_HOLD_SCRIPTS", known.held_max),
        submit_attempts=number("DAGMAN_MAX_SUBMIT_ATTEMPTS", known.submit_attempts),
        always_post=always_post or truth("DAGMAN_ALWAYS_RUN_POST"),
        depth_first=truth("DAGMAN_SUBMIT_DEPTH_FIRST"),
        retry_first=truth("DAGMAN_RETRY_NODE_FIRST"),
        holds_max=number("DAGMAN_MAX_JOB_HOLDS", known.holds_max),
        failures_max=number("DAGMAN_NODE_JOB_FAILURE_TOLERANCE", known.failures_max),
        hold_failed=truth("DAGMAN_PUT_FAILED_JOBS_ON_HOLD"),
    )
