"""What daemons have in common."""

from __future__ import annotations

import asyncio
import logging

import pytest

from roost.runtime import role


@pytest.mark.parametrize("end", ["fails", "cancelled", "done"])
def test_a_daemon_does_not_outlive_work_that_must_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    """A matchmaker that gave no slot any more, or a machine that told nobody anything, looked as if all were well."""
    given_up: list[bool] = []
    monkeypatch.setattr(role, "give_up", lambda: given_up.append(True))

    async def work() -> None:
        if end == "done":
            return
        await asyncio.sleep(0 if end == "fails" else 1000)
        raise ValueError("nobody foresaw it")

    async def main() -> None:
        task = asyncio.create_task(work(), name="matchmaking")
        role.must_go_on(task)
        await asyncio.sleep(0)
        if end == "cancelled":
            task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0)

    with caplog.at_level(logging.CRITICAL):
        asyncio.run(main())
    assert given_up == [True] * (end == "fails")
    told = ["internal error: matchmaking failed; the daemon starts again"] * (end == "fails")
    assert [record.getMessage() for record in caplog.records] == told


def test_a_daemon_does_not_outlive_a_timer_that_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The slot whose timer it was could be half changed, and the daemon went on."""
    given_up: list[bool] = []
    monkeypatch.setattr(role, "give_up", lambda: given_up.append(True))

    async def work() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(role._callback_failed)
        loop.call_later(0, [].pop)
        await asyncio.sleep(0.01)

    with caplog.at_level(logging.ERROR):
        asyncio.run(work())
    assert given_up == [True] and "the daemon starts again" in caplog.text
