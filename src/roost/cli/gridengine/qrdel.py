"""``qrdel``: delete advance reservations with their jobs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import ask
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import Option, taken, usage
from roost.wire.requests import cell

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

OPTIONS: Final = (
    Option("f", "they go at once, whatever their jobs do"),
    Option("u", "all reservations of these users", "user_list"),
)
_POSITIONAL: Final = "ar_id_list"


def run(name: str, arguments: list[str]) -> int:
    """Run ``qrdel``."""
    help_ = usage("qrdel", OPTIONS, _POSITIONAL)
    try:
        given, rest = taken("error", arguments, OPTIONS)
    except Failure as failure:
        raise Failure(f"{help_}{failure}", FAILED) from None
    users = [user for each in given if each.name == "u" for user in each.value.split(",") if user]
    wanted = [word for each in rest for word in each.split(",") if word]
    if not users and not wanted:
        raise Failure(f"{help_}ERROR! no option argument", FAILED)
    force = any(each.name == "f" for each in given)
    return ask("qrdel", lambda pool: _delete(pool, wanted, users, force=force))


def _delete(pool: Pool, wanted: Sequence[str], users: Sequence[str], *, force: bool) -> int:
    say, status = sys.stdout.write, 0
    numbers = [int(word) for word in wanted if word.isdecimal() and len(word) < 10]
    rows = pool.ask(cell.DeleteReservations(numbers=tuple(dict.fromkeys(numbers)), users=tuple(users), force=force))
    by_number = {row.number: row for row in rows}
    for word in wanted:
        row = by_number.get(int(word)) if word.isdecimal() else None
        if row is None or row.outcome == "unknown":
            say(f'denied: advance_reservation "{word}" does not exist\n')
            status = FAILED
    for row in rows:
        match row.outcome:
            case "deleted":
                say(f"{pool.user} has deleted advance_reservation {row.number}\n")
            case "registered":
                say(f"{pool.user} has registered the advance_reservation {row.number} for deletion\n")
            case "denied":
                words = f'delete the advance_reservation "{row.number}"'
                say(f"{pool.user} - you do not have the necessary privileges to {words}\n")
                status = FAILED
            case "unknown":
                pass
    if users and not any(row.number not in numbers for row in rows):
        say(f"There is no advance_reservation registered for the following users: {','.join(users)}\n")
        status = FAILED
    return status
