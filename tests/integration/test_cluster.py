"""The bus is a cluster of servers that somebody else runs: one of them is killed under load, and nothing is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.runtime.bus.probe import probe
from roost.runtime.bus_settings import BusSettings
from roost.runtime.home import HomeError
from tests.integration.kill_rounds import check
from tests.integration.kit import Pool, eventually
from tests.integration.servers import PASSWORD, USER, Servers
from tests.integration.test_results import wrong

Start = Callable[..., Pool]


def test_a_server_of_three_is_killed_under_load(servers: Servers, start: Start, tmp_path: Path) -> None:
    eventually(lambda: all(servers.routed(number) for number in range(3)))
    credentials = tmp_path / "credentials.json"
    credentials.write_text(json.dumps({"user": USER, "password": PASSWORD}))
    pool = start(f"NATS_SERVERS = {servers.urls}\nNATS_CREDENTIALS = {credentials}\n", cpus=4)
    assert not pool.pid("nats"), "no server of its own"
    script = pool.work / "job.sh"
    script.write_text("#!/bin/sh\nsleep 0.2; touch ended.$1; exit $(($1 % 3))\n")
    script.chmod(0o755)
    for number in range(2):
        first = number * 12
        items = "\n".join(str(first + n) for n in range(12))
        pool.submit(f"executable = {script}\narguments = $(n)\nqueue n from (\n{items}\n)\n")
        eventually(lambda first=first: (pool.work / f"ended.{first}").exists())  # type: ignore[misc]
        servers.kill(number)
        eventually(lambda: pool.try_("queue").returncode == 0, "an answer over the other servers")
        servers.start(number)
    pool.wait()
    check(pool, 24)


def test_servers_that_refuse_or_are_away_are_told_of_before_daemons_wait_for_them(servers: Servers) -> None:
    def of(url: str, password: str = PASSWORD) -> str:
        settings = BusSettings(urls=(url,), pool="p", name="n", user=USER, password=password)
        return probe([("node", settings)], "/etc/nats.json")

    url = servers.urls.split()[0]
    assert of(url) == ""
    with pytest.raises(HomeError, match=r"reject node as user 'pool'.*/etc/nats\.json"):
        of(url, "wrong")
    servers.kill(0)
    assert "cannot reach any of nats://127.0.0.1:" in of(url)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have machines of several names")
def test_results_of_jobs_on_several_machines_are_each_their_own(servers: Servers, start: Start, tmp_path: Path) -> None:
    credentials = tmp_path / "credentials.json"
    credentials.write_text(json.dumps({"user": USER, "password": PASSWORD}))
    common = f"NATS_SERVERS = {servers.urls}\nNATS_CREDENTIALS = {credentials}\nCOLLECTOR_NAME = several\n"
    pool = start(f"{common}FILESYSTEM_DOMAIN = queue\n", cpus=4)
    start(f"{common}DAEMON_LIST = MASTER STARTD\nFILESYSTEM_DOMAIN = other\n", name="second", cpus=4, host="second")
    eventually(lambda: len(json.loads(pool("status", "--json"))) == 8, "slots of both machines")
    (pool.work / "out").mkdir()
    cluster = pool.submit(
        "output = out/$(Process).out\narguments = $(Process)\nqueue 160\n",
        "sleep 0.2; printf %05d $1; printf %05d $1 > file.$1",
    )
    pool.wait(cluster)
    hosts = {row["LastRemoteHost"].partition("@")[2] for row in json.loads(pool("history", "--json", "--long"))}
    assert len(hosts) == 2, hosts
    # Where the file system is shared nothing is moved: the first machine wrote where the second one sent.
    for names in ("out/{}.out", "file.{}"):
        assert wrong(pool.work, names, 160) == []
    assert not list(pool.work.rglob(".roost-*"))
