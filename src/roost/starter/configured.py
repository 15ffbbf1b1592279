"""The starter's policy as configured."""

from __future__ import annotations

import re
from typing import Final

from roost.config import Config
from roost.model.starter import HookPoint
from roost.policy.explain.configured import configured_expression
from roost.starter.hooks import HookProgram
from roost.starter.policy_inputs import OTHERWISE, StarterPolicy

#: Hooks that slots run, under all names. A prefix that has only these may still be requested by a job.
_OF_SLOTS: Final = frozenset(("FETCH_WORK", "FETCH_JOB", "REPLY_FETCH", "REPLY_CLAIM", "EVICT_CLAIM"))
_HOOK: Final = re.compile(rf"(?P<keyword>[A-Z0-9_.]+)_HOOK_(?P<point>{'|'.join((*HookPoint, *sorted(_OF_SLOTS)))})\Z")

#: Default time limit of a hook, s; a hook that is not listed has no default limit.
TIMEOUT_S: Final = {HookPoint.EXIT: 30, HookPoint.FAILURE: 30}

#: The requester.
_STARTER: Final = "STARTER"


def configured_policy(config: Config, *, slot: int | None = None, slot_type: int | None = None) -> StarterPolicy:
    """Return the policy for jobs on a slot of a type. Raises ConfigError, and ParseError for text that is not an
    expression.
    """
    expressions = {}
    for name in OTHERWISE:
        found = configured_expression(config, name, subsys=_STARTER, slot=slot)
        assert found is not None, f"{name} has a default"
        expressions[name] = found.expression
    return StarterPolicy(
        expressions=expressions,
        polling_interval_s=config.get_int("STARTER_POLLING_INTERVAL", subsys=_STARTER),
        initial_update_s=config.get_int("STARTER_INITIAL_UPDATE_INTERVAL", subsys=_STARTER),
        update_interval_s=config.get_int("STARTER_UPDATE_INTERVAL", subsys=_STARTER),
        killing_timeout_s=config.get_int("KILLING_TIMEOUT", subsys=_STARTER),
        vm_killing_timeout_s=config.get_int("VM_KILLING_TIMEOUT", 60, subsys=_STARTER),
        method_timeout_s=config.get_int("STARTER_METHOD_TIMEOUT", subsys=_STARTER),
        hooks=configured_hooks(config),
        prolog=config.get("STARTER_PROLOG", subsys=_STARTER, slot=slot, slot_type=slot_type) or "",
        epilog=config.get("STARTER_EPILOG", subsys=_STARTER, slot=slot, slot_type=slot_type) or "",
        hook_keyword_forced=config.get("STARTER_JOB_HOOK_KEYWORD", subsys=_STARTER) or "",
        hook_keyword_default=config.get("STARTER_DEFAULT_JOB_HOOK_KEYWORD", subsys=_STARTER) or "",
    )


def hook_settings(config: Config) -> dict[str, str]:
    """Return all settings of starter hooks in a configuration, by name."""
    names = ["STARTER_JOB_HOOK_KEYWORD", "STARTER_DEFAULT_JOB_HOOK_KEYWORD", "STARTER_INITIAL_UPDATE_INTERVAL"]
    for name in config.names():
        named = _HOOK.match(name.upper().rpartition(".")[2])
        if named is not None and named["point"] not in _OF_SLOTS:
            names += [named.group(), f"{named.group()}_TIMEOUT", f"{named.group()}_ARGS"]
    return {name: value for name in names if (value := config.get(name, subsys=_STARTER))}


def configured_hooks(config: Config) -> dict[str, dict[HookPoint, HookProgram]]:
    """Return the starter's hooks by prefix in capitals. Raises ConfigError."""
    found: dict[str, dict[HookPoint, HookProgram]] = {}
    for name in config.names():
        named = _HOOK.match(name.upper().rpartition(".")[2])
        path = config.get(named.group(), subsys=_STARTER) if named else None
        if named is None or path is None:
            continue
        keyword = named["keyword"]
        hooks = found.setdefault(keyword, {})
        if named["point"] in _OF_SLOTS:
            continue
        point = HookPoint(named["point"])
        timeout_s = config.get_int(f"{keyword}_HOOK_{point}_TIMEOUT", TIMEOUT_S.get(point, 0), subsys=_STARTER)
        hooks[point] = HookProgram(
            path=path,
            arguments=config.get(f"{keyword}_HOOK_PREPARE_JOB_ARGS", subsys=_STARTER) or ""
            if point is HookPoint.PREPARE
            else "",
            timeout_s=timeout_s or None,
        )
    return found
