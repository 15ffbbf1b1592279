"""``qselect``: the names of queue instances."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.option_tables import options
from roost.cli.gridengine.selecting import Wanted, select, wanted_by
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import taken, usage

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

OPTIONS: Final = options(
    """
l resource_list | request the given resources
pe pe_list | select only queues with one of these parallel environments
q wc_queue_list | print information on given queue
qs {a|c|d|o|s|u|A|C|D|E|S} | selects queues which are in the given state(s)
U user_list | select only queues where these users have access
"""
)


def run(name: str, arguments: list[str]) -> int:
    """Run ``qselect``."""
    try:
        given, rest = taken(name, arguments, OPTIONS)
    except Failure as failure:
        raise Failure(f"{usage(name, OPTIONS)}{str(failure).removeprefix('qselect: ')}") from None
    if rest:
        raise Failure(f'{usage(name, OPTIONS)}invalid option argument "{rest[0]}"')
    wanted = wanted_by(given)
    return ask(name, lambda pool: _print(pool, wanted))


def _print(pool: Pool, wanted: Wanted) -> int:
    found = select(pool, wanted)
    sys.stdout.writelines(f"{one.name}\n" for one in found)
    return 0 if found else FAILED
