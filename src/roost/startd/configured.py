"""The policy of a slot from its configuration: every knob that the state machine reads, read in one place.

A real machine and a simulated one take the same decisions only if they read the same knobs; both call `slot_policy` and
pass what differs between them as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from roost.classad import ClassAd, Expr, parse_expression
from roost.config import Config
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_ad.config import names_in

#: Hooks that had another name in HTCondor's papers and first release.
_OLD_NAMES: Final = {"FETCH_JOB": "FETCH_WORK", "REPLY_CLAIM": "REPLY_FETCH"}
_OF_DYNAMIC: Final = re.compile(r"SLOT(\d+)_(\d+)_JOB_HOOK_KEYWORD\Z", re.IGNORECASE)


def slot_policy(
    config: Config,
    expressions: Mapping[str, Expr],
    *,
    keyword: str | None,
    backfill: bool,
    zone_offset_s: int,
    chance_seed: str,
) -> SlotPolicy:
    """A slot's policy. `keyword`: the prefix of its hooks. Raises ConfigError.

    `backfill`: the daemon can run a backfill client, if the configuration has one.
    """
    return SlotPolicy(
        expressions=ClassAd(expressions),
        match_timeout_s=config.get_float("MATCH_TIMEOUT"),
        killing_timeout_s=config.get_float("KILLING_TIMEOUT"),
        vm_killing_timeout_s=config.get_float("VM_KILLING_TIMEOUT"),
        alives_missed_max=config.get_int("MAX_CLAIM_ALIVES_MISSED"),
        drain_activation_grace_s=config.get_float("MAX_DRAINING_ACTIVATION_DELAY"),
        draining_start=draining_start(config),
        backfill=backfill and wants_backfill(config),
        fetches_work=bool(keyword and fetch_hook(config, keyword, "FETCH_WORK")),
        job_attributes=names_in(config, "STARTD_JOB_ATTRS"),
        zone_offset_s=zone_offset_s,
        chance_seed=chance_seed,
    )


def hook_keyword(config: Config, number: int) -> str | None:
    """The prefix of a slot's hooks."""
    return config.get(f"SLOT{number}_JOB_HOOK_KEYWORD") or config.get("STARTD_JOB_HOOK_KEYWORD")


def dynamic_keywords(config: Config) -> dict[tuple[int, int], str]:
    """The prefixes of hooks of dynamic slots that have their own, by number of the parent and of the slot."""
    found = {}
    for name in config.names():
        named = _OF_DYNAMIC.match(name)
        keyword = config.get(name) if named else None
        if named is not None and keyword:
            found[int(named[1]), int(named[2])] = keyword
    return found


def fetch_hook(config: Config, keyword: str, hook: str) -> str | None:
    """The path of a hook that fetches work, under its current name or that of the first release."""
    names = (hook, *(old for old, new in _OLD_NAMES.items() if new == hook))
    return next((path for each in names if (path := config.get(f"{keyword}_HOOK_{each}", subsys="STARTD"))), None)


def wants_backfill(config: Config) -> bool:
    """Whether unused slots run backfill: ENABLE_BACKFILL, and a BACKFILL_SYSTEM."""
    return config.get_bool("ENABLE_BACKFILL") and bool(config.get("BACKFILL_SYSTEM"))


def backfill_problem(config: Config, *, as_root: bool) -> str:
    """Why the configured backfill client cannot run; "" if it can. `as_root`: the machine's daemon runs as root."""
    system = config.get("BACKFILL_SYSTEM") or ""
    if system.upper() != "BOINC":
        return (
            f"BACKFILL_SYSTEM is {system}; the only supported value is BOINC, which runs any program that "
            "BOINC_Executable names"
        )
    needed = ["BOINC_Executable", "BOINC_InitialDir", *(["BOINC_Owner"] if as_root else [])]
    missing = [name for name in needed if not config.get(name)]
    if missing:
        return f"{' and '.join(missing)} must be set for the backfill client to run"
    universe = config.get("BOINC_Universe") or "vanilla"
    if universe.lower() != "vanilla":
        return f"BOINC_Universe is {universe}: the backfill client runs as vanilla"
    relative = [name for name in needed[:2] if not (config.get(name) or "").startswith("/")]
    return f"{' and '.join(relative)} must be an absolute path" if relative else ""


def draining_start(config: Config) -> Expr | None:
    """DEFAULT_DRAINING_START_EXPR; None if it is FALSE, so that a draining machine accepts no jobs."""
    text = config.get_expr("DEFAULT_DRAINING_START_EXPR")
    if text is None:
        return None
    expression = parse_expression(text)
    return None if expression.is_literal and str(expression).lower() == "false" else expression
