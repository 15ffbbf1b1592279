"""Sensor readings of this machine, from which layouts and policies are computed.

Any reading can be replaced by a file, for tests and demonstrations: ROOST_SENSORS_FILE names a file with a JSON object,
which is read again when it changes:

    {"load": 0.3, "keyboard_idle_s": 0, "attributes": {"Temperature": 41}}

``keyboard_idle_s`` and ``console_idle_s`` stay as they are written (``console_idle_s`` null: there is no console);
``keyboard_used_at`` and ``console_used_at`` (epoch s) let the idle time grow. ``load`` is one number or three. The rest
are numbers: ``cpus``, ``memory_mb``, ``swap_kb``, ``disk_kb``, ``zone_offset_s``. ``attributes`` go into the ads of all
slots, ``load_values`` are reported to a Grid Engine cell (`host_loads`). A file that cannot be read changes nothing,
and `Sensors.problem` says what is wrong with it.

It reads /proc and devices on Linux. Elsewhere memory and swap are unknown (0), and a keyboard that leaves no trace
counts as never used. On Linux this also applies to a desktop whose input devices the daemon may not open and on which
no terminal is used: let a helper of the session touch a file of ROOST_ACTIVITY_FILES.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.config import Config
from roost.model.cell_requests import HOST_LOADS
from roost.model.slots import Filesystem, HostReading, SlotId
from roost.node.plan import Reading
from roost.runtime.node.host_loads import HostLoads
from roost.runtime.node.idle_devices import IdleDevices
from roost.runtime.node.impediments import PROBE_BYTES
from roost.startd.idleness import Idleness, machine_idleness
from roost.startd.load import LoadReading

#: Names in a file of replacements, and the valid values of each.
_NUMBERS: Final = frozenset(
    (
        "keyboard_idle_s", "keyboard_used_at", "console_idle_s", "console_used_at",
        "cpus", "memory_mb", "swap_kb", "disk_kb", "zone_offset_s",
    )
)  # fmt: skip
#: Maximum size of a file of replacements, bytes.
_FILE_BYTES_MAX: Final = 1_000_000
_KIB: Final = 1024


class Replacements:
    """The file that replaces readings."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.problem = ""
        self._state: tuple[int, int, int] | None = None
        self._values: dict[str, Any] = {}

    def values(self) -> Mapping[str, Any]:
        """The current replacements; the last ones that could be read."""
        if self.path is None:
            return self._values
        try:
            found = self.path.stat()
        except OSError as problem:
            self._state = None
            self.problem = f"{self.path}: {problem.strerror}"
            return self._values
        state = (found.st_mtime_ns, found.st_size, found.st_ino)
        if state != self._state:
            self._state = state
            self._read(self.path)
        return self._values

    def _read(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                values = json.loads(file.read(_FILE_BYTES_MAX))
            wrong = _mistake(values)
        except (OSError, ValueError) as problem:
            wrong = str(problem)
        self.problem = f"{path}: {wrong}; the previous readings remain in effect" if wrong else ""
        if not wrong:
            self._values = values


def _mistake(values: object) -> str:
    """What is wrong with replacements; empty for nothing."""
    if not isinstance(values, dict):
        return "it is not a JSON object"
    for name, value in values.items():
        if name in ("attributes", "load_values"):
            good = isinstance(value, dict)
        elif name == "load":
            good = _is_number(value) or (isinstance(value, list) and len(value) == 3 and all(map(_is_number, value)))
        elif name in _NUMBERS:
            good = _is_number(value) or (value is None and name == "console_idle_s")
        else:
            return (
                f"there is no reading {name!r}; the readings are load, load_values, attributes, "
                f"{', '.join(sorted(_NUMBERS))}"
            )
        if not good:
            return f"{name} cannot be {value!r}"
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


@dataclass(slots=True, kw_only=True)
class Sensors:
    """The sensors of this machine."""

    #: A path on the file system of scratch directories.
    execute: Path
    #: The paths of slots with their own directories.
    more: tuple[Path, ...] = ()
    devices: IdleDevices = field(default_factory=IdleDevices)
    replacements: Replacements = field(default_factory=lambda: Replacements(None))
    host_loads: HostLoads = field(default_factory=HostLoads)

    @classmethod
    def configured(cls, config: Config, execute: Path, more: tuple[Path, ...] = ()) -> Sensors:
        """The sensors as configured. Raises ConfigError."""
        file = config.get("ROOST_SENSORS_FILE") or os.environ.get("ROOST_SENSORS_FILE")
        devices = IdleDevices(
            console=tuple(config.get_list("CONSOLE_DEVICES")),
            bad_utmp=config.get_bool("STARTD_HAS_BAD_UTMP"),
            activity=tuple(config.get_list("ROOST_ACTIVITY_FILES") if config.get("ROOST_ACTIVITY_FILES") else ()),
            startup_boost_s=config.get_int("STARTUP_KEYBOARD_IDLE_BOOST"),
        )
        return cls(execute=execute, more=more, devices=devices, replacements=Replacements(Path(file) if file else None))

    @property
    def problem(self) -> str:
        """What is wrong with the file of replacements; empty for nothing."""
        return self.replacements.problem

    def host(self, inventories: Mapping[str, str] | None = None) -> HostReading:
        """The resources to divide between slots. Blocks on the disk."""
        replaced = self.replacements.values()
        memory = _memory_kib()
        return HostReading(
            cpus=int(replaced.get("cpus", os.cpu_count() or 1)),
            memory_mb=int(replaced.get("memory_mb", memory.get("MemTotal", 0) // _KIB)),
            swap_kb=int(replaced.get("swap_kb", memory.get("MemTotal", 0) + memory.get("SwapFree", 0))),
            filesystems={str(each): self._filesystem(each, replaced) for each in (self.execute, *self.more)},
            inventories=inventories or {},
        )

    def read(self, cpu_percent: Mapping[SlotId, float] | None = None, *, now: float | None = None) -> Reading:
        """The current readings. `cpu_percent`: processor time of the slots' jobs, percent of one core."""
        now = time.time() if now is None else now
        replaced = self.replacements.values()
        return Reading(
            load=_load(replaced),
            idleness=self._idleness(replaced, now),
            zone_offset_s=int(replaced.get("zone_offset_s", time.localtime(now).tm_gmtoff)),
            cpu_percent=cpu_percent or {},
            attributes={**self._host_loads(replaced), **replaced.get("attributes", {})},
        )

    def _host_loads(self, replaced: Mapping[str, Any]) -> dict[str, str]:
        """The load values for a Grid Engine cell, as one attribute."""
        values = replaced.get("load_values")
        if values is None:
            values = self.host_loads.read(_load(replaced), _memory_kib())
        return {HOST_LOADS: ",".join(f"{name}={value}" for name, value in values.items())} if values else {}

    def _idleness(self, replaced: Mapping[str, Any], now: float) -> Idleness:
        keyboard_s = _replaced_idle(replaced, "keyboard", now)
        console_s = _replaced_idle(replaced, "console", now)
        has_console = "console_idle_s" in replaced or "console_used_at" in replaced
        if keyboard_s is not None:
            # A replaced keyboard without a replaced console: it is the console's keyboard.
            return Idleness(keyboard_s=keyboard_s, console_s=console_s if has_console else keyboard_s)
        seen = machine_idleness(self.devices.terminals_s(now), self.devices.consoles_s(now))
        return Idleness(keyboard_s=seen.keyboard_s, console_s=console_s) if has_console else seen

    @staticmethod
    def _filesystem(execute: Path, replaced: Mapping[str, Any]) -> Filesystem:
        try:
            found, device = os.statvfs(execute), execute.stat().st_dev
        except OSError:
            return Filesystem(name=str(execute), free_kb=int(replaced.get("disk_kb", 0)))
        free_kb = found.f_bavail * found.f_frsize // _KIB
        if free_kb * _KIB < PROBE_BYTES:
            # Slots are laid out once. A full disk makes the machine accept no jobs until there is space
            # (`impediments`), then all of it counts again.
            free_kb = found.f_blocks * found.f_frsize // _KIB
        return Filesystem(name=f"{os.major(device)}:{os.minor(device)}", free_kb=int(replaced.get("disk_kb", free_kb)))


def _replaced_idle(replaced: Mapping[str, Any], what: str, now: float) -> int | None:
    used_at, idle_s = replaced.get(f"{what}_used_at"), replaced.get(f"{what}_idle_s")
    if used_at is not None:
        return max(0, int(now - used_at))
    return None if idle_s is None else int(idle_s)


def _load(replaced: Mapping[str, Any]) -> LoadReading:
    given = replaced.get("load")
    if isinstance(given, list):
        one, five, fifteen = given
    elif given is not None:
        one = five = fifteen = given
    else:
        one, five, fifteen = os.getloadavg()
    return LoadReading(one_minute=float(one), five_minutes=float(five), fifteen_minutes=float(fifteen))


def _memory_kib() -> dict[str, int]:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines) if rest.split()}
