"""How the bus is reached, and that it is not: apart from the bus itself, for commands need no more."""

from __future__ import annotations

import os
from typing import NamedTuple


class BusError(Exception):
    """Nobody answers, or the bus cannot be reached; the text says what to do."""


class NobodyThere(BusError):
    """Nobody listens where something was asked."""


class NoAnswer(BusError):
    """Somebody listens, or did, and has not answered in time."""


class Forgotten(NoAnswer):
    """Somebody had a request, and was restarted before it was answered."""


class BusSettings(NamedTuple):
    """How the bus is reached."""

    urls: tuple[str, ...]
    pool: str
    #: Who this is; the last token of everything that it sends.
    name: str
    user: str = ""
    password: str = ""


def new_request_id() -> str:
    """An id by which the logs name a request."""
    return os.urandom(4).hex()
