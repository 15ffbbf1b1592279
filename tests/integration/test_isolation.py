"""Jobs that are isolated from the machine and from each other: own /tmp, own processes, no new rights."""

from __future__ import annotations

import copy
import json
import os
import pwd
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kit import Pool, eventually, running

#: Users that every machine has, and no person is.
USERS = ("nobody", "daemon")

if os.geteuid() != 0:
    pytest.skip("only root can isolate jobs", allow_module_level=True)
if not Path("/proc/self/ns/pid").exists():
    pytest.skip("this kernel has no namespaces", allow_module_level=True)

CONFIG = (
    f"ROOST_USERS = {', '.join(USERS)}\nMOUNT_UNDER_SCRATCH = /tmp, /var/tmp\nUSE_PID_NAMESPACES = True\n"
    "JOB_NO_NEW_PRIVILEGES = True\nMachineMaxVacateTime = 20\n"
)
TRANSFER = "should_transfer_files = YES\n"


@pytest.fixture(scope="module")
def roots() -> Iterator[Pool]:
    """A pool of root's that isolates jobs, and whose scratch directories are below /tmp."""
    place = Path(tempfile.mkdtemp(prefix="roost-isolation-", dir="/tmp"))
    place.chmod(0o755)
    try:
        with running(place / "pool", CONFIG, cpus=4) as pool:
            pool.work.chmod(0o777)
            yield pool
    finally:
        shutil.rmtree(place)


@pytest.fixture
def users(roots: Pool) -> list[Pool]:
    """The same pool, asked by each of the users."""
    found = []
    for name in USERS:
        theirs = copy.copy(roots)
        theirs.home, theirs.work = roots.place / f"of-{name}", roots.work / name
        (theirs.home / "run").mkdir(parents=True, exist_ok=True)
        theirs.work.mkdir(exist_ok=True)
        os.chown(theirs.work, pwd.getpwnam(name).pw_uid, -1)
        shutil.copy(roots.home / "users" / f"{name}.json", theirs.home / "run" / "contact.json")
        found.append(theirs)
    return found


def _left(name: str) -> list[Path]:
    return [path for top in ("/tmp", "/var/tmp") for path in Path(top).glob(name)]


def test_two_jobs_write_the_same_file_in_tmp_and_see_only_their_own(users: list[Pool]) -> None:
    script = (
        "echo $1 > /tmp/x-roost; echo $1 > /var/tmp/x-roost; touch began\n"
        "sleep 2; cat /tmp/x-roost /var/tmp/x-roost; ls -A /tmp /var/tmp | grep -v roost-isolation; echo kept > made\n"
        "stat -c %a /tmp; echo again > $_CONDOR_SCRATCH_DIR/absolute; pwd"
    )
    jobs = [
        (pool, pool.submit(f"{TRANSFER}arguments = {name}\noutput = out\nerror = err", script))
        for name, pool in zip(USERS, users, strict=True)
    ]
    for (pool, job), name in zip(jobs, USERS, strict=True):
        pool.wait(job)
        lines = (pool.work / "out").read_text().splitlines()
        assert (pool.work / "err").read_text() == ""
        assert lines[:2] == [name, name]
        assert lines[2:-2] == ["/tmp:", "x-roost", "", "/var/tmp:", "x-roost"]
        assert lines[-2] == "1777" and lines[-1].startswith(str(pool.place / "home" / "execute"))
        # What the job made in its scratch directory has come back, and nothing of its private directories.
        assert (pool.work / "made").read_text() == "kept\n" and (pool.work / "absolute").read_text() == "again\n"
        assert not (pool.work / "x-roost").exists() and not list(pool.work.glob(".private*"))
    assert not _left("x-roost*")
    eventually(lambda: not list((users[0].place / "home" / "execute").glob("dir_*")), "scratch directories are removed")


def test_a_job_sees_no_processes_but_its_own(users: list[Pool]) -> None:
    mine, other = users
    waits = other.submit(f"{TRANSFER}output = out", "sleep 600 & wait")
    other.seen(f"{waits}.0", JobStatus=2)
    job = mine.submit(
        f"{TRANSFER}output = out", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; ls -d /proc/[0-9]* | wc -l"
    )
    mine.wait(job)
    text = (mine.work / "out").read_text()
    assert "sleep 600" not in text and "nats" not in text and int(text.split()[-1]) <= 6
    other("rm", str(waits))
    other.wait(waits, status=1)


def test_exit_codes_and_signals_are_those_of_the_job(users: list[Pool]) -> None:
    pool = users[0]
    seven = pool.submit(TRANSFER, "exit 7")
    killed = pool.submit(TRANSFER, "kill -SEGV $$")
    orphan = pool.submit(f"{TRANSFER}output = orphan", "(sleep 300 &) ; echo done")
    pool.wait(seven, killed, orphan, status=1)
    assert pool.job(f"{seven}.0")["ExitCode"] == 7
    ad = pool.job(f"{killed}.0")
    assert (ad["ExitBySignal"], ad["ExitSignal"]) == (True, 11)
    assert pool.job(f"{orphan}.0")["ExitCode"] == 0


def test_a_program_that_does_not_exist_is_told(users: list[Pool]) -> None:
    pool = users[0]
    job = pool.submit("executable = /no/such/program\ntransfer_executable = false\n" + TRANSFER)
    assert "cannot be executed" in pool.seen(f"{job}.0", JobStatus=5)["HoldReason"]
    pool("rm", str(job))


def test_suspend_vacate_kill_and_usage_work(users: list[Pool]) -> None:
    pool = users[0]
    job = pool.submit(
        f"{TRANSFER}output = out\nwhen_to_transfer_output = ON_EXIT_OR_EVICT\n",
        "trap 'echo asked >> told; exit 0' TERM; echo $$ begins; touch begun\n"
        "i=0; while :; do i=$((i+1)); [ $((i % 200000)) -eq 0 ] && date +%s.%N >> beats; done",
    )
    beats = lambda: max((p.stat().st_mtime for p in (pool.place / "home" / "execute").glob("dir_*/beats")), default=0)  # noqa: E731
    eventually(beats, "the job works")
    pool("suspend", str(job))
    pool.seen(f"{job}.0", JobStatus=7)
    time.sleep(0.5)
    before = beats()
    time.sleep(1.5)
    assert beats() == before, "a suspended job does nothing"
    pool("continue", str(job))
    pool.seen(f"{job}.0", JobStatus=2)
    eventually(lambda: beats() > before, "it goes on")
    eventually(lambda: (pool.job(f"{job}.0").get("RemoteUserCpu") or 0) >= 1, "its processor time is counted")
    pool("hold", str(job))
    pool.seen(f"{job}.0", JobStatus=5)
    eventually(lambda: "job" not in " ".join(pool.processes().values()).replace("roost", ""), pool.logs)
    pool("rm", str(job))
    hard = pool.submit(TRANSFER, "trap '' TERM; touch begun; while :; do sleep 1; done")
    eventually(lambda: list((pool.place / "home" / "execute").glob("dir_*/begun")), "it began")
    pool("rm", str(hard))
    eventually(lambda: not list((pool.place / "home" / "execute").glob("dir_*")), "it is killed", 60)


def test_a_soft_kill_reaches_the_job(users: list[Pool]) -> None:
    pool = users[0]
    job = pool.submit(TRANSFER, "trap 'exit 3' TERM; touch begun; while :; do sleep 0.1; done")
    eventually(lambda: list((pool.place / "home" / "execute").glob("dir_*/begun")), "it began")
    pool("vacate", str(job))
    # It ended by itself, with the exit code of its handler, and runs again.
    eventually(lambda: (pool.job(f"{job}.0").get("NumJobStarts") or 0) >= 2, "it runs again")
    pool("rm", str(job))
    eventually(lambda: not list((pool.place / "home" / "execute").glob("dir_*")), "it is gone")


def test_programs_with_the_bit_of_another_user_give_no_rights(users: list[Pool]) -> None:
    pool = users[0]
    job = pool.submit(f"{TRANSFER}output = out", "grep NoNewPrivs /proc/self/status")
    pool.wait(job)
    assert (pool.work / "out").read_text().split() == ["NoNewPrivs:", "1"]


def test_a_machine_that_cannot_isolate_says_so(tmp_path: Path) -> None:
    with running(tmp_path / "missing", "MOUNT_UNDER_SCRATCH = /tmp, /no/such/place\n") as pool:
        said = json.loads(pool.try_("status", "--daemons", "--json").stdout)["shortcomings"]["node"]
        assert (
            said == "MOUNT_UNDER_SCRATCH names /no/such/place: not a directory of this machine, so no job gets its own"
        )
        job = pool.submit(TRANSFER, "exit 0")
        pool.wait(job)
