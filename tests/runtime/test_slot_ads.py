"""The ads of a machine's slots reach the collector, however much they are together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from roost.classad import ClassAd
from roost.model.slots import SlotId
from roost.node.machine import Machine, NodeSlot
from roost.runtime.clock import SYSTEM
from roost.runtime.node import slot_ads
from roost.runtime.node.slot_ads import SlotPublisher
from roost.wire import messages as m
from roost.wire import parts
from roost.wire.codec import MESSAGE_BYTES_MAX, decode, encode
from tests.runtime.kit import run
from tests.runtime.test_matching_together import central


def slot(number: int) -> NodeSlot:
    state = SimpleNamespace(
        offered=SimpleNamespace(text=f"<n>#1#{number}.1#secret"), claim=SimpleNamespace(granted_at=None)
    )
    return cast(NodeSlot, SimpleNamespace(name=f"slot{number}@n", plan=SimpleNamespace(id=SlotId(number)), state=state))


@dataclass
class Many:
    """A machine with many slots, whose ads are as large as `sizes` says, or 10,000 characters."""

    slots: list[NodeSlot]
    sizes: dict[str, int] = field(default_factory=dict)

    def ads(self, slots: list[NodeSlot], now: float) -> list[ClassAd]:
        state = {"MyType": "Machine", "State": "Unclaimed", "Activity": "Idle", "Cpus": 1, "Requirements": True}
        return [
            ClassAd({**state, "Name": each.name, "Text": "x" * self.sizes.get(each.name, 10_000)}) for each in slots
        ]


async def published(machine: Many, publisher: SlotPublisher, sent: list[m.SlotAds]) -> list[m.SlotAds]:
    """What is sent when all is told again."""
    sent.clear()
    publisher.all_anew()
    while not sent:
        await asyncio.sleep(0.001)
    return list(sent)


def publisher_of(machine: Many, sent: list[m.SlotAds]) -> SlotPublisher:
    return SlotPublisher(cast(Machine, machine), "n", sent.append, SYSTEM)


def test_the_slots_of_a_machine_are_told_in_parts_and_those_that_are_gone_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than fits into one message was refused each time, and the machine was in no list and got no jobs."""

    async def work() -> None:
        async with central(tmp_path) as daemon:
            machine, sent = Many([slot(number) for number in range(1, 41)]), []  # type: ignore[var-annotated]
            publisher = publisher_of(machine, sent)

            async def told() -> list[str]:
                for message in await published(machine, publisher, sent):
                    data = encode(message)
                    assert len(data) < 70_000
                    daemon._on_slots(decode(data), "n", "")
                return sorted(daemon.table.claims)

            assert await told() == sorted(each.name for each in machine.slots)
            assert len(sent) > 5 and daemon.table.claims["slot7@n"] == "<n>#1#7.1#secret"
            # A daemon that starts again with fewer slots never knew of the others.
            machine.slots = machine.slots[10:]
            publisher = publisher_of(machine, sent)
            assert await told() == sorted(each.name for each in machine.slots)
            machine.slots = machine.slots[:2]
            publisher = publisher_of(machine, sent)
            assert await told() == ["slot11@n", "slot12@n"]
            assert len(sent) == 1 and sent[0].whole

    monkeypatch.setattr(parts, "PART_BYTES", 50_000)
    run(work())


def test_8_mib_of_slots_are_told() -> None:
    async def work() -> None:
        machine, sent = Many([slot(number) for number in range(1, 1001)]), []  # type: ignore[var-annotated]
        found = await published(machine, publisher_of(machine, sent), sent)
        assert sum(len(encode(each)) for each in found) > MESSAGE_BYTES_MAX
        assert [ad["Name"] for each in found for ad in each.ads] == [each.name for each in machine.slots]

    run(work())


def test_a_slot_whose_ad_no_message_holds_is_named_once_and_the_others_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        machine, sent = Many([slot(number) for number in (1, 2, 3)], {"slot2@n": 200_000}), []  # type: ignore[var-annotated]
        publisher = publisher_of(machine, sent)
        for _ in range(2):
            found = await published(machine, publisher, sent)
            assert [[ad["Name"] for ad in each.ads] for each in found] == [["slot1@n"], ["slot2@n"], ["slot3@n"]]
            assert found[-1].present == ["slot1@n", "slot3@n"]
        assert caplog.text.count("the ad of slot2@n has 200") == 1 and "STARTD_CRON_JOBLIST" in caplog.text
        machine.sizes.clear()
        assert (await published(machine, publisher, sent))[-1].present == []

    monkeypatch.setattr(parts, "PART_BYTES", 50_000)
    monkeypatch.setattr(slot_ads, "AD_BYTES_MAX", 100_000)
    run(work())
