"""Concurrent requests of many users, arranged so that a long request delays only its own user.

Each user has a lane: `WIDTH` of the user's requests are served concurrently, further ones wait in the order of arrival.
Beyond `WAITING_MAX` waiting requests, more are refused. Users take turns as their requests pause (see `budget`).
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

#: Number of requests of one user that are served concurrently.
WIDTH: Final = 4
#: Maximum number of waiting requests of one user.
WAITING_MAX: Final = 256

#: Requests that never wait: they take no time, or the requester polls for a job with one request at a time.
_BESIDE: Final = OF_STREAMS | {"under-way"}

#: Serves a request: the message, the user, the subject of the answer.
Serve = Callable[[Ask, str, str], Awaitable[None]]


class Lanes:
    """The pending requests to one daemon."""

    def __init__(self, bus: Carrier, serve: Serve) -> None:
        self._bus = bus
        self._serve = serve
        self._waiting: dict[str, deque[tuple[Ask, str]]] = {}
        self._running: dict[str, int] = {}
        #: The subjects of pending answers.
        self._replies: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, message: Message, sender: str, reply: str) -> None:
        """Accept a request."""
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
        text = f"{WAITING_MAX} requests from {sender} are already waiting"
        answer = Answer(ok=False, code="busy", text=text, remedy="Wait for their answers and try again.")
        self._spawn(self._bus.answer(reply, answer))

    def has(self, reply: str) -> bool:
        """Whether a request to be answered on that subject is being served, or waits."""
        return reply in self._replies

    def close(self) -> None:
        """Stop serving requests."""
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, ask: Ask, sender: str, reply: str) -> None:
        """Serve a request, and the waiting ones of the same user."""
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
                # The waiting requests of the same user are still served.
                _log.exception("internal error: %s from %s was not answered", ask.what, sender)
