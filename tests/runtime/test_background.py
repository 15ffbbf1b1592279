"""Tasks in the background of a daemon's work: failures are logged, and an end waits for what it calls off, but not
forever."""

from __future__ import annotations

import asyncio
import logging

import pytest

from roost.runtime.background import Background

LOG = logging.getLogger("roost.test")


def test_a_failure_is_logged_and_leaves_other_tasks_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> None:
        raise ValueError("no such thing")

    async def scenario() -> str:
        background = Background(LOG)
        other = background.spawn(asyncio.sleep(0.01, "done"))
        await asyncio.wait([background.spawn(fails())])
        return str(await other)

    assert asyncio.run(scenario()) == "done"
    (record,) = caplog.records
    assert (record.getMessage(), record.levelname) == ("internal error", "ERROR")
    assert record.exc_info is not None and str(record.exc_info[1]) == "no such thing"


def test_the_end_waits_for_tasks_and_names_those_that_do_not_stop(caplog: pytest.LogCaptureFixture) -> None:
    ended = []

    async def tidies_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("tidy")

    async def refuses() -> None:
        while True:
            try:
                await asyncio.sleep(0.2)
                return
            except asyncio.CancelledError:
                continue

    async def scenario() -> None:
        background = Background(LOG)
        background.spawn(tidies_up(), "tidy")
        stuck = background.spawn(refuses(), "stuck")
        await asyncio.sleep(0)
        await background.end(0.05)
        assert not stuck.done()
        await stuck

    asyncio.run(scenario())
    assert ended == ["tidy"]
    (record,) = caplog.records
    assert "abandoned" in record.getMessage() and "stuck" in record.getMessage()
