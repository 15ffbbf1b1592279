"""The session of this process: there is one at a time."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

from roost.compat.drmaa.core.codes import Code, DrmaaError

if TYPE_CHECKING:
    from roost.compat.drmaa.core.session import Session

_lock = threading.Lock()
_session: Session | None = None


def begin(contact: str | None) -> None:
    """Begin the session. Raises DrmaaError."""
    from roost.compat.drmaa.core.session import Session

    global _session
    with _lock:
        if _session is not None:
            raise DrmaaError(Code.ALREADY_ACTIVE_SESSION)
        _session = Session(contact, _warn)


def end() -> None:
    """End it. Raises DrmaaError."""
    global _session
    with _lock:
        session, _session = _session, None
    if session is None:
        raise DrmaaError(Code.NO_ACTIVE_SESSION)
    session.close()


def present() -> Session | None:
    """The session; None for none."""
    return _session


def active() -> Session:
    """The session. Raises DrmaaError."""
    session = _session
    if session is None:
        raise DrmaaError(Code.NO_ACTIVE_SESSION)
    return session


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
