"""Parallel jobs of a Grid Engine cell on real machines: they get all their slots or none, and keep nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.gridengine.scheduling.cells import environment
from tests.integration.kit import Pool, eventually
from tests.integration.servers import Servers
from tests.integration.test_cell_jobs import PARTITIONABLE, SLEEP, cell, explained, node, task, used, why

Start = Callable[..., Pool]


def environments(place: Path, **rules: str) -> None:
    """Write parallel environments for a cell, by their allocation rules."""
    (place / "pe").mkdir(parents=True, exist_ok=True)
    for name, rule in rules.items():
        (place / "pe" / name).write_text(environment(name, rule))


def claimed(pool: Pool) -> int:
    """Cores of slots that are claimed."""
    return sum(row["Cpus"] for row in json.loads(pool("status", "--json")) if row["State"] == "Claimed")


def all_used(pool: Pool) -> int:
    """Slots of all queue instances that are in use."""
    return sum(row["used"] for row in json.loads(pool("cell", "queues", "--json")))


class Two(NamedTuple):
    """A pool of two machines of four cores, hosts of a cell with the environments fill, rr, two and smp."""

    #: With the queue.
    pool: Pool
    second: Pool


Machines = Callable[..., Two]


@pytest.fixture
def machines(servers: Servers, start: Start, tmp_path: Path) -> Machines:
    """Two machines in one pool."""

    def begin(config: str = "", **queue: str) -> Two:
        bus = servers.settings("parallel")
        pool = start(bus + config, cpus=4)
        second = start(f"{bus}{config}DAEMON_LIST = MASTER STARTD\n", name="second", cpus=4, host="second")
        place = tmp_path / "cell"
        environments(place, fill="$fill_up", rr="$round_robin", two="2", smp="$pe_slots")
        cell(pool, place, hosts=("second",), pe_list="fill rr two smp", **queue)
        eventually(lambda: len({row["Machine"] for row in json.loads(pool("status", "--json"))}) == 2, "two machines")
        return Two(pool, second)

    return begin


SHOW = "echo $NSLOTS $NHOSTS $NQUEUES $PE; cat $PE_HOSTFILE"


@pytest.mark.parametrize("layout", ["", PARTITIONABLE])
def test_a_parallel_job_on_one_host(start: Start, tmp_path: Path, layout: str) -> None:
    pool, place, gate = start(layout, cpus=4), tmp_path / "cell", tmp_path / "gate"
    environments(place, smp="$pe_slots")
    cell(pool, place, pe_list="smp", complexes="tokens tok INT <= YES YES 0 0", complex_values="tokens=6")
    instance = f"all.q@{node(pool)}"
    job = pool.submit("output = out\ncell_parallel = smp 2-3\ncell_resources = tok=2", f"{SHOW}; {SLEEP.format(gate)}")
    eventually(lambda: used(pool) == 3, lambda: f"three slots are used: {explained(pool, f'{job}.0')}")
    eventually(lambda: (pool.work / "out").exists() and "UNDEFINED" in (pool.work / "out").read_text(), "it runs")
    assert (pool.work / "out").read_text() == f"3 1 1 smp\n{node(pool)} 3 {instance} UNDEFINED\n"
    eventually(lambda: claimed(pool) == 3, "three slots of the machine are claimed", 20)

    # Tokens are taken for each slot, and slots of the machine are.
    second = pool.submit("cell_parallel = smp 2", "true")
    reason = 'cannot run in PE "smp" because it only offers 0 slots'
    eventually(lambda: reason in why(pool, f"{second}.0"), lambda: str(explained(pool, f"{second}.0")))
    third = pool.submit("cell_resources = tok=1", "true")
    eventually(lambda: why(pool, f"{third}.0") != [], lambda: str(explained(pool, f"{third}.0")))
    assert any("tokens=0.000000" in line for line in why(pool, f"{third}.0"))
    gate.touch()
    pool.wait(job, second, third)
    eventually(lambda: used(pool) == 0, "all slots are free again")
    ad = task(pool.job(f"{job}.0"))
    assert (ad["Environment"], ad["AllGrants"]) == ("smp", f"{instance}=3")
    eventually(lambda: claimed(pool) == 0, "all slots of the machine are free again")


several = pytest.mark.skipif(os.geteuid() != 0, reason="only root can have machines of several names")


@several
@pytest.mark.parametrize("layout", ["", PARTITIONABLE])
def test_a_parallel_job_over_several_hosts(machines: Machines, tmp_path: Path, layout: str) -> None:
    (pool, _), gate = machines(layout), tmp_path / "gate"
    text = "output = out\ncell_parallel = fill 7"
    job = pool.submit(text, f"{SHOW}; {SLEEP.format(gate)}")
    eventually(lambda: (pool.work / "out").exists() and "UNDEFINED" in (pool.work / "out").read_text(), "it runs")
    first, *hostfile = (pool.work / "out").read_text().splitlines()
    assert first == "7 2 2 fill"
    assert [line.split()[1:] for line in hostfile] == [
        ["4", f"all.q@{hostfile[0].split()[0]}", "UNDEFINED"],
        ["3", f"all.q@{hostfile[1].split()[0]}", "UNDEFINED"],
    ]
    eventually(lambda: claimed(pool) == 7, "seven slots of the machines are claimed")
    assert all_used(pool) == 7
    waits = pool.submit("cell_parallel = fill 2", "true")
    reason = 'cannot run in PE "fill" because it only offers 1 slots'
    eventually(lambda: reason in why(pool, f"{waits}.0"), lambda: str(explained(pool, f"{waits}.0")))
    gate.touch()
    pool.wait(job, waits)
    eventually(lambda: claimed(pool) == 0, "all slots of the machines are free again")
    assert all_used(pool) == 0


@several
def test_a_job_that_loses_a_machine_is_evicted_as_a_whole_and_runs_again(machines: Machines, tmp_path: Path) -> None:
    (pool, second), gate, starts = machines(PARTITIONABLE), tmp_path / "gate", tmp_path / "starts"
    job = pool.submit(
        "output = out\ncell_parallel = two 4", f"echo $HOSTNAME >> {starts}; cat $PE_HOSTFILE; {SLEEP.format(gate)}"
    )
    eventually(lambda: starts.exists() and claimed(pool) == 4, "it runs on both")
    master = starts.read_text().split()[0]
    lost = second if master != "second" else None
    if lost is None:
        # The other machine has the queue: its node alone is stopped.
        pool("off", "startd")
    else:
        lost.down()
    seen = pool.seen(f"{job}.0", JobStatus=1)
    assert "CurrentHosts" not in seen or seen["CurrentHosts"] == 0
    eventually(lambda: claimed(pool) == 0, "no slot is kept")
    reason = 'cannot run in PE "two" because it only offers 0 slots'
    eventually(lambda: reason in why(pool, f"{job}.0"), lambda: str(explained(pool, f"{job}.0")))
    if lost is None:
        pool("on", "startd")
    else:
        lost.up()
    eventually(lambda: len(starts.read_text().split()) == 2, "it runs again")
    gate.touch()
    pool.wait(job)
    eventually(lambda: claimed(pool) == 0, "all slots of the machines are free again")


@several
@pytest.mark.parametrize("layout", ["", PARTITIONABLE])
def test_kills_of_daemons_leave_no_job_half_started(machines: Machines, tmp_path: Path, layout: str) -> None:
    pool, second = machines(layout)
    dice, log = random.Random(7), tmp_path / "log"
    script = f"test $(awk '{{n += $2}} END {{print n}}' $PE_HOSTFILE) = $NSLOTS && sleep 0.5 && echo $NSLOTS >> {log}"
    jobs = [
        pool.submit(f"cell_parallel = {name} {slots}\nqueue 3", script)
        for name, slots in (("fill", "2-6"), ("rr", "3"), ("two", "4"), ("smp", "1-4"), ("fill", "8"))
    ]
    for role in ("schedd", "central", "node", "second", "schedd", "node", "second", "central"):
        time.sleep(dice.uniform(0.2, 1.5))
        (second if role == "second" else pool).kill("node" if role == "second" else role)
    pool.wait(*jobs)
    eventually(lambda: claimed(pool) == 0, "all slots of the machines are free again")
    assert all_used(pool) == 0
    # A job whose machine was killed at its end may run again; none is lost.
    assert len(log.read_text().split()) >= 15
    assert {row["ExitCode"] for row in json.loads(pool("history", "--json", "--long"))} == {0}


def test_programs_of_the_environment_before_and_after_the_job(start: Start, tmp_path: Path) -> None:
    pool, place = start(cpus=4), tmp_path / "cell"
    program = tmp_path / "environment"
    program.write_text(
        "#!/bin/sh\necho $*; cat $PE_HOSTFILE; echo $NSLOTS\nexit $(cat $(dirname $0)/$1 2>/dev/null || echo 0)\n"
    )
    program.chmod(0o755)
    words = "$pe $pe_slots $pe_hostfile $job_id $host"
    (place / "pe").mkdir(parents=True)
    (place / "pe/smp").write_text(
        environment(
            "smp",
            start_proc_args=f"{program} start {words}",
            stop_proc_args=f"{program} stop {words}",
        )
    )
    prolog, epilog = (f"/bin/echo {name} $job_id" for name in ("prolog", "epilog"))
    cell(pool, place, pe_list="smp", prolog=prolog, epilog=epilog)
    text = "output = out\nerror = out\ncell_parallel = smp 2"
    job = pool.submit(text, "echo the job")
    pool.wait(job)
    found = (pool.work / "out").read_text().splitlines()
    host, instance = node(pool), f"all.q@{node(pool)}"
    hostfile = found[1].split()[3]
    assert found == [
        f"prolog {job}", f"start smp 2 {hostfile} {job} {host}", f"{host} 2 {instance} UNDEFINED", "2", "the job",
        f"stop smp 2 {hostfile} {job} {host}", f"{host} 2 {instance} UNDEFINED", "2", f"epilog {job}",
    ]  # fmt: skip

    # The job is done though its environment cannot be stopped, and its instance is in error.
    (tmp_path / "stop").write_text("9")
    job = pool.submit(text, "exit 0")
    pool.wait(job)
    ad = pool.job(f"{job}.0")
    assert (ad["ExitCode"], ad["CellFailed"], ad["CellFailedReason"]) == (0, 13, "in pestop")
    row = json.loads(pool("cell", "queues", "--json"))[0]
    assert row["states"] == "E" and "exit_status of pe_stop = 9" in row["reasons"][0]
    (tmp_path / "stop").unlink()
    pool("cell", "clear", instance)

    # One that fails before the job keeps it from running, and 100 holds the job.
    (tmp_path / "start").write_text("100")
    job = pool.submit(text, f"touch {tmp_path}/ran")
    pool.seen(f"{job}.0", JobStatus=5)
    assert pool.job(f"{job}.0")["CellFailed"] == 30 and not (tmp_path / "ran").exists()
    (tmp_path / "start").write_text("3")
    again = pool.submit(text, f"touch {tmp_path}/ran")
    eventually(lambda: json.loads(pool("cell", "queues", "--json"))[0]["states"] == "E", "the instance is in error")
    assert pool.job(f"{again}.0")["CellFailed"] == 10 and not (tmp_path / "ran").exists()
    (tmp_path / "start").unlink()
    pool("cell", "clear", instance)
    pool.wait(again)
    assert (tmp_path / "ran").exists()
    pool("rm", str(job))
    eventually(lambda: claimed(pool) == 0, "all slots of the machine are free again")


@several
def test_a_job_keeps_what_it_has_of_the_cell_while_its_machine_is_silent(
    servers: Servers, start: Start, tmp_path: Path
) -> None:
    """As in Grid Engine 8.1.9: a machine that nobody hears of may run its jobs on, so their licences are in use."""
    from tests.cli.gridengine.kit import Desk

    bus = servers.settings("silent") + "CLASSAD_LIFETIME = 4\nUPDATE_INTERVAL = 1\n"
    pool = start(bus, cpus=2)
    second = start(f"{bus}DAEMON_LIST = MASTER STARTD\n", name="second", cpus=2, host="second")
    cell(pool, tmp_path / "cell", hosts=("second",), complexes="lic lic INT <= YES YES 0 0", glob="lic=8")
    eventually(lambda: '"second"' in pool("status", "--json"), "two machines")
    first = pool.submit("cell_queues = all.q@second\ncell_resources = lic=6", "sleep 1000")
    pool.seen(f"{first}.0", JobStatus=2)
    eventually(lambda: claimed(pool) == 1, "the machine has said that it has the job")
    daemon = second.pid("node")
    os.kill(daemon, signal.SIGSTOP)
    try:
        eventually(lambda: '"second"' not in pool("status", "--json"), "the machine is forgotten", 30)
        job = pool.submit("cell_resources = lic=5", "true")
        words = "(-l lic=5) cannot run globally because it offers only gc:lic=2.000000"
        eventually(lambda: words in str(explained(pool, f"{job}.0")), lambda: str(explained(pool, f"{job}.0")))
        # The queue says so again and again: longer than the lifetime of what it said.
        again = time.monotonic() + 6
        while time.monotonic() < again:
            assert pool.job(f"{job}.0")["JobStatus"] == 1
            time.sleep(0.5)
        assert pool.job(f"{first}.0")["JobStatus"] == 2
        Desk(pool)("qdel", "-f", str(first))
        pool.wait(job)
    finally:
        os.kill(daemon, signal.SIGCONT)
