"""How the bus is reached, and that it is not: apart from the bus itself, for commands need no more."""

from __future__ import annotations

import os
from typing import NamedTuple


class BusError(Exception):
    """There is no answer, or the bus cannot be reached; the text says what to do."""


class NobodyThere(BusError):
    """There is no listener for the subject of a request."""


class NoAnswer(BusError):
    """There is or was a listener, which has not answered in time."""


class Forgotten(NoAnswer):
    """The daemon that had the request was restarted before it answered."""


class BusSettings(NamedTuple):
    """How the bus is reached."""

    urls: tuple[str, ...]
    pool: str
    #: The name of this connection's user; the last token of every subject on which it publishes.
    name: str
    user: str = ""
    password: str = ""


def new_request_id() -> str:
    """An id by which the logs name a request."""
    return os.urandom(4).hex()
