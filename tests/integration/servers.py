"""Message servers that a pool does not start itself: daemons of several machines meet there."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
from pathlib import Path

from roost.runtime.bus.server import find_program
from tests.integration.kit import eventually

USER, PASSWORD = "pool", "not much of a secret"


class Servers:
    """Three servers on loopback that know each other."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.ports = free_ports(6)
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def settings(self, collector: str) -> str:
        """The configuration of a pool whose daemons meet here."""
        credentials = self._place / "credentials.json"
        credentials.write_text(json.dumps({"user": USER, "password": PASSWORD}))
        return f"NATS_SERVERS = {self.urls}\nNATS_CREDENTIALS = {credentials}\nCOLLECTOR_NAME = {collector}\n"

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
            "authorization": {"user": USER, "password": PASSWORD},
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


def free_ports(count: int) -> list[int]:
    """Free ports outside the range from which the system chooses, so that servers find theirs free again."""
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
