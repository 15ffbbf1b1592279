"""Arrays and parallel jobs of a cell while daemons are killed: nothing is lost, nothing twice, no gang half started.

Each round kills one daemon of a pool of two machines with SIGKILL while they are busy: the queue, the central manager,
a machine's daemon, one of the three message servers or all of them, or a master, after whose death its daemons end too.
`make test` kills a few times, `make gridengine-kills` 50 times (``ROOST_KILL_ROUNDS``, ``ROOST_KILL_SEED``).
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.cli.gridengine.kit import Desk
from tests.integration.kill_rounds import _back as back
from tests.integration.kit import CommandFailed, Pool, eventually
from tests.integration.servers import Servers
from tests.integration.test_cell_jobs import PARTITIONABLE, task
from tests.integration.test_cell_parallel import Machines, Two, all_used, claimed, machines, several

__all__ = ["machines"]

ROUNDS = int(os.environ.get("ROOST_KILL_ROUNDS", "8"))
SEED = int(os.environ.get("ROOST_KILL_SEED", "1"))
ROLES = ("schedd", "central", "node", "server", "servers", "second", "master", "second master")
#: Most jobs under way at a time, in tasks.
_LOAD = 16
#: What is submitted in turn: lines of the description, tasks, and the slots that each may have.
_KINDS = (
    ("queue 5", 5, range(1, 2)),
    ("cell_parallel = fill 2-6", 1, range(2, 7)),
    ("cell_parallel = rr 3\nqueue 2", 2, range(3, 4)),
    ("cell_parallel = two 4", 1, range(4, 5)),
    ("cell_parallel = smp 1-4\nqueue 2", 2, range(1, 5)),
    ("cell_parallel = fill 8", 1, range(8, 9)),
)
#: A task tells of its start with the slots that its hosts file adds up to, and of its end.
_SCRIPT = (
    "one=$JOB_ID.${{SGE_TASK_ID:-undefined}}\n"
    "slots=$(awk '{{n += $2}} END {{print n}}' ${{PE_HOSTFILE:-/dev/null}})\n"
    'echo "$one ${{NSLOTS:-1}} ${{slots:-1}}" >> {log}.started\n'
    "sleep 0.$(($$ % 10))\n"
    'echo "$one" >> {log}.ended'
)


class Load:
    """Jobs that come as long as there is room."""

    def __init__(self, pool: Pool, log: Path) -> None:
        self._pool, self._log = pool, log
        #: Cluster to its tasks and the slots that each may have.
        self.jobs: dict[int, tuple[int, range]] = {}

    def more(self) -> None:
        """Submit what there is room for."""
        while len(self._pool.jobs()) < _LOAD:
            text, tasks, slots = _KINDS[len(self.jobs) % len(_KINDS)]
            script = _SCRIPT.format(log=self._log)
            self.jobs[self._pool.submit(text, script)] = tasks, slots

    def wrong(self) -> Iterator[str]:
        """What is wrong once all have ended."""
        ends = Counter(
            row["ClusterId"] for row in json.loads(self._pool("history", "--json", "--long", "--limit", "0"))
        )
        wanted = {cluster: tasks for cluster, (tasks, _) in self.jobs.items()}
        if ends != wanted:
            yield f"ends by job: {sorted(wanted.items() ^ ends.items())}"
        started = [line.split() for line in self._lines("started")]
        starts, finishes = Counter(row[0] for row in started), Counter(self._lines("ended"))
        if sum(wanted.values()) != len(finishes):
            yield f"{sum(wanted.values())} tasks, and {len(finishes)} ran to their end"
        yield from (f"{one} was started {n} times" for one, n in starts.items() if n != 1)
        yield from (f"{one} ran to its end {n} times" for one, n in finishes.items() if n != 1)
        for one, given, listed in started:
            slots = self.jobs[int(one.split(".")[0])][1]
            if int(given) not in slots or (slots != range(1, 2) and given != (listed or "1")):
                yield f"{one} had {given} slots, its hosts file {listed}, of {slots}"

    def _lines(self, name: str) -> list[str]:
        return Path(f"{self._log}.{name}").read_text().splitlines()


def kill(machines: Two, role: str) -> None:
    """Kill a daemon, and wait until it is there again."""
    pool = machines.second if role.startswith("second") else machines.pool
    name = {"second": "node", "second master": "master"}.get(role, role)
    pid = pool.kill(name)
    if pool is machines.pool:
        back(pool, name, pid)
    elif name == "master":
        eventually(lambda: not _daemons(pool), "the end of the daemons of a master that was killed")
        pool.up()
    else:
        eventually(lambda: pool.pid(name) not in (0, pid), f"a new {name}")


def kill_servers(machines: Two, servers: Servers, numbers: Sequence[int]) -> None:
    """Kill message servers, start them again a moment later, and wait for an answer."""
    for number in numbers:
        servers.kill(number)
    time.sleep(0.2)
    for number in numbers:
        servers.start(number)
    eventually(lambda: machines.pool.try_("queue", "--json").returncode == 0, "an answer of the queue")


def _daemons(pool: Pool) -> list[int]:
    return [pid for pid, words in pool.processes().items() if "roost.cli" in words]


@several
def test_nothing_is_lost_and_no_gang_is_half_started(machines: Machines, servers: Servers, tmp_path: Path) -> None:
    two, dice = machines(PARTITIONABLE), random.Random(SEED)
    load = Load(two.pool, tmp_path / "log")
    for number in range(ROUNDS):
        role = ROLES[number % len(ROLES)] if len(ROLES) >= ROUNDS else dice.choice(ROLES)
        load.more()
        time.sleep(dice.uniform(0.0, 0.8))
        match role:
            case "server":
                kill_servers(two, servers, [dice.randrange(3)])
            case "servers":
                kill_servers(two, servers, range(3))
            case _:
                kill(two, role)
        print(f"round {number + 1}: {role} killed, {len(load.jobs)} jobs so far", flush=True)
    eventually(lambda: not two.pool.jobs(), lambda: f"jobs that do not end: {two.pool.jobs()}", 120)
    eventually(lambda: claimed(two.pool) == 0, "all slots of the machines are free again")
    assert all_used(two.pool) == 0
    assert list(load.wrong()) == []
    tasks = sum(tasks for tasks, _ in load.jobs.values())
    print(f"{ROUNDS} rounds, {len(load.jobs)} jobs with {tasks} tasks, each started and ended once", flush=True)


#: Licences of the cell, one for each slot.
_LICENCES = 20
#: A task tells which process it is and how many slots it has, and ends when it may.
_LIVES = (
    "echo $$ ${{NSLOTS:-1}} > {live}/$JOB_ID.${{SGE_TASK_ID:-undefined}}\n"
    "while [ ! -e {live}/end.$JOB_ID ]; do sleep 0.1; done"
)


def ledgers(two: Two, live: Path) -> dict[str, float]:
    """The slots in use by what the queue, the cell's instances, the machines, licences and processes say."""
    running = [row for row in two.pool.jobs() if row["JobStatus"] == 2]
    tasks = [task(row) for row in running]
    offered = Desk(two.pool)("qhost", "-F", "licence", "-h", "global", status=None).out
    left = re.search(r"gc:licence=([0-9.]+)", offered)
    processes = [path.read_text().split() for path in live.glob("*.*") if not path.name.startswith("end")]
    # A daemon that has just started may not know of the cell yet: then nothing agrees.
    rows = json.loads(two.pool.try_("cell", "queues", "--json").stdout or "[]")
    return {
        "queue": sum(each.get("AllSlots", each["Slots"]) for each in tasks),
        "instances": sum(row["used"] for row in rows) if rows else -2,
        "machines": claimed(two.pool),
        "licences": _LICENCES - float(left[1]) if left else -1,
        "processes": sum(int(slots) for pid, slots in filter(None, processes) if Path(f"/proc/{pid}").exists()),
    }


@several
def test_every_ledger_agrees_with_what_runs_after_each_step(machines: Machines, tmp_path: Path) -> None:
    """Submissions, ends, removals, changes of the cell and kills, drawn at random."""
    two = machines(PARTITIONABLE, complexes="licence lic INT <= YES YES 0 0", glob=f"licence={_LICENCES}")
    dice, live = random.Random(SEED), tmp_path / "live"
    live.mkdir()
    jobs: list[int] = []

    def agree() -> bool:
        try:
            return len(set(ledgers(two, live).values())) == 1
        except CommandFailed:
            # A daemon is not there again yet.
            return False

    steps = ["submit", "submit", "schedd", "end", "node", "submit", "edit", "remove", "central", "second"]
    steps += [dice.choice(steps) for _ in range(max(0, ROUNDS - len(steps)))]
    for step in steps:
        match step:
            case "submit":
                text = dice.choice(("queue 3", "cell_parallel = fill 2-3", "cell_parallel = two 4"))
                jobs.append(two.pool.submit(f"cell_resources = licence=1\n{text}", _LIVES.format(live=live)))
            case "end" if jobs:
                (live / f"end.{jobs.pop(dice.randrange(len(jobs)))}").touch()
            case "remove" if jobs:
                two.pool("rm", str(jobs.pop(dice.randrange(len(jobs)))))
            case "edit":
                Desk(two.pool)("qconf", "-mattr", "queue", "slots", dice.choice("345"), "all.q")
            case "schedd" | "central" | "node" | "second":
                kill(two, step)
        eventually(agree, lambda step=step: f"after {step}: {ledgers(two, live)}")  # type: ignore[misc]
    assert ledgers(two, live)["queue"] > 0 or not jobs
    for job in jobs:
        (live / f"end.{job}").touch()
    two.pool.wait(*jobs)
    eventually(lambda: set(ledgers(two, live).values()) == {0}, lambda: str(ledgers(two, live)))
