"""The bus is a cluster of servers that somebody else runs: one of them is killed under load, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roost.runtime.bus.probe import probe
from roost.runtime.bus.server import find_program
from roost.runtime.bus.settings import BusSettings
from roost.runtime.home import HomeError
from tests.integration.kill_rounds import check
from tests.integration.kit import Pool, eventually
from tests.integration.test_results import wrong

Start = Callable[..., Pool]
_USER, _PASSWORD = "pool", "not much of a secret"


class Servers:
    """Three servers on loopback that know each other."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.ports = _free_ports(6)
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def urls(self) -> str:
        return " ".join(f"nats://127.0.0.1:{port}" for port in self.ports[:3])

    def start(self, number: int) -> None:
        routes = [f"nats://127.0.0.1:{port}" for port in self.ports[3:]]
        name = f"n{number}"
        config = {
            "server_name": name,
            "listen": f"127.0.0.1:{self.ports[number]}",
            "max_payload": 8 * 1024 * 1024,
            "ports_file_dir": str(self._place),
            "authorization": {"user": _USER, "password": _PASSWORD},
            "cluster": {"name": "c", "listen": f"127.0.0.1:{self.ports[3 + number]}", "routes": routes},
        }
        path = self._place / f"{name}.conf"
        path.write_text(json.dumps(config))
        with (self._place / f"{name}.log").open("ab") as log:
            self._running[number] = subprocess.Popen(
                [find_program(), "-c", str(path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        eventually(lambda: _answers(self.ports[number]), f"an answer of {name}")

    def kill(self, number: int) -> None:
        process = self._running.pop(number)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def routed(self, number: int) -> bool:
        """Whether a server has found the others."""
        return (self._place / f"n{number}.log").read_text(errors="replace").count("Route connection created") >= 2

    def end(self) -> None:
        for number in list(self._running):
            self.kill(number)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody has, and that the system gives nobody who asks for just any: servers come back to theirs."""
    range_ = Path("/proc/sys/net/ipv4/ip_local_port_range")
    end = int(range_.read_text().split()[0]) if range_.exists() else 32_768
    first = 10_000 if end > 12_000 else 2_000
    found: list[int] = []
    for port in random.SystemRandom().sample(range(first, end), end - first):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            break
    return found


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as found:
            return found.recv(4) == b"INFO"
    except OSError:
        return False


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    place = tmp_path / "servers"
    place.mkdir()
    found = Servers(place)
    try:
        for number in range(3):
            found.start(number)
        yield found
    finally:
        found.end()


def test_a_server_of_three_is_killed_under_load(servers: Servers, start: Start, tmp_path: Path) -> None:
    eventually(lambda: all(servers.routed(number) for number in range(3)))
    credentials = tmp_path / "credentials.json"
    credentials.write_text(json.dumps({"user": _USER, "password": _PASSWORD}))
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
    def of(url: str, password: str = _PASSWORD) -> str:
        settings = BusSettings(urls=(url,), pool="p", name="n", user=_USER, password=password)
        return probe([("node", settings)], "/etc/nats.json")

    url = servers.urls.split()[0]
    assert of(url) == ""
    with pytest.raises(HomeError, match=r"refuse node as 'pool'.*/etc/nats\.json"):
        of(url, "wrong")
    servers.kill(0)
    assert "none of nats://127.0.0.1:" in of(url)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have machines of several names")
def test_results_of_jobs_on_several_machines_are_each_their_own(servers: Servers, start: Start, tmp_path: Path) -> None:
    credentials = tmp_path / "credentials.json"
    credentials.write_text(json.dumps({"user": _USER, "password": _PASSWORD}))
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
