"""When a queue says what it wants."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from roost.runtime.queue.demands import Demands


class Daemon:
    """A queue that begins."""

    def __init__(self) -> None:
        self.told = 0

    def spawn(self, work: Any) -> None:
        """Words are sent."""
        work.close()
        self.told += 1


def test_a_queue_asks_for_nothing_before_it_hears_the_answer() -> None:
    async def begins() -> list[int]:
        daemon, told = Daemon(), []
        demands = Demands(cast(Any, daemon))
        demands.soon()
        await asyncio.sleep(0)
        told.append(daemon.told)
        demands.begin()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return [*told, daemon.told]

    assert asyncio.run(begins()) == [0, 1]
