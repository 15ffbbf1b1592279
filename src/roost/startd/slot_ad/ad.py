"""The sensed and configured part of a slot's ad.

`slot_ad` merges the following in this order; a later attribute replaces an earlier one of the same name:

1. macros that the configuration publishes (`slot_ad_config`),
2. the machine: its name, platform, addresses, totals,
3. the slot: its numbers, kind, sizes, units, and whether a request fits into it,
4. what was sensed in this pass: load, idle times, clock, sequence number.

The state machine lays state, claim and policy over this ad. What slots show each other is in `slot_ad_neighbours`,
latches such as CpuBusyTime in `slot_ad_latches`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, parse_expression
from roost.config import Config
from roost.model.compatible import CONDOR_VERSION
from roost.model.slots import SlotId, SlotKind, SlotShape, SlotSize
from roost.startd.idleness import Idleness
from roost.startd.layout.at_work import MachineSlots
from roost.startd.layout.units import unit_attributes
from roost.startd.load import MachineLoad
from roost.startd.requests import RequestPolicy, number, request_policy, within_resource_limits
from roost.startd.slot_ad.config import AttributeProblem, configured_attributes, policy_expressions

_NO_POLICY: Final = RequestPolicy()
_NEVER: Final = parse_expression("false")
_CPUS: Final = parse_expression("Cpus")
#: 1970-01-01 was a Thursday.
_FIRST_DAY: Final = 4
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class HostIdentity:
    """The identity of a machine. None of it changes while its daemon runs."""

    #: Full host name.
    machine: str
    #: STARTD_NAME; "" if not set.
    startd_name: str = ""
    address: str
    #: Start of the daemon, epoch s.
    started_at: float
    uid_domain: str = ""
    filesystem_domain: str = ""
    #: Further attributes: Arch, OpSys, versions, capabilities.
    platform: Mapping[str, Any] = field(default_factory=dict)

    def name_of(self, slot: SlotId) -> str:
        """Name of a slot: ``slot1@host``, or ``slot1@name@host`` for a named daemon."""
        if "@" in self.startd_name:
            return f"{slot}@{self.startd_name}"
        return f"{slot}@{self.startd_name}@{self.machine}" if self.startd_name else f"{slot}@{self.machine}"


def host_identity(
    config: Config, *, machine: str, address: str, started_at: float, platform: Mapping[str, Any]
) -> HostIdentity:
    """The identity of a machine under a configuration."""
    return HostIdentity(
        machine=machine,
        startd_name=config.get("STARTD_NAME") or "",
        address=address,
        started_at=started_at,
        uid_domain=config.get("UID_DOMAIN") or machine,
        filesystem_domain=config.get("FILESYSTEM_DOMAIN") or machine,
        platform=platform,
    )


def platform_of(config: Config, *, architecture: str, system: str) -> dict[str, Any]:
    """Platform attributes of a machine, from its configuration or else from the system: `architecture` and `system`."""
    found: dict[str, Any] = {
        "Arch": config.get("ARCH") or architecture,
        "OpSys": config.get("OPSYS") or system,
        "HasFileTransfer": True,
        "HasJobDeferral": True,
        "CondorVersion": CONDOR_VERSION,
    }
    version = config.get("OPSYSANDVER")
    if version:
        found["OpSysAndVer"] = version
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSettings:
    """The configuration of one static or partitionable slot, and of its dynamic slots."""

    attributes: tuple[tuple[str, Expr], ...] = ()
    #: Macros that are not published, and why.
    problems: tuple[AttributeProblem, ...] = ()
    #: Attribute to policy expression, for the slot's state machine.
    policy: Mapping[str, Expr] = field(default_factory=dict)
    requests: RequestPolicy = _NO_POLICY


def slot_settings(
    config: Config, machine: MachineSlots, shapes: Iterable[SlotShape] | None = None
) -> dict[int, SlotSettings]:
    """The settings of every static and partitionable slot, by number; or of `shapes`. Raises `ConfigError`."""
    found = {}
    for slot in machine.fixed.values() if shapes is None else shapes:
        published = configured_attributes(config, number=slot.number, type_id=slot.type_id)
        found[slot.number] = SlotSettings(
            attributes=published.attributes,
            problems=published.problems,
            policy=policy_expressions(config, type_id=slot.type_id),
            requests=request_policy(config, machine.resources.names, type_id=slot.type_id),
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensed:
    """The readings of one pass. All slots see the same instant."""

    #: Epoch s.
    now: float
    #: UTC offset of the machine's time zone, seconds east.
    zone_offset_s: int = 0
    load: MachineLoad
    idleness: Mapping[SlotId, Idleness]
    #: Number of updates sent so far.
    updates: int = 0
    #: MonitorSelfAge, MonitorSelfCPUUsage and so on: the daemon's own use.
    monitor: Mapping[str, Any] = field(default_factory=dict)


def slot_ad(
    machine: MachineSlots,
    slot: SlotId,
    *,
    identity: HostIdentity,
    settings: SlotSettings,
    sensed: Sensed | None = None,
) -> ClassAd:
    """The ad of a slot. Without `sensed` it has only the lasting attributes, without current readings.

    Such an ad is valid until sizes change, that is, until a slot is cut or deleted, or disk and swap are measured.
    Until then, `with_sensed` produces the ad of each pass at a fraction of the cost.
    """
    ad = ClassAd()
    for name, expression in settings.attributes:
        ad[name] = expression
    sections = [_identity(identity, slot), _machine(machine, slot), _slot(machine, slot), _sizes(machine, slot)]
    for section in sections:
        for name, value in section:
            ad[name] = value
    for name, expression in (settings.requests.consumption or {}).items():
        ad[f"Consumption{name}"] = expression
    ad["SlotWeight"] = settings.policy.get("SlotWeight", _CPUS)
    _put_limits(ad, machine, slot, settings)
    return ad if sensed is None else with_sensed(ad, slot, sensed)


def with_sensed(ad: ClassAd, slot: SlotId, sensed: Sensed) -> ClassAd:
    """A copy of a slot's ad with current readings."""
    current = ad.copy()
    for name, value in _sensed(sensed, slot):
        current.put(name, value)
    return current


def sensed_over(ad: ClassAd, slot: SlotId, sensed: Sensed) -> ClassAd:
    """The current readings as a separate ad that is chained to the slot's ad, whose sizes may then be replaced."""
    current = ClassAd()
    for name, value in _sensed(sensed, slot):
        current.put(name, value)
    current.chained = ad
    return current


def _identity(identity: HostIdentity, slot: SlotId) -> Iterator[tuple[str, Any]]:
    yield from identity.platform.items()
    yield "MyType", "Machine"
    yield "TargetType", "Job"
    yield "Name", identity.name_of(slot)
    yield "Machine", identity.machine
    yield "MyAddress", identity.address
    yield "StartdIpAddr", identity.address
    yield "UidDomain", identity.uid_domain
    yield "FileSystemDomain", identity.filesystem_domain
    yield "DaemonStartTime", int(identity.started_at)


def _machine(machine: MachineSlots, slot: SlotId) -> Iterator[tuple[str, Any]]:
    resources = machine.resources
    yield "DetectedCpus", resources.detected_cpus
    yield "DetectedMemory", resources.detected_memory_mb
    yield "TotalCpus", resources.cpus
    yield "TotalMemory", resources.memory_mb
    yield "TotalDisk", resources.disk_kb[machine.fixed[slot.number].filesystem]
    yield "TotalVirtualMemory", resources.swap_kb
    yield "TotalSlots", len(machine.ids)
    yield "MachineResources", " ".join(resources.names)
    for each in resources.custom:
        yield from each.properties.items()
        yield f"Detected{each.name}", each.detected
        yield f"Total{each.name}", each.total
        if each.offline:
            yield f"Offline{each.name}", ",".join(each.offline)


def _slot(machine: MachineSlots, slot: SlotId) -> Iterator[tuple[str, Any]]:
    kind, shape = machine.kind(slot), machine.fixed[slot.number]
    yield "SlotID", slot.number
    yield "SlotTypeID", shape.type_id
    yield "SlotType", kind.value
    if kind is SlotKind.PARTITIONABLE:
        yield "PartitionableSlot", True
        yield "NumDynamicSlots", len(machine.children(slot))
    elif kind is SlotKind.DYNAMIC:
        yield "DynamicSlot", True
        yield "DSlotID", slot.dynamic
        yield "ParentSlotId", slot.number
    if shape.broken is not None:
        yield "SlotBrokenReason", shape.broken


def _sizes(machine: MachineSlots, slot: SlotId) -> Iterator[tuple[str, Any]]:
    left = machine.left(slot)
    yield from _amounts(left, "")
    yield "VirtualMemory", number(left.swap_kb)
    yield from _amounts(machine.size(slot), "TotalSlot")
    assigned = machine.assigned(slot)
    for name, units in assigned.items():
        yield f"Assigned{name}", ",".join(units)
    yield from unit_attributes(machine.resources.custom, assigned)


def _amounts(size: SlotSize, prefix: str) -> Iterator[tuple[str, Any]]:
    yield f"{prefix}Cpus", number(size.cpus)
    yield f"{prefix}Memory", number(size.memory_mb)
    yield f"{prefix}Disk", number(size.disk_kb)
    for name, amount in size.custom.items():
        yield f"{prefix}{name}", number(amount)


def _put_limits(ad: ClassAd, machine: MachineSlots, slot: SlotId, settings: SlotSettings) -> None:
    if machine.fixed[slot.number].broken is not None:
        ad["WithinResourceLimits"] = _NEVER
    elif machine.kind(slot) is not SlotKind.STATIC:
        # A static slot is taken whole: the job's requirements decide whether it is large enough.
        custom = [each.name for each in machine.resources.custom]
        ad["WithinResourceLimits"] = within_resource_limits(custom, settings.requests)


def _sensed(sensed: Sensed, slot: SlotId) -> Iterator[tuple[str, Any]]:
    own, idle = sensed.load.slots[slot], sensed.idleness[slot]
    yield "TotalLoadAvg", round(sensed.load.system, 2)
    yield "TotalCondorLoadAvg", round(sensed.load.condor, 2)
    yield "LoadAvg", round(own.total, 2)
    yield "CondorLoadAvg", round(own.condor, 2)
    yield "KeyboardIdle", idle.keyboard_s
    if idle.console_s is not None:
        yield "ConsoleIdle", idle.console_s
    yield from zip(("ClockMin", "ClockDay"), clock(sensed.now, sensed.zone_offset_s), strict=True)
    yield "MyCurrentTime", int(sensed.now)
    yield "UpdateSequenceNumber", sensed.updates
    yield from sensed.monitor.items()


def clock(now: float, zone_offset_s: int) -> tuple[int, int]:
    """ClockMin and ClockDay: minutes since local midnight, and the day of the week with Sunday as 0."""
    local_s = int(now) + zone_offset_s
    return local_s % _DAY_S // 60, (local_s // _DAY_S + _FIRST_DAY) % 7
