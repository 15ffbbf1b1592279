"""Machines of a pool as hosts of a cell, and the load values that they report.

A machine is the host with its name, ignoring case. If the cell has no such host, the first labels are compared, as long
as the result is unique. Load values are the attributes of a slot's ad that have the name of a complex, which programs
of STARTD_CRON_JOBLIST can publish, those that `_measured` derives, and values of the cell's load sensors; a machine
reports its own values in one attribute (`HOST_LOADS`). The load average over a minute replaces averages that a machine
does not report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from roost.classad import ClassAd
from roost.classad.reading import number_in
from roost.classad.values import fold
from roost.gridengine.cell import Cell
from roost.gridengine.instances import QueueInstance
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.values import is_none, seconds
from roost.model.cell_requests import GLOBAL_LOADS, HOST_LOADS, LOADS

#: Default of `load_report_time`, s.
_REPORT_S: Final = 40.0
_ARCHITECTURES: Final = {"X86_64": "amd64", "INTEL": "x86", "AARCH64": "arm64", "ARM64": "arm64"}
_SYSTEMS: Final = {"LINUX": "lx", "OSX": "darwin", "FREEBSD": "fbsd"}
#: Load averages that machines report in addition to the one-minute average.
_AVERAGES: Final = ("load_medium", "load_long")
_MIB: Final = 2**20
_KIB: Final = 2**10


class Hosts:
    """The hosts of a cell by the names of machines."""

    def __init__(self, cell: Cell, instances: Iterable[QueueInstance]) -> None:
        names = dict.fromkeys((*(name for name in cell.hosts if name != GLOBAL), *(one.host for one in instances)))
        self._exact = {name.casefold(): name for name in names}
        self._short: dict[str, str | None] = {}
        for name in names:
            label = name.casefold().partition(".")[0]
            self._short[label] = None if label in self._short else name

    def of(self, machine: str) -> str | None:
        """The host of a machine; None if the cell has none for it."""
        name = machine.casefold()
        return self._exact.get(name) or self._short.get(name.partition(".")[0])


def load_values(ad: ClassAd, complexes: Collection[str]) -> Mapping[str, str]:
    """The load values of a machine by complex; `ad` is that of any of its slots."""
    found = {name: text for name, text in _measured(ad).items() if text}
    for name in complexes:
        # `Arch` of a slot is not the complex `arch`.
        if name in ad and ad.spelling(fold(name)) == name and (text := _text(ad.get(name))):
            found[name] = text
    own = sensed(ad, HOST_LOADS, complexes)
    processors = number_in(ad, "DetectedCpus") or 1.0
    averages = {f"np_{name}": f"{float(own[name]) / processors:.6f}" for name in _AVERAGES if name in own}
    return found | own | averages | sensed(ad, LOADS, complexes)


def sensed(ad: ClassAd, attribute: str, complexes: Iterable[str]) -> dict[str, str]:
    """Values of a machine's load sensors by complex: of its host (`LOADS`) or of the cell (`GLOBAL_LOADS`)."""
    text = ad.get(attribute)
    pairs = (word.partition("=") for word in text.split(",")) if isinstance(text, str) else ()
    known = frozenset(complexes)
    return {name: value for name, _, value in pairs if name in known and value}


def global_loads(ads: Iterable[ClassAd], complexes: Iterable[str]) -> dict[str, str]:
    """Values of load sensors for the cell."""
    names = tuple(complexes)
    found: dict[str, str] = {}
    for ad in ads:
        if GLOBAL_LOADS in ad:
            found |= sensed(ad, GLOBAL_LOADS, names)
    return found


def _measured(ad: ClassAd) -> dict[str, str]:
    load, processors = number_in(ad, "TotalLoadAvg"), number_in(ad, "DetectedCpus")
    memory_mb, swap_kb = number_in(ad, "DetectedMemory"), number_in(ad, "TotalVirtualMemory")
    system, machine = ad.get("OpSys"), ad.get("Arch")
    named = isinstance(system, str) and isinstance(machine, str)
    found: dict[str, str] = {"arch": architecture(str(system), str(machine)) if named else ""}
    if processors:
        found["num_proc"] = f"{processors:.0f}"
    if load is not None:
        for name in ("load_short", "load_medium", "load_long", "load_avg"):
            found[name] = f"{load:.6f}"
            found[f"np_{name}"] = f"{load / (processors or 1.0):.6f}"
    if memory_mb is not None:
        found["mem_total"] = f"{memory_mb * _MIB:.0f}"
    if swap_kb is not None:
        found["swap_total"] = f"{swap_kb * _KIB:.0f}"
        found["virtual_total"] = f"{swap_kb * _KIB + (memory_mb or 0.0) * _MIB:.0f}"
    return found


def architecture(system: str, machine: str) -> str:
    """Grid Engine's name of an architecture, such as ``lx-amd64``, from OpSys and Arch; "" if they are missing."""
    if not system or not machine:
        return ""
    return f"{_SYSTEMS.get(system.upper(), system.lower())}-{_ARCHITECTURES.get(machine.upper(), machine.lower())}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return value if isinstance(value, str) else f"{value}" if isinstance(value, int | float) else ""


def sensors_of(cell: Cell, hosts: Hosts, machine: str) -> str:
    """The load sensors of a machine, in the form of the slots' ads; "" for none."""
    host = hosts.of(machine)
    if host is None:
        return ""
    programs, report = (cell.configured(host, name) for name in ("load_sensor", "load_report_time"))
    paths = [] if programs is None or is_none(programs) else [word.strip() for word in programs.split(",")]
    interval_s = seconds(report or "") or _REPORT_S
    return f"{interval_s:g} {host} {','.join(filter(None, paths))}" if any(paths) else ""
