"""The session of this process, at most one at a time."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

from roost.compat.drmaa.core.codes import Code, DrmaaError

if TYPE_CHECKING:
    from roost.compat.drmaa.core.session import ActiveSession

_lock = threading.Lock()
_session: ActiveSession | None = None


def begin(contact: str | None) -> None:
    """Begin the session. Raises DrmaaError."""
    from roost.compat.drmaa.core.session import ActiveSession

    global _session
    with _lock:
        if _session is not None:
            raise DrmaaError(Code.ALREADY_ACTIVE_SESSION)
        _session = ActiveSession(contact, _warn)


def end() -> None:
    """End it. Raises DrmaaError."""
    global _session
    with _lock:
        session, _session = _session, None
    if session is None:
        raise DrmaaError(Code.NO_ACTIVE_SESSION)
    session.close()


def present() -> ActiveSession | None:
    """The session; None for none."""
    return _session


def active() -> ActiveSession:
    """The session. Raises DrmaaError."""
    session = _session
    if session is None:
        raise DrmaaError(Code.NO_ACTIVE_SESSION)
    return session


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
