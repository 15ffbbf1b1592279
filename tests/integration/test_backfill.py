"""Backfill on a real machine: the program of the administrator runs while nobody needs the slots, and goes with all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kit import Pool, eventually, running

CLIENT = """\
#!/bin/sh
# Leaves a process of another session behind, works, and ends when it is told to.
echo "$1 $(id -u) $PWD $_CONDOR_SCRATCH_DIR" >> starts
setsid sh -c 'echo $$ > "$0/stray"; exec sleep 1000' "$PWD" < /dev/null > /dev/null 2>&1 &
echo $$ > pid
touch "$TMPDIR/file"
while ! test -f end; do sleep 0.05; done
rm end
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that any user can get to."""
    found = Path(tempfile.mkdtemp(prefix="roost-backfill-", dir="/tmp"))
    found.chmod(0o755)
    yield found
    shutil.rmtree(found)


def _client(place: Path) -> tuple[Path, str, int]:
    """The program, its configuration, and who it runs as."""
    work = place / "client"
    work.mkdir()
    program = place / "boinc"
    program.write_text(CLIENT)
    program.chmod(0o755)
    uid, owner = os.getuid(), ""
    if uid == 0:
        uid, owner = 65534, "BOINC_Owner = nobody\n"
        os.chown(work, uid, -1)
    return (
        work,
        f"ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC\nSTART_BACKFILL = True\n{owner}"
        f"BOINC_Executable = {program}\nBOINC_InitialDir = {work}\nBOINC_Arguments = begun\n"
        "EVICT_BACKFILL = KeyboardIdle < 60\nIS_OWNER = KeyboardIdle < 60\nSTART = KeyboardIdle > 60\n",
        uid,
    )


def _number(path: Path) -> int:
    text = path.read_text().strip() if path.exists() else ""
    return int(text) if text.isdecimal() else 0


def _runs(pid: int) -> bool:
    return pid != 0 and Path(f"/proc/{pid}").exists()


def _states(pool: Pool) -> set[str]:
    text = pool("status")
    return {word for word in ("Backfill", "Owner", "Unclaimed", "Claimed") if word in text}


def test_backfill_runs_while_nobody_needs_the_machine(place: Path) -> None:
    work, config, uid = _client(place)
    program = place / "boinc"
    program.rename(place / "elsewhere")
    with running(place / "pool", config, cpus=2) as pool:
        eventually(lambda: "cannot be executed" in (pool.home / "log" / "node.log").read_text(), "what is wrong")
        (place / "elsewhere").rename(program)
        pids: list[int] = []

        def another() -> bool:
            """A client that was not there before, with its stray child."""
            pid, stray = _number(work / "pid"), _number(work / "stray")
            if pid in pids or stray in pids or not (_runs(pid) and _runs(stray)):
                return False
            pids.extend((pid, stray))
            return True

        def gone() -> bool:
            return not any(_runs(pid) for pid in pids)

        eventually(another, "the client")
        eventually(lambda: _states(pool) == {"Backfill"})
        assert Path(f"/proc/{pids[0]}").stat().st_uid == uid
        word, who, directory, scratch = (work / "starts").read_text().split()
        assert (word, int(who), directory) == ("begun", uid, str(work)), "one client for two slots"
        assert Path(scratch, "file").stat().st_uid == uid

        (work / "end").touch()
        eventually(another, "the client, started again after its end")
        assert not Path(scratch).exists()
        assert not _runs(pids[1]), "what the first client left"

        cluster = pool.submit("request_cpus = 1\n", "while ! test -f go; do sleep 0.05; done")
        pool.seen(f"{cluster}.0", JobStatus=2)
        eventually(another, "the client, for the other slot")
        assert not any(_runs(pid) for pid in pids[:4])
        (pool.work / "go").touch()
        pool.wait(cluster)

        pool.kill("node")
        eventually(another, "the client of the next daemon")
        assert not any(_runs(pid) for pid in pids[:6])

        pool.sense(keyboard_idle_s=0, console_idle_s=0)
        eventually(gone, "the end of the client when the owner types")
        eventually(lambda: _states(pool) == {"Owner"})
        pool.sense(keyboard_idle_s=100_000, console_idle_s=100_000)
        eventually(another, "the client, when the owner is gone")
        pool.down("--fast")
        assert gone(), "the client ends with the pool"


def test_a_matched_slot_is_rid_of_its_backfill_before_its_queue_asks_for_it(place: Path) -> None:
    _, config, _ = _client(place)
    config += "NEGOTIATOR_INFORM_STARTD = True\nNEGOTIATOR_INTERVAL = 1\nPOLLING_INTERVAL = 1\nNUM_SLOTS = 1\n"
    with running(place / "pool", config, cpus=1) as pool:
        eventually(lambda: "26" in _numbers(pool), "backfill")
        central, queue = pool.pid("central"), pool.pid("schedd")
        os.kill(central, signal.SIGSTOP)
        try:
            cluster = pool.submit("", "exit 0")
            # What it wants is on its way to the matchmaker, which then tells the machine, and no one in the queue.
            time.sleep(1)
            os.kill(queue, signal.SIGSTOP)
            os.kill(central, signal.SIGCONT)
            eventually(lambda: "32" in _numbers(pool), "a matched slot")
        finally:
            os.kill(central, signal.SIGCONT)
            os.kill(queue, signal.SIGCONT)
        pool.wait(cluster)
        eventually(lambda: "11" in _numbers(pool), "the record of the start")
        numbers = _numbers(pool)
        assert numbers[numbers.index("28") :][:5] == ["28", "29", "32", "9", "11"]


def _numbers(pool: Pool) -> list[str]:
    """Numbers of the transitions, in order."""
    path = pool.home / "log" / "transitions.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line)["number"] for line in text.splitlines() if line]
