"""The plan of a machine, made from its configuration and its sensors before it starts."""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.config import Config
from roost.model.slots import HostReading, SlotId
from roost.node.cron import CronAd
from roost.node.host_plan import Division, SlotPlan
from roost.startd.configured import (
    backfill_problem,
    dynamic_keywords,
    fetch_hook,
    hook_keyword,
    slot_policy,
    wants_backfill,
)
from roost.startd.idleness import Connections, Idleness, connections
from roost.startd.layout.at_work import MachineSlots
from roost.startd.layout.change import PresentLayout, relayout
from roost.startd.layout.layout import Layout, plan_layout
from roost.startd.layout.problems import LayoutRefused
from roost.startd.load import LoadReading
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_ad.ad import HostIdentity, SlotSettings, slot_ad, slot_settings
from roost.startd.slot_ad.config import names_in
from roost.starter.configured import configured_policy
from roost.starter.policy_inputs import StarterPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """The parsed configuration of a machine."""

    identity: HostIdentity
    slots: MachineSlots
    #: Number of a static or partitionable slot to its settings.
    settings: Mapping[int, SlotSettings]
    policies: Mapping[int, SlotPolicy]
    starters: Mapping[int, StarterPolicy]
    connected: Connections
    #: Number of a slot to the prefix of its hooks that fetch work; slots without one are left out.
    keywords: Mapping[int, str]
    #: Numbers of a dynamic slot to the prefix of its own hooks, and whether they fetch work.
    dynamic_keywords: Mapping[tuple[int, int], tuple[str, bool]]
    polling_s: int
    update_s: int
    #: STARTD_LATCH_EXPRS and STARTD_SLOT_ATTRS.
    latch_names: tuple[str, ...] = ()
    neighbour_names: tuple[str, ...] = ()
    #: Lines for the log: attributes that could not be published, and warnings about the layout.
    warnings: tuple[str, ...] = ()

    def keyword_of(self, slot: SlotId) -> str | None:
        """The prefix of a slot's hooks that fetch work; None for none."""
        own = self.dynamic_keywords.get((slot.number, slot.dynamic))
        return self.keywords.get(slot.number) if own is None else own[0]

    def fixed_ad(self, slots: MachineSlots, slot: SlotId) -> ClassAd:
        """The ad of a slot, without sensor readings."""
        return slot_ad(slots, slot, identity=self.identity, settings=self.settings[slot.number])

    def slot_plan(self, slots: MachineSlots, slot: SlotId) -> SlotPlan:
        """The plan of a static or partitionable slot for a host."""
        return SlotPlan(
            name=self.identity.name_of(slot),
            id=slot,
            policy=self.policies[slot.number],
            ad=self.fixed_ad(slots, slot),
            cpus=int(slots.size(slot).cpus),
            kind=slots.kind(slot),
            starter=self.starters[slot.number],
        )

    def slot_plans(self) -> list[SlotPlan]:
        """The plans of the static and partitionable slots for a host."""
        return [self.slot_plan(self.slots, slot) for slot in self.slots.ids]

    def division(self) -> Division:
        """How the machine can be divided further."""
        return Division(
            slots=self.slots,
            ad_of=self.fixed_ad,
            name_of=self.identity.name_of,
            plan_of=self.slot_plan,
            requests={number: each.requests for number, each in self.settings.items()},
            fetches={slot: fetches for slot, (_, fetches) in self.dynamic_keywords.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Sensor readings at one instant."""

    load: LoadReading
    idleness: Idleness
    #: Seconds east of UTC.
    zone_offset_s: int = 0
    #: Slot to the CPU use of its job since the last reading, percent of one core.
    cpu_percent: Mapping[SlotId, float] = field(default_factory=dict)
    #: Further attributes of all slots.
    attributes: Mapping[str, object] = field(default_factory=dict)
    #: The output of the programs of STARTD_CRON_JOBLIST.
    cron: tuple[CronAd, ...] = ()


def make_plan(
    config: Config,
    reading: HostReading,
    identity: HostIdentity,
    *,
    zone_offset_s: int,
    as_root: bool = False,
    earlier: NodePlan | None = None,
    present: PresentLayout | None = None,
) -> NodePlan | LayoutRefused:
    """Read the configuration of a machine; `as_root` says whether its daemon runs as root.

    Settings that are read only once are taken from an `earlier` plan of its daemon. The plan also covers the slots that
    are `present`, even if its layout has no place for them. Raises ConfigError.
    """
    layout = plan_layout(config, reading) if present is None else relayout(present, config, reading)
    if isinstance(layout, LayoutRefused):
        return layout
    slots = MachineSlots.of(layout)
    shapes = slots.fixed if present is None else {**present.slots, **slots.fixed}
    settings = slot_settings(config, slots, shapes.values())
    types = {slot.number: slot.type_id for slot in shapes.values()}
    if earlier is None:
        keywords = {number: word for number in settings if (word := hook_keyword(config, number))}
        of_dynamic = dynamic_keywords(config)
    else:
        new = sorted(settings.keys() - earlier.settings.keys())
        found = {number: hook_keyword(config, number) for number in new}
        keywords = {**earlier.keywords, **{number: word for number, word in found.items() if word}}
        of_dynamic = {slot: word for slot, (word, _) in earlier.dynamic_keywords.items()}
    return NodePlan(
        identity=identity,
        slots=slots,
        settings=settings,
        keywords=keywords,
        dynamic_keywords={
            slot: (word, fetch_hook(config, word, "FETCH_WORK") is not None) for slot, word in of_dynamic.items()
        },
        policies={
            number: slot_policy(
                config,
                each.policy,
                keyword=keywords.get(number),
                backfill=not backfill_problem(config, as_root=as_root),
                zone_offset_s=zone_offset_s,
                chance_seed=identity.machine,
            )
            for number, each in sorted(settings.items())
        },
        starters={
            number: configured_policy(config, slot=number, slot_type=types[number]) for number in sorted(settings)
        },
        connected=connections(config),
        polling_s=config.get_int("POLLING_INTERVAL"),
        update_s=config.get_int("UPDATE_INTERVAL"),
        latch_names=names_in(config, "STARTD_LATCH_EXPRS"),
        neighbour_names=names_in(config, "STARTD_SLOT_ATTRS"),
        warnings=tuple(_warnings(config, layout, settings, as_root)),
    )


def _warnings(config: Config, layout: Layout, settings: Mapping[int, SlotSettings], as_root: bool) -> list[str]:
    found = [str(problem) for problem in layout.problems]
    found += [str(problem) for each in settings.values() for problem in each.problems]
    if wants_backfill(config) and (problem := backfill_problem(config, as_root=as_root)):
        found.append(f"backfill is disabled: {problem}")
    return list(dict.fromkeys(found))
