"""How many jobs of /bin/true a node's fork server starts and sees end, besides what this machine can do at all.

    PYTHONPATH=src python bench/spawn_rate.py [jobs] [at once]

Both figures come from the same run, alternating, because a machine is not as fast now as it was a minute ago: what
counts is their ratio. The raw rate is that of a small Python process that forks, executes and waits.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from roost.runtime.processes.fork_server import ForkServer
from roost.runtime.processes.spawn_order import NotStarted, SpawnOrder

ROUNDS = 3
RAW = """
import os, sys, time
count, at_once = map(int, sys.argv[1:])
begin, live = time.perf_counter(), 0
for _ in range(count):
    if live == at_once:
        os.wait()
        live -= 1
    if os.fork() == 0:
        os.execv('/bin/true', ['true'])
    live += 1
while live:
    os.wait()
    live -= 1
print(count / (time.perf_counter() - begin))
"""


def raw_rate(count: int, at_once: int) -> float:
    """Jobs a second without anything around them."""
    command = [sys.executable, "-I", "-S", "-c", RAW, str(count), str(at_once)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


async def fork_server_rate(fork_server: ForkServer, jobs: Path, count: int, at_once: int) -> float:
    """Jobs a second from order to recorded end."""
    room = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with room:
            order = SpawnOrder(
                key=f"{jobs.name}.{number}",
                record=jobs / str(number),
                program=Path("/bin/true"),
                arguments=("true",),
            )
            family = await fork_server.spawn(order)
            assert not isinstance(family, NotStarted), family.text
            assert (await family.wait()).exit_code == 0

    begin = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(one(number))
    return count / (time.perf_counter() - begin)


async def measure(count: int, at_once: int) -> dict[str, object]:
    """All figures."""
    raw, own, latencies = [], [], []
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as name:
        home = Path(name)
        fork_server = await ForkServer.start(home / "nursery")
        try:
            for number in range(ROUNDS):
                raw.append(await asyncio.to_thread(raw_rate, count, at_once))
                jobs = home / f"jobs{number}"
                jobs.mkdir()
                cpu = time.process_time()
                own.append(await fork_server_rate(fork_server, jobs, count, at_once))
                cpu = time.process_time() - cpu
                single = home / f"single{number}"
                single.mkdir()
                latencies.append(1000 / await fork_server_rate(fork_server, single, 20, 1))
            pss = Path(f"/proc/{fork_server.pid}/smaps_rollup").read_text()
            groups = fork_server.group is not None
        finally:
            await fork_server.close()
    return {
        "jobs": count,
        "at_once": at_once,
        "control_groups": groups,
        "raw_per_s": round(max(raw)),
        "nursery_per_s": round(max(own)),
        "ratio": round(max(own) / max(raw), 2),
        "one_job_ms": round(min(latencies), 1),
        "node_cpu_ms_per_job": round(cpu / count * 1000, 2),
        "nursery_pss_kib": next(int(line.split()[1]) for line in pss.splitlines() if line.startswith("Pss:")),
        "load_average": os.getloadavg()[0],
    }


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:3]]
    print(json.dumps(asyncio.run(measure(*given, *(500, 16)[len(given) :])), indent=2))
