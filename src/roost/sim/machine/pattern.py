"""From configuration to simulated machines: layout, slot ads and policies, made by the daemons' own modules.

A machine is described by a `Hardware`: its size. Everything else comes from the configuration, which sees the machine's
name and size as on a real one. A `Pattern` is made once and used for many machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd, Expr, ParseError, unparse_value
from roost.config import Config, ConfigError, Host, LoadOptions, Setting, load
from roost.defrag import policy as defrag
from roost.defrag.policy import DefragPolicy
from roost.model.slots import Filesystem, HostReading, SlotId, SlotKind, SlotShape
from roost.negotiator.settings import NegotiatorSettings, settings_from
from roost.node.host_plan import Division, SlotPlan
from roost.schedd.claims.claim_table import QueueSettings
from roost.schedd.configured import queue_settings
from roost.sim.chance import stream
from roost.sim.inputs.owners import OwnerTrace
from roost.sim.machine.plan import MachinePlan
from roost.sim.machine.sensors import Sensors
from roost.startd.configured import fetch_hook, hook_keyword, slot_policy
from roost.startd.idleness import Connections, connections
from roost.startd.layout.at_work import MachineSlots
from roost.startd.layout.change import PresentLayout, relayout
from roost.startd.layout.layout import plan_layout
from roost.startd.layout.problems import LayoutRefused
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_ad.ad import HostIdentity, SlotSettings, host_identity, platform_of, slot_ad, slot_settings
from roost.startd.slot_ad.config import names_in
from roost.starter.configured import configured_policy
from roost.starter.policy_inputs import StarterPolicy

#: The host of the central manager, which is not a machine of any world.
_CENTRAL: Final = "central"
#: The name of the queue.
QUEUE: Final = "sim"


class SeededHost:
    """A host for configurations whose random numbers come from a seed, and which has no environment."""

    def __init__(self, host: Host, seed: int | str) -> None:
        self._host = host
        self._chance = stream(seed, "configuration")
        #: Number of random numbers drawn so far.
        self.drawn = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def environment(self) -> Mapping[str, str]:
        """Empty: a run must not depend on the user who runs it."""
        return {}

    def random_integer(self, low: int, high: int) -> int:
        """The next number of the seed's stream."""
        self.drawn += 1
        return self._chance.randint(low, high)


class LabError(Exception):
    """A configuration that makes no machine, with the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The size of a machine."""

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
    settings: tuple[Setting | tuple[str, str], ...] = (),
) -> Config:
    """The configuration of a machine; `settings` are applied last.

    Raises LabError with everything that is wrong with it.
    """
    host = cast(Host, SeededHost(host, seed))
    detected = {
        "DETECTED_CPUS": str(hardware.cpus),
        "DETECTED_CORES": str(hardware.cpus),
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
class _Kind:
    """The configuration of machines that does not depend on their names."""

    #: By slot number.
    settings: Mapping[int, SlotSettings]
    starter: StarterPolicy
    policies: Mapping[int, SlotPolicy]
    connected: Connections
    polling_s: int
    update_s: int
    latch_names: tuple[str, ...]
    neighbour_names: tuple[str, ...]
    silent_hooks: frozenset[tuple[int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A kind of machine."""

    config: Config
    hardware: Hardware
    slots: MachineSlots
    cycle_s: float
    #: Settings of the pool's negotiator.
    negotiator: NegotiatorSettings
    #: Settings of the queue, and those that cannot be read, in sentences.
    queue: QueueSettings
    #: NEGOTIATOR_INFORM_STARTD.
    informs: bool = False
    #: Settings of the pool's defragmentation daemon; None if it is not in DAEMON_LIST.
    defrag: DefragPolicy | None = None
    #: Static slots keep accounts too.
    accounts: bool = False
    #: Slots without a place in the layout, which stay until they are free.
    leaving: tuple[SlotShape, ...] = ()
    #: Parts of the slot description that have no effect, in sentences with their places.
    doubts: tuple[str, ...] = ()
    #: The common part of all machines; empty before the first, and if a random number makes each machine different.
    _common: list[_Kind] = field(default_factory=list, init=False, repr=False, compare=False)

    def machine(
        self, name: str, owner: OwnerTrace, *, started_at: float, phase_s: int, zone_offset_s: int = 0
    ) -> MachinePlan:
        """Make one machine of the kind. Raises LabError for knobs with invalid values."""
        try:
            return self._machine(name, owner, started_at, phase_s, zone_offset_s)
        except (ConfigError, ParseError) as error:
            raise LabError(str(error)) from None

    def _machine(
        self, name: str, owner: OwnerTrace, started_at: float, phase_s: int, zone_offset_s: int
    ) -> MachinePlan:
        identity = host_identity(
            self.config,
            machine=name,
            address=f"<{name}>",
            started_at=started_at,
            platform={**platform(self.config), **self.hardware.attributes},
        )
        kind = self._kind()
        made = tuple(self._slot(self.slots, slot, identity, kind, zone_offset_s) for slot in self.slots.ids)
        for plan in made:
            self._heed(plan.ad)
        divided = self.accounts or any(self.slots.kind(slot) is SlotKind.PARTITIONABLE for slot in self.slots.ids)
        script_users = self.config.get("STARTER_SCRIPT_USERS", subsys="STARTER") or ""
        return MachinePlan(
            name=name,
            slots=made,
            sensors=Sensors(owner=owner, connected=kind.connected, zone_offset_s=zone_offset_s),
            polling_s=kind.polling_s,
            update_s=kind.update_s,
            phase_s=phase_s,
            latch_names=kind.latch_names,
            neighbour_names=kind.neighbour_names,
            silent_hooks=kind.silent_hooks,
            script_users=frozenset(script_users.replace(",", " ").split()),
            division=self._division(identity, kind, zone_offset_s) if divided else None,
        )

    def _heed(self, ad: ClassAd) -> None:
        """Refuse hardware attributes that a slot's ad does not take over."""
        for name, value in self.hardware.attributes.items():
            found = ad[name]
            if found != ClassAd({name: value})[name]:
                shown = found if isinstance(found, Expr) else unparse_value(found)
                raise LabError(
                    f"the machine's attribute {name} has no effect: its configuration, or Roost, sets it to {shown}"
                )

    def _kind(self) -> _Kind:
        """Made once, unless random numbers are drawn for each machine."""
        if self._common:
            return self._common[0]
        host = cast(SeededHost, self.config.host)
        drawn = host.drawn
        kind = self._read()
        if host.drawn == drawn:
            self._common.append(kind)
        return kind

    def _read(self) -> _Kind:
        config = self.config
        shapes = (*self.leaving, *self.slots.fixed.values())
        settings = slot_settings(config, self.slots, shapes)
        return _Kind(
            settings=settings,
            starter=configured_policy(config),
            policies={slot.number: self._policy(slot.id, settings[slot.number]) for slot in shapes},
            connected=connections(config),
            polling_s=config.get_int("POLLING_INTERVAL"),
            update_s=config.get_int("UPDATE_INTERVAL"),
            latch_names=names_in(config, "STARTD_LATCH_EXPRS"),
            neighbour_names=names_in(config, "STARTD_SLOT_ATTRS"),
            silent_hooks=frozenset(self._silent_hooks()),
        )

    def _silent_hooks(self) -> Iterator[tuple[int, str]]:
        for slot in self.slots.ids:
            keyword = hook_keyword(self.config, slot.number)
            for hook in ("REPLY_FETCH", "EVICT_CLAIM") if keyword else ():
                if fetch_hook(self.config, keyword or "", hook) is None:
                    yield slot.number, hook

    def _policy(self, slot: SlotId, mine: SlotSettings) -> SlotPolicy:
        keyword = hook_keyword(self.config, slot.number)
        return slot_policy(self.config, mine.policy, keyword=keyword, backfill=True, zone_offset_s=0, chance_seed="")

    def _slot(
        self, slots: MachineSlots, slot: SlotId, identity: HostIdentity, kind: _Kind, zone_offset_s: int
    ) -> SlotPlan:
        seed = identity.machine
        return SlotPlan(
            name=identity.name_of(slot),
            id=slot,
            policy=replace(kind.policies[slot.number], zone_offset_s=zone_offset_s, chance_seed=seed),
            ad=slot_ad(slots, slot, identity=identity, settings=kind.settings[slot.number]),
            cpus=int(slots.size(slot).cpus),
            kind=slots.kind(slot),
            starter=replace(kind.starter, zone_offset_s=zone_offset_s, chance_seed=seed),
        )

    def _division(self, identity: HostIdentity, kind: _Kind, zone_offset_s: int) -> Division:
        return Division(
            slots=self.slots,
            ad_of=partial(_ad_of, identity, kind.settings),
            name_of=identity.name_of,
            plan_of=lambda slots, slot: self._slot(slots, slot, identity, kind, zone_offset_s),
            requests={number: each.requests for number, each in kind.settings.items()},
        )


def platform(config: Config) -> dict[str, Any]:
    """Platform attributes of a machine, from the configuration or else from the lab."""
    return platform_of(config, architecture="X86_64", system="LINUX")


def negotiator_settings(config: Config) -> NegotiatorSettings:
    """The negotiator's settings in a configuration."""
    found = settings_from(config)
    # Simulated users have no domain, so they belong to the pool's own.
    return replace(found, factors=replace(found.factors, local_domain=""))


def configured_queue(config: Config) -> QueueSettings:
    """The queue's settings in a configuration. Raises LabError for policy that cannot be read."""
    found = queue_settings(config, name=QUEUE)
    if found.problems:
        raise LabError("\n".join(map(str, found.problems)))
    return found


def _ad_of(identity: HostIdentity, settings: Mapping[int, SlotSettings], slots: MachineSlots, slot: SlotId) -> ClassAd:
    return slot_ad(slots, slot, identity=identity, settings=settings[slot.number])


def make_pattern(
    config: Config, hardware: Hardware, *, accounts: bool = False, present: PresentLayout | None = None
) -> Pattern:
    """Make a kind of machine; `present`: the slots of the machine that changes to that kind. Raises LabError."""
    filesystem = Filesystem(name="disk", free_kb=hardware.disk_kb)
    reading = HostReading(cpus=hardware.cpus, memory_mb=hardware.memory_mb, swap_kb=0, filesystems={"/": filesystem})
    try:
        layout = plan_layout(config, reading) if present is None else relayout(present, config, reading)
        if isinstance(layout, LayoutRefused):
            raise LabError(str(layout))
        return Pattern(
            config=config,
            hardware=hardware,
            slots=MachineSlots.of(layout),
            cycle_s=config.get_float("NEGOTIATOR_INTERVAL", 60.0, subsys="NEGOTIATOR"),
            negotiator=negotiator_settings(config),
            queue=configured_queue(config),
            defrag=defrag.configured_policy(config, host=_CENTRAL) if defrag.is_wanted(config) else None,
            informs=config.get_bool("NEGOTIATOR_INFORM_STARTD", False, subsys="NEGOTIATOR"),
            accounts=accounts or present is not None,
            leaving=() if present is None else tuple(present.slots.values()),
            doubts=tuple(map(str, layout.problems)),
        )
    except (ConfigError, ParseError) as error:
        raise LabError(str(error)) from None
