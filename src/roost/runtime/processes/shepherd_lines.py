"""The node's connections to the shepherds that it started: they report the end of a job, and then carry the next order.

A shepherd whose job ended by itself is kept for a moment, because reusing a process costs less than half the price of a
new one. One of them is kept for longer, so that a job that arrives at an idle machine starts at once. A shepherd whose
job was suspended or killed is not kept: the daemon does that by the pid of the shepherd, and might still be doing it.
"""

from __future__ import annotations

import asyncio
import marshal
import socket
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from roost.runtime.processes.shepherd.system import PACKET_BYTES_MAX

if TYPE_CHECKING:
    from roost.runtime.processes.family import Family

#: How long an idle shepherd is kept, s, how many are kept longer, and how many jobs one runs in its life.
IDLE_S: Final = 2.0
KEPT: Final = 1
JOBS_MAX: Final = 1000
#: Maximum size of an order that the connection accepts at once.
ORDER_MAX: Final = PACKET_BYTES_MAX - 1


class ShepherdLine:
    """A shepherd at the other end of a socket."""

    def __init__(self, channel: socket.socket, idle: Callable[[ShepherdLine], None]) -> None:
        channel.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._channel: socket.socket | None = channel
        self._idle = idle
        self._jobs = 1
        #: The run whose end will be reported, and the reported shepherd process; 0 before the first.
        self._family: Family | None = None
        self.pid = 0
        #: Called with the answer to an order; None for a shepherd that is gone.
        self._answer: Callable[[dict[str, Any] | None], None] | None = None
        #: When it became idle, on the loop's clock.
        self.idle_since = 0.0
        self._loop.add_reader(channel.fileno(), self._hear)

    @property
    def family(self) -> Family | None:
        """Set the run whose end will be reported."""
        return self._family

    @family.setter
    def family(self, family: Family | None) -> None:
        self._family = family
        if family is not None:
            self.pid = family.shepherd

    @property
    def is_open(self) -> bool:
        """Whether the shepherd is alive, as far as is known."""
        return self._channel is not None

    def order(self, data: bytes, answer: Callable[[dict[str, Any] | None], None]) -> None:
        """Give an idle shepherd the next order."""
        assert self._channel is not None
        self._jobs += 1
        self._answer = answer
        try:
            self._channel.send(b"." + data)
        except OSError:
            # It is dead, or almost; the reader may not have noticed yet.
            self._gone()

    def close(self) -> None:
        """Close the connection: an idle shepherd exits at once, any other when its job has ended."""
        channel, self._channel = self._channel, None
        if channel is not None:
            self._loop.remove_reader(channel.fileno())
            channel.close()

    def _hear(self) -> None:
        assert self._channel is not None
        try:
            data = self._channel.recv(PACKET_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._gone()
            return
        fields, answer = marshal.loads(data), self._answer
        if answer is not None:
            self._answer = None
            answer(fields)
        elif self.family is not None and fields.get("final"):
            self._ended(self.family, fields)

    def _ended(self, family: Family, fields: dict[str, Any]) -> None:
        self.family = None
        if family.is_touched or self._jobs >= JOBS_MAX:
            self.close()
        else:
            self.idle_since = self._loop.time()
            self._idle(self)
        family.told(fields)

    def _gone(self) -> None:
        self.close()
        answer, self._answer = self._answer, None
        family, self.family = self.family, None
        if answer is not None:
            answer(None)
        elif family is not None:
            family.shepherd_gone()


class IdleShepherds:
    """The idle shepherds."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        #: Longest idle first.
        self._lines: deque[ShepherdLine] = deque()
        self._dismissal: asyncio.TimerHandle | None = None
        self._closed = False

    def take(self) -> ShepherdLine | None:
        """Take the one that became idle last, if any."""
        while self._lines:
            line = self._lines.pop()
            if line.is_open:
                return line
        return None

    def put(self, line: ShepherdLine) -> None:
        """Add an idle one."""
        if self._closed:
            line.close()
            return
        self._lines.append(line)
        if self._dismissal is None:
            self._dismissal = self._loop.call_later(IDLE_S, self._dismiss)

    def close(self) -> None:
        """Dismiss all of them, and any added from now on."""
        self._closed = True
        if self._dismissal is not None:
            self._dismissal.cancel()
        for line in self._lines:
            line.close()
        self._lines.clear()

    def _dismiss(self) -> None:
        """Dismiss those that have been idle long enough."""
        now, self._dismissal = self._loop.time(), None
        self._lines = deque(line for line in self._lines if line.is_open)
        while len(self._lines) > KEPT and now - self._lines[0].idle_since >= IDLE_S:
            self._lines.popleft().close()
        if len(self._lines) > KEPT:
            at = self._lines[0].idle_since + IDLE_S
            self._dismissal = self._loop.call_at(at, self._dismiss)
