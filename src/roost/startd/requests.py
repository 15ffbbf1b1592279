"""From a job's request to a dynamic slot.

The steps are those of the manual. The request is modified by MODIFY_REQUEST_EXPR_*; if slot or job then refuse the
other and MUST_MODIFY_REQUEST_EXPRS is not set, the original request is tried. A slot is cut to its size, and the
requirements of both sides are evaluated again with the new slot. If either refuses, the slot is not made.

Under a consumption policy nothing is modified: the sizes are the values of Consumption<R> for each resource of the
machine but Swap. The job's own requirements see them in place of its requests.

It does not hold claims. The caller claims the new slot or deletes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from math import ceil, isfinite, trunc
from typing import Final, TypeAlias

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, Syntax, Value, World, parse_expression
from roost.config import Config
from roost.model.resources import CPUS, DISK, MEMORY, SWAP, Amount, Amounts, Denied
from roost.model.slots import SlotId
from roost.startd.layout.at_work import DynamicRequest, MachineSlots

#: Largest request for any resource, in its unit; a larger one fits nowhere.
REQUEST_MAX: Final = 2**62

_MODIFIABLE: Final = ("RequestCpus", "RequestMemory", "RequestDisk")

AdOf: TypeAlias = Callable[[MachineSlots, SlotId], ClassAd]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicy:
    """The configuration of requests to one slot."""

    #: Request attribute to the expression that replaces it; MY is the job, TARGET the slot.
    modify: Mapping[str, Expr] = field(default_factory=dict)
    must_modify: bool = False
    #: Resource to the expression for a job's consumption of it; MY is the slot, TARGET the job. None without a policy.
    consumption: Mapping[str, Expr] | None = None
    swap_in_proportion: bool = False
    #: CLAIM_PARTITIONABLE_LEFTOVERS: the holder may use what is left.
    leftovers: bool = True


def request_policy(config: Config, resources: Sequence[str], *, type_id: int) -> RequestPolicy:
    """The policy of slots of a type, on a machine with those resources. Raises `ConfigError`."""
    modify = {}
    for attribute in _MODIFIABLE:
        text = config.get_expr(f"MODIFY_REQUEST_EXPR_{attribute.upper()}", slot_type=type_id)
        if text is not None:
            modify[attribute] = parse_expression(text, Syntax.OLD)
    return RequestPolicy(
        modify=modify,
        must_modify=config.get_bool("MUST_MODIFY_REQUEST_EXPRS", False, slot_type=type_id),
        consumption=_consumption_policy(config, resources, type_id),
        swap_in_proportion=config.get_bool("PROPORTIONAL_SWAP_ASSIGNMENT", False, slot_type=type_id),
        leftovers=config.get_bool("CLAIM_PARTITIONABLE_LEFTOVERS", True, slot_type=type_id),
    )


def _consumption_policy(config: Config, resources: Sequence[str], type_id: int) -> Mapping[str, Expr] | None:
    if not config.get_bool("CONSUMPTION_POLICY", False, slot_type=type_id):
        return None
    found = {}
    for name in resources:
        text = None if name == SWAP else config.get_expr(f"CONSUMPTION_{name.upper()}", slot_type=type_id)
        if text is not None:
            found[name] = parse_expression(text, Syntax.OLD)
        elif name != SWAP:
            # A policy that leaves out a resource is ignored: matches would cost nothing of that resource.
            return None
    return found


# -- what fits -------------------------------------------------------------------------------------------


def within_resource_limits(custom: Sequence[str], policy: RequestPolicy) -> Expr:
    """WithinResourceLimits: whether a job's requests fit into the slot whose ad has the expression.

    A job that does not request cores gets one; a job that does not request memory or disk does not fit. What it
    requires of the units of a custom resource is tested by its own requirements, as ``countMatches(RequireX,
    TARGET.AvailableX)``; a slot is cut only if enough units match.
    """
    if policy.consumption is not None:
        needs = [f"MY.Consumption{name} >= 0 && MY.Consumption{name} <= MY.{name}" for name in policy.consumption]
        some = " || ".join(f"MY.Consumption{name} > 0" for name in policy.consumption)
        return parse_expression(" && ".join((*needs, f"({some})")))
    clauses = [
        f"MY.{name} > 0 && {_asked(name, default)} <= MY.{name}"
        for name, default in ((CPUS, "1"), (MEMORY, "undefined"), (DISK, "undefined"))
    ]
    clauses += [f"({_asked(name, 'undefined')} is undefined || MY.{name} >= {_asked(name, '0')})" for name in custom]
    return parse_expression(" && ".join(clauses))


def _asked(resource: str, default: str) -> str:
    own, job = f"TARGET._condor_Request{resource}", f"TARGET.Request{resource}"
    otherwise = job if default == "undefined" else f"ifThenElse({job} isnt undefined, {job}, {default})"
    return f"ifThenElse({own} isnt undefined, {own}, {otherwise})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """The resources that a job would take from a slot under a consumption policy."""

    amounts: Amounts
    #: Resources that are insufficient, or whose expression yields no amount.
    short: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether the slot has all of it, and the amount is more than nothing."""
        return not self.short and any(amount > 0 for amount in self.amounts.values())


def consumption(slot: ClassAd, job: ClassAd, expressions: Mapping[str, Expr], world: World) -> Consumption:
    """The resources that a job would take; a resource that it does not request counts as 0."""
    asking = _explicit(job, expressions)
    amounts: dict[str, Amount] = {}
    short = []
    for name, expression in expressions.items():
        amount = _amount(slot.eval_expr(expression, asking, world))
        left = _amount(slot.eval(name, asking, world))
        if amount is None or left is None or amount > left:
            short.append(name)
        else:
            amounts[name] = amount
    return Consumption(amounts=Amounts(amounts), short=tuple(short))


def _explicit(job: ClassAd, names: Iterable[str]) -> ClassAd:
    """The job with 0 for each resource that it does not request."""
    asking = job.copy()
    for name in names:
        if f"Request{name}" not in asking:
            asking[f"Request{name}"] = 0
    return asking


def number(amount: Amount) -> int | float:
    """An amount as a ClassAd value: an integer unless it has a fraction."""
    return int(amount) if amount.denominator == 1 else float(amount)


def _amount(value: Value) -> Amount | None:
    """A ClassAd value as an amount; None if it is not a number, negative or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return Fraction(value) if 0 <= value <= REQUEST_MAX else None


# -- requests --------------------------------------------------------------------------------------------


def modified(job: ClassAd, slot: ClassAd, policy: RequestPolicy, world: World) -> ClassAd:
    """The request with its sizes modified; an expression that yields no number leaves its size unchanged."""
    values = {name: job.eval_expr(expression, slot, world) for name, expression in policy.modify.items()}
    after = job.copy()
    for name, value in values.items():
        amount = _amount(value)
        if amount is not None:
            after[name] = trunc(amount)
    return after


class Unplaceable(StrEnum):
    """Why a request gets no dynamic slot."""

    SLOT_REQUIREMENTS = "the partitionable slot's requirements do not accept the job"
    JOB_REQUIREMENTS = "the job's requirements do not accept the partitionable slot"
    BAD_SIZE = "the job does not state its requests"
    NOT_ENOUGH = "the partitionable slot has too little left"
    NEW_SLOT_REQUIREMENTS = "the requirements of the new slot do not accept the job"
    NEW_JOB_REQUIREMENTS = "the job's requirements do not accept the new slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try that failed."""

    #: Whether with the modified request; otherwise with the original one.
    modified: bool
    why: Unplaceable
    #: The attribute at fault, for BAD_SIZE.
    attribute: str = ""
    #: The insufficient resource, for NOT_ENOUGH.
    denied: Denied | None = None

    def __str__(self) -> str:
        detail = self.attribute if self.denied is None else str(self.denied)
        request = "modified request" if self.modified else "request as it came"
        return f"{request}: {self.why}" + (f" ({detail})" if detail else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPlaced:
    """A request that gets no dynamic slot, and all attempts."""

    attempts: tuple[Attempt, ...]

    def __str__(self) -> str:
        return "; ".join(str(attempt) for attempt in self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A dynamic slot cut for a request."""

    machine: MachineSlots
    slot: SlotId
    #: The job's ad with the successful request.
    job: ClassAd


def place(
    machine: MachineSlots, parent: SlotId, job: ClassAd, policy: RequestPolicy, *, ad_of: AdOf, world: World
) -> Placed | NotPlaced:
    """Cut a dynamic slot for a job. `ad_of` builds the ad of a slot of a machine, Requirements included."""
    placing = _Placing(machine=machine, parent=parent, policy=policy, ad_of=ad_of, world=world)
    attempts = []
    for request in _tries(job, ad_of(machine, parent), policy, world):
        outcome = placing.attempt(request)
        if isinstance(outcome, Placed):
            return outcome
        attempts.append(outcome)
    return NotPlaced(attempts=tuple(attempts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Try:
    modified: bool
    #: The job as the slot's expressions see it, and as its own expressions do.
    for_slot: ClassAd
    for_job: ClassAd


def _tries(job: ClassAd, slot: ClassAd, policy: RequestPolicy, world: World) -> Iterator[_Try]:
    if policy.consumption is not None:
        asking = _explicit(job, policy.consumption)
        consuming = job.copy()
        for name, amount in consumption(slot, job, policy.consumption, world).amounts.items():
            consuming[f"Request{name}"] = number(amount)
        yield _Try(modified=False, for_slot=asking, for_job=consuming)
        return
    changed = modified(job, slot, policy, world)
    if changed != job or policy.must_modify:
        yield _Try(modified=True, for_slot=changed, for_job=changed)
    if not policy.must_modify:
        yield _Try(modified=False, for_slot=job, for_job=job)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placing:
    machine: MachineSlots
    parent: SlotId
    policy: RequestPolicy
    ad_of: AdOf
    world: World

    def attempt(self, request: _Try) -> Placed | Attempt:
        before = self.ad_of(self.machine, self.parent)
        if not request.for_slot.matches(before, self.world):
            return Attempt(modified=request.modified, why=Unplaceable.SLOT_REQUIREMENTS)
        if not _accepts(request.for_job, before, self.world):
            return Attempt(modified=request.modified, why=Unplaceable.JOB_REQUIREMENTS)
        custom = [each.name for each in self.machine.resources.custom]
        size = size_of(request.for_slot, before, custom, self.policy, self.world)
        if isinstance(size, str):
            return Attempt(modified=request.modified, why=Unplaceable.BAD_SIZE, attribute=size)
        carved = self.machine.carve(self.parent, size)
        if isinstance(carved, Denied):
            return Attempt(modified=request.modified, why=Unplaceable.NOT_ENOUGH, denied=carved)
        after, slot = carved
        new = self.ad_of(after, slot)
        if not request.for_slot.matches(new, self.world):
            return Attempt(modified=request.modified, why=Unplaceable.NEW_SLOT_REQUIREMENTS)
        if not _accepts(request.for_job, new, self.world):
            return Attempt(modified=request.modified, why=Unplaceable.NEW_JOB_REQUIREMENTS)
        return Placed(machine=after, slot=slot, job=request.for_job)


def _accepts(job: ClassAd, slot: ClassAd, world: World) -> bool:
    return "Requirements" not in job or slot.matches(job, world)


def size_of(
    job: ClassAd, slot: ClassAd, custom: Sequence[str], policy: RequestPolicy, world: World
) -> DynamicRequest | str:
    """The slot to cut for a request, or the name of the attribute at fault."""
    swap_kb = _wanted(job, slot, "VirtualMemory", world)
    if policy.consumption is not None:
        taken = consumption(slot, job, policy.consumption, world)
        if not taken.fits:
            return f"Consumption{taken.short[0]}" if taken.short else "Consumption"
        sizes: dict[str, Amount | None] = {name: taken.amounts.get(name, 0) for name in (CPUS, MEMORY, DISK, *custom)}
    else:
        sizes = {name: _whole(_wanted(job, slot, name, world)) for name in (MEMORY, DISK)}
        cpus = 1 if _is_silent(job, CPUS) else _whole(_wanted(job, slot, CPUS, world))
        sizes[CPUS] = None if cpus is None else max(1, cpus)
        for name in custom:
            sizes[name] = 0 if _is_silent(job, name) else _whole(_wanted(job, slot, name, world))
    for name, amount in sizes.items():
        if amount is None:
            return f"Request{name}"
    known = {name: amount for name, amount in sizes.items() if amount is not None}
    return DynamicRequest(
        cpus=known[CPUS],
        memory_mb=known[MEMORY],
        disk_kb=known[DISK],
        swap_kb=_whole(swap_kb),
        swap_in_proportion=policy.swap_in_proportion,
        custom={name: known[name] for name in custom},
        requires=_requires(job, custom),
    )


def _requires(job: ClassAd, custom: Sequence[str]) -> dict[str, Expr]:
    return {name: job.lookup(f"Require{name}") for name in custom if f"Require{name}" in job}


def _is_silent(job: ClassAd, resource: str) -> bool:
    return f"Request{resource}" not in job and f"_condor_Request{resource}" not in job


def _wanted(job: ClassAd, slot: ClassAd, resource: str, world: World) -> Amount | None:
    for name in (f"_condor_Request{resource}", f"Request{resource}"):
        if name in job:
            return _amount(job.eval(name, slot, world))
    return None


def _whole(amount: Amount | None) -> int | None:
    # Rounded up, because a slot must hold at least what its job needs.
    return None if amount is None else ceil(amount)
