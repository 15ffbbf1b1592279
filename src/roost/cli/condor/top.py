"""``condor_top``: the resource use of this machine's daemons, busiest first.

HTCondor's version shows counters of each daemon's handlers, which Roost's daemons do not keep; this one shows their
processes. On a terminal the table is redrawn until Ctrl-C; elsewhere it is printed once.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Final, NamedTuple

from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Option, given, number
from roost.cli.up import daemon_of, master_runs
from roost.runtime.home import Home, HomeError
from roost.runtime.processes.shepherd.processes import look

OPTIONS: Final = (
    Option("delay", "seconds between updates; 3", takes="SECONDS", least=1),
    Option("once", "print one table, on a terminal, too", least=1),
)
_DELAY_S: Final = 3
_FIRST_S: Final = 0.5
_TICK: Final = os.sysconf("SC_CLK_TCK")
_PAGE_KIB: Final = os.sysconf("SC_PAGE_SIZE") // 1024


class _Look(NamedTuple):
    """A process at one instant."""

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
    pids = {"master": int(contact["pid"]) if master_runs(contact) else 0}
    try:
        pids |= {path.stem: daemon_of(home, contact, path.stem) for path in sorted(home.run.glob("*.pid"))}
    except PermissionError:
        raise ToolError(f"Error: only the user who runs the pool in {home.path} may see its daemons") from None
    found = {}
    for role, pid in pids.items():
        seen = look(pid) if pid else None
        if seen is None:
            continue
        try:
            threads = len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208
        except OSError:
            continue
        found[role, pid] = _Look((seen.user + seen.system) / _TICK, seen.pages * _PAGE_KIB, threads)
    return found


def _table(before: dict[tuple[str, int], _Look], after: dict[tuple[str, int], _Look], passed_s: float) -> str:
    rows = []
    for (role, pid), present in after.items():
        earlier = before.get((role, pid), present)
        rows.append(((present.cpu_s - earlier.cpu_s) / passed_s * 100, role, pid, present))
    rows.sort(key=lambda row: (-row[0], row[1]))
    lines = [f"{'DAEMON':<12} {'PID':>8} {'CPU%':>6} {'CPU TIME':>10} {'MEMORY MB':>10} {'THREADS':>8}"]
    lines += [
        f"{role:<12} {pid:>8} {percent:>6.1f} {now.cpu_s:>10.1f} {now.memory_kib / 1024:>10.1f} {now.threads:>8}"
        for percent, role, pid, now in rows
    ]
    return "\n".join(lines) + "\n"
