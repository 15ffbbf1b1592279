"""A progress counter, and waiting until it reaches a number."""

from __future__ import annotations

import asyncio


class Progress:
    """A number that grows."""

    def __init__(self) -> None:
        self.at = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def advance(self, to: int) -> None:
        """Advance to `to`."""
        self.at = max(self.at, to)
        due = [each for each in self._waiting if each[0] <= self.at]
        self._waiting = [each for each in self._waiting if each[0] > self.at]
        for _, future in due:
            if not future.done():
                future.set_result(None)

    async def reached(self, number: int) -> None:
        """Wait until it reaches `number`."""
        if number > self.at:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((number, future))
            await future
