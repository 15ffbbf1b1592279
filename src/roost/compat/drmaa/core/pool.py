"""Connections of a session to its pool: one for each thread with a concurrent call, created on demand.

Exceptions of the pool and of the parts of `qsub` are raised as `DrmaaError`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from roost.cli.pool_connection import Pool, Refused
from roost.cli.terminal import CommandError
from roost.compat.drmaa.core.codes import Code, DrmaaError
from roost.gridengine.commands.errors import Failure

if TYPE_CHECKING:
    from roost.runtime.home import Home

T = TypeVar("T")

#: Codes of refusals by the queue that do not concern the job.
_CODES: Final = {
    "not-permitted": Code.AUTH_FAILURE,
    "permission-denied": Code.AUTH_FAILURE,
    "database-damaged": Code.TRY_LATER,
}


class SessionPool(Pool):
    """A connection whose warnings go to the session."""

    told: Callable[[str], None]

    def warn(self, text: str) -> None:
        """Pass a warning on."""
        self.told(text)


class Connections:
    """The connections of one session."""

    def __init__(self, home: Home, warn: Callable[[str], None]) -> None:
        self._home = home
        self._warn = warn
        self._idle: list[tuple[AbstractContextManager[SessionPool], SessionPool]] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    @contextmanager
    def pool(self) -> Iterator[SessionPool]:
        """A connection for exclusive use by this thread. Raises DrmaaError."""
        with translated():
            held = self._taken()
        try:
            with translated():
                yield held[1]
        except DrmaaError as error:
            if error.code is Code.DRM_COMMUNICATION_FAILURE:
                # The next call connects again.
                held[0].__exit__(None, None, None)
                raise
            self._give_back(held)
            raise
        except BaseException:
            held[0].__exit__(None, None, None)
            raise
        self._give_back(held)

    def _taken(self) -> tuple[AbstractContextManager[SessionPool], SessionPool]:
        with self._lock:
            if self._process != os.getpid():
                # After a fork, the parent's connections belong to the parent.
                self._idle, self._process = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        context: AbstractContextManager[SessionPool] = SessionPool.connected(self._home)
        pool = context.__enter__()
        pool.told = self._warn
        return context, pool

    def _give_back(self, held: Any) -> None:
        with self._lock:
            self._idle.append(held)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for context, _ in idle:
            context.__exit__(None, None, None)


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors as DrmaaError."""
    try:
        yield
    except Refused as refused:
        code = _CODES.get(refused.answer.code or "", Code.DENIED_BY_DRM)
        raise DrmaaError(code, plain(refused.answer.text or str(refused))) from None
    except Failure as failure:
        raise DrmaaError(Code.DENIED_BY_DRM, plain(str(failure))) from None
    except CommandError as error:
        raise DrmaaError(Code.DRM_COMMUNICATION_FAILURE, str(error)) from None


def plain(text: str) -> str:
    """A message of `qsub`, without the parts that only make sense for a command."""
    return text.removeprefix("Unable to run job: ").removesuffix("\nExiting.").removeprefix("qsub: ").strip()
