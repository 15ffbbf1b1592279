"""Problems of a configuration that keep daemons from working, found by the code with which they read it.

`problems` is the single list of checks: a daemon runs those of its role before it starts and at each reconfiguration
(`roost.runtime.role`); `roost config check`, `roost policy lint` and the lab run all of them. A check therefore refuses
whatever a daemon would refuse, with the place.

Conditions of the machine (whether a directory exists, what a command prints, which database answers) are checked by a
daemon itself when it starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from roost.base.diagnostics import Severity, Span
from roost.base.records import replace
from roost.classad import ParseError
from roost.config import Code, Config, ConfigError, Diagnostic, check
from roost.config.access import access
from roost.config.checking import by_place
from roost.config.diagnostics import diagnostic
from roost.defrag.policy import configured_policy as defrag_policy
from roost.defrag.policy import is_wanted
from roost.model.slots import HostReading
from roost.negotiator.settings import intervals_from, settings_from
from roost.node.cron import SCHEDD_CRON, STARTD_CRON, cron_problems, slot_problems
from roost.node.plan import NodePlan, make_plan
from roost.runtime.bus.budget import time_max_of
from roost.runtime.log_settings import log_problems, master_log_problems
from roost.runtime.master_settings import daemon_problems, master_settings
from roost.runtime.web_settings import web_problems
from roost.schedd.configured import queue_settings
from roost.startd.layout.check import ASSUMED, check_layout
from roost.startd.layout.resources import inventory_problems
from roost.startd.slot_ad.ad import host_identity
from roost.starter.unit_environment import check as check_unit_environment

#: Reads a part of a configuration: it yields problems, and a ConfigError that it raises is one, too.
Reader = Callable[[Config], Iterator[Diagnostic]]

_MACHINE: Final = "machine"


def _master(config: Config) -> Iterator[Diagnostic]:
    master_settings(config)
    yield from daemon_problems(config)
    yield from master_log_problems(config)


def _requests(config: Config) -> Iterator[Diagnostic]:
    time_max_of(config)
    yield from ()


def _matchmaker(config: Config) -> Iterator[Diagnostic]:
    intervals_from(config)
    settings_from(config)
    yield from ()


def _defragmenter(config: Config) -> Iterator[Diagnostic]:
    if is_wanted(config):
        defrag_policy(config, host=_MACHINE)
    yield from ()


def _queue(config: Config) -> Iterator[Diagnostic]:
    yield from queue_settings(config, name=_MACHINE).problems
    access(config, "SCHEDD")


def _slots(config: Config, reading: HostReading) -> Iterator[Diagnostic]:
    yield from _updates(config)
    yield from inventory_problems(config)
    yield from check_layout(config, reading)
    identity = host_identity(config, machine=_MACHINE, address=f"<{_MACHINE}>", started_at=0, platform={})
    for each in (reading, ASSUMED):
        plan = make_plan(config, each, identity, zone_offset_s=0)
        if isinstance(plan, NodePlan):
            yield from slot_problems(config, {slot.number for slot in plan.slots.ids})
            check_unit_environment(plan.slots.resources.names, config)
            return


def _updates(config: Config) -> Iterator[Diagnostic]:
    interval_s, lifetime_s = config.get_int("UPDATE_INTERVAL"), config.get_int("CLASSAD_LIFETIME", subsys="COLLECTOR")
    if interval_s >= lifetime_s:
        message = f"the ads of slots are dropped after CLASSAD_LIFETIME ({lifetime_s} s), before the next update"
        remedy = f"Write less than {lifetime_s}, or raise CLASSAD_LIFETIME."
        yield config.problem(Code.OUT_OF_RANGE, "UPDATE_INTERVAL", message, remedy=remedy, severity=Severity.WARNING)


def _readers(role: str, reading: HostReading) -> tuple[Reader, ...]:
    """The readers of a role's daemon; "master" is one of the roles."""
    found: Mapping[str, tuple[Reader, ...]] = {
        "master": (_master,),
        "central": (_requests, _matchmaker, _defragmenter),
        "schedd": (_requests, _queue, partial(cron_problems, manager=SCHEDD_CRON)),
        "web": (web_problems,),
        "registrar": (),
        "node": (partial(_slots, reading=reading), partial(cron_problems, manager=STARTD_CRON)),
    }
    return found[role] if role == "master" else (partial(log_problems, role=role), *found[role])


#: Role to the daemon name under which it reads the configuration.
SUBSYSTEMS: Final = {
    "master": "MASTER",
    "central": "COLLECTOR",
    "schedd": "SCHEDD",
    "node": "STARTD",
    "web": "COLLECTOR",
    "registrar": "COLLECTOR",
}
ROLES: Final = tuple(SUBSYSTEMS)


def problems(config: Config, roles: tuple[str, ...] = ROLES, reading: HostReading = ASSUMED) -> list[Diagnostic]:
    """All problems of a configuration for daemons of these roles, by place.

    `reading`: the machine that is divided into slots; a problem that a larger one would not have counts as a warning.
    """
    found = check(config)
    return sorted([*found, *further_problems(config, found, roles, reading)], key=by_place)


def further_problems(
    config: Config, found: Sequence[Diagnostic], roles: tuple[str, ...] = ROLES, reading: HostReading = ASSUMED
) -> list[Diagnostic]:
    """Problems that daemons find beyond those that `roost.config.check` has `found`."""
    told = {(one.name, one.span) for one in found if one.severity is Severity.ERROR}
    unreadable = any(one.code == Code.BAD_EXPRESSION for one in found)
    further: dict[Diagnostic, None] = {}
    for role in roles:
        seen = replace(config, subsystem=SUBSYSTEMS[role])
        for reader in _readers(role, reading):
            # A value of the wrong type may stop several readers.
            further |= dict.fromkeys(one for one in _read(reader, seen, unreadable) if (one.name, one.span) not in told)
    return list(further)


def _read(reader: Reader, config: Config, unreadable: bool) -> Iterator[Diagnostic]:
    try:
        yield from reader(config)
    except ConfigError as error:
        yield error.diagnostic
    except ParseError as error:
        if not unreadable:
            yield diagnostic(Code.BAD_EXPRESSION, str(error), Span("<configuration>"))


def errors(config: Config, roles: tuple[str, ...] = ROLES, reading: HostReading = ASSUMED) -> list[Diagnostic]:
    """The `problems` that keep the daemons from starting."""
    return [one for one in problems(config, roles, reading) if one.severity is Severity.ERROR]
