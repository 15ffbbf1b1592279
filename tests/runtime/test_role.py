"""What daemons have in common."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from roost.runtime import role
from roost.runtime.home import Home


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
    told = ["internal error: matchmaking failed; the daemon restarts"] * (end == "fails")
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
    assert given_up == [True] and "the daemon restarts" in caplog.text


def test_a_disk_that_fails_while_a_daemon_starts_is_named_and_no_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    home.make()
    told: list[str] = []

    class Failing:
        async def start(self) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(home.run / "secret"))

    class Nothing:
        @classmethod
        async def connect(cls, settings: Any) -> Any:
            return None

    monkeypatch.setattr(role, "Bus", Nothing)
    loggers = logging.getLogger()
    handlers, level, hook = loggers.handlers[:], loggers.level, sys.excepthook
    context = role.RoleContext(role="schedd", name="q", home=home, roots=None, bus=cast("Any", None))
    try:
        status = role.run_role(context, lambda *_: cast("Any", Failing()), told.append)
    finally:
        for each in set(loggers.handlers) - set(handlers):
            loggers.removeHandler(each)
            each.close()
        loggers.handlers[:] = handlers
        loggers.setLevel(level)
        logging.captureWarnings(False)
        sys.excepthook = hook
    text = f"cannot start: {home.run}/secret: Input/output error"
    assert status == 71
    assert f"ERROR roost.role: {text}; the master tries again\n" in (home.log / "schedd.log").read_text()
    assert "internal error" not in (home.log / "schedd.log").read_text()
    assert home.problem("schedd") == text
    assert told == [], "the master tries again as long as it takes"
