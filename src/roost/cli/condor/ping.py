"""``condor_ping``: make a request to the pool at each level of authorization, and print the identity under which it was
answered.

READ is a question to the queue, WRITE a change of no jobs, ADMINISTRATOR an evaluation of this machine's policy, which
changes nothing that time would not. Levels that only daemons have are refused with the reason: daemons authenticate
with the message servers, and no command can act as one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, NamedTuple

from roost.cli.condor.asking import PLACE_OPTIONS, DaemonLocation
from roost.cli.condor.errors import UsageError
from roost.cli.condor.options import Option, given
from roost.cli.pool_connection import Pool, Refused
from roost.wire.requests import queue
from roost.wire.requests.machine import Poll

OPTIONS: Final = (
    *PLACE_OPTIONS,
    Option("quiet", "print nothing; only set the exit status", least=1),
    Option("table", "print one line for each level", least=2),
    Option("verbose", "print all details", least=1),
    Option("type", "daemon to query; all daemons of a pool use the same credentials", takes="NAME", least=2),
    Option("address", "accepted, has no effect", takes="ADDRESS", least=1),
    Option("debug", "accepted, has no effect", least=1),
)
_OF_DAEMONS: Final = ("DAEMON", "NEGOTIATOR", "ADVERTISE_MASTER", "ADVERTISE_STARTD", "ADVERTISE_SCHEDD", "CLIENT")


class _Level(NamedTuple):
    """A level, its command number in HTCondor, and the request made at it."""

    number: int
    ask: Callable[[Pool], object]


_LEVELS: Final = {
    "READ": _Level(60020, lambda pool: pool.ask(queue.Summary())),
    "WRITE": _Level(60021, lambda pool: pool.ask(queue.Act(action="vacate", constraint="false"))),
    "ADMINISTRATOR": _Level(60023, lambda pool: pool.ask(Poll(), machine=str(pool.contact["node"]))),
}


class _Result(NamedTuple):
    level: str
    is_allowed: bool
    user: str
    why: str = ""


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_ping``."""
    place, flags, levels = DaemonLocation(), set(), []
    for option in given(arguments, OPTIONS):
        if place.take(option):
            continue
        if option.name == "":
            levels += [*_LEVELS, *_OF_DAEMONS] if option.value.upper() == "ALL" else [option.value.upper()]
        else:
            flags.add(option.name)
    unknown = next((each for each in levels if each not in (*_LEVELS, *_OF_DAEMONS)), "")
    if unknown:
        raise UsageError(
            f"ERROR: {unknown} is not a level; the levels are {', '.join((*_LEVELS, *_OF_DAEMONS))} and ALL"
        )
    if not levels:
        # As in HTCondor, which uses the lowest level.
        levels = ["WRITE"]
    results = place.ask(lambda pool: [_asked(pool, level) for level in levels], lost="ERROR: couldn't locate the pool")
    if "quiet" not in flags:
        _print(results, flags)
    return int(not all(each.is_allowed for each in results))


def _asked(pool: Pool, level: str) -> _Result:
    user = f"{pool.user}@{pool.contact['uid_domain']}"
    if level in _OF_DAEMONS:
        return _Result(level, False, user, "daemons authenticate with the message servers")
    try:
        _LEVELS[level].ask(pool)
    except Refused as refused:
        return _Result(level, False, user, str(refused))
    return _Result(level, True, user)


def _print(results: list[_Result], flags: set[str]) -> None:
    if "table" in flags:
        sys.stdout.write("         Instruction Authentication Encryption Integrity Decision Identity\n")
        for one in results:
            decision = "ALLOW" if one.is_allowed else "DENY"
            sys.stdout.write(f"{one.level:>20} {'NATS':>14} {'none':>10} {'none':>9} {decision:>8} {one.user}\n")
        return
    for one in results:
        if one.is_allowed:
            sys.stdout.write(
                f"{one.level} command using (no encryption, no integrity, and NATS) succeeded as {one.user} "
                "to schedd.\n"
            )
        else:
            sys.stdout.write(f"{one.level} failed!\n{one.why}\n")
        if "verbose" in flags:
            number = _LEVELS[one.level].number if one.level in _LEVELS else 0
            sys.stdout.write(
                f"Command:                   {number} ({one.level})\nAuthentication:            NATS\n"
                f"Authorized:                {'TRUE' if one.is_allowed else 'FALSE'}\n"
                f"Remote Mapping:            {one.user}\n"
            )
