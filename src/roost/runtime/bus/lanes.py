"""Requests of many users, served side by side, so that a request that takes long delays its own user alone.

Each user has a lane: `WIDTH` of its requests are served at the same time, further ones wait in the order in which they
came. More than `WAITING_MAX` of them are refused. Users take turns as their requests pause (see `budget`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from roost.runtime.bus.client import Carrier, internal_error
from roost.wire.messages import Answer, Ask, Message
from roost.wire.requests.machine import OF_STREAMS

_log = logging.getLogger("roost.bus")

#: Requests of one user that are served at the same time.
WIDTH: Final = 4
#: Requests of one user that wait for these.
WAITING_MAX: Final = 256

#: Requests that wait for no other: they take no time, or the asker waits for a job meanwhile and asks one at a time.
_BESIDE: Final = OF_STREAMS | {"under-way"}

#: Serves a request: what is asked, the user, the subject to answer on.
Serve = Callable[[Ask, str, str], Awaitable[None]]


class Lanes:
    """The requests to one daemon."""

    def __init__(self, bus: Carrier, serve: Serve) -> None:
        self._bus = bus
        self._serve = serve
        self._waiting: dict[str, deque[tuple[Ask, str]]] = {}
        self._running: dict[str, int] = {}
        #: The subjects that requests are to be answered on.
        self._replies: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, message: Message, sender: str, reply: str) -> None:
        """A request has come."""
        if not isinstance(message, Ask):
            return
        if message.what in _BESIDE:
            self._spawn(self._one(message, sender, reply))
            return
        self._replies.add(reply)
        if self._running.get(sender, 0) < WIDTH:
            self._running[sender] = self._running.get(sender, 0) + 1
            self._spawn(self._work(message, sender, reply))
            return
        waiting = self._waiting.setdefault(sender, deque())
        if len(waiting) < WAITING_MAX:
            waiting.append((message, reply))
            return
        self._replies.discard(reply)
        text = f"{WAITING_MAX} requests of {sender} are already waiting"
        answer = Answer(ok=False, code="busy", text=text, remedy="Wait for their answers and try again.")
        self._spawn(self._bus.answer(reply, answer))

    def has(self, reply: str) -> bool:
        """Whether a request that is to be answered on that subject is being served, or waits."""
        return reply in self._replies

    def close(self) -> None:
        """Serve nothing more."""
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, ask: Ask, sender: str, reply: str) -> None:
        """Serve a request, and those of the same user that wait by then."""
        while True:
            await self._one(ask, sender, reply)
            self._replies.discard(reply)
            waiting = self._waiting.get(sender)
            if not waiting:
                break
            ask, reply = waiting.popleft()
            # Others come first: a request may have been served without a pause.
            await asyncio.sleep(0)
        self._waiting.pop(sender, None)
        self._running[sender] -= 1
        if not self._running[sender]:
            del self._running[sender]

    async def _one(self, ask: Ask, sender: str, reply: str) -> None:
        try:
            await self._serve(ask, sender, reply)
        except Exception as error:
            try:
                await self._bus.answer(reply, internal_error(ask, sender, error))
            except Exception:
                # The requests of the same user that wait are served all the same.
                _log.exception("internal error: %s of %s is not answered", ask.what, sender)
