"""Four hosts on one machine: ``sgehub`` with the queue and the central manager, and node1 to node3 that run jobs.

Each has a network and a name of its own; all share the files of the cell: a private ``/etc/passwd`` with users alice
and bob, ``/home``, ``/opt``, ``/srv`` and ``/tmp``. Everything is below one process of a process namespace, so ending
that one ends all of it. It takes root. Roost runs from a copy that these users can read, whatever directory the tests
are in.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from roost.runtime.bus.server import find_program
from tests.integration.kit import ROOT, eventually

HUB: Final = "sgehub"
NODES: Final = ("node1", "node2", "node3")
USERS: Final = {"alice": 2001, "bob": 2002}
#: Most that a command may take, s.
PATIENCE_S: Final = 60.0
DATA: Final = Path(__file__).parent
CELL: Final = ROOT / "tests/gridengine/data/plain"
_NET: Final = "10.99.0"
_BASE: Final = "/srv/roost"
_NAMESPACES: Final = ("--mount", "--uts", "--net", "--ipc", "--pid")

_BEGIN: Final = r"""
set -e
cd {state}
mount -t proc proc /proc
mount --bind etc /etc
mount --bind {source} srv/roost/source
mount --bind {packages} srv/roost/venv/lib/{python}/site-packages
[ {own} = /usr ] || mount --bind {own} srv/roost/python
mount --bind srv/roost/sleep $(readlink -f $(command -v sleep))
for name in home opt srv; do mount --rbind $name /$name; done
mount --bind tmp /tmp
hostname {hub}
ip link set lo up
ip link add hosts type bridge
ip addr add {net}.1/24 dev hosts
ip link set hosts up
touch /srv/ready
exec env --ignore-signal=CHLD /srv/roost/real-sleep infinity
"""

_CONFIG: Final = """
use ROLE : Personal
UID_DOMAIN = cell
COLLECTOR_NAME = cell
NATS_SERVERS = nats://{net}.1:4222
NATS_CREDENTIALS = {base}/credentials.json
DAEMON_LIST = {daemons}
POLLING_INTERVAL = 1
UPDATE_INTERVAL = 5
STARTER_UPDATE_INTERVAL = 1
STARTER_INITIAL_UPDATE_INTERVAL = 1
PERIODIC_EXPR_INTERVAL = 1
RUNBENCHMARKS = False
NUM_CPUS = 16
MEMORY = 16384
STARTER_SCRIPT_USERS = root sgeadmin
SCHEDD_JSV_USERS = sgeadmin
ROOST_SENSORS_FILE = {base}/sensors.json
"""


class World:
    """The hosts, with a pool that has the cell of transcript 00."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._outer: subprocess.Popen[bytes] | None = None
        #: Name of a host to the process whose namespaces are its own.
        self._holders: dict[str, int] = {}

    # -- up and down -------------------------------------------------------------------------------------

    def up(self) -> None:
        """Make the hosts and start the daemons."""
        self._write_files()
        self._begin()
        for number, name in enumerate(NODES, 11):
            self._add_host(name, f"{_NET}.{number}")
        self._start_server()
        for host in (HUB, *NODES):
            self.start(host)
        # SGE_ROOT where it is in the transcripts, and the commands where users find them.
        self.root(HUB, f"{self._roost} shims gridengine --dir {_BASE}/bin > {_BASE}/shims")
        self.root(HUB, f"{self._roost} cell import {_BASE}/cell")
        self.await_hosts()

    def start(self, host: str) -> None:
        """Start the daemons of a host."""
        self.root(host, f"{self._roost} up -d --home {_BASE}/{host}")

    def down(self) -> None:
        """End everything."""
        if self._outer is not None:
            self._outer.kill()
            self._outer.wait()
        for pid in self._holders.values():
            eventually(lambda pid=pid: not Path(f"/proc/{pid}/ns/net").exists(), "the end of the hosts")

    def await_hosts(self) -> None:
        """Wait until all hosts have reported their load."""

        def there() -> bool:
            rows = [line.split() for line in self.root(HUB, "qhost").splitlines()]
            return {row[0] for row in rows if len(row) > 6 and row[6] != "-"} >= set(NODES)

        eventually(there, lambda: self.root(HUB, "qhost"))

    def reset(self) -> None:
        """Bring back what was there at the start; numbers of jobs go on."""
        self.delete_jobs()
        self.root(HUB, f"{self._roost} cell apply {_BASE}/cell")
        self.root(HUB, "qmod -e '*'; qmod -us '*'; qmod -cq '*'", check=False)
        self._write_homes()
        self.await_hosts()

    def _write_files(self) -> None:
        # All of it: a mount over a single file is lost when others replace the file.
        shutil.copytree("/etc", self.state / "etc", symlinks=True)
        for name in ("home", "opt/sge", "srv/roost/source", "srv/roost/python", "srv/sge-lab/work", "tmp"):
            (self.state / name).mkdir(parents=True)
        hosts = {HUB: 1, **{name: number for number, name in enumerate(NODES, 11)}}
        lines = ["127.0.0.1 localhost", *(f"{_NET}.{number} {name}" for name, number in hosts.items())]
        for name in ("hosts", "nsswitch.conf", "passwd", "group"):
            (self.state / "etc" / name).unlink(missing_ok=True)
        (self.state / "etc/hosts").write_text("\n".join((*lines, "")))
        (self.state / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")
        for name, line in (("passwd", "{0}:x:{1}:{1}::/home/{0}:/bin/bash\n"), ("group", "{0}:x:{1}:\n")):
            text = Path("/etc", name).read_text()
            made = "".join(
                line.format(*user) for user in {**USERS, "sgeadmin": 2000}.items() if f"{user[0]}:" not in text
            )
            (self.state / "etc" / name).write_text(text + made)
        venv = self.state / "srv/roost/venv"
        (venv / "lib" / self._python / "site-packages").mkdir(parents=True)
        (venv / "bin").mkdir()
        home = "/usr" if sys.base_prefix == "/usr" else f"{_BASE}/python"
        (venv / "bin/python").symlink_to(f"{home}/bin/{self._python}")
        (venv / "pyvenv.cfg").write_text(f"home = {home}/bin\ninclude-system-site-packages = false\n")
        account = {"user": "pool", "password": "within the namespaces only"}
        credentials = self.state / "srv/roost/credentials.json"
        credentials.write_text(json.dumps({**account, "users": dict.fromkeys(USERS, account)}))
        credentials.chmod(0o600)
        server = {"listen": f"{_NET}.1:4222", "max_payload": 8 * 1024 * 1024, "authorization": account}
        (self.state / "srv/roost/nats.conf").write_text(json.dumps(server))
        idle = {"load": 0.0, "keyboard_idle_s": 100_000, "console_idle_s": 100_000, "cpus": 2, "memory_mb": 16384}
        (self.state / "srv/roost/sensors.json").write_text(json.dumps(idle))
        for host in (HUB, *NODES):
            daemons = "COLLECTOR NEGOTIATOR SCHEDD" if host == HUB else "STARTD"
            users = f"ROOST_USERS = {' '.join(USERS)}\n" if host == HUB else ""
            place = self.state / "srv/roost" / host
            place.mkdir()
            text = _CONFIG.format(net=_NET, base=_BASE, daemons=daemons) + users
            (place / "roost.config").write_text(text)
        shutil.copytree(CELL, self.state / "srv/roost/cell")
        shutil.copytree(DATA / "files/bin", self.state / "srv/sge-lab/bin")
        shutil.copy(DATA / "files/lsensor", self.state / "srv/sge-lab/lsensor")
        shutil.copy(DATA / "files/sleep", self.state / "srv/roost/sleep")
        (self.state / "srv/roost/commands").mkdir()
        shutil.copy(DATA / "files/advance", self.state / "srv/roost/commands/sleep")
        shutil.copy(shutil.which("sleep") or "", self.state / "srv/roost/real-sleep")
        (self.state / "srv/roost/clock").write_text("0")
        (self.state / "srv/roost/clock").chmod(0o666)
        (self.state / "srv/roost/real").touch()
        (self.state / "srv/sge-lab/work").chmod(0o777)
        self._write_homes()

    def _write_homes(self) -> None:
        for directory in (*(self.state / "home" / user for user in USERS), self.state / "tmp", self.state / "opt/sge"):
            # The directory itself stays, because it is mounted inside.
            directory.mkdir(exist_ok=True)
            for path in directory.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (self.state / "tmp").chmod(0o1777)
        shutil.copytree(DATA / "files/opt", self.state / "opt/sge", dirs_exist_ok=True)
        for load in (self.state / "srv/sge-lab").glob("fakeload.*"):
            load.unlink()
        for user, uid in USERS.items():
            home = self.state / "home" / user
            for script in (DATA / "files/home").iterdir():
                if user == "alice" or script.name == "sleep.sh":
                    shutil.copy(script, home / script.name)
                    (home / script.name).chmod(0o755)
            for path in (home, *home.iterdir()):
                os.chown(path, uid, uid)

    @property
    def _python(self) -> str:
        return f"python{sys.version_info.major}.{sys.version_info.minor}"

    @property
    def _roost(self) -> str:
        return f"env PYTHONPATH={_BASE}/source {_BASE}/venv/bin/python -m roost.cli"

    def _begin(self) -> None:
        values = {
            "state": self.state,
            "source": ROOT / "src",
            "packages": sysconfig.get_path("purelib"),
            "own": sys.base_prefix,
            "python": self._python,
            "hub": HUB,
            "net": _NET,
        }
        script = _BEGIN.format(**{name: shlex.quote(str(value)) for name, value in values.items()})
        with (self.state / "begin.log").open("ab") as log:
            self._outer = subprocess.Popen(
                ["unshare", *_NAMESPACES, "--fork", "--kill-child", "--propagation", "private", "bash", "-c", script],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        eventually(lambda: (self.state / "srv/ready").exists() or self._outer.poll() is not None, "the namespaces", 20)
        assert self._outer.poll() is None, (self.state / "begin.log").read_text()
        self._holders[HUB] = self._child_of(self._outer.pid)

    @staticmethod
    def _child_of(pid: int) -> int:
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def _add_host(self, name: str, address: str) -> None:
        inside = ["nsenter", "-t", str(self._holders[HUB]), "--all"]
        holder = f"hostname {name}; ip link set lo up; echo $$ > {_BASE}/{name}.space; exec {_BASE}/real-sleep infinity"
        command = f"setsid unshare --uts --net --ipc bash -c {shlex.quote(holder)} </dev/null >/dev/null 2>&1 &"
        subprocess.run([*inside, "bash", "-c", command], check=True)
        place = self.state / "srv/roost" / f"{name}.space"
        eventually(lambda: place.exists() and place.read_text().strip(), f"host {name}", 20)
        # The number within the process namespace leads to that outside.
        pid = next(
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/status")
            if self._inner_pid(path) == place.read_text().strip() and self._is_ours(path.parent)
        )
        self._holders[name] = pid
        subprocess.run([*self._network(HUB), "link", "add", f"v{name}", "type", "veth", "peer", "name", "eth0",
                        "netns", str(pid)], check=True)  # fmt: skip
        subprocess.run([*self._network(HUB), "link", "set", f"v{name}", "master", "hosts", "up"], check=True)
        subprocess.run([*self._network(name), "addr", "add", f"{address}/24", "dev", "eth0"], check=True)
        subprocess.run([*self._network(name), "link", "set", "eth0", "up"], check=True)

    def _network(self, host: str) -> list[str]:
        return ["nsenter", "-t", str(self._holders[host]), "--net", "ip"]

    @staticmethod
    def _inner_pid(status: Path) -> str:
        with contextlib.suppress(OSError):
            for line in status.read_text().splitlines():
                if line.startswith("NSpid:"):
                    return line.split()[-1]
        return ""

    def _is_ours(self, process: Path) -> bool:
        try:
            return (process / "ns/pid").readlink() == Path(f"/proc/{self._holders[HUB]}/ns/pid").readlink()
        except OSError:
            return False

    def _start_server(self) -> None:
        """Start the message server; its program is not visible inside, so it is opened outside."""
        program = self.state / "srv/roost/nats-server"
        shutil.copy(find_program(), program)
        self.root(HUB, f"setsid {_BASE}/nats-server -c {_BASE}/nats.conf > {_BASE}/nats.log 2>&1 &")
        eventually(lambda: "ready" in (self.state / "srv/roost/nats.log").read_text(), "the message server", 20)

    # -- commands ----------------------------------------------------------------------------------------

    def root(self, host: str, command: str, *, check: bool = True) -> str:
        """Run a command as root, that is not of a transcript."""
        lines, status = self.run(host, "root", command)
        assert not check or status == 0, (command, status, lines)
        return "\n".join(lines)

    def run(self, host: str, user: str, command: str) -> tuple[list[str], int]:
        """What a shell command of a user printed, and its exit status."""
        whole = ["nsenter", "-t", str(self._holders[host]), "--all", *_as_user(user, command)]
        try:
            done = subprocess.run(
                whole, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", timeout=PATIENCE_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            printed = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or ""
            return [*printed.splitlines(), f"no end within {PATIENCE_S:g} s"], 124
        return done.stdout.splitlines(), done.returncode

    def pace(self, *, real: bool, slow: bool = False) -> None:
        """Let `sleep` mean the machine's time, as at the start, or that of the jobs, which goes on as users sleep.

        `slow`: users sleep as long as they say, and the time of the jobs goes on with it.
        """
        for name, wanted in (("real", real), ("slow", slow)):
            mark = self.state / "srv/roost" / name
            mark.touch() if wanted else mark.unlink(missing_ok=True)

    def advance(self, seconds: float) -> None:
        """Let the time of the jobs go on."""
        self.root(HUB, f"sleep {seconds}")

    def delete_jobs(self, ids: Sequence[str] = ()) -> None:
        """Delete jobs, or all of them, and wait for their end."""
        self.root(HUB, f"qdel {' '.join(ids)}" if ids else "qdel -u '*'", check=False)
        until = time.monotonic() + PATIENCE_S
        while True:
            rows = (line.split() for line in self.root(HUB, "qstat -u '*'", check=False).splitlines())
            left = {row[0] for row in rows if row and row[0].isdigit()}
            if not (left & set(ids) if ids else left):
                return
            assert time.monotonic() < until, f"jobs do not end: {left}"
            # Their methods may wait.
            self.advance(0.25)


def _as_user(user: str, command: str) -> list[str]:
    home = "/root" if user == "root" else f"/home/{user}"
    where = "/srv/sge-lab/work" if user == "root" else home
    path = f"{_BASE}/commands:{_BASE}/bin:{'/srv/sge-lab/bin:' if user == 'root' else ''}/usr/sbin:/usr/bin:/sbin:/bin"
    environment = {
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "PATH": path,
        "ROOST_HOME": f"{_BASE}/{HUB}",
        "SGE_ROOT": f"{_BASE}/{HUB}/gridengine",
        "SGE_CELL": "default",
    }
    become = []
    if user != "root":
        uid = str(USERS[user])
        become = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"]
    values = [f"{name}={value}" for name, value in environment.items()]
    return [*become, "env", "-i", *values, "bash", "-c", f"cd {where}; {command}"]


#: What takes namespaces apart and puts programs into them.
_PROGRAMS: Final = ("unshare", "nsenter", "setpriv", "ip", "bash")


@contextlib.contextmanager
def world(state: Path) -> Iterator[World]:
    """Hosts of which nothing is left afterwards. Skips a test where there can be none."""
    if os.geteuid() != 0:
        pytest.skip("only root can have hosts with names and networks of their own")
    if missing := [program for program in _PROGRAMS if shutil.which(program) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    made = World(state)
    try:
        made.up()
        yield made
    finally:
        made.down()
