"""The environment variables that tell a job which units of custom resources it was assigned, under HTCondor's names.

For each resource of the machine that has units, such as GPUs with ``AssignedGPUs = "CUDA0"`` in the slot's ad:

* ``_CONDOR_AssignedGPUs`` is the list of the units;
* each variable of ENVIRONMENT_FOR_AssignedGPUs is that list, each unit changed by ``=/pattern/replacement/`` if the
  variable has one. Any character but a blank may replace the slash, and ``$1`` is the first group of the pattern;
* a slot without units of a resource that the machine has gives these variables the value of
  ENVIRONMENT_VALUE_FOR_UnAssignedGPUs if ENVIRONMENT_FOR_AssignedGPUs is set, so that libraries that use every unit
  they find use none;
* NVIDIA_VISIBLE_DEVICES has the UUIDs of the GPUs, or ``none``, where AUTO_SET_NVIDIA_VISIBLE_DEVICES is TRUE.

Source: HTCondor's manual, ENVIRONMENT_FOR_Assigned<name>, and the starter of release 25.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd, parse_expression
from roost.classad.functions.match_limit import MatchLimit
from roost.classad.functions.pcre.regex import Options, Regex, compile_pattern
from roost.classad.state import State
from roost.classad.values import from_bytes, to_bytes
from roost.config import Code, Config, ConfigError

_SUBSYSTEM: Final = "STARTER"
#: Variables that hold numbers: without a pattern, everything but digits and commas is left out.
_NUMBERS: Final = frozenset(("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"))
_UUIDS: Final = parse_expression('join(",", evalInEachContext(strcat("GPU-", DeviceUuid), AvailableGPUs))')
_NO_GPU: Final = "none"


class BadPrototype(ValueError):
    """ENVIRONMENT_FOR_Assigned<name> has a variable that cannot be read."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of ENVIRONMENT_FOR_Assigned<name>."""

    name: str
    #: The replacement to make in each unit; None to leave units as they are.
    pattern: Regex | None = None
    replacement: str = ""

    def value(self, units: str) -> str:
        """The value of the variable for a list of units."""
        if self.pattern is None:
            return re.sub(r"[^0-9,]", "", units) if self.name in _NUMBERS else units
        return ",".join(self._changed(each) for each in re.split(r"[,\s]+", units) if each)

    def _changed(self, unit: str) -> str:
        assert self.pattern is not None
        subject = to_bytes(unit)
        try:
            spans = self.pattern.search(State(), subject)
        except MatchLimit:
            spans = None
        if spans is None:
            return unit

        def group(found: re.Match[str]) -> str:
            number = 2 * int(found[1])
            known = number < len(spans) and spans[number] >= 0
            return from_bytes(subject[spans[number] : spans[number + 1]]) if known else ""

        replacement = re.sub(r"\$([0-9])", group, self.replacement)
        return from_bytes(subject[: spans[0]]) + replacement + from_bytes(subject[spans[1] :])


def variables(text: str) -> list[Variable]:
    """The variables of ENVIRONMENT_FOR_Assigned<name>: names, each with an optional pattern. Raises BadPrototype."""
    found, rest = [], text.strip()
    while rest:
        name, separator, after = re.match(r"([^\s=,]+)(\s*=\s*)?(.*)\Z", rest, re.S).groups("")  # type: ignore[union-attr]
        if not separator:
            found.append(Variable(name))
            rest = after
        else:
            parts = after[1:].split(after[:1], 2) if after else []
            if len(parts) < 3:
                raise BadPrototype(f"{name}= is not followed by /pattern/replacement/")
            pattern = compile_pattern(to_bytes(parts[0]), Options())
            if pattern is None:
                raise BadPrototype(f"{name}: {parts[0]!r} is not a regular expression")
            is_plain = name in _NUMBERS and not parts[0]
            found.append(Variable(name) if is_plain else Variable(name, pattern, parts[1]))
            rest = parts[2]
        rest = rest.lstrip(", \t\n")
    return found


def unit_environment(slot_ad: ClassAd, config: Config) -> dict[str, str]:
    """The variables for a job on a slot. Raises ConfigError."""
    found: dict[str, str] = {}
    names = slot_ad.eval("MachineResources")
    resources = names.split() if isinstance(names, str) else []
    for resource in resources:
        found.update(_of_resource(resource, slot_ad, config))
    if "gpus" in map(str.lower, resources) and config.get_bool(
        "AUTO_SET_NVIDIA_VISIBLE_DEVICES", True, subsys=_SUBSYSTEM
    ):
        uuids = slot_ad.eval_expr(_UUIDS)
        found["NVIDIA_VISIBLE_DEVICES"] = uuids if isinstance(uuids, str) and uuids else _NO_GPU
    return found


def _of_resource(resource: str, slot_ad: ClassAd, config: Config) -> Iterator[tuple[str, str]]:
    wanted = _variables(resource, config)
    units = slot_ad.eval(f"Assigned{resource}")
    if not isinstance(units, str) or not units:
        if not wanted or resource not in slot_ad:
            return
        units = config.get(f"ENVIRONMENT_VALUE_FOR_UnAssigned{resource}", subsys=_SUBSYSTEM) or ""
    yield from ((each.name, each.value(units)) for each in wanted)
    yield f"_CONDOR_Assigned{resource}", units


def check(resources: Iterable[str], config: Config) -> None:
    """Read the variables of resources before a job needs them. Raises ConfigError."""
    for resource in resources:
        _variables(resource, config)


def _variables(resource: str, config: Config) -> list[Variable]:
    knob = f"ENVIRONMENT_FOR_Assigned{resource}"
    try:
        return variables(config.get(knob, subsys=_SUBSYSTEM) or "")
    except BadPrototype as error:
        remedy = "Write NAME, or NAME=/pattern/replacement/, for each variable."
        problem = config.problem(Code.BAD_CHOICE, knob, str(error), subsys=_SUBSYSTEM, remedy=remedy)
        raise ConfigError(problem) from None
