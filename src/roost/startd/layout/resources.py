"""The resources that a machine has to divide: sensor readings, corrected by the configuration.

Custom resources come from MACHINE_RESOURCE_<NAME>, a quantity or a list of identifiers, or from the output of the
command MACHINE_RESOURCE_INVENTORY_<NAME>. The commands run elsewhere: `inventories` lists them, and a `HostReading`
carries their output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from roost.base.records import dataclass, replace
from roost.classad import ClassAd, Expr, ParseError, Syntax, Value, parse_expression
from roost.config import Code, Config, ConfigError, Diagnostic, Span
from roost.config.diagnostics import diagnostic
from roost.config.scope import DEFAULT_SPAN
from roost.model.command_line import CommandLineError, split_old
from roost.model.slots import CustomResource, HostReading, MachineResources
from roost.startd.layout.problems import LayoutCode, LayoutProblem
from roost.startd.layout.units import described_units, is_description

#: The built-in command: if no program of that name is installed, Roost itself provides the answer.
GPU_DISCOVERY: Final = "condor_gpu_discovery"
#: Maximum number of units of one custom resource.
UNITS_MAX: Final = 1_000_000

_SEPARATOR = re.compile(r"[,\s]+")
_QUANTITY = re.compile(r"\d{1,15}(?:\.0*)?\Z")
_PREFIX: Final = "machine_resource_"
_INVENTORY: Final = "machine_resource_inventory_"
_NAMES: Final = "machine_resource_names"
_STANDARD: Final = frozenset({"cpus", "memory", "disk", "swap"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """A command that lists the units of a resource."""

    name: str
    command: str
    span: Span


def inventories(config: Config) -> tuple[Inventory, ...]:
    """The commands whose output belongs in `HostReading.inventories`, under these names."""
    found = []
    for spelled in resource_names(config):
        knob = f"MACHINE_RESOURCE_INVENTORY_{spelled}"
        command = config.get(knob)
        if command is not None:
            found.append(Inventory(name=spelled, command=command, span=span_of(config, knob)))
    return tuple(found)


def inventory_words(inventory: Inventory) -> tuple[str, ...]:
    """The command of an inventory, as words. Raises ConfigError."""
    try:
        words = split_old(inventory.command)
    except CommandLineError as error:
        raise inventory_error(inventory, str(error)) from None
    if not words:
        raise inventory_error(inventory, "the command is empty")
    if not words[0].startswith("/") and words[0] != GPU_DISCOVERY:
        raise inventory_error(inventory, f"{words[0]} is not an absolute path")
    return words


def inventory_error(inventory: Inventory, message: str) -> ConfigError:
    """The error for the command of an inventory."""
    knob = f"MACHINE_RESOURCE_INVENTORY_{inventory.name}"
    remedy = (
        "Run the command by hand as the daemon's user. It must exit with status 0; otherwise the machine has no slots."
    )
    return ConfigError(diagnostic(Code.COMMAND_FAILED, f"{knob}: {message}", inventory.span, name=knob, remedy=remedy))


def inventory_problems(config: Config) -> Iterator[Diagnostic]:
    """Yield the problems of inventory commands before they run."""
    for each in inventories(config):
        try:
            inventory_words(each)
        except ConfigError as error:
            yield error.diagnostic


def resource_names(config: Config) -> tuple[str, ...]:
    """The custom resources as spelled in the configuration: in MACHINE_RESOURCE_NAMES if that is set."""
    listed = config.get_list("MACHINE_RESOURCE_NAMES")
    names = listed if listed else tuple(_described(config))
    return tuple({name.lower(): name for name in reversed(names)}.values())[::-1]


def _described(config: Config) -> Iterator[str]:
    for key, chain in config.chains.items():
        plain = key.rpartition(".")[2]
        if plain == _NAMES or not plain.startswith(_PREFIX):
            continue
        prefix = _INVENTORY if plain.startswith(_INVENTORY) else _PREFIX
        if plain != prefix:
            yield chain[0].name.rpartition(".")[2][len(prefix) :]


def span_of(config: Config, knob: str) -> Span:
    """Where a knob was set."""
    found = config.find(knob)
    return Span("<default>") if found is None else found.span


def is_set(config: Config, knob: str) -> bool:
    """Whether a source sets a knob; a default does not count."""
    found = config.find(knob)
    return found is not None and found.span != DEFAULT_SPAN and config.get(knob) is not None


def published_name(spelled: str) -> str:
    """The name of a custom resource in ads: as spelled, with a capital first letter."""
    return spelled[:1].upper() + spelled[1:]


def machine_resources(config: Config, reading: HostReading) -> tuple[MachineResources, tuple[LayoutProblem, ...]]:
    """The resources to divide, and the problems in their description. Raises `ConfigError`."""
    problems: list[LayoutProblem] = []
    custom = []
    for spelled in resource_names(config):
        found = _custom(config, reading, spelled)
        if isinstance(found, LayoutProblem):
            problems.append(found)
        else:
            custom.append(found)
    memory_mb = reading.memory_mb - config.get_int("RESERVED_MEMORY", 0)
    if config.get("MEMORY") is not None:
        memory_mb = config.get_int("MEMORY")
    reserved_kb = config.get_int("RESERVED_DISK", 0) * 1024
    disk_kb = {each.name: max(0, each.free_kb - reserved_kb) for each in reading.filesystems.values()}
    resources = MachineResources(
        detected_cpus=reading.cpus,
        detected_memory_mb=reading.memory_mb,
        cpus=_cpus(config, reading),
        memory_mb=max(0, memory_mb),
        swap_kb=max(0, reading.swap_kb - config.get_int("RESERVED_SWAP", 0) * 1024),
        disk_kb=disk_kb or {"": 0},
        custom=tuple(custom),
    )
    return resources, tuple(problems)


def _cpus(config: Config, reading: HostReading) -> int:
    # The default refers to DETECTED_CPUS_LIMIT, which configuration read without a machine does not have.
    configured = is_set(config, "NUM_CPUS")
    confined = config.get("DETECTED_CPUS_LIMIT") is not None
    cpus = config.get_int("NUM_CPUS") if configured or confined else reading.cpus
    limit = config.get_int("MAX_NUM_CPUS", 0)
    return min(cpus, limit) if limit else cpus


def _custom(config: Config, reading: HostReading, spelled: str) -> CustomResource | LayoutProblem:
    knob = f"MACHINE_RESOURCE_{spelled}"
    text = config.get(knob)
    found: CustomResource | str
    if spelled.lower() in _STANDARD:
        found = f"{spelled} is a resource of every machine"
    elif text is not None:
        found = _of_text(spelled, text)
    else:
        knob = f"MACHINE_RESOURCE_INVENTORY_{spelled}"
        found = _of_inventory(spelled, reading.inventories.get(spelled), config.get(knob) is not None)
    if not isinstance(found, str):
        found = _without_offline(found, config.get_list(f"OFFLINE_MACHINE_RESOURCE_{spelled}"))
        if found.detected <= UNITS_MAX:
            return found
        found = f"{found.detected} units of {spelled} exceed UNITS_MAX = {UNITS_MAX}"
    return LayoutProblem(
        code=LayoutCode.BAD_RESOURCE,
        message=found,
        knob=knob,
        span=span_of(config, knob),
        remedy=f"set MACHINE_RESOURCE_{spelled} to a number or a list of identifiers",
    )


def _of_text(spelled: str, text: str) -> CustomResource | str:
    name = published_name(spelled)
    if _QUANTITY.match(text):
        return CustomResource(name=name, detected=int(text.partition(".")[0]))
    ids = tuple(one for one in _SEPARATOR.split(text.strip('"')) if one)
    if re.match(r"[-+]?[\d.]", text) and len(ids) == 1:
        return f"{text!r} is neither a number of units nor a list of identifiers"
    repeated = sorted({one for one in ids if ids.count(one) > 1})
    if repeated:
        return f"the identifiers {', '.join(repeated)} are listed more than once"
    return CustomResource(name=name, detected=len(ids), ids=ids)


def _of_inventory(spelled: str, output: str | None, configured: bool) -> CustomResource | str:
    if output is None:
        return f"the command for {spelled} was not run" if configured else f"the number of {spelled} is not defined"
    ad = ClassAd()
    for line in output.splitlines():
        name, equals, value = line.partition("=")
        if not equals or not name.strip().isidentifier():
            continue
        try:
            ad[name.strip()] = parse_expression(value.strip(), Syntax.OLD)
        except ParseError:
            return f"the command for {spelled} printed {line.strip()[:80]!r}, which is not an attribute"
    detected: Value | Expr = ad.eval(f"Detected{spelled}")
    match detected:
        case bool():
            pass
        case int() if detected >= 0:
            found = CustomResource(name=published_name(spelled), detected=detected)
            return replace(found, properties=_properties(ad, spelled))
        case str():
            listed = _of_text(spelled, detected)
            if isinstance(listed, str):
                return listed
            units = described_units(ad, listed.ids)
            found_properties = {
                name: value for name, value in _properties(ad, spelled).items() if not is_description(name, listed.ids)
            }
            return replace(listed, properties=found_properties, units=units)
        case _:
            pass
    return f"the command for {spelled} printed no Detected{spelled} with a number or a list of identifiers"


def _properties(ad: ClassAd, spelled: str) -> dict[str, Value]:
    return {name: ad.eval(name) for name in ad if name.lower() != f"detected{spelled}".lower()}


def _without_offline(found: CustomResource, offline: tuple[str, ...]) -> CustomResource:
    gone = tuple(one for one in found.ids if one in offline)
    units = {unit: ad for unit, ad in found.units.items() if unit not in gone}
    return replace(found, ids=tuple(one for one in found.ids if one not in gone), offline=gone, units=units)
