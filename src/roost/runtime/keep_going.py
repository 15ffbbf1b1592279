"""Work that is taken up again after an unforeseen failure, where its failing leaves nothing half changed.

Where memory may be half changed, the daemon ends instead and is started again (`role.must_go_on`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

#: Pause before work that failed is taken up again, s; it doubles with each failure up to the longest.
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 300.0


async def keep_going(
    work: Callable[[], Awaitable[None]],
    name: str,
    log: logging.Logger,
    *,
    first_s: float = FIRST_PAUSE_S,
    longest_s: float = LONGEST_PAUSE_S,
) -> None:
    """Do some work until it is done; after a failure begin it anew.

    Work that went well for longer than the longest pause counts as recovered: its next failure costs the first pause.
    """
    loop, pause_s = asyncio.get_running_loop(), first_s
    while True:
        began = loop.time()
        try:
            await work()
        except Exception:
            if loop.time() - began > longest_s:
                pause_s = first_s
            log.exception("internal error: %s failed; it is taken up again in %g s", name, pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, longest_s)
        else:
            return
