"""The layout: which slots a machine has, and what each gets.

`plan_layout` reads the configuration and the sensor readings, and returns a `Layout`, or `LayoutRefused` with
everything that could not be met. Either NUM_SLOTS_TYPE_<N> request slots of described types, numbered in the order of
types; or there are NUM_SLOTS slots of type 0, which share everything evenly. NUM_SLOTS defaults to the number of cores.

A layout that does not fit is refused, so that an owner does not find a machine half used. To have a part of the slots
instead, set SLOT_CONFIG_FAILURE_MODE: with BestEffort the first slot of a type that does not fit is made from what is
left and marked broken, and further ones are left out; with AllOrNothing there are no slots at all.

It does not make dynamic slots or keep account of claims. See `layout_machine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from roost.base.records import dataclass
from roost.config import Code, Config, ConfigError
from roost.config.diagnostics import diagnostic
from roost.model.resources import CPUS, DISK, MEMORY, SWAP
from roost.model.slots import HostReading, MachineResources, SlotKind, SlotShape
from roost.startd.layout.problems import LayoutCode, LayoutProblem, LayoutRefused, Unmet, of_value
from roost.startd.layout.resources import is_set, machine_resources, span_of
from roost.startd.layout.shares import Given, Wanted, divide
from roost.startd.layout.types import SlotType, Special, read_slot_type
from roost.startd.layout.units import Lacking, assigned_units

#: Maximum number of static and partitionable slots of one machine.
SLOTS_MAX: Final = 10_000

_EXCEPT: Final = "except"
_BEST_EFFORT: Final = "besteffort"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The slots of a machine."""

    resources: MachineResources
    slots: tuple[SlotShape, ...]
    #: Warnings, and errors where a partial layout was requested anyway.
    problems: tuple[LayoutProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Counted:
    type: SlotType
    count: int
    kind: SlotKind


def plan_layout(
    config: Config, reading: HostReading, resources: MachineResources | None = None
) -> Layout | LayoutRefused:
    """Divide a machine as its configuration says; `resources`: what there is to divide, if already known."""
    try:
        return _planned(config, reading, resources)
    except ConfigError as error:
        return LayoutRefused(problems=(of_value(error),))


def _planned(config: Config, reading: HostReading, resources: MachineResources | None) -> Layout | LayoutRefused:
    problems = [*_type_zero(config)]
    if resources is None:
        resources, found = machine_resources(config, reading)
        problems = [*found, *problems]
    counted = list(_counted(config, resources, problems))
    total = sum(each.count for each in counted)
    if total > SLOTS_MAX:
        knob = counted[0].type.knob
        message = f"{total} slots exceed SLOTS_MAX = {SLOTS_MAX}"
        problems.append(LayoutProblem(code=LayoutCode.TOO_MANY, message=message, knob=knob, span=span_of(config, knob)))
    if any(not problem.is_warning for problem in problems):
        return LayoutRefused(problems=tuple(problems))
    mode = _mode(config)
    division = divide(resources, list(_wanted(config, reading, counted)), trim=mode == _BEST_EFFORT)
    problems += [_problem(each, counted, resources) for each in division.unmet]
    problems += _without_properties(counted, resources)
    units, lacking = assigned_units(resources, division.given)
    problems += [_lacking(each) for each in lacking]
    failed = division.unmet or lacking
    if failed and mode == _EXCEPT:
        return LayoutRefused(problems=tuple(problems))
    given = () if failed and mode != _BEST_EFFORT else division.given
    short = {each.given.wanted.number: each.resource for each in lacking}
    return Layout(resources=resources, slots=tuple(_shapes(given, resources, units, short)), problems=tuple(problems))


def _without_properties(counted: list[_Counted], resources: MachineResources) -> Iterator[LayoutProblem]:
    bare = {each.name for each in resources.custom if not each.units}
    for each in counted:
        for name in sorted(bare & set(each.type.conditions)):
            yield LayoutProblem(
                code=LayoutCode.CONSTRAINT_IGNORED,
                message=f"nothing is known about the units of {name}, so none can be selected",
                knob=each.type.knob,
                span=each.type.span,
                remedy=f"the command in MACHINE_RESOURCE_INVENTORY_{name} must print an ad for each unit",
            )


def _lacking(lacking: Lacking) -> LayoutProblem:
    wanted = lacking.given.wanted
    return LayoutProblem(
        code=LayoutCode.EXCEEDED,
        message=(
            f"slot of type {wanted.type.number} number {wanted.nth} cannot be created: only {lacking.found} "
            f"of {lacking.wanted} units of {lacking.resource} that are left meet {lacking.condition}"
        ),
        knob=wanted.type.knob,
        span=wanted.type.span,
        remedy="configure fewer slots, or a condition that more units meet",
    )


def _mode(config: Config) -> str:
    knob = "SLOT_CONFIG_FAILURE_MODE"
    text = config.get(knob) if is_set(config, knob) else None
    mode = _EXCEPT if text is None else text.lower()
    if mode not in (_EXCEPT, _BEST_EFFORT, "allornothing"):
        message = f"{text!r} is not one of BestEffort, AllOrNothing, Except"
        raise ConfigError(diagnostic(Code.BAD_CHOICE, message, span_of(config, knob), name=knob))
    return mode


def _fraction(given: Given, resource: str) -> Fraction:
    return Fraction(given.amounts.get(resource, 0))


# -- which slots -----------------------------------------------------------------------------------------


def _type_zero(config: Config) -> Iterator[LayoutProblem]:
    for knob in ("SLOT_TYPE_0", "NUM_SLOTS_TYPE_0"):
        if is_set(config, knob):
            yield LayoutProblem(
                code=LayoutCode.TYPE_ZERO,
                message="type 0 is the type of slots without a type and cannot be described",
                knob=knob,
                span=span_of(config, knob),
                remedy="use another number, or NUM_SLOTS",
            )


def _counted(config: Config, resources: MachineResources, problems: list[LayoutProblem]) -> Iterator[_Counted]:
    """The types that have slots, in order."""
    limit = config.get_int("MAX_SLOT_TYPES", 10)
    custom = [each.name for each in resources.custom]
    any_counted = False
    for number in range(1, limit):
        count = config.get_int(f"NUM_SLOTS_TYPE_{number}", 0)
        if count > 0:
            any_counted = True
            yield _Counted(_described(config, number, custom, problems), count, _kind(config, number))
    for number in config.slot_numbers("NUM_SLOTS_TYPE_<N>"):
        if number >= limit:
            knob = f"NUM_SLOTS_TYPE_{number}"
            message = f"there is no type {number}; slot types must be below MAX_SLOT_TYPES = {limit}"
            problems.append(
                LayoutProblem(code=LayoutCode.NOT_COUNTED, message=message, knob=knob, span=span_of(config, knob))
            )
    if not any_counted:
        count = config.get_int("NUM_SLOTS", resources.cpus)
        span = span_of(config, "NUM_SLOTS" if is_set(config, "NUM_SLOTS") else "NUM_CPUS")
        yield _Counted(SlotType(number=0, knob="NUM_SLOTS", span=span), count, _kind(config, 0))


def _described(config: Config, number: int, custom: list[str], problems: list[LayoutProblem]) -> SlotType:
    knob = f"SLOT_TYPE_{number}"
    text = config.get(knob)
    if text is None:
        count_knob = f"NUM_SLOTS_TYPE_{number}"
        return SlotType(number=number, knob=count_knob, span=span_of(config, count_knob))
    described, found = read_slot_type(number, text, span_of(config, knob), custom)
    problems += found
    return described


def _kind(config: Config, number: int) -> SlotKind:
    divisible = config.get_bool(f"SLOT_TYPE_{number}_PARTITIONABLE", False)
    return SlotKind.PARTITIONABLE if divisible else SlotKind.STATIC


def _wanted(config: Config, reading: HostReading, counted: list[_Counted]) -> Iterator[Wanted]:
    number = 0
    for each in counted:
        for nth in range(1, each.count + 1):
            number += 1
            filesystem = reading.filesystem_of(config.get("EXECUTE", slot=number) or "").name
            yield Wanted(number=number, type=each.type, nth=nth, kind=each.kind, filesystem=filesystem)


# -- what they get ---------------------------------------------------------------------------------------


def _shapes(
    given: tuple[Given, ...],
    resources: MachineResources,
    units: Mapping[int, Mapping[str, tuple[str, ...]]],
    lacking: Mapping[int, str],
) -> Iterator[SlotShape]:
    """`lacking` has the missing resource of each slot that did not get the units of its type."""
    for each in given:
        number = each.wanted.number
        assigned = units[number]
        custom = {one.name: int(each.amounts.get(one.name, 0)) for one in resources.custom}
        custom |= {name: len(ids) for name, ids in assigned.items()}
        short = (*each.short, *((lacking[number],) if number in lacking else ()))
        yield SlotShape(
            number=each.wanted.number,
            type_id=each.wanted.type.number,
            kind=each.wanted.kind,
            cpus=int(each.amounts.get(CPUS, 0)),
            memory_mb=int(each.amounts.get(MEMORY, 0)),
            disk_share=_fraction(each, DISK),
            swap_share=_fraction(each, SWAP),
            filesystem=each.wanted.filesystem,
            custom=custom,
            assigned=assigned,
            broken=f"Not enough {', '.join(short)}" if short else None,
        )


def _problem(unmet: Unmet, counted: list[_Counted], resources: MachineResources) -> LayoutProblem:
    described = next(each for each in counted if each.type.number == unmet.type_id)
    shares = {name: described.type.share(name) for name in unmet.resources}
    below_one = all(share is Special.AUTO for share in shares.values())
    what = "slot" if unmet.type_id == 0 else f"slot of type {unmet.type_id}"
    short = "its share is less than one of" if unmet.below_one else "not enough"
    return LayoutProblem(
        code=LayoutCode.BELOW_ONE if below_one else LayoutCode.EXCEEDED,
        message=(
            f"{what} number {unmet.nth} of {described.count} cannot be created: {short} {', '.join(unmet.resources)}."
            f" Requesting: {unmet.requesting}. Available: {unmet.available}"
        ),
        knob=described.type.knob,
        span=described.type.span,
        remedy=(
            "use whole numbers of cores and megabytes"
            if unmet.below_one
            else "configure fewer slots or smaller shares; NUM_CPUS and MEMORY advertise more than the machine has"
        ),
        unmet=unmet,
    )
