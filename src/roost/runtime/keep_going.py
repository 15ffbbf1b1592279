"""Restarting work after an unforeseen failure, if the failure leaves nothing half changed.

If memory may be half changed, the daemon exits instead and is restarted (`role.must_go_on`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

#: Pause before failed work is restarted, s; it doubles with each failure up to the maximum.
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
    """Do some work until it is done; restart it after a failure.

    Work that ran for longer than the maximum pause counts as recovered: its next failure costs the first pause.
    """
    loop, pause_s = asyncio.get_running_loop(), first_s
    while True:
        began = loop.time()
        try:
            await work()
        except Exception:
            if loop.time() - began > longest_s:
                pause_s = first_s
            log.exception("internal error: %s failed; it resumes in %g s", name, pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, longest_s)
        else:
            return
