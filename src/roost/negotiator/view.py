"""The slots as a cycle sees them: which are available, who uses which, and their weights. One array each."""

from __future__ import annotations

import math
from typing import Any, Final, cast

import numpy as np

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr, FixedWorld, evaluate, parse_expression
from roost.classad.vector import Table
from roost.classad.vector.kinds import Array
from roost.classad.world import World
from roost.negotiator.pool_policy import PoolPolicy
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.snapshot import Snapshot

#: The user from whom a match would take the slot.
_HOLDER: Final = parse_expression(
    "MY.PreemptingAccountingGroup ?: MY.PreemptingUser ?: MY.AccountingGroup ?: MY.RemoteUser"
)
#: The submitter charged for it.
_CHARGED: Final = parse_expression("MY.AccountingGroup ?: MY.RemoteUser")
#: The user whose job it is, whatever account it is charged to.
_PERSON: Final = parse_expression("MY.RemoteOwner ?: MY.RemoteUser")
_CURRENT_RANK: Final = parse_expression(
    "(MY.PreemptingAccountingGroup ?: MY.PreemptingUser) isnt undefined ? MY.PreemptingRank : MY.CurrentRank"
)
WEIGHT: Final = parse_expression("MY.SlotWeight ?: (MY.Cpus ?: 1)")
_IN_USE: Final = parse_expression('MY.State == "Claimed" || MY.State == "Preempting"')
_RETIRING: Final = parse_expression("MY.RetirementTimeRemaining > 0")
_SHRINKS: Final = parse_expression("MY.PartitionableSlot =?= true && MY.ConsumptionPolicy =?= true")

#: Reasons for which slots are unavailable, in the order in which they are checked.
REASONS: Final = ("constraint", "pool-policy", "no-claim-offered", "claimed", "retirement-time")
#: Attributes that the view reads, and that decide about matches with slots in use.
VIEWED: Final = frozenset(
    (
        "preemptingaccountinggroup", "preemptinguser", "accountinggroup", "remoteuser", "preemptingrank", "currentrank",
        "state", "retirementtimeremaining", "partitionableslot", "consumptionpolicy",
    )
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class SlotView:
    """Arrays over the rows of the table of slots."""

    names: list[str]
    #: Whether it may be given away: bool.
    available: Array
    #: In use: bool.
    occupied: Array
    #: Partitionable with a consumption policy: bool.
    shrinks: Array
    #: Place of the holder in `holders`, -1 for none: int32.
    holder: Array
    holders: list[str]
    current_rank: Array
    weight: Array
    #: Weight of the pool.
    size: float
    #: Number of unavailable slots by reason.
    unavailable: dict[str, int]
    #: Which of REASONS, counted from 1, made each unavailable, 0 for none: uint8.
    out: Array


def usage_of(table: Table, settings: NegotiatorSettings, now: float) -> dict[str, tuple[float, int]]:
    """Submitter to weight and number of the slots in use."""
    return _in_use_by(_CHARGED, table, settings, now)


def persons_of(table: Table, settings: NegotiatorSettings, now: float) -> dict[str, tuple[float, int]]:
    """User, as queues vouch for it, to weight and number of the slots in use."""
    return _in_use_by(_PERSON, table, settings, now)


def _in_use_by(whose: Expr, table: Table, settings: NegotiatorSettings, now: float) -> dict[str, tuple[float, int]]:
    if not len(table):
        return {}
    world = FixedWorld(instant=now)
    codes, names = table.evaluate(whose, None, world).texts()
    codes = np.where(table.evaluate(_IN_USE, None, world).true, codes, -1)
    rows = np.flatnonzero(codes >= 0)
    weights = weights_of(table, settings, world)
    sums = np.bincount(codes[rows], weights[rows], len(names))
    counts = np.bincount(codes[rows], minlength=len(names))
    found: dict[str, tuple[float, int]] = {}
    for place in np.flatnonzero(counts).tolist():
        weight, count = found.get(names[place], (0.0, 0))
        found[names[place]] = weight + sums.item(place), count + counts.item(place)
    return found


def weights_of(table: Table, settings: NegotiatorSettings, world: FixedWorld) -> Array:
    """The weight of each slot; 1 where it is not a number or is negative."""
    if not settings.use_weights:
        return np.ones(len(table))
    weights = table.evaluate(WEIGHT, None, world).numbers_or(1.0)
    weights[weights < 0] = 1.0
    return weights


def weight_of(ad: ClassAd, settings: NegotiatorSettings, world: World) -> float:
    """The weight of one slot, as in `weights_of`."""
    value = evaluate(WEIGHT, ad, None, world) if settings.use_weights else 1.0
    if value.__class__ not in (bool, int, float) or not value >= 0:
        return 1.0
    return float(value)


def part_weight(slot: ClassAd, request: ClassAd, settings: NegotiatorSettings, world: World) -> float | None:
    """The weight of the dynamic slot that a request gets from a partitionable one; None for a slot of another kind.

    The slot's weight is evaluated as if it had only the amounts that its machine will give. An amount that the machine
    may compute differently, such as a random one, is taken to be all that the slot has.
    """
    if slot.cell("partitionableslot") is not True:
        return None
    part = slot.copy()
    resources = slot.eval("MachineResources")
    for name in (resources if isinstance(resources, str) else "Cpus Memory Disk").split():
        amount = _given(name, slot, request, settings, world)
        if amount is not None:
            part[name] = amount
    return weight_of(part, settings, world)


#: What a machine gives of a resource that a request does not name; 0 of any other. Without memory or disk no slot is
#: created.
_UNNAMED: Final = {"cpus": 1, "memory": None, "disk": None}


def _given(name: str, slot: ClassAd, request: ClassAd, settings: NegotiatorSettings, world: World) -> int | None:
    """What a machine will give of a resource, following `roost.startd.requests`; None if it cannot be known."""
    key, exact = name.lower(), f"_condor_Request{name}"
    attribute = exact if exact in request else f"Request{name}"
    if attribute not in request:
        return _UNNAMED.get(key, 0)
    watched = _Watched(world)
    amount = request.eval(attribute, None, cast("World", watched))
    if watched.asked or amount.__class__ not in (int, float) or not math.isfinite(amount):
        return None
    wanted = math.ceil(amount)
    if attribute != exact and key in settings.modify:
        known = request.copy()
        known[attribute] = amount
        modified = known.eval_expr(settings.modify[key], slot, world)
        if modified.__class__ in (int, float) and math.isfinite(modified):
            wanted = max(wanted, math.trunc(modified))
    return max(1 if key == "cpus" else 0, wanted)


class _Watched:
    """A world that records whether it was used."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.asked = False

    def __getattr__(self, name: str) -> Any:
        self.asked = True
        return getattr(self._world, name)


def charged_for(ad: ClassAd, world: World) -> str:
    """The user charged for one slot, as in `usage_of`; "" for none."""
    if evaluate(_IN_USE, ad, None, world) is not True:
        return ""
    user = evaluate(_CHARGED, ad, None, world)
    return user if isinstance(user, str) else ""


def view_of(snapshot: Snapshot, settings: NegotiatorSettings, policy: PoolPolicy) -> SlotView:
    """The view of a snapshot. The policy notes what it discards."""
    table, world = snapshot.slots, policy.world
    size = len(table)
    names = list(map(str, table.keys()))
    codes, holders = table.evaluate(_HOLDER, None, world).texts()
    in_use = table.evaluate(_IN_USE, None, world).true
    weight = weights_of(table, settings, world)
    discarded = policy.discarded_slots(table)
    constrained = _constrained(snapshot, settings, world)
    offered = np.fromiter(map(snapshot.claims.__contains__, names), bool, size)
    if snapshot.promised:
        offered &= ~np.fromiter(map(snapshot.promised.__contains__, names), bool, size)
    occupied = in_use & (codes >= 0)
    available, unavailable = np.ones(size, bool), {}
    retiring = np.zeros(size, bool)
    if settings.consider_preemption and not settings.consider_early_preemption:
        retiring = occupied & table.evaluate(_RETIRING, None, world).true
    # A claimed slot without a user belongs to its queue.
    claimed = in_use & ~occupied if settings.consider_preemption else in_use
    why = np.zeros(size, np.uint8)
    for number, out in enumerate((constrained, discarded, ~offered, claimed, retiring), 1):
        fresh = available & out
        count = int(np.count_nonzero(fresh))
        if count:
            unavailable[REASONS[number - 1]] = count
            why[fresh] = number
            available &= ~out
    # The use of a slot counts even if the slot is unavailable, and so does its weight: otherwise its user would appear
    # to use more than the pool has, and would get no share of the rest.
    counted = ~discarded | occupied
    if settings.pool_size_constraint is not None:
        counted &= table.evaluate(settings.pool_size_constraint, None, world).true
    return SlotView(
        names=names,
        available=available,
        occupied=occupied,
        shrinks=table.evaluate(_SHRINKS, None, world).true,
        holder=np.where(occupied, codes, -1),
        holders=holders,
        current_rank=table.evaluate(_CURRENT_RANK, None, world).numbers,
        weight=weight,
        size=float(weight[counted].sum()),
        unavailable=unavailable,
        out=why,
    )


def _constrained(snapshot: Snapshot, settings: NegotiatorSettings, world: FixedWorld) -> Array:
    if settings.slot_constraint is None:
        return np.zeros(len(snapshot.slots), bool)
    out: Array = ~snapshot.slots.evaluate(settings.slot_constraint, None, world).true
    return out
