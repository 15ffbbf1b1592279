"""Jobs that users are connected to: who may use a session, how long it stays, and what a later daemon knows of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from roost.classad import ClassAd
from roost.runtime.node import sessions as module
from roost.runtime.node.sessions import Sessions
from roost.runtime.processes.spawn_order import ProcessEnd, RelayOrder

NAME = "0123456789abcdef" * 2
JOB = ClassAd({"ClusterId": 7, "ProcId": 0, "Owner": "ann", "CellSession": NAME, "CellTerminal": "31x97"})


def test_only_its_owner_uses_a_session(tmp_path: Path) -> None:
    async def use() -> None:
        sessions = Sessions(tmp_path)
        relay = sessions.relay(JOB, lambda: None)
        assert relay == RelayOrder(directory=tmp_path / NAME, terminal=(31, 97))
        assert sessions.asked(NAME, "ann") is not None
        assert sessions.asked(NAME, "bob") is None and sessions.asked("f" * 32, "ann") is None

    asyncio.run(use())


@pytest.mark.parametrize("name", ["", "../../etc", "x" * 32, NAME + "0"])
def test_what_is_no_name_makes_no_session(tmp_path: Path, name: str) -> None:
    assert Sessions(tmp_path).relay(ClassAd({"Owner": "ann", "CellSession": name}), lambda: None) is None
    assert not list(tmp_path.iterdir())


def test_a_later_daemon_knows_how_a_job_has_ended(tmp_path: Path) -> None:
    async def use() -> None:
        sessions = Sessions(tmp_path)
        sessions.relay(JOB, lambda: None)
        sessions.ended(JOB, ProcessEnd(key="k", exit_code=5))
        later = Sessions(tmp_path)
        later.load()
        later.taken_over()
        found = later.asked(NAME, "ann")
        assert found is not None and found.ended.is_set() and found.end.exit_code == 5
        later.leave(NAME)
        assert not list(tmp_path.iterdir())

    asyncio.run(use())


def test_a_job_that_goes_on_is_not_taken_for_ended(tmp_path: Path) -> None:
    async def use() -> None:
        Sessions(tmp_path).relay(JOB, lambda: None)
        later = Sessions(tmp_path)
        later.load()
        later.goes_on(JOB, lambda: None)
        later.taken_over()
        found = later.asked(NAME, "ann")
        assert found is not None and not found.ended.is_set()
        lost = Sessions(tmp_path)
        lost.load()
        lost.taken_over()
        found = lost.asked(NAME, "ann")
        assert found is not None and found.ended.is_set() and found.end.exit_code is found.end.signal is None

    asyncio.run(use())


def test_a_session_that_no_user_asks_for_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEASE_S", 0.3)
    monkeypatch.setattr(module, "LOOK_S", 0.05)
    killed: list[str] = []

    async def use() -> None:
        sessions = Sessions(tmp_path)
        sessions.relay(JOB, lambda: killed.append("job"))
        watch = asyncio.create_task(sessions.watch())
        for _ in range(10):
            await asyncio.sleep(0.06)
            assert sessions.asked(NAME, "ann") is not None
        while not killed:
            await asyncio.sleep(0.05)
        assert sessions.asked(NAME, "ann") is None and not list(tmp_path.iterdir())
        watch.cancel()

    asyncio.run(use())
