"""From configuration to simulated machines: layout, slot ads and policies, all by the startd's own modules.

A machine of the lab is described by a `Hardware`: how large it is. Everything else comes from the configuration,
which sees the machine's name and size as a real one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from roost.classad import ClassAd
from roost.config import Config, ConfigError, Host, LoadOptions, load
from roost.model.slots import Filesystem, HostReading, SlotKind
from roost.sim.chance import stream
from roost.sim.host import MachinePlan, SlotPlan
from roost.sim.owners import OwnerTrace
from roost.sim.sensors import Sensors
from roost.startd.idleness import connections
from roost.startd.layout import plan_layout
from roost.startd.layout_machine import MachineSlots
from roost.startd.layout_problems import LayoutRefused
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_ad import HostIdentity, host_identity, slot_ad, slot_settings
from roost.startd.slot_ad_config import names_in


class SeededHost:
    """A host for configurations whose random numbers come from a seed, and which has no environment."""

    def __init__(self, host: Host, seed: int | str) -> None:
        self._host = host
        self._chance = stream(seed, "configuration")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def environment(self) -> Mapping[str, str]:
        """Nothing: a run must not depend on who runs it."""
        return {}

    def random_integer(self, low: int, high: int) -> int:
        """The next number of the seed's stream."""
        return self._chance.randint(low, high)


class LabError(Exception):
    """Something that the lab can't do, with the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """How large a machine is."""

    cpus: int = 1
    memory_mb: int = 2048
    disk_kb: int = 20_000_000
    #: Further attributes of its ads.
    attributes: Mapping[str, Any] = field(default_factory=dict)


def load_config(
    host: Host,
    paths: Sequence[str],
    hardware: Hardware,
    name: str,
    seed: int | str = 0,
    settings: tuple[tuple[str, str], ...] = (),
) -> Config:
    """The configuration that a machine sees; `settings` are made last.

    Raises LabError with everything that is wrong with it.
    """
    host = cast(Host, SeededHost(host, seed))
    detected = {
        "DETECTED_CPUS": str(hardware.cpus),
        "DETECTED_MEMORY": str(hardware.memory_mb),
        "HOSTNAME": name,
        "FULL_HOSTNAME": name,
        "SUBSYSTEM": "STARTD",
    }
    options = LoadOptions(
        roots=tuple(paths), subsystem="STARTD", detected=detected, environment=False, runtime=settings
    )
    config = load(host, options)
    if config.errors:
        raise LabError("\n".join(str(problem) for problem in config.errors))
    return config


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A kind of machine: made once from the configuration, stamped out many times."""

    config: Config
    hardware: Hardware
    slots: MachineSlots
    cycle_s: float

    def machine(
        self, name: str, owner: OwnerTrace, *, started_at: float, phase_s: int, zone_offset_s: int = 0
    ) -> MachinePlan:
        """One machine of the kind."""
        config = self.config
        identity = host_identity(
            config,
            machine=name,
            address=f"<{name}>",
            started_at=started_at,
            platform={"Arch": "X86_64", "OpSys": "LINUX", **self.hardware.attributes},
        )
        return MachinePlan(
            name=name,
            slots=tuple(self._slots(identity, name)),
            sensors=Sensors(owner=owner, connected=connections(config), zone_offset_s=zone_offset_s),
            polling_s=config.get_int("POLLING_INTERVAL"),
            update_s=config.get_int("UPDATE_INTERVAL"),
            phase_s=phase_s,
            latch_names=names_in(config, "STARTD_LATCH_EXPRS"),
            neighbour_names=names_in(config, "STARTD_SLOT_ATTRS"),
        )

    def _slots(self, identity: HostIdentity, name: str) -> list[SlotPlan]:
        settings = slot_settings(self.config, self.slots)
        plans = []
        for slot in self.slots.ids:
            mine = settings[slot.number]
            policy = SlotPolicy(
                expressions=ClassAd(mine.policy),
                match_timeout_s=self.config.get_float("MATCH_TIMEOUT"),
                killing_timeout_s=self.config.get_float("KILLING_TIMEOUT"),
                job_attributes=names_in(self.config, "STARTD_JOB_ATTRS"),
                chance_seed=name,
            )
            ad = slot_ad(self.slots, slot, identity=identity, settings=mine)
            cpus = int(self.slots.size(slot).cpus)
            plans.append(SlotPlan(name=identity.name_of(slot), id=slot, policy=policy, ad=ad, cpus=cpus))
        return plans


def make_pattern(config: Config, hardware: Hardware) -> Pattern:
    """A kind of machine. Raises LabError."""
    filesystem = Filesystem(name="disk", free_kb=hardware.disk_kb)
    reading = HostReading(cpus=hardware.cpus, memory_mb=hardware.memory_mb, swap_kb=0, filesystems={"/": filesystem})
    try:
        layout = plan_layout(config, reading)
        if isinstance(layout, LayoutRefused):
            raise LabError(str(layout))
        slots = MachineSlots.of(layout)
        cycle_s = config.get_float("NEGOTIATOR_INTERVAL", 60.0)
    except ConfigError as error:
        raise LabError(str(error)) from None
    if any(slots.kind(slot) is SlotKind.PARTITIONABLE for slot in slots.ids):
        raise LabError(
            "partitionable slots can't be simulated yet: give static slots, for instance with NUM_SLOTS_TYPE_1 = 2"
        )
    return Pattern(config=config, hardware=hardware, slots=slots, cycle_s=cycle_s)
