"""The queue's daemon between its core, the disk, and users."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from roost.config import MemoryHost, load_text
from roost.runtime.bus.client import Bus
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.home import Home
from roost.runtime.identity import user_name
from roost.runtime.queue.daemon import ScheddDaemon
from roost.runtime.queue.database.kept import LogPiece
from roost.runtime.queue.log_files import Appended, LogFiles
from roost.runtime.role import RoleContext
from roost.schedd import events as ev
from roost.wire.subjects import Role
from tests.runtime.kit import run
from tests.runtime.test_bus import Place
from tests.schedd.submit.machine import sleep


def test_what_an_answer_tells_is_in_the_users_event_log_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, begun, may = tmp_path / "log", threading.Event(), threading.Event()
    append = LogFiles.append

    def slow(files: LogFiles, pieces: Iterable[LogPiece], *, again: bool = False) -> Appended:
        """As on a file server that is slow."""
        if not again:
            begun.set()
            may.wait()
        return append(files, pieces, again=again)

    monkeypatch.setattr(LogFiles, "append", slow)
    # Logs that hang are not waited for; this one only takes its time, however long that is on this machine.
    monkeypatch.setattr("roost.runtime.queue.user_logs.PATIENCE_S", 3600.0)
    monkeypatch.setattr("roost.runtime.queue.daemon.ANSWER_ANYWAY_S", 3600.0)
    (tmp_path / "servers").mkdir()
    place, home = Place(tmp_path / "servers"), Home(tmp_path / "home")
    home.make()

    async def work() -> None:
        settings = place.settings(Role.SCHEDD, "q")
        bus = await Bus.connect(settings)
        context = RoleContext(role="schedd", name="q", home=home, roots=None, bus=settings)
        daemon = ScheddDaemon(context, load_text("", MemoryHost()), bus)
        await daemon.start()
        plan = sleep(f"log = {log}\nhold = true\nqueue\n")
        daemon.feed(ev.Submitted(clusters=(plan,), owner=user_name(), reply_to=""))
        answer = asyncio.create_task(daemon.kept())
        await asyncio.to_thread(begun.wait)
        await asyncio.sleep(0)
        assert not answer.done() and not log.exists()
        may.set()
        await answer
        assert log.read_text().startswith("000 ")
        await daemon.stop(DaemonEnding.FAST)
        await bus.close()

    try:
        run(work())
    finally:
        may.set()
        place.server.stop()


def test_of_what_could_not_be_kept_nothing_is_shown_or_offered(tmp_path: Path) -> None:
    """The database goes between the look at it before a request and the commit."""
    (tmp_path / "servers").mkdir()
    place, home = Place(tmp_path / "servers"), Home(tmp_path / "home")
    home.make()

    async def work() -> None:
        settings = place.settings(Role.SCHEDD, "q")
        bus = await Bus.connect(settings)
        context = RoleContext(role="schedd", name="q", home=home, roots=None, bus=settings)
        daemon = ScheddDaemon(context, load_text("", MemoryHost()), bus)
        await daemon.start()
        book = daemon.queue.book
        daemon.feed(ev.Submitted(clusters=(sleep("queue\n"),), owner=user_name(), reply_to=""))
        await daemon.kept()
        for path in home.database.parent.glob("queue.sqlite*"):
            path.unlink()
        for _ in range(2):
            daemon.feed(ev.Submitted(clusters=(sleep("queue 3\n"),), owner=user_name(), reply_to=""))
        assert [*book.clusters] == [1, 2, 3]
        while not daemon.watch.damage:
            await asyncio.sleep(0.01)
        assert [*book.clusters] == [1]
        offered = [group for groups in daemon.queue.offered(context.clock.now()).values() for group in groups]
        assert [(group.cluster, group.count) for group in offered] == [(1, 1)]
        await daemon.stop(DaemonEnding.FAST)
        await bus.close()

    try:
        run(work())
    finally:
        place.server.stop()
