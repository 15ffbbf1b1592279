"""What a runner says of its work."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from roost.runtime.node.runner import _told


def _logged(caplog: pytest.LogCaptureFixture, *, called_off: bool) -> list[str]:
    """What is logged of work that fails, though it had got its answer when it was called off."""

    async def work() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise FileNotFoundError("the sandbox is gone")

    async def main() -> None:
        task = asyncio.create_task(work(), name="input of 1.0#1@q")
        task.add_done_callback(_told)
        await asyncio.sleep(0)
        task.cancel()
        if not called_off:
            task.uncancel()
        await asyncio.wait([task])

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    return [record.getMessage() for record in caplog.records]


def test_work_that_fails_is_an_internal_error_unless_it_was_called_off(caplog: pytest.LogCaptureFixture) -> None:
    assert _logged(caplog, called_off=True) == []
    assert _logged(caplog, called_off=False) == ["input of 1.0#1@q: internal error"]
