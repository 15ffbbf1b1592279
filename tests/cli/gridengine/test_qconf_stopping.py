"""``qconf -ke``, ``-kej``, ``-km``, ``-ks``, ``-kt`` and ``-at``: daemons and scheduling runs stop, with the words of
Grid Engine 8.1.9, and start again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.gridengine.kit import ME, USER, Desk, cell, node
from tests.cli.gridengine.test_qmod import started
from tests.integration.kit import Pool, eventually, running

from roost.runtime.identity import host_name


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Desk]:
    """A pool of its own, whose daemons may be stopped."""
    with running(tmp_path, cpus=2) as pool:
        cell(pool, tmp_path / "cell", report_s=1)
        yield Desk(pool)


def state_of(desk: Desk, job: int) -> str:
    """The state of a job as qstat prints it; "" when it has left."""
    found = re.search(rf"^ *{job} \S+ \S+ +\S+ +(\S+)", desk("qstat", "-u", "*").out, re.MULTILINE)
    return found[1] if found else ""


def daemons(pool: Pool) -> dict[str, int]:
    found = json.loads(pool.try_("status", "--daemons", "--json").stdout)
    return {role: found[role] for role in ("central", "schedd", "node")}


def recorded(desk: Desk, job: int) -> dict[str, str]:
    out = eventually(lambda: desk("qacct", "-j", str(job), status=None).out, "the record of the job")
    return {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines() if " " in line}


def test_a_machine_stops_and_its_job_goes_on(own: Desk) -> None:
    host, gate = node(own.pool), own.pool.work / "gate"
    job = own.qsub(str(own.script("wait.sh", f"while [ ! -e {gate} ]; do sleep 0.05; done")))
    started(own, job)
    assert own("qconf", "-ke", f"{host},nosuch.x", status=1).err == (
        f'sent shutdown notification to  execd host {host}\ncan\'t resolve hostname "nosuch.x"\n'
    )
    eventually(lambda: not daemons(own.pool)["node"], "the machine's daemon is down")
    assert own("qconf", "-ke", host, status=1).err == (
        f"failed sending shutdown notification to unknown execd host {host}\n"
    )
    assert own("qconf", "-ke", "all", status=1).err == f"no execd known on host {host}\n"
    assert "node was ordered to stop; `roost up` starts it again" in own.pool.logs()
    # The queue, the job and its slot are still there; others wait.
    assert state_of(own, job) == "r"
    listed = own("qstat", "-f").out
    assert re.search(r"BIP +0/1/4 +-NA- +-NA- +au$", listed, re.MULTILINE), listed
    waits = own.qsub("-b", "y", "true")
    gate.touch()
    assert "started again: node" in own.pool("up", "-d")
    assert recorded(own, job)["failed"] == "0"
    assert recorded(own, waits)["exit_status"] == "0"


def test_a_machine_stops_with_its_jobs(own: Desk) -> None:
    host = node(own.pool)
    job = own.qsub("-r", "y", "-b", "y", "sleep", "600")
    started(own, job)
    assert own("qconf", "-kej", "all").err == f"sent shutdown and kill notification to  execd host {host}\n"
    record = recorded(own, job)
    assert record["failed"] == "100 : assumedly after job" and record["exit_status"].startswith("137")
    eventually(lambda: not daemons(own.pool)["node"], "the machine's daemon is down")
    assert daemons(own.pool)["schedd"]
    own.pool("up", "-d")
    assert recorded(own, own.qsub("-b", "y", "true"))["exit_status"] == "0"


def test_the_master_stops_and_jobs_go_on(own: Desk) -> None:
    gate = own.pool.work / "gate"
    job = own.qsub(str(own.script("wait.sh", f"while [ ! -e {gate} ]; do sleep 0.05; done")))
    started(own, job)
    assert own("qconf", "-km").err == f"{ME}@{host_name()} kills qmaster\n"
    eventually(lambda: [role for role, pid in daemons(own.pool).items() if pid] == ["node"], "queue and centre down")
    done = own("qstat", status=1)
    assert "it was ordered to stop, and `roost up` starts it again" in done.err
    gate.touch()
    assert "started again: central, schedd" in own.pool("up", "-d")
    assert recorded(own, job)["failed"] == "0"


def test_a_machine_without_other_daemons_is_down_and_comes_up_again(own: Desk) -> None:
    own("qconf", "-ke", "all")
    own("qconf", "-km")
    eventually(lambda: "no pool is running" in own.pool.try_("status", "--daemons").stderr, "the master is down")
    own.pool("up", "-d")
    assert recorded(own, own.qsub("-b", "y", "true"))["exit_status"] == "0"


@pytest.mark.parametrize("stopped", [("-ks",), ("-kt", "scheduler")])
def test_scheduling_stops_and_resumes(own: Desk, stopped: tuple[str, ...]) -> None:
    job = own.qsub("-b", "y", "true")
    assert recorded(own, job)["exit_status"] == "0"
    words = "sent shutdown notification to scheduler" if stopped == ("-ks",) else "scheduler thread terminated"
    assert own("qconf", *stopped).err == f"{words}\n"
    assert own("qconf", "-ks", status=1).err == "no scheduler registered at qmaster\n"
    assert own("qconf", "-kt", "scheduler").err == "scheduler thread is not running\n"
    assert own("qconf", "-sss", status=1).err == "no scheduling host defined\n"
    waits = own.qsub("-b", "y", "true")
    assert "the scheduling runs of the cell are stopped" in own("qstat", "-j", str(waits)).out
    assert "the scheduling runs of the cell are stopped" in own.pool("explain", "job", str(waits), status=1)
    assert state_of(own, waits) == "qw"
    assert own("qconf", "-at", "scheduler").err == "scheduler has been started\n"
    assert own("qconf", "-at", "scheduler").err == "scheduler thread is already running\n"
    assert recorded(own, waits)["exit_status"] == "0"
    assert own("qconf", "-sss").out


def test_others_stop_nothing(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    refused = {
        "-ke all": "shutting down execd requires manager privileges",
        "-kej all": "shutting down execd requires manager privileges",
        "-km": "shutting down qmaster requires manager privileges",
        "-ks": "shutdown requires manager privileges",
        "-kt scheduler": f'denied: "{USER}" must be manager for this operation',
        "-at scheduler": f'denied: "{USER}" must be manager for this operation',
    }
    for words, said in refused.items():
        assert user("qconf", *words.split(), status=1).err == f"{said}\n"
    assert all(daemons(root.pool).values())


def test_managers_of_the_cell_stop_the_master_and_no_machine(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    root("qconf", "-am", USER)
    try:
        done = user("qconf", "-ke", "all", status=1)
        assert f"{USER} may not stop the machine's daemon" in done.err
        assert user("qconf", "-ks").err == "sent shutdown notification to scheduler\n"
        assert user("qconf", "-at", "scheduler").err == "scheduler has been started\n"
        assert all(daemons(root.pool).values())
        assert user("qconf", "-km").err == f"{USER}@{host_name()} kills qmaster\n"
        eventually(lambda: not daemons(root.pool)["schedd"], "the queue is down")
    finally:
        root.pool.try_("up", "-d")
        eventually(lambda: root("qconf", "-dm", USER, status=None).status == 0, "the queue is back")
