"""A pool of several machines on one: each execute machine has a network, a host name and a small disk of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.runtime.bus.server import find_program
from tests.integration.kit import Pool, eventually

#: The network of the pool; the message servers and the queue are at its first address.
_NET: Final = "10.66.0"
_PORTS: Final = range(4222, 4225)
#: Sizes of the disks that hold the directories of the daemons.
_DISK: Final = {"central": "600m", "execute": "64m"}
CPUS: Final = 8

_COMMON: Final = """
UID_DOMAIN = soak
COLLECTOR_NAME = soak
NATS_SERVERS = {urls}
NATS_CREDENTIALS = {credentials}
ROOST_USERS = {user}
MASTER_BACKOFF_CEILING = 3
"""


def run(*words: str) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"


def _network(process: int | str) -> int:
    """The number of the network namespace that a process is in."""
    return Path(f"/proc/{process}/ns/net").stat().st_ino


class Machine(Pool):
    """The daemons of one machine, in its namespaces."""

    def __init__(self, place: Path, name: str, config: str, kind: str) -> None:
        place.mkdir(parents=True)
        home = place / "home"
        home.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={_DISK[kind]},mode=755", "tmpfs", str(home))
        super().__init__(place, config, cpus=CPUS)
        self.name = name
        self.space = 0

    def processes(self) -> dict[int, str]:
        """Every process of the machine: its daemons, shepherds and jobs are in its network namespace."""
        own = _network(self.space or "self")
        apart = {os.getpid(), 1, self.space}
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) in apart:
                continue
            with contextlib.suppress(OSError):
                if _network(entry.name) == own:
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if words and not words.startswith("sleep infinity") and str(_servers_place) not in words:
                        found[int(entry.name)] = words
        return found


#: The message servers run in the namespace of the central machine and are none of its daemons.
_servers_place = Path("/nonexistent")


class Site:
    """A central machine, some execute machines, and three message servers."""

    def __init__(self, place: Path, machines: int, user: str) -> None:
        global _servers_place
        self.place = place
        _servers_place = self._servers_place = place / "servers"
        self._servers_place.mkdir(parents=True)
        self._servers: dict[int, subprocess.Popen[bytes]] = {}
        self._spaces: list[subprocess.Popen[bytes]] = []
        self._network()
        credentials = place / "credentials.json"
        account = {"user": "pool", "password": "within the namespace only"}
        credentials.write_text(json.dumps({**account, "users": {user: account}}))
        urls = " ".join(f"nats://{_NET}.1:{port}" for port in _PORTS)
        common = _COMMON.format(urls=urls, credentials=credentials, user=user)
        run("hostname", "central")
        self.central = Machine(
            place / "central", "central", common + "DAEMON_LIST = COLLECTOR NEGOTIATOR SCHEDD\n", "central"
        )
        self.machines = [self._machine(number, common) for number in range(1, machines + 1)]
        for number in range(len(_PORTS)):
            self.start_server(number)
        for machine in self.all:
            machine.up()

    @property
    def all(self) -> list[Machine]:
        """Every machine, the central one first."""
        return [self.central, *self.machines]

    def _network(self) -> None:
        run("ip", "link", "add", "pool", "type", "bridge")
        run("ip", "addr", "add", f"{_NET}.1/24", "dev", "pool")
        run("ip", "link", "set", "pool", "up")

    def _machine(self, number: int, common: str) -> Machine:
        holder = subprocess.Popen(["unshare", "--net", "--uts", "sleep", "infinity"])
        self._spaces.append(holder)
        eventually(lambda: _network(holder.pid) != _network("self"), "a network namespace")
        inside = ("nsenter", "--target", str(holder.pid), "--net", "--uts")
        run("ip", "link", "add", f"out{number}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        run("ip", "link", "set", f"out{number}", "master", "pool", "up")
        run(*inside, "hostname", f"m{number}")
        run(*inside, "ip", "addr", "add", f"{_NET}.{number + 1}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run(*inside, "ip", "link", "set", device, "up")
        config = common.replace("ROOST_USERS", "# no users here:")
        made = Machine(self.place / f"m{number}", f"m{number}", config + "DAEMON_LIST = STARTD\n", "execute")
        made.space, made.inside = holder.pid, list(inside)
        return made

    def cut(self, machine: Machine, state: str) -> None:
        """Take a machine off the network (`state` "down"), or connect it again ("up")."""
        run("ip", "link", "set", f"out{machine.name.removeprefix('m')}", state)

    # -- message servers ---------------------------------------------------------------------------------

    def start_server(self, number: int) -> None:
        """Start one of the three message servers."""
        config = {
            "server_name": f"n{number}",
            "listen": f"{_NET}.1:{_PORTS[number]}",
            "max_payload": 8 * 1024 * 1024,
            "authorization": {"user": "pool", "password": "within the namespace only"},
            "cluster": {
                "name": "soak",
                "listen": f"{_NET}.1:{_PORTS[number] + 2000}",
                "routes": [f"nats://{_NET}.1:{port + 2000}" for port in _PORTS],
            },
        }
        path = self._servers_place / f"n{number}.conf"
        path.write_text(json.dumps(config))
        with (self._servers_place / f"n{number}.log").open("ab") as log:
            self._servers[number] = subprocess.Popen(
                [find_program(), "-c", str(path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill_server(self, number: int) -> None:
        """Kill a message server."""
        process = self._servers.pop(number)
        process.kill()
        process.wait()

    # -- the end -----------------------------------------------------------------------------------------

    def end(self) -> None:
        """End whatever is left, by force."""
        for machine in self.all:
            for pid in machine.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for number in list(self._servers):
            self.kill_server(number)
        for holder in self._spaces:
            holder.kill()
            holder.wait()


@contextlib.contextmanager
def site(place: Path, machines: int, user: str) -> Iterator[Site]:
    """A running site, of which nothing is left afterwards."""
    made = Site(place, machines, user)
    try:
        yield made
    finally:
        made.end()
