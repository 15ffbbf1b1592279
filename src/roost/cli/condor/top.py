"""``condor_top``: what the daemons of this machine use, the busiest first.

HTCondor's shows counters of each daemon's handlers, which Roost's daemons do not keep; here are their processes. On a
terminal the table is drawn again until Ctrl-C; elsewhere it is printed once.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Final, NamedTuple

from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Option, given, number
from roost.runtime.home import Home, HomeError

OPTIONS: Final = (
    Option("delay", "seconds between two looks; 3", takes="SECONDS", least=1),
    Option("once", "print one table, on a terminal, too", least=1),
)
_DELAY_S: Final = 3
_FIRST_S: Final = 0.5
_TICK: Final = os.sysconf("SC_CLK_TCK")
_PAGE_KIB: Final = os.sysconf("SC_PAGE_SIZE") // 1024


class _Look(NamedTuple):
    """A process at an instant."""

    cpu_s: float
    memory_kib: int
    threads: int


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_top``."""
    delay, once = _DELAY_S, not sys.stdout.isatty()
    for option in given(arguments, OPTIONS):
        if option.name == "delay":
            delay = max(1, number(option))
        elif option.name == "once":
            once = True
        else:
            raise ToolError(f"{name} shows the daemons of this machine; {option.value!r} is not an option of it")
    home = Home.find(None)
    try:
        home.contact()
    except HomeError as error:
        raise ToolError(f"Error: there are no daemons to show\n{error}") from None
    before, wait_s = _looks(home), _FIRST_S
    try:
        while True:
            time.sleep(wait_s)
            now = _looks(home)
            text = _table(before, now, wait_s)
            sys.stdout.write(text if once else f"\033[H\033[J{text}")
            sys.stdout.flush()
            if once:
                return 0
            before, wait_s = now, float(delay)
    except KeyboardInterrupt:
        return 0


def _looks(home: Home) -> dict[tuple[str, int], _Look]:
    contact = home.contact()
    pids = {"master": int(contact["pid"])}
    for path in sorted(home.run.glob("*.pid")):
        try:
            pids[path.stem] = int(path.read_text())
        except (OSError, ValueError):
            continue
    found = {}
    for role, pid in pids.items():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        used = (int(fields[11]) + int(fields[12])) / _TICK
        found[role, pid] = _Look(used, int(fields[21]) * _PAGE_KIB, int(fields[17]))
    return found


def _table(before: dict[tuple[str, int], _Look], now: dict[tuple[str, int], _Look], passed_s: float) -> str:
    rows = []
    for (role, pid), look in now.items():
        earlier = before.get((role, pid), look)
        rows.append(((look.cpu_s - earlier.cpu_s) / passed_s * 100, role, pid, look))
    rows.sort(key=lambda row: (-row[0], row[1]))
    lines = [f"{'DAEMON':<12} {'PID':>8} {'CPU%':>6} {'CPU TIME':>10} {'MEMORY MB':>10} {'THREADS':>8}"]
    lines += [
        f"{role:<12} {pid:>8} {percent:>6.1f} {look.cpu_s:>10.1f} {look.memory_kib / 1024:>10.1f} {look.threads:>8}"
        for percent, role, pid, look in rows
    ]
    return "\n".join(lines) + "\n"
