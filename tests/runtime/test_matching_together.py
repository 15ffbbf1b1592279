"""A job that had to leave its slot, and the slot, are matched together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from roost.classad import ClassAd
from roost.config import MemoryHost, load_text
from roost.runtime.bus.client import Bus
from roost.runtime.central import daemon as central_daemon
from roost.runtime.central.daemon import CentralDaemon
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.home import Home
from roost.runtime.role import RoleContext
from roost.wire import messages as m
from roost.wire.ads import ad_data
from roost.wire.subjects import Role
from tests.runtime.kit import run
from tests.runtime.test_bus import Place


@asynccontextmanager
async def central(folder: Path) -> AsyncIterator[CentralDaemon]:
    (folder / "servers").mkdir()
    place, home = Place(folder / "servers"), Home(folder / "home")
    home.make()
    settings = place.settings(Role.CENTRAL, "c")
    bus = await Bus.connect(settings)
    context = RoleContext(role="central", name="c", home=home, roots=None, bus=settings)
    daemon = CentralDaemon(context, load_text("", MemoryHost()), bus)
    await daemon.start()
    try:
        yield daemon
    finally:
        await daemon.stop(DaemonEnding.FAST)
        await bus.close()
        place.server.stop()


def _slots(*numbers: int, claim: int, **more: Any) -> m.SlotAds:
    state = {"State": "Unclaimed", "Activity": "Idle", "Cpus": 1, "Requirements": True, "Rank": 0.0, **more}
    ads = [ClassAd({"MyType": "Machine", "Name": f"slot{each}@n", "SlotID": each, **state}) for each in numbers]
    ids = {f"slot{each}@n": f"<n>#1#{each}.{claim}#secret" for each in numbers}
    return m.SlotAds(node="n", ads=[ad_data(ad) for ad in ads], claim_ids=ids)


def _demand(serial: int, count: int, **more: Any) -> m.Demand:
    ad = ClassAd({"Owner": "ann", "User": "ann@x", "Requirements": True})
    request = m.ResourceRequest(autocluster=1, ad=ad_data(ad), count=count, job="1.0")
    return m.Demand(schedd="q", submitters={"ann@x": [request]}, serial=serial, **more)


def _matched(daemon: CentralDaemon) -> list[str]:
    assert daemon.last is not None
    return [each.slot for each in daemon.last.matches]


async def _cycled(daemon: CentralDaemon, count: int) -> None:
    while daemon.cycles < count:
        await asyncio.sleep(0.001)


def _busy(user: str) -> dict[str, Any]:
    return {"State": "Claimed", "Activity": "Busy", "RemoteUser": user, "PublicClaimId": "<n>#1#1.1#..."}


LEFT = {"slot1@n": "<n>#1#1.1#..."}
LONG_S = 3600.0


def test_a_cycle_waits_for_the_slot_that_a_job_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with central(tmp_path) as daemon:
            daemon._on_slots(_slots(1, claim=2, **_busy("ann@x")), "n", "")
            daemon._on_slots(_slots(2, claim=1), "n", "")
            daemon._on_demand(_demand(1, 1, left=LEFT), "q", "")
            await asyncio.sleep(0.05)
            daemon._on_slots(_slots(2, claim=1), "n", "")
            await asyncio.sleep(0.05)
            assert daemon.cycles == 0
            daemon._on_slots(_slots(1, claim=3), "n", "")
            await _cycled(daemon, 1)
            assert _matched(daemon) == ["slot1@n"]

    monkeypatch.setattr(central_daemon, "SLOT_HEARD_S", LONG_S)
    run(work())


def test_a_cycle_waits_no_longer_than_that_and_for_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with central(tmp_path) as daemon:
            daemon._on_slots(_slots(1, claim=2, **_busy("bob@x")), "n", "")
            daemon._on_slots(_slots(2, 3, claim=1), "n", "")
            daemon._on_demand(_demand(1, 1, left=LEFT), "q", "")
            await _cycled(daemon, 1)
            assert _matched(daemon) == ["slot2@n"]
            monkeypatch.setattr(central_daemon, "SLOT_HEARD_S", LONG_S)
            daemon._on_demand(_demand(2, 2), "q", "")
            await _cycled(daemon, 2)
            assert _matched(daemon) == ["slot3@n"], "nobody has left a slot since"

    run(work())
