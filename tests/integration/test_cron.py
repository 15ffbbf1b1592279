"""STARTD_CRON_* and SCHEDD_CRON_* on a real pool: programs run when they are due, and policies see what they print."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.integration.kit import Pool, eventually

Start = Callable[..., Pool]


def _program(place: Path, name: str, text: str) -> Path:
    path = place / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def _slots(pool: Pool) -> dict[str, dict[str, Any]]:
    return {ad["Name"].partition("@")[0]: ad for ad in json.loads(pool("status", "--json", "--long"))}


def test_what_programs_print_is_in_the_ads_and_decides_about_jobs(start: Start, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    licence = tmp_path / "licence"
    licence.write_text("0")
    watch = _program(tmp_path, "watch", f'echo "Free = $(cat {licence})"; echo "Told = \\"$GREETING $1 $2\\""')
    apart = _program(tmp_path, "apart", "echo V = 1; echo SlotId = 1; echo -a; echo V = 2; echo SlotId = 2; echo -b")
    stream = _program(
        tmp_path, "stream", 'n=0; while :; do n=$((n + 1)); echo "N = $n"; echo "- update:true"; sleep 0.2; done'
    )
    queue = _program(tmp_path, "queue", 'echo "Quota = 7"')
    pool = start(
        f"""
STARTD_CRON_JOBLIST = watch apart stream
STARTD_CRON_AUTOPUBLISH = If_Changed
STARTD_CRON_WATCH_EXECUTABLE = {watch}
STARTD_CRON_WATCH_ARGS = one two
STARTD_CRON_WATCH_ENV = "GREETING=hello"
STARTD_CRON_WATCH_PERIOD = 1s
STARTD_CRON_WATCH_PREFIX = Lic_
STARTD_CRON_APART_EXECUTABLE = {apart}
STARTD_CRON_APART_MODE = OneShot
STARTD_CRON_STREAM_EXECUTABLE = {stream}
STARTD_CRON_STREAM_MODE = WaitForExit
STARTD_CRON_STREAM_PERIOD = 1
SCHEDD_CRON_JOBLIST = queue
SCHEDD_CRON_QUEUE_EXECUTABLE = {queue}
SCHEDD_CRON_QUEUE_PERIOD = 1s
SCHEDD_CRON_QUEUE_PREFIX = My_
START = Lic_Free > 0
""",
        cpus=2,
    )
    eventually(lambda: [ad.get("V") for ad in _slots(pool).values()] == [1, 2], lambda: str(_slots(pool)))
    first = eventually(lambda: _slots(pool)["slot1"].get("N"))
    eventually(lambda: _slots(pool)["slot1"]["N"] > first + 2)
    assert _slots(pool)["slot2"]["Lic_Told"] == "hello one two"
    cluster = pool.submit("executable = /bin/true\n")
    assert pool.job(f"{cluster}.0")["JobStatus"] == 1
    licence.write_text("3")
    pool.wait(cluster)
    assert _slots(pool)["slot1"]["Lic_Free"] == 3
    assert _slots(pool)["slot1"]["Lic_LastUpdate"] > 0

    def quota() -> Any:
        ads = json.loads(pool("advertise", "--list", "Scheduler", "--json"))
        return ads and ads[0].get("My_Quota")

    eventually(lambda: quota() == 7, lambda: pool("advertise", "--list", "Scheduler", "--json"))


def test_long_runs_are_killed_or_waited_for_and_reconfiguration_reaches_programs(start: Start, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    begun = tmp_path / "begun"
    slow = _program(tmp_path, "slow", f"echo $$ $1 >> {begun}; exec sleep 1000")
    hears = _program(
        tmp_path,
        "hears",
        "n=0; trap 'n=$((n + 1)); echo Heard = $n; echo - update:true' HUP; echo Heard = 0; echo - update:true\n"
        "while :; do sleep 0.1; done",
    )
    config = f"""
STARTD_CRON_JOBLIST = killed kept hears
STARTD_CRON_KILLED_EXECUTABLE = {slow}
STARTD_CRON_KILLED_ARGS = killed
STARTD_CRON_KILLED_PERIOD = 1
STARTD_CRON_KILLED_KILL = True
STARTD_CRON_KEPT_EXECUTABLE = {slow}
STARTD_CRON_KEPT_ARGS = kept
STARTD_CRON_KEPT_PERIOD = 1
STARTD_CRON_HEARS_EXECUTABLE = {hears}
STARTD_CRON_HEARS_MODE = WaitForExit
STARTD_CRON_HEARS_PERIOD = 1
STARTD_CRON_HEARS_RECONFIG = True
"""
    pool = start(config)

    def runs(name: str) -> list[int]:
        return [int(line.split()[0]) for line in begun.read_text().splitlines() if line.split()[1] == name]

    eventually(lambda: begun.exists() and len(runs("killed")) >= 3)
    assert len(runs("kept")) == 1
    assert not Path(f"/proc/{runs('killed')[0]}").exists()
    os.kill(runs("kept")[0], 0)
    eventually(lambda: _slots(pool)["slot1"].get("Heard") == 0)
    pool("reconfig")
    eventually(lambda: _slots(pool)["slot1"].get("Heard") == 1)
    # A program that is taken out of the list ends, and its attributes go.
    file = pool.home / "roost.config"
    file.write_text(file.read_text().replace("killed kept hears", "kept"))
    pool("reconfig")
    eventually(lambda: "Heard" not in _slots(pool)["slot1"])
    assert len(runs("kept")) == 1
    eventually(lambda: not [words for words in pool.processes().values() if "hears" in words])
    # One that is described badly is refused, and everything goes on as it was.
    file.write_text(file.read_text() + "STARTD_CRON_KEPT_PERIOD = soon\n")
    done = pool.try_("reconfig")
    assert done.returncode != 0
    assert "'soon' is not a period" in done.stdout + done.stderr


def test_an_inventory_says_what_a_machine_has_and_a_job_gets_a_unit(start: Start, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    inventory = _program(
        tmp_path,
        "inventory",
        "echo 'DetectedSquids = \"S0, S1\"'; echo 'S0 = [ Arms = 8 ]'; echo 'S1 = [ Arms = 10 ]'",
    )
    pool = start(f"MACHINE_RESOURCE_INVENTORY_Squids = {inventory}\nuse FEATURE : PartitionableSlot\n", cpus=2)
    ad = _slots(pool)["slot1"]
    assert (ad["TotalSquids"], "Arms = 10" in str(ad["Squids_S1"])) == (2, True), ad["Squids_S1"]
    cluster = pool.submit("request_squids = 1\noutput = out\n", "echo $_CONDOR_AssignedSquids")
    pool.wait(cluster)
    assert (pool.work / "out").read_text() == "S0\n"


def test_a_machine_without_processors_starts_with_the_feature_and_a_failing_inventory_is_told(
    start: Start, tmp_path: Path
) -> None:
    pool = start("use FEATURE : GPUs\n")
    assert _slots(pool)["slot1"]["TotalGPUs"] == 0
    tmp_path.chmod(0o755)
    failing = _program(tmp_path, "failing", "echo no card >&2; exit 3")
    other = Pool(tmp_path / "other", f"MACHINE_RESOURCE_INVENTORY_X = {failing}\n")
    done = other.try_("up", "-d")
    other.try_("down", "--fast")
    assert done.returncode != 0
    assert "exited with status 3: no card" in done.stdout + done.stderr + other.logs()
