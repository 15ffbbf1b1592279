"""The pool as a round sees it: machines, and what the policy says of each.

A machine is what its partitionable slots say of it. It counts as whole if one of them does, for a job that asks for a
whole machine asks for a slot. It is drained by this daemon if the reason begins as this daemon's reasons do, or if it
gives none; it leaves all other drains alone. Machines that sleep (Offline) are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, Value, evaluate
from roost.defrag.policy import DefragPolicy
from roost.policy.decision import Decision, StepWorld, truth_of

_OURS: Final = "defrag"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineView:
    """One machine."""

    name: str
    #: Its partitionable slots, by number.
    slots: tuple[ClassAd, ...] = field(repr=False)
    #: When the youngest of these ads came, epoch s; 0 where they do not say.
    heard_at: float
    whole: bool
    draining: bool
    #: DrainingRequestId of the drain, "" if it is not drained or not by this daemon.
    request_id: str = ""
    #: Whether the drain is one of this daemon's.
    ours: bool = False
    #: The deciding evaluations, to explain the choice.
    decisions: Mapping[str, Decision] = field(default_factory=dict, repr=False)

    def holds(self, knob: str) -> bool:
        """Whether an expression of the policy was TRUE of the machine."""
        found = self.decisions.get(knob)
        return found is not None and found.truth is True

    @property
    def rank(self) -> float:
        """DEFRAG_RANK; 0.0 for what is not a number."""
        value = self.decisions["DEFRAG_RANK"].value
        return float(value) if isinstance(value, int | float) and value == value else 0.0


def machines_of(ads: Iterable[ClassAd], policy: DefragPolicy, now: float) -> tuple[MachineView, ...]:
    """The machines of a pool, by name."""
    slots: dict[str, list[ClassAd]] = {}
    for ad in ads:
        name = machine_name(ad)
        if name and _is(ad, "PartitionableSlot") and not _is(ad, "Offline"):
            slots.setdefault(name, []).append(ad)
    return tuple(_view(name, found, policy, now) for name, found in sorted(slots.items()))


def machine_name(ad: ClassAd) -> str:
    """Name of the machine of a slot: that of its daemon, for a host may have several; "" if it does not say."""
    name = ad.eval("Name")
    if isinstance(name, str):
        return name.partition("@")[2] or name
    machine = ad.eval("Machine")
    return machine if isinstance(machine, str) else ""


def number_of(ad: ClassAd, name: str) -> float | None:
    """The value of an attribute as a number; None for what is none."""
    value = ad.eval(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is(ad: ClassAd, name: str) -> bool:
    return truth_of(ad.eval(name)) is True


def _view(name: str, ads: Sequence[ClassAd], policy: DefragPolicy, now: float) -> MachineView:
    slots = tuple(sorted(ads, key=lambda ad: number_of(ad, "SlotID") or 0.0))
    world = StepWorld(policy, name, now)
    decisions = {
        knob: _most(knob, expression, slots, world)
        for knob, expression in (
            ("DEFRAG_WHOLE_MACHINE_EXPR", policy.whole),
            ("DEFRAG_REQUIREMENTS", policy.requirements),
            ("DEFRAG_CANCEL_REQUIREMENTS", policy.cancel),
            ("DEFRAG_RANK", policy.rank),
        )
        if expression is not None
    }
    drained = next((ad for ad in slots if _is(ad, "Draining")), None)
    reason = None if drained is None else drained.eval("DrainReason")
    ours = drained is not None and (not isinstance(reason, str) or reason.lower().startswith(_OURS))
    request_id = drained.eval("DrainingRequestId") if drained is not None and ours else ""
    return MachineView(
        name=name,
        slots=slots,
        heard_at=max(number_of(ad, "LastHeardFrom") or 0.0 for ad in slots),
        whole=decisions["DEFRAG_WHOLE_MACHINE_EXPR"].truth is True,
        draining=drained is not None,
        request_id=request_id if isinstance(request_id, str) else "",
        ours=ours,
        decisions=decisions,
    )


def _most(knob: str, expression: Expr, slots: Sequence[ClassAd], world: StepWorld) -> Decision:
    """The evaluation in the slot in which it comes out highest: TRUE before FALSE before what is neither."""
    found = [
        Decision(
            name=knob,
            value=evaluate(expression, ad, None, world.again()),
            formula=expression,
            my=ad,
            target=None,
            world=world,
        )
        for ad in slots
    ]
    return max(found, key=lambda decision: _height(decision.value))


def _height(value: Value) -> tuple[bool, float]:
    number = float(value) if isinstance(value, bool | int | float) and value == value else None
    return (False, 0.0) if number is None else (True, number)
