"""The node's lines to the shepherds that it started: the end of a job comes over one, and then the next order may go.

A shepherd whose job came to its own end is kept for a moment, since a process that is there is had for less than half
the price of another one. One of them is kept for longer: a job that comes to a machine with nothing to do starts at
once. One whose job was stopped or killed is not kept: the daemon does that by the pid of the shepherd, and might still
be doing it.
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

#: How long a shepherd without a job is kept, s, how many are kept longer, and how many jobs one gets in its life.
IDLE_S: Final = 2.0
KEPT: Final = 1
JOBS_MAX: Final = 1000
#: The longest order that a line takes at once.
ORDER_MAX: Final = PACKET_BYTES_MAX - 1


class ShepherdLine:
    """A shepherd at the other end of a socket."""

    def __init__(self, channel: socket.socket, idle: Callable[[ShepherdLine], None]) -> None:
        channel.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._channel: socket.socket | None = channel
        self._idle = idle
        self._jobs = 1
        #: Whose end will be told, and the process that was told of as its shepherd; 0 before the first.
        self._family: Family | None = None
        self.pid = 0
        #: Hears the answer to an order; None for a shepherd that is gone.
        self._answer: Callable[[dict[str, Any] | None], None] | None = None
        #: When it was left without a job, in the loop's time.
        self.idle_since = 0.0
        self._loop.add_reader(channel.fileno(), self._hear)

    @property
    def family(self) -> Family | None:
        """Whose end will be told."""
        return self._family

    @family.setter
    def family(self, family: Family | None) -> None:
        self._family = family
        if family is not None:
            self.pid = family.shepherd

    @property
    def is_open(self) -> bool:
        """Whether the shepherd is there, as far as is known."""
        return self._channel is not None

    def order(self, data: bytes, answer: Callable[[dict[str, Any] | None], None]) -> None:
        """Give a shepherd without a job the next one."""
        assert self._channel is not None
        self._jobs += 1
        self._answer = answer
        try:
            self._channel.send(b"." + data)
        except OSError:
            # It is dead, or as good as that; the reader may not have seen it yet.
            self._gone()

    def close(self) -> None:
        """Talk to it no longer: without a job it exits at once, else when its job has ended."""
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
    """The shepherds without a job."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        #: The one that has waited longest comes first.
        self._lines: deque[ShepherdLine] = deque()
        self._dismissal: asyncio.TimerHandle | None = None
        self._closed = False

    def take(self) -> ShepherdLine | None:
        """The one that came last, if there is one."""
        while self._lines:
            line = self._lines.pop()
            if line.is_open:
                return line
        return None

    def put(self, line: ShepherdLine) -> None:
        """It has nothing to do."""
        if self._closed:
            line.close()
            return
        self._lines.append(line)
        if self._dismissal is None:
            self._dismissal = self._loop.call_later(IDLE_S, self._dismiss)

    def close(self) -> None:
        """Let all of them go, and who comes from now on."""
        self._closed = True
        if self._dismissal is not None:
            self._dismissal.cancel()
        for line in self._lines:
            line.close()
        self._lines.clear()

    def _dismiss(self) -> None:
        """Let those go that have waited long enough."""
        now, self._dismissal = self._loop.time(), None
        self._lines = deque(line for line in self._lines if line.is_open)
        while len(self._lines) > KEPT and now - self._lines[0].idle_since >= IDLE_S:
            self._lines.popleft().close()
        if len(self._lines) > KEPT:
            at = self._lines[0].idle_since + IDLE_S
            self._dismissal = self._loop.call_at(at, self._dismiss)
