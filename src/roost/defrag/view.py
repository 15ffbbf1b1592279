"""The pool as a round sees it: machines, and how the policy evaluates for each.

A machine is described by its partitionable slots. It counts as whole if one of them does, because a job that requests a
whole machine requests a slot. A drain belongs to this daemon if its reason begins like this daemon's reasons, or if it
has none; the daemon leaves all other drains alone. Sleeping machines (Offline) are skipped.
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
    #: When the newest of these ads arrived, epoch s; 0 if they do not say.
    heard_at: float
    whole: bool
    draining: bool
    #: DrainingRequestId of the drain, "" if it is not drained or not by this daemon.
    request_id: str = ""
    #: Whether the drain belongs to this daemon.
    ours: bool = False
    #: The deciding evaluations, to explain the choice.
    decisions: Mapping[str, Decision] = field(default_factory=dict, repr=False)

    def holds(self, knob: str) -> bool:
        """Whether an expression of the policy is TRUE for the machine."""
        found = self.decisions.get(knob)
        return found is not None and found.truth is True

    @property
    def rank(self) -> float:
        """DEFRAG_RANK; 0.0 if it is not a number."""
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
    """Name of a slot's machine, which is that of its daemon, since a host may have several; "" if the ad does not
    say."""
    name = ad.eval("Name")
    if isinstance(name, str):
        return name.partition("@")[2] or name
    machine = ad.eval("Machine")
    return machine if isinstance(machine, str) else ""


def number_of(ad: ClassAd, name: str) -> float | None:
    """The value of an attribute as a number; None if it is not one."""
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
    """The evaluation for the slot with the highest result: TRUE before FALSE before anything else."""
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
