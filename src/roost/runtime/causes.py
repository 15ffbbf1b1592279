"""The request that a daemon is currently carrying out.

It is available to everything that is called while the request is handled, and to tasks and timers started then. A
record can thus name its request without an additional argument in every function.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_REQUEST: Final[ContextVar[str]] = ContextVar("request", default="")


@contextmanager
def caused_by(request: str) -> Iterator[None]:
    """Everything within is caused by the request with this id; "" for none."""
    token = _REQUEST.set(request)
    try:
        yield
    finally:
        _REQUEST.reset(token)


def present_request() -> str:
    """The id of the request being carried out; "" for none."""
    return _REQUEST.get()
