"""How many fetched jobs a machine runs a second, besides what it can do at all.

    PYTHONPATH=src python bench/fetch_rate.py [slots] [seconds]

A pool with one hook, a shell script that hands out /bin/true as fast as it is asked. Each fetched job is two programs
that are started, the hook and the job, with a claim that goes on, a scratch directory and an ad to be read. The raw
rate is that of a small Python process that forks, executes /bin/true and waits. What counts is the ratio of figures of
one run, for a machine is not as fast now as it was a minute ago.
"""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.spawn_rate import raw_rate

ROUNDS = 3
HOOK = """#!/bin/sh
echo >> {count}
echo 'Cmd = "/bin/true"
Owner = "{owner}"
JobUniverse = 5'
"""
CONFIG = """use ROLE : Personal
NUM_CPUS = {slots}
RUNBENCHMARKS = False
START = True
STARTD_JOB_HOOK_KEYWORD = B
B_HOOK_FETCH_WORK = {hook}
FetchWorkDelay = ifThenElse(State == "Claimed" && Activity == "Idle", 0, 300)
"""


def fetched(count: Path, seconds: float) -> float:
    """Jobs a second over that time, by how often the hook was asked: once for each job."""
    before, begin = count.stat().st_size, time.perf_counter()
    time.sleep(seconds)
    return (count.stat().st_size - before) / (time.perf_counter() - begin)


def measure(slots: int, seconds: float) -> dict[str, object]:
    """All figures."""
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as name:
        place = Path(name)
        place.chmod(0o755)
        hook, count, home = place / "hook", place / "count", place / "home"
        count.touch()
        hook.write_text(HOOK.format(count=count, owner=getpass.getuser()))
        hook.chmod(0o755)
        home.mkdir()
        (home / "roost.config").write_text(CONFIG.format(slots=slots, hook=hook))
        roost = [sys.executable, "-m", "roost.cli"]
        subprocess.run([*roost, "up", "-d", "--home", home], check=True, stdout=subprocess.DEVNULL)
        try:
            node = int((home / "run" / "node.pid").read_text())
            while count.stat().st_size < 2 * slots:
                time.sleep(0.05)
            jobs, cpu = count.stat().st_size, _cpu_s(node)
            own = [fetched(count, seconds) for _ in range(ROUNDS)]
            jobs, cpu = count.stat().st_size - jobs, _cpu_s(node) - cpu
        finally:
            subprocess.run([*roost, "down", "--fast", "--home", home], check=True, stdout=subprocess.DEVNULL)
    raw = [raw_rate(500, slots) for _ in range(ROUNDS)]
    return {
        "slots": slots,
        "raw_per_s": round(max(raw)),
        "fetched_per_s": round(max(own), 1),
        "ratio": round(max(own) / max(raw), 3),
        "programs_ratio": round(2 * max(own) / max(raw), 3),
        "node_cpu_ms_per_job": round(cpu / jobs * 1000, 2),
        "load_average": os.getloadavg()[0],
    }


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    given = [float(each) for each in sys.argv[1:3]]
    slots, seconds = (*given, *(4.0, 5.0)[len(given) :])
    print(json.dumps(measure(int(slots), seconds), indent=2))
