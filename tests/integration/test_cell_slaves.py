"""Slave tasks of parallel jobs on real machines: `qrsh -inherit` from within the job, and what becomes of its tasks."""

from __future__ import annotations

import getpass
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.cli.pool_connection import connected
from roost.model.cell_accounting import AccountingRecord
from roost.runtime.home import Home
from roost.wire.requests.machine import Vacate
from tests.gridengine.scheduling.cells import environment
from tests.integration.kit import ROOT, Pool, eventually
from tests.integration.servers import Servers
from tests.integration.test_cell_accounting import records
from tests.integration.test_cell_jobs import PARTITIONABLE, SLEEP, cell, node
from tests.integration.test_cell_parallel import Two, claimed, several

Start = Callable[..., Pool]

#: As the job's own shell has it.
QRSH = f"env PYTHONPATH={ROOT / 'src'} {sys.executable} -m roost.cli.gridengine qrsh"
OUT = "output = out\nerror = err\n"


def environments(place: Path) -> None:
    """Parallel environments: `two` counts the job as a task, `free` does not, `loose` controls no tasks."""
    (place / "pe").mkdir(parents=True, exist_ok=True)
    for name, values in (
        ("two", {"job_is_first_task": "TRUE", "accounting_summary": "FALSE"}),
        ("free", {"job_is_first_task": "FALSE", "accounting_summary": "TRUE"}),
        ("loose", {"control_slaves": "FALSE"}),
    ):
        (place / "pe" / name).write_text(environment(name, "$fill_up", **values))


@pytest.fixture
def one(start: Start, tmp_path: Path) -> Callable[..., Pool]:
    """One machine of four cores, with a queue that has the environments."""

    def begin(layout: str = PARTITIONABLE, **queue: str) -> Pool:
        pool = start(layout, cpus=4)
        environments(tmp_path / "cell")
        cell(pool, tmp_path / "cell", pe_list="two free loose", **queue)
        return pool

    return begin


@pytest.fixture
def machines(servers: Servers, start: Start, tmp_path: Path) -> Callable[..., Two]:
    """Two machines of four cores in one pool."""

    def begin(layout: str = PARTITIONABLE, **queue: str) -> Two:
        bus = servers.settings("slaves")
        pool = start(bus + layout, cpus=4)
        second = start(f"{bus}{layout}DAEMON_LIST = MASTER STARTD\n", name="second", cpus=4, host="second")
        environments(tmp_path / "cell")
        cell(pool, tmp_path / "cell", hosts=("second",), pe_list="two free loose", **queue)
        eventually(lambda: '"second"' in pool("status", "--json"), "two machines")
        return Two(pool, second)

    return begin


def run(pool: Pool, text: str, script: str) -> tuple[str, str]:
    """What a job prints."""
    job = pool.submit(OUT + text, f"{script}\nexit 0")
    pool.wait(job)
    return (pool.work / "out").read_text(), (pool.work / "err").read_text()


def test_a_task_has_its_streams_its_status_and_its_environment(one: Callable[..., Pool]) -> None:
    pool = one()
    host = node(pool)
    script = f"""
        {QRSH} -inherit {host} 'echo hello; echo woe >&2; exit 3'; echo "status $?"
        printf 'one\\ntwo' | {QRSH} -inherit {host} cat; echo " status $?"
        head -c 3000000 /dev/zero | {QRSH} -inherit {host} 'wc -c; echo; head -c 400000 /dev/zero' | wc -c
        {QRSH} -inherit -nostdin -noshell {host} /bin/echo 'a   b' '*'
        FOO=bar {QRSH} -inherit {host} 'echo "<$FOO>"'
        FOO=bar {QRSH} -inherit -V {host} 'echo "<$FOO>"'
        {QRSH} -inherit -v 'FOO=x y,BAR=2' {host} 'echo "<$FOO,$BAR>"'
        {QRSH} -inherit {host} 'echo $JOB_ID $JOB_NAME $QUEUE $HOSTNAME $NSLOTS $NHOSTS $NQUEUES $PE $JOB_SCRIPT'
        {QRSH} -inherit {host} 'echo $ENVIRONMENT ${{PE_HOSTFILE-none}} $SGE_TASK_ID ${{PE-none}}'
        {QRSH} -inherit {host} 'test "$TMPDIR" = '$TMPDIR && echo shared
        {QRSH} -inherit {host} 'pwd'; cd /; {QRSH} -inherit -cwd {host} pwd
        {QRSH} -inherit {host} /nosuch; echo "status $?"
        echo $JOB_ID
    """
    out, err = run(pool, "cell_parallel = free 2", script)
    *lines, job = out.splitlines()
    size = len("3000000\n\n") + 400000
    assert lines == [
        "hello", "status 3", "one", "two status 0", str(size), "a   b *", "<>", "<bar>", "<x y,2>",
        f"{job} petask all.q {host} 1 1 1 free QRSH", "BATCH none undefined free", "shared", str(pool.work), "/",
        "status 127",
    ]  # fmt: skip
    assert err.startswith("woe\n") and "/nosuch" in err


@pytest.mark.parametrize("layout", ["", PARTITIONABLE])
def test_no_more_tasks_run_than_the_job_has_slots(one: Callable[..., Pool], layout: str, tmp_path: Path) -> None:
    pool, gate = one(layout), tmp_path / "gate"
    host = node(pool)
    script = f"""
        for n in 1 2 3 4; do {QRSH} -inherit -nostdin {host} '{SLEEP.format(gate)}; echo ended' & done
        while [ $(wc -l < {pool.work}/err) -lt {{}} ]; do sleep 0.05; done
        touch {gate}; wait
    """
    for name, refused in (("two", 2), ("free", 1)):
        gate.unlink(missing_ok=True)
        (pool.work / "err").unlink(missing_ok=True)
        out, err = run(pool, f"cell_parallel = {name} 3", script.format(2 * refused))
        job = json_job(pool)
        words = f'error: executing task of job {job} failed: execution daemon on host "{host}" didn\'t accept task\n'
        why = f"no free queue for job {job} of user {getpass.getuser()}@{host} (localhost = {host})\n"
        assert err == (words + why) * refused
        assert out == "ended\n" * (4 - refused)


def json_job(pool: Pool) -> int:
    """The number of the last job that has left."""
    return max(int(row["ClusterId"]) for row in json.loads(pool("history", "--json", "--long")))


BURN = f"{sys.executable} -c 'import time; [0 for _ in iter(lambda: time.process_time() < 0.3, False)]'"


def burned(record: AccountingRecord) -> float:
    """Processor time, s: how the kernel divides a short one into the user's and its own is by chance."""
    return record.resources["ru_utime"] + record.resources["ru_stime"]


@several
def test_tasks_on_other_hosts_and_their_accounting(machines: Callable[..., Two]) -> None:
    pool, _ = machines()
    for name, count in (("two", 3), ("free", 1)):
        script = f"""
            cat $PE_HOSTFILE
            H=$(sed -n 2p $PE_HOSTFILE | cut -d' ' -f1)
            printf 'to there' | {QRSH} -inherit $H 'hostname; cat; exit 7'; echo " status $?"
            {QRSH} -inherit $H "{BURN}; ulimit -c"
            {QRSH} -inherit nosuch true; echo "status $?"
        """
        before = len(records(pool))
        out, err = run(pool, f"cell_parallel = {name} 5\ncell_resources = h_core=0", script)
        job = json_job(pool)
        hosts = [line.split()[0] for line in out.splitlines()[:2]]
        assert sorted(hosts) == sorted((node(pool), "second"))
        there = out.splitlines()[2]
        assert (there == "second") == (hosts[1] == "second")
        assert out.splitlines()[3] == "to there status 7"
        assert out.splitlines()[4:] == ["0", "status 1"]
        assert err.splitlines() == [
            f'error: executing task of job {job} failed: execution daemon on host "nosuch" didn\'t accept task',
            f"received task belongs to job {job} but that job is not here",
        ]
        wanted = before + count
        eventually(lambda wanted=wanted: len(records(pool)) == wanted, lambda: str(records(pool)))  # type: ignore[misc]
        found = records(pool)[before:]
        whole = found[-1]
        assert (whole.part, whole.host, whole.slots, whole.exit_status) == ("NONE", hosts[0], 5, 0)
        assert {(one.job, one.owner, one.environment, one.slots) for one in found} == {(job, whole.owner, name, 5)}
        if name == "two":
            assert [(one.part, one.host, one.queue, one.failed, one.exit_status) for one in found[:-1]] == [
                (f"1.{hosts[1]}", hosts[1], "all.q", 0, 7), (f"2.{hosts[1]}", hosts[1], "all.q", 0, 0),
            ]  # fmt: skip
            assert burned(found[1]) > 0.25 and found[1].cpu_s > 0.25
            assert found[1].submitted == found[1].started <= found[1].ended
            assert pool.job(f"{job}.0")["RemoteUserCpu"] >= found[1].cpu_s * 0.5
        else:
            assert burned(whole) > 0.25 and whole.cpu_s > 0.25


@several
def test_tasks_end_with_their_job(machines: Callable[..., Two], tmp_path: Path) -> None:
    pool, second = machines()
    pids = tmp_path / "pids"
    text = f"""
        H=$(sed -n 2p $PE_HOSTFILE | cut -d' ' -f1)
        {QRSH} -inherit $H 'echo $$ $TMPDIR >> {pids}; sleep 1000' &
        {QRSH} -inherit $HOSTNAME 'echo $$ $TMPDIR >> {pids}; sleep 1000' &
        while [ $(cat {pids} | wc -l) -lt 2 ]; do sleep 0.05; done
        {{}}
    """

    def begun() -> list[tuple[int, Path]]:
        lines = eventually(lambda: pids.exists() and len(found := pids.read_text().split("\n")) == 3 and found, "both")
        return [(int(line.split()[0]), Path(line.split()[1])) for line in lines[:2]]

    def gone(tasks: list[tuple[int, Path]]) -> None:
        for pid, directory in tasks:
            eventually(lambda pid=pid: not Path(f"/proc/{pid}").exists(), "the end of a task", 20)  # type: ignore[misc]
            eventually(lambda path=directory: not path.exists(), "the end of its directory", 20)  # type: ignore[misc]
        for each in (pool, second):
            eventually(lambda each=each: not list((each.home / "run/tasks").glob("*")), "all is removed", 20)  # type: ignore[misc]

    # By itself.
    job = pool.submit(OUT + "cell_parallel = two 6", text.format("exit 0"))
    pool.wait(job)
    gone(begun())
    eventually(lambda: len(records(pool)) == 3, lambda: str(records(pool)))
    assert [(one.part != "NONE", one.failed, one.exit_status) for one in records(pool)] == [
        (True, 100, 137), (True, 100, 137), (False, 0, 0),
    ]  # fmt: skip
    # Removed.
    pids.unlink()
    job = pool.submit(OUT + "cell_parallel = two 6", text.format("sleep 1000"))
    tasks = begun()
    pool("rm", str(job))
    gone(tasks)
    # A daemon is killed: tasks go on, and their callers hear of their end.
    pids.unlink()
    gate = tmp_path / "gate"
    script = f"""
        for H in $(cut -d' ' -f1 $PE_HOSTFILE); do
            {QRSH} -inherit $H 'echo $$ $TMPDIR >> {pids}; {SLEEP.format(gate)}; echo last; exit 4' || echo status $? &
        done
        wait
    """
    job = pool.submit(OUT + "cell_parallel = two 6", script)
    tasks = begun()
    for role in ("node", "schedd", "central"):
        pool.kill(role)
    second.kill("node")
    eventually(lambda: claimed(pool) == 6, "both are back")
    assert all(Path(f"/proc/{pid}").exists() for pid, _ in tasks)
    gate.touch()
    pool.wait(job)
    assert sorted((pool.work / "out").read_text().splitlines()) == ["last", "last", "status 4", "status 4"]
    gone(tasks)
    eventually(lambda: claimed(pool) == 0, "all slots are free")


@several
def test_tasks_start_tasks_on_every_host_of_their_job(machines: Callable[..., Two], tmp_path: Path) -> None:
    pool, second = machines()
    pids, gate = tmp_path / "pids", tmp_path / "gate"
    inner = tmp_path / "inner.sh"
    # On the other host: a task of its own host, one of the first, and one of a host that the job does not have.
    inner.write_text(
        f"""H=$1
        printf 'in\nner' | {QRSH} -inherit -v N=$N $H 'echo "$HOSTNAME from $SGE_O_HOST $N"; cat; exit 5'
        echo " status $?"
        {QRSH} -inherit $HOSTNAME 'echo "$HOSTNAME again"'
        {QRSH} -inherit nosuch true; echo "status $?"
        {QRSH} -inherit -nostdin $H 'echo $$ >> {pids}; sleep 1000' &
        {QRSH} -inherit -nostdin $H '{SLEEP.format(gate)}; echo last; exit 4'; echo "status $?"
        """
    )
    script = f"""
        cut -d' ' -f1 $PE_HOSTFILE
        H=$(sed -n 2p $PE_HOSTFILE | cut -d' ' -f1)
        {QRSH} -inherit -v N=7 $H "sh {inner} $HOSTNAME"
    """
    job = pool.submit(OUT + "cell_parallel = two 6", script)
    eventually(lambda: pids.exists() and pids.read_text().strip(), lambda: (pool.work / "err").read_text())
    # The machine of the task that asks, and that of the job's master, start again: its tasks go on.
    for each in (second, pool):
        each.kill("node")
        eventually(lambda: claimed(pool) == 6, "the machine is back")
    gate.touch()
    pool.wait(job)
    first, other, *lines = (pool.work / "out").read_text().splitlines()
    assert lines == [
        f"{first} from {other} 7", "in", "ner status 5", f"{other} again", "status 1", "last", "status 4",
    ]  # fmt: skip
    assert 'host "nosuch" didn\'t accept task' in (pool.work / "err").read_text()
    eventually(lambda: not Path(f"/proc/{pids.read_text().strip()}").exists(), "the task without a caller has ended")
    eventually(lambda: len(records(pool)) == 6, lambda: str(records(pool)))
    *parts, whole = records(pool)
    assert sorted((one.host, one.exit_status) for one in parts) == sorted(
        [(first, 5), (other, 0), (first, 137), (first, 4), (other, 0)]
    )
    assert (whole.part, whole.exit_status) == ("NONE", 0)


@several
@pytest.mark.parametrize("place", ["master", "other"])
def test_tasks_end_when_their_job_loses_a_slot_and_run_again_with_it(
    machines: Callable[..., Two], tmp_path: Path, place: str
) -> None:
    pool, _ = machines()
    gate, log = tmp_path / "gate", tmp_path / "log"
    script = f"""
        echo "job $HOSTNAME $$" >> {log}
        for H in $(cut -d' ' -f1 $PE_HOSTFILE); do
            {QRSH} -inherit $H 'echo "task $HOSTNAME $$" >> {log}; {SLEEP.format(gate)}' &
        done
        wait
    """
    job = pool.submit(OUT + "cell_parallel = two 6", script)

    def lines(count: int) -> list[list[str]]:
        eventually(lambda: log.exists() and len(log.read_text().splitlines()) >= count, f"{count} lines")
        return [line.split() for line in log.read_text().splitlines()]

    first = lines(3)
    master = next(host for kind, host, _ in first if kind == "job")
    other = next(host for kind, host, _ in first if kind == "task" and host != master)
    with connected(Home(pool.home)) as asking:
        asking.ask(Vacate(fast=True), machine=master if place == "master" else other)
    again = lines(6)
    assert sorted(kind for kind, *_ in again[3:]) == ["job", "task", "task"]
    for kind, _, pid in first:
        assert not Path(f"/proc/{pid}").exists(), f"the first {kind} goes on"
    gate.touch()
    pool.wait(job)
    eventually(lambda: claimed(pool) == 0, "all slots are free")


@several
def test_tasks_stand_still_with_their_job(machines: Callable[..., Two], tmp_path: Path) -> None:
    pool, _ = machines()
    ticks, gate = tmp_path / "ticks", tmp_path / "gate"
    script = f"""
        for H in $(cut -d' ' -f1 $PE_HOSTFILE); do
            {QRSH} -inherit $H 'while [ ! -e {gate} ]; do echo >> {ticks}.$HOSTNAME; sleep 0.05; done' &
        done; wait
    """
    job = pool.submit(OUT + "cell_parallel = two 6", script)
    files = [tmp_path / f"ticks.{host}" for host in (node(pool), "second")]

    def count() -> list[int]:
        return [path.stat().st_size if path.exists() else 0 for path in files]

    def moves() -> bool:
        before = count()
        eventually(lambda: all(now > then for now, then in zip(count(), before, strict=True)), "both run")
        return True

    assert moves()
    pool("suspend", str(job))
    pool.seen(f"{job}.0", JobStatus=7)
    rests = 0
    before = count()
    while rests < 10:
        time.sleep(0.1)
        rests = rests + 1 if count() == before else 0
        before = count()
    pool("continue", str(job))
    assert moves()
    gate.touch()
    pool.wait(job)


def test_a_task_that_dies_ends_its_job_and_one_without_a_caller_ends(one: Callable[..., Pool], tmp_path: Path) -> None:
    pool = one()
    host, pid = node(pool), tmp_path / "pid"
    job = pool.submit(OUT + "cell_parallel = free 2", f"{QRSH} -inherit {host} 'kill -9 $$'; echo $?; sleep 1000")
    pool.wait(job, status=1)
    ad = pool.job(f"{job}.0")
    assert (ad["ExitBySignal"], ad["ExitSignal"], ad["CellFailed"]) == (True, 9, 100)

    script = f"""
        {QRSH} -inherit {host} 'echo $$ > {pid}; sleep 1000' & caller=$!
        while [ ! -s {pid} ]; do sleep 0.05; done
        kill -9 $caller
        while [ -e /proc/$(cat {pid}) ]; do sleep 0.05; done
        echo ended
    """
    assert run(pool, "cell_parallel = free 2", script)[0] == "ended\n"

    # A caller that is gone before it has asked what its task prints.
    pid.unlink()
    dies = tmp_path / "dies.py"
    dies.write_text(
        f"""
        import os, pathlib
        from roost.cli.gridengine import inheriting
        from roost.cli.gridengine.entry import main

        def dies(*asked):
            while not pathlib.Path("{pid}").exists() or not pathlib.Path("{pid}").read_text():
                pass
            os._exit(9)

        inheriting._relay = dies
        main("qrsh", ["-inherit", "{host}", "echo $$ > {pid}; sleep 1000"])
        """.replace("\n        ", "\n")
    )
    script = f"""
        env PYTHONPATH={ROOT / "src"} {sys.executable} {dies}; echo $?
        while [ -e /proc/$(cat {pid}) ]; do sleep 0.05; done
        echo ended
    """
    assert run(pool, "cell_parallel = free 2", script)[0] == "9\nended\n"


def test_only_a_process_of_a_job_whose_environment_allows_it_starts_tasks(one: Callable[..., Pool]) -> None:
    pool = one()
    host = node(pool)
    script = f"""
        {QRSH} -inherit {host} true; echo $?
        JOB_ID=999 {QRSH} -inherit {host} true; echo $?
        env -u JOB_ID {QRSH} -inherit {host} true; echo $?
        env -u SGE_TASK_ID {QRSH} -inherit {host} true; echo $?
        ROOST_TASKS="$(echo "$ROOST_TASKS" | sed 's/ ...../ 00000/')" {QRSH} -inherit {host} true; echo $?
        {QRSH} -inherit {host}; {QRSH} -inherit -bogus {host} true; {QRSH} {host} true
    """
    out, err = run(pool, "cell_parallel = free 2", script)
    job = json_job(pool)
    assert out.split() == ["0", "1", "1", "1", "1"]
    refused = f'failed: execution daemon on host "{host}" didn\'t accept task'
    assert err.splitlines()[:8] == [
        f"error: executing task of job 999 {refused}", "received task belongs to job 999 but that job is not here",
        'error: "qrsh" called with option "-inherit", but "JOB_ID" not set in environment',
        f'error: executing task of job {job} failed: missing "SGE_TASK_ID" in environment',
        f"error: executing task of job {job} {refused}", f"received task belongs to job {job} but that job is not here",
        'error: usage with "-inherit" option: "qrsh -inherit ... <host> <command> [args]"',
        'error: invalid option argument "-bogus"',
    ]  # fmt: skip
    out, err = run(pool, "cell_parallel = loose 2", f"{QRSH} -inherit {host} true; echo $? ${{ROOST_TASKS-none}}")
    assert out == "1 none\n" and f"{json_job(pool)} {refused}" in err


@several
def test_kills_of_daemons_lose_no_output_of_tasks_and_leave_none(machines: Callable[..., Two], tmp_path: Path) -> None:
    pool, second = machines()
    dice, log = random.Random(11), tmp_path / "log"
    script = f"""
        for H in $(cut -d' ' -f1 $PE_HOSTFILE); do
            {QRSH} -inherit -nostdin $H 'for n in 1 2 3 4 5 6; do echo $n; sleep 0.3; done; exit 6' || echo $?
        done > {log}.$$
        mv {log}.$$ {log}.$JOB_ID
    """
    jobs = [pool.submit("cell_parallel = two 6", script) for _ in range(2)]
    for role in ("node", "second", "schedd", "node", "second", "central", "second", "node"):
        time.sleep(dice.uniform(0.3, 1.5))
        (second if role == "second" else pool).kill("node" if role == "second" else role)
    pool.wait(*jobs)
    for job in jobs:
        # A job whose machine was killed too early is run again, as a whole.
        assert Path(f"{log}.{job}").read_text().split() == [*"123456", "6"] * 2
    eventually(lambda: claimed(pool) == 0, "all slots are free again")
    for each in (pool, second):
        eventually(lambda each=each: not list((each.home / "run/tasks").glob("*")), "all is removed")  # type: ignore[misc]
