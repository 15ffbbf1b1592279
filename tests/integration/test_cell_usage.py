"""A pool with a cell whose share tree counts: what jobs use is kept over kills, and slots go by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.classad import ClassAd
from roost.runtime.identity import user_name
from tests.gridengine import dumps
from tests.gridengine.sample import edited
from tests.integration.kit import Pool, eventually
from tests.integration.test_cell_jobs import SLEEP, cell, node

#: What a site would leave out: hosts' load sensor, and what depends on the time of day or on how long jobs have waited.
EDITS = f"""
usersets/staff: entries {user_name()}
schedconf: weight_waiting_time 0
schedconf: weight_tickets_functional 0
configurations/global: execd_params SHARETREE_RESERVED_USAGE=true
configurations/global: min_uid 0
configurations/global: min_gid 0
"""


def department(pool: Pool, place: Path) -> None:
    """Give a pool the cell of the department, whose node1 is the pool's machine."""
    host = node(pool)
    for name, text in edited(dumps.files("department"), EDITS).items():
        path = place / name.replace("node1", host)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("node1", host))
    pool("cell", "import", str(place))


def usage(pool: Pool) -> dict[str, dict[str, Any]]:
    """The accounts by project."""
    return {row["project"]: row for row in json.loads(pool("cell", "usage", "--json"))}


def charged(pool: Pool, cluster: int, jobs: int) -> float:
    """What jobs were charged with for their last runs, s."""
    found = [ClassAd(pool.job(f"{cluster}.{proc}")["CellCharged"]["expr"]) for proc in range(jobs)]
    assert len({one["Run"] for one in found}) == jobs
    return sum([float(one["cpu"]) for one in found])


@pytest.mark.parametrize("killed", [(), ("schedd", "central", "node")])
def test_the_department_runs_and_its_projects_get_their_shares(
    start: Callable[..., Pool], tmp_path: Path, killed: tuple[str, ...]
) -> None:
    pool = start(cpus=1)
    department(pool, tmp_path / "cell")
    log = tmp_path / "log"
    log.touch()
    # More than each of them gets among the first 15.
    counts = {"proteins": 8, "lattice": 12}
    clusters = {
        name: pool.submit(
            f"cell_project = {name}\ncell_queues = short.q\nhold = true\nqueue {count}",
            f"echo {name} >> {log}; sleep 0.5",
        )
        for name, count in counts.items()
    }
    pool("release", *map(str, clusters.values()))
    for begun, daemon in enumerate(killed, 4):
        eventually(lambda begun=begun: len(log.read_text().split()) >= begun, "some have begun")  # type: ignore[misc]
        assert pool.kill(daemon)
    eventually(lambda: len(log.read_text().split()) >= 15, "most have begun", within_s=120)
    # The tree gives 60 to one and 30 to the other. What has just ended may not count at once.
    order = log.read_text().split()[:15]
    assert 8 <= order.count("lattice") <= 12, order
    for cluster in clusters.values():
        pool.wait(cluster)
    accounts = usage(pool)
    for name, cluster in clusters.items():
        # A machine whose daemon was killed may have begun a job once more.
        more = 3 if killed else 0
        assert 0 <= accounts[name]["total"]["cpu"] - charged(pool, cluster, counts[name]) + 1e-6 <= more + 2e-6
        assert accounts[name]["total"]["cpu"] >= counts[name] * 0.5 - 1
        assert accounts[name]["user"] == user_name() and accounts[name]["department"] == "staff"
        assert 0 < accounts[name]["recent"]["cpu"] <= accounts[name]["total"]["cpu"]
    assert pool("cell", "clear-usage") == "the usage of 2 accounts was cleared\n"
    assert usage(pool) == {}


def test_a_job_is_charged_with_what_it_uses_while_it_runs(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=1)
    cell(pool, tmp_path / "cell")
    gate = tmp_path / "gate"
    cluster = pool.submit("", f"i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; {SLEEP.format(gate)}")
    eventually(lambda: usage(pool).get("", {}).get("total", {}).get("cpu", 0.0) > 0, "it is charged as it runs")
    gate.touch()
    pool.wait(cluster)
    job, total = pool.job(f"{cluster}.0"), usage(pool)[""]["total"]
    assert total["cpu"] == pytest.approx(job["RemoteUserCpu"] + job["RemoteSysCpu"])
    # Its memory is that of shells: some MiB for as long as the CPU was used.
    assert total["mem"] == job["CellMemoryUsed"] and 0 < total["mem"] < 0.1 * total["cpu"]
