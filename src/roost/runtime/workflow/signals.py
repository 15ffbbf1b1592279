"""Signals as a queue that a plain loop can wait for."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
from collections import deque
from types import FrameType
from typing import Final

_HEARD: Final = (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD)


class Signals:
    """The signals of this process, in the order of arrival."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._came: deque[int] = deque()
        for end in (self._reader, self._writer):
            end.setblocking(False)

    def listen(self) -> None:
        """From now on, queue signals instead of their default action."""

        def note(number: int, frame: FrameType | None) -> None:
            self._came.append(number)

        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in _HEARD:
            signal.signal(number, note)

    def close(self) -> None:
        """Stop queueing signals."""
        for end in (self._reader, self._writer):
            end.close()

    def wait(self, timeout_s: float) -> None:
        """Wait for a signal, at most that long."""
        select.select([self._reader], [], [], timeout_s)
        with contextlib.suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def take(self) -> int | None:
        """The next signal; None for none."""
        return self._came.popleft() if self._came else None
