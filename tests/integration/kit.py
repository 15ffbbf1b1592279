"""A real pool for a test: its own directory, its own ports, real daemons, and nothing left when it is over."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from roost.cli.__main__ import main

ROOT: Final = Path(__file__).resolve().parents[2]
#: How long anything may take before a test gives up, s; machines that run tests may be slow, and have more to do.
PATIENCE_S: Final = 120.0

T = TypeVar("T")


def eventually(look: Callable[[], T], what: str | Callable[[], str] = "", within_s: float = PATIENCE_S) -> T:
    """Look until there is something to see; what was seen."""
    until = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        late = time.monotonic() >= until
        assert not late, f"not seen within {within_s:g} s: {what() if callable(what) else what or look}"
        time.sleep(0.05)


class CommandFailed(AssertionError):
    """A command of Roost ended with another status than it should."""


class Pool:
    """One pool."""

    def __init__(
        self,
        place: Path,
        config: str = "",
        *,
        cpus: int = 2,
        environment: dict[str, str] | None = None,
        host: str = "",
    ) -> None:
        """`host`: its daemons believe to be on a machine of that name, which takes root."""
        self.place = place
        #: What a command that starts or ends the daemons is run by: it enters their namespaces.
        self.inside = ["unshare", "-u", "sh", "-c", f'hostname {host} && exec "$@"', "sh"] if host else []
        self.home = place / "home"
        self.work = place / "work"
        self.home.mkdir(parents=True, exist_ok=True)
        self.work.mkdir()
        #: Daemons and jobs are known by it, whatever becomes of them.
        self.mark = f"ROOST_TEST_POOL={place}"
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("_CONDOR_", "_ROOST_", "ROOST_"))
            },
            "PYTHONPATH": str(ROOT / "src"),
            "ROOST_TEST_POOL": str(place),
            **(environment or {}),
        }
        self.sensors = place / "sensors.json"
        self.sense(load=0.0, keyboard_idle_s=100_000, console_idle_s=100_000, cpus=cpus, memory_mb=4096, load_values={})
        self.home.joinpath("roost.config").write_text(
            f"use ROLE : Personal\nWEB_SERVER = False\n"
            f"ROOST_SENSORS_FILE = {self.sensors}\n"
            f"POLLING_INTERVAL = 1\nUPDATE_INTERVAL = 5\n"
            f"STARTER_UPDATE_INTERVAL = 1\nSTARTER_INITIAL_UPDATE_INTERVAL = 1\n"
            f"PERIODIC_EXPR_INTERVAL = 1\nRUNBENCHMARKS = False\nNUM_CPUS = {cpus}\n"
            f"NEGOTIATOR_CYCLE_DELAY = 1\nNEGOTIATOR_MIN_INTERVAL = 1\n"
            f"JOB_INHERITS_STARTER_ENVIRONMENT = ROOST_TEST_POOL\n"
            f"{config}\n"
        )

    def sense(self, **readings: Any) -> None:
        """Replace what sensors read."""
        known = json.loads(self.sensors.read_text()) if self.sensors.exists() else {}
        new = self.sensors.with_suffix(".new")
        new.write_text(json.dumps(known | readings))
        new.rename(self.sensors)

    # -- commands ----------------------------------------------------------------------------------------

    def try_(self, *words: str, text: str = "", within_s: float = PATIENCE_S) -> subprocess.CompletedProcess[str]:
        """Run a command of Roost; within this process, but for those that begin or end the pool."""
        # Commands of kinds have their options behind the kind.
        named = 2 if words[0] in ("cell", "explain", "pool", "story", "token") else 1
        arguments = [*words[:named], "--home", str(self.home), *words[named:]]
        if words[0] in ("up", "down"):
            command = [*self.inside, sys.executable, "-m", "roost.cli", *arguments]
            return subprocess.run(
                command,
                cwd=self.work,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=within_s + 20,
                check=False,
            )
        out, err, before = io.StringIO(), io.StringIO(), sys.stdin
        sys.stdin = io.StringIO(text)
        try:
            with contextlib.chdir(self.work), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main(arguments)
        finally:
            sys.stdin = before
        return subprocess.CompletedProcess(arguments, int(status), out.getvalue(), err.getvalue())

    def __call__(self, *words: str, text: str = "", status: int = 0, within_s: float = PATIENCE_S) -> str:
        """Run a command that is to end with that status; what it printed."""
        done = self.try_(*words, text=text, within_s=within_s)
        if done.returncode != status:
            raise CommandFailed(
                f"roost {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}\n{self.logs()}"
            )
        return done.stdout

    def up(self) -> Pool:
        """Start it."""
        self("up", "-d")
        return self

    def down(self, *words: str) -> None:
        """End it."""
        self("down", *words)

    def submit(self, text: str, script: str | None = None) -> int:
        """Submit a description; with `script` its job is that shell script. The number of the cluster."""
        if script is not None:
            path = self.work / f"job{time.monotonic_ns()}.sh"
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
            text = f"executable = {path}\n{text}"
        if "log" not in [line.partition("=")[0].strip() for line in text.splitlines()]:
            text = f"log = {self.work / 'log'}\n{text}"
        if not re.search(r"^queue", text, re.M):
            text += "\nqueue\n"
        return int(json.loads(self("submit", "--json", text=text))[0]["cluster"])

    def wait(self, *jobs: object, status: int = 0) -> None:
        """Wait until jobs have left."""
        self("wait", "--timeout", str(PATIENCE_S), *map(str, jobs), status=status)

    def jobs(self, *names: object, **options: Any) -> list[dict[str, Any]]:
        """The whole ads of jobs in the queue."""
        rows: list[dict[str, Any]] = json.loads(self("queue", "--json", "--long", *map(str, names)))
        return rows

    def job(self, name: object) -> dict[str, Any]:
        """The ad of a job, wherever it is."""
        rows = self.jobs(name) or json.loads(self("history", "--json", "--long", str(name)))
        return rows[0] if rows else {}

    def seen(self, name: object, **attributes: Any) -> dict[str, Any]:
        """Wait until a job has these attributes; its ad."""

        def look() -> dict[str, Any] | None:
            ad = self.job(name)
            return ad if all(ad.get(key) == value for key, value in attributes.items()) else None

        try:
            return eventually(look)
        except AssertionError:
            raise AssertionError(f"{name}: {attributes} not seen in {self.job(name)}\n{self.logs()}") from None

    def events(self, cluster: int | None = None, proc: int | None = None) -> list[str]:
        """The numbers of what users were told, in order."""
        heads = re.findall(r"^(\d{3}) \((\d+)\.(\d+)\.\d+\)", (self.work / "log").read_text(), re.M)
        return [kind for kind, c, p in heads if cluster in (None, int(c)) and proc in (None, int(p))]

    def ends(self) -> Counter[str]:
        """Job to how often the user's log tells its end."""
        text = (self.work / "log").read_text()
        return Counter(f"{int(c)}.{int(p)}" for c, p in re.findall(r"^(?:005|009) \((\d+)\.(\d+)\.", text, re.M))

    # -- processes ---------------------------------------------------------------------------------------

    def processes(self) -> dict[int, str]:
        """All processes of this pool: daemons, servers, jobs, whoever their parents are."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                try:
                    if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        found[int(entry.name)] = words
                except OSError:
                    continue
        return found

    def pid(self, role: str) -> int:
        """The process of a daemon; 0 if there is none."""
        if role == "master":
            return int(json.loads((self.home / "run" / "contact.json").read_text())["pid"])
        if role == "nats":
            return next((pid for pid, words in self.processes().items() if "nats-server" in words), 0)
        try:
            return int((self.home / "run" / f"{role}.pid").read_text())
        except (OSError, ValueError):
            return 0

    def kill(self, role: str) -> int:
        """Kill a daemon as no daemon can defend itself against."""
        pid = self.pid(role)
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return 0
        return pid

    def logs(self) -> str:
        """What daemons complained about."""
        text = ""
        for path in sorted((self.home / "log").glob("*")):
            lines = path.read_text(errors="replace").splitlines()
            kept = [line for line in lines if " INFO " not in line][-25:]
            text += f"--- {path.name}\n" + "\n".join(kept or lines[-3:]) + "\n"
        return text

    def mistakes(self) -> str:
        """Lines of the daemons' logs that no pool may have."""
        text = ""
        for path in sorted((self.home / "log").glob("*")):
            whole = path.read_text(errors="replace")
            found = re.search("a mistake in Roost|internal error|Traceback", whole)
            if found:
                text += f"--- {path.name}\n{whole[max(0, found.start() - 1000) : found.start() + 5000]}"
        return text

    def end_all(self) -> list[str]:
        """Whatever still runs, by force; what that was."""
        left = self.processes()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return [f"{pid} {words}" for pid, words in left.items()]


@contextmanager
def running(place: Path, config: str = "", **options: Any) -> Iterator[Pool]:
    """A pool that is up, and of which nothing is left afterwards."""
    pool = Pool(place, config, **options)
    try:
        yield pool.up()
        if (pool.home / "run" / "contact.json").exists():
            pool.down("--fast")
        eventually(lambda: not pool.processes(), lambda: f"the end of {pool.processes()}")
        assert not pool.mistakes(), pool.mistakes()
        left = [str(path) for path in (pool.home / "execute").rglob("*")]
        assert not left, f"of scratch directories is left: {left}"
    finally:
        pool.end_all()
