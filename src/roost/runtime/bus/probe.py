"""A check of message servers that Roost does not run itself, before daemons begin to wait for them.

Daemons wait as long as it takes for servers that are not up yet, and say so only in their logs. The command that
starts them says so at once; and it fails if the servers refuse the account, since waiting cannot help then.
"""

from __future__ import annotations

from collections.abc import Iterable

from roost.runtime.bus.command_client import Line
from roost.runtime.bus.settings import BusError, BusSettings
from roost.runtime.home import HomeError


def probe(accounts: Iterable[tuple[str, BusSettings]], file: str) -> str:
    """Why the servers cannot be reached by daemons, given by their roles; "" if they can.

    `file` is where the accounts are from. Raises HomeError if the servers refuse one.
    """
    for role, settings in accounts:
        try:
            Line.connect(settings).close()
        except BusError as error:
            if "uthoriz" in str(error) or "uthentic" in str(error):
                where = file or "a file with accounts that NATS_CREDENTIALS names; it is not set"
                raise HomeError(
                    f"NATS_SERVERS: {', '.join(settings.urls)} refuse {role} as {settings.user or 'nobody'!r}: fix "
                    f"user and password in {where}"
                ) from None
            return (
                f"NATS_SERVERS: none of {', '.join(settings.urls)} can be reached: {str(error).rpartition(': ')[2]}; "
                "the daemons wait until one can be reached"
            )
    return ""
