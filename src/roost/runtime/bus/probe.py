"""A check of message servers that Roost does not run itself, before daemons begin to wait for them.

Daemons wait indefinitely for servers that are not up yet, and say so only in their logs. The command that starts them
says so at once; and it fails if the servers refuse the account, since waiting cannot help then.
"""

from __future__ import annotations

from collections.abc import Iterable

from roost.runtime.bus.command_client import Line
from roost.runtime.bus_settings import BusError, BusSettings
from roost.runtime.home import HomeError


def probe(accounts: Iterable[tuple[str, BusSettings]], file: str) -> str:
    """Why daemons, given by their roles, cannot reach the servers; "" if they can.

    `file` is the source of the accounts. Raises HomeError if the servers refuse one.
    """
    for role, settings in accounts:
        try:
            Line.connect(settings).close()
        except BusError as error:
            if "uthoriz" in str(error) or "uthentic" in str(error):
                where = file or "the accounts file named by NATS_CREDENTIALS, which is not set"
                raise HomeError(
                    f"NATS_SERVERS: {', '.join(settings.urls)} reject {role} as user "
                    f"{settings.user or 'nobody'!r}; correct the user and password in {where}"
                ) from None
            return (
                f"NATS_SERVERS: cannot reach any of {', '.join(settings.urls)}: "
                f"{str(error).rpartition(': ')[2]}; the daemons wait until one is reachable"
            )
    return ""
