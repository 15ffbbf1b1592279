"""A pool that runs by a Grid Engine cell: its jobs run on queue instances, and nothing is handed out twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.classad import ClassAd
from tests.integration.kit import Pool, eventually

PARTITIONABLE = "NUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\n"
SLEEP = "while [ ! -e {} ]; do sleep 0.05; done"


def node(pool: Pool) -> str:
    """The name of the pool's machine."""
    return str(json.loads((pool.home / "run" / "contact.json").read_text())["node"])


def cell(
    pool: Pool,
    place: Path,
    *,
    slots: int = 4,
    complexes: str = "",
    glob: str = "",
    hosts: tuple[str, ...] = (),
    report_s: int = 40,
    **queue: str,
) -> None:
    """Give a pool a cell with all.q on the machine of the pool, and on further hosts.

    A job that is rescheduled waits for two reports of its host.
    """
    from roost.gridengine.cell import new_cell, write_cell

    host = node(pool)
    files = write_cell(new_cell())
    names = (host, *hosts)
    files["hostgroups/@allhosts"] = f"group_name @allhosts\nhostlist {' '.join(names)}\n"
    for name in names:
        files[f"execution/{name}"] = f"hostname {name}\n" + files["execution/global"].partition("\n")[2]
    files["centry"] = files["centry"].rstrip("\n").rpartition("\n")[0] + f"\n{complexes}\n"
    if glob:
        files["execution/global"] = files["execution/global"].replace(
            "complex_values        NONE", f"complex_values        {glob}"
        )
    files["cqueues/all.q"] = queue_text(slots=str(slots), **queue)
    files["schedconf"] = files["schedconf"].replace("0:0:15", "0:0:1")
    settings = files["configurations/global"]
    files["configurations/global"] = settings.replace("00:00:40", f"00:00:{report_s:02d}", 1)
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    pool("cell", "apply", str(place))


def queue_text(name: str = "all.q", **values: str) -> str:
    from tests.gridengine.questions import DATA

    lines = (DATA / "plain/cqueues/all.q").read_text().replace("all.q", name).splitlines()
    found = [line if (key := line.split()[0]) not in values else f"{key} {values[key]}" for line in lines]
    return "\n".join(found) + "\n"


def task(job: dict[str, Any]) -> dict[str, Any]:
    return dict(ClassAd(job["CellTask"]["expr"]).items())


def test_a_job_runs_on_a_queue_instance(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start()
    cell(pool, tmp_path / "cell")
    cluster = pool.submit("output = out", "echo hello")
    pool.wait(cluster)
    assert (pool.work / "out").read_text() == "hello\n"
    assert task(pool.job(f"{cluster}.0"))["Instance"] == f"all.q@{node(pool)}"


def most_at_once(path: Path) -> int:
    """The most jobs that ran at the same time, by the lines `+` and `-` that they wrote at their start and end."""
    running = most = 0
    for line in path.read_text().split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    return most


def test_tasks_follow_on_a_claim_until_a_job_of_higher_priority_waits(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    pool = start(PARTITIONABLE, cpus=1)
    cell(pool, tmp_path / "cell", slots=1)
    cluster = pool.submit("queue 12", "true")
    pool.wait(cluster)
    # A part that is cut for a claim has a number of its own.
    claims = {pool.job(f"{cluster}.{number}")["LastRemoteHost"] for number in range(12)}
    assert len(claims) < 6, claims

    log, gate = tmp_path / "log", tmp_path / "gate"
    log.touch()
    low = pool.submit("priority = -100\nqueue 3", f"echo low >> {log}; {SLEEP.format(gate)}")
    eventually(log.read_text, "a task runs")
    high = pool.submit("", f"echo high >> {log}")
    gate.touch()
    pool.wait(low, high)
    assert log.read_text().split() == ["low", "high", "low", "low"]


def explained(pool: Pool, job: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pool.try_("explain", "job", "--json", job).stdout)
    return found


def why(pool: Pool, job: str) -> list[str]:
    """The reasons of the run for a job that waits."""
    return list((explained(pool, job).get("cell") or {}).get("reasons", ()))


@pytest.mark.parametrize("layout", ["", PARTITIONABLE])
def test_licences_of_the_whole_cell_are_never_exceeded(start: Callable[..., Pool], tmp_path: Path, layout: str) -> None:
    pool = start(layout, cpus=8)
    licence = "licence lic INT <= YES YES 0 0"
    cell(pool, tmp_path / "cell", slots=8, complexes=licence, glob="licence=2")
    log = tmp_path / "log"
    gate = tmp_path / "gate"
    script = f"echo + >> {log}; {SLEEP.format(gate)}; sleep 0.2; echo - >> {log}"
    cluster = pool.submit("cell_resources = lic=1\nqueue 6", script)
    reason = "(-l licence=1) cannot run globally because it offers only gc:licence=0.000000"
    eventually(lambda: reason in why(pool, f"{cluster}.5"), lambda: str(explained(pool, f"{cluster}.5")))
    gate.touch()
    pool.wait(cluster)
    assert log.read_text().count("+") == 6
    assert most_at_once(log) == 2
    assert {task(pool.job(f"{cluster}.{proc}"))["Resources"] for proc in range(6)} == {"licence=1"}


def test_slots_of_an_instance_bound_its_jobs_and_are_shown(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    cell(pool, tmp_path / "cell", slots=2)
    gate = tmp_path / "gate"
    cluster = pool.submit("queue 3", SLEEP.format(gate))
    eventually(lambda: used(pool) == 2, "two jobs run")
    reason = f'queue instance "all.q@{node(pool)}" dropped because it is full'
    eventually(lambda: reason in why(pool, f"{cluster}.2"), lambda: str(explained(pool, f"{cluster}.2")))
    row = pool("cell", "queues").splitlines()[1].split()
    assert row[:3] == [f"all.q@{node(pool)}", "BIP", "2/2"] and row[4].startswith("lx-")
    gate.touch()
    pool.wait(cluster)
    eventually(lambda: used(pool) == 0, "all slots are free again")


def used(pool: Pool) -> int:
    return int(json.loads(pool("cell", "queues", "--json"))[0]["used"])


def test_what_a_cell_cannot_do_is_refused_or_explained(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start()
    asking = "executable = /bin/true\ncell_resources = h_vmem=1G\nqueue\n"
    refused = pool.try_("submit", text=asking)
    assert refused.returncode != 0
    assert "the pool has no Grid Engine cell, but the job requests CellResources" in refused.stderr
    assert pool("cell", "queues") == "the pool has no queue instances; import a cell with `roost cell import`\n"
    held = pool.submit("hold = true", "true")
    edited = pool.try_("edit", f"{held}.0", "--set", 'CellResources="h_rt=60"')
    assert edited.returncode != 0 and "the pool has no Grid Engine cell" in edited.stderr
    pool("rm", str(held))

    cell(pool, tmp_path / "cell")
    for text, complaint in (
        ("cell_resources = nosuch=1", 'unknown resource "nosuch"'),
        ("cell_resources = h_vmem=lots", 'attribute "h_vmem" is not a memory value'),
        # The words are those of Grid Engine 8.1.9.
        ("cell_queues = nosuch.q", 'Job was rejected because job requests unknown queue "nosuch.q"'),
        ("cell_project = nosuch", 'job rejected: the requested project "nosuch" does not exist'),
        ("cell_resources = load_avg=1", 'resource "load_avg" configured as non requestable'),
        ("cell_resources = slots=2", "use parallel environments instead of requesting slots explicitly"),
        ("cell_resources = $(asked)\nqueue asked from (\narch=x\nnosuch=1\n)", 'unknown resource "nosuch"'),
    ):
        again = pool.try_(
            "submit", text=f"executable = /bin/true\n{text}\n" + ("" if "queue asked" in text else "queue\n")
        )
        assert again.returncode != 0 and complaint in again.stderr, (text, again)
    assert json.loads(pool("queue", "--json")) == []

    # An edit is looked at as a submission is.
    held = pool.submit("hold = true\ncell_resources = h_rt=60", "true")
    for assignment, complaint in (
        ('CellResources="nosuch=1"', 'unknown resource "nosuch"'),
        ('CellQueues="nosuch.q"', 'Job was rejected because job requests unknown queue "nosuch.q"'),
        ("CellProject=7", "CellProject is not a string"),
    ):
        again = pool.try_("edit", f"{held}.0", "--set", assignment)
        assert again.returncode != 0 and complaint in again.stderr, again
    pool("edit", f"{held}.0", "--set", 'CellResources="h_rt=90"')
    assert pool.job(f"{held}.0")["CellResources"] == "h_rt=90"
    pool("edit", f"{held}.0", "--set", "CellResources=undefined")
    pool("rm", str(held))

    # Jobs without a request are jobs of one slot; others are told why they do not run.
    two = pool.submit("request_cpus = 2", "true")
    limited = pool.submit("concurrency_limits = x", "true")
    elsewhere = pool.submit('requirements = Machine == "nowhere"', "true")
    plain = pool.submit("", "true")
    pool.wait(plain)
    for cluster, words in (
        (two, "pools start jobs of one slot only in a cell"),
        (limited, "ask with cell_resources for a consumable of global"),
        (elsewhere, f'cannot run at host "{node(pool)}" because its machine refuses the job'),
    ):
        eventually(
            lambda cluster=cluster, words=words: any(words in each for each in why(pool, f"{cluster}.0")),
            lambda cluster=cluster: str(explained(pool, f"{cluster}.0")),
        )
    assert "The cell's scheduling run (revision 1) at " in pool.try_("explain", "job", f"{two}.0").stdout


def test_licences_are_not_exceeded_when_daemons_die(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=6)
    licence = "licence lic INT <= YES YES 0 0"
    cell(pool, tmp_path / "cell", slots=6, complexes=licence, glob="licence=2")
    log = tmp_path / "log"
    cluster = pool.submit("cell_resources = lic=1\nqueue 14", f"echo + >> {log}; sleep 0.4; echo - >> {log}")
    for role in ("central", "node", "central", "schedd", "central"):
        before = log.read_text().count("-") if log.exists() else 0
        eventually(lambda before=before: log.exists() and log.read_text().count("-") > before, "another job has ended")
        pool.kill(role)
    pool.wait(cluster)
    assert most_at_once(log) <= 2
    assert all(pool.job(f"{cluster}.{proc}")["ExitCode"] == 0 for proc in range(14))


def test_a_match_of_an_earlier_revision_is_not_taken(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    cell(pool, tmp_path / "cell", slots=4)
    gate = tmp_path / "gate"
    first = pool.submit("", SLEEP.format(gate))
    eventually(lambda: used(pool) == 1, "it runs")
    # The queue goes away from under the running job, and comes back under another name.
    (tmp_path / "cell/cqueues/all.q").unlink()
    (tmp_path / "cell/cqueues/b.q").write_text(queue_text("b.q", slots="1"))
    pool("cell", "apply", str(tmp_path / "cell"))
    second = pool.submit("", "true")
    pool.wait(second)
    ran = task(pool.job(f"{second}.0"))
    assert (ran["Instance"], ran["Revision"]) == (f"b.q@{node(pool)}", 2)
    gate.touch()
    pool.wait(first)
    assert task(pool.job(f"{first}.0"))["Revision"] == 1


def test_knobs_that_a_cell_makes_idle_are_named(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start("NEGOTIATOR_PRE_JOB_RANK = Memory\n")
    words = "the pool runs by a Grid Engine cell, in which NEGOTIATOR_PRE_JOB_RANK has no effect"
    assert words not in pool("status", "--daemons")
    cell(pool, tmp_path / "cell")
    eventually(lambda: words in pool("status", "--daemons"), "it is said")
