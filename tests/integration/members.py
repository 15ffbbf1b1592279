"""Members of a pool of several machines, each with a state directory of its own, on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from roost.runtime.bus.command_client import Line
from roost.runtime.bus_settings import BusError, BusSettings
from roost.runtime.home import Home
from roost.runtime.identity import host_name
from roost.runtime.registrar.membership import Membership
from tests.integration.kit import Pool, eventually
from tests.integration.servers import free_ports

#: The server is called as the machine that the tests run on.
SERVER = host_name()
_INCLUDE = "include : $(ROOST_HOME)/member/pool.config\n"


class Members:
    """A pool that begins with a server; other machines are invited."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self.place = place
        self._stack = stack
        self.port = free_ports(1)[0]
        self.machines: dict[str, Pool] = {}
        self.server = self.machine(SERVER)

    def machine(self, name: str, config: str = "") -> Pool:
        """A machine that is no member yet."""
        pool = Pool(self.place / name, _INCLUDE + config, cpus=2)
        self._stack.callback(pool.end_all)
        self.machines[name] = pool
        return pool

    def begin(self, *words: str) -> None:
        """Make the pool and start its server."""
        address = f"127.0.0.1:{self.port}"
        self.server("pool", "init", "--name", "several", "--address", address, "--listen", "127.0.0.1", *words)
        self.server.up()

    def invitation(self, name: str, *words: str) -> str:
        """What the server's administrator hands to who administers a machine."""
        return str(json.loads(self.server("pool", "invite", name, "--json", *words))["invitation"])

    def add(self, name: str, *words: str, config: str = "") -> Pool:
        """Invite a machine, let it join, and start it."""
        pool = self.machines.get(name) or self.machine(name, config)
        pool("join", text=self.invitation(name, *words))
        return pool.up()

    def member(self, name: str) -> Membership:
        """What a machine has."""
        return Membership(Home(self.machines[name].home))

    def slots(self, pool: Pool) -> set[str]:
        """The machines whose slots the pool has, as one of them sees it."""
        return {row["Machine"] for row in json.loads(pool("status", "--json"))}


@contextmanager
def several(place: Path) -> Iterator[Members]:
    """A pool of several machines, of which nothing is left afterwards."""
    with ExitStack() as stack:
        members = Members(place, stack)
        yield members
        for name, pool in reversed(members.machines.items()):
            if (pool.home / "run" / "contact.json").exists():
                pool.down("--fast")
            eventually(lambda pool=pool: not pool.processes(), f"the end of {name}")  # type: ignore[misc]
            assert not pool.mistakes(), pool.mistakes()


def refusals(settings: BusSettings, *orders: str) -> list[str]:
    """What a message server says against lines of its protocol from the owner of a key."""
    with Line.connect(settings) as line:
        for order in orders:
            line._send(f"{order}\r\n".encode())
        line._send(b"PING\r\n")
        said = []
        while (answer := line._line()) != "PONG":
            said += [answer] if answer.startswith("-ERR") else []
        return said


def may_say(settings: BusSettings, subject: str) -> bool:
    """Whether the owner of a key may publish on a subject."""
    return not refusals(settings, f"PUB {subject} 0\r\n")


def may_hear(settings: BusSettings, subject: str) -> bool:
    """Whether the owner of a key may subscribe to a subject."""
    return not refusals(settings, f"SUB {subject} 7")


def may_connect(settings: BusSettings) -> bool:
    """Whether the message server knows a key."""
    try:
        Line.connect(settings).close()
    except BusError as error:
        assert "uthorization" in str(error), error
        return False
    return True
