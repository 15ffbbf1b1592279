"""Decisions in slices: questions are answered meanwhile, and what they are about stays as it is."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from roost.classad import ClassAd, parse_expression
from roost.config import MemoryHost, load_text
from roost.negotiator.timing import Steps
from roost.runtime.bus.client import Bus
from roost.runtime.central.daemon import CentralDaemon
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.deciding import SLICE_S, Deciding, in_slices
from roost.runtime.home import Home
from roost.runtime.role import RoleContext
from roost.wire import messages as m
from roost.wire.ads import ad_data
from roost.wire.messages import Answer, Ask
from roost.wire.subjects import Role
from tests.runtime.kit import run
from tests.runtime.test_bus import SUBJECTS, Place

SLOTS, REQUESTS = 10, 20


def test_changes_wait_for_a_decision_and_keep_their_order() -> None:
    async def work() -> None:
        deciding, made = Deciding(), []

        def fails() -> None:
            raise RuntimeError("no")

        deciding.change(lambda: made.append(0))
        with pytest.raises(ZeroDivisionError):
            async with deciding.decision():
                waits = asyncio.create_task(deciding.over())
                for change in (lambda: made.append(1), fails, lambda: deciding.change(lambda: made.append(3))):
                    deciding.change(change)
                deciding.change(lambda: made.append(2))
                await asyncio.sleep(0)
                assert (made, waits.done()) == ([0], False)
                raise ZeroDivisionError
        await waits
        assert made == [0, 1, 2, 3]

    run(work())


def test_steps_pause_for_others_and_hear_their_own_time() -> None:
    async def work() -> None:
        told: list[float] = []

        def steps() -> Steps[str]:
            for _ in range(4):
                until = time.monotonic() + SLICE_S
                while time.monotonic() < until:
                    pass
                told.append((yield))
            return "done"

        async def others() -> int:
            turns = 0
            while not decided.done():
                turns += 1
                await asyncio.sleep(0)
            return turns

        decided = asyncio.create_task(in_slices(steps()))
        assert await others() >= 4
        result, took_s = await decided
        assert result == "done"
        assert told == sorted(told) and SLICE_S <= told[0] <= told[-1] <= took_s

    run(work())


def _slot(number: int) -> dict[str, Any]:
    ad = ClassAd({"MyType": "Machine", "Name": f"slot{number}@n", "State": "Unclaimed", "Activity": "Idle", "Cpus": 1})
    ad["Requirements"] = True
    return ad_data(ad)


def _request(number: int) -> m.ResourceRequest:
    ad = ClassAd({"Owner": "ann", "User": "ann@x", "ProcId": number})
    # Some ten thousand evaluation steps for each slot, and true of none.
    text = f'regexp("(a+)+$", strcat("aaaaaaaaaa!", TARGET.Name)) || ProcId == {number + REQUESTS}'
    ad["Requirements"] = parse_expression(text)
    return m.ResourceRequest(autocluster=number, ad=ad_data(ad), count=1, job=f"1.{number}")


def test_a_query_is_answered_during_a_cycle_and_ads_change_after_it(tmp_path: Path) -> None:
    async def work() -> None:
        (tmp_path / "servers").mkdir()
        place, home = Place(tmp_path / "servers"), Home(tmp_path / "home")
        home.make()
        settings = place.settings(Role.CENTRAL, "c")
        bus, client = await Bus.connect(settings), await Bus.connect(place.settings(Role.CLIENT, "ann"))
        context = RoleContext(role="central", name="c", home=home, roots=None, bus=settings)
        daemon = CentralDaemon(context, load_text("", MemoryHost()), bus)
        await daemon.start()
        try:
            names = [f"slot{number}@n" for number in range(SLOTS)]
            ads = m.SlotAds(node="n", ads=[_slot(number) for number in range(SLOTS)], claim_ids={n: n for n in names})
            daemon._on_slots(ads, "n", "")
            wanted = {"ann@x": [_request(number) for number in range(REQUESTS)]}
            daemon._on_demand(m.Demand(schedd="q", submitters=wanted, serial=1), "q", "")
            while not daemon.deciding.under_way:
                await asyncio.sleep(0)
            daemon._on_slots(m.SlotAds(node="n", ads=[_slot(SLOTS)]), "n", "")
            ask = Ask(what="ads", args={"kind": "Machine", "projection": ["Name"], "values": True})
            answer: Answer = await client.ask(f"{SUBJECTS.prefix}.central.ask.ann", ask)
            assert (daemon.deciding.under_way, daemon.cycles) == (True, 0)
            assert [row["Name"] for row in answer.data] == names
            await daemon.deciding.over()
            assert daemon.cycles == 1
            assert daemon.last is not None and len(daemon.last.rejected) == REQUESTS
            assert daemon.table.get("Machine", f"slot{SLOTS}@n") is not None
        finally:
            await daemon.stop(DaemonEnding.FAST)
            await bus.close()
            await client.close()
            place.server.stop()

    run(work())
