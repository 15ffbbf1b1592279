"""A machine's load values for a Grid Engine cell, besides those in slot ads: the load values of sge_execd.

``load_medium load_long``                  averages of the load over 5 and 15 minutes
``mem_free mem_used``                      memory, bytes; what the kernel can take from its caches is free
``swap_free swap_used``                    swap space, bytes
``virtual_free virtual_used``              both together
``cpu``                                    percent of all processors that was used since the last reading
``m_socket m_core m_thread``               sockets, cores, and threads of all cores
``m_topology m_topology_inuse``            the same as letters: `SCTTCTT` is a socket of two cores with two threads each

They are read from /proc and /sys on Linux; elsewhere only the averages are available.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from roost.startd.load import LoadReading

_CPUS: Final = Path("/sys/devices/system/cpu")
_STAT: Final = Path("/proc/stat")
_KIB: Final = 1024


class HostLoads:
    """The load values of this machine."""

    def __init__(self) -> None:
        #: Used and total processor time at the last reading, in ticks.
        self._before: tuple[int, int] | None = None

    def read(self, load: LoadReading, memory_kib: Mapping[str, int]) -> dict[str, str]:
        """Load value to text, in the form of load sensors; `memory_kib` is /proc/meminfo."""
        found = {"load_medium": f"{load.five_minutes:.6f}", "load_long": f"{load.fifteen_minutes:.6f}"}
        found |= _memory(memory_kib) | topology()
        percent = self._percent()
        return found if percent is None else found | {"cpu": f"{percent:.6f}"}

    def _percent(self) -> float | None:
        try:
            words = _STAT.read_text().splitlines()[0].split()[1:9]
            ticks = [int(word) for word in words]
        except (OSError, ValueError, IndexError):
            return None
        # Idle, and waiting for disks.
        now = sum(ticks) - sum(ticks[3:5]), sum(ticks)
        before, self._before = self._before, now
        if before is None or now[1] <= before[1]:
            return None
        return max(0.0, min(100.0, 100.0 * (now[0] - before[0]) / (now[1] - before[1])))


def _memory(kib: Mapping[str, int]) -> dict[str, str]:
    if "MemTotal" not in kib:
        return {}
    free, swap_free = kib.get("MemAvailable", kib.get("MemFree", 0)), kib.get("SwapFree", 0)
    used, swap_used = kib["MemTotal"] - free, kib.get("SwapTotal", 0) - swap_free
    sizes = {
        "mem_free": free,
        "mem_used": used,
        "swap_free": swap_free,
        "swap_used": swap_used,
        "virtual_free": free + swap_free,
        "virtual_used": used + swap_used,
    }
    return {name: str(size * _KIB) for name, size in sizes.items()}


@lru_cache(maxsize=1)
def topology() -> dict[str, str]:
    """Sockets, cores and threads of this machine; empty if unknown."""
    threads: dict[tuple[int, int], int] = {}
    for place in _CPUS.glob("cpu[0-9]*/topology"):
        try:
            package, core = (int((place / name).read_text()) for name in ("physical_package_id", "core_id"))
        except (OSError, ValueError):
            continue
        threads[package, core] = threads.get((package, core), 0) + 1
    return letters(threads) if threads else {}


def letters(threads: Mapping[tuple[int, int], int]) -> dict[str, str]:
    """The load values of a topology: socket and core to the number of threads of that core."""
    sockets = sorted({package for package, _ in threads})
    text = "".join(
        "S" + "".join("C" + "T" * count * (count > 1) for (of, _), count in sorted(threads.items()) if of == package)
        for package in sockets
    )
    return {
        "m_socket": str(len(sockets)),
        "m_core": str(len(threads)),
        "m_thread": str(sum(threads.values())),
        "m_topology": text,
        "m_topology_inuse": text,
    }
