"""Daemons die, disks are full, strangers speak: no job is lost, none ends twice, and the pool goes on."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from roost.wire.codec import encode
from roost.wire.messages import Ask, ClaimGone, RunEnded
from roost.wire.subjects import Subjects
from tests.integration.kill_rounds import kill_rounds
from tests.integration.kit import PATIENCE_S, Pool, eventually

Start = Callable[..., Pool]


def _pid(pool: Pool) -> int:
    """The number that a job has written down."""
    path = pool.work / "pid"
    return int(eventually(lambda: path.exists() and path.read_text(), "the job's process"))


def test_whatever_is_killed_every_job_has_exactly_one_end(start: Start) -> None:
    assert kill_rounds(start(cpus=4), 4, seed=7, roles=("schedd", "node", "nats", "master")) > 0


def test_a_running_job_survives_the_death_of_every_daemon(start: Start) -> None:
    pool = start()
    cluster = pool.submit("output = out\n", "echo $$ > pid; while ! test -f go; do sleep 0.05; done; echo done; exit 5")
    pid = _pid(pool)
    pool.seen(f"{cluster}.0", JobStatus=2, NumJobStarts=1)
    for role in ("node", "schedd", "central", "nats", "master"):
        old = pool.kill(role)
        if role == "master":
            eventually(lambda: not [words for words in pool.processes().values() if "roost.cli" in words])
            pool.up()
        else:
            eventually(lambda role=role, old=old: pool.pid(role) not in (0, old))  # type: ignore[misc]
        assert Path(f"/proc/{pid}").exists(), f"the job ended with {role}"
    eventually(lambda: pool.try_("queue").returncode == 0)
    (pool.work / "go").touch()
    pool.wait(cluster, status=1)
    ad = pool.job(f"{cluster}.0")
    assert (ad["ExitCode"], ad["NumJobStarts"]) == (5, 1)
    assert (pool.work / "out").read_text() == "done\n"
    assert pool.events(cluster) == ["000", "001", "005"] or pool.ends() == {f"{cluster}.0": 1}


def test_what_a_job_did_while_the_machine_was_dead_is_not_lost(start: Start) -> None:
    """The program ends while nobody watches: its shepherd knows how."""
    pool = start()
    cluster = pool.submit("", "echo $$ > pid; while ! test -f go; do sleep 0.05; done; exit 9")
    pid = _pid(pool)
    pool.kill("master")
    eventually(lambda: not [words for words in pool.processes().values() if "roost.cli" in words])
    (pool.work / "go").touch()
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    pool.up()
    pool.wait(cluster, status=1)
    ad = pool.job(f"{cluster}.0")
    assert (ad["ExitCode"], ad["NumJobStarts"]) == (9, 1)


def test_jobs_run_on_while_a_pool_is_down_with_its_jobs_left(start: Start) -> None:
    pool = start()
    cluster = pool.submit("", "echo $$ > pid; while ! test -f go; do sleep 0.05; done")
    pid = _pid(pool)
    pool.down("--leave-jobs")
    assert Path(f"/proc/{pid}").exists()
    assert pool.try_("queue").returncode != 0
    pool.up()
    (pool.work / "go").touch()
    pool.wait(cluster)
    assert pool.job(f"{cluster}.0")["NumJobStarts"] == 1


@pytest.mark.parametrize("how", [(), ("--fast",)])
def test_a_pool_that_goes_down_keeps_its_queue_and_leaves_no_process(start: Start, how: tuple[str, ...]) -> None:
    pool = start("MachineMaxVacateTime = 5\n")
    running = pool.submit("", 'trap "echo soft > soft; exit 0" TERM; touch begun; while :; do sleep 0.05; done')
    idle = pool.submit("request_memory = 900000\nexecutable = /bin/true\n")
    held = pool.submit("hold = true\nexecutable = /bin/true\n")
    eventually(lambda: (pool.work / "begun").exists())
    pool.down(*how)
    assert not pool.processes()
    assert (pool.work / "soft").exists() == (not how)
    pool.up()
    pool.seen(f"{running}.0", NumJobStarts=2)
    assert pool.job(f"{idle}.0")["JobStatus"] == 1
    assert pool.job(f"{held}.0")["JobStatus"] == 5
    pool("rm", str(running), str(idle), str(held))
    pool.wait(running, idle, held, status=1)


def test_a_pool_that_goes_down_while_its_machines_daemon_is_dead_ends_the_jobs_too(start: Start) -> None:
    pool = start()
    pool.submit("", "echo $$ > pid; while :; do sleep 0.05; done")
    _pid(pool)
    for _ in range(3):
        # Each time it stays away for twice as long.
        old = eventually(lambda: pool.kill("node"))
        eventually(lambda old=old: pool.pid("node") != old)  # type: ignore[misc]
    pool.down("--fast")
    assert not pool.processes()


def test_two_pools_live_side_by_side_and_one_directory_has_one(start: Start) -> None:
    one, two = start(name="one"), start(name="two")
    jobs = [pool.submit("output = out\n", f"echo {name}") for pool, name in ((one, "one"), (two, "two"))]
    for pool, cluster in zip((one, two), jobs, strict=True):
        pool.wait(cluster)
    assert [(pool.work / "out").read_text() for pool in (one, two)] == ["one\n", "two\n"]
    again = one.try_("up", "-d")
    assert again.returncode != 0
    assert "a pool is already running in" in again.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 8 MB."""
    place = tmp_path / "small"
    place.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("no small filesystem can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _fill(disk: Path) -> None:
    """Leave no room on a disk."""
    # A buffer would be written once more when the file is closed, and fail there.
    with (disk / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


def test_a_full_disk_stops_nothing_for_good(start: Start, small_disk: Path) -> None:
    pool = start(f"DATABASE_URL = sqlite:///{small_disk}/queue.sqlite\n")
    first = pool.submit("", "true")
    pool.wait(first)
    filler = small_disk / "filler"
    _fill(small_disk)
    asked = pool.try_("hold", "99.0")
    assert "not" in asked.stderr
    with subprocess.Popen(
        ["sh", "-c", "sleep 1.5; rm -f " + str(filler)], stdin=subprocess.DEVNULL, env=pool.environment
    ) as cleaner:
        second = pool.submit(f'+Padding = "{"x" * 200_000}"\n', "exit 3")
        cleaner.wait()
    pool.wait(second, status=1)
    assert pool.job(f"{second}.0")["ExitCode"] == 3
    assert set(pool.ends().values()) == {1}


def test_daemons_that_die_come_back_where_nothing_can_be_logged_and_no_job_could_run(
    start: Start, small_disk: Path
) -> None:
    (small_disk / "execute").mkdir()
    pool = start(f"LOG = {small_disk}/log\nEXECUTE = {small_disk}/execute\n")
    _fill(small_disk)
    master, nodes = pool.pid("master"), set()
    for _ in range(2):
        nodes.add(eventually(lambda: (pid := pool.kill("node")) not in nodes and pid))
    eventually(lambda: pool.pid("node") not in {0, *nodes})
    job = pool.submit("request_disk = 100KB\n", "exit 3")
    (small_disk / "filler").unlink()
    pool.wait(job, status=1)
    assert (pool.pid("master"), pool.job(f"{job}.0")["ExitCode"]) == (master, 3)


def test_a_log_on_a_full_disk_is_told_later_and_output_leaves_nothing_half_done(start: Start, small_disk: Path) -> None:
    pool = start()
    log, filler = small_disk / "log", small_disk / "filler"
    _fill(small_disk)
    moved = f"log = {log}\nshould_transfer_files = YES\noutput = {small_disk}/out\n"
    cluster = pool.submit(moved, "head -c 100000 /dev/zero")
    ad = pool.seen(f"{cluster}.0", JobStatus=5)
    assert (ad["HoldReasonCode"], ad["HoldReasonSubCode"]) == (12, errno.ENOSPC)
    assert "free some space on that disk" in ad["HoldReason"]
    assert not [path for path in small_disk.iterdir() if path.name.endswith(".part")]
    filler.unlink()

    def told() -> list[str]:
        return re.findall(r"^(\d{3}) \(", log.read_text(), re.M) if log.exists() else []

    eventually(lambda: told()[-1:] == ["012"], "the event log")
    assert told() == ["000", "040", "040", "001", "040", "004", "012"]
    pool("rm", str(cluster))


@contextlib.contextmanager
def _scratch_on(disk: Path, pool: Pool, disk_kb: int) -> Iterator[None]:
    """Scratch directories are on that disk, and slots are told that there is so much room."""
    pool.down()
    pool.sense(disk_kb=disk_kb)
    subprocess.run(["mount", "--bind", str(disk), str(pool.home / "execute")], check=True)
    try:
        pool.up()
        yield
    finally:
        subprocess.run(["umount", "-l", str(pool.home / "execute")], check=True)


def test_where_the_disk_of_scratch_directories_is_full_the_machine_is_at_fault(start: Start, small_disk: Path) -> None:
    pool = start(cpus=1)
    with _scratch_on(small_disk, pool, 1_000_000):
        _runs_when_there_is_room(pool, small_disk)


def _runs_when_there_is_room(pool: Pool, small_disk: Path) -> None:
    moved = "should_transfer_files = YES\nrequest_disk = 3MB\n"

    def slots() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(pool("status", "--json", "--long"))
        return found

    def gets_room(cluster: int) -> None:
        """The job goes back to the queue, the machine is closed, and when there is room both go on."""
        pool.seen(f"{cluster}.0", JobStatus=1, VacateReasonCode=1024)
        eventually(lambda: _all_with("MachineProblem", slots()), "the machine's problem")
        (small_disk / "filler").unlink()
        pool.wait(cluster)
        assert pool.job(f"{cluster}.0")["ExitCode"] == 0

    (pool.work / "data").write_bytes(bytes(2_000_000))
    _fill(small_disk)
    gets_room(pool.submit(f"{moved}transfer_input_files = data\n", "test $(wc -c < data) = 2000000"))
    script = f"echo $$ > {pool.work}/pid; until test -e {pool.work}/go; do sleep 0.05; done; echo x > made || exit 7"
    cluster = pool.submit(moved, script)
    _pid(pool)
    _fill(small_disk)
    (pool.work / "go").touch()
    gets_room(cluster)
    assert (pool.work / "made").read_text() == "x\n"


def test_a_job_that_takes_more_room_than_its_slot_has_is_at_fault_itself(start: Start, small_disk: Path) -> None:
    pool = start(cpus=1)
    with _scratch_on(small_disk, pool, 1_000):
        moved = "should_transfer_files = YES\nrequest_disk = 10KB\n"
        cluster = pool.submit(moved, "head -c 20000000 /dev/zero > a || exit 7")
        pool.wait(cluster, status=1)
        assert pool.job(f"{cluster}.0")["ExitCode"] == 7


def test_a_machine_without_a_scratch_directory_takes_no_jobs_until_it_has_one(start: Start) -> None:
    pool = start()
    execute = pool.home / "execute"
    execute.rename(pool.home / "away")
    cluster = pool.submit("", "true")
    pool.seen(f"{cluster}.0", JobStatus=1, VacateReasonCode=1024)
    ads = eventually(lambda: _all_with("MachineProblem", json.loads(pool("status", "--json", "--long"))))
    assert all(str(execute) in ad["MachineProblem"] for ad in ads)
    (pool.home / "away").rename(execute)
    pool.wait(cluster)
    assert pool.job(f"{cluster}.0")["NumShadowStarts"] <= 4, "it was not tried over and over"


def _all_with(name: str, ads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return ads if all(name in ad for ad in ads) else []


def test_a_directory_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    pool = Pool(tmp_path / "pool")
    (tmp_path / "file").write_text("")
    pool.home = tmp_path / "file" / "home"
    done = pool.try_("up", "-d")
    assert not pool.end_all()
    assert done.returncode != 0
    assert "--home" in done.stderr


def test_a_configuration_with_mistakes_starts_nothing(tmp_path: Path) -> None:
    pool = Pool(tmp_path / "pool", "START = (\n")
    done = pool.try_("up", "-d")
    assert not pool.end_all()
    assert done.returncode != 0
    assert "roost.config" in done.stderr
    assert "START" in done.stderr


# -- strangers ---------------------------------------------------------------------------------------------------


def test_nonsense_on_the_bus_changes_nothing(start: Start) -> None:
    pool = start()
    contact = json.loads((pool.home / "run" / "contact.json").read_text())
    subjects = Subjects(contact["pool"])
    me = contact["client"]["name"]
    ask = subjects.ask_schedd(contact["schedd"], me)
    wild = [
        b"", b"\xff\xfe", b"{", b"[]", b'{"type": "Nobody"}', b'{"type": "Ask"}', b'{"type":"Ask","what":5}',
        b'{"type":"Ask","what":"act","v":99}', encode(Ask(what="act", args={"action": "explode"})),
        encode(Ask(what="submit", args={"clusters": "many"})), encode(Ask(what="submit", args={"clusters": [{}]})),
        encode(Ask(what="query", args={"constraint": "((("})), encode(Ask(what="query", args={"limit": "x"})),
        encode(Ask(what="act", args={"action": "rm", "jobs": ["1.x"]})),
        encode(Ask(what="query", args={"jobs": [7, None, {}]})), encode(Ask(what="nothing")),
        encode(Ask(what="history", args={"jobs": ["99999999999999999999"]})), b'{"type":"Ask","what":"\xed\xa0\x80"}',
        b"[" * 100_000,
    ]  # fmt: skip

    async def shout() -> list[bytes]:
        client = await nats.connect(
            contact["urls"],
            user=contact["client"]["user"],
            password=contact["client"]["password"],
            inbox_prefix=subjects.inbox(me).encode(),
        )
        answers = []
        for subject in (ask, subjects.ask_central(me), subjects.ask_node(contact["node"], me)):
            answers += [(await client.request(subject, data, timeout=PATIENCE_S)).data for data in wild]
        for data in wild:
            await client.publish(subjects.ask_central(me), data)
        await client.flush()
        await client.close()
        return answers

    answers = asyncio.run(shout())
    assert not [data for data in answers if b'"ok":false' not in data]
    pids = {role: pool.pid(role) for role in ("schedd", "central", "node")}
    pool.wait(pool.submit("", "true"))
    assert pids == {role: pool.pid(role) for role in pids}, "nobody died of it"


def test_nobody_can_speak_as_somebody_else(start: Start) -> None:
    pool = start()
    cluster = pool.submit("", "while ! test -f go; do sleep 0.05; done")
    pool.seen(f"{cluster}.0", JobStatus=2)
    contact = json.loads((pool.home / "run" / "contact.json").read_text())
    subjects = Subjects(contact["pool"])
    claim = json.loads(pool("status", "--json"))
    assert "ClaimId" not in json.dumps(claim), "claims are not secrets if they are shown"
    false_end = encode(
        RunEnded(
            claim_id="x", run=f"{cluster}.0#1@{contact['schedd']}", at=0.0, ending="exit", started=True, exit_code=0
        )
    )

    async def lie() -> list[str]:
        refused: list[str] = []

        async def on_error(error: Exception) -> None:
            refused.append(str(error))

        client = await nats.connect(
            contact["urls"],
            user=contact["client"]["user"],
            password=contact["client"]["password"],
            error_cb=on_error,
        )
        await client.publish(subjects.schedd(contact["schedd"], contact["node"]), false_end)
        await client.publish(subjects.ask_schedd(contact["schedd"], "somebody-else"), b"{}")
        await client.publish(
            subjects.node(contact["node"], contact["schedd"]), encode(ClaimGone(claim_id="x", reason=""))
        )
        # In its own name, but what only a queue, a machine or the matchmaker says.
        me = contact["client"]["name"]
        theirs = subjects.demand(me), subjects.slots(me), subjects.ads(me), subjects.given(contact["schedd"], me)
        for subject in (*theirs, subjects.everybody(me)):
            await client.publish(subject, b"{}")
        await client.subscribe(f"{subjects.prefix}.>")
        await client.subscribe("_INBOX.>")
        await client.flush()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while len(refused) < 10:
                    await asyncio.sleep(0.01)
        await client.close()
        return refused

    assert len(asyncio.run(lie())) == 10
    assert pool.job(f"{cluster}.0")["JobStatus"] == 2
    (pool.work / "go").touch()
    pool.wait(cluster)


def test_a_small_disk_of_the_queue_keeps_no_local_job_from_starting(small_disk: Path, start: Start) -> None:
    """A job asks for 1 GB of disk by default; that is about scratch directories on execute machines."""
    (small_disk / "home").mkdir()
    (small_disk.parent / "pool").mkdir()
    (small_disk.parent / "pool" / "home").symlink_to(small_disk / "home")
    pool = start()
    cluster = pool.submit("universe = local\noutput = out\n", "echo ran")
    pool.wait(cluster)
    assert (pool.work / "out").read_text() == "ran\n"


def test_a_queue_killed_while_many_jobs_are_removed_has_removed_each_wholly_or_not_at_all(start: Start) -> None:
    pool, count = start(), 100_000
    log = pool.work / "many.log"
    cluster = pool.submit(f"log = {log}\nhold = true\nexecutable = /bin/true\nqueue {count}\n")
    removal = subprocess.Popen(
        [sys.executable, "-m", "roost.cli", "rm", "--home", str(pool.home), str(cluster)],
        env=pool.environment,
        text=True,
        stderr=subprocess.PIPE,
    )
    try:
        eventually(lambda: log.exists() and "\n009 (" in log.read_text())
        pool.kill("schedd")
        left = {job["ProcId"] for job in eventually(lambda: json.loads(pool("queue", str(cluster), "--json")) or None)}
        gone = {job["ProcId"] for job in json.loads(pool("history", str(cluster), "--json", "-n", "0"))}
        assert left and gone and left | gone == set(range(count)) and not left & gone
        told = eventually(lambda: len(found := _removed(log)) == len(gone) and found)
        assert sorted(told) == sorted(gone)
        # The asker is told that it is not known to be done.
        _, said = removal.communicate(timeout=PATIENCE_S)
        assert removal.returncode != 0 and "was restarted before it answered" in said
    finally:
        removal.kill()
        removal.wait()
    pool("rm", str(cluster))
    assert sorted(_removed(log)) == list(range(count))


def _removed(log: Path) -> list[int]:
    """Numbers of the jobs whose removal a log tells."""
    return [int(line.split(".")[1]) for line in log.read_text().splitlines() if line.startswith("009 (")]
