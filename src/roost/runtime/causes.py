"""The request that a daemon carries out at present.

It is known to all that is called while the request is handled, and to the tasks and timers that this begins. So a
record that is made on the way can name the request, without each function between having it as an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_REQUEST: Final[ContextVar[str]] = ContextVar("request", default="")


@contextmanager
def caused_by(request: str) -> Iterator[None]:
    """What happens within is caused by the request of this id; "" for none."""
    token = _REQUEST.set(request)
    try:
        yield
    finally:
        _REQUEST.reset(token)


def present_request() -> str:
    """The id of the request that is carried out; "" where none is."""
    return _REQUEST.get()
