"""Complete ads of the slots of a machine, for tests: sensed attributes with policy and Requirements laid over them."""

from __future__ import annotations

from collections.abc import Mapping

from roost.classad import ClassAd, FixedWorld
from roost.config import Config
from roost.model.slots import SlotId
from roost.startd.idleness import Idleness, connections, slot_idleness
from roost.startd.layout.at_work import MachineSlots
from roost.startd.layout.layout import Layout, plan_layout
from roost.startd.load import apportion
from roost.startd.slot_ad.ad import HostIdentity, Sensed, host_identity, slot_ad, slot_settings
from tests.startd.layout_cases import configured, reading

#: Thursday 2026-01-01, 10:30 UTC.
NOW = 1_767_263_400.0
WORLD = FixedWorld(instant=NOW)
PLATFORM = {
    "Arch": "X86_64",
    "OpSys": "LINUX",
    "CondorVersion": "$CondorVersion: 25.0.0 $",
    "CondorPlatform": "$CondorPlatform: X86_64-Linux $",
    "HasFileTransfer": True,
    "HasJobDeferral": True,
    "HasReconnect": True,
    "StarterAbilityList": "HasFileTransfer,HasJobDeferral,HasReconnect",
}


class Daemon:
    """As much of an execute daemon as slot ads need."""

    def __init__(self, text: str, cores: int = 4, memory_mb: int = 256, **more: object) -> None:
        self.config: Config = configured(text, cores, memory_mb)
        layout = plan_layout(self.config, reading(cores, memory_mb, **more))
        assert isinstance(layout, Layout), str(layout)
        self.slots = MachineSlots.of(layout)
        self.settings = slot_settings(self.config, self.slots)
        self.identity: HostIdentity = host_identity(
            self.config, machine="vulture.example.org", address="nats:vulture", started_at=NOW - 100, platform=PLATFORM
        )

    def sensed(self, slots: MachineSlots, states: Mapping[SlotId, str]) -> Sensed:
        """A quiet machine whose keyboard was used 50 s ago."""
        machine, connected = Idleness(keyboard_s=50, console_s=70), connections(self.config)
        return Sensed(
            now=NOW,
            zone_offset_s=3600,
            load=apportion(0.5, dict.fromkeys(slots.ids, 0.0), states),
            idleness={
                slot: slot_idleness(machine, slot, connected, now=NOW, started_at=self.identity.started_at)
                for slot in slots.ids
            },
            updates=7,
            monitor={"MonitorSelfAge": 100},
        )

    def ad(
        self, slot: SlotId, slots: MachineSlots | None = None, states: Mapping[SlotId, str] | None = None
    ) -> ClassAd:
        """The ad of a slot as the pool sees it."""
        slots = self.slots if slots is None else slots
        states = dict.fromkeys(slots.ids, "Unclaimed") | dict(states or {})
        settings = self.settings[slot.number]
        ad = slot_ad(slots, slot, identity=self.identity, settings=settings, sensed=self.sensed(slots, states))
        ad["State"] = states[slot]
        for name, expression in settings.policy.items():
            ad[name] = expression
        ad.set("Requirements", "START && WithinResourceLimits" if "WithinResourceLimits" in ad else "START")
        return ad

    def ads(self, states: Mapping[SlotId, str] | None = None) -> dict[SlotId, ClassAd]:
        """The ads of all slots."""
        return {slot: self.ad(slot, states=states) for slot in self.slots.ids}
