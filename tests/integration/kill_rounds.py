"""Kill daemons, or the bus, at random moments while jobs run, again and again; then count.

    python -m tests.integration.kill_rounds 50 [SEED]

Each round kills one of master, queue, matchmaker, machine and nats-server with SIGKILL while the pool is busy, and has
it start again: by its master, or by ``roost up`` where the master itself was killed. At the end every job must have had
exactly one end, each with the exit status that its program had, and no process of a job may be left.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.integration.kit import Pool, eventually, running

ROLES = ("schedd", "node", "central", "nats", "master")
#: Most jobs under way at a time.
_LOAD = 12
#: What the jobs do: their numbers are their exit status; each leaves a line where it ran to its end.
_SCRIPT = "n=$1; sleep $((n % 5 / 4 * 2)).$((n % 10)); echo $n >> ended.$n; exit $((n % 3))"


def kill_rounds(pool: Pool, rounds: int, seed: int, roles: tuple[str, ...] = ROLES, say: bool = False) -> int:
    """Kill `rounds` times; the number of jobs that had their one end."""
    chance = random.Random(seed)
    jobs = 0
    for number in range(rounds):
        role = roles[number % len(roles)] if rounds <= len(roles) else chance.choice(roles)
        jobs += _more_jobs(pool, jobs)
        time.sleep(chance.uniform(0.0, 0.7))
        pid = pool.kill(role)
        if say:
            print(f"round {number + 1}: {role} ({pid}) killed, {jobs} jobs so far", flush=True)
        _back(pool, role, pid)
    pool.wait()
    check(pool, jobs)
    return jobs


def _more_jobs(pool: Pool, first: int) -> int:
    if len(pool.jobs()) >= _LOAD:
        return 0
    lines = "\n".join(str(first + n) for n in range(6))
    script = pool.work / "job.sh"
    if not script.exists():
        script.write_text(f"#!/bin/sh\n{_SCRIPT}\n")
        script.chmod(0o755)
    pool.submit(f"executable = {script}\narguments = $(n)\nqueue n from (\n{lines}\n)\n")
    return 6


def _back(pool: Pool, role: str, old: int) -> None:
    """Wait until what was killed is there again, and answers."""
    if role == "master":
        eventually(lambda: not _daemons(pool), "the end of the daemons of a master that was killed")
        pool.up()
    else:
        eventually(lambda: pool.pid(role) not in (0, old), f"a new {role}")
    eventually(lambda: pool.try_("queue", "--json").returncode == 0, "an answer of the queue")


def _daemons(pool: Pool) -> list[int]:
    return [pid for pid, words in pool.processes().items() if "roost.cli" in words or "nats-server" in words]


def check(pool: Pool, jobs: int) -> None:
    """Every job has had exactly one end, and that of its program."""
    past = json.loads(pool("history", "--json", "--long", "--limit", "0"))
    numbers = sorted(int(ad["Args"]) for ad in past)
    assert numbers == list(range(jobs)), f"jobs with an end: {numbers}"
    ends = pool.ends()
    assert len(ends) == jobs
    assert set(ends.values()) == {1}, f"more than one end: {[job for job, times in ends.items() if times > 1]}"
    for ad in past:
        n = int(ad["Args"])
        assert (ad["JobStatus"], ad["ExitCode"]) == (4, n % 3), ad
        assert (pool.work / f"ended.{n}").exists()
    assert not list((pool.home / "execute").glob("dir_*"))
    left = [words for words in pool.processes().values() if "job.sh" in words]
    assert not left, left
    eventually(lambda: _states(pool) == {"Unclaimed"}, f"the end of all claims: {_states(pool)}")


def _states(pool: Pool) -> set[str]:
    return {slot["State"] for slot in json.loads(pool("status", "--json"))}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="roost-kill-") as place, running(Path(place), cpus=4) as pool:
        began = time.monotonic()
        rounds, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
        total = kill_rounds(pool, rounds, seed, say=True)
        print(f"{rounds} rounds, {total} jobs, each with one end, {time.monotonic() - began:.0f} s")
